"""Networks in ONNX files: the same numbers as PyTorch's, the same play, and clear refusals."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from programs import ROOT, run_example, run_page

from pocket_uno_env import Rules, pocket_uno_v0
from pocket_uno_env.agents import Agent, AgentError, load, networks
from pocket_uno_env.agents.registry import NETWORKS
from pocket_uno_env.agents.trained.onnx_policy import OnnxAgent
from pocket_uno_env.agents.trained.policy import PolicyAgent, look
from pocket_uno_env.evaluation.arena import play
from pocket_uno_env.observation.blocks import observation_size
from pocket_uno_env.rules.actions import catalogue
from pocket_uno_env.training.export_onnx import TOLERANCE, export, games, onnx_model


def as_torch(agent: PolicyAgent) -> torch.nn.Module:
    """The network in PyTorch, from the same weights."""
    modules: list[torch.nn.Module] = []
    for weight, bias in agent.layers:
        layer = torch.nn.Linear(weight.shape[1], weight.shape[0])
        layer.load_state_dict({"weight": torch.tensor(weight), "bias": torch.tensor(bias)})
        modules += [layer, torch.nn.ReLU()]
    return torch.nn.Sequential(*modules[:-1])


def plain_network(rules: str, players: int) -> PolicyAgent:
    """A network of the plain view with weights drawn at random."""
    rng, game = np.random.default_rng(0), Rules.preset(rules)
    sizes = [observation_size(game, players), 32, 16, len(catalogue(game))]
    layers = [
        (rng.normal(0, 0.3, (b, a)).astype(np.float32), rng.normal(0, 1, b).astype(np.float32))
        for a, b in pairwise(sizes)
    ]
    return PolicyAgent("drawn", layers, game, players, "plain")


@pytest.fixture(params=[*networks(), "plain"])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[PolicyAgent, OnnxAgent]:
    """A network, and the agent made of its file."""
    agent: Any = plain_network("pocket", 3) if request.param == "plain" else load(request.param)
    export(agent, tmp_path / "network.onnx", 50)
    return agent, OnnxAgent(tmp_path / "network.onnx")


def test_the_numbers_are_those_of_pytorch(pair: tuple[PolicyAgent, OnnxAgent]) -> None:
    agent, other = pair
    network, seen, worst = as_torch(agent), 0, 0.0
    for rows in games(agent.rules, agent.num_players, 5000):
        every = np.arange(len(rows))
        observations, masks, _ = look(agent.rules, agent.num_players, rows, every, agent.view)
        with torch.no_grad():
            logits = network(torch.tensor(observations)).masked_fill(
                torch.tensor(masks == 0), -torch.inf
            )
        found, actions = other.run(observations, masks)
        legal = masks == 1
        assert np.isneginf(found[~legal]).all()
        expected = logits.numpy()
        scale = np.abs(np.where(legal, expected, 1)).max(axis=1, keepdims=True) + 0 * legal
        worst = max(worst, float((np.abs(found[legal] - expected[legal]) / scale[legal]).max()))
        # Where two logits are as good as equal, either may be the largest.
        best = np.take_along_axis(expected, actions[:, None], 1)[:, 0]
        np.testing.assert_allclose(best, expected.max(axis=1), rtol=1e-4, atol=1e-4)
        # What a policy is: probabilities, which differ by less than 1e-5 outright.
        shares = torch.softmax(logits, 1).numpy()
        np.testing.assert_allclose(
            torch.softmax(torch.tensor(found), 1).numpy(), shares, atol=1e-5, rtol=0
        )
        seen += len(rows)
    print(f"{agent.name}: {seen} positions, logits differ by {worst:.1e} of the largest")
    assert seen >= 5000 and worst < TOLERANCE


def test_it_plays_like_the_network(pair: tuple[PolicyAgent, OnnxAgent]) -> None:
    agent, other = pair
    seen = same = 0
    for rows in games(agent.rules, agent.num_players, 2000):
        index = np.arange(len(rows))[::2]
        chosen, expected = (one.act_rows(agent.rules, rows, index) for one in (other, agent))
        seen, same = seen + len(index), same + int((chosen == expected).sum())
    assert seen >= 1000 and same >= 0.999 * seen


def test_a_run_and_its_file_can_be_exported(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    shutil.copy(NETWORKS / "pocket-2p.safetensors", run / "model.safetensors")
    shutil.copy(NETWORKS / "pocket-2p.json", run / "config.json")
    files = []
    for number, source in enumerate((run, run / "model.safetensors", "pocket-2p")):
        files.append(tmp_path / f"{number}.onnx")
        said = program("-m", "pocket_uno_env", "export", str(source), str(files[-1]))
        assert "2,000 positions" in said.stdout, said
    assert len({file.read_bytes() for file in files}) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.onnx", "1.onnx", "2.onnx", "run"]


def program(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, cwd=ROOT
    )


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("onnx") / "pocket.onnx"
    agent: Any = load("pocket-2p")
    export(agent, path, 50)
    return path


def test_it_plays_without_pytorch(file: Path) -> None:
    code = (
        "import sys; from pocket_uno_env.agents import load;"
        "from pocket_uno_env.evaluation.arena import play;"
        f"(games,) = play('pocket', 2, [load({str(file)!r}), load('random')], 20, 1);"
        "print(games.win_rates(0).mean(), *{'torch', 'onnx', 'safetensors'} & set(sys.modules))"
    )
    said = program("-c", code)
    rate, *loaded = said.stdout.split()
    assert float(rate) > 0.8 and not loaded, said


def test_it_is_written_without_pytorch(file: Path, tmp_path: Path) -> None:
    code = (
        f"import sys; sys.argv[1:] = ['pocket-2p', {str(tmp_path / 'a.onnx')!r}];"
        "from pocket_uno_env.training.export_onnx import main; main();"
        "print('loaded:', *{'torch', 'onnxscript'} & set(sys.modules))"
    )
    said = program("-c", code)
    assert said.returncode == 0 and said.stdout.endswith("loaded:\n"), said
    assert (tmp_path / "a.onnx").read_bytes() == file.read_bytes()


def test_the_arena_takes_it(file: Path) -> None:
    said = program("evaluate.py", "--agents", str(file), f"onnx:{file}", "--deals", "10")
    assert said.returncode == 0 and "pocket.onnx" in said.stdout.replace("\n", ""), said


def test_other_games_are_refused(file: Path) -> None:
    agent = load(f"onnx:{file}")
    with pytest.raises(AgentError, match="num_players=3, not 2"):
        agent.check(Rules.preset("pocket"), 3)
    with pytest.raises(AgentError, match="other symbols"):
        play("classic", 2, [agent, load("greedy")], 10, 1)
    env = pocket_uno_v0.env(num_players=3)
    env.reset(seed=1)
    with pytest.raises(AgentError, match="num_players=3, not 2"):
        agent.act(env)


def test_threads_share_a_file(file: Path) -> None:
    agent = load(f"onnx:{file}")
    boards = [rows.copy() for rows in games(Rules(), 2, 2000)]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda rows: decided(agent, rows), boards))
    assert found == [decided(agent, rows) for rows in boards]


def decided(agent: Agent, rows: np.ndarray) -> list[int]:
    return agent.act_rows(Rules(), rows, np.arange(len(rows))).tolist()  # type: ignore[no-any-return]


def changed(file: Path, folder: Path, **properties: str) -> Path:
    """A copy with other metadata."""
    model = onnx.load(file)
    about = {one.key: one.value for one in model.metadata_props} | properties
    del model.metadata_props[:]
    helper.set_model_props(model, about)
    onnx.save(model, folder / "changed.onnx")
    return folder / "changed.onnx"


def test_files_that_do_not_fit_are_refused(file: Path, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.onnx"
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", value[:1], value[1:])
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), foreign)
    with pytest.raises(AgentError, match=r"format None; expected 'pocket-uno-onnx/1'"):
        load(str(foreign))
    rules = json.dumps(Rules.preset("classic").to_dict())
    blocks = json.dumps([["hand", 0, 51]])
    for properties, message in (
        ({"observation": blocks}, "another observation layout"),
        ({"actions": "[]"}, "another actions layout"),
        ({"num_players": "9"}, "are damaged: num_players is 9"),
        ({"num_players": "2.0"}, r"are damaged: num_players is 2\.0"),
        ({"num_players": ""}, "are damaged: num_players is not JSON"),
        ({"rules": "{"}, "are damaged: rules is not JSON"),
        ({"rules": "[]"}, r"are damaged: rules is \[\]; expected a table"),
        ({"rules": '{"cls": 1}'}, "are damaged: unknown field 'cls'"),
        ({"actions": "{"}, "are damaged: actions is not JSON"),
        ({"observation": "[" * 100_000}, "are damaged: observation is nested too deeply"),
        ({"view": "sideways"}, "sideways"),
        ({"rules": rules}, "another observation layout"),
    ):
        with pytest.raises(AgentError, match=message):
            load(str(changed(file, tmp_path, **properties)))
    model = onnx_model(plain_network("mini", 2))
    about = {one.key: one.value for one in onnx.load(file).metadata_props}
    onnx.save(model, tmp_path / "small.onnx")
    with pytest.raises(AgentError, match="inputs"):
        load(str(changed(tmp_path / "small.onnx", tmp_path, **about)))
    short = onnx.load(file)
    del short.graph.output[1]
    onnx.save(short, tmp_path / "short.onnx")
    with pytest.raises(AgentError, match="outputs"):
        load(str(tmp_path / "short.onnx"))
    fixed = onnx.load(file)
    for one in (*fixed.graph.input, *fixed.graph.output):
        one.type.tensor_type.shape.dim[0].dim_value = 1
    onnx.save(fixed, tmp_path / "fixed.onnx")
    with pytest.raises(AgentError, match=r"does not take any number of positions: 'observation'"):
        load(str(tmp_path / "fixed.onnx"))
    for value in (np.nan, np.inf):
        sick = onnx.load(file)
        weights = next(one for one in sick.graph.initializer if one.name.endswith("0.weight"))
        array = numpy_helper.to_array(weights).copy()
        array[:] = value
        weights.CopyFrom(numpy_helper.from_array(array, weights.name))
        onnx.save(sick, tmp_path / "sick.onnx")
        with pytest.raises(AgentError, match="logits that are no finite numbers"):
            load(str(tmp_path / "sick.onnx"))
    unmasked = onnx.load(file)
    choice = next(node for node in unmasked.graph.node if node.op_type == "ArgMax")
    choice.op_type = "ArgMin"
    onnx.save(unmasked, tmp_path / "unmasked.onnx")
    with pytest.raises(AgentError, match="chooses actions that its mask forbids"):
        load(str(tmp_path / "unmasked.onnx"))
    (tmp_path / "torn.onnx").write_bytes(file.read_bytes()[:1000])
    with pytest.raises(AgentError, match="no ONNX file"):
        load(str(tmp_path / "torn.onnx"))
    with pytest.raises(AgentError, match="no such file"):
        load("runs/none.onnx")


def test_what_cannot_be_exported_is_said(tmp_path: Path) -> None:
    command = ("-m", "pocket_uno_env", "export")
    for arguments, message in (
        (("greedy", str(tmp_path / "a.onnx")), "no trained network"),
        (("runs/none", str(tmp_path / "a.onnx")), "no such file"),
        (("pocket-2p", "/proc/none/a.onnx"), "cannot write"),
        (("pocket-2p", str(tmp_path / "a.onnx"), "--positions", "0"), "expected 1 or more"),
    ):
        said = program(*command, *arguments)
        assert said.returncode == 2 and message in said.stderr, said
        assert "Traceback" not in said.stderr
    assert not list(tmp_path.iterdir())


def test_the_example_runs(tmp_path: Path) -> None:
    assert "same actions" in run_example("onnx_export", folder=tmp_path)


def test_the_page_runs(tmp_path: Path) -> None:
    run_page("onnx", tmp_path)
