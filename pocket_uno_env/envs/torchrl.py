"""The TorchRL environment: many games in one compiled batch, a learner in each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
import torch
from tensordict import TensorDict, TensorDictBase
from torchrl.data import Binary, Bounded, Categorical, Composite, Unbounded
from torchrl.envs import EnvBase

from pocket_uno_env.agents import Agent
from pocket_uno_env.rules.phases import End
from pocket_uno_env.rules.rules import Rules

from .learner_games import LearnerGames, LearnerOptions
from .reset_options import OPTIONS


class LearnerTorchEnv(EnvBase):
    """`num_envs` of `learner_games.LearnerGames` as a batched ``EnvBase``.

    The opponents move inside `step`, so a transition runs from one decision of the learner to its
    next one, or to the end of the episode.

    Parameters
    ----------
    num_envs : int
    rules, num_players, opponents
        As for `learner_games.LearnerGames`.
    seed : int, optional
        As in ``set_seed``.
    device : device, optional
        Where the tensors are; the games are played on the CPU.
    **options
        ``episode``, ``reward``, ``max_cycles``, ``max_rounds``, ``scores``, ``view``,
        ``skip_forced``: see `learner_games.LearnerOptions`.

    Attributes
    ----------
    games : LearnerGames
        The games without the interface.

    Notes
    -----
    With batch size ``(num_envs,)``: ``"observation"`` float32 ``(size,)`` in [0, 1],
    ``"action_mask"`` bool ``(n_actions,)``, all False when the episode is over; ``"action"`` int64
    ``()``; ``"reward"`` float32 ``(1,)``; ``"done"``, ``"terminated"``, ``"truncated"`` bool
    ``(1,)``. The action spec holds the current masks, so ``rand_action`` is legal. An action that
    is not raises ValueError, and no game has changed. ``reset(deck=..., dealer=...,
    scores=...)``: as in `gym.PocketUnoEnv.reset`, for every episode that is started.
    """

    def __init__(
        self,
        num_envs: int,
        rules: str | Rules = "pocket",
        num_players: int = 2,
        opponents: Sequence[str | Agent] = ("greedy",),
        *,
        seed: int | None = None,
        device: Any = "cpu",
        **options: Unpack[LearnerOptions],
    ) -> None:
        self.games = LearnerGames(num_envs, rules, num_players, opponents, **options)
        super().__init__(device=device, batch_size=(num_envs,))
        self._generator = np.random.default_rng()
        self._started = False
        n, size, n_actions = num_envs, self.games.observation_size, self.games.n_actions
        self.observation_spec = Composite(
            observation=Bounded(0, 1, (n, size), dtype=torch.float32, device=self.device),
            action_mask=Binary(n_actions, (n, n_actions), dtype=torch.bool, device=self.device),
            shape=(n,),
        )
        self.action_spec = Categorical(n_actions, (n,), dtype=torch.int64, device=self.device)
        self.reward_spec = Unbounded((n, 1), dtype=torch.float32, device=self.device)
        self.full_done_spec = Composite(
            {
                name: Binary(1, (n, 1), dtype=torch.bool, device=self.device)
                for name in ("done", "terminated", "truncated")
            },
            shape=(n,),
        )
        if seed is not None:
            self.set_seed(seed)

    def _set_seed(self, seed: int | None) -> None:
        """The next full reset deals the games of the seed."""
        self._generator = np.random.default_rng(seed)
        self._started = False

    def _reset(self, tensordict: TensorDictBase | None = None, **kwargs: Any) -> TensorDictBase:
        games = self.games
        games.read_options(kwargs)
        asked = None if tensordict is None else tensordict.get("_reset", None)
        if asked is None or not self._started:
            start = self._generator.integers(2**64, dtype=np.uint64)
            games.start(start, options=kwargs)
            self._started = True
        elif any(key in kwargs for key in OPTIONS):
            start = self._generator.integers(2**64, dtype=np.uint64)
            games.start(start, np.flatnonzero(asked.reshape(-1).cpu().numpy()), kwargs)
        else:
            # Where an episode has ended the next one lies dealt already.
            again = asked.reshape(-1).cpu().numpy() & (games.ends == End.RUNNING)
            if again.any():
                games.redeal(np.flatnonzero(again))
        observations = games.look()
        return self._tensors({"observation": observations, "action_mask": self._use_masks()})

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        games = self.games
        if not self._started:
            raise RuntimeError("there are no games yet; call reset() first")
        actions = games.as_actions(tensordict["action"].cpu().numpy())
        legal = games.legal(actions)
        if not legal.all():
            wrong = int(legal.argmin())
            raise ValueError(games.illegal(wrong, int(tensordict["action"][wrong])))
        games.step(games.everywhere, actions)
        over, truncated = games.ends != End.RUNNING, games.ends == End.TRUNCATED
        rewards = games.rewards.astype(np.float32)
        finished = np.flatnonzero(over)
        observations, masks = games.look(), self._use_masks()
        observations[finished], masks[finished] = games.final(finished), False
        return self._tensors(
            {
                "observation": observations,
                "action_mask": masks,
                "reward": rewards[:, None],
                "done": over[:, None],
                "terminated": (over & ~truncated)[:, None],
                "truncated": truncated[:, None],
            }
        )

    def _use_masks(self) -> np.ndarray:
        """The masks of the games as they are now, which random actions respect from here on."""
        masks = self.games.masks == 1
        self.action_spec.update_mask(torch.from_numpy(masks.copy()).to(self.device))
        return np.asarray(masks)

    def _tensors(self, arrays: dict[str, np.ndarray]) -> TensorDict:
        tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
        return TensorDict(tensors, self.batch_size).to(self.device)
