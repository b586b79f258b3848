"""train.py from the command line: what it writes, that it repeats itself, that nothing is lost."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file
from training_runs import ROOT, SMALL, run, start, train

from pocket_uno_env import Rules
from pocket_uno_env.agents import AgentError, load
from pocket_uno_env.agents.trained import run_folder
from pocket_uno_env.agents.trained.policy import load_policy
from pocket_uno_env.engine.state import new_rows
from pocket_uno_env.envs.sb3 import LearnerVecEnv
from pocket_uno_env.evaluation.arena import play
from pocket_uno_env.rows import reset_rows
from pocket_uno_env.training.final_evaluation import SEED


def weights_of(folder):
    return load_file(folder / run_folder.MODEL)


def same_weights(one, two):
    a, b = weights_of(one), weights_of(two)
    return set(a) == set(b) and all(np.array_equal(a[name], b[name]) for name in a)


def wait_for_checkpoint(process, folder, count):
    for _ in range(1200):
        if len(run_folder.checkpoints(folder)) >= count:
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    raise AssertionError("no checkpoint appeared")


EVERYTHING = [
    *("--num-players", "3", "--opponents", "greedy", "strong", "--critic", "all-hands"),
    *("--self-play", "0.5", "--pool", "2", "--pool-every", "3072", "--teacher", "strong"),
    *(
        "--teacher-steps",
        "16384",
        "--lookahead-steps",
        "12288",
        "--entropy",
        "0.05",
        "--last-learning-rate",
        "1e-4",
    ),
]
"""What comes before PPO, a pool that gives copies up, the critic that sees all hands."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run to its end, without interruption."""
    return run(tmp_path_factory.mktemp("runs") / "whole", "--steps", 20_000)


# From the command line.


@pytest.mark.slow
def test_a_run_from_the_command_line_to_the_table(tmp_path):
    out = tmp_path / "run"
    process = start(
        *SMALL, "--steps", 4096, "--deals", 40, "--opponents", "greedy", "random", "--out", out
    )
    stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 0, stderr
    assert "training: 4,096 of 4,096" in stderr
    assert str(out / run_folder.MODEL) in stdout and "evaluate.py --agents" in stdout
    assert all(len(line) <= 80 for line in stdout.splitlines() if str(out) not in line)
    for opponent in ("greedy", "random"):
        assert opponent in stdout
    results = json.loads((out / run_folder.RESULTS).read_text())
    assert [line["agents"][1] for line in results["line_ups"]] == ["greedy", "random", "strong"]
    assert results["episode"] == "match" and "ppo_gain" not in results
    assert list(out.glob("events.out.tfevents.*"))
    assert not list(out.rglob("*.pkl")) and not list(out.rglob("*.zip"))


def test_what_ppo_gained_is_shown_on_the_same_deals(tmp_path, capsys):
    out = run(tmp_path / "run", "--teacher", "strong", "--teacher-steps", 4096, "--steps", 0)
    before = load_policy(out)
    out = tmp_path / "further"
    shown = ["--teacher", "strong", "--teacher-steps", 4096, "--steps", 2048, "--deals", 8]
    run(out, *shown)
    kept = load_policy(out / run_folder.BEFORE_PPO)
    assert np.array_equal(kept.weights, before.weights)
    assert not np.array_equal(kept.weights, load_policy(out).weights)
    gains = json.loads((out / run_folder.RESULTS).read_text())["ppo_gain"]
    assert set(gains) == {"greedy", "strong"}
    lineups = [(0, 2), (1, 2)]
    agents = [load_policy(out), kept, load("strong")]
    after, without = play("pocket", 2, agents, 8, SEED, lineups=lineups, episode="match")
    gain = (after.win_rates(0) - without.win_rates(1)).mean()
    assert gains["strong"]["mean"] == pytest.approx(gain)
    said = " ".join(capsys.readouterr().out.split())
    assert f"{100 * gain:+.1f} against strong (" in said


@pytest.mark.slow
def test_help_explains_every_option_within_80_columns():
    stdout, stderr = start("--help").communicate(timeout=60)
    assert not stderr
    assert all(len(line) <= 80 for line in stdout.splitlines())
    for name in vars(train.Settings()):
        assert f"--{name.replace('_', '-')}" in stdout
    described = stdout.replace("\n", " ")
    assert "The learner's decisions in PPO" in described


