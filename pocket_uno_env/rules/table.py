"""`Rules` as the flat record that compiled code reads."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from pocket_uno_env.compiled.kernel import as_record, as_rows

from .actions import catalogue
from .cards import ACTION_SYMBOLS, CARD_WORDS, MAX_CARDS
from .effects import DRAWS, EFFECTS, Effect
from .limits import MAX_ACTIONS, MAX_KINDS, NO_COLOR
from .phases import BASE_PHASES, Phase

if TYPE_CHECKING:
    from .rules import Rules

FEW = 4
"""So many kinds with several copies are few (`RULES_ROW`)."""


# A set of kinds is a uint64, bit k for kind k; a set of cards is CARD_WORDS of them. Tables by
# kind, card or action have room for more than these rules have; the rest is 0.
RULES_ROW = np.dtype(
    [
        ("color_kinds", np.uint64, (4,)),  # by colour: its kinds, a bit set
        ("symbol_kinds", np.uint64, (MAX_KINDS,)),  # by kind: the coloured kinds of its symbol
        ("coloured_kinds", np.uint64),  # all kinds with a colour, a bit set
        ("wild_kinds", np.uint64),  # all kinds without, a bit set
        ("multiple_kinds", np.uint64),  # the kinds with more than one copy, a bit set
        # The same if they are at most FEW, else empty: to count them all is then faster than to
        # ask which to count.
        ("few_multiples", np.uint64),
        ("w4_kind", np.uint64),  # the kind W+4, a bit set; empty without it
        ("n_cards", np.int64),  # cards in the deck
        ("n_kinds", np.int64),  # card kinds: the coloured ones, then the wilds
        ("n_coloured", np.int64),  # coloured kinds
        ("n_colors", np.int64),  # colours in use
        ("n_symbols", np.int64),  # coloured kinds of each colour
        ("n_faces", np.int64),  # symbols and wilds in the deck
        ("n_phases", np.int64),  # phases that may come up, without Phase.OVER
        ("n_actions", np.int64),  # action ids
        ("hand_size", np.int64),  # cards dealt to each player
        ("match_goal", np.int64),  # points that end a match
        ("per_point", np.float64),  # 1 / match_goal
        ("draw_limit", np.int64),  # the most cards of a draw; 1 unless draw_until_playable
        ("opening_wild_stays", np.bool_),  # opening_wild is "first_player_chooses"
        ("literal_reverse", np.bool_),  # two_player_reverse is "literal"
        ("w4_enforced", np.bool_),  # wild_draw_four is "enforced"
        ("guilt_by_color_only", np.bool_),  # challenge_condition is "matching_color"
        ("uno_automatic", np.bool_),  # uno_call is "automatic"
        ("stacking", np.bool_),  # draw cards may be answered with draw cards
        ("stack_any", np.bool_),  # with any of them: stacking is "any"
        ("seven_zero", np.bool_),  # Rules.seven_zero
        ("jump_in", np.bool_),  # Rules.jump_in
        ("forced_play", np.bool_),  # Rules.forced_play
        ("elimination", np.bool_),  # Rules.elimination
        ("draw_kinds", np.uint64),  # the kinds that make others draw, a bit set
        ("reverse_kinds", np.uint64),  # the kinds that turn the direction, a bit set
        ("action_kinds", np.uint64),  # the coloured kinds of `cards.ACTION_SYMBOLS`, a bit set
        ("first_wild_action", np.int64),  # the first action id that plays a wild
        ("first_move_action", np.int64),  # the first of the eight moves without a card
        ("first_give_action", np.int64),  # the first that gives a card
        ("first_name_action", np.int64),  # the first that names a colour
        ("first_house_action", np.int64),  # the first of house rules
        ("kind_cards", np.uint64, (MAX_KINDS, CARD_WORDS)),  # by kind: its copies, a set of cards
        ("color_cards", np.uint64, (4, CARD_WORDS)),  # by colour: its cards, a set of cards
        # By kind: the coloured cards of its symbol, a set of cards.
        ("symbol_cards", np.uint64, (MAX_KINDS, CARD_WORDS)),
        ("cards", np.uint64, (CARD_WORDS,)),  # all cards, a set of cards
        ("card_kind", np.uint8, (MAX_CARDS,)),  # by card: its kind
        ("deck", np.uint8, (MAX_CARDS,)),  # all cards, sorted by kind
        ("copies", np.uint8, (MAX_KINDS,)),  # by kind: how many cards
        ("kind_color", np.uint8, (MAX_KINDS,)),  # by kind: its colour, or NO_COLOR
        ("kind_face", np.uint8, (MAX_KINDS,)),  # by kind: the index of its symbol in Rules.faces
        ("kind_effect", np.uint8, (MAX_KINDS,)),  # by kind: an Effect
        ("kind_draws", np.int64, (MAX_KINDS,)),  # by kind: how many cards the next player draws
        ("kind_points", np.uint8, (MAX_KINDS,)),  # by kind: points in the hand of a loser
        ("action_move", np.uint8, (MAX_ACTIONS,)),  # by action id: a Move
        ("action_kind", np.uint8, (MAX_ACTIONS,)),  # by action id: the card kind, or NO_KIND
        ("action_color", np.uint8, (MAX_ACTIONS,)),  # by action id: the colour then, or NO_COLOR
        ("action_seat", np.uint8, (MAX_ACTIONS,)),  # by action id: the seat to swap with
    ],
    align=True,
)
"""`Rules` as compiled code sees them, one record; its fields are explained in the source."""


@lru_cache(maxsize=256)
def rules_table(rules: Rules) -> Any:
    """The record of `rules`: dtype `RULES_ROW`, shape ``(1,)``; made once."""
    rows = np.zeros(1, RULES_ROW)
    row = as_record(rows)
    kinds = rules.kinds
    further = len(kinds)
    row.n_cards = 0
    for index, kind in enumerate(kinds):
        bit = np.uint64(1 << index)
        if kind.color is None:
            row.wild_kinds |= bit
            row.kind_color[index] = NO_COLOR
            if kind.symbol == "W+4":
                row.w4_kind = bit
        else:
            row.color_kinds[kind.color] |= bit
            row.coloured_kinds |= bit
            row.kind_color[index] = kind.color
            for other, twin in enumerate(kinds):
                if twin.color is not None and twin.symbol == kind.symbol:
                    row.symbol_kinds[index] |= np.uint64(1 << other)
        row.kind_face[index] = rules.faces.index(kind.symbol)
        effect = EFFECTS.get(kind.symbol, Effect.NONE)
        if rules.seven_zero and kind.symbol == "7":
            effect = Effect.SWAP
        elif rules.seven_zero and kind.symbol == "0":
            effect = Effect.ROTATE
        row.kind_effect[index] = effect
        row.kind_draws[index] = DRAWS.get(kind.symbol, 0)
        if row.kind_draws[index] > 0:
            row.draw_kinds |= bit
        if effect == Effect.REVERSE:
            row.reverse_kinds |= bit
        if kind.color is not None and kind.symbol in ACTION_SYMBOLS:
            row.action_kinds |= bit
        row.kind_points[index] = kind.points
        if kind.copies > 1:
            row.multiple_kinds |= bit
        row.copies[index] = kind.copies
        for card in (index, *range(further, further + kind.copies - 1)):
            row.card_kind[card] = index
            row.kind_cards[index, card // 64] |= np.uint64(1 << card % 64)
            row.deck[row.n_cards] = card
            row.n_cards += 1
        further += kind.copies - 1
    if int(row.multiple_kinds).bit_count() <= FEW:
        row.few_multiples = row.multiple_kinds
    row.n_kinds = len(kinds)
    row.n_coloured = sum(kind.color is not None for kind in kinds)
    row.n_colors = rules.colors
    row.n_symbols = row.n_coloured // rules.colors
    row.n_faces = len(rules.faces)
    for index in range(row.n_coloured):
        row.color_cards[row.kind_color[index]] |= row.kind_cards[index]
        same = row.kind_face[: len(kinds)] == row.kind_face[index]
        row.symbol_cards[index] = np.bitwise_or.reduce(row.kind_cards[: len(kinds)][same])
    row.cards = np.bitwise_or.reduce(row.kind_cards)
    row.hand_size = rules.hand_size
    row.match_goal = rules.match_goal
    row.per_point = 1 / rules.match_goal
    row.draw_limit = rules.draw_limit if rules.draw_until_playable else 1
    row.opening_wild_stays = rules.opening_wild == "first_player_chooses"
    row.literal_reverse = rules.two_player_reverse == "literal"
    row.w4_enforced = rules.wild_draw_four == "enforced"
    row.guilt_by_color_only = rules.challenge_condition == "matching_color"
    row.uno_automatic = rules.uno_call == "automatic"
    row.stacking = bool(rules.stacking)
    row.stack_any = rules.stacking == "any"
    row.seven_zero = rules.seven_zero
    row.jump_in = rules.jump_in
    row.forced_play = rules.forced_play
    row.elimination = rules.elimination
    asks_more = rules.stacking or rules.seven_zero or rules.jump_in
    row.n_phases = Phase.OVER if asks_more else BASE_PHASES
    catalogue(rules).write_tables(row)
    return as_rows(rows)
