"""`Agent`: whatever decides for a seat, one decision at a time or many at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pocket_uno_env.actions import catalogue
from pocket_uno_env.batch import mask_rows, observe_rows
from pocket_uno_env.observation import observation_size
from pocket_uno_env.rules import Rules
from pocket_uno_env.state import End, Phase

Choose = Callable[[np.ndarray, np.ndarray], Any]
"""``choose(observations, masks) -> actions``: see `ObservationAgent`."""


class AgentError(ValueError):
    """An agent that cannot be loaded or used, or that acts against the rules."""


@dataclass(frozen=True, eq=False, slots=True)
class Opinion:
    """What an agent makes of one decision.

    Attributes
    ----------
    action : int
        What it would do.
    probabilities : float array, shape ``(n_actions,)``, or None
        How likely it is to do each action; zero where illegal.
    values : float array, shape ``(n_actions,)``, or None
        The chance to win the round after each action, NaN where it was not judged.
    value : float or None
        The chance to win the round.
    holdings : float array, shape ``(num_players, n_kinds)``, or None
        The chance that each seat holds a card of each kind.
    about : str
        Where the figures come from, in a sentence; empty if there are none.
    """

    action: int
    probabilities: np.ndarray | None = None
    values: np.ndarray | None = None
    value: float | None = None
    holdings: np.ndarray | None = None
    about: str = ""


class Agent(ABC):
    """Decides for whichever seat is to act.

    Attributes
    ----------
    name : str
        What the agent is called in tables and records; `load` makes it the text it was loaded by.
    policy : int or None
        The `scripted.Policy` that the agent is a face of. Such an agent runs compiled, without a
        call to Python for each decision. None for all others.
    clairvoyant : bool
        Whether it looks at what its seat cannot know. Such an agent shows how far luck goes; it
        gives people no advice.
    deterministic : bool
        Whether it draws no lots: in one position it always takes the same action. A table of such
        agents, all alike, plays the same game whoever sits where, and plays it once.
    """

    name: str
    policy: int | None = None
    clairvoyant: bool = False
    deterministic: bool = False

    def check(self, rules: Rules, num_players: int) -> None:  # noqa: B027 - most play anything
        """Raise `AgentError` if the agent cannot play `rules` with so many; most can play all."""

    @abstractmethod
    def act_rows(self, rules: Rules, rows: np.ndarray, index: np.ndarray) -> np.ndarray:
        """The action for the seat to act in each of ``rows[index]``.

        Parameters
        ----------
        rows : structured array, dtype `state.ROW`, shape ``(n,)``
            Games of one number of players, those at `index` still running. A row holds what no
            seat may know: read it through `batch.observe_rows`, `batch.mask_rows` or
            `information` alone, and leave it as it is, save ``policy_rng``.
        index : int64 array, shape ``(m,)``, m > 0

        Returns
        -------
        int64 array, shape ``(m,)``
            Legal action ids.
        """

    def opinion(self, rules: Rules, rows: np.ndarray, place: int) -> Opinion:
        """What the agent makes of the decision in ``rows[place]``, for people to look at.

        An agent that has more to say than what it would do says it here.
        """
        return Opinion(int(self.act_rows(rules, rows, np.array([place]))[0]))

    def act(self, env: Any) -> int:
        """The action for the seat to act in an environment of this project.

        Parameters
        ----------
        env : PettingZoo environment made by `pocket_uno_v0`, wrapped or not

        Raises
        ------
        AgentError
            When the game is over and there is nothing to decide.
        """
        game = env.unwrapped
        if game.rows["end"][0] != End.RUNNING:
            raise AgentError("the game is over, there is nothing to decide; step with None")
        return int(self.act_rows(game.rules, game.rows, np.zeros(1, np.int64))[0])


class ObservationAgent(Agent):
    """An agent of your own that sees the observation and the action mask, and nothing else.

    Parameters
    ----------
    name : str
    choose : callable
        ``choose(observations, masks) -> actions`` with one line for each of m decisions:
        observations float32 ``(m, observation_size)``, laid out as `describe` says, masks int8
        ``(m, n_actions)`` with 1 for legal, actions integers ``(m,)``.

    Notes
    -----
    How many decisions come together, and in which order, depends on how many games run side by
    side. A `choose` that draws random numbers of its own is therefore not repeatable.

    Examples
    --------
    >>> first_legal = ObservationAgent("first", lambda observations, masks: masks.argmax(axis=1))
    """

    def __init__(self, name: str, choose: Choose) -> None:
        self.name = name
        self._choose = choose

    def act_rows(self, rules: Rules, rows: np.ndarray, index: np.ndarray) -> np.ndarray:
        """Ask `choose`; `AgentError` if its answer has the wrong form or is not legal."""
        seats = int(rows["num_players"][index[0]])
        observations = np.zeros((len(index), observation_size(rules, seats)), np.float32)
        masks = np.zeros((len(index), len(catalogue(rules))), np.int8)
        observe_rows(rules.table, rows, index, observations)
        mask_rows(rules.table, rows, index, masks)
        legal = masks.astype(bool)  # a copy that `choose` cannot change
        actions = as_actions(self, self._choose(observations, masks), len(index))
        known = (actions >= 0) & (actions < legal.shape[1])
        allowed = known & legal[np.arange(len(index)), np.where(known, actions, 0)]
        if not allowed.all():
            j = int(allowed.argmin())
            raise illegal_action(self, rules, rows, index[j], actions[j])
        return actions


def as_actions(agent: Agent, actions: Any, count: int) -> np.ndarray:
    """`actions` as int64, shape ``(count,)``; `AgentError` if they are something else."""
    array = np.asarray(actions)
    if array.shape != (count,) or not np.issubdtype(array.dtype, np.integer):
        raise AgentError(
            f"agent {agent.name!r} was asked for {count} actions and answered with {array.dtype} "
            f"of shape {array.shape}; expected integers of shape ({count},)"
        )
    return array.astype(np.int64)


def illegal_action(
    agent: Agent, rules: Rules, rows: np.ndarray, place: int, action: int
) -> AgentError:
    """The error that says what `agent` did in ``rows[place]`` and what it could have done."""
    names = catalogue(rules)
    mask = np.zeros((1, len(names)), np.int8)
    mask_rows(rules.table, rows, np.array([place]), mask)
    known = 0 <= action < len(names)
    return AgentError(
        f"agent {agent.name!r} chose action {action} "
        f"({names.name(int(action)) if known else 'which does not exist'}) in phase "
        f"{Phase(rows['phase'][place]).name.lower()}; legal: "
        f"{', '.join(names.legal_names(mask[0]))}"
    )
