"""RLCard's agents in the games here, and the agents here in RLCard's UNO (release 1.2.0).

`RlcardAgent` shows one of RLCard's agents the classic game as RLCard would; `load("rlcard:NAME")`
makes one. `RlcardPlayer` is an agent of ours for ``env.set_agents`` of ``rlcard.make("uno")``. The
two games differ; docs/ecosystem/rlcard.md lists how, and what either side makes of it.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import numpy as np
from rlcard.agents import RandomAgent
from rlcard.games.uno.utils import ACTION_LIST, ACTION_SPACE, encode_hand, encode_target
from rlcard.models.registration import model_registry

from pocket_uno_env.agents.scripted.choices import otherwise, sociable_action
from pocket_uno_env.compiled.bits import EMPTY
from pocket_uno_env.compiled.kernel import kernel
from pocket_uno_env.compiled.rng import mix, next_state
from pocket_uno_env.observation.information import discarded_count, own_count
from pocket_uno_env.rows import mask_rows
from pocket_uno_env.rules.actions import catalogue
from pocket_uno_env.rules.cards import COLORS
from pocket_uno_env.rules.phases import Phase
from pocket_uno_env.rules.rules import Rules

from .agent import Agent, AgentError
from .position import AdviceError, position_rows, read_position
from .registry import load

CLASSIC = Rules.preset("classic")
LIKE_RLCARD = Rules.preset(
    "classic", two_player_reverse="literal", uno_call="automatic", forced_play=True
)
"""The rules here that come closest to RLCard's."""
SYMBOLS = {"S": "skip", "V": "reverse", "+2": "draw_2", "W": "wild", "W+4": "wild_draw_4"}
NAMES = {symbol: name for name, symbol in SYMBOLS.items()}
_ONE_AT_A_TIME = Lock()
"""NumPy's global generator is one for all threads."""
_CARD_PHASES = (Phase.PLAY, Phase.DRAWN, Phase.STACK)


def to_rlcard(card: str, color: str = "r") -> str:
    """RLCard's name of a card: ``"R5"`` is ``"r-5"``, ``"W"`` that names blue ``"b-wild"``."""
    if card in SYMBOLS:
        return f"{color.lower()}-{SYMBOLS[card]}"
    return f"{card[0].lower()}-{SYMBOLS.get(card[1:], card[1:])}"


def from_rlcard(card: str) -> tuple[str, str]:
    """The name here of a card of RLCard's, and the colour that it has there."""
    color, trait = card.split("-")
    symbol = NAMES.get(trait, trait)
    return (symbol if symbol in SYMBOLS and symbol[0] == "W" else color.upper() + symbol), (
        color.upper()
    )


def action_name(action: str) -> str:
    """The name here of an action of RLCard's: ``"b-wild"`` is ``"play W:B"``."""
    if action == "draw":
        return action
    card, color = from_rlcard(action)
    return f"play {card}:{color}" if card[0] == "W" else f"play {card}"


class RlcardAgent(Agent):
    """One of RLCard's agents for UNO, in the classic game.

    It is asked what to play whenever a card can be played, among the cards that can: as in RLCard's
    game it cannot draw instead, nor play a wild draw four for a coloured card. What RLCard's game
    does not ask is decided as by the agent `rlcard-rule`: it says uno, catches, and accepts every
    wild draw.

    Parameters
    ----------
    agent : an agent of RLCard's, with ``eval_step(state)`` and ``use_raw``
    name : str

    Notes
    -----
    RLCard's agents draw from NumPy's global generator. It is set from the game for each decision,
    and put back, so that the same games go the same way.

    In the state, ``played_cards`` are in the order of the deck except for the top card, and the
    colours of wilds below it are not told; ``action_record`` is empty. The colour of the target is
    the active one, which RLCard's own game forgets to tell after a wild.
    """

    def __init__(self, agent: Any, name: str = "rlcard") -> None:
        self.name = name
        self._agent = agent

    def check(self, rules: Rules, num_players: int) -> None:
        """Refuse other cards than the classic game's."""
        if rules.kinds != CLASSIC.kinds:
            raise AgentError(
                f"agent {self.name!r} plays the classic game; rules {rules.name!r} have other cards"
            )

    def act_rows(self, rules: Rules, rows: np.ndarray, index: np.ndarray) -> np.ndarray:
        """See `Agent.act_rows`."""
        actions = np.zeros(len(index), np.int64)
        masks = np.zeros((len(index), len(catalogue(rules))), np.int8)
        cards = np.zeros((2, len(index), len(rules.kinds)), np.int64)
        mask_rows(rules, rows, index, masks)
        _look(rules._table, rows, index, cards[0], cards[1], actions)
        ids = catalogue(rules).ids
        for j, place in enumerate(index):
            if rows["phase"][place] not in _CARD_PHASES:
                continue
            legal = set(catalogue(rules).legal_names(masks[j]))
            state = see(rules, rows[place], cards[0, j], cards[1, j], legal)
            if state is None:
                continue
            with _randomness_of(rows, place):
                chosen, _ = self._agent.eval_step(state)
            if not self._agent.use_raw:
                chosen = ACTION_LIST[chosen]
            if chosen not in state["raw_legal_actions"]:
                raise AgentError(
                    f"agent {self.name!r} chose {chosen!r}; RLCard's legal actions: "
                    f"{', '.join(state['raw_legal_actions'])}"
                )
            actions[j] = ids[action_name(chosen)]
        return actions


