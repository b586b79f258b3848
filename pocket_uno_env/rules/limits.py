"""Limits."""

from __future__ import annotations

MAX_SEATS = 10
MAX_KINDS = 64
"""A hand's kinds are one ``uint64``, a bit each; one bit stays free."""
MAX_ACTIONS = 256


NO_KIND = 255
NO_COLOR = 255
