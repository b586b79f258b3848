"""Limits."""

from __future__ import annotations

MAX_SEATS = 10
MAX_KINDS = 64
"""A hand's kinds are one ``uint64``, a bit each; one bit stays free."""
MAX_ACTIONS = 256


NO_KIND = 255
NO_COLOR = 255

MAX_CYCLES = 20_000
"""Decisions after which a round is truncated, unless the caller says otherwise; agents that play to
win need some dozens."""
MAX_ROUNDS = 100
"""Rounds after which a match is truncated, unless the caller says otherwise."""
