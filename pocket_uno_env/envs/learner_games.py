"""`LearnerGames`: many rounds in which one seat is the caller's and agents play the others.

The common ground of the Gymnasium environments and Stable-Baselines3's: each adds the interface of
its library and nothing else.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import numpy as np
from gymnasium import spaces

from pocket_uno_env.agents import Agent, load
from pocket_uno_env.arguments import as_integers, check_count, check_seed
from pocket_uno_env.engine.state import new_rows
from pocket_uno_env.engine.validity import check_rows
from pocket_uno_env.episodes.episode import Episode, Scores, episode_of
from pocket_uno_env.guard import Guard
from pocket_uno_env.observation.blocks import observation_size
from pocket_uno_env.observation.canonical import (
    VIEWS,
    ColorTables,
    color_tables,
    plain_actions,
    view_actions,
)
from pocket_uno_env.observation.encoders import COMPACT_SCALE
from pocket_uno_env.records.snapshot import phase_name
from pocket_uno_env.row_kernels import first_illegal, mask_rows
from pocket_uno_env.rules.actions import catalogue
from pocket_uno_env.rules.limits import MAX_CYCLES, MAX_ROUNDS
from pocket_uno_env.rules.phases import End
from pocket_uno_env.rules.rules import Rules

from .learner_books import check_books, new_books
from .learner_kernels import (
    continue_learners,
    look_learners,
    redeal_learners,
    start_learners,
    waiting_for,
)
from .reset_options import ResetOptions, read_options

RUNNING = int(End.RUNNING)
"""For NumPy, which takes many times as long with a member of an enum."""

_Settings = tuple[np.ndarray, Episode, Any, np.ndarray | None]
"""Pool, episode, final rows and scratch of forced decisions, as kernels take them."""


class LearnerOptions(TypedDict, total=False):
    """What the environments of a learner take by keyword, beside the game and the opponents."""

    episode: str
    """A round, "round" (default), or a match, "match"."""
    reward: str
    """What a finished round pays the learner: "win" (default), "points" or "match"; see
    `payoff.round_payoffs`. By "win" a match pays at its end alone."""
    max_cycles: int
    """Decisions, everybody's, after which a round is truncated; default `limits.MAX_CYCLES`."""
    max_rounds: int
    """Rounds after which a match is truncated; default `limits.MAX_ROUNDS`."""
    scores: Scores
    """The points that episodes start with, by seat, many such lines of which each episode draws
    one, or "match": as they occur in matches; default 0 points each. See `episode.read_scores`."""
    view: str
    """The colours by name, "plain" (default), or in the order of `canonical`, "canonical"; actions
    and masks likewise."""
    skip_forced: bool
    """Make the learner's decisions with one legal action for it, about a quarter of all; default
    False."""


