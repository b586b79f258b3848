"""What a seat may know, and that as a vector."""

from .blocks import Block, describe, layout, observation_size
from .canonical import VIEWS
from .encoders import COMPACT_SCALE
from .full_state import state_size

__all__ = [
    "COMPACT_SCALE",
    "VIEWS",
    "Block",
    "describe",
    "layout",
    "observation_size",
    "state_size",
]
