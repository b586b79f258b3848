"""The table in a window, by pygame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pygame

from .picture import HEIGHT, WIDTH, picture


class Window:
    """A window with the picture of a table; raises ``pygame.error`` where there is no screen."""

    def __init__(self) -> None:
        pygame.display.init()
        pygame.display.set_caption("pocket-uno-env")
        self._surface = pygame.display.set_mode((WIDTH, HEIGHT))

    def show(self, seen: Mapping[str, Any], caption: str = "") -> None:
        """Draw what `seat_view.sight` has seen, and answer the window system."""
        pixels = picture(seen, caption).swapaxes(0, 1)
        pygame.surfarray.blit_array(self._surface, pixels)
        pygame.event.pump()
        pygame.display.flip()

    def close(self) -> None:
        """Close the window."""
        pygame.display.quit()
