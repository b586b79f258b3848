"""The single-agent Gymnasium environment, ``pocket_uno/PocketUno-v0``: you against agents."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Unpack

import gymnasium
import numpy as np

from pocket_uno_env.agents import Agent
from pocket_uno_env.display.modes import MODES, Renderer
from pocket_uno_env.display.seat_view import sight
from pocket_uno_env.records.snapshot import END_NAMES
from pocket_uno_env.rules.phases import End
from pocket_uno_env.rules.rules import Rules

from .learner_games import LearnerGames, LearnerOptions

ILLEGAL = ("end", "raise")


class PocketUnoEnv(gymnasium.Env[np.ndarray, np.int64]):
    """One round or match for one learner; agents play the other seats inside `step`.

    Parameters
    ----------
    rules, num_players, opponents, compact
        As for `learner_games.LearnerGames`.
    illegal : {"end", "raise"}
        What an illegal action does: ends the episode with the reward `penalty`, or raises
        ValueError and changes nothing.
    penalty : float
    render_mode : {None, "ansi", "rgb_array", "human"}
        How the table is shown, all hands open (`modes.Renderer`).
    **options
        ``episode``, ``reward``, ``max_cycles``, ``max_rounds``, ``scores``, ``view``,
        ``skip_forced``: see `learner_games.LearnerOptions`.

    Notes
    -----
    Observation: float32 in [0, 1], or uint8 if compact; `pocket_uno_env.describe` has the layout.
    Action: the ids of the rules' action names. ``action_masks()`` and ``info["action_mask"]``:
    int8, 1 for legal. Reward: what the rounds that ended with this step pay the learner. A capped
    episode is truncated; a capped round of a match is followed by the next.
    """

    metadata = {"render_modes": list(MODES), "render_fps": 1}  # noqa: RUF012 - Gymnasium's

    def __init__(
        self,
        rules: str | Rules = "pocket",
        num_players: int = 2,
        opponents: Sequence[str | Agent] = ("greedy",),
        *,
        compact: bool = False,
        illegal: str = "end",
        penalty: float = -1.0,
        render_mode: str | None = None,
        **options: Unpack[LearnerOptions],
    ) -> None:
        if illegal not in ILLEGAL:
            raise ValueError(f"illegal is {illegal!r}; expected one of {list(ILLEGAL)}")
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(
                f"render_mode is {render_mode!r}; expected None or one of "
                f"{self.metadata['render_modes']}"
            )
        self.games = LearnerGames(1, rules, num_players, opponents, compact=compact, **options)
        self.illegal = illegal
        self.penalty = float(penalty)
        self.render_mode = render_mode
        self._display = Renderer(render_mode)
        self.observation_space = self.games.observation_space
        self.action_space = self.games.action_space
        self._running = False
        self._ending = ""
        self._table: Any = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start an episode, play to the learner's first decision; the same seed, the same episode.

        Parameters
        ----------
        options : dict, optional
            ``"deck"``, ``"dealer"`` and ``"scores"``, as for `aec.raw_env.reset`: the learner's
            seat is still drawn, and an episode that ends before its first decision is followed by
            another, with such scores.

        Raises
        ------
        ValueError
            For an option that makes no game; the episode in progress stays as it was.
        """
        self.games.read_options(options)
        super().reset(seed=seed)
        start = np.uint64(self.np_random.integers(2**64, dtype=np.uint64))
        self.games.start(start, options=options)
        self._running, self._table = True, self.games.rows
        self._show()
        return self.games.look()[0], self._info()

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Act and play to the learner's next decision or the end of the episode."""
        games = self.games
        if not self._running:
            raise RuntimeError(f"the {games.episode} is over or has not begun; call reset() first")
        chosen = operator.index(action)
        if not (0 <= chosen < games.n_actions and games.masks[0, chosen]):
            if self.illegal == "raise":
                raise ValueError(games.illegal(0, chosen))
            self._running = False
            self._ending = f"the {games.episode} is over, an illegal action: {self.penalty:g}"
            self._show()
            return games.look()[0], self.penalty, True, False, self._info(illegal=True)
        games.step(games.everywhere, np.array([chosen]))
        end, reward = int(games.ends[0]), float(games.rewards[0])
        if end == End.RUNNING:
            self._show()
            return games.look()[0], reward, False, False, self._info()
        self._running, self._table = False, games.final_rows
        self._ending = f"the {games.episode} is over ({END_NAMES[end]}), it paid {reward:g}"
        self._show()
        truncated = end == End.TRUNCATED
        info = self._info(end=END_NAMES[end])
        return games.final(games.everywhere)[0], reward, not truncated, truncated, info

    def action_masks(self) -> np.ndarray:
        """The legal actions: int8, shape ``(n_actions,)``; zeros when the episode is over."""
        return np.asarray(self.games.masks[0] * np.int8(self._running))

    def render(self) -> Any:
        """The table, all hands open; after the end with how the episode ended."""
        if self.render_mode is None:
            return None
        if self._table is None:
            raise RuntimeError(f"there is no {self.games.episode} yet; call reset() first")
        seat = self.games.books["learner"][0]
        caption = f"you are player_{seat}" if self._running else self._ending
        return self._display.show(sight(self.games.rules, self._table), caption)

    def close(self) -> None:
        """Close the window, if there is one."""
        self._display.close()

    def _show(self) -> None:
        if self.render_mode == "human":
            self.render()

    def _info(self, **more: Any) -> dict[str, Any]:
        return {"action_mask": self.action_masks(), **more}
