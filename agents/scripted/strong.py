"""The strong scripted policy: linear weights over features of a play."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from pocket_uno_env.compiled.bits import EMPTY, bit, first, size, without_first
from pocket_uno_env.compiled.kernel import inlined, kernel
from pocket_uno_env.engine.legality import can_challenge, matching_kinds, playable_kinds
from pocket_uno_env.engine.piles import seat_after
from pocket_uno_env.observation.information import own_hand
from pocket_uno_env.rules.actions import Move
from pocket_uno_env.rules.effects import Effect
from pocket_uno_env.rules.limits import NO_COLOR
from pocket_uno_env.rules.phases import Phase

from .card_count import (
    belief_of,
    context_of,
    guilt_probability,
    of_color,
    reply_probabilities,
)
from .choices import cardless, otherwise, play_action, sociable_action
from .left_hand import whole_hand, without
from .strong_weights import WEIGHTS
from .turns import goes_out, is_action, next_mover, seat_before

ABOVE_ALL = 1000.0
"""A value that no sum of features reaches."""
EXCHANGE = 2.0
"""What a card less is worth when hands are exchanged; the weights are about 1."""
BIG_DECK = 80
"""Decks of more cards are played with the weights for classic, others with those for pocket."""


class Feature(IntEnum):
    """What `strong_action` weighs: the value of a play is the sum of weight times feature."""

    # Parameters, not summed: how far draws are believed (`card_count.believe`), and the chance of
    # guilt above which to challenge.
    TRUST = 0
    CHALLENGE_AT = 1
    # The card. POINTS in tens. WILD, WILD_DIP, WILD_DRAW: which wild it is; GUILTY: a challenge
    # would succeed. HIT: cards that the next player draws, HIT_CLOSE: one who has two or one.
    # SKIP: the next player loses the turn. SWITCH: to another colour, SWITCH_THEIRS: from one
    # that the next player played.
    POINTS = 2
    WILD = 3
    WILD_DIP = 4
    WILD_DRAW = 5
    GUILTY = 6
    HIT = 7
    HIT_CLOSE = 8
    SKIP = 9
    SWITCH = 10
    SWITCH_THEIRS = 11
    # The turn passes. ANSWER: the chance that the mover can play, ANSWER_ONE and ANSWER_TWO: with
    # so many cards. OUT: the hand left can be shed in one turn on this top, OUT_SAFE: times the
    # chance of no answer. NEXT: the chance to be able to play in the next turn.
    ANSWER = 12
    ANSWER_ONE = 13
    ANSWER_TWO = 14
    OUT = 15
    OUT_SAFE = 16
    NEXT = 17
    # The hand that is left. LEFT: its cards. NO_FOLLOW: none is of the active colour,
    # FOLLOW_SHARE: how many of them are. COLORS: different ones. ISOLATED: kinds that share
    # neither colour nor symbol with another. WILDS. ACTIONS: action cards, ACTIONS_FOLLOW: those
    # that fit the top. COMMON: unseen cards of the active colour, in tens.
    LEFT = 18
    NO_FOLLOW = 19
    FOLLOW_SHARE = 20
    COLORS = 21
    ISOLATED = 22
    WILDS = 23
    ACTIONS = 24
    ACTIONS_FOLLOW = 25
    COMMON = 26
    # Not playing. DRAW: at once, DRAW_AGAIN: after a card that keeps the turn. KEEP: the card just
    # drawn, KEEP_WILD: if it is a wild.
    DRAW = 27
    DRAW_AGAIN = 28
    KEEP = 29
    KEEP_WILD = 30
    # The gift of a wild dip: points in tens; of the active colour; a wild; an action card; a kind
    # that is isolated in the hand.
    GIVE_POINTS = 31
    GIVE_ACTIVE = 32
    GIVE_WILD = 33
    GIVE_ACTION = 34
    GIVE_ISOLATED = 35


def as_array(weights: dict[str, float]) -> np.ndarray:
    """Named weights in the order of `Feature`, float64; the names are in lower case."""
    return np.array([weights[feature.name.lower()] for feature in Feature])


_TABLE = np.array([as_array(weights) for weights in WEIGHTS.values()])
FOR_MATCHES = len(WEIGHTS) // 2
"""So many entries further on are the weights that were tuned for matches."""


@kernel
def weights_for(rules, row):
    """Which weights of `strong_weights.WEIGHTS` are for these rules and this number of players.

    Those for matches stand `FOR_MATCHES` further on.
    """
    return (2 if rules.n_cards > BIG_DECK else 0) + (1 if row.players_in > 2 else 0)


@kernel
def strong_action(rules, row):
    """Weigh some thirty features of every play, and take the best.

    Follow-ups, links and isolated cards in the hand that would be left, the chance that the next
    player can answer, as unseen cards and colours they drew on tell, cards that keep the turn and
    what can be played on them, guilt. The weights were tuned by ``pocket-uno tune``, for two
    players and for more, pocket and classic (`strong_weights`).
    """
    return weighted_action(rules, row, _TABLE[weights_for(rules, row)])


@kernel
def strong_match_action(rules, row):
    """`strong` with weights that were tuned to win matches: it gives less away in lost rounds."""
    return weighted_action(rules, row, _TABLE[FOR_MATCHES + weights_for(rules, row)])


@kernel
def weighted_action(rules, row, w):
    """`strong_action` with other weights; ``w`` float64, shape ``(len(Feature),)``."""
    phase = row.phase
    trust, enough = w[Feature.TRUST], w[Feature.CHALLENGE_AT]
    if can_challenge(rules, row) and guilt_probability(rules, row, trust) > enough:
        return cardless(rules, Move.CHALLENGE)
    if phase == Phase.PLAY or phase == Phase.DRAWN or phase == Phase.STACK:
        return _best_play(rules, row, w)
    if phase == Phase.GIVE:
        return rules.first_give_action + _best_gift(rules, row, w)
    return sociable_action(rules, row)


@kernel
def _best_play(rules, row, w):
    """The play, or what there is instead of one, of the highest value."""
    playable = playable_kinds(rules, row)
    best = otherwise(rules, row, playable)
    if playable == EMPTY:
        return best
    cards = np.int64(row.hand_size[row.to_act])
    if cards == 1:
        return play_action(rules, first(playable), 0)
    context = context_of(rules, row, w[Feature.TRUST])
    hand = whole_hand(rules, context.count.hand, cards)
    pairs = context.count.pairs
    top, color = np.int64(row.top), np.int64(row.active_color)
    most = -ABOVE_ALL
    if best >= 0 and row.phase != Phase.STACK:
        if row.phase == Phase.DRAWN:
            most = w[Feature.KEEP]
            if playable & rules.wild_kinds != EMPTY:
                most += w[Feature.KEEP_WILD]
        else:
            most = w[Feature.DRAW]
        most += _passed(rules, row, w, context, context.after, top, color, hand, 0)
    while playable != EMPTY:
        kind = first(playable)
        playable = without_first(playable)
        wild = kind >= rules.n_coloured
        rest = without(rules, hand, pairs, kind)
        action = play_action(rules, kind, 0)
        mover = next_mover(rules, row, context.seat, context.after, kind)
        for named in range(rules.n_colors if wild else 1):
            new = named if wild else np.int64(rules.kind_color[kind])
            value = _card(rules, row, w, context, top, color, kind, new, rest.kinds)
            if mover == context.seat:
                guilty = wild and _is_guilty(rules, top, color, kind, rest.kinds)
                if not guilty and goes_out(
                    rules, rest.kinds, cards - 1, kind, new, context.keepers
                ):
                    return action + named
                value += _again(rules, row, w, context, kind, new, rest)
            else:
                value += _passed(rules, row, w, context, mover, kind, new, rest, 0)
                if rules.seven_zero:
                    value += _exchanged(row, context.seat, rules.kind_effect[kind], cards - 1)
            better = value > most
            best = action + named if better else best
            most = value if better else most
    return best


@kernel
def _exchanged(row, seat, effect, left):
    """The value of changing a hand of so many cards for another, under `seven_zero`."""
    if effect == Effect.ROTATE:
        return EXCHANGE * (left - row.hand_size[seat_before(row, seat)])
    if effect != Effect.SWAP:
        return 0.0
    other = seat_after(row, seat)
    fewest = np.int64(row.hand_size[other])
    while other != seat:
        fewest = min(fewest, np.int64(row.hand_size[other]))
        other = seat_after(row, other)
    return EXCHANGE * (left - fewest)


@inlined
def _is_guilty(rules, top, color, kind, hand):
    """Whether a challenge of `kind` would succeed, played with `hand` left on `top` and `color`."""
    effect = rules.kind_effect[kind]
    if effect != Effect.WILD_DRAW_TWO and effect != Effect.WILD_DRAW_FOUR:
        return False
    if effect == Effect.WILD_DRAW_FOUR and rules.w4_enforced:
        return False
    if rules.guilt_by_color_only:
        return hand & rules.color_kinds[color] != EMPTY
    return matching_kinds(rules, hand, top, color) != EMPTY


@inlined
def _card(rules, row, w, context, top, color, kind, new, hand):
    """The value of one card played on `top` and `color`, whatever comes next.

    ``new`` is the colour then, ``hand`` what is left.
    """
    value = w[Feature.POINTS] * rules.kind_points[kind] / 10.0
    if kind >= rules.n_coloured:
        effect = rules.kind_effect[kind]
        if effect == Effect.NONE:
            value += w[Feature.WILD]
        elif effect == Effect.WILD_DIP:
            value += w[Feature.WILD_DIP]
        else:
            value += w[Feature.WILD_DRAW]
            if _is_guilty(rules, top, color, kind, hand):
                value += w[Feature.GUILTY]
    if bit(kind) & (rules.action_kinds | rules.draw_kinds) != EMPTY:
        hit = rules.kind_draws[kind]
        if hit > 0:
            value += w[Feature.HIT] * hit
            if row.hand_size[context.after] <= 2:
                value += w[Feature.HIT_CLOSE]
        if bit(kind) & rules.reverse_kinds == EMPTY:
            value += w[Feature.SKIP]
    value += w[Feature.SWITCH] if new != color else 0.0
    theirs = (new != color) & (row.actor == context.after)
    return value + (w[Feature.SWITCH_THEIRS] if theirs else 0.0)


@inlined
def _again(rules, row, w, context, top, color, hand):
    """The value of moving again on one's own card: the best of the next plays."""
    hit = rules.kind_draws[top]
    most = w[Feature.DRAW_AGAIN]
    most += _passed(rules, row, w, context, context.after, top, color, hand, hit)
    playable = matching_kinds(rules, hand.kinds, top, color)
    pairs = context.count.pairs
    while playable != EMPTY:
        kind = first(playable)
        playable = without_first(playable)
        wild = kind >= rules.n_coloured
        rest = without(rules, hand, pairs, kind)
        hits = hit + rules.kind_draws[kind]
        for named in range(rules.n_colors if wild else 1):
            new = named if wild else np.int64(rules.kind_color[kind])
            value = _card(rules, row, w, context, top, color, kind, new, rest.kinds)
            value += _passed(rules, row, w, context, context.after, kind, new, rest, hits)
            most = value if value > most else most
    return most


