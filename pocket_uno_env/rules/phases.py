"""What a round is waiting for, and why it ended."""

from __future__ import annotations

from enum import IntEnum


class Phase(IntEnum):
    """Which kind of decision is awaited."""

    PLAY = 0
    DRAWN = 1
    UNO = 2
    CATCH = 3
    CHALLENGE = 4
    GIVE = 5
    NAME = 6
    STACK = 7
    SWAP = 8
    JUMP = 9
    OVER = 10


BASE_PHASES = 7
"""The first phases are all there are without house rules."""


class End(IntEnum):
    """Why a round ended."""

    RUNNING = 0
    OUT = 1
    BLOCKED = 2
    TRUNCATED = 3
