"""Self-play against a pool of past selves, the harder ones drawn more often.

A pool has a fixed number of slots. At a fixed interval the policy is copied into a free one, or,
when none is free, over the easiest copy. A copy is drawn as an opponent with a probability in
proportion to the square of the learner's loss rate against it.

Source: prioritized fictitious self-play, in O. Vinyals et al., "Grandmaster level in StarCraft II
using multi-agent reinforcement learning", Nature 575, 2019.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnvWrapper

from pocket_uno_env.agents.trained.policy import PolicyAgent
from pocket_uno_env.envs.sb3 import LearnerVecEnv
from pocket_uno_env.observation.blocks import observation_size
from pocket_uno_env.rules.actions import catalogue
from pocket_uno_env.rules.rules import Rules

from .networks import actor_layers

MEMORY = 0.95
"""Decay per rollout of the weight of older rounds in the win rates against the copies."""


def snapshots(
    count: int,
    network: Sequence[int],
    rules: Rules,
    num_players: int,
    view: str,
) -> list[PolicyAgent]:
    """`count` agents with zero weights for the pool's slots; they sample from their policy."""
    sizes = [observation_size(rules, num_players), *network, len(catalogue(rules))]
    empty = [
        (np.zeros((after, before), np.float32), np.zeros(after, np.float32))
        for before, after in pairwise(sizes)
    ]
    return [
        PolicyAgent(f"snapshot {slot}", empty, rules, num_players, view, sample=True)
        for slot in range(count)
    ]


class Pool(VecEnvWrapper):
    """The pool, as a wrapper of the environment whose opponents it provides.

    Parameters
    ----------
    venv : LearnerVecEnv
        Made with the named opponents first and then the `snapshots`.
    slots : sequence of PolicyAgent
        Those snapshots.
    share : float
        Fraction of the opponents that come from the pool, once it holds a copy.

    Attributes
    ----------
    steps : int64 array, shape ``(slots,)``
        The decision at which each copy was made; -1 for a free slot.
    won, played : float64 arrays, shape ``(slots,)``
        Rounds won by the learner and played against each copy, the older ones with less weight.
    """

    def __init__(self, venv: LearnerVecEnv, slots: Sequence[PolicyAgent], share: float) -> None:
        super().__init__(venv)
        self.games = venv.games
        self.slots = list(slots)
        self.share = share
        self.steps = np.full(len(slots), -1, np.int64)
        self.won = np.zeros(len(slots))
        self.played = np.zeros(len(slots))
        self._codes = self.games.codes
        self._named = len(self.games.opponents) - len(slots)
        self._asked = sum(o.policy is None for o in self.games.opponents[: self._named])
        self._seats = np.arange(venv.num_players)
        self._faced = self.games.books["opponents"][:, : venv.num_players].copy()
        self.refresh()

    def reset(self) -> np.ndarray:
        """Reset the wrapped environment."""
        observations: np.ndarray = self.venv.reset()
        return observations

    def step_async(self, actions: np.ndarray) -> None:
        """Note the opponents at each table, and step."""
        books = self.games.books
        self._faced[:] = books["opponents"][:, self._seats]
        self._faced[np.arange(self.num_envs), books["learner"]] = 0  # no snapshot
        self.venv.step_async(actions)

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Count the rounds won and played against each copy."""
        observations, rewards, dones, infos = self.venv.step_wait()
        over = np.flatnonzero(dones)
        slot = -1 - self._faced[over] - self._asked
        game, seat = np.nonzero(slot >= 0)
        np.add.at(self.played, slot[game, seat], 1)
        np.add.at(self.won, slot[game, seat], rewards[over[game]] > 0)
        return observations, rewards, dones, infos

    def win_rates(self) -> np.ndarray:
        """The learner's win rate against each copy, starting from 1/n."""
        n = self.games.num_players
        return (self.won + 1) / (self.played + n)

    def probabilities(self) -> np.ndarray:
        """The probability of each opponent to be drawn, the named ones first."""
        hardness = np.where(self.steps >= 0, (1 - self.win_rates()) ** 2, 0.0)
        share = self.share if hardness.any() else 0.0
        named = np.full(self._named, (1 - share) / self._named)
        return np.concatenate([named, share * hardness / max(hardness.sum(), 1e-12)])

    def refresh(self) -> None:
        """Draw opponents by the current win rates, and decay the weight of these."""
        self.games.draw(self.probabilities())
        self.won *= MEMORY
        self.played *= MEMORY

    def follow(self, layers: list[tuple[np.ndarray, np.ndarray]], step: int, every: int) -> None:
        """Between rollouts: copy the policy once `every` decisions have passed, and draw anew."""
        if step >= max(int(self.steps.max()), 0) + every:
            self.add(layers, step)
        self.refresh()

    def add(self, layers: list[tuple[np.ndarray, np.ndarray]], step: int) -> None:
        """Put a copy into a free slot, or in place of the easiest one."""
        free = np.flatnonzero(self.steps < 0)
        slot = int(free[0]) if len(free) else int(self.win_rates().argmax())
        self.slots[slot].set_layers(layers)
        self.steps[slot] = step
        self.won[slot] = self.played[slot] = 0.0

    def state(self) -> dict[str, np.ndarray]:
        """The complete state: games, copies, and the win rates against them."""
        held = {f"slot.{i}": agent.weights for i, agent in enumerate(self.slots)}
        known = {"steps": self.steps, "won": self.won, "played": self.played}
        pool = {f"pool.{name}": array.copy() for name, array in {**held, **known}.items()}
        return {**self.venv.state(), **pool, "pool.codes": self.games.codes.copy()}

    def set_state(self, state: dict[str, np.ndarray]) -> np.ndarray:
        """Continue from a `state`; returns the observations.

        Raises
        ------
        ValueError
            If it is not the state of a pool like this one; nothing has changed then.
        """
        codes = state["pool.codes"]
        if not codes.size or not np.isin(codes, self._codes).all():
            raise ValueError("pool.codes names opponents that are not there")
        observations: np.ndarray = self.venv.set_state(state)
        for name in ("steps", "won", "played"):
            getattr(self, name)[:] = state[f"pool.{name}"]
        for i, agent in enumerate(self.slots):
            agent.weights[:] = state[f"pool.slot.{i}"]
        self.games.codes = codes.copy()
        return observations


class SelfPlay(BaseCallback):
    """Copies the policy into the pool every `every` decisions of PPO, between rollouts.

    `before` decisions were made in the stages before it.
    """

    def __init__(self, pool: Pool, every: int, before: int) -> None:
        super().__init__()
        self.pool = pool
        self.every = every
        self.before = before

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        rates, there = self.pool.win_rates(), self.pool.steps >= 0
        if there.any():
            self.logger.record("pool/easiest", float(rates[there].max()))
            self.logger.record("pool/hardest", float(rates[there].min()))
        layers = actor_layers(self.model.policy)
        self.pool.follow(layers, self.before + self.num_timesteps, self.every)
