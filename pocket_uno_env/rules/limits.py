"""How large games can be, and the numbers that stand for nothing."""

from __future__ import annotations

MAX_SEATS = 10
"""Seats that a row has room for."""
MAX_KINDS = 64
"""Card kinds that a rule set may have: a set of kinds is one ``uint64``, a bit each."""
MAX_ACTIONS = 256
"""Action ids that a rule set may have."""

NO_KIND = 255
"""In place of a card kind: there is none."""
NO_COLOR = 255
"""In place of a colour: there is none, as on a wild."""

MAX_CYCLES = 20_000
"""Decisions after which a round is truncated, unless the caller says otherwise; agents that play to
win need some dozens."""
MAX_ROUNDS = 100
"""Rounds after which a match is truncated, unless the caller says otherwise."""
