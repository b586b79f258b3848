"""PettingZoo's three usual wrappers in one class, and `env`, which puts it around the game."""

from __future__ import annotations

from typing import Any

import numpy as np
from pettingzoo import AECEnv
from pettingzoo.utils.env_logger import EnvLogger
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from .aec import IllegalActionError, raw_env

ILLEGAL_REWARD = -1.0
"""What an illegal action pays the one who takes it; the others get 0."""


def env(**kwargs: Any) -> AECEnv:
    """The environment as PettingZoo's classic games have it: `WrappedEnv`.

    Arguments as for `raw_env`: ``rules``, ``num_players``, ``episode``, ``reward``,
    ``max_cycles``, ``max_rounds``, ``scores``, ``render_mode``, ``render_seat``. An illegal action
    ends the game: its agent gets -1, the others 0.
    """
    return WrappedEnv(raw_env(**kwargs))


class WrappedEnv(OrderEnforcingWrapper):
    """PettingZoo's usual wrappers around `raw_env`, of which one alone is left.

    It does what ``TerminateIllegalWrapper(illegal_reward=-1)``, ``AssertOutOfBoundsWrapper`` and
    ``OrderEnforcingWrapper`` do around one another. Those look every attribute up through three
    layers, which takes six times as long as the game itself. ``unwrapped`` is the `raw_env`.
    """

    env: raw_env

    @property
    def agents(self) -> list[str]:
        """The agents still in the game; AttributeError before the first `reset`."""
        return self.env.agents if self._has_reset else self.__getattr__("agents")

    @property
    def agent_selection(self) -> str:
        """The agent to act; AttributeError before the first `reset`."""
        return self.env.agent_selection if self._has_reset else self.__getattr__("agent_selection")

    def last(self, observe: bool = True) -> Any:
        """Observation, reward since its last step, ends and info of the agent to act."""
        agent, game = self.agent_selection, self.env
        return (
            game.observe(agent) if observe else None,
            game._cumulative_rewards[agent],
            game.terminations[agent],
            game.truncations[agent],
            game.infos[agent],
        )

    def step(self, action: int | None) -> None:
        """Take `action` for ``agent_selection``; an illegal one ends the game.

        Raises
        ------
        AssertionError
            Before the first `reset`, and for what is not in the action space.
        ValueError
            For an action of an agent for whom the game is over: it steps with None.
        """
        if not self._has_reset:
            EnvLogger.error_step_before_reset()
        self._has_updated = True
        game = self.env
        if not game.agents:
            EnvLogger.warn_step_after_terminated_truncated()
            return
        agent = game.agent_selection
        over = game.terminations[agent] or game.truncations[agent]
        # Integers out of bounds are illegal: that is looked at when the game refuses them.
        if over or not isinstance(action, int | np.integer):
            self._check_bounds(action, over)
        try:
            game.step(action)
        except IllegalActionError:
            self._check_bounds(action, over)
            if game._mask[action]:  # ValueError for a bool, which the action space takes
                raise
            self._end(agent)

    def _check_bounds(self, action: Any, over: bool) -> None:
        if over and action is None:
            return
        if not self.action_space(self.agent_selection).contains(action):
            raise AssertionError("action is not in action space")

    def _end(self, offender: str) -> None:
        """End the game for an illegal action."""
        EnvLogger.warn_on_illegal_move()
        game = self.env
        game._cumulative_rewards[offender] = 0
        game.terminations = dict.fromkeys(game.agents, True)
        game.truncations = dict.fromkeys(game.agents, True)
        game.rewards = {**dict.fromkeys(game.agents, 0), offender: ILLEGAL_REWARD}
        game._accumulate_rewards()
        game._deads_step_first()

    def __str__(self) -> str:
        return str(self.env)