@kernel
def _look(rules: Any, rows: Any, index: Any, hands: Any, discards: Any, actions: Any) -> None:
    """Count the own and the discarded cards by kind; decide what is not about cards."""
    for j in range(index.shape[0]):
        row = rows[index[j]]
        for kind in range(hands.shape[1]):
            hands[j, kind] = own_count(rules[0], row, row.to_act, kind)
            discards[j, kind] = discarded_count(rules[0], row, kind)
        if row.phase == Phase.PLAY or row.phase == Phase.DRAWN or row.phase == Phase.STACK:
            actions[j] = otherwise(rules[0], row, EMPTY)
        else:
            actions[j] = sociable_action(rules[0], row)


def see(
    rules: Rules, row: np.void, hand: np.ndarray, discards: np.ndarray, legal: set[str]
) -> dict[str, Any] | None:
    """RLCard's state of a decision, or None if no card can be played.

    Parameters
    ----------
    row : the game, of which only what is public is read
    hand, discards : int64 arrays
        How many cards of each kind the seat holds, and lie on the discard pile.
    legal : set of str
        The names of the legal actions.
    """
    names = [kind.name for kind in rules.kinds]
    offered = [
        to_rlcard(name)
        for name, count in zip(names, hand, strict=True)
        for _ in range(count)
        if f"play {name}" in legal
    ]
    for wild in ("W",) if offered else ("W", "W+4"):
        # In RLCard's order of the colours.
        offered += [to_rlcard(wild, color) for color in "RGBY" if f"play {wild}:{color}" in legal]
    if not offered:
        return None
    top = names[row["top"]]
    target = to_rlcard(top, COLORS[row["active_color"]])
    below = discards.copy()
    below[row["top"]] -= 1
    held, played = (
        [to_rlcard(name) for name, count in zip(names, counts, strict=True) for _ in range(count)]
        for counts in (hand, below)
    )
    seats = int(row["num_players"])
    planes = np.zeros((4, 4, 15), dtype=int)
    encode_hand(planes[:3], held)
    encode_target(planes[3], target)
    return {
        "obs": planes,
        "legal_actions": OrderedDict((ACTION_SPACE[action], None) for action in offered),
        "raw_obs": {
            "hand": held,
            "target": target,
            "played_cards": [*played, target],
            "legal_actions": offered,
            "num_cards": row["hand_size"][:seats].tolist(),
            "num_players": seats,
            "current_player": int(row["to_act"]),
        },
        "raw_legal_actions": list(offered),
        "action_record": [],
    }


@contextmanager
def _randomness_of(rows: np.ndarray, place: int) -> Iterator[None]:
    """NumPy's global generator, set from the game's policy generator, and put back."""
    state = np.uint64(next_state(rows["policy_rng"][place]))
    rows["policy_rng"][place] = state
    with _ONE_AT_A_TIME:
        before = np.random.get_state()
        np.random.seed(int(mix(state)) % 2**32)
        try:
            yield
        finally:
            np.random.set_state(before)


