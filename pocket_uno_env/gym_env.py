"""The single-agent Gymnasium environment, ``pocket_uno/PocketUno-v0``: you against agents."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from .agents import Agent
from .learner_games import LearnerGames
from .render import MODES, Display
from .rules import Rules
from .sight import sight
from .state import End

ILLEGAL = ("end", "raise")


class PocketUnoEnv(gymnasium.Env[np.ndarray, np.int64]):
    """One round for one learner; agents play the other seats inside `step`.

    Parameters
    ----------
    rules, num_players, opponents, reward, max_cycles
        As for `learner_games.LearnerGames`.
    illegal : {"end", "raise"}
        What an illegal action does: ends the episode with the reward `penalty`, or raises
        ValueError and changes nothing.
    penalty : float
    render_mode : {None, "ansi", "rgb_array", "human"}
        How the table is shown, all hands open (`render.Display`).

    Notes
    -----
    Observation: float32 in [0, 1], `pocket_uno_env.describe` has the layout. Action: the ids of
    the rules' action names. ``action_masks()`` and ``info["action_mask"]``: int8, 1 for legal.
    Reward: what the round pays the learner, at its end. A capped round is truncated.
    """

    metadata = {"render_modes": list(MODES), "render_fps": 1}  # noqa: RUF012 - Gymnasium's

    def __init__(
        self,
        rules: str | Rules = "pocket",
        num_players: int = 2,
        opponents: Sequence[str | Agent] = ("greedy",),
        reward: str = "win",
        max_cycles: int = 20_000,
        illegal: str = "end",
        penalty: float = -1.0,
        render_mode: str | None = None,
    ) -> None:
        if illegal not in ILLEGAL:
            raise ValueError(f"illegal is {illegal!r}; expected one of {list(ILLEGAL)}")
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(
                f"render_mode is {render_mode!r}; expected None or one of "
                f"{self.metadata['render_modes']}"
            )
        self.games = LearnerGames(1, rules, num_players, opponents, reward, max_cycles)
        self.illegal = illegal
        self.penalty = float(penalty)
        self.render_mode = render_mode
        self._display = Display(render_mode)
        self._seen: dict[str, Any] = {}
        self.observation_space = spaces.Box(0.0, 1.0, (self.games.observation_size,), np.float32)
        self.action_space = spaces.Discrete(self.games.n_actions)
        self._running = False
        self._ending = "no round has been dealt"

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Deal a round and play to the learner's first decision; the same seed, the same round."""
        super().reset(seed=seed)
        self.games.start(np.uint64(self.np_random.integers(2**64, dtype=np.uint64)))
        self._running = True
        if self.render_mode == "human":
            self.render()
        return self.games.look()[0], self._info()

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Act and play to the learner's next decision or the end of the round."""
        if not self._running:
            raise RuntimeError("the round is over or has not begun; call reset() first")
        games = self.games
        chosen = games.as_actions([operator.index(action)])
        if not games.legal(chosen)[0]:
            if self.illegal == "raise":
                raise ValueError(games.illegal(0, operator.index(action)))
            self._running = False
            self._ending = f"the round is over, an illegal action: {self.penalty:g}"
            return games.look()[0], self.penalty, True, False, self._info(illegal=True)
        games.step(games.everywhere, chosen)
        end = End(games.ends[0])
        if end == End.RUNNING:
            if self.render_mode == "human":
                self.render()
            return games.look()[0], 0.0, False, False, self._info()
        self._running = False
        self._ending = f"the round is over ({end.name.lower()}), it paid {games.rewards[0]:g}"
        info = self._info(end=end.name.lower())
        truncated = end == End.TRUNCATED
        return (
            games.final_observations[0].copy(),
            float(games.rewards[0]),
            not truncated,
            truncated,
            info,
        )

    def action_masks(self) -> np.ndarray:
        """The legal actions: int8, shape ``(n_actions,)``; zeros when the round is over."""
        return np.asarray(self.games.masks[0] * np.int8(self._running))

    def render(self) -> Any:
        """The table; after the end the last of it, and how the round ended."""
        if self.render_mode is None:
            return None
        if not self._running:
            return self._ending if self.render_mode == "ansi" else self._show(self._ending)
        self._seen = sight(self.games.rules, self.games.rows)
        return self._show(f"you are player_{int(self.games.books['learner'][0])}")

    def close(self) -> None:
        """Close the window, if there is one."""
        self._display.close()

    def _show(self, caption: str) -> Any:
        return self._display.show(self._seen, caption) if self._seen else None

    def _info(self, **more: Any) -> dict[str, Any]:
        return {"action_mask": self.action_masks(), **more}
