"""Write a trained network as an ONNX file, which plays without PyTorch.

    pocket-uno export pocket-2p pocket.onnx
    pocket-uno export runs/mine mine.onnx

The model takes observations and action masks, and returns masked logits and
the most probable legal actions. It is compared with the network on positions
of real games before the file is written. `load("mine.onnx")` makes an agent of it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import tyro

from pocket_uno_env import files
from pocket_uno_env.agents.agent import AgentError
from pocket_uno_env.agents.registry import load, networks
from pocket_uno_env.agents.scripted.policies import Policy
from pocket_uno_env.agents.trained.policy import PolicyAgent, look
from pocket_uno_env.batch import Batch
from pocket_uno_env.cli.program import print_error, program_name
from pocket_uno_env.cli.progress import help_text
from pocket_uno_env.compiled.mlp import run_layers
from pocket_uno_env.rules.rules import Rules
from pocket_uno_env.version import __version__

if TYPE_CHECKING:
    import onnx

    from pocket_uno_env.agents.trained.onnx_policy import OnnxAgent

OPSET, IR_VERSION = 17, 8
"""Old enough for the onnxruntime of several years ago; nothing newer is needed."""
TOLERANCE = 1e-5
"""By how much a legal logit may differ, relative to the largest."""


@dataclass
class Options:
    """The fields are the options of the command line."""

    agent: Annotated[str, tyro.conf.Positional]
    """A trained network: its name, the folder of its run, or its model.safetensors."""
    file: Annotated[Path, tyro.conf.Positional]
    """The .onnx file to write."""
    positions: int = 2000
    """Positions to compare on."""


def export(agent: PolicyAgent, file: Path, positions: int = 2000) -> float:
    """Write the network of `agent`, compared with it on that many positions.

    Returns
    -------
    float
        The largest difference of a legal logit, relative to the largest logit of its position.

    Raises
    ------
    AgentError
        When the file would not play like the network, or cannot be written.
    """
    from pocket_uno_env.agents.trained.onnx_policy import OnnxAgent

    data = onnx_model(agent).SerializeToString()
    try:
        with tempfile.TemporaryDirectory() as folder:
            trial = Path(folder) / "trial.onnx"
            files.write_whole(trial, data)
            difference = compare(agent, OnnxAgent(trial), positions)
        if not difference <= TOLERANCE:
            raise AgentError(
                f"the ONNX network differs from {agent.name!r} by {difference:.1e} of the largest "
                f"logit; expected at most {TOLERANCE:.0e}. Nothing was written"
            )
        files.make_folder(file.parent)
        files.write_whole(file, data)
    except OSError as error:
        raise AgentError(f"cannot write {error.filename or file}: {error.strerror}") from error
    except files.FileError as error:
        raise AgentError(str(error)) from error
    return difference


def onnx_model(agent: PolicyAgent) -> onnx.ModelProto:
    """The network of `agent`, built from its weights.

    Inputs: ``observation`` float32 ``(batch, size)`` and ``action_mask`` int8 ``(batch, actions)``.
    Outputs: ``logits`` float32 ``(batch, actions)``, minus infinity for illegal actions, and
    ``action`` int64 ``(batch,)``, the most probable legal one, the first among equals.
    """
    from onnx import TensorProto, checker, helper, numpy_helper

    from pocket_uno_env.agents.trained.onnx_policy import INPUTS, OUTPUTS, metadata

    size, n_actions = agent.layer_sizes[0], agent.layer_sizes[-1]
    nodes, constants = [], [numpy_helper.from_array(np.float32(-np.inf), "never")]
    value = INPUTS[0]
    for number, (weight, bias) in enumerate(agent.layers):
        constants += [
            numpy_helper.from_array(np.ascontiguousarray(part), f"policy.{number}.{name}")
            for name, part in (("weight", weight), ("bias", bias))
        ]
        terms = [value, f"policy.{number}.weight", f"policy.{number}.bias"]
        value = f"layer.{number}"
        nodes.append(helper.make_node("Gemm", terms, [value], transB=1))
        if number < len(agent.layers) - 1:
            nodes.append(helper.make_node("Relu", [value], [f"{value}.relu"]))
            value = f"{value}.relu"
    nodes += [
        helper.make_node("Cast", [INPUTS[1]], ["legal"], to=TensorProto.BOOL),
        helper.make_node("Where", ["legal", value, "never"], [OUTPUTS[0]]),
        helper.make_node("ArgMax", [OUTPUTS[0]], [OUTPUTS[1]], axis=1, keepdims=0),
    ]
    graph = helper.make_graph(
        nodes,
        "policy",
        [
            helper.make_tensor_value_info(INPUTS[0], TensorProto.FLOAT, ["batch", size]),
            helper.make_tensor_value_info(INPUTS[1], TensorProto.INT8, ["batch", n_actions]),
        ],
        [
            helper.make_tensor_value_info(OUTPUTS[0], TensorProto.FLOAT, ["batch", n_actions]),
            helper.make_tensor_value_info(OUTPUTS[1], TensorProto.INT64, ["batch"]),
        ],
        constants,
    )
    model: onnx.ModelProto = helper.make_model(
        graph,
        producer_name="pocket-uno-env",
        producer_version=__version__,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
    )
    helper.set_model_props(model, metadata(agent.rules, agent.num_players, agent.view))
    checker.check_model(model, full_check=True)
    return model


def compare(agent: PolicyAgent, other: OnnxAgent, positions: int) -> float:
    """The largest difference of a legal logit, relative to the largest one of its position.

    Infinity if `other` gives a finite logit to an illegal action, or chooses one.
    """
    worst = 0.0
    for rows in games(agent.rules, agent.num_players, positions):
        every = np.arange(len(rows))
        observations, masks, _ = look(agent.rules, agent.num_players, rows, every, agent.view)
        expected = np.empty(masks.shape, np.float32)
        run_layers(agent.weights, np.array(agent.layer_sizes), observations, expected)
        found, actions = other.run(observations, masks)
        legal = masks == 1
        if np.isfinite(found[~legal]).any() or not legal[np.arange(len(rows)), actions].all():
            return float("inf")
        largest = np.abs(np.where(legal, expected, 1)).max(axis=1, keepdims=True)
        worst = max(worst, float((np.abs(found - expected) / largest)[legal].max()))
    return worst


def games(rules: Rules, num_players: int, positions: int) -> Iterator[np.ndarray]:
    """Rows of games played by random and strong policies in turn; at least that many in all."""
    batch = Batch(min(positions, 256), rules, num_players=num_players)
    actions = np.zeros(batch.num_games, np.int64)
    batch.reset(0)
    for _ in range(0, positions, batch.num_games):
        yield batch.rows.copy()
        for policy in (Policy.GREEDY, Policy.RANDOM_UNO, Policy.STRONG):
            batch.act(policy, actions)
            batch.step(actions)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    about = help_text(__file__)
    options = tyro.cli(Options, prog=program_name("export"), args=arguments, description=about)
    try:
        if options.positions < 1:
            raise AgentError(f"--positions is {options.positions}; expected 1 or more")
        agent = load(options.agent)
        if not isinstance(agent, PolicyAgent):
            raise AgentError(
                f"agent {options.agent!r} is no trained network; name one of "
                f"{', '.join(networks())}, or the folder of a run"
            )
        difference = export(agent, options.file, options.positions)
    except (AgentError, files.FileError) as error:
        print_error("export", error)
        return 2
    size = options.file.stat().st_size / 1e6
    print(
        f"Written: {options.file} ({size:.1f} MB; {agent.rules.name}, {agent.num_players} players, "
        f"{agent.view} view)"
    )
    print(
        f"On {options.positions:,} positions of games its logits differ by at most "
        f"{difference:.1e} of the largest."
    )
    return 0
