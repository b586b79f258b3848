"""How agents play, counted: draws, wilds, bluffs and challenges, UNO calls, by place at the table.

The games of a chunk are played again from their seeds and actions, so that counting costs the play
nothing.
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

from .matches import Replay, after_decision

LOG_SIZE = 1 << 13


class Count(IntEnum):
    """What is counted of an agent."""

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


def count_behavior(games: Replay) -> np.ndarray:
    """What the agent at each place did, by its position in the round.

    Returns
    -------
    int64 array, shape ``(n, n, len(Count))``
        By place of the line-up, and by position: 0 is the dealer's left, n - 1 the dealer.
    """
    n = games.places.shape[1]
    counts = np.zeros((n, n, len(Count)), np.int64)
    _count(
        games.rules._table,
        games.rows,
        games.actions,
        games.lengths,
        games.places,
        counts,
        *games.book,
    )
    return counts


@kernel
def _count(
    rules,
    rows,
    actions,
    lengths,
    places,
    counts,
    seeds,
    limits,
    decisions,
    rounds,
    points,
    winner,
    over,
):
    log = np.zeros(LOG_SIZE, np.int16)
    for game in range(rows.shape[0]):
        row = rows[game]
        n = np.int64(row.num_players)
        for decision in range(lengths[game]):
            seat = np.int64(row.to_act)
            dealer = np.int64(row.dealer)
            own = counts[places[game, seat], (seat - dealer - 1 + n) % n]
            action = np.int64(actions[game, decision])
            phase = row.phase
            actor = np.int64(row.actor)
            top, color = row.top, row.active_color
            _before(rules[0], row, own, action)
            log[0] = 0
            apply(rules[0], row, action, None, log)
            move = rules[0].action_move[action]
            if move == Move.PLAY and phase != Phase.STACK and row.end == End.RUNNING:
                _bluff(rules[0], row, seat, own, action, top, color)
            elif move == Move.CHALLENGE:
                other = counts[places[game, actor], (actor - dealer - 1 + n) % n]
                other[Count.CHALLENGED] += 1
                if _first_forced(log) == actor:
                    own[Count.CHALLENGES_WON] += 1
                    other[Count.BLUFFS_CAUGHT] += 1
            elif move == Move.CATCH:
                counts[places[game, actor], (actor - dealer - 1 + n) % n, Count.SILENT_CAUGHT] += 1
            if row.end == End.RUNNING and row.decisions >= limits[0]:
                truncate(row)
            if row.end != End.RUNNING:
                for of in range(n):
                    line = counts[places[game, of], (of - dealer - 1 + n) % n]
                    line[Count.ROUNDS] += 1
                    line[Count.LENGTH] += row.decisions
                    line[Count.POINTS] += row.points[of]
                    if row.end == End.OUT and row.winner == of:
                        line[Count.WINS] += 1
            after_decision(
                rules[0], row, game, seeds, limits, decisions, rounds, points, winner, over
            )


@kernel
def _before(rules, row, own, action):
    """Count what the seat to act decides, before it happens."""
    own[Count.DECISIONS] += 1
    phase = row.phase
    move = rules.action_move[action]
    if phase == Phase.PLAY:
        own[Count.TURNS] += 1
        if move == Move.DRAW:
            own[Count.DRAWS] += 1
            own[Count.VOLUNTARY_DRAWS] += playable_kinds(rules, row) != EMPTY
    elif phase == Phase.DRAWN:
        own[Count.PLAYABLE_DRAWN] += 1
        own[Count.KEPT] += move == Move.KEEP
    elif phase == Phase.UNO:
        own[Count.UNO_CALLS] += 1
        own[Count.UNO_SILENT] += move == Move.STAY_SILENT
    elif phase == Phase.CATCH:
        own[Count.CATCH_OFFERS] += 1
        own[Count.CATCHES] += move == Move.CATCH
    if can_challenge(rules, row):
        own[Count.CHALLENGE_OFFERS] += 1
        own[Count.CHALLENGES] += move == Move.CHALLENGE
    if move == Move.PLAY and rules.kind_color[rules.action_kind[action]] == NO_COLOR:
        own[Count.WILDS] += 1
        own[Count.WILD_CARDS] += row.hand_size[row.to_act]
        own[Count.WILDS_UNFORCED] += playable_kinds(rules, row) & rules.coloured_kinds != EMPTY


@kernel
def _bluff(rules, row, seat, own, action, top, color):
    """Count a wild that may be challenged, and whether its player held another playable card."""
    kind = np.int64(rules.action_kind[action])
    effect = rules.kind_effect[kind]
    if effect == Effect.WILD_DRAW_TWO or (
        effect == Effect.WILD_DRAW_FOUR and not rules.w4_enforced
    ):
        own[Count.WILD_DRAWS] += 1
        hand = own_hand(row, seat)
        if rules.guilt_by_color_only:
            guilty = color != NO_COLOR and hand & rules.color_kinds[color] != EMPTY
        else:
            guilty = matching_kinds(rules, hand, top, color) != EMPTY
        own[Count.BLUFFS] += guilty


@kernel
def _first_forced(log):
    """The seat of the first forced draw in the log, or -1."""
    for entry in range(log[0]):
        if log[1 + 2 * entry] == Note.FORCED:
            return np.int64(log[2 + 2 * entry])
    return -1


def opening_hands(rules: Rules, rows: Any) -> tuple[np.ndarray, np.ndarray]:
    """What was dealt, in games that have just begun.

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
    _open(rules._table, rows, hands, first)
    return hands, first


