"""Trained models as agents: weights from safetensors, never unpickled, and no PyTorch needed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from pocket_uno_env.agents.agent import Agent, AgentError, Opinion
from pocket_uno_env.compiled.mlp import pack_layers, run_layers
from pocket_uno_env.episodes.payoff import win_share
from pocket_uno_env.observation.blocks import layout, observation_size
from pocket_uno_env.observation.canonical import VIEWS, color_tables, to_view, view_actions
from pocket_uno_env.row_kernels import mask_rows, observe_rows
from pocket_uno_env.rules.actions import catalogue
from pocket_uno_env.rules.rules import Rules, RulesError

from . import run_folder
from .critic import Critic, hidden_size, new_critic
from .policy_kernels import choose_actions

MIN_LOG_PROB = -10.0
"""The least that `PolicyAgent.log_probs` returns."""


class PolicyAgent(Agent):
    """A trained network. It always masks, and sees what the observation holds.

    Parameters
    ----------
    name : str
    layers : list of (weight, bias)
        float32, shapes ``(out, in)`` and ``(out,)``, with ReLU between them.
    rules : Rules
    num_players : int
        What it was trained for.
    view : {"plain", "canonical"}
    sample : bool
        Draw from the policy instead of taking its likeliest action. The randomness comes from the
        row, so that the same games go the same way.
    critic : list of (weight, bias), optional
        The network that judged positions in the training. By what the seat saw, it gives `opinion`
        its value, if it was trained to win rounds; if it saw all hands, `critic` is for search.
    reward : str
        What the critic was trained with, a key of `payoff.REWARDS`.
    reward_scale : float
        What that multiplied the payoffs by.

    Attributes
    ----------
    layer_sizes : tuple of int
        From the observation's to the number of actions.
    weights : float32 array
        All of them in one line, as `choose_actions` takes them.
    """

    def __init__(
        self,
        name: str,
        layers: list[tuple[np.ndarray, np.ndarray]],
        rules: Rules,
        num_players: int,
        view: str = "plain",
        sample: bool = False,
        critic: list[tuple[np.ndarray, np.ndarray]] | None = None,
        reward: str = "win",
        reward_scale: float = 1.0,
    ) -> None:
        sizes = check_layers(name, layers)
        if critic:
            check_layers(f"the critic of {name}", critic)
        if view not in VIEWS:
            raise AgentError(f"view is {view!r}; expected one of {list(VIEWS)}")
        expected = [observation_size(rules, num_players), len(catalogue(rules))]
        if [sizes[0], sizes[-1]] != expected:
            raise AgentError(
                f"the network of {name!r} has {sizes[0]} inputs and {sizes[-1]} outputs; rules "
                f"{rules.name!r} with {num_players} players need {expected[0]} and {expected[1]}"
            )
        self.name = name
        self.rules = rules
        self.num_players = num_players
        self.view = view
        self.sample = sample
        self.deterministic = not sample
        self.layer_sizes = tuple(sizes)
        self._critic = critic or []
        self._reward, self._reward_scale = reward, reward_scale
        self.set_layers(layers)

    @property
    def _critic_inputs(self) -> int:
        """How many values the critic sees; 0 without one that ends in a single value."""
        sizes = _sizes_of(self._critic)
        return sizes[0] if sizes[-1:] == [1] else 0

    @property
    def judges(self) -> bool:
        """Whether `opinion` has a value."""
        return self._reward == "win" and self._critic_inputs == self.layer_sizes[0]

    def critic(self) -> Critic | None:
        """The critic that sees all hands, if there is one."""
        hidden = hidden_size(self.rules, self.num_players)
        if self._critic_inputs != self.layer_sizes[0] + hidden:
            return None
        how = self.view, self._reward, self._reward_scale
        return new_critic(self.rules, self.num_players, self._critic, *how)

    def value_layers(self, reward: str) -> list[tuple[np.ndarray, np.ndarray]]:
        """The critic's (weight, bias) pairs, if it values by `reward`; else an empty list.

        What it gives is scaled back to payoffs as they are.
        """
        if self._reward != reward or not self._critic_inputs:
            return []
        *layers, (weight, bias) = self._critic
        return [*layers, (weight / self._reward_scale, bias / self._reward_scale)]

    def set_layers(self, layers: list[tuple[np.ndarray, np.ndarray]]) -> None:
        """Give the network other weights of the same shapes; not while a thread asks the agent."""
        sizes = check_layers(self.name, layers)
        if tuple(sizes) != self.layer_sizes:
            raise AgentError(
                f"layers of the sizes {sizes} for the network of {self.name!r}; "
                f"expected {list(self.layer_sizes)}"
            )
        self.weights, self._sizes = pack_layers(layers)
        self._layers = layers

    @property
    def layers(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The network's (weight, bias) pairs, as the class takes them."""
        return self._layers

    def check(self, rules: Rules, num_players: int) -> None:
        """Refuse cards, decisions or a number of players other than those of the training."""
        check_game(self.name, self.rules, self.num_players, rules, num_players)

    def act_rows(self, rules: Rules, rows: np.ndarray, index: np.ndarray) -> np.ndarray:
        """See `Agent.act_rows`."""
        tables = color_tables(rules, self.num_players) if self.view == "canonical" else None
        observations = np.empty((len(index), self.layer_sizes[0]), np.float32)
        masks = np.empty((len(index), self.layer_sizes[-1]), np.int8)
        actions = np.empty(len(index), np.int64)
        observe_rows(rules._table, rows, index, observations)
        mask_rows(rules._table, rows, index, masks)
        network, seen = (self.weights, self._sizes, tables), (observations, masks, rows, index)
        choose_actions(*network, *seen, self.sample, actions)
        return actions

    def log_probs(self, rules: Rules, rows: np.ndarray, index: np.ndarray) -> np.ndarray:
        """The logarithm of the policy's probability of each action, for search.

        Returns
        -------
        float32 array, shape ``(m, n_actions)``
            `MIN_LOG_PROB` where illegal, and at least that elsewhere.
        """
        index = self.admit(rules, rows, index)
        n_actions = int(self._sizes[-1])
        observations, masks, orders = look(rules, self.num_players, rows, index, self.view)
        logits = np.empty(masks.shape, np.float32)
        run_layers(self.weights, self._sizes, observations, logits)
        logits[masks == 0] = -np.inf
        logits -= logits.max(axis=1, keepdims=True)
        logits -= np.log(np.exp(logits).sum(axis=1, keepdims=True))
        if self.view == "canonical":
            viewed = np.empty(logits.size, np.int64)
            tables = color_tables(rules, self.num_players)
            every = np.tile(np.arange(n_actions), len(index))
            view_actions(tables, np.repeat(orders, n_actions, axis=0), every, viewed)
            logits = np.take_along_axis(logits, viewed.reshape(logits.shape), axis=1)
        return np.maximum(logits, np.float32(MIN_LOG_PROB))

    def opinion(self, rules: Rules, rows: np.ndarray, place: int) -> Opinion:
        """The policy's probabilities, and the critic's value where there is one."""
        index = np.array([place])
        masks = np.empty((1, int(self._sizes[-1])), np.int8)
        mask_rows(rules._table, rows, index, masks)
        log_probs = self.log_probs(rules, rows, index)[0].astype(np.float64)
        probabilities = np.where(masks[0] == 1, np.exp(log_probs), 0.0)
        value = self._value(rules, rows, index)
        about = f"Probabilities by the policy of {self.name}"
        if value is not None:
            about += "; the chance to win by its critic, in games like those of its training"
        about += "."
        action = int(np.argmax(probabilities))
        probabilities /= probabilities.sum()
        return Opinion(action, probabilities, value=value, about=about)

    def _value(self, rules: Rules, rows: np.ndarray, index: np.ndarray) -> float | None:
        """The chance to win by the critic, if there is one."""
        if not self.judges:
            return None
        observations, _, _ = look(rules, self.num_players, rows, index, self.view)
        x = observations[0]
        for i, (weight, bias) in enumerate(self._critic):
            x = weight @ (np.maximum(x, 0) if i else x) + bias
        return float(win_share(float(x[0]), float(self.num_players)))


