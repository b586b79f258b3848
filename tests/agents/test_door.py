"""What every decision passes, whoever asks; agents among threads; what agents say of themselves."""

from __future__ import annotations

import copy
import functools
import multiprocessing
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from pocket_uno_env import pocket_uno_v0
from pocket_uno_env.agents import Agent, AgentError, ObservationAgent, Opinion, load, names
from pocket_uno_env.agents.registry import networks
from pocket_uno_env.agents.trained.policy import PolicyAgent
from pocket_uno_env.batch import Batch
from pocket_uno_env.engine.state import new_rows
from pocket_uno_env.envs.gym import PocketUnoEnv
from pocket_uno_env.envs.learner_games import LearnerGames
from pocket_uno_env.evaluation import arena
from pocket_uno_env.evaluation.fingerprint import fingerprint
from pocket_uno_env.evaluation.plan import THINKER_DEALS, plan_of
from pocket_uno_env.play.analysis import analyse
from pocket_uno_env.play.table import Table
from pocket_uno_env.rows import reset_rows
from pocket_uno_env.rules.phases import End
from pocket_uno_env.rules.rules import Rules, RulesError

POCKET = Rules()
HERE = np.zeros(1, np.int64)


def dealt(rules: Rules = POCKET, seats: int = 2, count: int = 1, seed: int = 3) -> Any:
    rows = new_rows(count)
    reset_rows(rules.table, rows, seats, np.uint64(seed), np.uint64(0))
    return rows


# A network in a game it was not made for.

GAMES = [
    ("pocket-2p", Rules(), 3, "num_players=3, not 2"),
    ("pocket-2p", Rules(), 5, "num_players=5, not 2"),
    ("pocket-3p", Rules(), 2, "num_players=2, not 3"),
    ("pocket-2p", Rules.preset("classic"), 2, "other symbols, and other wild_copies"),
    ("pocket-2p", Rules.preset("classic"), 10, "num_players=10, not 2, and other symbols"),
    ("classic-2p", Rules(), 2, "other symbols, and other wild_copies"),
    ("pocket-2p", Rules.preset("mini"), 2, "colors=2, not 4"),
    ("pocket-2p", Rules.preset("pocket51"), 2, "other wild_copies"),
    ("pocket-2p", Rules.preset("pocket", seven_zero=True), 2, "seven_zero=True, not False"),
    ("pocket-2p", Rules.preset("pocket", stacking="same"), 2, "stacking='same', not False"),
    ("pocket-2p", Rules.preset("pocket", jump_in=True), 2, "jump_in=True, not False"),
]

WHO_ASKS: dict[str, Callable[[str, Rules, int], Any]] = {
    "act": lambda name, rules, seats: load(name).act(env_of(rules, seats)),
    "act_rows": lambda name, rules, seats: ask(load(name), rules, seats),
    "opinion": lambda name, rules, seats: load(name).opinion(rules, dealt(rules, seats), 0),
    "log_probs": lambda name, rules, seats: policy(name).log_probs(
        rules, dealt(rules, seats), HERE
    ),
    "noisy": lambda name, rules, seats: ask(load(f"noisy:0.5,{name}"), rules, seats),
    "noisy opinion": lambda name, rules, seats: load(f"noisy:1,{name}").opinion(
        rules, dealt(rules, seats), 0
    ),
    "search": lambda name, rules, seats: ask(load(f"search:2,policy={name}"), rules, seats),
    "search by the clock": lambda name, rules, seats: ask(
        load(f"search:1ms,policy={name}"), rules, seats
    ),
    "prior": lambda name, rules, seats: ask(
        load(f"search:2,policy={name},prior=0.1"), rules, seats
    ),
    "critic": lambda name, rules, seats: ask(
        load(f"search:2,policy={name},leaf=critic"), rules, seats
    ),
    "ismcts": lambda name, rules, seats: ask(load(f"ismcts:2,policy={name}"), rules, seats),
    "clairvoyant": lambda name, rules, seats: ask(
        load(f"clairvoyant:2,policy={name}"), rules, seats
    ),
    "teacher": lambda name, rules, seats: learners(rules, seats, ["greedy"]).ask(load(name)),
    "opponent": lambda name, rules, seats: learners(rules, seats, ["greedy", name]),
    "arena": lambda name, rules, seats: arena.play(
        rules, seats, [load("greedy"), load(name)], 1, 0
    ),
    "table": lambda name, rules, seats: Table(
        rules, [load(name), *[load("greedy")] * (seats - 1)], seed=0
    ),
    "analysis": lambda name, rules, seats: analyse(rules, dealt(rules, seats), load(name)),
}


