"""The engine: masks against brute force, conservation, refusal, determinism, chance."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from brute_force import check_rows
from games import every_game, play, raw_env
from scipy import stats

from pocket_uno_env import Rules
from pocket_uno_env.agents.scripted.policies import Policy, act_rows
from pocket_uno_env.engine.state import new_rows
from pocket_uno_env.envs.aec import IllegalActionError
from pocket_uno_env.observation.blocks import observation_size
from pocket_uno_env.row_kernels import first_illegal
from pocket_uno_env.rows import reset_rows, step_rows
from pocket_uno_env.rules.actions import catalogue
from pocket_uno_env.rules.phases import End

ONE = np.uint64(1)


def fresh_rows(rules: Rules, num_players: int, n: int, seed: int = 0, first: int = 0):
    rows = new_rows(n)
    reset_rows(rules.table, rows, num_players, np.uint64(seed), np.uint64(first))
    return rows


@pytest.mark.parametrize(("rules", "num_players"), every_game())
def test_mask_equals_brute_force_in_random_play(rules: Rules, num_players: int) -> None:
    # 29 games of 40,000 decisions: more than a million in all.
    rows = fresh_rows(rules, num_players, 2000, seed=3)
    checked = check_rows(rules._table, rows, int(Policy.RANDOM), 40_000, 20_000)
    assert checked > 0
    assert checked == 40_000 or (rows["end"] != End.RUNNING).all()


@pytest.mark.parametrize(("rules", "num_players"), every_game())
def test_mask_equals_brute_force_in_greedy_play(rules: Rules, num_players: int) -> None:
    rows = fresh_rows(rules, num_players, 500, seed=4)
    assert check_rows(rules._table, rows, int(Policy.GREEDY), 10_000, 20_000) > 0


@pytest.mark.parametrize(("rules", "num_players"), every_game())
def test_every_unmarked_action_is_refused_and_changes_nothing(rules, num_players: int) -> None:
    env = raw_env(5, rules=rules, num_players=num_players)
    names = catalogue(rules).names
    phases = set()
    for raw in play(env, limit=400):
        before = raw.rows.tobytes()
        mask = raw.observe(raw.agent_selection)["action_mask"]
        # All actions in a phase seen for the first time, later only a few: it is a slow loop.
        for action in np.flatnonzero(mask == 0)[
            :: 1 if raw.snapshot()["phase"] not in phases else 17
        ]:
            with pytest.raises(IllegalActionError, match="not legal for player_"):
                raw.step(int(action))
        phases.add(raw.snapshot()["phase"])
        for nonsense in (-1, len(names), 2**70, None, "draw", 1.5):
            with pytest.raises(IllegalActionError):
                raw.step(nonsense)
        assert raw.rows.tobytes() == before


def play_out(rules: Rules, rows: np.ndarray, policy: Policy, limit: int = 300) -> None:
    running = np.flatnonzero(rows["end"] == End.RUNNING)
    actions = np.zeros(len(rows), np.int64)
    for _ in range(limit):
        chosen = actions[: len(running)]
        act_rows(rules.table, rows, running, int(policy), chosen)
        assert first_illegal(rules._table, rows, running, chosen) == -1
        step_rows(rules.table, rows, running, chosen, 20_000)
        running = running[rows["end"][running] == End.RUNNING]
        if not len(running):
            return


def test_a_game_does_not_depend_on_the_size_of_its_batch() -> None:
    rules = Rules()
    together = fresh_rows(rules, 3, 64, seed=9)
    play_out(rules, together, Policy.RANDOM)
    for i in (0, 7, 63):
        alone = fresh_rows(rules, 3, 1, seed=9, first=i)
        play_out(rules, alone, Policy.RANDOM)
        assert alone[0].tobytes() == together[i].tobytes()


def test_a_copied_row_goes_on_identically() -> None:
    rules = Rules()
    rows = fresh_rows(rules, 4, 32, seed=10)
    play_out(rules, rows, Policy.RANDOM, limit=20)
    copies = rows.copy()
    play_out(rules, rows, Policy.RANDOM)
    play_out(rules, copies, Policy.RANDOM)
    assert rows.tobytes() == copies.tobytes()


GOLDEN = """
import numpy as np, hashlib, json
from pocket_uno_env import Rules
from pocket_uno_env.agents.scripted.policies import act_rows
from pocket_uno_env.rows import reset_rows, step_rows, observe_rows, mask_rows
from pocket_uno_env.rules.actions import catalogue
from pocket_uno_env.observation import observation_size
from pocket_uno_env.engine.state import new_rows
digest = hashlib.sha256()
for name, players in (("pocket", 2), ("pocket", 5), ("classic", 3)):
    rules = Rules.preset(name)
    rows = new_rows(4)
    reset_rows(rules.table, rows, players, np.uint64(77), np.uint64(0))
    observations = np.zeros((4, observation_size(rules, players)), np.float32)
    masks = np.zeros((4, len(catalogue(rules))), np.int8)
    actions = np.zeros(4, np.int64)
    for _ in range(60):
        running = np.flatnonzero(rows["end"] == 0)
        chosen = actions[: len(running)]
        act_rows(rules.table, rows, running, 0, chosen)
        observe_rows(rules.table, rows, running, observations)
        mask_rows(rules.table, rows, running, masks)
        digest.update(observations.tobytes() + masks.tobytes() + chosen.tobytes())
        step_rows(rules.table, rows, running, chosen, 20000)
    digest.update(rows.tobytes())