def look(
    rules: Rules, num_players: int, rows: np.ndarray, index: np.ndarray, view: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What the seats to act in ``rows[index]`` see: observations, masks, and their colours' order.

    Returns
    -------
    observations : float32 array, shape ``(m, observation_size)``
    masks : int8 array, shape ``(m, n_actions)``
    orders : int64 array, shape ``(m, colors)``
        Which colour stands in which place; of use for the canonical view only.
    """
    size = layout(rules, num_players)[-1].slice.stop
    observations = np.empty((len(index), size), np.float32)
    masks = np.empty((len(index), len(catalogue(rules))), np.int8)
    orders = np.empty((len(index), rules.colors), np.int64)
    observe_rows(rules._table, rows, index, observations)
    mask_rows(rules._table, rows, index, masks)
    if view == "canonical":
        to_view(color_tables(rules, num_players), observations, masks, orders)
    return observations, masks, orders


def check_game(name: str, own: Rules, own_players: int, rules: Rules, num_players: int) -> None:
    """`AgentError` if a network made for ``own`` rules and players cannot play the others.

    It can if it sees the same, laid out the same way, and chooses from the same actions.
    """
    differences = []
    if num_players != own_players:
        differences.append(f"num_players={num_players}, not {own_players}")
    if _interface(own) != _interface(rules):
        differences += _differences(own, rules)
    if differences:
        raise AgentError(
            f"agent {name!r} was trained for rules {own.name!r} with {own_players} players; this "
            f"game of rules {rules.name!r} has {', and '.join(differences)}: name an agent that "
            "plays it, or train one for it (train.py --rules, --num-players)"
        )


def _differences(own: Rules, rules: Rules) -> list[str]:
    """The fields by which a network for ``own`` rules does not fit others, with their values."""
    different = [f.name for f in fields(Rules) if getattr(own, f.name) != getattr(rules, f.name)]
    decisive = [name for name in different if _matters(own, name, getattr(rules, name))]
    return [
        f"other {name}"
        if isinstance(ours := getattr(own, name), Mapping)
        else f"{name}={getattr(rules, name)!r}, not {ours!r}"
        for name in decisive or different
    ]


def _interface(rules: Rules) -> Any:
    """What a network's inputs and outputs mean under these rules, apart from who plays."""
    return rules.kinds, catalogue(rules).names, layout(rules, 2)


def _matters(own: Rules, name: str, value: Any) -> bool:
    """Whether a field of the rules with another value changes what a network sees or may do."""
    try:
        return bool(_interface(replace(own, **{name: value})) != _interface(own))
    except RulesError:  # it makes no game with the rest of the fields, as a much smaller deck
        return True


def load_policy(path: str | Path, sample: bool = False) -> PolicyAgent:
    """The agent that a run of train.py has made.

    Parameters
    ----------
    path : str or Path
        The run's folder, its ``model.safetensors`` or one of its checkpoints, where ``config.json``
        must lie in the run's folder; or a file with its card beside it, as in
        ``agents/trained/networks``.
    sample : bool
        See `PolicyAgent`.

    Raises
    ------
    RunError, AgentError
        When there is no such run, it is not finished, or its files don't fit each other.
    """
    path = Path(path)
    weights = path
    if path.is_dir():
        weights = path / run_folder.MODEL
        if not weights.exists() and (saved := run_folder.checkpoints(path)):
            raise run_folder.RunError(
                f"the run {path} is not finished; train.py --resume {path} goes on with it, and "
                f"its newest checkpoint {saved[-1]} can be loaded by this name"
            )
    elif weights.is_file() and weights.suffix != ".safetensors":
        raise AgentError(
            f"{path.name} holds no weights; expected the folder of a run, or its {run_folder.MODEL}"
        )
    folder = weights.parent
    if folder.name == run_folder.CHECKPOINTS:
        folder = folder.parent
    if weights.with_suffix(".json").exists():
        config = run_folder.read_config(folder, weights.with_suffix(".json").name)
        if hash_of(weights) != config["sha256"]:
            raise AgentError(f"{weights} is not the file that its card describes")
    else:
        config = run_folder.read_config(folder)
    tensors, _ = run_folder.load_tensors(weights)
    for name, array in tensors.items():
        if name.startswith(("policy.", "value.")):
            _check_weights(weights, name, array)
    sizes = config["network"]["layers"]
    layers = _layers(tensors, "policy")
    if _sizes_of(layers) != sizes:
        raise AgentError(f"{weights} does not hold the network that {run_folder.CONFIG} describes")
    critic = _layers(tensors, "value")
    reward = config["settings"].get("reward")
    if reward not in ("match", "win"):
        critic = []  # one that was paid in points says nothing about a seat's chance to win
    return PolicyAgent(
        str(path),
        layers,
        Rules.from_dict(config["rules"]),
        config["num_players"],
        config["view"],
        sample,
        critic,
        reward,
        config.get("reward_scale", 1.0),
    )


def _check_weights(path: Path, name: str, array: np.ndarray) -> None:
    """`AgentError` for numbers that are no weights."""
    if array.dtype.kind != "f":
        raise AgentError(f"{path}: {name} is {array.dtype}; expected float32")
    if not (np.abs(array) <= np.finfo(np.float32).max).all():
        raise AgentError(f"{path}: {name} has numbers that are not finite float32")
    if array.ndim not in (1, 2) or not array.size:
        raise AgentError(f"{path}: {name} has the shape {array.shape}; expected that of a layer")


def hash_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _layers(tensors: dict[str, np.ndarray], network: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """The layers of a network, as far as they are there and fit each other."""
    layers: list[tuple[np.ndarray, np.ndarray]] = []
    while True:
        weight, bias = (
            tensors.get(f"{network}.{len(layers)}.{part}") for part in ("weight", "bias")
        )
        if weight is None or bias is None or weight.ndim != 2 or bias.shape != weight.shape[:1]:
            return layers
        if layers and weight.shape[1] != len(layers[-1][1]):
            return []
        layers.append((weight.astype(np.float32), bias.astype(np.float32)))


def check_layers(name: str, layers: list[tuple[np.ndarray, np.ndarray]]) -> list[int]:
    """The sizes of layers that fit each other; `AgentError` if they do not."""
    shapes = [(np.shape(weight), np.shape(bias)) for weight, bias in layers]
    fit = bool(shapes) and all(len(w) == 2 and b == w[:1] for w, b in shapes)
    if not fit or any(after[0][1] != before[0][0] for before, after in pairwise(shapes)):
        raise AgentError(
            f"the layers of {name!r} have the shapes {shapes}; expected (out, in) and (out,), each "
            "with as many inputs as the one before has outputs"
        )
    return _sizes_of(layers)


def _sizes_of(layers: list[tuple[np.ndarray, np.ndarray]]) -> list[int]:
    """The sizes of the layers, from the input's to the output's."""
    return [layers[0][0].shape[1], *(len(bias) for _, bias in layers)] if layers else []