def ask(agent: Agent, rules: Rules, seats: int) -> Any:
    return agent.act_rows(rules, dealt(rules, seats), HERE)


def policy(name: str) -> PolicyAgent:
    agent = load(name)
    assert isinstance(agent, PolicyAgent)
    return agent


def env_of(rules: Rules, seats: int) -> Any:
    env = pocket_uno_v0.env(rules=rules, num_players=seats)
    env.reset(seed=1)
    return env


def learners(rules: Rules, seats: int, opponents: list[str | Agent], count: int = 4) -> Any:
    games = LearnerGames(count, rules, seats, opponents, max_cycles=1000)
    games.start(np.uint64(1))
    return games


@pytest.mark.parametrize(("name", "rules", "seats", "message"), GAMES)
@pytest.mark.parametrize("who", WHO_ASKS)
def test_a_network_refuses_a_game_it_was_not_made_for(who, name, rules, seats, message):
    with pytest.raises(AgentError, match=f"was trained for rules .*{message}.*name an agent"):
        WHO_ASKS[who](name, rules, seats)


def test_it_refuses_again_after_it_has_played():
    agent = load("noisy:0,pocket-2p")
    ask(agent, POCKET, 2)
    for rules, seats in ((POCKET, 3), (Rules.preset("classic"), 2)):
        with pytest.raises(AgentError, match="was trained for"):
            ask(agent, rules, seats)
    assert ask(agent, Rules(), 2) == ask(load("pocket-2p"), POCKET, 2)


def test_a_game_is_checked_once():
    checked = []

    class Counting(ObservationAgent):
        def check(self, rules, num_players):
            checked.append((rules.name, num_players))

    agent = Counting("counting", lambda observations, masks: masks.argmax(axis=1))
    for _ in range(3):
        ask(agent, Rules(), 2)
    ask(agent, POCKET, 3)
    assert checked == [("pocket", 2), ("pocket", 3)]


def test_other_weights_have_the_shapes_of_those_before():
    agent, other = policy("pocket-2p"), policy("pocket-3p")
    with pytest.raises(AgentError, match="layers of the sizes"):
        agent.set_layers(other.layers)
    with pytest.raises(AgentError, match="layers of the sizes"):
        agent.set_layers(agent.layers[:-1])
    agent.set_layers(agent.layers)


# What is no game.


def over(rows: Any) -> Any:
    rows["end"] = End.OUT
    return rows


@pytest.mark.parametrize(
    ("rows", "index", "message"),
    [
        (dealt(), [1], "a row that is not there"),
        (dealt(), [-1], "a row that is not there"),
        (dealt(), [2**40], "a row that is not there"),
        (dealt(), [0.0], "index is float64"),
        (dealt(), [True], "index is bool"),
        (dealt(), [[0]], "of shape"),
        (dealt(), 0, "of shape"),
        (new_rows(1), [0], "no game yet; call reset"),
        (over(dealt()), [0], "the game is over"),
        (np.concatenate([dealt(), dealt(seats=3)]), [0, 1], "different numbers of players"),
        (np.zeros(1), [0], "dtype state.ROW"),
        (dealt().view(np.uint8), [0], "dtype state.ROW"),
        (dealt().reshape(1, 1), [0], "one-dimensional"),
        (dealt(count=4)[::2], [0], "contiguous"),
        (None, [0], "dtype state.ROW"),
    ],
)
@pytest.mark.parametrize("name", ["greedy", "pocket-2p", "search:2", "noisy:0.5"])
def test_what_is_no_running_game_is_refused(name, rows, index, message):
    with pytest.raises(AgentError, match=message):
        load(name).act_rows(POCKET, rows, np.array(index))