@pytest.mark.slow
def test_killed_at_any_moment_a_run_goes_on_to_the_same_weights(tmp_path, whole):
    out = tmp_path / "killed"
    process = start(*SMALL, "--steps", 20_000, "--out", out)
    wait_for_checkpoint(process, out, 2)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not (out / run_folder.MODEL).exists()
    with pytest.raises(AgentError, match="not finished"):
        load(str(out))
    assert load(str(run_folder.checkpoints(out)[-1])).num_players == 2
    assert train.main(["--resume", str(out)]) == 0
    assert same_weights(out, whole)


@pytest.mark.slow
def test_killed_in_its_lesson_and_again_with_a_pool_a_run_goes_on_all_the_same(tmp_path):
    expected = run(tmp_path / "whole", *EVERYTHING, "--steps", 20_000)
    out = tmp_path / "killed"
    process = start(*SMALL, *EVERYTHING, "--steps", 20_000, "--out", out)
    wait_for_checkpoint(process, out, 2)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    (*_, newest) = run_folder.checkpoints(out)
    assert run_folder.load_tensors(newest)[1]["taught"] >= 2048
    process = start("--resume", out)
    for _ in range(1200):
        newest = run_folder.checkpoints(out)[-1].stem
        if newest.startswith("step-") and int(newest.removeprefix("step-")) > 9000:
            break
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not (out / run_folder.MODEL).exists()
    assert train.main(["--resume", str(out)]) == 0
    assert same_weights(out, expected)
    ends = [load_file(run_folder.checkpoints(folder)[-1]) for folder in (out, expected)]
    assert same_arrays(*ends) and (ends[0]["env.pool.steps"] > 0).all()


@pytest.mark.slow
def test_ctrl_c_saves_and_says_how_to_go_on(tmp_path, whole):
    out = tmp_path / "stopped"
    process = start(*SMALL, "--steps", 20_000, "--out", out, "--checkpoint-every", 10**9)
    wait_for_checkpoint(process, out, 1)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"--resume {out}" in stderr and "Traceback" not in stderr
    saved = run_folder.checkpoints(out)
    assert len(saved) == 2 or int(saved[0].stem.split("-")[1]) == 0
    assert train.main(["--resume", str(out)]) == 0
    assert same_weights(out, whole)


@pytest.mark.slow
def test_ctrl_c_in_the_lesson_saves_too(tmp_path):
    out = tmp_path / "stopped"
    process = start(*SMALL, "--teacher", "greedy", "--teacher-steps", 10**9, "--out", out)
    wait_for_checkpoint(process, out, 1)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"--resume {out}" in stderr and "Traceback" not in stderr
    assert run_folder.load_tensors(run_folder.checkpoints(out)[-1])[1]["taught"] % 1024 == 0


# Within this process.


def test_the_same_seed_gives_the_same_weights(tmp_path, whole):
    assert same_weights(run(tmp_path / "again", "--steps", 20_000), whole)
    other = run(tmp_path / "other", "--steps", 20_000, "--seed", 4)
    assert not same_weights(other, whole)


def test_imitation_repeats_itself_too(tmp_path):
    options = ["--steps", 4096, "--teacher", "greedy", "--teacher-steps", 4096]
    one, two = (run(tmp_path / name, *options) for name in ("one", "two"))
    assert same_weights(one, two)
    assert not same_weights(one, run(tmp_path / "three", "--steps", 4096))


def test_config_says_everything(whole):
    config = json.loads((whole / run_folder.CONFIG).read_text())
    assert config["format"] == run_folder.FORMAT
    assert Rules.from_dict(config["rules"]) == Rules.preset("pocket")
    assert config["num_players"] == 2
    assert config["network"] == {"layers": [338, 32, 16, 123], "activation": "relu"}
    assert config["settings"]["precision"] in ("float32", "bfloat16")
    assert config["settings"]["steps"] == 20_000 and config["settings"]["seed"] == 3
    assert set(config["settings"]) == set(vars(train.Settings())) - {"out", "resume", "trust"}
    assert {"pocket_uno_env", "torch", "sb3-contrib", "numba"} <= set(config["versions"])


def test_only_the_newest_checkpoints_are_kept(whole):
    saved = run_folder.checkpoints(whole)
    assert len(saved) == 3
    assert not list(whole.rglob("*.part"))
    assert same_arrays(load_file(saved[-1]), weights_of(whole))


def same_arrays(found, expected):
    return all(np.array_equal(found[name], array) for name, array in expected.items())


