"""Belief: how likely each unseen card is in each hand, from what a seat may know.

Three sources, each on top of the one before:

- *rules of inference*: a hand that did not follow a colour has, so far as all saw, none of it, and
  no wild either (`write_rule_weights`);
- a small *network*, trained from self-play by ``pocket-uno belief``, which looks at every
  unseen card beside the table and the cards played last (`write_network_weights`);
- the *last play*: a determinization in which its player would have preferred another card is
  mostly passed over (`would_play`).

The first two give each unseen card a weight for each hand. The probability of a hand is in
proportion to the product of its cards' weights, the conditional Bernoulli distribution, of which
`determinize.log_likelihood` is the measure and `determinize.redeal` the sampler.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pocket_uno_env.compiled.kernel import kernel
from pocket_uno_env.compiled.mlp import add_rows, rectify
from pocket_uno_env.compiled.rng import mix
from pocket_uno_env.engine.state import NO_SEAT
from pocket_uno_env.observation.information import UNSEEN, place_of
from pocket_uno_env.rules.effects import Effect
from pocket_uno_env.rules.limits import NO_COLOR, NO_KIND
from pocket_uno_env.rules.phases import Phase

from .determinize import discarded_kind, redeal, take_back, unknown_size
from .players import player_action, seat_players

LEAST = 1e-3
"""The smallest weight: nobody's play is proof."""
WIDEST = 8.0
"""The network's logarithms of weights are held between this and its negative."""
ATTEMPTS = 6
"""How many determinizations are drawn at most for one that is believable."""
_SIZES = 8
_DEPTH = 8
_RELATIONS = 25
_PHASES = len(Phase)
_EFFECTS = len(Effect)
_STATES = 7
TABLE_FEATURES = 2 * _SIZES + _PHASES + _EFFECTS + 3 + _STATES
"""How many values describe the table to the network."""


class Network(NamedTuple):
    """The weights of the belief network, float32.

    Two layers of rectified units, whose input is the table and one unseen card, and one output: the
    logarithm of that card's weight. The table's share of the first layer is computed once for all
    cards.

    Attributes
    ----------
    table : shape ``(TABLE_FEATURES, hidden)``
    card : shape ``(card_features(rules), hidden)``
    first_bias : shape ``(hidden,)``
    second : shape ``(hidden, hidden)``
    second_bias, out : shape ``(hidden,)``
    """

    table: Any
    card: Any
    first_bias: Any
    second: Any
    second_bias: Any
    out: Any


class Belief(NamedTuple):
    """What to believe of other hands.

    Attributes
    ----------
    trust : float
        How far to believe that a seat which drew could not play, from 0 (not at all: all unseen
        cards are alike) to 1.
    learned : bool
        Whether the network replaces the rules of inference.
    network : Network
    doubt : float
        The chance to take a determinization in which the player of that seat would have played
        another card; 1 judges nothing.
    """

    trust: Any
    learned: Any
    network: Network
    doubt: Any


@kernel
def write_weights(rules, row, seat, belief, weights):
    """Write the weight of each unseen card in each other hand: ``weights`` by seat and card."""
    if belief.learned:
        write_network_weights(rules, row, seat, belief.network, weights)
    else:
        write_rule_weights(rules, row, seat, belief.trust, weights)


@kernel
def off_share(row, other, color):
    """The share of a hand that, by what all saw, is not of this colour; 0 for no colour."""
    size = np.int64(row.hand_size[other])
    if color == NO_COLOR or size == 0:
        return 0.0
    return min(np.int64(row.off_color[other, color]), size) / size


@kernel
def write_rule_weights(rules, row, seat, trust, weights):
    """Weights by rules of inference: off-colour cards, and wilds by the colour least likely."""
    for other in range(row.num_players):
        if other == seat:
            continue
        most = 0.0
        for color in range(rules.n_colors):
            most = max(most, off_share(row, other, color))
        for card in range(rules.n_cards):
            color = rules.kind_color[rules.card_kind[card]]
            share = most if color == NO_COLOR else off_share(row, other, color)
            weights[other, card] = max(1.0 - trust * share, LEAST)


# The network's view of a card.