print(digest.hexdigest())
"""


def golden_hash(tmp_path: Path, **environment: str) -> str:
    result = subprocess.run(
        [sys.executable, "-W", "error", "-W", "ignore::RuntimeWarning", "-c", GOLDEN],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def test_the_same_game_in_every_process_compiled_or_not(tmp_path: Path) -> None:
    compiled = golden_hash(tmp_path, PYTHONHASHSEED="1")
    assert golden_hash(tmp_path, PYTHONHASHSEED="2") == compiled
    assert golden_hash(tmp_path, NUMBA_DISABLE_JIT="1") == compiled


@pytest.mark.slow
def test_no_access_out_of_bounds(tmp_path: Path) -> None:
    checked = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert golden_hash(tmp_path, **checked) == golden_hash(tmp_path)


def test_shuffle_is_fair() -> None:
    # Each of 52 cards in each of 52 places of the dealt order, over 20,000 deals.
    rules = Rules()
    rows = fresh_rows(rules, 2, 20_000, seed=11)
    # A wild in the opening place is put back, so only the hands are uniform: the first ten places.
    order = rows["draw_pile"][:, 52 - 10 : 52][:, ::-1]
    for place in range(10):
        counts = np.bincount(order[:, place], minlength=52)
        assert stats.chisquare(counts).pvalue > 1e-6
    pairs = np.bincount(order[:, 0].astype(int) * 52 + order[:, 1], minlength=52 * 52)
    off_diagonal = pairs.reshape(52, 52)[~np.eye(52, dtype=bool)]
    assert stats.chisquare(off_diagonal).pvalue > 1e-6
    assert np.trace(pairs.reshape(52, 52)) == 0


def test_reshuffle_is_fair() -> None:
    # A deck of 6: all orders of the three reshuffled cards come equally often.
    from pocket_uno_env.compiled.kernel import kernel
    from pocket_uno_env.engine.piles import shuffle

    counts = {order: 0 for order in permutations(range(3))}
    rows = new_rows(1)
    rows["rng"] = 5
    cards = np.zeros(3, np.uint8)

    @kernel
    def shuffled(rows, cards):
        cards[0], cards[1], cards[2] = 0, 1, 2
        shuffle(rows[0], cards, 3)

    for _ in range(12_000):
        shuffled(rows, cards)
        counts[tuple(int(card) for card in cards)] += 1
    assert stats.chisquare(list(counts.values())).pvalue > 1e-6


def test_first_dealer_is_random() -> None:
    rows = fresh_rows(Rules(), 5, 10_000, seed=12)
    assert stats.chisquare(np.bincount(rows["dealer"], minlength=5)).pvalue > 1e-6


def test_dealing_begins_anew_when_only_wilds_are_left() -> None:
    rules = Rules.preset("mini")
    rows = fresh_rows(rules, 2, 3000, seed=13)
    top = rules._table["card_kind"][0][rows["discard_pile"][:, 0]]
    assert (top < 4).all() and (rows["discard_count"] == 1).all()


def test_rows_are_small() -> None:
    assert new_rows(4096).nbytes < 16 * 2**20


def test_buffers_fit_the_sizes_promised() -> None:
    assert observation_size(Rules(), 2) < 400


def test_digest_is_of_the_whole_row() -> None:
    # Guards the determinism tests above: a row's bytes change with every decision.
    rules = Rules()
    rows = fresh_rows(rules, 2, 1, seed=14)
    seen = {hashlib.sha256(rows.tobytes()).hexdigest()}
    for turn in range(1, 6):
        play_out(rules, rows, Policy.RANDOM, limit=1)
        seen.add(hashlib.sha256(rows.tobytes()).hexdigest())
        assert len(seen) == turn + 1
