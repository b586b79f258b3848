"""Who plays on in a guess: scripted policies and trained networks, by number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from pocket_uno_env.agents.scripted import policies
from pocket_uno_env.agents.trained.policy_kernels import likeliest
from pocket_uno_env.compiled.kernel import kernel
from pocket_uno_env.compiled.mlp import run_layers
from pocket_uno_env.compiled.rng import mix
from pocket_uno_env.engine.legality import only_legal_action
from pocket_uno_env.observation.blocks import observation_size, write_observation
from pocket_uno_env.observation.canonical import ColorTables, color_tables, plain_action, write_view
from pocket_uno_env.rules.actions import catalogue
from pocket_uno_env.rules.limits import MAX_SEATS
from pocket_uno_env.rules.rules import Rules

FIRST_NETWORK = 1000
"""The number of the first network; smaller ones are a `policies.Policy`."""


class Network(Protocol):
    """An agent with a network, such as `policy.PolicyAgent`."""

    weights: np.ndarray
    layer_sizes: tuple[int, ...]
    view: str


class Networks(NamedTuple):
    """The networks among the players, and buffers for one decision at a time.

    Attributes
    ----------
    canonical : bool, shape ``(k,)``
        Whether each sees `canonical` colours.
    weights : float32
        Those of `mlp.pack_layers`, one network after the other.
    starts : int64, shape ``(k + 1,)``
        Where each begins.
    sizes : int64, shape ``(k, most)``
        The sizes of each one's layers; 0 beyond its last.
    tables : ColorTables
    order : int64, shape ``(colors,)``
    mask, allowed : int8, shape ``(n_actions,)``
        The legal actions, of the game and as the network sees them.
    plain, seen, logits : float32
        The observation, what the network sees of it, what it gives.
    """

    canonical: Any
    weights: Any
    starts: Any
    sizes: Any
    tables: ColorTables
    order: Any
    mask: Any
    allowed: Any
    plain: Any
    seen: Any
    logits: Any


BUFFERS = ("order", "mask", "allowed", "plain", "seen", "logits")
"""What is written to while a network decides."""


class Players(NamedTuple):
    """Who decides in guesses; a player is a number, see `player_action`.

    Attributes
    ----------
    mine : int
        The player of the searching seat.
    theirs : int64 array
        Those of which one, drawn for each guess, plays each other seat.
    networks : Networks or None
    seats : int64, shape ``(MAX_SEATS,)``
        Who plays each seat in the present guess; written by `seat_players`.
    """

    mine: Any
    theirs: Any
    networks: Networks | None
    seats: Any


def new_players(mine: int, theirs: Sequence[int], networks: Networks | None) -> Players:
    """Players with a buffer of their own."""
    return Players(mine, np.array(theirs, np.int64), networks, np.zeros(MAX_SEATS, np.int64))


def new_networks(rules: Rules, num_players: int, agents: Sequence[Network]) -> Networks | None:
    """The networks of these agents for a game, or None for none."""
    if not agents:
        return None
    sizes = np.zeros((len(agents), max(len(agent.layer_sizes) for agent in agents)), np.int64)
    for line, agent in zip(sizes, agents, strict=True):
        line[: len(agent.layer_sizes)] = agent.layer_sizes
    weights = [agent.weights for agent in agents]
    size, n_actions = observation_size(rules, num_players), len(catalogue(rules))
    return Networks(
        np.array([agent.view == "canonical" for agent in agents]),
        np.concatenate(weights),
        np.cumsum([0, *map(len, weights)]),
        sizes,
        color_tables(rules, num_players),
        np.arange(rules.colors),
        np.zeros(n_actions, np.int8),
        np.zeros(n_actions, np.int8),
        np.zeros(size, np.float32),
        np.zeros((1, size), np.float32),
        np.zeros((1, n_actions), np.float32),
    )


@kernel
def seat_action(rules, row, players):
    """The action of the seat to act, by who plays it in the present guess."""
    return player_action(rules, row, players.seats[row.to_act], players.networks)


@kernel
def player_action(rules, row, player, networks):
    """The action that a player takes for the seat to act: a `policies.Policy` or a network."""
    if networks is not None:  # noqa: SIM102 - Numba drops the branch only if it stands alone
        if player >= FIRST_NETWORK:
            return _network_action(rules, row, player - FIRST_NETWORK, networks)
    return policies.act(rules, row, player)


@kernel
def _network_action(rules, row, number, networks):
    """The likeliest action by a network; it is not asked where only one is legal."""
    mask, allowed = networks.mask, networks.allowed
    only = only_legal_action(rules, row, mask)
    if only >= 0:
        return only
    seen, logits = networks.seen, networks.logits
    write_observation(rules, row, row.to_act, networks.plain)
    if networks.canonical[number]:
        write_view(networks.tables, networks.plain, mask, networks.order, seen[0], allowed)
    else:
        seen[0], allowed[:] = networks.plain, mask
    depth = 0
    while depth < networks.sizes.shape[1] and networks.sizes[number, depth] > 0:
        depth += 1
    weights = networks.weights[networks.starts[number] : networks.starts[number + 1]]
    run_layers(weights, networks.sizes[number, :depth], seen, logits)
    best = likeliest(logits[0], allowed)
    if networks.canonical[number]:
        return plain_action(networks.tables, networks.order, best)
    return best


@kernel
def seat_players(row, seat, seed, players):
    """Draw who plays each seat but the searching one, all alike likely."""
    count = np.uint64(players.theirs.shape[0])
    for other in range(row.num_players):
        drawn = mix(~seed + np.uint64(other + 1)) % count
        players.seats[other] = players.theirs[np.int64(drawn)]
    players.seats[seat] = players.mine
