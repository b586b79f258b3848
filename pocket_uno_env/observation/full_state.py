"""The full state of a game as a vector: what every seat holds, for critics that may see it."""

from __future__ import annotations

import numpy as np

from pocket_uno_env.compiled.kernel import kernel
from pocket_uno_env.rules.phases import Phase
from pocket_uno_env.rules.rules import Rules

from .blocks import PUBLIC, layout, write_public
from .encoders import write_hand


@kernel
def write_state(rules, row, out):
    """Write the whole game into ``out`` (float32, shape ``(state_size,)``).

    Every hand and the draw pile per kind, the next card of the draw pile, the card just drawn,
    then what all see, from seat 0.
    """
    out[:] = 0
    kinds = rules.n_kinds
    pile = row.num_players * kinds
    at = pile + kinds
    for seat in range(row.num_players):
        write_hand(rules, row, seat, out, seat * kinds, np.float32(1.0))
    for i in range(row.draw_count):
        kind = rules.card_kind[row.draw_pile[i]]
        out[pile + kind] += np.float32(1.0) / rules.copies[kind]
    at += kinds
    if row.draw_count > 0:
        out[at + rules.card_kind[row.draw_pile[row.draw_count - 1]]] = 1
    at += kinds
    if row.phase == Phase.DRAWN:
        out[at + rules.card_kind[row.drawn_card]] = 1
    at += kinds
    return write_public(rules, row, 0, out, at, np.float32(1.0))


def state_size(rules: Rules, num_players: int) -> int:
    """The length of the full state vector."""
    names = {block.name for written in PUBLIC for block in written.blocks}
    public = sum(block.length for block in layout(rules, num_players) if block.name in names)
    return (num_players + 4) * len(rules.kinds) + public