@kernel
def _open(rules, rows, hands, first):
    for deal in range(hands.shape[0]):
        row = rows[deal]
        n = np.int64(row.num_players)
        for position in range(n):
            seat = (row.dealer + 1 + position) % n
            for kind in range(hands.shape[2]):
                hands[deal, position, kind] = held(rules[0], row, seat, bit(kind))
        first[deal] = (np.int64(row.to_act) - row.dealer - 1 + n) % n


RATES: dict[str, tuple[Count, Count, str]] = {
    "draw_rate": (Count.DRAWS, Count.TURNS, "turns begun with a draw"),
    "voluntary_draws": (Count.VOLUNTARY_DRAWS, Count.DRAWS, "draws with a playable card in hand"),
    "kept": (Count.KEPT, Count.PLAYABLE_DRAWN, "playable drawn cards that were kept"),
    "wild_cards": (Count.WILD_CARDS, Count.WILDS, "cards in hand when a wild was played"),
    "wilds_unforced": (Count.WILDS_UNFORCED, Count.WILDS, "wilds played instead of a colour"),
    "bluff_rate": (Count.BLUFFS, Count.WILD_DRAWS, "wild draws played with another playable card"),
    "challenge_rate": (Count.CHALLENGES, Count.CHALLENGE_OFFERS, "wild draws challenged"),
    "challenge_accuracy": (Count.CHALLENGES_WON, Count.CHALLENGES, "challenges that succeeded"),
    "bluffs_caught": (Count.BLUFFS_CAUGHT, Count.BLUFFS, "bluffs that were challenged"),
    "uno_missed": (Count.UNO_SILENT, Count.UNO_CALLS, "UNO calls not made"),
    "silent_caught": (Count.SILENT_CAUGHT, Count.UNO_SILENT, "missed calls that were caught"),
    "catch_rate": (Count.CATCHES, Count.CATCH_OFFERS, "others' missed calls caught when asked"),
    "turns_per_round": (Count.TURNS, Count.ROUNDS, "own turns in a round"),
    "round_length": (Count.LENGTH, Count.ROUNDS, "decisions of all seats in a round"),
    "points_per_win": (Count.POINTS, Count.WINS, "points of a round won"),
    "win_rate": (Count.WINS, Count.ROUNDS, "rounds won"),
}
"""The figures of a profile: this count over that, and what it says."""


def profile(counts: np.ndarray) -> dict[str, Any]:
    """The figures of one agent.

    Parameters
    ----------
    counts : int64 array, shape ``(n, len(Count))``
        By position, summed over places and games.

    Returns
    -------
    dict
        Each of `RATES`, null where it never came to it; ``by_position``, the win rate from the
        dealer's left on; ``counts``, by name.
    """
    total = counts.sum(axis=0)

    def rate(line: np.ndarray, key: str) -> float | None:
        part, whole, _ = RATES[key]
        return float(line[part] / line[whole]) if line[whole] else None

    return {
        **{key: rate(total, key) for key in RATES},
        "by_position": [rate(line, "win_rate") for line in counts],
        "counts": {count.name.lower(): int(total[count]) for count in Count},
    }