class LearnerGames:
    """`num_games` rounds or matches side by side, one seat of each for the learner.

    In each episode the learner's seat and every opponent are drawn at random. Opponents act inside
    `step`, so that a transition runs from one decision of the learner to its next. When a round
    ends the next is dealt at once; an episode that ends before the learner's first decision is
    passed over. The rounds of a match that lie between two decisions pay together, those before the
    first one with it.

    Parameters
    ----------
    num_games : int
    rules : str or Rules
        A preset, a file, or `Rules`.
    num_players : int
    opponents : sequence of str or Agent
        From these each other seat's agent is drawn; one that is listed twice comes twice as often.
        Scripted ones run compiled; others are asked once for all games that wait for them.
    compact : bool
        Observations in bytes, a quarter of the memory: uint8, times `encoders.COMPACT_SCALE`.
    episode, reward, max_cycles, max_rounds, scores, view, skip_forced
        See `LearnerOptions`.

    Attributes
    ----------
    rows : structured array, dtype `state.ROW`, shape ``(num_games,)``
        The games.
    masks : int8, shape ``(num_games, n_actions)``
        The learner's legal actions, as of the last `look`.
    codes : int64 array
        From these each seat's agent is drawn (`learner`); see `draw`.
    orders : int64, shape ``(num_games, colors)``
        The colour in each place of the view, as of the last `look`.
    final_rows : structured array, dtype `state.ROW`, shape ``(num_games,)``
        Where an episode has ended, the game as it was then.
    rewards : float64, shape ``(num_games,)``
    ends : uint8, shape ``(num_games,)``
        `End.RUNNING`, or why the episode that the last step ended has ended.
    observation_space, action_space : gymnasium.spaces
        Of a single game.

    Notes
    -----
    Game i goes the same way however many games run beside it, as long as the opponents are
    repeatable, as scripted ones and trained networks are.
    """

    def __init__(
        self,
        num_games: int,
        rules: str | Rules = "pocket",
        num_players: int = 2,
        opponents: Sequence[str | Agent] = ("greedy",),
        *,
        compact: bool = False,
        episode: str = "round",
        reward: str = "win",
        max_cycles: int = MAX_CYCLES,
        max_rounds: int = MAX_ROUNDS,
        scores: Scores = None,
        view: str = "plain",
        skip_forced: bool = False,
    ) -> None:
        self.rules = Rules.of(rules)
        self._table = self.rules._table
        self.num_players = self.rules.check_players(num_players)
        self._episode = episode_of(
            self.rules, self.num_players, episode, reward, max_cycles, max_rounds, scores
        )
        if view not in VIEWS:
            raise ValueError(f"view is {view!r}; expected one of {list(VIEWS)}")
        for name, value in (("compact", compact), ("skip_forced", skip_forced)):
            if value not in (True, False):
                raise ValueError(f"{name} is {value!r}; expected True or False")
        if isinstance(opponents, str) or not opponents:
            raise ValueError(f"opponents is {opponents!r}; expected a list of agents or names")
        self.num_games = check_count("num_envs", num_games)
        self.opponents = [load(o) if isinstance(o, str) else o for o in opponents]
        for agent in self.opponents:
            if not isinstance(agent, Agent):
                raise ValueError(f"opponents holds {agent!r}; expected agents or their names")
            agent.check(self.rules, self.num_players)
        self.episode = episode
        self.reward = reward
        self.observation_size = observation_size(self.rules, self.num_players)
        self.n_actions = len(catalogue(self.rules))

        self._asked = [agent for agent in self.opponents if agent.policy is None]
        codes = iter(range(-1, -1 - len(self._asked), -1))
        self._codes = np.array(
            [next(codes) if o.policy is None else o.policy for o in self.opponents], np.int64
        )
        self.codes = self._codes
        self.rows = new_rows(num_games)
        self.books = new_books(num_games)
        self.masks = np.zeros((num_games, self.n_actions), np.int8)
        self.view = view
        self.orders = np.tile(np.arange(self.rules.colors), (num_games, 1))
        self._dtype = np.uint8 if compact else np.float32
        one = COMPACT_SCALE if compact else 1
        self.observation_space = spaces.Box(0, one, (self.observation_size,), self._dtype)
        self.action_space = spaces.Discrete(self.n_actions)
        self.final_rows = new_rows(num_games)
        self.everywhere = np.arange(num_games)
        self._guard = Guard(type(self).__name__)
        self._waiting = np.zeros(num_games, np.int64)
        self._forced = np.zeros(self.n_actions, np.int8) if skip_forced else None

    @property
    def _tables(self) -> ColorTables | None:
        """What the canonical view is made with."""
        canonical = self.view == "canonical"
        return color_tables(self.rules, self.num_players) if canonical else None

    @property
    def rewards(self) -> np.ndarray:
        """What the last step paid."""
        return np.asarray(self.books["reward"])

    @property
    def ends(self) -> np.ndarray:
        """How the last step ended rounds."""
        return np.asarray(self.books["end"])

    @property
    def starting_scores(self) -> np.ndarray:
        """The points that episodes start with: int64, shape ``(m, num_players)``, m = 0 for 0."""
        return np.asarray(self._episode.scores)

    def check_state(self, rows: np.ndarray, books: np.ndarray) -> None:
        """ValueError unless these are games as they stand between two decisions of the learner."""
        check_rows(self.rules, rows, self.num_players, running=True)
        check_books(books, rows, self.num_players, self._codes)

    def start(
        self,
        seed: np.uint64,
        index: np.ndarray | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Deal a new game everywhere and play to the learner's first decision.

        Parameters
        ----------
        seed : uint64
            Game i follows from it and i alone.
        index : int64 array, shape ``(m,)``, optional
            Which games; all without it, and the first time. The others stay as they are.
        options : dict, optional
            ``"deck"``, ``"dealer"`` and ``"scores"`` of the first deal, in each of them: see
            `reset_options.read_options`. An episode that is passed over is followed by another with
            such scores.
        """
        if index is None:
            index = self.everywhere
        else:
            self._check_started()
            index = self._places(index)
        seed = check_seed("seed", seed)
        given = self.read_options(options)
        deck = np.zeros(0, np.uint8) if given.deck is None else given.deck
        settings = self._settings(given.scores)
        with self._guard:
            start_learners(
                self._table, self.rows, self.books, index, self.num_players, seed, given.dealer,
                deck, *settings,
            )  # fmt: skip
            self._ask_opponents(settings)

    def read_options(self, options: Mapping[str, Any] | None, masked: bool = False) -> ResetOptions:
        """`reset_options.read_options` for these games."""
        return read_options(self.rules, self.num_players, options, masked)

    def step(self, index: np.ndarray, actions: np.ndarray) -> None:
        """Take legal actions (int64) in the games of `index`, play to the learner's next decision.

        Clears all outcomes first, those of the other games too.

        Raises
        ------
        ValueError, IndexError
            For an action that is not legal, or places that are no games; no game has changed.
        """
        index = self._places(index)
        actions = as_integers("actions", actions, len(index))
        with self._guard:
            self._check_started()
            plain = actions
            if self._tables is not None:
                plain = np.empty_like(actions)
                plain_actions(self._tables, self.orders[index], actions, plain)
            if (j := int(first_illegal(self._table, self.rows, index, plain))) >= 0:
                raise ValueError(self.illegal(int(index[j]), int(actions[j])))
            self.books["reward"] = 0
            self.books["end"] = RUNNING
            if self.episode == "match":
                self.books["reward"][index] = self.books["owed"][index]
                self.books["owed"][index] = 0
            settings = self._settings()
            continue_learners(self._table, self.rows, self.books, index, plain, *settings)
            self._ask_opponents(settings)

    def copies(self, index: np.ndarray) -> LearnerGames:
        """Copies of the games of `index`, as often as they are listed there, to try things on.

        They have the same cards and the same luck to come, and actions are in the view as of the
        last `look`.
        """
        index = self._places(index, once=False)
        found = copy.copy(self)
        found._guard = Guard(type(self).__name__)
        found.num_games = len(index)
        found.rows, found.books = self.rows[index], self.books[index]
        found.masks, found.orders = self.masks[index], self.orders[index]
        found.final_rows = new_rows(len(index))
        found.everywhere = np.arange(len(index))
        found._waiting = np.zeros(len(index), np.int64)
        return found

    def draw(self, frequencies: np.ndarray) -> None:
        """From the next deal on draw opponents so often: a share for each, kept to a thousandth."""
        shares = np.asarray(frequencies)
        numbers = shares.dtype.kind in "iuf" and shares.shape == self._codes.shape
        if not numbers or not (np.isfinite(shares) & (shares >= 0)).all():
            raise ValueError(
                f"frequencies are {frequencies!r}; expected {len(self._codes)} numbers from 0"
            )
        if not shares.sum() > 0:
            raise ValueError("all frequencies are 0; expected one opponent at least")
        counts = np.rint(1000 * frequencies / frequencies.sum()).astype(np.int64)
        self.codes = np.repeat(self._codes, counts)

    def redeal(self, index: np.ndarray) -> None:
        """Give the games of `index` up and deal the next ones in their place."""
        index = self._places(index)
        with self._guard:
            self._check_started()
            settings = self._settings()
            redeal_learners(self._table, self.rows, self.books, index, *settings)
            self._ask_opponents(settings)

    def look(self) -> np.ndarray:
        """What the learner knows, ``(num_games, observation_size)``; writes `masks`."""
        with self._guard:
            self._check_started()
            seats = self.books["learner"]
            return self._look(self.rows, seats, self.everywhere, self.masks, self.orders)

    def final(self, index: np.ndarray) -> np.ndarray:
        """What the learner knew at the end of the episodes that the last step ended in `index`."""
        index = self._places(index, once=False)
        if not (self.ends[index] != RUNNING).all():
            raise ValueError("index names games whose episode the last step did not end")
        masks = np.empty((len(index), self.n_actions), np.int8)
        orders = np.empty((len(index), self.rules.colors), np.int64)
        with self._guard:
            seats = self.books["last_learner"]
            return self._look(self.final_rows, seats, index, masks, orders)

    def _look(
        self,
        rows: np.ndarray,
        seats: np.ndarray,
        index: np.ndarray,
        masks: np.ndarray,
        orders: np.ndarray,
    ) -> np.ndarray:
        observations = np.empty((len(index), self.observation_size), self._dtype)
        look_learners(self._table, rows, seats, index, self._tables, observations, masks, orders)
        return observations

    def ask(self, agent: Agent) -> np.ndarray:
        """What `agent` would do in the learner's place: int64, shape ``(num_games,)``."""
        with self._guard:
            self._check_started()
            actions = agent.act_rows(self.rules, self.rows, self.everywhere)
        if self._tables is not None:
            plain, actions = actions, np.empty_like(actions)
            view_actions(self._tables, self.orders, plain, actions)
        return actions

    def as_actions(self, actions: object) -> np.ndarray:
        """`actions` as int64, shape ``(num_games,)``; ValueError if they are something else.

        Numbers too large for int64 become -1, which is no action.
        """
        chosen = np.asarray(actions)
        if chosen.shape != (self.num_games,) or chosen.dtype.kind not in "iuO":
            raise ValueError(
                f"actions are {chosen.dtype} of shape {chosen.shape}; expected integers of shape "
                f"({self.num_games},)"
            )
        known = (chosen >= 0) & (chosen < self.n_actions)
        return np.where(known, chosen, -1).astype(np.int64)

    def legal(self, actions: np.ndarray) -> np.ndarray:
        """Which of the actions, one for each game, are legal: bool, ``(num_games,)``."""
        actions = as_integers("actions", actions, self.num_games)
        known = (actions >= 0) & (actions < self.n_actions)
        return np.asarray(known & (self.masks[self.everywhere, np.where(known, actions, 0)] == 1))

    def illegal(self, game: int, action: int) -> str:
        """The message about an action that is not legal in a game."""
        names = catalogue(self.rules)
        known = 0 <= action < len(names)
        number = np.array([action if known else 0])
        mask = np.zeros((1, self.n_actions), np.int8)
        if self._tables is not None:
            plain_actions(self._tables, self.orders[game : game + 1], number.copy(), number)
        mask_rows(self._table, self.rows, np.array([game]), mask)
        name = f" ({names.name(int(number[0]))!r})" if known else ""
        return (
            f"action {action}{name} is not legal in game {game}, phase "
            f"{phase_name(self.rows[game])!r}; legal: {', '.join(names.legal_names(mask[0]))}"
        )

    def _check_started(self) -> None:
        if not self.rows["num_players"][:1].all():
            raise RuntimeError("there are no games yet; call reset() first")

    def _places(self, index: np.ndarray, once: bool = True) -> np.ndarray:
        """`index`, if it holds numbers of games, each only once."""
        if index is self.everywhere:
            return index
        index = as_integers("index", index)
        if len(index) and not (index.min() >= 0 and index.max() < self.num_games):
            raise IndexError(f"index names games that are not there; there are {self.num_games}")
        if once and len(np.unique(index)) < len(index):
            raise ValueError("index names a game twice; expected each once")
        return index

    def _settings(self, scores: np.ndarray | None = None) -> _Settings:
        episode = self._episode if scores is None else self._episode._replace(scores=scores)
        return self.codes, episode, self.final_rows, self._forced

    def _ask_opponents(self, settings: _Settings) -> None:
        """Let the agents that are not scripted act until every game waits for the learner."""
        asking = bool(self._asked)
        while asking:
            asking = False
            for k, agent in enumerate(self._asked):
                while count := waiting_for(self.books, k, self._waiting):
                    asking = True
                    index = self._waiting[:count].copy()
                    actions = agent.act_rows(self.rules, self.rows, index)
                    continue_learners(self._table, self.rows, self.books, index, actions, *settings)