def card_features(faces: int) -> int:
    """How many values describe an unseen card to the network, for so many faces."""
    return faces + _RELATIONS + 2 * _DEPTH


@kernel
def write_table(rules, row, seat, other, unknown, x):
    """Describe the table and the hand of `other`; ``x`` float32, shape ``(TABLE_FEATURES,)``."""
    x[:] = 0
    x[min(row.hand_size[other], _SIZES) - 1] = 1
    x[_SIZES + min(row.hand_size[seat], _SIZES) - 1] = 1
    at = 2 * _SIZES
    x[at + row.phase] = 1
    at += _PHASES
    x[at + rules.kind_effect[discarded_kind(rules, row, 0)]] = 1
    at += _EFFECTS
    if row.actor == NO_SEAT:
        x[at] = 1
    elif row.actor == other:
        x[at + 1] = 1
    elif row.actor == seat:
        x[at + 2] = 1
    at += 3
    x[at] = row.active_color == row.color_before
    x[at + 1] = off_share(row, other, row.active_color)
    x[at + 2] = off_share(row, other, row.color_before)
    x[at + 3] = row.draw_count / rules.n_cards
    x[at + 4] = unknown / row.hand_size[other]
    x[at + 5] = row.num_players / 10.0
    x[at + 6] = row.discard_count / rules.n_cards


@kernel
def count_places(rules, row, seat, other, counts):
    """Count own, unseen and other's known cards by colour and face.

    ``counts`` float32, shape ``(3, 4 + faces)``.
    """
    counts[:] = 0
    for card in range(rules.n_cards):
        place = place_of(row, seat, card)
        line = -1
        if place == seat:
            line = 0
        elif place == UNSEEN:
            line = 1
        elif place == other:
            line = 2
        if line >= 0:
            kind = rules.card_kind[card]
            if rules.kind_color[kind] != NO_COLOR:
                counts[line, rules.kind_color[kind]] += 1
            counts[line, 4 + rules.kind_face[kind]] += 1


@kernel
def write_card(rules, row, other, kind, counts, x):
    """Describe an unseen card of this kind, with the counts of `count_places`.

    Nothing depends on a colour's name. ``x`` float32, shape ``(card_features(faces),)``.
    """
    x[:] = 0
    color = rules.kind_color[kind]
    face = np.int64(rules.kind_face[kind])
    top = discarded_kind(rules, row, 0)
    x[face] = 1
    at = rules.n_faces
    if color != NO_COLOR:
        x[at] = color == row.active_color
        x[at + 1] = color == row.color_before
        x[at + 2] = off_share(row, other, color)
        x[at + 3] = x[at + 2] >= 1.0
        x[at + 4] = counts[0, color] / 4
        x[at + 5] = counts[1, color] / 8
        x[at + 6] = counts[2, color]
    else:
        x[at + 7] = 1
        for c in range(rules.n_colors):
            x[at + 8] = max(x[at + 8], np.float32(off_share(row, other, c)))
            x[at + 9] += off_share(row, other, c) / 4
        x[at + 10] = x[at + 8] >= 1.0
    x[at + 11] = rules.kind_face[top] == face
    if row.top_before != NO_KIND:
        x[at + 12] = rules.kind_face[row.top_before] == face
    x[at + 13] = counts[0, 4 + face] / 2
    x[at + 14] = counts[1, 4 + face] / 4
    x[at + 15] = counts[2, 4 + face]
    if row.actor == other:
        x[at + 16] = x[at]
        x[at + 17] = x[at + 1]
        if rules.kind_color[top] == NO_COLOR:
            x[at + 18] = x[at]
        x[at + 19] = x[at + 11]
        x[at + 20] = x[at + 12]
    at += _RELATIONS
    for depth in range(min(_DEPTH, row.discard_count - 1)):
        played = discarded_kind(rules, row, depth)
        x[at + 2 * depth] = rules.kind_face[played] == face
        x[at + 2 * depth + 1] = color != NO_COLOR and rules.kind_color[played] == color


@kernel
def _copy(values, out):
    # An assignment to a slice brings the text of an error along, and all that makes texts.
    for i in range(out.shape[0]):
        out[i] = values[i]


