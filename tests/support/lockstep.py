"""Engine and reference game, stepped side by side over random decisions."""

from __future__ import annotations

from typing import Any

import numpy as np

from pocket_uno_env import Rules
from pocket_uno_env.agents.scripted.policies import Policy, act_rows_unchecked
from pocket_uno_env.engine.deal import new_game
from pocket_uno_env.engine.legality import write_mask
from pocket_uno_env.engine.state import NO_SEAT, new_rows
from pocket_uno_env.engine.transition import apply, truncate
from pocket_uno_env.records.record import Log, deal_entry
from pocket_uno_env.records.snapshot import round_result, snapshot
from pocket_uno_env.reference import game as reference
from pocket_uno_env.rules.actions import catalogue
from pocket_uno_env.rules.phases import End

COMPARED = (
    "top", "active_color", "draw_pile", "discard_pile", "direction", "dealer", "to_act", "phase",
)  # fmt: skip


class Disagreement(AssertionError):
    """Engine and reference differ; the message says where."""


def _same(what: str, engine: Any, expected: Any, where: str) -> None:
    if engine != expected:
        raise Disagreement(f"{where}: {what}: engine {engine}, reference {expected}")


def lockstep(rules: Rules, num_players: int, seed: int, decisions: int, cap: int = 3000) -> int:
    """Play rounds in both until `decisions` have been compared; returns how many rounds ended.

    Most decisions are uniformly random; some rounds are played greedily, because random play seldom
    gets near the end of a round.
    """
    rng = np.random.default_rng(seed)
    table, cat, log = rules._table, catalogue(rules), Log(rules)
    rows, index, action = new_rows(1), np.zeros(1, np.int64), np.zeros(1, np.int64)
    mask = np.zeros(len(cat), np.int8)
    fields, row = rules.to_dict(), None
    rounds = done = 0
    while done < decisions:
        new_game(rows[0], num_players, np.uint64(rng.integers(2**63)))
        entry = deal_entry(rules, rows, NO_SEAT, None, log)
        row = rows[0]
        game = reference.Game(
            fields, entry["hands"], entry["opening"], entry["pile"], entry["dealer"],
            entry["turned_back"],
        )  # fmt: skip
        _same("opening", entry["events"], game.events, "deal")
        greed = rng.choice([0.0, 0.3, 0.9])
        while True:
            where = f"{rules.name}, {num_players} players, seed {seed}, decision {done}"
            write_mask(table[0], row, mask)
            _same("legal", cat.legal_names(mask), game.legal_names(), where)
            ours, theirs = snapshot(rules, row), game.snapshot()
            for key in COMPARED:
                _same(key, ours[key], theirs[key], where)
            for seat in range(num_players):
                _same("hand", sorted(ours["hands"][seat]), sorted(theirs["hands"][seat]), where)
            if row["end"] != End.RUNNING:
                break
            if row["decisions"] >= cap:
                truncate(row)
                game.truncate()
                continue
            policy = Policy.GREEDY if rng.random() < greed else Policy.RANDOM
            act_rows_unchecked(table, rows, index, int(policy), action)
            seat, name = int(row["to_act"]), cat.names[action[0]]
            apply(table[0], row, int(action[0]), None, log.clear())
            events = log.events([seat, name])
            order = next((event[1] for event in events if event[0] == "reshuffle"), None)
            start = len(game.events)
            game.apply(seat, name, order)
            _same("events", events, game.events[start:], where)
            done += 1
        _same("result", round_result(row), game.result(), where)
        rounds += 1
    return rounds
