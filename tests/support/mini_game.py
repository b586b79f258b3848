"""The size of the whole tree of the mini game, as `test_mini_tree` counts it."""

from __future__ import annotations

SEQUENCES = [144, 448, 1264, 3032, 6776, 16736, 38272, 91608, 199688]
"""Sequences of 0 to 8 decisions with their draws, over all deals and both dealers."""
ENDS = [0, 0, 0, 688, 992, 2336, 3240, 12944, 25192]
"""Rounds that are over after exactly so many decisions."""
