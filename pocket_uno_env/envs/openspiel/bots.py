"""OpenSpiel's bots as agents, and agents as OpenSpiel's bots and policies.

spiel:random        OpenSpiel's uniform random bot
spiel:ismcts:100    its ISMCTS, a hundred simulations a decision
spiel:mcts:100      its MCTS, on one guess of the hidden cards

The searches judge a position by a playout of `greedy`; ``spiel:ismcts:100,playout=random`` by
another scripted agent.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python import policy as spiel_policy
from open_spiel.python.algorithms import ismcts, mcts

from pocket_uno_env.agents.agent import Agent, AgentError
from pocket_uno_env.agents.scripted.agent import policy_name
from pocket_uno_env.agents.scripted.policies import Policy
from pocket_uno_env.agents.search.agent import Budget
from pocket_uno_env.compiled.kernel import kernel
from pocket_uno_env.compiled.rng import mix, next_state
from pocket_uno_env.engine.state import new_rows
from pocket_uno_env.rules.actions import catalogue
from pocket_uno_env.rules.limits import MAX_CYCLES
from pocket_uno_env.rules.rules import Rules

from .game import PocketUnoGame, load
from .history import History

_EXPLORATION = 2.0
"""``uct_c``: payoffs lie between -1 and 1."""
_FIRST = np.zeros(1, np.int64)

Table = dict[str, list[tuple[int, float]]]
"""A policy by information state: legal actions with their probabilities."""


class Playouts(mcts.Evaluator):
    """Judges a state by one compiled playout; the prior is uniform.

    Parameters
    ----------
    policy : Policy
        Plays all seats.
    random_state : numpy RandomState
    """

    def __init__(self, policy: Policy, random_state: np.random.RandomState) -> None:
        self._policy = int(policy)
        self._random = random_state

    def evaluate(self, state: Any) -> np.ndarray:
        """What each player is paid."""
        seed = int(self._random.randint(2**62, dtype=np.int64))
        return state.line.played_out(self._policy, seed)  # type: ignore[no-any-return]

    def prior(self, state: Any) -> list[tuple[int, float]]:
        """All actions alike; at a chance node, the probabilities of the outcomes."""
        if state.is_chance_node():
            return list(state.chance_outcomes())
        legal = state.legal_actions()
        return [(action, 1 / len(legal)) for action in legal]


MakeBot = Callable[[PocketUnoGame, int, np.random.RandomState], Any]
"""``make(game, seat, random_state)``: a `pyspiel.Bot` that decides once."""


class SpielAgent(Agent):
    """A bot of OpenSpiel.

    It is shown a determinization of what its seat knows, never the game as it is. It is made anew
    for each decision, and its randomness comes from the row.

    Parameters
    ----------
    make : callable
        See `MakeBot`.
    budget : Budget or None
        What it may spend on a decision, for those that search.
    """

    def __init__(self, name: str, make: MakeBot, budget: Budget | None = None) -> None:
        self.name = name
        self.budget = budget
        self._make = make

    def act_rows(self, rules: Rules, rows: np.ndarray, index: np.ndarray) -> np.ndarray:
        """See `Agent.act_rows`."""
        seats = int(rows["num_players"][index[0]])
        game = _game(rules, seats)
        actions = np.zeros(len(index), np.int64)
        for j, place in enumerate(index):
            seed = int(_take_seed(rows, place))
            state = game.state_at(rows, int(place))
            random = np.random.RandomState(seed % 2**32)
            actions[j] = self._make(game, state.current_player(), random).step(state)
        return actions


@lru_cache(maxsize=16)
def _game(rules: Rules, num_players: int) -> PocketUnoGame:
    return load(rules, num_players, max_decisions=MAX_CYCLES)


@kernel
def _take_seed(rows: Any, place: Any) -> Any:
    """A number from the row's policy generator, which goes on."""
    rows[place].policy_rng = next_state(rows[place].policy_rng)
    return mix(rows[place].policy_rng)


def _random_bot(game: PocketUnoGame, seat: int, random: np.random.RandomState) -> Any:
    return pyspiel.make_uniform_random_bot(seat, int(random.randint(2**31 - 1)))


def _ismcts_bot(
    simulations: int,
    playout: Policy,
    game: PocketUnoGame,
    seat: int,
    random: np.random.RandomState,
) -> Any:
    bot = ismcts.ISMCTSBot(
        game, Playouts(playout, random), _EXPLORATION, simulations, random_state=random
    )
    bot.set_resampler(lambda state, player: state.resample_from_infostate(player, random.rand))
    return bot


def _mcts_bot(
    simulations: int,
    playout: Policy,
    game: PocketUnoGame,
    seat: int,
    random: np.random.RandomState,
) -> Any:
    return mcts.MCTSBot(
        game, _EXPLORATION, simulations, Playouts(playout, random), random_state=random
    )


_SEARCHES = {"ismcts": _ismcts_bot, "mcts": _mcts_bot}


