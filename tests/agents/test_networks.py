"""The trained networks that come with the package."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pocket_uno_env import Rules, files
from pocket_uno_env.agents import AgentError, load, names, networks
from pocket_uno_env.agents.registry import NETWORKS, describe, usages
from pocket_uno_env.agents.trained import run_folder
from pocket_uno_env.agents.trained.policy import PolicyAgent, hash_of, load_policy
from pocket_uno_env.envs.sb3 import LearnerVecEnv
from pocket_uno_env.evaluation.arena import play
from pocket_uno_env.training.publish import Options, publish

SHIPPED = [
    *("classic-2p", "classic-4p"),
    *("pocket-2p", "pocket-2p-rounds", "pocket-3p", "pocket-4p", "pocket-5p"),
]


def card(name):
    return json.loads((NETWORKS / f"{name}.json").read_text())


def test_there_is_one_for_each_common_game():
    assert networks() == SHIPPED
    assert not set(networks()) & set(names())
    assert {f"{name}[,sample]" for name in networks()} <= set(usages())


@pytest.mark.parametrize("name", networks())
def test_a_card_says_what_the_weights_are_and_where_they_come_from(name):
    about = card(name)
    game, players, *_ = name.split("-")
    assert Rules.from_dict(about["rules"]) == Rules.preset(game)
    assert about["num_players"] == int(players.removesuffix("p"))
    assert about["seed"] == about["settings"]["seed"]
    assert about["command"].startswith("train.py --")
    assert 0 < about.get("processor_seconds", about["seconds"]) < 2 * 90 * 60
    weights = NETWORKS / f"{name}.safetensors"
    assert about["sha256"] == hash_of(weights)
    assert weights.stat().st_size < 3_000_000
    for rate in about["win_rates"]["against"].values():
        assert 0 < rate["low"] < rate["mean"] < rate["high"] <= 1
    assert about["win_rates"]["deals"] >= 3_000 and about["win_rates"]["episode"] == "match"
    for rate in about["win_rates"]["against"].values():
        rounds = rate["rounds"]
        assert 0 < rounds["low"] < rounds["mean"] < rounds["high"] <= 1
    for length in about["lengths"].values():
        assert length["rounds"] >= 20_000 and length["mean"] < length["longest"]
    assert describe(name)


@pytest.mark.parametrize("name", networks())
def test_it_wins_what_its_card_says(name):
    """On other deals than those of the card; four standard errors are allowed for."""
    agent, about = load(name), card(name)
    assert agent.name == name
    players = about["num_players"]
    how = {"lineups": [line(players)], "episode": "match"}
    (games,) = play(agent.rules, players, [agent, load("greedy")], 200, 77, **how)
    rates = games.win_rates(0)
    expected = about["win_rates"]["against"]["greedy"]
    error = rates.std() / len(rates) ** 0.5
    assert abs(rates.mean() - expected["mean"]) < 4 * error + 0.01
    assert rates.mean() > 1.05 / players


def line(players):
    return (0, *[1] * (players - 1))


def test_it_is_an_opponent_by_its_name():
    env = LearnerVecEnv(4, "pocket", 2, ["pocket-2p", "greedy"], seed=0)
    env.reset()
    for _ in range(20):
        env.step(env.ask(load("pocket-2p")))
    with pytest.raises(AgentError, match="num_players=3, not 2"):
        LearnerVecEnv(4, "pocket", 3, ["pocket-2p"])


def test_a_critic_for_which_there_is_no_room_is_left_out(tmp_path, monkeypatch):
    run = tmp_path / "run"
    run.mkdir()
    tensors, _ = run_folder.load_tensors(NETWORKS / "pocket-2p.safetensors")
    run_folder.save_tensors(run / run_folder.MODEL, tensors)
    made = {"steps": 0, "seconds": 1.0, "processor_seconds": 1.0}
    files.write_json(run / run_folder.CONFIG, {**card("pocket-2p"), "made": made})
    monkeypatch.setattr("pocket_uno_env.training.publish.MOST_BYTES", 2_500_000)
    monkeypatch.setattr("pocket_uno_env.training.publish.ROUNDS", 4)
    publish(Options(run, "again", deals=2, out=tmp_path))
    kept, _ = run_folder.load_tensors(tmp_path / "again.safetensors")
    assert {name.split(".")[0] for name in kept} == {"policy"}
    assert load_policy(tmp_path / "again.safetensors").critic() is None


def test_a_critic_says_one_thing():
    agent = load("pocket-2p")
    for critic in (agent._critic[:-1], []):
        assert PolicyAgent("cut", agent.layers, agent.rules, 2, critic=critic).critic() is None
    assert agent.critic() is not None


def test_publishing_measures_and_writes_weights_and_card(tmp_path, monkeypatch):
    monkeypatch.setattr("pocket_uno_env.training.publish.ROUNDS", 40)
    run = tmp_path / "run"
    run.mkdir()
    about = card("pocket-2p")
    tensors, _ = run_folder.load_tensors(NETWORKS / "pocket-2p.safetensors")
    run_folder.save_tensors(run / run_folder.MODEL, tensors)
    made = {"steps": about["decisions"], "seconds": about["seconds"], "processor_seconds": 1.0}
    files.write_json(run / run_folder.CONFIG, {**about, "made": made})
    path = publish(Options(run, "again", deals=30, out=tmp_path))
    assert path == tmp_path / "again.json"
    found = json.loads(path.read_text())
    assert set(found["win_rates"]["against"]) == {"greedy", "strong"}
    for key in ("rules", "settings", "command", "seconds", "decisions"):
        assert found[key] == about[key]
    kept, _ = run_folder.load_tensors(tmp_path / "again.safetensors")
    assert {name: array.dtype for name, array in kept.items()} == {
        name: np.float32 if name.startswith("policy") else np.float16 for name in tensors
    }
    again = load_policy(tmp_path / "again.safetensors")
    assert np.array_equal(again.weights, load_policy(NETWORKS / "pocket-2p.safetensors").weights)
    assert again.critic() is not None and not again.judges
    (tmp_path / "again.safetensors").write_bytes(b"something else")
    with pytest.raises(AgentError, match="not the file that its card describes"):
        load_policy(tmp_path / "again.safetensors")


def test_layers_that_do_not_fit_each_other_are_refused() -> None:
    def zeros(*shape: int) -> np.ndarray:
        return np.zeros(shape, np.float32)

    pocket = Rules.of("pocket")
    good = [(zeros(64, 338), zeros(64)), (zeros(123, 64), zeros(123))]
    agent = PolicyAgent("mine", good, pocket, 2)
    for wrong in (
        [],
        [(zeros(64, 338), zeros(64)), (zeros(123, 10), zeros(123))],
        [(zeros(64, 338), zeros(64)), (zeros(123, 2000), zeros(123))],
        [(zeros(64, 338), zeros(64, 1)), (zeros(123, 64), zeros(123))],
        [(zeros(338), zeros(64)), (zeros(123, 64), zeros(123))],
    ):
        with pytest.raises(AgentError, match="expected"):
            agent.set_layers(wrong)
        assert agent.layers is good
        with pytest.raises(AgentError, match="expected"):
            PolicyAgent("mine", wrong, pocket, 2)
    with pytest.raises(AgentError, match="view is 'nosuch'"):
        PolicyAgent("mine", good, pocket, 2, view="nosuch")