def models() -> list[str]:
    """The names that ``rlcard:NAME`` knows: ``random``, and RLCard's models for UNO."""
    return ["random", *(name for name in model_registry.model_specs if name.startswith("uno"))]


def from_name(name: str) -> RlcardAgent:
    """One of `models`; AgentError if there is none of that name."""
    if name not in models():
        raise AgentError(
            f"RLCard has no agent {name!r} for UNO; expected one of {', '.join(models())}"
        )
    agent = (
        RandomAgent(len(ACTION_LIST)) if name == "random" else model_registry.load(name).agents[0]
    )
    return RlcardAgent(agent, f"rlcard:{name}")


class RlcardPlayer:
    """An agent of ours as one of RLCard's: ``env.set_agents([RlcardPlayer("strong"), ...])``.

    It is shown a position of the game here that holds what RLCard tells: the hand, the discard
    pile, the hand sizes. Guesses about hands start anew at each decision.

    Parameters
    ----------
    agent : str or Agent
        One that plays the classic game of two players.
    seed : int
        Of the agent's own randomness.
    """

    use_raw = True

    def __init__(self, agent: str | Agent, seed: int = 0) -> None:
        self.agent = load(agent) if isinstance(agent, str) else agent
        if self.agent.clairvoyant:
            raise AgentError(f"agent {self.agent.name!r} looks at hidden cards; RLCard tells none")
        self.agent.check(LIKE_RLCARD, 2)
        self._rng = np.random.default_rng(seed)

    def step(self, state: dict[str, Any]) -> str:
        """The action for a state of RLCard's, by RLCard's name."""
        legal = state["raw_legal_actions"]
        if len(set(legal)) == 1:
            return str(legal[0])
        rows = self.position(state)
        action = int(self.agent.act_rows(LIKE_RLCARD, rows, np.zeros(1, np.int64))[0])
        name = catalogue(LIKE_RLCARD).name(action)
        card, _, color = name.removeprefix("play ").partition(":")
        chosen = to_rlcard(card, color)
        if chosen not in legal and card == "W+4":
            chosen = to_rlcard("W", color)  # there, a wild in the hand forbids a wild draw four
        if chosen not in legal:
            raise AgentError(
                f"agent {self.agent.name!r} chose {name!r}; RLCard's legal actions: "
                f"{', '.join(legal)}"
            )
        return chosen

    def eval_step(self, state: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """`step`, and no further information."""
        return self.step(state), {}

    def position(self, state: dict[str, Any]) -> np.ndarray:
        """A row in which seat 0 sees what `state` tells; hidden cards are drawn at random."""
        told = state["raw_obs"]
        top, color = from_rlcard(told["target"])
        if top[0] == "W":
            color = active_color(state)
        hand = [from_rlcard(card)[0] for card in told["hand"]]
        discards = [from_rlcard(card)[0] for card in told["played_cards"][:-1]]
        # When RLCard turns the pile over it takes the top card along, so that it may be on the
        # table and in a hand at once. One card less of a kind can be played as well.
        seen = Counter([*hand, *discards, top])
        for card, copies in Counter(LIKE_RLCARD.deck).items():
            for _ in range(seen[card] - copies):
                (hand if hand.count(card) > 1 else discards).remove(card)
        me = told["current_player"]
        try:
            position = read_position(
                {
                    "rules": LIKE_RLCARD.to_dict(),
                    "hand": hand,
                    "top": top,
                    "color": color,
                    "others": [told["num_cards"][1 - me]],
                    "discards": discards,
                }
            )
            rows: np.ndarray = position_rows(position, int(self._rng.integers(2**32)))
        except AdviceError as error:
            raise AgentError(f"RLCard's state cannot be shown to an agent: {error}") from error
        return rows


def active_color(state: dict[str, Any]) -> str:
    """The colour to match after a wild, a letter; the target tells the wild's own colour of before.

    The wild on the discard pile has its new colour. Where the pile was turned over, the last action
    that was not a draw named it.
    """
    if played := state["raw_obs"]["played_cards"]:
        return from_rlcard(played[-1])[1]
    actions = [action for _, action in state["action_record"] if action != "draw"]
    return from_rlcard(actions[-1] if actions else state["raw_obs"]["target"])[1]
