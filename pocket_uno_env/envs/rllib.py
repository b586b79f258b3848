"""The game for Ray RLlib's new API stack: the AEC environment, and the masked network.

`PocketUnoMultiAgentEnv` is one round or match a time, every seat an agent, for RLlib's own env
runners. `rllib_batch` is the faster way to the same samples. Both train a `MaskedModule`, whose
checkpoints say which game they are for, so that agents (`rllib_checkpoint`) can play with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule

from pocket_uno_env.observation.blocks import observation_size
from pocket_uno_env.rules.actions import catalogue
from pocket_uno_env.rules.rules import Rules

from .aec import raw_env

GAME = "pocket_uno_env"
"""Under this key a module's ``model_config`` and the metadata of its checkpoints name the game."""


def game_spaces(rules: str | Rules, num_players: int) -> tuple[spaces.Dict, spaces.Discrete]:
    """Observation and action space of one seat, with the keys that RLlib's masked module reads.

    Returns
    -------
    Dict, Discrete
        ``"observations"`` float32 ``(size,)`` in [0, 1], and ``"action_mask"`` float32
        ``(n_actions,)``, 0 or 1.
    """
    rules = Rules.of(rules)
    size, n_actions = observation_size(rules, num_players), len(catalogue(rules))
    seen: dict[str, spaces.Space[Any]] = {
        "observations": spaces.Box(0.0, 1.0, (size,), np.float32),
        "action_mask": spaces.Box(0.0, 1.0, (n_actions,), np.float32),
    }
    return spaces.Dict(seen), spaces.Discrete(n_actions)


class PocketUnoMultiAgentEnv(PettingZooEnv):
    """`aec.raw_env` as an RLlib ``MultiAgentEnv``: the seat to act alone gets an observation.

    Parameters
    ----------
    config : mapping, optional
        RLlib's ``env_config``: the arguments of `aec.raw_env`, such as ``num_players``,
        ``episode`` and ``scores``.

    Notes
    -----
    An illegal action raises. RLlib's own check of environments plays actions without their mask,
    so it needs ``environment(disable_env_checking=True)``. A seat that the episode left without a
    decision has an observation when it is over, and no action that its payoff could go to: RLlib
    drops its episode.
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        env = raw_env(**(config or {}))
        super().__init__(env)
        # RLlib takes the agents from a set, in any order.
        self.agents = self.possible_agents = list(env.possible_agents)
        seen: spaces.Space[Any]
        actions: spaces.Space[Any]
        seen, actions = game_spaces(env.rules, env.num_players)
        self.observation_spaces = dict.fromkeys(self.agents, seen)
        self.action_spaces = dict.fromkeys(self.agents, actions)
        self.observation_space = spaces.Dict(dict(self.observation_spaces))
        self.action_space = spaces.Dict(dict(self.action_spaces))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start an episode; the observation of the seat that begins."""
        observations, infos = super().reset(seed=seed, options=options)
        return _renamed(observations), infos

    def step(self, action: dict[str, Any]) -> tuple[dict[str, Any], ...]:
        """Act for the seat to act; at the end of an episode all get observation and reward."""
        observations, *rest = super().step(action)
        return _renamed(observations), *rest


def _renamed(observations: dict[str, Any]) -> dict[str, Any]:
    return {
        agent: {
            "observations": seen["observation"],
            "action_mask": seen["action_mask"].astype(np.float32),
        }
        for agent, seen in observations.items()
    }


class MaskedModule(ActionMaskingTorchRLModule):
    """RLlib's masked PPO network; its checkpoints name the game, in ``metadata.json``."""

    def get_metadata(self) -> dict[str, Any]:
        """RLlib's metadata, and under `GAME` what `rllib_checkpoint` needs."""
        game = self.model_config.get(GAME)
        return {**super().get_metadata(), **({GAME: game} if game else {})}


def module_spec(
    rules: str | Rules = "pocket",
    num_players: int = 2,
    view: str = "plain",
    reward: str = "win",
    hidden: Sequence[int] = (256, 256),
) -> RLModuleSpec:
    """A policy and a critic, each with `hidden` layers of ReLU, for one game.

    Parameters
    ----------
    view : {"plain", "canonical"}
        How the samples show colours: that of `rllib_batch.BatchEnvRunner`, else ``"plain"``.
    """
    rules = Rules.of(rules)
    seen, actions = game_spaces(rules, num_players)
    game = {
        "rules": rules.to_dict(),
        "num_players": num_players,
        "view": view,
        "reward": reward,
    }
    return RLModuleSpec(
        module_class=MaskedModule,
        observation_space=seen,
        action_space=actions,
        model_config={
            "fcnet_hiddens": list(hidden),
            "fcnet_activation": "relu",
            "vf_share_layers": False,
            GAME: game,
        },
    )
