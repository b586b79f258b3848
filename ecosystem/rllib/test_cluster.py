"""Training on a cluster of two nodes; checkpoints as agents, and as they are resumed."""

import json
import time

import numpy as np
import pytest
import ray
import torch
from programs import run_example, run_page
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from rllib_batch import config

from pocket_uno_env.agents import AgentError, load
from pocket_uno_env.agents.trained.rllib_checkpoint import export
from pocket_uno_env.batch import Batch
from pocket_uno_env.envs.rllib_batch import as_input
from pocket_uno_env.evaluation.arena import play
from pocket_uno_env.observation.canonical import color_tables, to_view

PLAYERS, BATCH = 3, 4096
LIFETIME = ("env_runners", "num_env_steps_sampled_lifetime")


@pytest.fixture(scope="module")
def trained(cluster, tmp_path_factory):
    """A training on both nodes, one of whose workers was killed on the way; its checkpoint."""
    folder = tmp_path_factory.mktemp("rllib") / "checkpoint"
    settings = config("pocket", PLAYERS, env_runners=2, learners=0, games=64, seed=1)
    settings.env_runners(custom_resources_per_env_runner={"place": 1})  # one on each node
    algorithm = settings.training(train_batch_size_per_learner=BATCH).build_algo()
    group = algorithm.env_runner_group
    nodes = group.foreach_env_runner(
        lambda runner: ray.get_runtime_context().get_node_id(), local_env_runner=False
    )
    assert len(set(nodes)) == 2
    made = [algorithm.train()["env_runners"]["num_env_steps_sampled"] for _ in range(4)]
    ray.kill(group._worker_manager.actors()[1], no_restart=False)
    deadline = time.monotonic() + 120
    made.append(algorithm.train()["env_runners"]["num_env_steps_sampled"])
    while group.num_healthy_remote_env_runners() < 2:
        assert time.monotonic() < deadline, "the worker that was killed did not come back"
        made.append(algorithm.train()["env_runners"]["num_env_steps_sampled"])
    results = algorithm.train()["env_runners"]
    assert {*made, results["num_env_steps_sampled"]} == {BATCH}
    assert set(results["agent_episode_returns_mean"]) >= {"player_0", "player_1", "player_2"}
    algorithm.save_to_path(str(folder))
    yield algorithm, folder
    algorithm.stop()


def test_the_checkpoint_plays_as_the_network_does(trained):
    algorithm, folder = trained
    agent = load(f"rllib:{folder}")
    assert (agent.num_players, agent.view, agent.rules.name) == (PLAYERS, "canonical", "pocket")
    batch = Batch(64, "pocket", PLAYERS)
    masks = np.zeros((64, batch.n_actions), np.int8)
    seen = np.zeros((64, batch.observation_size), np.uint8)
    actions = np.zeros(64, np.int64)
    batch.reset(7, masks)
    every, module = np.arange(64), algorithm.get_module()
    for _ in range(20):
        log_probs = agent.log_probs(agent.rules, batch.rows, every)
        actions[:] = agent.act_rows(agent.rules, batch.rows, every)
        assert (masks[every, actions] == 1).all()
        batch.step(actions, masks, seen)
    log_probs = agent.log_probs(agent.rules, batch.rows, every)
    orders = np.zeros((64, batch.rules.colors), np.int64)
    viewed = masks.copy()
    to_view(color_tables(agent.rules, PLAYERS), seen, viewed, orders)
    with torch.no_grad():
        found = module.forward_inference({Columns.OBS: as_input(seen, viewed, "cpu")})
    best = found[Columns.ACTION_DIST_INPUTS].log_softmax(1).max(1).values.numpy()
    # The observations in bytes are rounded.
    assert np.allclose(log_probs.max(1), best, atol=0.1) and best.std() > 0.05


def test_it_beats_random_and_the_run_that_is_made_of_it_is_the_same_agent(trained, tmp_path):
    _, folder = trained
    run = export(folder, tmp_path / "run")
    agent, again = load(f"rllib:{folder}"), load(str(run))
    assert np.array_equal(agent.weights, again.weights) and agent.view == again.view
    for one, other in zip(agent._critic, again._critic, strict=True):
        assert all(map(np.array_equal, one, other))
    (games,) = play(agent.rules, PLAYERS, [again, load("random")], 100, 3, lineups=[(0, 1, 1)])
    assert games.win_rates(0).mean() > 0.6  # a third is an even game
    config = json.loads((run / "config.json").read_text())
    assert config["network"]["layers"][1:-1] == [256, 256]


def test_a_restored_training_goes_on_where_it_was(trained):
    algorithm, folder = trained
    settings = config("pocket", PLAYERS, env_runners=1, learners=0, games=64, seed=1)
    again = settings.training(train_batch_size_per_learner=BATCH).build_algo()
    again.restore_from_path(str(folder))
    for mine, theirs in zip(
        again.get_module().state_dict().values(),
        algorithm.get_module().state_dict().values(),
        strict=True,
    ):
        assert torch.equal(mine, theirs)
    before = algorithm.metrics.peek(LIFETIME)
    assert again.train()["env_runners"]["num_env_steps_sampled_lifetime"] == before + BATCH
    again.stop()


def test_several_learners_agree(cluster):
    """Each gets its share of the fragments, and all have the same weights after it."""
    settings = config("pocket", 2, env_runners=2, learners=2, games=64, seed=2)
    algorithm = settings.training(train_batch_size_per_learner=4096).build_algo()
    found = algorithm.train()
    assert found["env_runners"]["num_env_steps_sampled"] == 2 * 4096
    states = algorithm.learner_group.foreach_learner(
        lambda learner: learner.module[DEFAULT_MODULE_ID].unwrapped().get_state()
    )
    one, other = (state.get() for state in states)
    assert one.keys() == other.keys()
    assert all(np.array_equal(one[name], other[name]) for name in one)
    algorithm.stop()


def test_an_agent_of_another_game_is_refused(trained):
    _, folder = trained
    agent = load(f"rllib:{folder}")
    with pytest.raises(AgentError, match="3 players"):
        agent.check(agent.rules, 2)


def test_the_example_on_the_batch_can_be_resumed(cluster, monkeypatch, tmp_path):
    monkeypatch.setenv("RAY_ADDRESS", cluster)
    out = str(tmp_path / "out")
    few = ["--games", "32", "--out", out]
    printed = run_example("rllib_batch", *few, "--steps", "16384", folder=tmp_path)
    assert "--agents rllib:" in printed
    run_example("rllib_batch", *few, "--steps", "30000", "--resume", folder=tmp_path)
    saved = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert saved == ["step-000000016384", "step-000000032768"]
    assert load(f"rllib:{tmp_path / 'out' / saved[-1]}").num_players == 2


def test_the_example_on_pettingzoo_makes_an_agent(cluster, monkeypatch, tmp_path):
    monkeypatch.setenv("RAY_ADDRESS", cluster)
    out = tmp_path / "out"
    options = ["--steps", "2000", "--num-players", "4", "--out", str(out)]
    printed = run_example("rllib_pettingzoo", *options, folder=tmp_path)
    assert f"rllib:{out} random --num-players 4" in printed
    assert load(f"rllib:{out}").num_players == 4


def test_the_page_runs(cluster, monkeypatch, tmp_path):
    monkeypatch.setenv("RAY_ADDRESS", cluster)
    run_page("rllib", folder=tmp_path)