@kernel
def write_network_weights(rules, row, seat, network, weights):
    """Weights by the network: of each unseen card in each other hand that holds any."""
    hidden = network.first_bias.shape[0]
    features = np.empty(max(TABLE_FEATURES, network.card.shape[0]), np.float32)
    counts = np.empty((3, 4 + rules.n_faces), np.float32)
    table = np.empty(hidden, np.float32)
    first = np.empty(hidden, np.float32)
    second = np.empty(hidden, np.float32)
    for other in range(row.num_players):
        if other == seat or row.hand_size[other] == 0:
            continue
        unknown = unknown_size(rules, row, seat, other)
        write_table(rules, row, seat, other, unknown, features[:TABLE_FEATURES])
        count_places(rules, row, seat, other, counts)
        _copy(network.first_bias, table)
        add_rows(network.table, features, table)
        last, value = -1, 1.0
        for card in range(rules.n_cards):
            if place_of(row, seat, card) != UNSEEN:
                continue
            kind = rules.card_kind[card]
            if kind != last:
                x = features[: network.card.shape[0]]
                write_card(rules, row, other, kind, counts, x)
                _copy(table, first)
                add_rows(network.card, x, first)
                rectify(first)
                _copy(network.second_bias, second)
                add_rows(network.second, first, second)
                rectify(second)
                out = np.float32(0.0)
                for i in range(hidden):
                    out += second[i] * network.out[i]
                value = np.exp(min(max(np.float64(out), -WIDEST), WIDEST))
                last = kind
            weights[other, card] = value


# The last play as evidence.


@kernel
def shows_choice(rules, row, seat):
    """Whether the last play was another seat's free choice from the hand that it still has.

    Not so if its player has drawn since, or if the card was, as it seems, the one just drawn.
    """
    other = row.actor
    if other == NO_SEAT or other == seat or row.caught or rules.seven_zero or rules.jump_in:
        return False
    before, color = row.color_before, row.active_color
    if before == NO_COLOR or color == NO_COLOR:
        return False
    size = np.int64(row.hand_size[other])
    drew_since = size > 1 and row.off_color[other, color] >= size - 1
    return not drew_since and row.off_color[other, before] < size


@kernel
def would_play(rules, row, scratch, seat, player, networks):
    """Whether a player makes the last play, in this determinization of `seat`.

    ``scratch`` is an array of rows, of which the first is overwritten.
    """
    kind = discarded_kind(rules, row, 0)
    color = row.active_color
    scratch[0] = row
    take_back(rules, scratch[0], seat)
    action = player_action(rules, scratch[0], player, networks)
    if action >= rules.first_move_action or rules.action_kind[action] != kind:
        return False
    return rules.kind_color[kind] != NO_COLOR or rules.action_color[action] == color


@kernel
def _explains(rules, scratch, seat, players):
    player = players.seats[scratch[0].actor]
    return would_play(rules, scratch[0], scratch[1:], seat, player, players.networks)


@kernel
def guess(rules, row, scratch, seat, unseen, seed, belief, players):
    """Draw a determinization into ``scratch[0]``, and who plays each seat in it.

    The chance of each is what is believed.

    Parameters
    ----------
    row : the game
    scratch : array of two rows, overwritten
    unseen : determinize.Unseen
        With the weights of `write_weights`.
    seed : uint64
    players : Players
        Where several may play a seat, the last play tells which of them is likely, too.
    """
    judged = belief.doubt < 1.0 and shows_choice(rules, row, seat)
    for _ in range(ATTEMPTS):
        scratch[0] = row
        redeal(rules, scratch[0], seat, unseen, seed)
        seat_players(row, seat, seed, players)
        if not judged or _explains(rules, scratch, seat, players):
            break
        seed = mix(seed)
        if (seed >> np.uint64(40)) < np.uint64(belief.doubt * 16777216.0):
            break
    scratch[0].rng = mix(seed)


def no_network() -> Network:
    """An empty network, for a `Belief` that does without."""
    matrix, vector = np.zeros((0, 0), np.float32), np.zeros(0, np.float32)
    return Network(matrix, matrix, vector, matrix, vector, vector)
