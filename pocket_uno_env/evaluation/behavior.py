"""Counts of what agents do: draws, wilds, bluffs, challenges and UNO calls, by position.

The games of a chunk are played again from their seeds and actions, so that playing them does not
become slower.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from pocket_uno_env.compiled.bits import EMPTY, bit
from pocket_uno_env.compiled.kernel import kernel
from pocket_uno_env.engine.legality import can_challenge, matching_kinds, playable_kinds
from pocket_uno_env.engine.piles import Note
from pocket_uno_env.engine.transition import apply, truncate
from pocket_uno_env.observation.information import held, own_hand
from pocket_uno_env.rules.actions import Move
from pocket_uno_env.rules.effects import Effect
from pocket_uno_env.rules.limits import NO_COLOR
from pocket_uno_env.rules.phases import End, Phase
from pocket_uno_env.rules.rules import Rules

from .matches import FinishedGames, after_decision

LOG_SIZE = 1 << 13


class Stat(IntEnum):
    """What is counted for each agent."""

    ROUNDS = 0
    WINS = 1
    POINTS = 2
    """Scored."""
    LENGTH = 3
    """Decisions of all seats, in its rounds."""
    DECISIONS = 4
    TURNS = 5
    """Decisions to play a card or to draw."""
    DRAWS = 6
    VOLUNTARY_DRAWS = 7
    """With a playable card in hand."""
    PLAYABLE_DRAWN = 8
    """Drawn cards that could have been played at once."""
    KEPT = 9
    """Of those, how many it kept."""
    WILDS = 10
    """Wilds played."""
    WILD_CARDS = 11
    """Cards in hand when it played a wild, in all."""
    WILDS_UNFORCED = 12
    """Wilds played although a coloured card could have been."""
    WILD_DRAWS = 13
    """Wilds played that could be challenged."""
    BLUFFS = 14
    """Of those, how many a challenge would have succeeded against."""
    CHALLENGED = 15
    BLUFFS_CAUGHT = 16
    CHALLENGE_OFFERS = 17
    """Decisions whether to challenge."""
    CHALLENGES = 18
    CHALLENGES_WON = 19
    UNO_CALLS = 20
    """Decisions whether to say uno."""
    UNO_SILENT = 21
    SILENT_CAUGHT = 22
    CATCH_OFFERS = 23
    """Decisions whether to catch."""
    CATCHES = 24


def count_behavior(games: FinishedGames) -> np.ndarray:
    """Count what the agent at each place did, by its position in the round.

    Returns
    -------
    int64 array, shape ``(n, n, len(Stat))``
        By place of the line-up, and by position: 0 is the dealer's left, n - 1 the dealer.
    """
    n = games.places.shape[1]
    counts = np.zeros((n, n, len(Stat)), np.int64)
    _count(games, counts)
    return counts


@kernel
def _count(games, counts):
    rules, places = games.rules, games.places
    log = np.zeros(LOG_SIZE, np.int16)
    for game in range(games.rows.shape[0]):
        row = games.rows[game]
        n = np.int64(row.num_players)
        for decision in range(games.lengths[game]):
            seat = np.int64(row.to_act)
            dealer = np.int64(row.dealer)
            own = counts[places[game, seat], (seat - dealer - 1 + n) % n]
            action = np.int64(games.actions[game, decision])
            phase = row.phase
            actor = np.int64(row.actor)
            top, color = row.top, row.active_color
            _count_decision(rules[0], row, own, action)
            log[0] = 0
            apply(rules[0], row, action, None, log)
            move = rules[0].action_move[action]
            if move == Move.PLAY and phase != Phase.STACK and row.end == End.RUNNING:
                _count_bluff(rules[0], row, seat, own, action, top, color)
            elif move == Move.CHALLENGE:
                other = counts[places[game, actor], (actor - dealer - 1 + n) % n]
                other[Stat.CHALLENGED] += 1
                if _first_forced(log) == actor:
                    own[Stat.CHALLENGES_WON] += 1
                    other[Stat.BLUFFS_CAUGHT] += 1
            elif move == Move.CATCH:
                other = counts[places[game, actor], (actor - dealer - 1 + n) % n]
                other[Stat.SILENT_CAUGHT] += 1
            if row.end == End.RUNNING and row.decisions >= games.book.limits[0]:
                truncate(row)
            if row.end != End.RUNNING:
                for of in range(n):
                    line = counts[places[game, of], (of - dealer - 1 + n) % n]
                    line[Stat.ROUNDS] += 1
                    line[Stat.LENGTH] += row.decisions
                    line[Stat.POINTS] += row.points[of]
                    if row.end == End.OUT and row.winner == of:
                        line[Stat.WINS] += 1
            after_decision(rules[0], row, game, games.book)


@kernel
def _count_decision(rules, row, own, action):
    """Count the decision of the seat to act; called before it is applied."""
    own[Stat.DECISIONS] += 1
    phase = row.phase
    move = rules.action_move[action]
    if phase == Phase.PLAY:
        own[Stat.TURNS] += 1
        if move == Move.DRAW:
            own[Stat.DRAWS] += 1
            own[Stat.VOLUNTARY_DRAWS] += playable_kinds(rules, row) != EMPTY
    elif phase == Phase.DRAWN:
        own[Stat.PLAYABLE_DRAWN] += 1
        own[Stat.KEPT] += move == Move.KEEP
    elif phase == Phase.UNO:
        own[Stat.UNO_CALLS] += 1
        own[Stat.UNO_SILENT] += move == Move.STAY_SILENT
    elif phase == Phase.CATCH:
        own[Stat.CATCH_OFFERS] += 1
        own[Stat.CATCHES] += move == Move.CATCH
    if can_challenge(rules, row):
        own[Stat.CHALLENGE_OFFERS] += 1
        own[Stat.CHALLENGES] += move == Move.CHALLENGE
    if move == Move.PLAY and rules.kind_color[rules.action_kind[action]] == NO_COLOR:
        own[Stat.WILDS] += 1
        own[Stat.WILD_CARDS] += row.hand_size[row.to_act]
        own[Stat.WILDS_UNFORCED] += playable_kinds(rules, row) & rules.coloured_kinds != EMPTY


@kernel
def _count_bluff(rules, row, seat, own, action, top, color):
    """Count a wild that may be challenged, and whether its player held another playable card."""
    kind = np.int64(rules.action_kind[action])
    effect = rules.kind_effect[kind]
    if effect == Effect.WILD_DRAW_TWO or (
        effect == Effect.WILD_DRAW_FOUR and not rules.w4_enforced
    ):
        own[Stat.WILD_DRAWS] += 1
        hand = own_hand(row, seat)
        if rules.guilt_by_color_only:
            guilty = color != NO_COLOR and hand & rules.color_kinds[color] != EMPTY
        else:
            guilty = matching_kinds(rules, hand, top, color) != EMPTY
        own[Stat.BLUFFS] += guilty


@kernel
def _first_forced(log):
    """The seat of the first forced draw in the log, or -1."""
    for entry in range(log[0]):
        if log[1 + 2 * entry] == Note.FORCED:
            return np.int64(log[2 + 2 * entry])
    return -1


def opening_hands(rules: Rules, rows: Any) -> tuple[np.ndarray, np.ndarray]:
    """The hands dealt in games that have just begun.

    Parameters
    ----------
    rows : structured array, dtype `state.ROW`, shape ``(count,)``

    Returns
    -------
    int8 array, shape ``(count, n, kinds)``
        The cards of each kind in each position's hand before the first decision; position 0 is
        the dealer's left.
    int8 array, shape ``(count,)``
        The position that acts first.
    """
    n = int(rows["num_players"][0])
    hands = np.zeros((len(rows), n, len(rules.kinds)), np.int8)
    first = np.zeros(len(rows), np.int8)
    _write_opening_hands(rules._table, rows, hands, first)
    return hands, first


@kernel
def _write_opening_hands(rules, rows, hands, first):
    for deal in range(hands.shape[0]):
        row = rows[deal]
        n = np.int64(row.num_players)
        for position in range(n):
            seat = (row.dealer + 1 + position) % n
            for kind in range(hands.shape[2]):
                hands[deal, position, kind] = held(rules[0], row, seat, bit(kind))
        first[deal] = (np.int64(row.to_act) - row.dealer - 1 + n) % n


RATES: dict[str, tuple[Stat, Stat, str]] = {
    "draw_rate": (Stat.DRAWS, Stat.TURNS, "turns begun with a draw"),
    "voluntary_draws": (
        Stat.VOLUNTARY_DRAWS,
        Stat.DRAWS,
        "draws with a playable card in hand",
    ),
    "kept": (
        Stat.KEPT,
        Stat.PLAYABLE_DRAWN,
        "playable drawn cards that were kept",
    ),
    "wild_cards": (
        Stat.WILD_CARDS,
        Stat.WILDS,
        "cards in hand when a wild was played",
    ),
    "wilds_unforced": (
        Stat.WILDS_UNFORCED,
        Stat.WILDS,
        "wilds played instead of a colour",
    ),
    "bluff_rate": (
        Stat.BLUFFS,
        Stat.WILD_DRAWS,
        "wild draws played with another playable card",
    ),
    "challenge_rate": (
        Stat.CHALLENGES,
        Stat.CHALLENGE_OFFERS,
        "wild draws challenged",
    ),
    "challenge_accuracy": (
        Stat.CHALLENGES_WON,
        Stat.CHALLENGES,
        "challenges that succeeded",
    ),
    "bluffs_caught": (
        Stat.BLUFFS_CAUGHT,
        Stat.BLUFFS,
        "bluffs that were challenged",
    ),
    "uno_missed": (Stat.UNO_SILENT, Stat.UNO_CALLS, "UNO calls not made"),
    "silent_caught": (
        Stat.SILENT_CAUGHT,
        Stat.UNO_SILENT,
        "missed calls that were caught",
    ),
    "catch_rate": (
        Stat.CATCHES,
        Stat.CATCH_OFFERS,
        "others' missed calls caught when asked",
    ),
    "turns_per_round": (Stat.TURNS, Stat.ROUNDS, "own turns in a round"),
    "round_length": (
        Stat.LENGTH,
        Stat.ROUNDS,
        "decisions of all seats in a round",
    ),
    "points_per_win": (Stat.POINTS, Stat.WINS, "points of a round won"),
    "win_rate": (Stat.WINS, Stat.ROUNDS, "rounds won"),
}
"""The rates of a profile: numerator, denominator, and what the rate means."""


def profile(counts: np.ndarray) -> dict[str, Any]:
    """The behaviour profile of one agent.

    Parameters
    ----------
    counts : int64 array, shape ``(n, len(Stat))``
        By position, summed over places and games.

    Returns
    -------
    dict
        Each of `RATES`, None where the denominator is 0; ``by_position``, the win rate from the
        dealer's left on; ``counts``, by name.
    """
    total = counts.sum(axis=0)

    def rate(line: np.ndarray, key: str) -> float | None:
        part, whole, _ = RATES[key]
        return float(line[part] / line[whole]) if line[whole] else None

    return {
        **{key: rate(total, key) for key in RATES},
        "by_position": [rate(line, "win_rate") for line in counts],
        "counts": {count.name.lower(): int(total[count]) for count in Stat},
    }
