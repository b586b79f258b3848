"""The PettingZoo AEC environment.

| Import             | `from pocket_uno_env import pocket_uno_v0`          |
|--------------------|-----------------------------------------------------|
| Actions            | Discrete                                            |
| Agents             | `player_0` ... `player_<n-1>`, 2 to 5 (classic: 10) |
| Action Shape       | Discrete(123) (pocket; it depends on the deck)      |
| Action Values      | 0 ... 122                                           |
| Observation Shape  | (338,) (pocket, two players)                        |
| Observation Values | [0, 1]                                              |

Observation space: ``{"observation": float32 (size,), "action_mask": int8 (actions,)}``. The vector
is made of named blocks; ``print(pocket_uno_env.describe())`` shows them.

Legal actions mask: 1 for each legal action of the agent to act; all zeros for every other agent
and after the end. ``infos[agent]["action_mask"]`` holds the same mask.

Action space: one id per action name, the same in every phase; ``env.unwrapped.action_name(i)`` and
``action_id(name)`` translate (docs/rules.md, section 7).

Rewards: zero-sum, see `raw_env`.

Version history: v0, the initial version.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from pettingzoo import AECEnv

from pocket_uno_env.compiled.entry import Entry
from pocket_uno_env.display.modes import MODES, Renderer, png
from pocket_uno_env.display.seat_view import sight
from pocket_uno_env.engine.deal import new_game
from pocket_uno_env.engine.state import NO_SEAT, new_rows
from pocket_uno_env.episodes.episode import Scores, episode_of
from pocket_uno_env.episodes.kernels import finish_round, start_scores
from pocket_uno_env.observation.blocks import observation_size
from pocket_uno_env.observation.full_state import state_size
from pocket_uno_env.records.record import Transcript, game_record
from pocket_uno_env.records.snapshot import phase_name, snapshot
from pocket_uno_env.row_kernels import deal_row, look_row, observe_row, play_row, state_row
from pocket_uno_env.rules.actions import catalogue
from pocket_uno_env.rules.limits import MAX_CYCLES, MAX_ROUNDS
from pocket_uno_env.rules.phases import End
from pocket_uno_env.rules.rules import Rules

from .reset_options import read_options

_PLAY = Entry(
    play_row,
    lambda: (Rules()._table, new_rows(1), 0, 0, np.zeros(1, np.float32), np.zeros(1, np.int8)),
)


class IllegalActionError(ValueError):
    """An action that the rules do not allow now; the game is as it was."""


class raw_env(AECEnv):
    """UNO as an agent-environment cycle; illegal actions raise and change nothing.

    Parameters
    ----------
    rules : str or Rules
        A preset (``"pocket"``, ``"pocket51"``, ``"classic"``, ``"mini"``) or `Rules`.
    num_players : int
        2 to ``rules.max_players``.
    episode : {"round", "match"}
        One round, or rounds until a seat has ``rules.match_goal`` points (under
        ``rules.elimination``: until all others have). A blocked or capped round of a match is
        followed by the next deal.
    reward : {"win", "points", "match"}
        ``"win"``: +1 for the winner and -1/(n-1) for each other seat, once, at the end of the
        episode. ``"points"``: after each round, the winner's points over the match goal and minus
        the points held for the others. ``"match"``: after each round, what it did to the seat's
        chance to win the match (`match_equity`); over a match they sum to 1 for the winner and 0
        for the others, less the equity at its start. Blocked and truncated rounds pay 0, and so
        does the truncation of a match.
    max_cycles : int
        Decisions after which a round is truncated.
    max_rounds : int
        Rounds after which a match is truncated.
    render_mode : {None, "ansi", "rgb_array", "human"}
        What `render` shows (`modes.Renderer`): a text, a picture, or a window.
    render_seat : int or None
        Whose eyes it is seen with; None sees all hands.
    scores : optional
        The points that episodes start with: a whole number for each seat, many such lines of which
        each episode draws one, or ``"match"``: as they occur in matches; default 0 points each.

    Raises
    ------
    ValueError
        For an argument that makes no game, naming it and what was expected.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - PettingZoo reads a plain class attribute
        "name": "pocket_uno_v0",
        "render_modes": list(MODES),
        "is_parallelizable": False,
        "render_fps": 1,
    }

    def __init__(
        self,
        rules: str | Rules = "pocket",
        num_players: int = 2,
        episode: str = "round",
        reward: str = "win",
        max_cycles: int = MAX_CYCLES,
        max_rounds: int = MAX_ROUNDS,
        render_mode: str | None = None,
        render_seat: int | None = None,
        scores: Scores = None,
    ) -> None:
        super().__init__()
        self.rules = Rules.of(rules)
        self.num_players = self.rules.check_players(num_players)
        self._episode = episode_of(
            self.rules, self.num_players, episode, reward, max_cycles, max_rounds, scores
        )
        self.episode, self.reward = episode, reward
        self.max_cycles, self.max_rounds = self._episode.max_cycles, int(max_rounds)
        self.render_mode = _one_of("render_mode", render_mode, (None, *MODES))
        self.render_seat = _one_of("render_seat", render_seat, (None, *range(self.num_players)))
        self._display = Renderer(render_mode)

        self.possible_agents = [f"player_{seat}" for seat in range(self.num_players)]
        self.agents: list[str] = []
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        size, n_actions = observation_size(self.rules, self.num_players), len(catalogue(self.rules))
        self.observation_spaces = {
            agent: spaces.Dict(
                {
                    "observation": spaces.Box(0.0, 1.0, (size,), np.float32),
                    "action_mask": spaces.Box(0, 1, (n_actions,), np.int8),
                }
            )
            for agent in self.possible_agents
        }
        self.action_spaces = {agent: spaces.Discrete(n_actions) for agent in self.possible_agents}
        self.state_space = spaces.Box(
            0.0, 1.0, (state_size(self.rules, self.num_players),), np.float32
        )

        self._rows = new_rows(1)
        self._table = self.rules._table
        self._observation = np.zeros(size, np.float32)
        self._mask, self._no_mask = np.zeros((2, n_actions), np.int8)
        self._turn: str | None = None
        self._seed: int | None = None
        self._rounds: list[Transcript] = []
        self._paid = False
        self._np_random: np.random.Generator | None = None

    @property
    def rows(self) -> Any:
        """The game: one row, dtype `state.ROW`. Whoever writes it vouches for it."""
        return self._rows[:]  # a view, which cannot be resized

    # PettingZoo's interface.

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The observation space of `agent`, always the same object."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """The action space of `agent`, always the same object."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Deal a new game.

        Parameters
        ----------
        seed : int, optional
            The same seed gives the same game. Without one, each reset goes on from the last seed,
            or from the operating system's entropy.
        options : dict, optional
            ``"deck"``: the names of all cards in the order they are dealt, ``"dealer"``: a seat,
            and ``"scores"``: as for the environment. They hold for the first round of this reset.

        Raises
        ------
        ValueError
            For a seed or an option that makes no game; the game in progress stays as it was.
        """
        given = read_options(self.rules, self.num_players, options)
        if seed is not None:
            if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
                raise ValueError(f"seed is {seed!r}; expected a whole number from 0, or None")
            self._np_random, _ = seeding.np_random(int(seed))
        elif self._np_random is None:
            self._np_random, _ = seeding.np_random()
        self._seed = None if seed is None else int(seed)
        start = np.uint64(self._np_random.integers(2**64, dtype=np.uint64))
        rows = self._rows.copy()
        new_game(rows[0], self.num_players, start)
        start_scores(rows[0], self._episode.scores if given.scores is None else given.scores)
        self._rounds = []
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {agent: {"action_mask": self._no_mask.copy()} for agent in self.agents}
        self._paid = False
        self._turn = self._skip_agent_selection = None
        self._deal(rows, given.dealer, given.deck)
        if self.render_mode == "human":
            self.render()

    def step(self, action: int | None) -> None:
        """Take `action` for ``agent_selection``.

        Raises
        ------
        IllegalActionError
            Naming action, phase and legal actions; nothing has changed.
        """
        agent = self._turn
        if agent is None or self.terminations.get(agent, True):
            self._step_aside(action)
            return
        try:
            if isinstance(action, bool):
                raise TypeError
            chosen = operator.index(action)  # type: ignore[arg-type]
            code = _PLAY.call(
                self._table, self._rows, chosen, self.max_cycles, self._observation, self._mask
            )
        except (TypeError, OverflowError):
            code = -1
        if code < 0:
            raise IllegalActionError(self._illegal(agent, action))
        self._rounds[-1].actions.append(chosen)
        self._cumulative_rewards[agent] = 0.0
        if self._paid:
            self._clear_rewards()
            self._paid = False
        if code < 256:
            self._pass_turn(code)
        else:
            self._end_round(code >> 8)
        if self.render_mode == "human":
            self.render()

    def last(self, observe: bool = True) -> Any:
        """Observation, reward since its last step, ends and info of the agent to act."""
        self._check_reset()
        agent = self.agent_selection
        return (
            self.observe(agent) if observe else None,
            self._cumulative_rewards[agent],
            self.terminations[agent],
            self.truncations[agent],
            self.infos[agent],
        )

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        """What `agent` knows, and its legal actions: all zeros unless it is to act.

        Works for every possible agent at any time after `reset`.
        """
        if agent == self._turn and not self.terminations.get(agent, True):
            return {"observation": self._observation.copy(), "action_mask": self._mask.copy()}
        self._check_reset()
        if agent not in self._seats:
            raise ValueError(f"no agent {agent!r}; expected one of {self.possible_agents}")
        observation = np.empty_like(self._observation)
        observe_row(self._table, self._rows, self._seats[agent], observation)
        return {"observation": observation, "action_mask": self._no_mask.copy()}

    def state(self) -> np.ndarray:
        """The whole game for centralized critics, hidden cards included: float32, [0, 1].

        Per seat its hand, then draw pile, discard pile, the next card of the draw pile, the card
        just drawn (per kind), then what lies open, from seat 0 (`describe`, from ``top`` on).
        """
        self._check_reset()
        state = np.empty(self.state_space.shape or (), np.float32)
        state_row(self._table, self._rows, state)
        return state

    def render(self) -> Any:
        """The table as ``render_seat`` sees it: a text, a picture, or None for a window."""
        if self.render_mode is None:
            return None
        return self._display.show(self._sight())

    def close(self) -> None:
        """Close the window, if there is one."""
        self._display.close()

    def _repr_png_(self) -> bytes | None:
        """A picture of the table, for notebooks; None before the first `reset`."""
        return png(self._sight()) if self._rounds else None

    def _sight(self) -> dict[str, Any]:
        self._check_reset()
        return sight(self.rules, self._rows, self.render_seat)

    # Handles for tests, research and tools.

    def action_id(self, name: str) -> int:
        """The id of an action, such as ``"play W:B"``."""
        return catalogue(self.rules).id(name)

    def action_name(self, action: int) -> str:
        """The name of an action id."""
        return catalogue(self.rules).name(action)

    def legal_names(self) -> list[str]:
        """The sorted names of the legal actions of the seat to act; ``[]`` after the end."""
        if self._turn is None or self.terminations.get(self._turn, True):
            return []
        return catalogue(self.rules).legal_names(self._mask)

    def snapshot(self) -> dict[str, Any]:
        """The whole game as a plain dict of names (`snapshot.snapshot`)."""
        self._check_reset()
        return snapshot(self.rules, self._rows[0])

    def record(self) -> dict[str, Any]:
        """The game so far in the format ``uno-record/1`` (docs/rules.md, section 8)."""
        self._check_reset()
        return game_record(
            self.rules, self.possible_agents, self._seed, self.episode == "match", self._rounds
        )

    # The episode.

    def _deal(self, rows: Any, dealer: int = NO_SEAT, deck: np.ndarray | None = None) -> None:
        self._rounds.append(Transcript(rows.copy(), dealer, deck))
        deal_row(self._table, rows, dealer, deck)
        self._rows[:] = rows
        look_row(self._table, self._rows, self._observation, self._mask)
        self._pass_turn(int(self._rows["to_act"][0]))

    def _pass_turn(self, seat: int) -> None:
        agent = self.possible_agents[seat]
        if self._turn is not None and self._turn is not agent:
            self.infos[self._turn]["action_mask"] = self._no_mask.copy()
        self._turn = self.agent_selection = agent
        self.infos[agent]["action_mask"] = self._mask.copy()

    def _step_aside(self, action: int | None) -> None:
        """The step of an agent for whom the game is over."""
        self._check_reset()
        if not self.agents:
            raise RuntimeError("the game is over and all agents are gone; call reset()")
        self._was_dead_step(action)

    def _end_round(self, end: int) -> None:
        row = self._rows[0]
        self._rounds[-1].truncated = end == End.TRUNCATED
        payoffs = np.zeros(self.num_players)
        ended = finish_round(self._table[0], row, self._episode, payoffs)
        if payoffs.any():
            for agent, payoff in zip(self.possible_agents, payoffs.tolist(), strict=True):
                self.rewards[agent] = payoff
            self._paid = True
            self._accumulate_rewards()
        if ended == End.RUNNING:
            self._deal(self._rows.copy())
            return
        for agent in self.agents:
            self.terminations[agent] = ended != End.TRUNCATED
            self.truncations[agent] = ended == End.TRUNCATED
            self.infos[agent]["action_mask"] = self._no_mask.copy()
        self._turn = None
        self.agent_selection = self.agents[0]

    def _illegal(self, agent: str, action: Any) -> str:
        try:
            name = f"{action} ({catalogue(self.rules).name(action)!r})"
        except ValueError:
            name = repr(action)
        return (
            f"action {name} is not legal for {agent} in phase {phase_name(self._rows[0])!r}; "
            f"legal: {', '.join(self.legal_names())}"
        )

    def _check_reset(self) -> None:
        if not self._rounds:
            raise RuntimeError("there is no game yet; call reset() first")


def _one_of(name: str, value: Any, choices: Sequence[Any]) -> Any:
    if value not in choices:
        raise ValueError(f"{name} is {value!r}; expected one of {list(choices)}")
    return value