@inlined
def _passed(rules, row, w, context, mover, top, color, hand, hit):
    """The value of passing the turn to `mover` with this top and colour and this hand left.

    ``hit`` cards were drawn by the mover in this turn.
    """
    kinds, cards, actions = hand.kinds, hand.cards, context.actions
    theirs = belief_of(rules, row, context, mover, w[Feature.TRUST])
    answer, again = reply_probabilities(rules, context.count, theirs, top, color, hit, kinds)
    value = w[Feature.ANSWER] * answer + w[Feature.NEXT] * again
    held = row.hand_size[mover] + hit
    if held <= 2:
        value += (w[Feature.ANSWER_ONE] if held == 1 else w[Feature.ANSWER_TWO]) * answer
    if goes_out(rules, kinds, cards, top, color, context.keepers):
        value += w[Feature.OUT] + w[Feature.OUT_SAFE] * (1.0 - answer)
    colored = rules.color_kinds[color]
    same = kinds & colored
    follow = size(same) + size(same & context.count.pairs)
    value += w[Feature.NO_FOLLOW] if follow == 0 else 0.0
    value += w[Feature.FOLLOW_SHARE] * follow / max(cards, 1) + w[Feature.LEFT] * cards
    value += w[Feature.COLORS] * hand.colors + w[Feature.ISOLATED] * size(hand.lone & hand.single)
    value += w[Feature.WILDS] * size(kinds & rules.wild_kinds)
    value += w[Feature.ACTIONS] * size(kinds & actions)
    value += w[Feature.ACTIONS_FOLLOW] * size(kinds & actions & (colored | rules.symbol_kinds[top]))
    common = of_color(rules, context.count, color)
    return value + w[Feature.COMMON] * (size(common[0]) + size(common[1])) / 10.0


@kernel
def _best_gift(rules, row, w):
    """The kind to give away of the highest value."""
    hand = own_hand(row, row.to_act)
    coloured = hand & rules.coloured_kinds
    best, most = first(hand), -ABOVE_ALL
    while hand != EMPTY:
        kind = first(hand)
        hand = without_first(hand)
        value = w[Feature.GIVE_POINTS] * rules.kind_points[kind] / 10.0
        color = rules.kind_color[kind]
        if color == NO_COLOR:
            value += w[Feature.GIVE_WILD]
        else:
            if color == row.active_color:
                value += w[Feature.GIVE_ACTIVE]
            if is_action(rules, kind):
                value += w[Feature.GIVE_ACTION]
            linked = coloured & (rules.color_kinds[color] | rules.symbol_kinds[kind])
            if without_first(linked) == EMPTY:
                value += w[Feature.GIVE_ISOLATED]
        if value > most:
            best, most = kind, value
    return best
