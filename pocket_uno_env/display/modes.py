"""The render modes of the environments.

Pictures and windows need the extra ``render`` and are imported when they are asked for.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from .text import render_text

MODES = ("ansi", "rgb_array", "human")


class Renderer:
    """Shows a table in one of `MODES`.

    - ``"ansi"``: a text, cards coloured by escape sequences unless ``NO_COLOR`` is set
    - ``"rgb_array"``: a picture, uint8, shape ``(640, 1024, 3)``; needs Pillow
    - ``"human"``: a window; needs pygame and a screen. Without one of them the text is printed.
    """

    def __init__(self, mode: str | None) -> None:
        self.mode = mode
        self._window: Any = None

    def show(self, seen: Mapping[str, Any], caption: str = "") -> Any:
        """Show what `seat_view.sight` has seen; a text, a picture, or None for a window."""
        if self.mode == "rgb_array":
            from .picture import picture

            return picture(seen, caption)
        if self.mode == "human":
            if self._window is None:
                self._window = _open_window()
            if self._window:
                self._window.show(seen, caption)
                return None
        color = not os.environ.get("NO_COLOR")
        text = "\n".join(filter(None, [caption, render_text(seen, color=color)]))
        if self.mode == "ansi":
            return text
        print(text)
        return None

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._window:
            self._window.close()
        self._window = None


def png(seen: Mapping[str, Any]) -> bytes | None:
    """A picture of what `seat_view.sight` has seen as a PNG file; None without Pillow."""
    try:
        from .picture import png_bytes
    except ImportError:
        return None
    return png_bytes(seen)


def _open_window() -> Any:
    """A window, or False where there can be none."""
    has_screen = sys.platform in ("win32", "darwin") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER")
    )
    if not has_screen:
        return False
    try:
        from .window import Window

        return Window()
    except (ImportError, OSError, RuntimeError):  # pygame's own errors are RuntimeErrors
        return False