def test_rows_that_may_not_be_written_are_refused():
    rows = dealt()
    rows.flags.writeable = False
    with pytest.raises(AgentError, match="writeable"):
        load("noisy:0.5").act_rows(POCKET, rows, HERE)


def test_the_rules_are_rules_and_have_the_seats():
    with pytest.raises(AgentError, match="rules is 'pocket'; expected Rules"):
        load("greedy").act_rows("pocket", dealt(), HERE)  # type: ignore[arg-type]
    with pytest.raises(RulesError, match="6"):
        load("greedy").act_rows(POCKET, dealt(Rules.preset("classic"), 6), HERE)


def test_asked_about_nothing_an_agent_answers_nothing():
    for name in ("greedy", "pocket-2p", "search:2", "noisy:0.5"):
        actions = load(name).act_rows(POCKET, dealt(), HERE[:0])
        assert actions.dtype == np.int64 and actions.shape == (0,)


def test_the_index_may_have_any_type_of_integer():
    rows = dealt(count=6)
    for dtype in (np.uint8, np.int32, np.uint64):
        index = np.array([4, 0], dtype)
        found = load("pocket-2p").act_rows(POCKET, rows, index)
        assert (found == load("pocket-2p").act_rows(POCKET, rows, np.array([4, 0]))).all()


def test_act_takes_environments_of_this_project_alone():
    env = pocket_uno_v0.env()
    with pytest.raises(AgentError, match="no game yet; call reset"):
        load("greedy").act(env)
    for wrong in (PocketUnoEnv(), Batch(2), object(), None):
        with pytest.raises(AgentError, match=r"made by pocket_uno_v0, not .*games\.ask"):
            load("greedy").act(wrong)
    single = PocketUnoEnv()
    single.reset(seed=1)
    assert single.action_masks()[single.unwrapped.games.ask(load("greedy"))] == 1


# What an agent answers.


class Answering(Agent):
    """Answers whatever it is told to."""

    name = "answering"

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def act_rows(self, rules: Rules, rows: Any, index: Any) -> Any:
        return self.answer


WRONG = [
    (np.array([10**6]), "chose action 1000000 .which does not exist"),
    (np.array([-1]), "which does not exist"),
    (np.array([122]), "chose action 122"),
    (np.array([2**63], np.uint64), "which does not exist"),
    (np.array([0.0]), "answered with float64"),
    (np.array([], np.int64), r"of shape \(0,\)"),
    (np.array([[0]]), r"of shape \(1, 1\)"),
    (np.array([True]), "answered with bool"),
    (0, r"of shape \(\)"),
    (None, "answered with object"),
    ("draw", "answered with <U4"),
    ([[0], [0, 1]], "cannot be read"),
]


@pytest.mark.parametrize(("answer", "message"), WRONG)
def test_an_answer_that_is_no_legal_action_goes_nowhere(answer, message):
    agent = Answering(answer)
    env, table = env_of(POCKET, 2), Table("pocket", [agent, agent], seed=1)
    games, seated = (
        learners(POCKET, 2, ["greedy"], 1),
        LearnerGames(1, POCKET, 2, [agent], max_cycles=99),
    )
    before = env.unwrapped.rows.tobytes(), table.rows.tobytes()
    askers: list[Callable[[], Any]] = [
        lambda: agent.act(env),
        lambda: agent.opinion(POCKET, dealt(), 0),
        lambda: games.ask(agent),
        lambda: [seated.start(np.uint64(seed)) for seed in range(9)],
        table.ask_agent,
        lambda: analyse(POCKET, dealt(), agent),
    ]
    for asker in askers:
        with pytest.raises(AgentError, match=message):
            asker()
    assert before == (env.unwrapped.rows.tobytes(), table.rows.tobytes())


