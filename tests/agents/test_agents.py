"""The agent protocol and the registry."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from pocket_uno_env.agents import (
    Agent,
    AgentError,
    ObservationAgent,
    describe,
    load,
    names,
    register,
    registry,
)
from pocket_uno_env.agents.scripted.policies import Policy, act_rows
from pocket_uno_env.engine.state import new_rows
from pocket_uno_env.evaluation.arena import play
from pocket_uno_env.observation.blocks import observation_size
from pocket_uno_env.rows import mask_rows, observe_rows, reset_rows
from pocket_uno_env.rules.actions import catalogue
from pocket_uno_env.rules.phases import Phase
from pocket_uno_env.rules.rules import Rules

POCKET = Rules()


def dealt(count=8, seats=2, rules=POCKET):
    rows = new_rows(count)
    reset_rows(rules.table, rows, seats, np.uint64(3), np.uint64(0))
    return rows


def first_legal(observations, masks):
    return masks.argmax(axis=1)


@pytest.fixture
def own_registry(monkeypatch):
    registry.usages()  # plug-ins of this environment register once in a process
    monkeypatch.setattr(registry, "_ENTRIES", dict(registry._ENTRIES))


def test_every_policy_is_an_agent_of_its_name():
    for policy in Policy:
        name = policy.name.lower().replace("_", "-")
        assert name in names()
        agent = load(name)
        assert (agent.name, agent.policy) == (name, policy)
        assert describe(name), f"{name} needs a line that says how it plays"


@pytest.mark.parametrize("name", names())
def test_every_named_agent_finishes_legal_games(name):
    assert isinstance(load(name), Agent)
    rules = Rules.preset("classic") if name == "rlcard-rule" else POCKET
    games = play(rules, 3, [load(name), load("greedy")], 3, seed=1)
    assert all((of.winner >= -1).all() for of in games)


def test_scripted_agents_act_as_their_policy():
    index = np.array([5, 0, 2])
    for policy in Policy:
        expected = np.zeros(3, np.int64)
        act_rows(POCKET.table, dealt(), index, policy, expected)
        agent = load(policy.name.lower().replace("_", "-"))
        assert agent.act_rows(POCKET, dealt(), index).tolist() == expected.tolist()


def test_the_single_act_reads_the_row_of_an_environment():
    rows = dealt(1)
    env = SimpleNamespace(unwrapped=SimpleNamespace(rules=POCKET, rows=rows))
    action = load("greedy").act(env)
    assert type(action) is int
    assert action == load("greedy").act_rows(POCKET, dealt(1), np.array([0]))[0]
    rows["end"] = 1
    with pytest.raises(AgentError, match="the game is over"):
        load("greedy").act(env)


def test_agents_play_a_pettingzoo_episode():
    from pocket_uno_env import pocket_uno_v0

    env = pocket_uno_v0.env(num_players=3)
    env.reset(seed=4)
    table = [load("greedy"), load("random"), ObservationAgent("first", first_legal)]
    for name in env.agent_iter():
        over = env.terminations[name] or env.truncations[name]
        env.step(None if over else table[int(name.removeprefix("player_"))].act(env))
    assert env.unwrapped.snapshot()["result"]["end"] is not None


# An agent of one's own


def test_an_observation_agent_gets_what_the_seats_to_act_may_know():
    seen = {}

    def choose(observations, masks):
        seen.update(observations=observations, masks=masks)
        return first_legal(observations, masks)

    rows, index = dealt(), np.array([1, 6])
    actions = ObservationAgent("mine", choose).act_rows(POCKET, rows, index)
    observations = np.zeros((2, observation_size(POCKET, 2)), np.float32)
    masks = np.zeros((2, len(catalogue(POCKET))), np.int8)
    observe_rows(POCKET.table, rows, index, observations)
    mask_rows(POCKET.table, rows, index, masks)
    assert np.array_equal(seen["observations"], observations)
    assert np.array_equal(seen["masks"], masks)
    assert actions.dtype == np.int64
    assert actions.tolist() == masks.argmax(axis=1).tolist()


@pytest.mark.parametrize(
    ("choose", "message"),
    [
        (
            lambda o, m: m.argmin(axis=1),
            r"'mine' chose action \d+ \(.+\) in phase play; legal: draw",
        ),
        (lambda o, m: np.full(len(m), 999), r"chose action 999 \(which does not exist\)"),
        (lambda o, m: np.full(len(m), -1), r"chose action -1 \(which does not exist\)"),
        (lambda o, m: m.argmax(), r"asked for 2 actions and answered with int64 of shape \(\)"),
        (lambda o, m: m.argmax(axis=1) * 1.0, r"expected integers of shape \(2,\)"),
        (lambda o, m: None, r"answered with object of shape \(\)"),
    ],
)
def test_an_observation_agent_is_told_what_it_did_wrong(choose, message):
    with pytest.raises(AgentError, match=message):
        ObservationAgent("mine", choose).act_rows(POCKET, dealt(), np.array([0, 1]))


def test_a_changed_mask_makes_nothing_legal():
    def cheat(observations, masks):
        masks[:] = 1
        return np.full(len(masks), catalogue(POCKET).id("accept"))

    with pytest.raises(AgentError, match="accept"):
        ObservationAgent("cheat", cheat).act_rows(POCKET, dealt(), np.array([0, 1]))


def test_the_error_names_the_phase():
    rows = dealt(1)
    rows["phase"], rows["actor"], rows["top_before"] = Phase.UNO, rows["to_act"], rows["top"]
    agent = ObservationAgent("mine", lambda o, m: [catalogue(POCKET).id("draw")])
    with pytest.raises(AgentError, match="in phase uno; legal: say uno, stay silent"):
        agent.act_rows(POCKET, rows, np.array([0]))


# The registry


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("gredy", "no agent 'gredy'; did you mean 'greedy'. Known: random, "),
        ("Greedy", "did you mean 'greedy'"),
        ("zzz", "no agent 'zzz'. Known: random"),
        ("", "no agent ''"),
        ("runs/nowhere", "no agent 'runs/nowhere': there is no such file or folder"),
        ("x.safetensors", "no such file"),
        ("ppo:" + "a" * 5000, "no such file"),
        ("a" * 5000, "no agent"),
        ("ppo", "should be written 'ppo:DIR[,sample]'"),
        ("greedy:3", "should be written 'greedy'"),
        ("ppo:runs/nowhere", "no trained model 'runs/nowhere': there is no such file"),
        ("import:no_such_module:agent", "No module named 'no_such_module'"),
        ("import:math:tau", "expected an Agent"),
        ("import:math", "should be written 'import:MODULE:NAME'"),
    ],
)
def test_loading_what_is_not_there_says_what_is(spec, message):
    with pytest.raises(AgentError) as caught:
        load(spec)
    assert message in str(caught.value).replace("? Known", ". Known")
    assert "\n" not in str(caught.value)


def test_registered_agents_load_with_their_argument(own_registry):
    @register("fixed", argument="[N]")
    def make(argument):
        """Always the legal action number N."""
        return ObservationAgent(argument or "0", first_legal)

    assert "fixed" in names()
    assert "fixed[:N]" in registry.usages()
    assert describe("fixed") == "Always the legal action number N."
    assert load("fixed").name == "fixed"
    assert load("fixed:2").name == "fixed:2"
    with pytest.raises(AgentError, match="already"):
        register("fixed")
    with pytest.raises(AgentError, match="without a colon"):
        register("a:b")


def test_names_load_without_an_argument_and_usages_show_it():
    assert "ppo" not in names()
    assert "ppo:DIR[,sample]" in registry.usages()
    assert set(names()) <= set(registry.usages())


def test_own_agents_are_imported_by_module_and_name(monkeypatch):
    module = SimpleNamespace(
        make=lambda: ObservationAgent("x", first_legal), made=ObservationAgent("x", first_legal)
    )
    monkeypatch.setitem(sys.modules, "my_agents", module)
    assert load("import:my_agents:make").name == "import:my_agents:make"
    assert load("import:my_agents:made") is module.made


@pytest.mark.parametrize(
    ("spec", "runs"),
    [
        ("import:json:loads", True),
        ("nowhere:Agent", True),
        ("own.module:,x", True),
        ("noisy:0.1,import:json:loads", True),
        ("noisy:0.1,noisy:0.2,nowhere:Agent", True),
        ("search:100,lead=2,policy=nowhere:Agent", True),
        ("ismcts:10ms,policy=import:json:loads,lead=1", True),
        ("clairvoyant:10,policy=nowhere:Agent", True),
        ("noisy:0.1," * 5000 + "import:json:loads", True),
        ("greedy", False),
        ("nowhere", False),
        ("noisy:0.1", False),
        ("noisy:0.1,strong", False),
        ("search:100ms,policy=pocket-2p,leaf=critic", False),
        ("ppo:runs/import:json", False),
        ("there:too", False),
    ],
)
def test_names_that_run_code_are_told_apart_without_running_it(spec, runs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there:too").mkdir()
    (tmp_path / "nowhere.py").write_text("raise AssertionError('imported')")
    assert registry.runs_code(spec) == runs


def test_a_path_is_a_trained_run(monkeypatch, tmp_path):
    asked = []

    def load_policy(path, sample):
        asked.append(path)
        return ObservationAgent("ppo", first_legal)

    monkeypatch.setitem(
        sys.modules,
        "pocket_uno_env.agents.trained.policy",
        SimpleNamespace(load_policy=load_policy),
    )
    assert load(str(tmp_path)).name == str(tmp_path)
    assert load(f"ppo:{tmp_path}").name == f"ppo:{tmp_path}"
    assert asked == [str(tmp_path), str(tmp_path)]


def test_a_run_that_cannot_be_read_is_one_clear_error(monkeypatch, tmp_path):
    def load_policy(path, sample):
        raise FileNotFoundError("config.json is missing")

    monkeypatch.setitem(
        sys.modules,
        "pocket_uno_env.agents.trained.policy",
        SimpleNamespace(load_policy=load_policy),
    )
    with pytest.raises(
        AgentError, match=r"cannot load the trained model .*: config\.json is missing"
    ):
        load(str(tmp_path))


def test_scripted_agents_need_no_torch():
    code = (
        "import sys; from pocket_uno_env.agents import load, names; [load(n) for n in names()]; "
        "import pocket_uno_env.evaluation.arena, pocket_uno_env.evaluation.report.report; "
        "sys.exit(any(m in sys.modules for m in ('torch', 'rich', 'tyro', 'stable_baselines3')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_examples_of_the_documentation_run():
    text = (Path(__file__).parents[2] / "docs" / "agents.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 4
    exec("\n".join(blocks), {})


@pytest.mark.skipif(importlib.util.find_spec("pyspiel") is not None, reason="OpenSpiel is here")
def test_a_bot_of_openspiel_needs_its_extra() -> None:
    with pytest.raises(AgentError, match="needs the extra 'spiel'"):
        load("spiel:random")


PLUG_IN = """
from pocket_uno_env.agents import ObservationAgent, register


