"""The action catalogue: one integer id per action name, the same in every phase.

Ids are contiguous ranges (docs/rules.md, section 7): play a coloured card, play a wild naming a
colour, the eight moves without a card, give a card (where there is a ``WD``), name a colour; then
what house rules add (section 11): swap hands with a seat, jump in and pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from .cards import COLORS
from .limits import MAX_ACTIONS, NO_COLOR, NO_KIND

if TYPE_CHECKING:
    from .rules import Rules


class Move(IntEnum):
    """What an action does, whatever the card."""

    PLAY = 0
    DRAW = 1
    KEEP = 2
    CHALLENGE = 3
    ACCEPT = 4
    SAY_UNO = 5
    STAY_SILENT = 6
    CATCH = 7
    LET_GO = 8
    GIVE = 9
    NAME = 10
    SWAP = 11
    JUMP_IN = 12
    PASS = 13


CARDLESS_MOVES = {
    Move.DRAW: "draw",
    Move.KEEP: "keep",
    Move.CHALLENGE: "challenge",
    Move.ACCEPT: "accept",
    Move.SAY_UNO: "say uno",
    Move.STAY_SILENT: "stay silent",
    Move.CATCH: "catch",
    Move.LET_GO: "let go",
}


@dataclass(frozen=True, slots=True)
class Action:
    """One action: its name, its move, and what it carries: a card kind, a colour, a seat."""

    name: str
    move: Move
    kind: int = NO_KIND
    color: int = NO_COLOR
    seat: int = 0


class Catalogue:
    """All actions of one rule set.

    Attributes
    ----------
    actions : tuple of Action, indexed by id
    names : list of str, indexed by id
    ids : dict from name to id
    """

    def __init__(self, rules: Rules) -> None:
        colors = range(rules.colors)
        kinds = list(enumerate(rules.kinds))
        coloured = [
            Action(f"play {kind.name}", Move.PLAY, i, kind.color)
            for i, kind in kinds
            if kind.color is not None
        ]
        wild = [
            Action(f"play {kind.name}:{COLORS[c]}", Move.PLAY, i, c)
            for i, kind in kinds
            if kind.color is None
            for c in colors
        ]
        cardless = [Action(name, move) for move, name in CARDLESS_MOVES.items()]
        give = [Action(f"give {kind.name}", Move.GIVE, i) for i, kind in kinds]
        if not rules.wild_copies["WD"]:
            give = []
        name = [Action(f"name {COLORS[c]}", Move.NAME, color=c) for c in colors]
        seats = range(rules.max_players) if rules.seven_zero else ()
        house = [Action(f"swap {seat}", Move.SWAP, seat=seat) for seat in seats]
        if rules.jump_in:
            house += [Action("jump in", Move.JUMP_IN), Action("pass", Move.PASS)]
        self.actions: tuple[Action, ...] = (*coloured, *wild, *cardless, *give, *name, *house)
        self.names = [action.name for action in self.actions]
        self.ids = {name: i for i, name in enumerate(self.names)}
        self.first_wild = len(coloured)
        self.first_move = self.first_wild + len(wild)
        self.first_give = self.first_move + len(cardless)
        self.first_name = self.first_give + len(give)
        self.first_house = self.first_name + len(name)
        assert len(self.actions) <= MAX_ACTIONS

    def __len__(self) -> int:
        return len(self.actions)

    def id(self, name: str) -> int:
        """The id of the action `name`; ValueError if there is none."""
        try:
            return self.ids[name]
        except (KeyError, TypeError):
            raise ValueError(
                f"unknown action {name!r}; expected one of these rules' {len(self)} action names, "
                f"such as {self.names[0]!r}, {self.names[self.first_wild - 1]!r} or 'draw'"
            ) from None

    def name(self, action: int) -> str:
        """The name of the action id `action`; ValueError if there is none."""
        if isinstance(action, int | np.integer) and 0 <= action < len(self):
            return self.names[int(action)]
        raise ValueError(
            f"unknown action id {action!r}; expected a whole number from 0 to {len(self) - 1}"
        )

    def legal_names(self, mask: np.ndarray) -> list[str]:
        """The sorted names of the actions that `mask` (shape ``(n_actions,)``) allows."""
        return sorted(self.names[i] for i in np.flatnonzero(mask))

    def write_tables(self, row: np.void) -> None:
        """Fill the action tables of a `RULES_ROW` record."""
        row["n_actions"] = len(self)
        row["first_wild_action"] = self.first_wild
        row["first_move_action"] = self.first_move
        row["first_give_action"] = self.first_give
        row["first_name_action"] = self.first_name
        row["first_house_action"] = self.first_house
        for i, action in enumerate(self.actions):
            row["action_move"][i] = action.move
            row["action_kind"][i] = action.kind
            row["action_color"][i] = action.color
            row["action_seat"][i] = action.seat


@lru_cache(maxsize=256)
def catalogue(rules: Rules) -> Catalogue:
    """The catalogue of `rules`, built once."""
    return Catalogue(rules)
