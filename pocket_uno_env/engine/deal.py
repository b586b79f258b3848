"""Starting games and rounds: seed, shuffle, deal, opening card (docs/rules.md, section 2)."""

from __future__ import annotations

import numpy as np

from pocket_uno_env.compiled.bits import EMPTY
from pocket_uno_env.compiled.kernel import kernel
from pocket_uno_env.compiled.rng import bounded, mix, next_state
from pocket_uno_env.rules.effects import Effect
from pocket_uno_env.rules.limits import NO_COLOR, NO_KIND
from pocket_uno_env.rules.phases import End, Phase

from .piles import Note, arrange, enter_hand, forced_draw, lay, note, seat_after, shuffle
from .state import NO_CARD, NO_SEAT

_POLICY_STREAM = np.uint64(0xD1B54A32D192ED03)


@kernel
def new_game(row, num_players, seed):
    """Empty the books and seed both generators (seed: uint64); `deal_round` comes next."""
    row.rng = seed
    row.policy_rng = mix(seed ^ _POLICY_STREAM)
    row.num_players = num_players
    row.players_in = num_players
    row.out = 0
    row.dealer = NO_SEAT
    row.round_index = -1
    row.scores[:] = 0


@kernel
def deal_round(rules, row, dealer, deck, log):
    """Deal the next round of a game and carry out its opening card.

    Parameters
    ----------
    dealer : int
        A seat, or `NO_SEAT`: in the first round drawn at random, later the left of the last one.
    deck : uint8 array or None
        The kinds of all cards in the order they are dealt, or None for a shuffle. With a put-back
        opening it must leave a coloured card undealt.
    """
    row.direction = 1
    if dealer != NO_SEAT:
        row.dealer = dealer
    elif row.dealer != NO_SEAT:
        row.dealer = seat_after(row, row.dealer)
    else:
        row.rng = next_state(row.rng)
        row.dealer = bounded(row.rng, row.num_players)
    row.round_index += 1
    _begin_round(row)
    while True:
        _deal_hands(rules, row, deck)
        if _open(rules, row, log):
            break
        # Every card left is a wild that has to be put back, which only tiny decks allow:
        # the deal begins anew.
        if log is not None:
            log[0] = 0
    _opening_effect(rules, row, log)


@kernel
def _begin_round(row):
    row.points[:] = 0
    row.decisions = 0
    row.off_color[:] = 0
    row.actor = NO_SEAT
    row.color_before = NO_COLOR
    row.top_before = NO_KIND
    row.drawn_card = NO_CARD
    row.passes = 0
    row.guilty = False
    row.caught = False
    row.stack = 0
    row.end = End.RUNNING
    row.winner = NO_SEAT


@kernel
def _deal_hands(rules, row, deck):
    count = np.int64(rules.n_cards)
    for i in range(count):
        row.draw_pile[i] = rules.deck[i]
    if deck is not None:
        arrange(rules, row.draw_pile, count, deck)
    else:
        shuffle(row, row.draw_pile, count)
    row.hand_kinds[:] = 0
    row.hand_size[:] = 0
    row.hands[:] = 0
    row.known[:] = 0
    row.shown[:] = 0
    row.discards[:] = 0
    row.discard_kinds = EMPTY
    row.discard_count = 0
    seat = np.int64(row.dealer)
    for _ in range(row.players_in * rules.hand_size):
        seat = seat_after(row, seat)
        count -= 1
        enter_hand(rules, row, seat, row.draw_pile[count])
    row.draw_count = count


@kernel
def _open(rules, row, log):
    """Turn the opening card over; False if only wilds are left and none may stay."""
    count = np.int64(row.draw_count)
    stays = bool(rules.opening_wild_stays)
    for i in range(count):
        stays = stays or rules.kind_color[rules.card_kind[row.draw_pile[i]]] != NO_COLOR
    if not stays:
        return False
    while True:
        card = row.draw_pile[count - 1]
        kind = rules.card_kind[card]
        color = rules.kind_color[kind]
        if color != NO_COLOR or rules.opening_wild_stays:
            break
        note(log, Note.TURNED_BACK, kind)
        shuffle(row, row.draw_pile, count)
    row.draw_count = count - 1
    lay(rules, row, card)
    row.active_color = color
    return True


@kernel
def _opening_effect(rules, row, log):
    left = seat_after(row, row.dealer)
    kind = row.top
    effect = rules.kind_effect[kind]
    row.phase = Phase.PLAY
    row.to_act = left
    if rules.kind_color[kind] == NO_COLOR:
        row.phase = Phase.NAME
    elif effect == Effect.SKIP:
        row.to_act = seat_after(row, left)
    elif effect == Effect.REVERSE:
        row.direction = -1
        row.to_act = row.dealer
    elif rules.kind_draws[kind] > 0:
        forced_draw(rules, row, left, rules.kind_draws[kind], None, log)
        row.to_act = seat_after(row, left)
