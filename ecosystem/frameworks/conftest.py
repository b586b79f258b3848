"""Long runs are left to `make soak`, here as in tests/."""

from __future__ import annotations

from typing import Any


def pytest_configure(config: Any) -> None:
    """Know the marker, and leave its tests out unless some are asked for."""
    config.addinivalue_line("markers", "soak: long runs, left to `make soak`")
    config.option.markexpr = config.option.markexpr or "not soak"