def parse(text: str) -> SpielAgent:
    """The agent from what stands after ``spiel:``.

    Raises
    ------
    AgentError
        Saying what was expected.
    """
    if text == "random":
        return SpielAgent("spiel:random", _random_bot)
    match = re.fullmatch(r"(ismcts|mcts):([1-9][0-9]{0,6})(?:,playout=(.+))?", text)
    if match is None:
        raise AgentError(
            f"OpenSpiel has no bot {text!r} here; expected random, ismcts:N or mcts:N, with N "
            "simulations a decision, and ,playout=AGENT if it should not be greedy"
        )
    policies = {policy_name(policy): policy for policy in Policy}
    playout, simulations = match[3] or "greedy", int(match[2])
    if playout not in policies:
        raise AgentError(f"playout={playout!r} is no scripted agent; expected {list(policies)}")
    make = partial(_SEARCHES[match[1]], simulations, policies[playout])
    return SpielAgent(f"spiel:{text}", make, Budget(simulations, in_milliseconds=False))


# Agents in OpenSpiel.


class AgentBot(pyspiel.Bot):
    """Any agent as a bot of OpenSpiel, for any player of this game.

    Parameters
    ----------
    agent : Agent
    seed : int
        Decides what is random in its play.
    """

    def __init__(self, agent: Agent, seed: int = 0) -> None:
        pyspiel.Bot.__init__(self)
        self._agent = _honest(agent)
        self._random = np.random.default_rng(seed)

    def step(self, state: Any) -> int:
        """The action for the player to act."""
        rows = _rows_of([state.line])
        rows["policy_rng"] = self._random.integers(2**63)
        return int(self._agent.act_rows(state.line.parameters.rules, rows, _FIRST)[0])

    def restart(self) -> None:
        """Nothing is kept between decisions."""

    def restart_at(self, state: Any) -> None:
        """Nothing is kept between decisions."""


class AgentPolicy(spiel_policy.Policy):
    """An agent as a policy of OpenSpiel: the probabilities of its actions.

    They are known of `random` and of networks that sample. Any other agent acts; one that draws
    random numbers does so from the same seed in every state, so that it is a policy, too.
    """

    def __init__(self, game: Any, agent: Agent) -> None:
        super().__init__(game, list(range(game.num_players())))
        self._agent = _honest(agent)

    def action_probabilities(self, state: Any, player_id: int | None = None) -> dict[int, float]:
        """Legal actions with their probabilities; for the player to act alone."""
        if player_id not in (None, state.line.to_act):
            raise ValueError(f"player {player_id} is not to act, player {state.line.to_act} is")
        return dict(_probabilities(self._agent, [state.line])[0])

    def table(self, states: dict[str, History] | None = None) -> Table:
        """The policy in every information state of a game that is small enough to walk.

        `pyspiel.TabularPolicy` takes it, and `pyspiel.nash_conv` takes that. `states` are those of
        `information_states`, if several policies are to share one walk.
        """
        found = information_states(self.game) if states is None else states
        lines = list(found.values())
        return dict(zip(found, _probabilities(self._agent, lines), strict=True))


def information_states(game: Any) -> dict[str, History]:
    """All information states of a small game, each with a history that leads to it."""
    found: dict[str, History] = {}

    def walk(line: History) -> None:
        if line.to_act is not None:
            found.setdefault(line.seen(line.to_act), line)
        for choice in [outcome for outcome, _ in line.outcomes] or line.legal():
            walk(line.after(choice))

    walk(game.new_initial_state().line)
    return found


def _probabilities(agent: Agent, lines: list[History]) -> list[list[tuple[int, float]]]:
    """The legal actions of the seats to act, with the agent's probabilities."""
    legal = [line.legal() for line in lines]
    if agent.policy == Policy.RANDOM:
        return [[(action, 1 / len(actions)) for action in actions] for actions in legal]
    rules, rows = lines[0].parameters.rules, _rows_of(lines)
    index = np.arange(len(lines))
    if getattr(agent, "sample", False) and hasattr(agent, "log_probs"):
        found = np.exp(agent.log_probs(rules, rows, index).astype(np.float64))
    else:
        found = np.zeros((len(lines), len(catalogue(rules))))
        found[index, agent.act_rows(rules, rows, index)] = 1
    return [
        [(action, of[action] / of[actions].sum()) for action in actions]
        for actions, of in zip(legal, found, strict=True)
    ]


def _rows_of(lines: list[History]) -> Any:
    rows = new_rows(len(lines))
    for i, line in enumerate(lines):
        if line.rows is None or line.to_act is None:
            raise ValueError("no player is to act in this state")
        rows[i] = line.rows[0]
    rows["policy_rng"] = 0
    return rows


def _honest(agent: Agent) -> Agent:
    """The agent, unless it cheats: nobody has decided here what is in the draw pile."""
    if agent.clairvoyant:
        raise AgentError(f"agent {agent.name!r} cheats: it looks at cards that are not drawn yet")
    return agent
