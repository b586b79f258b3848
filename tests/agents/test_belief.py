"""The belief network: better than the rules of inference, and trained by a command that works."""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pocket_uno_env import Rules
from pocket_uno_env.agents import AgentError
from pocket_uno_env.agents.search.belief import Network, write_network_weights
from pocket_uno_env.agents.search.belief_network import load, shipped
from pocket_uno_env.agents.search.determinize import log_likelihood, new_unseen
from pocket_uno_env.compiled.kernel import kernel
from pocket_uno_env.rules.phases import Phase
from pocket_uno_env.training import belief
from pocket_uno_env.training.belief import describe

POCKET = Rules.preset("pocket")


@kernel
def _likelihoods(rules, rows, network, unseen, positions, out):
    """What the network gives to the hand held, in every row; and the rows as positions."""
    counts = np.zeros((3, 4 + rules[0].n_faces), np.float32)
    for i in range(rows.shape[0]):
        seat = np.int64(rows[i].to_act)
        describe(rules[0], rows[i], seat, 1 - seat, 0.9, counts, unseen, positions, i)
        write_network_weights(rules[0], rows[i], seat, network, unseen.weights)
        out[i] = log_likelihood(rules[0], rows[i], seat, 1 - seat, unseen)


@pytest.mark.parametrize("policy", ["strong", "greedy"])
def test_the_shipped_network_knows_more_than_the_rules_of_inference(policy: str) -> None:
    network = load(shipped(POCKET), POCKET)
    games = belief.Games(POCKET, (2,), (policy,), 99, 1024)
    positions = belief.new_positions(POCKET, 1024)
    for _ in range(12):
        games.fill(positions)
    learned = by_torch(network, positions)
    mean, half = belief.mean_difference(learned, positions.by_rules)
    assert mean - half > 0.15
    mean, half = belief.mean_difference(positions.by_rules, positions.uniform)
    assert mean - half > 0.2


def by_torch(network: Network, positions: Any) -> np.ndarray:
    """The log-likelihoods of `positions`, computed as in training."""
    torch = pytest.importorskip("torch")
    table, card, bias, second, second_bias, out = map(torch.from_numpy, network)
    parts = [torch.from_numpy(array) for array in positions[:5]]
    first = (parts[0] @ table + bias)[:, None] + parts[1] @ card
    logits = (first.relu() @ second + second_bias).relu() @ out
    return np.asarray(belief._likelihood(logits, *parts[2:]))


def test_the_compiled_network_is_the_one_that_was_trained() -> None:
    network = load(shipped(POCKET), POCKET)
    games = belief.Games(POCKET, (2,), ("strong",), 5, 64)
    games.fill(belief.new_positions(POCKET, 64))
    rows = games._rows[games._rows["phase"] == Phase.PLAY]
    positions, found = belief.new_positions(POCKET, len(rows)), np.zeros(len(rows))
    _likelihoods(POCKET._table, rows, network, new_unseen(), positions, found)
    assert len(rows) > 20 and by_torch(network, positions) == pytest.approx(found, abs=1e-3)


def test_the_likelihood_sums_to_one_over_all_hands() -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    logits, valid = rng.normal(size=6), np.array([1, 1, 1, 0, 1, 1.0])
    total = 0.0
    for hand in itertools.combinations([0, 1, 2, 4, 5], 3):
        held = np.zeros(6)
        held[list(hand)] = 1
        parts = [torch.from_numpy(a[None]) for a in (logits, held, valid)]
        total += float(belief._likelihood(*parts, torch.tensor([3])).exp())
    assert total == pytest.approx(1.0)


def test_training_writes_a_network_and_its_card(tmp_path: Path, monkeypatch: Any) -> None:
    pytest.importorskip("torch")
    out = tmp_path / "small"
    command = (
        "belief --batches 30 --batch-size 128 --hidden 8 --test-positions 256 --policies strong"
    )
    monkeypatch.setattr(sys, "argv", [*command.split(), "--out", str(out)])
    assert belief.main() == 0
    card = json.loads(out.with_suffix(".json").read_text())
    assert card["log_likelihood"]["strong"]["network over uniform"][0] > 0
    network = load(out, POCKET)
    assert network.second.shape == (8, 8)
    with pytest.raises(AgentError, match="other cards"):
        load(out, Rules.preset("classic"))


def test_what_is_wrong_with_a_training_is_said(monkeypatch: Any, capsys: Any) -> None:
    pytest.importorskip("torch")
    for options, words in ((["--policies", "nobody"], "nobody"), (["--rules", "nope"], "nope")):
        monkeypatch.setattr(sys, "argv", ["belief", *options])
        assert belief.main() == 2
        assert words in capsys.readouterr().err


def test_a_missing_network_is_named(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match="nothing"):
        load(tmp_path / "nothing", POCKET)
    assert shipped(Rules.preset("mini")) is None
