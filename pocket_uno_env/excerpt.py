"""Values in messages: short, and never an error of their own."""

from __future__ import annotations

from typing import Any


def excerpt(value: Any, length: int = 80) -> str:
    """A value as messages show it: its `repr`, cut, and words where that cannot be made."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a number of many digits, nesting too deep for Python
        return f"{type(value).__name__} too large to print"
    return text if len(text) <= length else text[: length - 3] + "..."
