"""RLCard's rule agent for UNO (``uno-rule-v1`` of release 1.2.0), for the classic game.

What it decides there: play any coloured card that is legal, each as likely; without one a wild
draw four, naming the colour it holds most, else a wild with a colour at random; without a legal
card draw. Here there is more to decide, and it does what RLCard's game does by itself or lacks: it
plays a drawn card that can be played, says uno, catches, and accepts every wild draw.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pocket_uno_env.agents.agent import Agent, AgentError
from pocket_uno_env.compiled.bits import EMPTY, first, without_first
from pocket_uno_env.compiled.kernel import kernel
from pocket_uno_env.engine.legality import playable_kinds
from pocket_uno_env.observation.information import held
from pocket_uno_env.rules.limits import NO_COLOR
from pocket_uno_env.rules.phases import Phase
from pocket_uno_env.rules.rules import Rules

from .choices import choose, majority_color, otherwise, play_action, sociable_action


@kernel
def rlcard_rule_action(rules: Any, row: Any) -> Any:
    """The action of the seat to act."""
    phase = row.phase
    if phase != Phase.PLAY and phase != Phase.DRAWN and phase != Phase.STACK:
        return sociable_action(rules, row)
    kinds = playable_kinds(rules, row)
    if kinds == EMPTY:
        return otherwise(rules, row, kinds)
    coloured = kinds & rules.coloured_kinds
    if coloured == EMPTY:
        if kinds & rules.w4_kind != EMPTY:
            color = majority_color(rules, row, row.to_act)
            return play_action(rules, first(kinds & rules.w4_kind), color)
        return play_action(rules, first(kinds), choose(row, rules.n_colors))
    # Two equal cards are two chances.
    pick = choose(row, held(rules, row, row.to_act, coloured))
    while True:
        kind = first(coloured)
        coloured = without_first(coloured)
        pick -= held(rules, row, row.to_act, kinds & ~coloured & rules.coloured_kinds)
        if pick < 0 or coloured == EMPTY:
            return play_action(rules, kind, NO_COLOR)
        kinds &= coloured


@kernel
def _act(rules: Any, rows: Any, index: Any, actions: Any) -> None:
    for j in range(index.shape[0]):
        actions[j] = rlcard_rule_action(rules[0], rows[index[j]])


CLASSIC = Rules.preset("classic")


class RlcardRuleAgent(Agent):
    """See the module; it plays by any rules whose cards are those of the classic game."""

    name = "rlcard-rule"

    def check(self, rules: Rules, num_players: int) -> None:
        """Refuse other cards than the classic game's."""
        if rules.kinds != CLASSIC.kinds:
            raise AgentError(
                f"agent 'rlcard-rule' plays the classic game; rules {rules.name!r} have other cards"
            )

    def act_rows(self, rules: Rules, rows: np.ndarray, index: np.ndarray) -> np.ndarray:
        """See `Agent.act_rows`."""
        actions = np.zeros(len(index), np.int64)
        _act(rules._table, rows, index, actions)
        return actions
