"""`Agent`: whatever decides for a seat, one decision at a time or many at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from types import MethodType
from typing import Any, TypeVar

import numpy as np

from pocket_uno_env.compiled.kernel import kernel, unowned
from pocket_uno_env.engine.state import ROW
from pocket_uno_env.observation.blocks import observation_size
from pocket_uno_env.row_kernels import first_illegal
from pocket_uno_env.rows import mask_rows, observe_rows
from pocket_uno_env.rules.actions import catalogue
from pocket_uno_env.rules.phases import End, Phase
from pocket_uno_env.rules.rules import Rules

Door = TypeVar("Door", bound=Callable[..., Any])

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


@kernel
def _survey(rows: Any, index: Any) -> Any:
    """How many players all of ``rows[index]`` have, or a key of `_REFUSED`."""
    rows = unowned(rows)
    seats = 0
    for j in range(index.shape[0]):
        if index[j] < 0 or index[j] >= rows.shape[0]:
            return -1
        row = rows[index[j]]
        if row.end != End.RUNNING:
            return -2
        if row.num_players < 2 or row.to_act >= row.num_players:
            return -3
        if seats != 0 and row.num_players != seats:
            return -4
        seats = row.num_players
    return np.int64(seats)


_REFUSED = {
    -1: "the index names a row that is not there",
    -2: "the game is over, there is nothing to decide; an environment is then stepped with None",
    -3: "there is no game yet; call reset() first",
    -4: "the games have different numbers of players; ask about those of one number at a time",
}


def _act_door(act_rows: Callable[..., Any]) -> Callable[..., np.ndarray]:
    @wraps(act_rows)
    def door(self: Agent, rules: Rules, rows: np.ndarray, index: np.ndarray) -> np.ndarray:
        index = self.admit(rules, rows, index)
        if len(index) == 0:
            return np.zeros(0, np.int64)
        answer = act_rows(self, rules, rows, index.copy())
        if self._proven:
            return answer  # type: ignore[no-any-return]
        actions = as_actions(self, answer, len(index))
        wrong = first_illegal(rules._table, rows, index, actions)
        if wrong >= 0:
            raise illegal_action(self, rules, rows, index[wrong], actions[wrong])
        return actions

    return _marked(door)


def _opinion_door(opinion: Callable[..., Any]) -> Callable[..., Opinion]:
    @wraps(opinion)
    def door(self: Agent, rules: Rules, rows: np.ndarray, place: int) -> Opinion:
        index = self.admit(rules, rows, np.array([place]))
        found = opinion(self, rules, rows, int(index[0]))
        if not isinstance(found, Opinion):
            raise AgentError(f"agent {self.name!r} gave {found!r}; expected an Opinion")
        actions = as_actions(self, [found.action], 1)
        if first_illegal(rules._table, rows, index, actions) >= 0:
            raise illegal_action(self, rules, rows, index[0], actions[0])
        n_actions, seats = len(catalogue(rules)), int(rows["num_players"][index[0]])
        for name, shape in (
            ("probabilities", (n_actions,)),
            ("values", (n_actions,)),
            ("holdings", (seats, len(rules.kinds))),
        ):
            figures = getattr(found, name)
            if figures is not None and _form(figures) != ("f", shape):
                raise AgentError(
                    f"agent {self.name!r} has an opinion whose {name} are no float array of shape "
                    f"{shape}"
                )
        return found

    return _marked(door)


def _form(figures: Any) -> tuple[str, tuple[int, ...]] | None:
    return (figures.dtype.kind, figures.shape) if isinstance(figures, np.ndarray) else None


def _marked(door: Door) -> Door:
    door.is_door = door  # type: ignore[attr-defined]  # itself: what wraps it copies a wrong mark
    return door


_DOORS: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "act_rows": _act_door,
    "opinion": _opinion_door,
}
"""What stands in front of each method that decides, whoever implements it and whoever calls it."""


class Agent(ABC):
    """Decides for whichever seat is to act.

    One door stands before every decision, whoever asks: `act_rows` and `opinion` of every class
    that derives from this one are checked before and after. Before, that the rows are running games
    of one number of players, and by `check` that the agent plays such games, once for a game;
    after, that the actions are legal. `AgentError` says what was wrong, and no game has moved on.
    What the class implements can rely on its arguments, and whoever calls it on the answer.

    Attributes
    ----------
    name : str
        What the agent is called in tables and records; `load` makes it the text it was loaded by.
    alias : str or None
        What tables and records call it instead, if somebody gave it a name of its own.
    policy : int or None
        The `policies.Policy` that the agent is a face of. Such an agent runs compiled, without a
        call to Python for each decision. None for all others.
    clairvoyant : bool
        Whether it looks at what its seat cannot know. Such an agent shows how far luck goes; it
        gives people no advice.
    repeatable : bool
        Whether it does the same in the same games. One that goes by the clock does not, nor one
        that draws random numbers of its own.
    deterministic : bool
        Whether it draws no lots: in one position it always takes the same action. A table of such
        agents, all alike, plays the same game whoever sits where, and plays it once.
    budget : object or None
        What it may spend on a decision, if it searches. Evaluations give such agents to several
        processes in small portions.

    Notes
    -----
    An agent that asks others takes `clairvoyant`, `repeatable` and `budget` over from them.

    Every agent that `load` makes by a registered name may be shared by threads: it keeps nothing
    of a decision, and what is random comes from the row. Two threads must not ask about the same
    rows at once. An agent of your own is shared by the page's tables, so it must bear that, too.
    """

    name: str
    alias: str | None = None
    policy: int | None = None
    clairvoyant: bool = False
    repeatable: bool = True
    deterministic: bool = False
    budget: object | None = None
    _checked: tuple[Rules, int] | None = None
    _proven: bool = False  # the engine's own kernels choose, and need no second look

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Put the door in front of what the class implements or inherits."""
        super().__init_subclass__(**kwargs)
        for name, door in _DOORS.items():
            method = getattr(cls, name)
            abstract = getattr(method, "__isabstractmethod__", False)
            if not abstract and getattr(method, "is_door", None) is not method:
                setattr(cls, name, door(method))

    @property
    def title(self) -> str:
        """What tables and records call it."""
        return self.alias or self.name

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; the door stands before a method of one instance alone, too."""
        if name in _DOORS:
            alone = value
            value = MethodType(_DOORS[name](lambda self, *asked: alone(*asked)), self)
        super().__setattr__(name, value)

    def check(self, rules: Rules, num_players: int) -> None:  # noqa: B027 - most play anything
        """Raise `AgentError` if the agent cannot play `rules` with so many; most can play all."""

    def admit(self, rules: Rules, rows: np.ndarray, index: np.ndarray) -> np.ndarray:
        """The door itself, for methods of your own that read rows: parameters as for `act_rows`.

        Returns
        -------
        int64 array, shape ``(m,)``
            `index`, a copy.

        Raises
        ------
        AgentError, RulesError
            If these are no running games of one number of players, or `check` refuses them.
        """
        if not isinstance(rules, Rules):
            raise AgentError(f"rules is {rules!r}; expected Rules")
        rows_fit = isinstance(rows, np.ndarray) and rows.dtype == ROW and rows.ndim == 1
        if not rows_fit or not rows.flags.carray:
            raise AgentError(
                "rows must be a one-dimensional, contiguous and writeable array of dtype state.ROW"
            )
        places = np.asarray(index)
        if places.ndim != 1 or places.dtype.kind not in "iu":
            raise AgentError(
                f"index is {places.dtype} of shape {places.shape}; expected integers of shape (m,)"
            )
        places = places.astype(np.int64)
        seats = int(_survey(rows, places))
        if seats < 0:
            raise AgentError(_REFUSED[seats])
        if seats > 0 and (rules, seats) != self._checked:
            rules.check_players(seats)
            self.check(rules, seats)
            self._checked = (rules, seats)
        return places

    @abstractmethod
    def act_rows(self, rules: Rules, rows: np.ndarray, index: np.ndarray) -> np.ndarray:
        """The action for the seat to act in each of ``rows[index]``.

        Parameters
        ----------
        rows : structured array, dtype `state.ROW`, shape ``(n,)``
            Games of one number of players, those at `index` still running. A row holds what no
            seat may know: read it through `rows.observe_rows`, `rows.mask_rows` or
            `information` alone, and leave it as it is, save ``policy_rng``.
        index : int64 array, shape ``(m,)``
            Its own to change; m > 0 for whoever implements this.

        Returns
        -------
        int64 array, shape ``(m,)``
            Legal action ids. An implementation may return integers of any type.

        Raises
        ------
        AgentError
            If the agent cannot be asked about such rows, or its answer was no legal action.
        """

    @_opinion_door
    def opinion(self, rules: Rules, rows: np.ndarray, place: int) -> Opinion:
        """What the agent makes of the decision in ``rows[place]``, for people to look at.

        An agent that has more to say than what it would do says it here.
        """
        return Opinion(int(self.act_rows(rules, rows, np.array([place]))[0]))

    def act(self, env: Any) -> int:
        """The action for the seat to act in an environment made by `pocket_uno_v0`.

        Parameters
        ----------
        env : PettingZoo environment, wrapped or not

        Raises
        ------
        AgentError
            When there is nothing to decide, because the game is over or has not begun; when the
            agent cannot play it; or when it is no such environment.
        """
        game = getattr(env, "unwrapped", env)
        rules, rows = getattr(game, "rules", None), getattr(game, "rows", None)
        if not isinstance(rules, Rules) or not isinstance(rows, np.ndarray) or len(rows) != 1:
            raise AgentError(
                f"act takes an environment made by pocket_uno_v0, not {type(env).__name__}; where "
                "agents play against one learner, env.unwrapped.games.ask(agent) says what the "
                "agent would do in its place"
            )
        return int(self.act_rows(rules, rows, np.zeros(1, np.int64))[0])


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
        """Ask `choose`."""
        seats = int(rows["num_players"][index[0]])
        observations = np.zeros((len(index), observation_size(rules, seats)), np.float32)
        masks = np.zeros((len(index), len(catalogue(rules))), np.int8)
        observe_rows(rules, rows, index, observations)
        mask_rows(rules, rows, index, masks)
        return self._choose(observations, masks)  # type: ignore[no-any-return]  # the door checks


def as_actions(agent: Agent, actions: Any, count: int) -> np.ndarray:
    """`actions` as int64, shape ``(count,)``; `AgentError` if they are something else."""
    try:
        array = np.asarray(actions)
    except Exception as error:
        raise AgentError(
            f"agent {agent.name!r} was asked for {count} actions and its answer cannot be read: "
            f"{error}"
        ) from error
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
    mask_rows(rules, rows, np.array([place]), mask)
    known = 0 <= action < len(names)
    return AgentError(
        f"agent {agent.name!r} chose action {action} "
        f"({names.name(int(action)) if known else 'which does not exist'}) in phase "
        f"{Phase(rows['phase'][place]).name.lower()}; legal: "
        f"{', '.join(names.legal_names(mask[0]))}"
    )