def test_a_finished_run_can_be_made_longer(tmp_path, capsys):
    out = run(tmp_path / "run", "--steps", 2048)
    before = weights_of(out)
    assert train.main(["--resume", str(out)]) == 2
    assert "--steps" in capsys.readouterr().err
    assert train.main(["--resume", str(out), "--steps", "6000"]) == 0
    assert run_folder.load_tensors(run_folder.checkpoints(out)[-1])[1]["steps"] == 6144
    assert not same_arrays(before, weights_of(out))


def test_a_run_killed_before_its_model_was_written_gets_it(tmp_path):
    out = run(tmp_path / "run", "--steps", 2048)
    before = weights_of(out)
    (out / run_folder.MODEL).unlink()
    assert train.main(["--resume", str(out)]) == 0
    assert same_arrays(before, weights_of(out))


def test_a_run_without_a_checkpoint_begins_again(tmp_path):
    out = run(tmp_path / "run", "--steps", 2048)
    before = weights_of(out)
    for path in [*run_folder.checkpoints(out), out / run_folder.MODEL]:
        path.unlink()
    assert train.main(["--resume", str(out)]) == 0
    assert same_arrays(before, weights_of(out))


ROUNDS = ["--reward", "win", "--rules"]
"""Any rules: for matches their equity has to be known."""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rules", "poket"], "poket"),
        (["--num-players", "9"], "num_players is 9"),
        (["--opponents", "gredy"], "greedy"),
        (["--teacher", "gredy"], "greedy"),
        (["--num-players", "4", "--teacher", "pocket-2p"], "num_players=4, not 2"),
        (["--rules", "classic", "--teacher", "pocket-2p"], "other symbols"),
        ([*ROUNDS, "pocket51", "--teacher", "noisy:0.1,pocket-2p"], "other wild_copies"),
        ([*ROUNDS, "mini", "--teacher", "search:2,policy=pocket-2p"], "colors=2, not 4"),
        (["--rules", "pocket51"], "pocket-uno equity --measure --rules pocket51 --num-players 2"),
        (["--rules", "mini"], "or train for rounds with --reward win"),
        (["--num-players", "3", "--opponents", "greedy", "pocket-2p"], "num_players=3, not 2"),
        (["--rules", "classic", "--opponents", "search:2,policy=pocket-2p"], "other symbols"),
        (["--batch-size", "100"], "batch"),
        (["--steps", "-1"], "--steps"),
        (["--lookahead-steps", "-1"], "--lookahead-steps"),
        (["--epochs", "-1"], "--epochs"),
        (["--critic-network", "64", "0"], "--critic-network"),
        (["--resume", "nowhere"], "no training run"),
    ],
)
def test_settings_that_make_no_run(arguments, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert train.main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("pocket-uno train: error: ") and message in error
    assert not list(tmp_path.iterdir())


def test_a_folder_in_use_is_left_alone(whole, tmp_path, capsys):
    before = weights_of(whole)
    assert train.main([*SMALL, "--out", str(whole)]) == 2
    error = capsys.readouterr().err
    assert "not empty" in error and f"--resume {whole}" in error
    assert same_arrays(before, weights_of(whole))
    (tmp_path / "notes.txt").write_text("mine")
    assert train.main([*SMALL, "--out", str(tmp_path)]) == 2
    assert "not empty" in capsys.readouterr().err


def test_settings_stay_when_a_run_is_resumed(whole, capsys):
    assert train.main(["--resume", str(whole), "--learning-rate", "0.5"]) == 2
    assert "--learning-rate cannot be changed" in capsys.readouterr().err
    assert train.main(["--resume", str(whole), "--out", "elsewhere"]) == 2
    assert "--out cannot be changed" in capsys.readouterr().err


def test_without_out_each_run_gets_a_new_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = [run_folder.new_folder(None, "pocket", 2) for _ in range(3)]
    assert [str(path) for path in made] == [f"runs/pocket-2p-{i}" for i in (1, 2, 3)]
    assert all(path.is_dir() for path in made)


def test_a_damaged_checkpoint_is_passed_over_for_the_one_before(tmp_path, whole, capsys):
    out = run(tmp_path / "run", "--steps", 20_000)
    (out / run_folder.MODEL).unlink()
    *others, newest = run_folder.checkpoints(out)
    newest.write_bytes(newest.read_bytes()[:-1000])
    assert train.main(["--resume", str(out)]) == 0
    error = " ".join(capsys.readouterr().err.split())
    assert f"Passed over: cannot read {newest}" in error and f"from {others[-1]}" in error
    assert same_weights(out, whole)
    for path in run_folder.checkpoints(out):
        path.write_bytes(b"")
    (out / run_folder.MODEL).unlink()
    assert train.main(["--resume", str(out)]) == 2
    assert "no checkpoint" in capsys.readouterr().err


def test_the_file_of_a_run_that_was_interrupted_is_the_same(tmp_path, whole):
    """Byte by byte: how long it took stands in the configuration."""
    out = run(tmp_path / "short", "--steps", 20_000)
    for path in run_folder.checkpoints(out)[1:]:
        path.unlink()
    (out / run_folder.MODEL).unlink()
    assert train.main(["--resume", str(out)]) == 0
    assert (out / run_folder.MODEL).read_bytes() == (whole / run_folder.MODEL).read_bytes()
    made = json.loads((out / run_folder.CONFIG).read_text())["made"]
    assert made["steps"] >= 20_000 and made["seconds"] > 0 and made["processor_seconds"] > 0


def test_what_comes_before_ppo_may_be_all(tmp_path, capsys):
    options = ["--teacher", "strong", "--teacher-steps", 4096, "--lookahead-steps", 4096]
    options = ["--critic-network", 24, *options]
    out = run(tmp_path / "run", "--steps", 0, *options)
    assert load(str(out)).layer_sizes == (338, 32, 16, 123)
    assert weights_of(out)["value.0.weight"].shape[0] == 24
    longer = run(tmp_path / "longer", "--steps", 0, *options[:-1], 8192)
    assert not same_weights(out, longer)
    assert train.main(["--resume", str(out)]) == 2
    assert "0 steps; train longer with --steps" in capsys.readouterr().err


# The trained agent.


@pytest.mark.parametrize("view", ["plain", "canonical"])
@pytest.mark.parametrize(("rules", "num_players"), [("pocket", 2), ("classic", 3)])
def test_the_agent_acts_as_the_trained_model(rules, num_players, view):
    from pocket_uno_env.training.networks import as_agent
    from pocket_uno_env.training.ppo import linear_schedule, make_model

    env = LearnerVecEnv(200, rules, num_players, ["random"], view=view, seed=0)
    model = make_model(
        env,
        visible=env.observation_space.shape[0],
        network=(64, 32),
        learning_rate=linear_schedule(1e-2, 0),
        bfloat16=False,
        seed=0,
        n_steps=8,
        batch_size=400,
    )
    model.learn(1600)
    agent = as_agent(model, "mine")
    observations = env.reset()
    for _ in range(10):
        said, _ = model.predict(observations, deterministic=True, action_masks=env.action_masks())
        asked = env.ask(agent)
        logits = model.policy.logits(torch.from_numpy(observations)).detach().numpy()
        one, other = (np.take_along_axis(logits, a[:, None], 1) for a in (said, asked))
        assert np.abs(one - other).max() < 1e-5  # nearly equal ones may be rounded otherwise
        assert (said != asked).mean() < 0.02
        observations = env.step(said)[0]


def test_a_run_is_loaded_by_its_folder_by_its_file_and_by_name(whole):
    specs = [f"ppo:{whole}", str(whole), str(whole / run_folder.MODEL)]
    agents = [load(spec) for spec in specs]
    assert [agent.name for agent in agents] == specs
    games = [play("pocket", 2, [agent, load("greedy")], 20, 0)[0].winner for agent in agents]
    assert np.array_equal(games[0], games[1]) and np.array_equal(games[0], games[2])


def test_loading_a_run_needs_no_pytorch(whole):
    code = (
        f"import sys; from pocket_uno_env.agents import load; load({str(whole)!r}); "
        "print('torch' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert result.stdout.strip() == "False", result.stderr


def test_sampling_draws_from_the_policy_and_repeats_itself(whole):
    rules = Rules.preset("pocket")
    rows = new_rows(400)
    reset_rows(rules.table, rows, 2, np.uint64(0), np.uint64(0))
    rows[:] = rows[0]  # one position, four hundred dice
    rows["policy_rng"] = np.arange(400, dtype=np.uint64) * np.uint64(2**40 + 1)
    index = np.arange(400)
    agent = load_policy(whole, sample=True)
    drawn = agent.act_rows(rules, rows.copy(), index)
    assert np.array_equal(drawn, agent.act_rows(rules, rows.copy(), index))
    assert np.array_equal(drawn[7:9], agent.act_rows(rules, rows.copy(), index[7:9]))
    likeliest = load_policy(whole).act_rows(rules, rows, index)
    assert len(set(likeliest)) == 1 and len(set(drawn)) > 1


@pytest.mark.parametrize(
    ("rules", "num_players", "message"),
    [
        ("pocket", 3, "num_players=3, not 2"),
        ("classic", 2, "rules 'classic' has other symbols, and other wild_copies"),
        ("pocket51", 2, "rules 'pocket51' has other wild_copies"),
    ],
)
def test_an_agent_refuses_what_it_was_not_trained_for(whole, rules, num_players, message):
    with pytest.raises(AgentError, match=message):
        play(rules, num_players, [load(str(whole)), load("greedy")], 1, 0)
    with pytest.raises(AgentError, match=message):
        LearnerVecEnv(2, rules, num_players, [str(whole)])


def test_house_rules_with_the_same_cards_are_accepted(whole):
    rules = Rules.preset("pocket", two_player_reverse="literal")
    assert play(rules, 2, [load(str(whole)), load("greedy")], 2, 0)
    for field, value in (("stacking", "any"), ("seven_zero", True), ("jump_in", True)):
        changed = Rules.preset("pocket", two_player_reverse="literal", **{field: value})
        with pytest.raises(AgentError, match=f"has {field}={value!r}, not False: name an agent"):
            load(str(whole)).check(changed, 2)


def test_a_trained_agent_as_opponent(whole, tmp_path):
    out = run(tmp_path / "pupil", "--steps", 2048, "--opponents", whole, "greedy")
    assert (out / run_folder.MODEL).exists()


def test_broken_runs_are_refused(whole, tmp_path):
    with pytest.raises(AgentError, match="there is no such file or folder"):
        load(str(tmp_path / "nothing"))
    with pytest.raises(AgentError, match=r"config.json is missing"):
        load(str(tmp_path))
    config = json.loads((whole / run_folder.CONFIG).read_text())
    (tmp_path / run_folder.CONFIG).write_text(json.dumps({**config, "format": "other/7"}))
    with pytest.raises(AgentError, match="other/7"):
        load(str(tmp_path))
    (tmp_path / run_folder.CONFIG).write_text(json.dumps(config))
    with pytest.raises(AgentError, match=r"config.json holds no weights; expected the folder"):
        load(str(tmp_path / run_folder.CONFIG))
    with pytest.raises(AgentError, match="cannot read"):
        load(str(tmp_path))
    (tmp_path / run_folder.MODEL).write_bytes(b"\x80\x04nonsense")
    with pytest.raises(AgentError, match="cannot read"):
        load(str(tmp_path))
    save_file({"policy.0.weight": np.zeros((3, 3), np.float32)}, tmp_path / run_folder.MODEL)
    with pytest.raises(AgentError, match="does not hold the network"):
        load(str(tmp_path))
    (tmp_path / run_folder.CONFIG).write_text("{")
    with pytest.raises(AgentError, match="not JSON"):
        load(str(tmp_path))


# Training for long.


def masked_training(steps, tmp_path):
    # An illegal action would raise in the environment.
    run(tmp_path / "long", "--steps", steps, "--opponents", "random", "greedy")


def test_no_illegal_action_in_training(tmp_path):
    masked_training(60_000, tmp_path)


@pytest.mark.soak
def test_no_illegal_action_in_a_million_decisions_of_training(tmp_path):
    masked_training(1_000_000, tmp_path)


def test_a_dangling_link_as_runs_is_one_sentence(tmp_path, monkeypatch):
    """It hung for ever, taking the link for a run that is there already."""
    from pocket_uno_env.agents.trained.run_folder import RunError, new_folder

    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").symlink_to("nowhere")
    with pytest.raises(RunError, match=r"the folder runs: runs is a link to .*nowhere, which"):
        new_folder(None, "pocket", 2)
    (tmp_path / "runs").unlink()
    (tmp_path / "runs").write_text("a file")
    with pytest.raises(RunError, match="cannot make the folder runs: runs is a file"):
        new_folder(None, "pocket", 2)
    (tmp_path / "runs").unlink()
    assert [str(new_folder(None, "pocket", 2)) for _ in range(2)] == [
        "runs/pocket-2p-1",
        "runs/pocket-2p-2",
    ]
