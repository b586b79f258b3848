"""What an agent makes of a decision, in words and numbers for people: plain dicts for JSON."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pocket_uno_env.agents.agent import Agent, AgentError
from pocket_uno_env.display.seat_view import Blocks
from pocket_uno_env.rows import legal_names
from pocket_uno_env.rules.actions import catalogue
from pocket_uno_env.rules.cards import COLORS
from pocket_uno_env.rules.rules import Rules

from .chances import DIGITS
from .estimate import Estimate

LIKELIEST = 8
"""So many cards are named of what a hand may hold."""


def analyse(
    rules: Rules, rows: Any, agent: Agent, estimated: Estimate | None = None
) -> dict[str, Any]:
    """What `agent` makes of the decision in the first row.

    Parameters
    ----------
    estimated : Estimate, optional
        What `estimate.estimate` says of it. It gives the chance to win after each action, of the
        position if the agent has no value of its own, and what the others may hold; and all that
        is said of the match.

    Returns
    -------
    dict
        ``agent``; ``choice``, the name of what it would do; ``actions``, the legal ones, the best
        first, each with ``action``, ``probability``, ``value`` (the chance to win the round) and
        ``match`` (the chance to win the match), as far as they are known, else None; ``value`` of
        the position or None; ``match``, for each seat the chance to win the match after the choice,
        or None; ``about``, where the figures come from; and ``holdings``, for each seat ``seat``,
        ``own`` (whether it is the one to act), ``known`` (cards known to be there), ``colors`` and
        ``likely``: pairs of a colour or card and the chance that one is held. Of the own seat they
        say what those may think who have seen only what all have seen: what another seat thinks
        would tell of its own hand.

    Raises
    ------
    AgentError
        When the agent looks at hidden cards, or cannot play such a game.
    """
    if agent.clairvoyant:
        raise AgentError(f"{agent.name} looks at hidden cards, so it gives no advice")
    seats = int(rows["num_players"][0])
    seat = int(rows["to_act"][0])
    opinion = agent.opinion(rules, rows, 0)
    ids = catalogue(rules).ids
    values, value = opinion.values, opinion.value
    about = opinion.about or f"{agent.name} gives no figures of its own."
    if values is None and estimated is not None:
        values = estimated.wins
        value = float(values[opinion.action]) if value is None else value
        about += f" {_about(estimated)}"
    match = None if estimated is None else estimated.match
    if estimated is not None and match is not None:
        about += f" {_about_match(estimated)}"
    actions = [
        {
            "action": name,
            "probability": _figure(opinion.probabilities, ids[name]),
            "value": _figure(values, ids[name]),
            "match": None if match is None else _figure(match[:, seat], ids[name]),
        }
        for name in legal_names(rules, rows)
    ]
    choice = catalogue(rules).name(opinion.action)
    actions.sort(key=lambda entry: _rank(entry, choice))
    blocks = Blocks(rules, seats, rows, seat)
    chances = holdings(blocks)
    believed = opinion.holdings
    if believed is None and estimated is not None:
        believed = estimated.holdings
    if believed is not None:
        chances = np.where(np.arange(seats)[:, None] == seat, chances, believed)
    return {
        "agent": agent.name,
        "choice": choice,
        "actions": actions,
        "value": None if value is None else round(float(value), DIGITS),
        "match": None if match is None else match[opinion.action].round(DIGITS).tolist(),
        "about": about,
        "holdings": [_holding(blocks, other, chances[other]) for other in range(seats)],
    }


def _holding(blocks: Blocks, seat: int, chances: np.ndarray) -> dict[str, Any]:
    own = seat == blocks.observer
    known = blocks.shown() if own else blocks.known(seat)
    unknown = blocks.size(seat) - (0 if own else len(known))
    if not own:  # what is known is not guessed
        names = [kind.name for kind in blocks.rules.kinds]
        chances = np.where(np.isin(names, known), 0.0, chances)
    return {
        "seat": seat,
        "own": own,
        "known": known,
        "colors": _colors(blocks.rules, chances, unknown),
        "likely": _likely(blocks.rules, chances),
    }


def holdings(blocks: Blocks) -> np.ndarray:
    """The chance that each seat holds an unknown card of each kind, by counting cards.

    Every card that cannot be placed is as likely in any place, but for the colours that a seat has
    failed to follow: they count the less, the more of its hand is known to be off colour.

    Returns
    -------
    float array, shape ``(num_players, n_kinds)``
        Of the observer: by what all have seen.
    """
    rules, seats = blocks.rules, blocks.num_players
    known, discards = blocks.counts("known"), blocks.counts("discards")[0]
    deck = np.array([kind.copies for kind in rules.kinds])
    unseen = deck - discards - blocks.counts("hand")[0] - known.sum(axis=0)
    off = blocks["off_color"].reshape(seats, rules.colors)
    chances = np.zeros((seats, len(rules.kinds)))
    for places in range(seats):
        cards, placed = (unseen, known[places - 1].sum()) if places else (deck - discards, 0)
        # A wild could have been played whatever the colour: it is as unlikely as the most unlikely.
        by_color = np.append(1.0 - off[places], 1.0 - off[places].max())
        weights = cards * by_color[[-1 if k.color is None else k.color for k in rules.kinds]]
        seat = (blocks.observer + places) % seats
        unknown = max(blocks.size(seat) - int(placed), 0)
        if weights.sum() > 0:
            chances[seat] = 1.0 - (1.0 - weights / weights.sum()) ** unknown
    return chances


def _about(estimated: Estimate) -> str:
    return (
        f"Chances to win after each action: {estimated.guesses:,} guesses of the hidden cards, "
        f"played out by the strong heuristic (± {100 * estimated.error:.1f} %)."
    )


def _about_match(estimated: Estimate) -> str:
    return (
        f"Chances to win the match: by the scores at the end of {estimated.guesses:,} playouts "
        "from guesses, between equals."
    )


def _figure(figures: np.ndarray | None, action: int) -> float | None:
    if figures is None or math.isnan(figures[action]):
        return None
    return round(float(figures[action]), DIGITS)


def _rank(entry: dict[str, Any], choice: str) -> tuple[bool, float]:
    """The agent's choice first, then by what matters most of what is known."""
    known = (entry[name] for name in ("match", "value", "probability") if entry[name] is not None)
    return entry["action"] != choice, -next(known, 0.0)


def _likely(rules: Rules, chances: np.ndarray) -> list[list[Any]]:
    order = np.argsort(-chances, kind="stable")[:LIKELIEST]
    return [
        [rules.kinds[kind].name, round(float(chances[kind]), 3)]
        for kind in order
        if chances[kind] > 0
    ]


def _colors(rules: Rules, chances: np.ndarray, unknown: int) -> list[list[Any]]:
    """The chance of at least one unknown card of each colour, and of a wild (``"W"``)."""
    color = np.array([rules.colors if kind.color is None else kind.color for kind in rules.kinds])
    # The share of each kind among the places of one card.
    shares = 1.0 - (1.0 - chances) ** (1.0 / max(unknown, 1))
    return [
        [name, round(float(1.0 - (1.0 - min(shares[color == index].sum(), 1.0)) ** unknown), 3)]
        for index, name in enumerate([*COLORS[: rules.colors], "W"])
    ]
