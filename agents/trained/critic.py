"""A critic that sees all hands: what the round will pay the seat to act, by a trained network.

It is told what no seat may know, beside what the seat to act knows. Training uses it to take the
luck of the hidden cards out of its gains, search to judge guesses, in which nothing is hidden.

Source: G. Yang et al., "PerfectDou: Dominating DouDizhu with Perfect Information Distillation",
NeurIPS 2022.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pocket_uno_env.compiled.kernel import kernel
from pocket_uno_env.compiled.mlp import pack_layers, run_layers
from pocket_uno_env.observation.blocks import layout, observation_size, write_observation
from pocket_uno_env.observation.canonical import ColorTables, color_tables, write_view
from pocket_uno_env.observation.full_state import state_size, write_state
from pocket_uno_env.rules.rules import Rules

Layers = Sequence[tuple[np.ndarray, np.ndarray]]


class Critic(NamedTuple):
    """A critic's weights and its buffers, for one position at a time.

    Attributes
    ----------
    canonical : bool
        Whether it sees `canonical` colours.
    of_match : bool
        Whether it values by `Reward.MATCH` instead of `Reward.WIN`.
    scale : float
        What the network gives for a payoff of 1.
    weights, sizes : float32, int64
        As for `mlp.run_layers`.
    tables : ColorTables
    kinds : int64, shape ``(colors, symbols)``
        The coloured kinds by colour.
    plain, seen : float32
        The observation; what the critic sees, in a line: that in its view, and the hidden cards.
    order : int64, shape ``(colors,)``
    state, values : float32
        Scratch.
    """

    canonical: Any
    of_match: Any
    scale: Any
    weights: Any
    sizes: Any
    tables: ColorTables
    kinds: Any
    plain: Any
    seen: Any
    order: Any
    state: Any
    values: Any


def new_critic(
    rules: Rules,
    num_players: int,
    layers: Layers,
    view: str = "plain",
    reward: str = "win",
    scale: float = 1.0,
) -> Critic:
    """A critic with these (weight, bias) pairs, and its buffers; see `Critic`."""
    size = observation_size(rules, num_players)
    weights, sizes = pack_layers(layers)
    return Critic(
        view == "canonical",
        reward == "match",
        float(scale),
        weights,
        sizes,
        color_tables(rules, num_players),
        colored_kinds(rules, num_players),
        np.zeros(size, np.float32),
        np.zeros((1, size + hidden_size(rules, num_players)), np.float32),
        np.arange(rules.colors),
        np.zeros(state_size(rules, num_players), np.float32),
        np.zeros((1, 1), np.float32),
    )


def hidden_size(rules: Rules, num_players: int) -> int:
    """How many hidden values there are: each other hand per kind, and the next card's kind."""
    return num_players * len(rules.kinds)


def colored_kinds(rules: Rules, num_players: int) -> np.ndarray:
    """The coloured kinds by colour: int64, shape ``(colors, symbols)``."""
    (hand,) = (block for block in layout(rules, num_players) if block.name == "hand")
    return color_tables(rules, num_players).hand.astype(np.int64) - hand.start


@kernel
def write_hidden(rules, row, kinds, order, state, hidden):
    """Write the hands that the seat to act does not see, and the card that is drawn next.

    Parameters
    ----------
    kinds : int64 array, shape ``(colors, symbols)``
        The coloured kinds by colour.
    order : int64 array, shape ``(colors,)``
        The colour that stands in each place of the view.
    state : float32 array, shape ``(state_size,)``
        Scratch.
    hidden : float32 array, shape ``(hidden_size,)``, written
        Seat by seat from the left of the observer, per kind: held / copies. Then the kind of the
        next card of the draw pile; zeros if it is empty.
    """
    n_kinds = np.int64(rules.n_kinds)
    seats = np.int64(row.num_players)
    write_state(rules, row, state)
    for j in range(seats):
        other = (np.int64(row.to_act) + 1 + j) % seats
        # In the state the hands are followed by the draw pile, the discard pile, the next card.
        start = (other if j < seats - 1 else seats + 2) * n_kinds
        here = state[start : start + n_kinds]
        there = hidden[j * n_kinds : (j + 1) * n_kinds]
        there[:] = here
        for place in range(kinds.shape[0]):
            for symbol in range(kinds.shape[1]):
                there[kinds[place, symbol]] = here[kinds[order[place], symbol]]


@kernel
def write_hidden_rows(rules, rows, kinds, orders, state, hidden):
    """`write_hidden` for each of the rows; ``orders`` and ``hidden`` have a line for each."""
    for i in range(rows.shape[0]):
        write_hidden(rules[0], rows[i], kinds, orders[i], state, hidden[i])


@kernel
def judge(rules, row, mask, critic):
    """The payoff that the critic expects for the seat to act.

    ``mask``, int8 ``(n_actions,)``, is overwritten.
    """
    size = critic.plain.shape[0]
    whole = critic.seen[0]
    write_observation(rules, row, row.to_act, critic.plain)
    seen = whole[:size]
    if critic.canonical:
        write_view(critic.tables, critic.plain, mask, critic.order, seen, mask)
    else:
        seen[:] = critic.plain
    write_hidden(rules, row, critic.kinds, critic.order, critic.state, whole[size:])
    run_layers(critic.weights, critic.sizes, critic.seen, critic.values)
    return np.float64(critic.values[0, 0]) / critic.scale