@pytest.mark.parametrize(
    ("opinion", "message"),
    [
        (Opinion(10**6), "which does not exist"),
        (Opinion("draw"), "answered with <U4"),  # type: ignore[arg-type]
        (Opinion(0, probabilities=np.ones(3)), "probabilities are no float array of shape"),
        (Opinion(0, values=np.ones(123, np.int64)), "values are no float array of shape"),
        (Opinion(0, holdings=np.ones((3, 40))), "holdings are no float array of shape"),
        (Opinion(0, values=[0.5] * 123), "values are no float array"),  # type: ignore[arg-type]
        ("draw", "expected an Opinion"),
    ],
)
def test_an_opinion_has_the_form_that_is_said(opinion, message):
    rows = dealt()
    action = int(load("greedy").act_rows(POCKET, rows, HERE)[0])
    if isinstance(opinion, Opinion) and opinion.action == 0:
        opinion = Opinion(action, opinion.probabilities, opinion.values, holdings=opinion.holdings)

    class Opining(Answering):
        def opinion(self, rules: Rules, rows: Any, place: int) -> Any:
            return opinion

    with pytest.raises(AgentError, match=message):
        Opining(None).opinion(POCKET, rows, 0)


def test_the_door_stands_before_whatever_implements_a_decision():
    class Mixed:
        def act_rows(self, rules: Rules, rows: Any, index: Any) -> Any:
            return [10**6]

    class ByMixin(Mixed, Answering):
        pass

    class Wrapped(Answering):
        @functools.wraps(Answering.act_rows)
        def act_rows(self, *asked: Any) -> Any:
            return [10**6]

    alone = Answering(None)
    alone.act_rows = lambda rules, rows, index: [10**6]  # type: ignore[method-assign]
    for agent in (ByMixin(None), Wrapped(None), alone, copy.deepcopy(alone)):
        with pytest.raises(AgentError, match="chose action 1000000"):
            agent.act_rows(POCKET, dealt(), HERE)


def test_an_agent_that_changes_its_index_is_checked_by_the_true_one():
    class Changing(Agent):
        name = "changing"

        def act_rows(self, rules: Rules, rows: Any, index: Any) -> Any:
            found = load("greedy").act_rows(rules, rows, index)
            index[:] = 10**9
            return found

    index = np.array([2, 0])
    rows = dealt(count=3)
    expected = load("greedy").act_rows(POCKET, rows, index)
    assert (Changing().act_rows(POCKET, rows, index) == expected).all()
    assert index.tolist() == [2, 0]


# Among threads and processes.

PLAYERS = [
    *names(),
    *networks(),
    *("noisy:0.3,strong", "noisy:0.3,pocket-2p", "noisy:0.3,search:20"),
    *(
        "search:60",
        "search:20,policy=pocket-2p,prior=0.05",
        "search:20,policy=pocket-2p,leaf=critic",
    ),
    *("search:20,playout=greedy,belief=rules", "ismcts:60", "clairvoyant:60"),
]
"""Every registered agent that needs no file and no further package."""
NOT_POCKET = {
    "rlcard-rule": ("classic", 2),
    **{name: (name.split("-")[0], int(name.split("-")[1][0])) for name in networks()},
}


def played(agent: Agent, name: str, seed: int, decisions: int = 40) -> list[int]:
    """What an agent does in all seats of some games."""
    preset, seats = NOT_POCKET.get(name, ("pocket", 2))
    env = pocket_uno_v0.raw_env(rules=preset, num_players=seats)
    env.reset(seed=seed)
    actions: list[int] = []
    while len(actions) < decisions:
        if not env.agents or any(env.terminations.values()):
            seed += 1000
            env.reset(seed=seed)
        actions.append(agent.act(env))
        env.step(actions[-1])
    return actions


@pytest.mark.parametrize("name", PLAYERS)
def test_threads_share_an_agent(name):
    agent = load(name)
    seeds = range(4)
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda seed: played(agent, name, seed), seeds))
    assert found == [played(load(name), name, seed) for seed in seeds]


def test_threads_share_an_agent_in_different_games():
    agent = load("search:40")
    games = [("pocket", 2), ("classic", 3), ("pocket", 4), ("mini", 2)] * 4

    def decided(game: tuple[str, int]) -> list[int]:
        rules = Rules.preset(game[0])
        return agent.act_rows(rules, dealt(rules, game[1], 20), np.arange(20)).tolist()

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(decided, games))
    assert found == list(map(decided, games))


