"""A trained network in an ONNX file as an agent: played by onnxruntime, without PyTorch.

The file is one that ``pocket-uno export`` wrote. Its metadata say which game it plays and how
its inputs are laid out, so that a file that does not fit is refused and not misread.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from pocket_uno_env.agents.agent import Agent, AgentError
from pocket_uno_env.arguments import excerpt
from pocket_uno_env.files import FileError, parse_json, read_file
from pocket_uno_env.observation.blocks import layout
from pocket_uno_env.observation.canonical import VIEWS, color_tables, plain_actions
from pocket_uno_env.rules.actions import catalogue
from pocket_uno_env.rules.rules import Rules, RulesError

from .policy import check_game, look

FORMAT = "pocket-uno-onnx/1"
INPUTS = ("observation", "action_mask")
OUTPUTS = ("logits", "action")
FIELDS = ("rules", "num_players", "observation", "actions")
"""The metadata in JSON."""
LONGEST = 1 << 28
"""The most bytes of a file."""


def metadata(rules: Rules, num_players: int, view: str) -> dict[str, str]:
    """What a file says about itself; all but the format and the view in JSON.

    ``rules`` and ``num_players`` are the game, ``view`` is `canonical` or plain. ``observation``
    lists the blocks of the observation by name, start and length, ``actions`` the names of the
    actions by id.
    """
    blocks = [[block.name, block.start, block.length] for block in layout(rules, num_players)]
    return {
        "format": FORMAT,
        "view": view,
        "rules": json.dumps(rules.to_dict()),
        "num_players": json.dumps(num_players),
        "observation": json.dumps(blocks),
        "actions": json.dumps(catalogue(rules).names),
    }


class OnnxAgent(Agent):
    """The likeliest action of the policy in an ONNX file.

    Parameters
    ----------
    path : str or Path

    Attributes
    ----------
    rules, num_players, view
        What the network was trained for.
    data : uint8 array
        The file, byte by byte.

    Raises
    ------
    AgentError
        When the file cannot be read, is not ours, or is for another version of the observation.
    """

    deterministic = True

    def __init__(self, path: str | Path) -> None:
        self.name = f"onnx:{path}"
        try:
            data = read_file(Path(path), LONGEST)
        except FileError as error:
            raise AgentError(str(error)) from error
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # the network is small, and others play at the same time
        options.log_severity_level = 4  # what is wrong with a file is said once, below
        try:
            self._session: Any = onnxruntime.InferenceSession(
                data, options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # onnxruntime's errors have no class in common
            raise AgentError(f"{path} is no ONNX file that onnxruntime can run: {error}") from error
        about = self._session.get_modelmeta().custom_metadata_map
        self.rules, self.num_players, self.view = _game(about, str(path))
        self._check_shapes(str(path))
        self._try(str(path))
        self.data = np.frombuffer(data, np.uint8)

    def _check_shapes(self, path: str) -> None:
        size = layout(self.rules, self.num_players)[-1].slice.stop
        n_actions = len(catalogue(self.rules))
        inputs, outputs = (
            {one.name: (one.type, one.shape[1:]) for one in side}
            for side in (self._session.get_inputs(), self._session.get_outputs())
        )
        expected_inputs = {
            INPUTS[0]: ("tensor(float)", [size]),
            INPUTS[1]: ("tensor(int8)", [n_actions]),
        }
        expected_outputs = {
            OUTPUTS[0]: ("tensor(float)", [n_actions]),
            OUTPUTS[1]: ("tensor(int64)", []),
        }
        if (inputs, outputs) != (expected_inputs, expected_outputs):
            raise AgentError(
                f"{path} has the inputs {inputs} and the outputs {outputs}; expected "
                f"{expected_inputs} and {expected_outputs}"
            )
        for one in (*self._session.get_inputs(), *self._session.get_outputs()):
            if not one.shape or isinstance(one.shape[0], int):
                raise AgentError(
                    f"{path} does not take any number of positions: {one.name!r} has the shape "
                    f"{one.shape}, expected a first dimension with a name; export the network again"
                )

    def _try(self, path: str) -> None:
        """Refuse a network that does not do what its inputs and outputs promise."""
        size = layout(self.rules, self.num_players)[-1].slice.stop
        n_actions = len(catalogue(self.rules))
        masks = np.eye(n_actions, dtype=np.int8)  # in each line one action is legal
        observations = np.ones((n_actions, size), np.float32)
        try:
            logits, actions = self.run(observations, masks)
        except Exception as error:  # onnxruntime's errors have no class in common
            raise AgentError(f"onnxruntime cannot run {path}: {error}") from error
        legal = np.diagonal(logits) if logits.shape == masks.shape else np.array([np.nan])
        if not np.isfinite(legal).all():
            raise AgentError(f"{path} gives logits that are no finite numbers")
        if not np.array_equal(actions, np.arange(n_actions)):
            raise AgentError(f"{path} chooses actions that its mask forbids")

    def check(self, rules: Rules, num_players: int) -> None:
        """Refuse cards, decisions or a number of players other than those of the training."""
        check_game(self.name, self.rules, self.num_players, rules, num_players)

    def run(self, observations: np.ndarray, masks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The network as it is, in the view that it was trained with.

        Parameters
        ----------
        observations : float32 array, shape ``(m, observation_size)``
        masks : int8 array, shape ``(m, n_actions)``, at least one 1 in each line

        Returns
        -------
        logits : float32 array, shape ``(m, n_actions)``, minus infinity for what is not legal
        actions : int64 array, shape ``(m,)``, the likeliest
        """
        logits, actions = self._session.run(
            OUTPUTS, dict(zip(INPUTS, (observations, masks), strict=True))
        )
        return logits, actions

    def act_rows(self, rules: Rules, rows: np.ndarray, index: np.ndarray) -> np.ndarray:
        """See `Agent.act_rows`."""
        observations, masks, orders = look(rules, self.num_players, rows, index, self.view)
        _, actions = self.run(observations, masks)
        if self.view == "canonical":
            tables = color_tables(rules, self.num_players)
            plain_actions(tables, orders, actions.copy(), actions)
        return actions


def _game(about: dict[str, str], path: str) -> tuple[Rules, int, str]:
    """Rules, players and view by the metadata; AgentError if they are not ours or not of now."""
    if about.get("format") != FORMAT:
        raise AgentError(
            f"{path} has the format {excerpt(about.get('format'))}; expected {FORMAT!r}, a network "
            "that `pocket-uno export` wrote"
        )
    view = about.get("view")
    if view not in VIEWS:
        raise AgentError(f"{path} has the view {excerpt(view)}; expected one of {VIEWS}")
    try:
        fields = {key: parse_json(about.get(key, ""), key) for key in FIELDS}
        rules = Rules.from_dict(fields["rules"])
        players = rules.check_players(fields["num_players"])
    except (FileError, RulesError) as error:
        raise AgentError(f"the metadata of {path} are damaged: {error}") from error
    expected = metadata(rules, players, view)
    for key in ("observation", "actions"):
        if fields[key] != json.loads(expected[key]):
            raise AgentError(
                f"{path} was written for another {key} layout than this version has; export the "
                "network again"
            )
    return rules, players, view