@register("plugged", argument="[N]", holds_agents=False)
def make(argument):
    \"\"\"The first legal action, from another package.\"\"\"
    return ObservationAgent("plugged", lambda observations, masks: masks.argmax(axis=1))
"""


@pytest.fixture
def plug_in(tmp_path, monkeypatch, own_registry):
    """Install a package with these entry points for the time of a test."""

    def install(*points, source=PLUG_IN):
        info = tmp_path / "plug_ins-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plug-ins\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("\n".join([f"[{registry.PLUG_INS}]", *points]))
        (tmp_path / "plug_in_module.py").write_text(source)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "plug_in_module", raising=False)

    return install


def test_installed_packages_bring_agents(plug_in):
    plug_in("plugged = plug_in_module:make")
    assert "plug_in_module" not in sys.modules
    assert load("plugged:3").name == "plugged:3"
    assert "plugged" in names() and "plugged[:N]" in registry.usages()
    assert describe("plugged") == "The first legal action, from another package."
    assert not registry.runs_code("plugged:os:system")  # its argument names no agent


def test_lists_ask_for_plug_ins(plug_in):
    plug_in("plugged = plug_in_module:make")
    assert names()[-1] == "plugged"


def test_a_name_of_this_package_is_not_taken_over(plug_in):
    plug_in("greedy = plug_in_module:make")
    assert load("greedy").policy == Policy.GREEDY and "greedy" in names()
    assert "plug_in_module" not in sys.modules


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("import no_such_module", "No module named 'no_such_module'"),
        (PLUG_IN.replace('"plugged"', '"other"'), "registers no agent of its own name"),
    ],
)
def test_a_broken_plug_in_harms_only_who_asks_for_it(plug_in, source, why):
    plug_in("plugged = plug_in_module:make", source=source)
    with pytest.raises(AgentError, match=why):
        load("plugged")
    with pytest.warns(UserWarning, match=why):
        assert "greedy" in names()


def test_bots_of_openspiel_are_listed_where_it_is_missing():
    assert "spiel:BOT" in registry.usages()
    assert describe("spiel").startswith("A bot of OpenSpiel: ")
    assert not registry.runs_code("spiel:mcts:9")


def test_an_old_installation_is_told_to_install_again(monkeypatch):
    monkeypatch.setattr(registry, "entry_points", lambda **wanted: ())
    with pytest.raises(AgentError, match=r"no agent 'absent'.*install again \(make setup"):
        load("absent")


NESTS = {
    "noisy": "noisy:0.1," * 500 + "greedy",
    "a bare one": "noisy:0.1," * 500 + "noisy:0.1",
    "in a search": "noisy:0.1," * 500 + "search:10,policy=noisy:0.1",
}


@pytest.mark.parametrize("spec", NESTS.values(), ids=NESTS)
def test_agents_nested_without_end_are_one_sentence(spec):
    with pytest.raises(AgentError, match="lies within 20 others; expected at most 20") as caught:
        load(spec)
    assert len(str(caught.value)) < 300
    assert not registry.runs_code(spec)
    assert describe(spec) == describe("noisy")
    assert load("noisy:0.1," * 19 + "greedy").name.endswith(",greedy")
    with pytest.raises(AgentError, match="expected at most 20"):
        load("noisy:0.1," * 20 + "greedy")


def test_agents_that_name_themselves_end(own_registry):
    """As the policy of a search could, for one."""

    @register("self", argument="[N]")
    def make(argument):
        """Loads another of its own kind, and so on."""
        return load(f"search:10,policy=self:{argument}1")

    with pytest.raises(AgentError, match="expected at most 20"):
        load("self")
    assert load("search:10,policy=search:10").name == "search:10,policy=search:10"


@pytest.mark.parametrize("end", ["greedy", "nowhere:Agent"])
def test_any_number_of_colons_is_looked_through(end):
    assert registry.runs_code("noisy:" * 3000 + end) == (end != "greedy")


def test_describe_takes_what_load_takes(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "described").mkdir()
    (tmp_path / "described" / "__init__.py").write_text("raise AssertionError('imported')")
    source = (
        "raise AssertionError('imported')\n"
        'class Mine:\n    """Keeps its wilds.\n\n    More.\n    """\n'
        'def make():\n    """Makes one that draws."""\n'
        "def bare(): pass\n"
    )
    (tmp_path / "described" / "own.py").write_text(source)
    (tmp_path / "described_too.py").write_text(source)
    for module in ("described.own", "described_too"):
        for before in ("", "import:"):
            assert describe(f"{before}{module}:Mine") == "Keeps its wilds."
            assert describe(f"{before}{module}:make") == "Makes one that draws."
            assert describe(f"{before}{module}:bare") == "An agent of your own."
            assert describe(f"{before}{module}:other") == "An agent of your own."
    (tmp_path / "net.onnx").touch()
    (tmp_path / "run").mkdir()
    assert describe("net.onnx") == describe("onnx") and describe("run") == describe("ppo")
    assert describe("noisy:0.1,strong") == describe("noisy")
    assert describe("import").startswith("Your own: ")
    for spec in ("missing_module:x", "import:missing_module:x", "described.none:x"):
        with pytest.raises(AgentError, match="No module named"):
            describe(spec)
    with pytest.raises(AgentError, match="no agent 'nobody'"):
        describe("nobody")
