"""Starting from the weights of a network that is there, instead of random ones (``--initial``)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO

from pocket_uno_env.agents import load
from pocket_uno_env.agents.registry import networks as shipped_networks
from pocket_uno_env.agents.trained import run_folder
from pocket_uno_env.agents.trained.critic import hidden_size
from pocket_uno_env.agents.trained.policy import PolicyAgent
from pocket_uno_env.rules.rules import Rules

from .networks import networks
from .settings import Settings


def initial_of(settings: Settings, rules: Rules) -> PolicyAgent | None:
    """The network to start from; None without one, or once a checkpoint has taken its place.

    Raises
    ------
    AgentError
        If it was made for another game.
    RunError
        If it is no network.
    """
    resumed = settings.resume is not None and run_folder.checkpoints(settings.resume)
    if settings.initial is None or resumed:
        return None
    agent = load(settings.initial)
    if not isinstance(agent, PolicyAgent):
        raise run_folder.RunError(
            f"--initial {settings.initial} is no trained network; expected the folder of a run, or "
            f"one of {', '.join(shipped_networks())}"
        )
    agent.check(rules, settings.num_players)
    return agent


def as_initial(settings: Settings, agent: PolicyAgent | None) -> Settings:
    """The settings with the sizes and the view of the network to start from."""
    if agent is None:
        return settings
    network = agent.layer_sizes[1:-1]
    critic = fitting_critic(settings, agent)
    sizes = tuple(len(bias) for _, bias in critic[:-1]) or settings.critic_network
    view: Any = agent.view  # PolicyAgent has checked it
    return replace(settings, network=network, critic_network=sizes, view=view)


def fitting_critic(settings: Settings, agent: PolicyAgent) -> list[tuple[np.ndarray, np.ndarray]]:
    """The layers of its critic, if that sees what `settings` say and was paid by the same reward.

    An empty list otherwise: the critic then starts from random weights.
    """
    layers = agent.value_layers(settings.reward)
    inputs = agent.layer_sizes[0]
    if settings.critic == "all-hands":
        inputs += hidden_size(agent.rules, agent.num_players)
    fits = len(layers) > 1 and layers[0][0].shape[1] == inputs
    return layers if fits else []


def put_weights(model: MaskablePPO, settings: Settings, agent: PolicyAgent) -> None:
    """Give an untrained model of settings `as_initial` the weights of the network.

    The critic's values are multiplied by the scale of the rewards of this training.
    """
    found = {"policy": agent.layers, "value": fitting_critic(settings, agent)}
    if found["value"]:
        *layers, (weight, bias) = found["value"]
        scale = model.env.reward_scale
        found["value"] = [*layers, (weight * scale, bias * scale)]
    there = networks(model.policy)
    for name, layers in found.items():
        for linear, (weight, bias) in zip(there[name], layers, strict=bool(layers)):
            with torch.no_grad():
                linear.weight.copy_(torch.from_numpy(np.asarray(weight, np.float32)))
                linear.bias.copy_(torch.from_numpy(np.asarray(bias, np.float32)))
