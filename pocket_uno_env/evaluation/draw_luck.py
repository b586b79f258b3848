"""Control variates: how lucky the draws were, to be subtracted from the results.

Given the whole game before a card is drawn, its distribution is known: each card of the draw pile
is equally likely. So for any function of the history and the card, its value for the card drawn,
less its mean over the pile, has mean zero, whatever the agents do. Sums of such differences
over a game (`draw_luck`) are correlated with who wins, and subtracting their best linear
prediction from the results (`luck_adjustment`) leaves the mean as it is and less variance. Here the
function is a list of features of the drawn card: can it be played at once, is it wild, does it go
with the hand, in hands of this size.

This is the chance part of AIVAT. An agent that knows the order of the pile breaks the assumption:
then the draws are no surprise.

Source: N. Burch, M. Schmid, M. Moravcik, D. Morrill, M. Bowling, "AIVAT: a new variance reduction
technique for agent evaluation in imperfect information games", AAAI 2018.
"""

from __future__ import annotations

import numpy as np

from pocket_uno_env.agents.scripted.turns import is_action
from pocket_uno_env.compiled.bits import EMPTY, bit, size
from pocket_uno_env.compiled.kernel import kernel
from pocket_uno_env.engine.legality import matching_kinds
from pocket_uno_env.engine.piles import Note
from pocket_uno_env.engine.transition import apply
from pocket_uno_env.observation.information import held, own_hand
from pocket_uno_env.rules.limits import NO_COLOR
from pocket_uno_env.rules.phases import End

from .behavior import LOG_SIZE
from .matches import FinishedGames, after_decision

SIZES = 5
"""Hands of 1, 2, ... cards have features of their own; larger ones share the last."""
KINDS_OF_LUCK = 8
URGENT = 2
"""As many cards in another's hand, or fewer, have features of their own, too."""
FEATURES = SIZES * KINDS_OF_LUCK + URGENT


def draw_luck(games: FinishedGames) -> np.ndarray:
    """The luck of each place's draws.

    Returns
    -------
    float32 array, shape ``(deals, n, FEATURES)``
        By deal and place, the mean over the rotations. Its expectation is zero.
    """
    n = games.places.shape[1]
    luck = np.zeros((len(games.rows), n, FEATURES))
    _add_luck(games, luck)
    return np.asarray(luck.reshape(-1, games.rotations, n, FEATURES).mean(axis=1), np.float32)


@kernel
def _add_luck(games, luck):
    rules = games.rules
    log = np.zeros(LOG_SIZE, np.int16)
    pile = np.zeros(rules[0].n_kinds, np.int64)
    hands = np.zeros(luck.shape[1], np.uint64)
    sizes = np.zeros(luck.shape[1], np.int64)
    for game in range(games.rows.shape[0]):
        row = games.rows[game]
        dealt = np.int64(-1)
        for decision in range(games.lengths[game]):
            if games.book.rounds[game] != dealt:
                dealt = games.book.rounds[game]
                _fill(rules[0], row, pile)
            for seat in range(hands.shape[0]):
                hands[seat] = own_hand(row, seat)
                sizes[seat] = row.hand_size[seat]
            log[0] = 0
            apply(rules[0], row, np.int64(games.actions[game, decision]), None, log)
            _read(rules[0], row, log, pile, hands, sizes, games.places[game], luck[game])
            after_decision(rules[0], row, game, games.book)


@kernel
def _fill(rules, row, pile):
    """What the draw pile holds at the start of a round: all but the hands and the top card."""
    for kind in range(rules.n_kinds):
        pile[kind] = rules.copies[kind]
        for seat in range(row.num_players):
            pile[kind] -= held(rules, row, seat, bit(kind))
    pile[row.top] -= 1


@kernel
def _read(rules, row, log, pile, hands, sizes, places, luck):
    """Follow the draws of one decision; add the luck of each, and keep the pile's count.

    Whatever of the game enters here, beside the card, was settled before the card was drawn.
    """
    top, color = np.int64(row.top), np.int64(row.active_color)
    seat, forced = np.int64(0), False
    for entry in range(log[0]):
        code, value = log[1 + 2 * entry], np.int64(log[2 + 2 * entry])
        if code == Note.DRAW or code == Note.FORCED:
            seat, forced = value, code == Note.FORCED
        elif code == Note.RESHUFFLE:
            pile[:] = 0
        elif code == Note.PILE:
            pile[value] += 1
        elif code == Note.CARD:
            out = luck[places[seat]]
            urgent = URGENT + 1
            for other in range(sizes.shape[0]):
                if other != seat:
                    urgent = min(urgent, sizes[other])
            cards = 0
            for kind in range(pile.shape[0]):
                cards += pile[kind]
            hand, own = hands[seat], sizes[seat]
            if row.end != End.OUT and cards > 1:
                _add(rules, value, hand, own, urgent, top, color, forced, 1.0, out)
                for kind in range(pile.shape[0]):
                    if pile[kind] > 0:
                        share = -pile[kind] / cards
                        _add(rules, kind, hand, own, urgent, top, color, forced, share, out)
            pile[value] -= 1


@kernel
def _add(rules, kind, hand, own, urgent, top, color, forced, weight, out):
    """Add `weight` times the features of drawing `kind` to a hand of `own` cards."""
    at = KINDS_OF_LUCK * (min(max(own, 1), SIZES) - 1)
    wild = rules.kind_color[kind] == NO_COLOR
    out[at + 7] += weight * rules.kind_points[kind] / 50.0
    if wild:
        out[at + (1 if forced else 0)] += weight
    else:
        if matching_kinds(rules, bit(kind), top, color) != EMPTY:
            out[at + (3 if forced else 2)] += weight
        alike = hand & rules.color_kinds[rules.kind_color[kind]]
        out[at + 4] += weight * size(alike) / max(own, 1)
        if hand & rules.symbol_kinds[kind] & ~alike != EMPTY:
            out[at + 5] += weight
        if is_action(rules, kind):
            out[at + 6] += weight
    playable = wild or matching_kinds(rules, bit(kind), top, color) != EMPTY
    if playable and not forced and 1 <= urgent <= URGENT:
        out[SIZES * KINDS_OF_LUCK + urgent - 1] += weight
