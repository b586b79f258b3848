"""The card counter: a scripted policy by rules of thumb and the probability of an answer."""

from __future__ import annotations

import numpy as np

from pocket_uno_env.compiled.bits import EMPTY, first, size, without_first
from pocket_uno_env.compiled.kernel import kernel
from pocket_uno_env.engine.legality import can_challenge, playable_kinds
from pocket_uno_env.observation.information import own_hand
from pocket_uno_env.rules.actions import Move
from pocket_uno_env.rules.phases import Phase

from .card_count import belief_of, context_of, guilt_probability, reply_probabilities, without
from .choices import cardless, otherwise, play_action, sociable_action
from .turns import goes_out, next_mover

_CERTAIN = 1000.0
_RATHER_NOT = 100.0


@kernel
def counter_action(rules, row):
    """Count cards: play what the next player can hardly answer, as the unseen cards tell.

    Plays whenever possible and keeps wilds for last, as `greedy_action` does. Among the coloured
    cards it prefers those with many of its own to follow and a small probability of an answer,
    above all when the next player is about to go out; it sees when it can go out in one turn. It
    names colours likewise, gives a card that can't be played at once, and challenges when guilt is
    likely enough to pay: a won challenge is worth about twice what a lost one costs.
    """
    phase = row.phase
    if can_challenge(rules, row) and guilt_probability(rules, row, 1.0) > 1.0 / 3.0:
        return cardless(rules, Move.CHALLENGE)
    if phase == Phase.PLAY or phase == Phase.DRAWN or phase == Phase.STACK:
        return _best_play(rules, row)
    if phase == Phase.GIVE:
        return rules.first_give_action + _harmless_gift(rules, row)
    return sociable_action(rules, row)


@kernel
def _best_play(rules, row):
    """The play of the highest value; without one, what there is to do instead."""
    playable = playable_kinds(rules, row)
    if playable == EMPTY:
        return otherwise(rules, row, playable)
    cards = np.int64(row.hand_size[row.to_act])
    if cards == 1:
        return play_action(rules, first(playable), 0)
    context = context_of(rules, row, 1.0)
    best, most = -1, -_CERTAIN
    while playable != EMPTY:
        kind = first(playable)
        playable = without_first(playable)
        hand = without(context.count, context.count.hand, kind)
        wild = kind >= rules.n_coloured
        for named in range(rules.n_colors if wild else 1):
            color = named if wild else np.int64(rules.kind_color[kind])
            value = _value(rules, row, context, hand, cards - 1, kind, color)
            if wild:
                value -= _RATHER_NOT
            if value > most:
                best, most = play_action(rules, kind, color), value
    return best


@kernel
def _value(rules, row, context, hand, left, kind, color):
    """The value of playing a kind and naming a colour, with this hand and number of cards left."""
    mover = next_mover(rules, row, context.seat, context.after, kind)
    same = hand & rules.color_kinds[color]
    value = size(same) + size(same & context.count.pairs) + rules.kind_points[kind] / 50.0
    if mover == context.seat:
        wild = kind >= rules.n_coloured
        if not wild and goes_out(rules, hand, left, kind, color, context.keepers):
            return _CERTAIN
        return value + 2.0
    theirs = belief_of(rules, row, context, mover, 1.0)
    answer, _ = reply_probabilities(rules, context.count, theirs, kind, color, 0, hand)
    return value - answer * (10.0 if row.hand_size[mover] == 1 else 1.0)


@kernel
def _harmless_gift(rules, row):
    """The highest coloured kind that is not of the active colour, as far as there is one."""
    hand = own_hand(row, row.to_act)
    best, most = first(hand), -_CERTAIN
    while hand != EMPTY:
        kind = first(hand)
        hand = without_first(hand)
        value = np.float64(rules.kind_points[kind])
        if kind >= rules.n_coloured:
            value -= 2.0 * _RATHER_NOT
        elif rules.kind_color[kind] == row.active_color:
            value -= _RATHER_NOT
        if value > most:
            best, most = kind, value
    return best
