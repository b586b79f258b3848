"""sb3-contrib's rollout buffer, in less memory and with less copying."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer, MaskableRolloutBufferSamples
from torch import Tensor


class RolloutBuffer(MaskableRolloutBuffer):
    """Holds what sb3-contrib's buffer holds and yields the same minibatches in the same order.

    Masks take a byte for each action instead of four. The parent writes every rollout into fresh
    memory, each step of it by way of a copy, and copies all of it once more to shuffle it; here the
    memory stays, and minibatches are gathered from where the decisions were written.
    """

    action_masks: np.ndarray

    def reset(self) -> None:
        """Begin a new rollout in the memory of the last one."""
        if not hasattr(self, "action_masks"):
            super().reset()
            self.action_masks = np.zeros(self.action_masks.shape, np.bool_)
        self.pos, self.full = 0, False

    def add(
        self,
        obs: np.ndarray,
        action: np.ndarray,
        reward: np.ndarray,
        episode_start: np.ndarray,
        value: Tensor,
        log_prob: Tensor,
        action_masks: np.ndarray | None = None,
    ) -> None:
        """Write a step of all environments."""
        self.observations[self.pos] = obs
        self.actions[self.pos] = action.reshape(self.n_envs, self.action_dim)
        self.rewards[self.pos] = reward
        self.episode_starts[self.pos] = episode_start
        self.values[self.pos] = value.numpy().reshape(-1)
        self.log_probs[self.pos] = log_prob.numpy()
        if action_masks is not None:
            self.action_masks[self.pos] = action_masks.reshape(self.n_envs, self.mask_dims)
        self.pos += 1
        self.full = self.pos == self.buffer_size

    def get(self, batch_size: int | None = None) -> Iterator[MaskableRolloutBufferSamples]:
        """Yield the rollout in minibatches, shuffled by NumPy's global generator.

        Parameters
        ----------
        batch_size : int, optional
            All decisions at once without it.
        """
        if not self.full:
            raise RuntimeError(
                f"the rollout has {self.pos} of {self.buffer_size} steps; fill it before it is read"
            )
        count = self.buffer_size * self.n_envs
        environment, step = divmod(np.random.permutation(count), self.buffer_size)
        order = step * self.n_envs + environment
        for start in range(0, count, batch_size or count):
            yield self._get_samples(order[start : start + (batch_size or count)])

    def _get_samples(self, batch_inds: np.ndarray, env: Any = None) -> MaskableRolloutBufferSamples:
        def gather(array: np.ndarray) -> Any:
            # Faster than indexing, nine times for masks in bytes.
            flat = array.reshape(-1, *array.shape[2:])
            return self.to_torch(flat.take(batch_inds, axis=0), copy=False)

        return MaskableRolloutBufferSamples(
            gather(self.observations),
            gather(self.actions),
            gather(self.values),
            gather(self.log_probs),
            gather(self.advantages),
            gather(self.returns),
            gather(self.action_masks),
        )
