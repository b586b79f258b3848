"""Play two checkouts side by side and compare, byte for byte, what users see of them.

    python benchmarks/compare_checkouts.py ../before . --decisions 20000

Each checkout plays by the Python of its own ``.venv``. For all presets, numbers of players and
house rules it hashes observations, masks, full states, rewards, records, saved rows, the choices
of agents, the learner's environments, the weights of a short training and an evaluation's report.
The exit status is 1 when anything differs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PLAY = r'''
import hashlib, importlib, itertools, json, os, subprocess, sys, tempfile
from pathlib import Path
import numpy as np
from pocket_uno_env import Rules, pocket_uno_v0
from pocket_uno_env.agents import load
from pocket_uno_env.batch import Batch

decisions, train = int(sys.argv[1]), sys.argv[2] == "train"
found = {}

def first(*names):
    for name in names:
        module, _, attribute = name.rpartition(".")
        try:
            return getattr(importlib.import_module(module), attribute)
        except ImportError:
            pass
    raise ImportError(names)

Policy = first("pocket_uno_env.agents.scripted.policies.Policy", "pocket_uno_env.scripted.Policy")
LearnerVecEnv = first(
    "pocket_uno_env.envs.sb3.LearnerVecEnv", "pocket_uno_env.sb3_env.LearnerVecEnv")

HOUSE = {
    "stacking": {"stacking": "same"}, "stacking any": {"stacking": "any"},
    "seven zero": {"seven_zero": True}, "jump in": {"jump_in": True},
    "forced play": {"forced_play": True}, "elimination": {"elimination": True},
}
OTHER = {
    "first player": {"opening_wild": "first_player_chooses"},
    "literal reverse": {"two_player_reverse": "literal"},
    "draw until": {"draw_until_playable": True}, "challenge": {"wild_draw_four": "challenge"},
    "by colour": {"challenge_condition": "matching_color"}, "automatic": {"uno_call": "automatic"},
}
CASES = [(name, {}, n) for name, most in
         (("pocket", 5), ("classic", 10), ("pocket51", 5), ("mini", 2)) for n in range(2, most + 1)]
CASES += [(preset, fields, n) for preset in ("pocket", "classic")
          for fields in (*HOUSE.values(), *OTHER.values()) for n in (2, 4)]
CASES += [("classic", {k: v for f in HOUSE.values() for k, v in f.items()}, n) for n in (2, 3, 6)]

def title(preset, fields, n):
    return f"{preset} {n} {fields}"

def note(section, case, count, digest):
    found.setdefault(section, {})[case] = [count, digest.hexdigest()]

def plain(value):
    return json.dumps(value, sort_keys=True, default=lambda v: v.item()).encode()

def aec(preset, fields, n):
    """One game after the other in the PettingZoo environment, random legal play."""
    env = pocket_uno_v0.raw_env(
        rules=Rules.preset(preset, **fields), num_players=n, episode="match", reward="points",
        max_cycles=400, max_rounds=3)
    digest, rng, count, seed = hashlib.sha256(), np.random.default_rng(1), 0, 0
    while count < decisions:
        env.reset(seed=seed)
        seed += 1
        for agent in env.agent_iter():
            observation, reward, terminated, truncated, info = env.last()
            if terminated or truncated:
                env.step(None)
                continue
            mask = observation["action_mask"]
            digest.update(observation["observation"].tobytes() + mask.tobytes())
            digest.update(np.float64(list(env.rewards.values())).tobytes())
            if count % 7 == 0:
                digest.update(env.state().tobytes())
                other = env.possible_agents[count % n]
                digest.update(env.observe(other)["observation"].tobytes())
            env.step(int(rng.choice(np.flatnonzero(mask))))
            count += 1
        digest.update(np.float64(list(env._cumulative_rewards.values())).tobytes())
        record = env.record()
        # A rule that is off changes nothing, and an older checkout does not know its field.
        record["rules"] = {k: v for k, v in record["rules"].items() if v is not False}
        digest.update(plain(record) + plain(env.snapshot()))
    note("PettingZoo: observations, masks, states, rewards, records",
         title(preset, fields, n), count, digest)

def batch(preset, fields, n):
    """Many games at once, in both forms of observations, by random and by strong."""
    rules = Rules.preset(preset, **fields)
    for dtype, policy in itertools.product((np.uint8, np.float32), (Policy.RANDOM, Policy.STRONG)):
        games = Batch(64, rules, n, reward="points", max_cycles=300)
        masks = np.zeros((64, games.n_actions), np.int8)
        seen = np.zeros((64, games.observation_size), dtype)
        actions, ends = np.zeros(64, np.int64), np.zeros(64, np.uint8)
        payoffs = np.zeros((64, n), np.float32)
        digest, count = hashlib.sha256(), 0
        games.reset(5, masks, seen)
        while count < decisions:
            games.play(policy, actions, masks, seen, payoffs, ends)
            for buffer in (actions, masks, seen, payoffs, ends):
                digest.update(buffer.tobytes())
            count += 64
        digest.update(games.rows.tobytes())
        note("Batch: actions, observations, payoffs, saved rows",
             f"{title(preset, fields, n)} {np.dtype(dtype).name} {policy.name}", count, digest)

def agents(name, preset, n, games):
    """What agents choose, in whole games of their own."""
    agent, digest, count = load(name), hashlib.sha256(), 0
    env = pocket_uno_v0.raw_env(rules=preset, num_players=n, max_cycles=300)
    for seed in range(games):
        env.reset(seed=seed)
        while not (any(env.terminations.values()) or any(env.truncations.values())):
            action = agent.act(env)
            digest.update(bytes([action]))
            env.step(action)
            count += 1
    note("agents: choices", f"{name} {preset} {n}", count, digest)

def learner(preset, n, **options):
    """Stable-Baselines3's environment, by the first, middle or last legal action."""
    env = LearnerVecEnv(32, preset, n, ["greedy", "strong"], **options)
    env.seed(3)
    digest, count = hashlib.sha256(), 0
    digest.update(env.reset().tobytes())
    while count < decisions:
        masks = np.array(env.env_method("action_masks"))
        digest.update(masks.tobytes())
        legal = [np.flatnonzero(mask) for mask in masks]
        seen, rewards, dones, infos = env.step(np.array([l[count // 32 % len(l)] for l in legal]))
        digest.update(seen.tobytes() + rewards.tobytes() + dones.tobytes())
        for info in infos:
            if "terminal_observation" in info:
                digest.update(info["terminal_observation"].tobytes())
        count += 32
    note("learner: observations, masks, rewards", f"{preset} {n} {options}", count, digest)

def training():
    """The weights of a short training through all of its stages."""
    from safetensors.numpy import load_file
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "run"
        subprocess.run(
            [sys.executable, "train.py", "--opponents", "greedy", "strong", "--seed", "3",
             "--deals", "0", "--games", "64", "--rollout", "32", "--batch-size", "512",
             "--teacher-steps", "8192", "--teacher-batch-size", "512", "--lookahead-steps", "8192",
             "--lookahead-batch-size", "512", "--steps", "8192", "--self-play", "0.5",
             "--pool-every", "1", "--precision", "float32", "--out", str(out)],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        digest = hashlib.sha256()
        for key, value in sorted(load_file(out / "model.safetensors").items()):
            digest.update(key.encode() + value.tobytes())
        note("train.py: weights", "imitation, lookahead, self-play", 3 * 8192, digest)

def evaluation(*arguments):
    """The report of an evaluation, without what it took and by whom."""
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "x.json"
        subprocess.run(
            [sys.executable, "evaluate.py", *arguments, "--seed", "2", "--json", str(out)],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        report = json.loads(out.read_text())
        figures = [line_up["figures"] for line_up in report["line_ups"]]
        note("evaluate.py: figures", " ".join(arguments), 1, hashlib.sha256(plain(figures)))

for case in CASES:
    aec(*case)
    batch(*case)
for name in ("random", "random-uno", "first", "high-card", "attacker", "challenger", "greedy",
             "counter", "strong"):
    for preset, n in (("pocket", 2), ("pocket", 5), ("classic", 3), ("mini", 2)):
        agents(name, preset, n, 40)
for name, preset, n in (("pocket-2p", "pocket", 2), ("pocket-3p", "pocket", 3),
                        ("pocket-4p", "pocket", 4), ("classic-2p", "classic", 2)):
    agents(name, preset, n, 10)
for name in ("search:64", "ismcts:64", "clairvoyant:64", "search:32,policy=pocket-2p,leaf=critic",
             "noisy:0.2,strong"):
    agents(name, "pocket", 2, 4)
for preset, n in (("pocket", 2), ("pocket", 4), ("classic", 3)):
    for options in ({}, {"view": "canonical"}, {"compact": True}, {"skip_forced": True},
                    {"reward": "points"}):
        learner(preset, n, **options)
if train:
    training()
    evaluation("--agents", "greedy", "strong", "pocket-2p", "--deals", "200", "--control")
    evaluation("--agents", "greedy", "strong", "--deals", "50", "--num-players", "4",
               "--episode", "match")
print(json.dumps(found))
'''


def play(checkout: Path, decisions: int, train: bool) -> dict[str, dict[str, list[object]]]:
    """The results of a checkout: section -> case -> decisions and hash."""
    python = checkout / ".venv" / "bin" / "python"
    done = subprocess.run(
        [str(python), "-c", PLAY, str(decisions), "train" if train else ""],
        cwd=checkout,
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    found: dict[str, dict[str, list[object]]] = json.loads(done.stdout)
    return found


def main() -> int:
    """Compare; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--decisions", type=int, default=5000, help="in each case")
    parser.add_argument("--no-train", action="store_true", help="leave train.py out")
    options = parser.parse_args()
    places = (options.old.resolve(), options.new.resolve())
    with ThreadPoolExecutor(2) as pool:
        old, new = pool.map(lambda p: play(p, options.decisions, not options.no_train), places)
    differing = 0
    for section in sorted(old.keys() | new.keys()):
        before, after = old.get(section, {}), new.get(section, {})
        cases = sorted(before.keys() | after.keys())
        other = [case for case in cases if before.get(case) != after.get(case)]
        decisions = sum(int(str(count)) for count, _ in before.values())
        print(f"{section}: {len(cases)} cases, {decisions:,} decisions, {len(other)} differ")
        for case in other:
            print(f"    {case}: {before.get(case)} {after.get(case)}")
        differing += len(other)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
