"""The simple scripted policies: at random, and by a rule of thumb or two; see `policies`."""

from __future__ import annotations

from pocket_uno_env.compiled.bits import EMPTY, first, nth, size, without_first
from pocket_uno_env.compiled.kernel import inlined, kernel
from pocket_uno_env.engine.legality import can_challenge, can_jump_in, playable_kinds
from pocket_uno_env.engine.piles import seat_after
from pocket_uno_env.observation.information import held, own_hand
from pocket_uno_env.rules.actions import Move
from pocket_uno_env.rules.effects import Effect
from pocket_uno_env.rules.limits import NO_COLOR
from pocket_uno_env.rules.phases import Phase

from .choices import (
    cardless,
    choose,
    highest_kind,
    majority_color,
    otherwise,
    play_action,
    sociable_action,
)


@inlined
def random_action(rules, row):
    """Uniform over the legal actions.

    It draws with a full hand, stays silent at one card and hardly ever finishes a round.
    """
    phase = row.phase
    if phase == Phase.PLAY or phase == Phase.DRAWN or phase == Phase.STACK:
        kinds = playable_kinds(rules, row)
        coloured = kinds & rules.coloured_kinds
        wilds = kinds & rules.wild_kinds
        n_coloured = size(coloured)
        n_wild = size(wilds) * rules.n_colors
        other = otherwise(rules, row, kinds)
        pick = choose(row, n_coloured + n_wild + (other >= 0) + can_challenge(rules, row))
        if pick < n_coloured:
            return nth(coloured, pick)
        pick -= n_coloured
        if pick < n_wild:
            return play_action(rules, nth(wilds, pick // rules.n_colors), pick % rules.n_colors)
        return other if pick == n_wild else cardless(rules, Move.CHALLENGE)
    if phase == Phase.UNO:
        return cardless(rules, Move.SAY_UNO) + choose(row, 2)
    if phase == Phase.CATCH:
        return cardless(rules, Move.CATCH) + choose(row, 2)
    if phase == Phase.CHALLENGE:
        return cardless(rules, Move.CHALLENGE) + choose(row, 2)
    if phase == Phase.GIVE:
        hand = own_hand(row, row.to_act)
        return rules.first_give_action + nth(hand, choose(row, size(hand)))
    if phase == Phase.SWAP:
        pick = choose(row, row.players_in - 1)
        seat = seat_after(row, row.to_act)
        for _ in range(pick):
            seat = seat_after(row, seat)
        return rules.first_house_action + seat
    if phase == Phase.JUMP:
        return rules.n_actions - 1 - choose(row, 1 + can_jump_in(rules, row))
    return rules.first_name_action + choose(row, rules.n_colors)


@kernel
def random_uno_action(rules, row):
    """Play uniformly at random, but say uno and catch whoever does not.

    Both are dominant: they cost nothing. The difference to `random_action` is their price.
    """
    if row.phase == Phase.UNO or row.phase == Phase.CATCH:
        return sociable_action(rules, row)
    return random_action(rules, row)


@kernel
def first_action(rules, row):
    """Play the first card in the order of the deck that is legal, else draw.

    No judgement at all beyond playing whenever possible; what that alone is worth.
    """
    phase = row.phase
    if phase == Phase.PLAY or phase == Phase.DRAWN or phase == Phase.STACK:
        kinds = playable_kinds(rules, row)
        if kinds == EMPTY:
            return otherwise(rules, row, kinds)
        return play_action(rules, first(kinds), 0)
    if phase == Phase.GIVE:
        return rules.first_give_action + first(own_hand(row, row.to_act))
    return sociable_action(rules, row)


@kernel
def high_card_action(rules, row):
    """Play the card worth most points, so wilds first, and name the colour held most.

    It loses cheaply rather than seldom: little is left in its hand when another goes out.
    """
    phase = row.phase
    if phase == Phase.PLAY or phase == Phase.DRAWN or phase == Phase.STACK:
        kinds = playable_kinds(rules, row)
        if kinds == EMPTY:
            return otherwise(rules, row, kinds)
        return play_action(
            rules, highest_kind(rules, kinds), majority_color(rules, row, row.to_act)
        )
    if phase == Phase.GIVE:
        return rules.first_give_action + highest_kind(rules, own_hand(row, row.to_act))
    return sociable_action(rules, row)


@kernel
def greedy_action(rules, row):
    """Play whenever possible, the colour held most first, wilds last; never challenge.

    The colour held most first, its highest card; wilds last, naming the colour held most; accepts
    every wild draw, gives its highest card, says uno and catches.
    """
    seat = row.to_act
    phase = row.phase
    if phase == Phase.PLAY or phase == Phase.DRAWN or phase == Phase.STACK:
        kinds = playable_kinds(rules, row)
        if kinds == EMPTY:
            return otherwise(rules, row, kinds)
        coloured = kinds & rules.coloured_kinds
        if coloured == EMPTY:
            return play_action(rules, highest_kind(rules, kinds), majority_color(rules, row, seat))
        best, most = EMPTY, -1
        for color in range(rules.n_colors):
            candidates = coloured & rules.color_kinds[color]
            if candidates != EMPTY:
                count = held(rules, row, seat, rules.color_kinds[color])
                if count > most:
                    best, most = candidates, count
        return play_action(rules, highest_kind(rules, best), NO_COLOR)
    if phase == Phase.GIVE:
        return rules.first_give_action + highest_kind(rules, own_hand(row, seat))
    return sociable_action(rules, row)


@kernel
def challenger_action(rules, row):
    """Plays as greedy does, but challenges every wild draw.

    What a challenge is worth without any judgement of the hand behind the card.
    """
    if can_challenge(rules, row):
        return cardless(rules, Move.CHALLENGE)
    return greedy_action(rules, row)


@kernel
def _attack(rules, kind):
    """How hard playing a kind hits the next player."""
    effect = rules.kind_effect[kind]
    if rules.kind_draws[kind] > 0:
        return 2 + rules.kind_draws[kind]
    if effect == Effect.SKIP:
        return 2
    if effect == Effect.REVERSE:
        return 1
    return 0


@kernel
def attacker_action(rules, row):
    """Hit the next player as soon and as hard as possible, and challenge; else play greedily.

    Cards that make others draw come first, then skips and reverses.
    """
    phase = row.phase
    if phase == Phase.PLAY or phase == Phase.DRAWN or phase == Phase.STACK:
        kinds = playable_kinds(rules, row)
        best, most = -1, 0
        while kinds != EMPTY:
            kind = first(kinds)
            kinds = without_first(kinds)
            if _attack(rules, kind) > most:
                best, most = kind, _attack(rules, kind)
        if best >= 0:
            return play_action(rules, best, majority_color(rules, row, row.to_act))
    return challenger_action(rules, row)
