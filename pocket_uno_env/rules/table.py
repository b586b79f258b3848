"""Table."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from pocket_uno_env.compiled.kernel import as_record, as_rows

from .actions import catalogue
from .cards import CARD_WORDS, MAX_CARDS
from .effects import DRAW_EFFECTS, EFFECTS, Effect
from .limits import MAX_ACTIONS, MAX_KINDS, NO_COLOR
from .phases import BASE_PHASES, Phase

if TYPE_CHECKING:
    from .rules import Rules


FEW = 4


RULES_ROW = np.dtype(
    [
        ("color_kinds", np.uint64, (4,)),
        ("symbol_kinds", np.uint64, (MAX_KINDS,)),
        ("coloured_kinds", np.uint64),
        ("wild_kinds", np.uint64),
        ("multiple_kinds", np.uint64),
        ("few_multiples", np.uint64),
        ("w4_kind", np.uint64),
        ("n_cards", np.int64),
        ("n_kinds", np.int64),
        ("n_coloured", np.int64),
        ("n_colors", np.int64),
        ("n_faces", np.int64),
        ("n_phases", np.int64),
        ("n_actions", np.int64),
        ("hand_size", np.int64),
        ("match_goal", np.int64),
        ("per_point", np.float64),
        ("draw_limit", np.int64),
        ("opening_wild_stays", np.bool_),
        ("literal_reverse", np.bool_),
        ("w4_enforced", np.bool_),
        ("guilt_by_color_only", np.bool_),
        ("uno_automatic", np.bool_),
        ("stacking", np.bool_),
        ("stack_any", np.bool_),
        ("seven_zero", np.bool_),
        ("jump_in", np.bool_),
        ("forced_play", np.bool_),
        ("elimination", np.bool_),
        ("draw_kinds", np.uint64),
        ("first_wild_action", np.int64),
        ("first_move_action", np.int64),
        ("first_give_action", np.int64),
        ("first_name_action", np.int64),
        ("first_house_action", np.int64),
        ("kind_cards", np.uint64, (MAX_KINDS, CARD_WORDS)),
        ("card_kind", np.uint8, (MAX_CARDS,)),
        ("deck", np.uint8, (MAX_CARDS,)),
        ("copies", np.uint8, (MAX_KINDS,)),
        ("kind_color", np.uint8, (MAX_KINDS,)),
        ("kind_face", np.uint8, (MAX_KINDS,)),
        ("kind_effect", np.uint8, (MAX_KINDS,)),
        ("kind_points", np.uint8, (MAX_KINDS,)),
        ("action_move", np.uint8, (MAX_ACTIONS,)),
        ("action_kind", np.uint8, (MAX_ACTIONS,)),
        ("action_color", np.uint8, (MAX_ACTIONS,)),
        ("action_seat", np.uint8, (MAX_ACTIONS,)),
    ],
    align=True,
)
"""`Rules` as compiled code sees them. Bit sets of kinds are ``uint64``, those of cards are
`CARD_WORDS` of them; ``deck`` lists the cards sorted by kind; the ``action_*`` tables are indexed
by action id; ``draw_limit`` is 1 unless ``draw_until_playable``; ``few_multiples`` repeats
``multiple_kinds`` if they are few: counting them all is then faster than asking which to count."""


@lru_cache(maxsize=256)
def _rules_table(rules: Rules) -> Any:

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
        if effect in DRAW_EFFECTS:
            row.draw_kinds |= bit
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
    row.n_faces = len(rules.faces)
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