@pytest.mark.parametrize("name", ["search:10ms", "ismcts:10ms"])
def test_threads_share_an_agent_that_goes_by_the_clock(name):
    agent = load(name)
    with ThreadPoolExecutor(2) as pool:  # illegal actions would be refused
        found = list(pool.map(lambda seed: played(agent, name, seed, 10), range(4)))
    assert [len(actions) for actions in found] == [10] * 4


@pytest.mark.parametrize("name", PLAYERS)
def test_agents_survive_pickle_and_deepcopy(name):
    agent = load(name)
    expected = played(agent, name, 5, 10)
    for other in (pickle.loads(pickle.dumps(agent)), copy.deepcopy(agent), copy.copy(agent)):
        assert (other.name, played(other, name, 5, 10)) == (name, expected)


def _played_there(arguments: tuple[Agent, str]) -> list[int]:
    return played(*arguments, 5, 3)


def test_agents_survive_spawn():
    agents = [(load(name), name) for name in PLAYERS]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.map(_played_there, agents)
    assert found == list(map(_played_there, agents))


def test_a_search_does_not_grow_with_the_games_it_has_seen():
    agent = load("ismcts:50")
    ask(agent, POCKET, 2)
    size = len(pickle.dumps(agent))
    for goal in range(100, 130):
        ask(agent, Rules.preset("pocket", match_goal=goal), 2)
    assert len(pickle.dumps(agent)) < size + 1000


# What agents say of themselves.


@pytest.mark.parametrize(
    ("name", "repeatable", "thinks", "clairvoyant"),
    [
        ("greedy", True, False, False),
        ("pocket-2p", True, False, False),
        ("noisy:0.1", True, False, False),
        ("search:10", True, True, False),
        ("search:10ms", False, True, False),
        ("ismcts:10ms", False, True, False),
        ("clairvoyant:10", True, True, True),
        ("clairvoyant:10ms", False, True, True),
        ("noisy:0.1,search:10", True, True, False),
        ("noisy:0.1,search:100ms", False, True, False),
        ("noisy:0.1,noisy:0.1,search:100ms", False, True, False),
        ("noisy:0.1,clairvoyant:10", True, True, True),
        ("search:10,policy=noisy:0.1", True, True, False),
        ("clairvoyant:10,policy=clairvoyant:10", True, True, True),
    ],
)
def test_agents_say_what_they_are_and_wrappers_hand_it_on(name, repeatable, thinks, clairvoyant):
    agent = load(name)
    assert (agent.repeatable, agent.budget is not None) == (repeatable, thinks)
    assert agent.clairvoyant == clairvoyant


def test_a_search_is_as_repeatable_as_its_policy():
    from pocket_uno_env.agents.search.agent import Budget, SearchAgent, Settings

    other = ObservationAgent("other", lambda observations, masks: masks.argmax(axis=1))
    for repeatable in (True, False):
        other.repeatable = repeatable
        agent = SearchAgent(Budget(5, False), Settings(), load=lambda name: other)
        assert agent.repeatable == repeatable


def test_agents_that_think_are_played_in_small_portions():
    plans = [plan_of([name, "greedy"], deals=4) for name in ("greedy", "noisy:0.1")]
    thinking = plan_of(["noisy:0.1,search:100ms", "greedy"], deals=4)
    assert [plan.chunk_deals for plan in plans] == [arena.CHUNK_DEALS] * 2
    assert thinking.chunk_deals == THINKER_DEALS


@pytest.mark.parametrize("name", ["greedy", "pocket-2p", "noisy:0.3,search:5", "ismcts:5"])
def test_use_does_not_change_a_fingerprint(name):
    agent = load(name)
    agent.check(POCKET, 2)
    before = fingerprint(agent)
    played(agent, name, 1, 5)
    assert fingerprint(agent) == before


def test_the_arena_takes_agents_alone():
    with pytest.raises(arena.ArenaError, match="agents hold 'greedy'; expected agents"):
        arena.play("pocket", 2, ["greedy", "random"], 1, 0)  # type: ignore[list-item]
