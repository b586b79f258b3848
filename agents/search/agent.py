"""Agents that search: determinized flat Monte Carlo, ISMCTS, and the clairvoyant that cheats.

search:1000                    a thousand playouts a decision
search:100ms                   as many as fit into 100 milliseconds
ismcts:10000,lead=2            the tree search, with options after commas
search:100ms,policy=runs/mine  leaves the moves of a trained network only for clear leads
search:1000,policy=pocket-2p,leaf=critic  asks its critic about guesses, and plays none out
search:200,playout=pocket-2p,opponent=strong+pocket-2p  who plays on in guesses: itself, the others
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from pocket_uno_env.agents.agent import Agent, AgentError
from pocket_uno_env.agents.scripted import policies
from pocket_uno_env.agents.scripted.agent import policy_name
from pocket_uno_env.agents.trained.critic import Critic
from pocket_uno_env.agents.trained.policy import PolicyAgent
from pocket_uno_env.rules.actions import catalogue
from pocket_uno_env.rules.rules import Rules

from . import belief_network
from .belief import Belief, Network, no_network
from .belief_network import TRUST, shipped
from .flat import begin_row, decide, end_round, flat_rows, go_on_row, new_halving, rounds_for
from .players import (
    BUFFERS,
    FIRST_NETWORK,
    Players,
    new_networks,
    new_players,
)
from .playouts import Bench, Method, new_bench
from .stakes import stakes_of
from .tree import Tree, best_row, grow_row, new_tree, plant_row, tree_rows

BELIEFS = ("auto", "learned", "rules", "uniform")
LEAVES = ("playout", "critic")
REWARDS = ("match", "win")
PLAUSIBLE = 0.002
"""The least probability by the policy of a move that its critic is asked about: the critic has not
learned positions that the policy never plays."""
_STEP = 16
"""Guesses, or iterations of the tree search, at most between looks at the clock."""
SCRATCH = ("plain", "seen", "order", "state", "values")
"""What a critic writes to while it judges."""
STAKES = ("now", "lost", "won")
"""What is written of the stakes before each search."""
_ROOM = 200_000
"""Nodes of the tree of a search by the clock."""


@runtime_checkable
class HasLogProbs(Protocol):
    """An agent that knows the probabilities of its actions, such as a trained network."""

    def log_probs(self, rules: Rules, rows: np.ndarray, index: np.ndarray) -> np.ndarray:
        """See `policy.PolicyAgent.log_probs`."""


@runtime_checkable
class HasCritic(Protocol):
    """An agent that may have a critic that sees all hands."""

    def critic(self) -> Critic | None:
        """See `policy.PolicyAgent.critic`."""


@dataclass(frozen=True)
class Settings:
    """What may follow the budget, as ``key=value``."""

    policy: str = "strong"
    """The agent whose moves are left only for a clear lead."""
    prior: float = 0.0
    """If that is a network: the share of a win that a move gains for being e times as likely."""
    playout: str = "strong"
    """The agent that plays on in playouts, scripted or a trained network."""
    opponent: str = "playout"
    """Such an agent for the other seats, or several with + between them, of which each guess draws
    one; "playout" is the agent of that option."""
    lead: float = 1.0
    """By how many standard errors another move must lead."""
    reward: str = "match"
    """What the end of a round is worth: "match", what it does to the chance to win the match, where
    match equity is known for the game; or "win", a win or a loss."""
    leaf: str = "playout"
    """What a guess is judged by: "playout", or "critic", that of a network as policy."""
    belief: str = "auto"
    """Where guesses come from: "learned" (a trained network; "auto" if there is one for these
    cards), "rules" (of inference), "uniform"."""
    doubt: float = 0.2
    """The chance to keep a guess in which the last play would have been another; 1 keeps all."""


@dataclass(frozen=True)
class Budget:
    """How much to search for a decision: a number of playouts, or milliseconds."""

    amount: int
    in_milliseconds: bool


class SearchAgent(Agent):
    """Searches every decision anew.

    Its randomness comes from the row, so that the same games go the same way, except when it goes
    by the clock.

    Parameters
    ----------
    budget : Budget
    settings : Settings
    tree : bool
        ISMCTS instead of flat Monte Carlo.
    clairvoyant : bool
        Cheat: search the game as it is.
    load : callable
        Makes the agent that `Settings.policy` names.

    Notes
    -----
    Every call has buffers of its own, so threads can share the agent.
    """

    budget: Budget

    def __init__(
        self,
        budget: Budget,
        settings: Settings,
        *,
        tree: bool = False,
        clairvoyant: bool = False,
        load: Callable[[str], Agent],
    ) -> None:
        self.name = "search"
        self.budget = budget
        self.settings = settings
        self.clairvoyant = clairvoyant
        self._policy = load(settings.policy)
        self.repeatable = not budget.in_milliseconds and self._policy.repeatable
        if self._policy.clairvoyant and not clairvoyant:
            raise AgentError(
                f"policy={settings.policy} cheats: it sees hidden cards, and so would the search; "
                "name a policy that does not"
            )
        self._critic: Critic | None = None
        if settings.leaf == "critic":
            policy = self._policy
            self._critic = policy.critic() if isinstance(policy, HasCritic) else None
            if self._critic is None:
                raise AgentError(
                    f"policy={settings.policy} has no critic for leaf=critic; expected a network "
                    "that was trained with --critic all-hands and --reward match or win"
                )
        self._networks: list[PolicyAgent] = []
        self._mine = self._player("playout", settings.playout, load)
        names = settings.opponent.split("+")
        same = {"playout": settings.playout}
        self._theirs = [self._player("opponent", same.get(name, name), load) for name in names]
        self._by_tree = tree
        self._prepared: tuple[Rules, int, Method] | None = None

    def _player(self, option: str, name: str, load: Callable[[str], Agent]) -> int:
        """The number, for `players.player_action`, of the agent of this name."""
        number = _scripted(name)
        if number is not None:
            return number
        network = _network(option, name, load(name))
        known = [agent.name for agent in self._networks]
        if network.name not in known:
            self._networks.append(network)
            known.append(network.name)
        return FIRST_NETWORK + known.index(network.name)

    def check(self, rules: Rules, num_players: int) -> None:
        """Refuse what the reference policy, a network or a learned belief cannot play."""
        for agent in (self._policy, *self._networks):
            agent.check(rules, num_players)
        self._method(rules, num_players)

    def act_rows(self, rules: Rules, rows: np.ndarray, index: np.ndarray) -> np.ndarray:
        """See `Agent.act_rows`."""
        players = int(rows["num_players"][index[0]]) if len(index) else 2
        method, bench = self.prepare(rules, players)
        references = self._policy.act_rows(rules, rows, index)
        priors: np.ndarray = np.zeros((len(index), len(catalogue(rules))), np.float32)
        wanted = self.settings.prior > 0 or self._critic is not None
        if wanted and isinstance(self._policy, HasLogProbs):
            log_probs = np.asarray(self._policy.log_probs(rules, rows, index), np.float32)
            if log_probs.shape != priors.shape:
                raise AgentError(
                    f"agent {self._policy.name!r} gave log_probs of shape {log_probs.shape}; "
                    f"expected {priors.shape}"
                )
            priors = self.settings.prior * log_probs
            if self._critic is not None:
                strange = log_probs < np.log(PLAUSIBLE)
                strange[np.arange(len(index)), references] = False
                priors[strange] = -np.inf
        actions, amount = np.zeros(len(index), np.int64), self.budget.amount
        tree = None
        if self._by_tree:
            tree = new_tree(_ROOM if self.budget.in_milliseconds else amount + 1)
        if self.budget.in_milliseconds:
            for j, place in enumerate(index):
                decision = time.thread_time(), int(place), int(references[j]), priors[j]
                actions[j] = self._by_clock(rules, rows, *decision, method, bench, tree)
            return actions
        arguments = (rules._table, rows, index, references, priors, amount, method, bench)
        if tree is None:
            flat_rows(*arguments, actions)
        else:
            tree_rows(*arguments, tree, actions)
        return actions

    def _by_clock(
        self,
        rules: Rules,
        rows: np.ndarray,
        began: float,
        place: int,
        reference: int,
        prior: np.ndarray,
        method: Method,
        bench: Bench,
        tree: Tree | None,
    ) -> int:
        """Search one game until the thread has worked as long as the budget says."""
        count, seed = begin_row(rules._table, rows, place, reference, prior, method, bench)
        seconds, how = self.budget.amount / 1000, (np.uint64(seed), method, bench)
        if count == 1:
            return reference
        if tree is not None:
            plant_row(rows, place, tree)
            done = 0
            while done + _STEP < _ROOM and (done == 0 or time.thread_time() < began + seconds):
                grow_row(rules._table, rows, place, done, _STEP, *how, tree)
                done += _STEP
            return int(best_row(rules._table, reference, method.lead, tree))
        halving, rounds = new_halving(count), rounds_for(count)
        for number in range(rounds):
            end = began + seconds * (number + 1) / rounds
            while halving.count > 1 and (halving.guesses == 0 or time.thread_time() < end):
                guesses = halving.guesses + _STEP
                halving = go_on_row(rules._table, rows, place, halving, guesses, *how)
            halving = end_round(halving, bench)
        return int(decide(halving.count, halving.guesses, method, bench))

    def prepare(self, rules: Rules, num_players: int) -> tuple[Method, Bench]:
        """How to search games under `rules`, and buffers for one search at a time."""
        method = self._method(rules, num_players)
        written = {name: getattr(method.stakes, name).copy() for name in STAKES}
        method = method._replace(stakes=method.stakes._replace(**written))
        method = method._replace(players=self._players(method.players))
        if (critic := method.critic) is not None:
            scratch = {name: getattr(critic, name).copy() for name in SCRATCH}
            method = method._replace(critic=critic._replace(**scratch))
        return method, new_bench(rules)

    def _players(self, shared: Players) -> Players:
        """The players with buffers of their own."""
        networks = shared.networks
        if networks is not None:
            scratch = {name: getattr(networks, name).copy() for name in BUFFERS}
            networks = networks._replace(**scratch)
        return new_players(self._mine, self._theirs, networks)

    def _method(self, rules: Rules, num_players: int) -> Method:
        """The method for a game; the last one is kept."""
        prepared = self._prepared
        if prepared is not None and prepared[:2] == (rules, num_players):
            return prepared[2]
        chosen = self.settings
        learned, network = self._network(rules)
        trust, doubt = TRUST, float(chosen.doubt)
        if chosen.belief == "uniform":
            trust, doubt = 0.0, 1.0
        belief = Belief(trust, learned, network, doubt)
        lead = float(chosen.lead)
        stakes = stakes_of(rules, num_players, chosen.reward)
        if self._critic is not None and self._critic.of_match and not len(stakes.race):
            raise AgentError(
                f"policy={chosen.policy} has a critic of matches, which needs reward=match and a "
                f"game whose match equity is known; for rules {rules.name!r} with {num_players} "
                "players search with leaf=playout"
            )
        networks = new_networks(rules, num_players, self._networks)
        players = new_players(self._mine, self._theirs, networks)
        method = Method(belief, players, lead, self.clairvoyant, self._critic, stakes)
        self._prepared = (rules, num_players, method)
        return method

    def _network(self, rules: Rules) -> tuple[bool, Network]:
        path = shipped(rules)
        if self.clairvoyant or self.settings.belief in ("rules", "uniform"):
            path = None
        elif path is None and self.settings.belief == "learned":
            raise AgentError(
                f"agent {self.name!r}: there is no belief network for the cards of rules "
                f"{rules.name!r}; train one with pocket-uno belief, or ask for belief=rules"
            )
        return path is not None, no_network() if path is None else belief_network.load(path, rules)


def _scripted(name: str) -> int | None:
    """The number of a scripted agent, or None for a name that none has."""
    names = {policy_name(policy): int(policy) for policy in policies.Policy}
    return names.get(name)


def _network(option: str, name: str, agent: Any) -> PolicyAgent:
    """The agent as one whose network can play on in guesses; AgentError if it cannot."""
    if isinstance(agent, PolicyAgent) and agent.deterministic:
        return agent
    names = [policy_name(policy) for policy in policies.Policy]
    raise AgentError(
        f"{option}={name} can play no guesses; expected a scripted agent, one of {names}, or a "
        "trained network that plays its likeliest action"
    )


def parse(text: str, *, tree: bool = False, clairvoyant: bool = False) -> tuple[Budget, Settings]:
    """Budget and settings from what stands after ``search:``.

    Parameters
    ----------
    text : str
    tree, clairvoyant : bool
        See `SearchAgent`; they have fewer options.

    Raises
    ------
    AgentError
        Saying what is wrong and what was expected.
    """
    first, *options = text.split(",")
    match = re.fullmatch(r"([1-9][0-9]{0,8})(ms)?", first)
    if match is None:
        raise AgentError(
            f"a search's budget is {first!r}; expected a number of playouts such as 1000, or of "
            "milliseconds such as 100ms"
        )
    unused = {"prior", "leaf"} if tree else {"belief", "doubt"} if clairvoyant else set()
    types: dict[str, Callable[[str], Any]] = {
        field.name: type(field.default) for field in fields(Settings) if field.name not in unused
    }
    given: dict[str, Any] = {}
    for option in options:
        key, _, value = option.partition("=")
        if key not in types or not value or key in given:
            raise AgentError(
                f"a search like this has no option {option!r}; expected "
                f"{', '.join(f'{known}=...' for known in types)}, each at most once"
            )
        try:
            given[key] = types[key](value)
        except ValueError as error:
            raise AgentError(f"{key}={value!r} is no number") from error
        if types[key] is float:
            most = 1.0 if key == "doubt" else math.inf
            if not 0.0 <= given[key] <= most or math.isinf(given[key]):
                raise AgentError(
                    f"{option}: {key} is a number from 0"
                    + (" to 1" if key == "doubt" else " on, and finite")
                )
    settings = replace(Settings(), **given)
    if settings.belief not in BELIEFS:
        raise AgentError(f"belief={settings.belief!r}; expected one of {', '.join(BELIEFS)}")
    if settings.reward not in REWARDS:
        raise AgentError(f"reward={settings.reward!r}; expected one of {', '.join(REWARDS)}")
    if settings.leaf not in LEAVES:
        raise AgentError(f"leaf={settings.leaf!r}; expected one of {', '.join(LEAVES)}")
    return Budget(int(match[1]), match[2] is not None), settings
