"""What many tests need: games of every kind, played by scripted policies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from pocket_uno_env import Rules, pocket_uno_v0
from pocket_uno_env.agents.scripted.policies import Policy, act_rows

ODD_RULES = {
    "pocket literal": Rules.preset("pocket", two_player_reverse="literal"),
    "pocket51 until": Rules.preset("pocket51", draw_until_playable=True, draw_limit=4),
    "pocket chooser": Rules.preset("pocket", opening_wild="first_player_chooses"),
    "pocket color": Rules.preset("pocket", challenge_condition="matching_color"),
    "pocket auto": Rules.preset("pocket", uno_call="automatic"),
    "classic challenge": Rules.preset("classic", wild_draw_four="challenge"),
    "classic until": Rules.preset("classic", draw_until_playable=True),
    "all wilds": Rules.preset(
        "custom",
        wild_copies={"W": 1, "WD": 2, "W+2": 2, "W+4": 2},
        wild_draw_four="challenge",
        opening_wild="first_player_chooses",
    ),
    "house": Rules.preset(
        "classic",
        stacking="any",
        seven_zero=True,
        jump_in=True,
        forced_play=True,
        wild_draw_four="challenge",
    ),
    "pocket house": Rules.preset(
        "pocket",
        stacking="same",
        seven_zero=True,
        jump_in=True,
        elimination=True,
        draw_until_playable=True,
    ),
    "house mix": Rules.preset(
        "custom",
        symbols={"0": 2, "7": 3, "+1": 2, "+2": 2, "S": 1, "V": 1, "3": 2},
        wild_copies={"W": 1, "WD": 1, "W+2": 2, "W+4": 2},
        stacking="any",
        seven_zero=True,
        jump_in=True,
        hand_size=4,
        opening_wild="first_player_chooses",
        match_goal=60,
        elimination=True,
    ),
    "two colours": Rules.preset("custom", colors=2, hand_size=3, max_players=4),
}
PLAYERS = {"pocket": (2, 3, 4, 5), "classic": (2, 4, 10), "pocket51": (2, 5), "mini": (2,)}


def every_game() -> list[Any]:
    """Rules and numbers of players: all presets and the odd rules, as test parameters."""
    games = [(name, Rules.preset(name), n) for name, counts in PLAYERS.items() for n in counts]
    games += [(name, rules, n) for name, rules in ODD_RULES.items() for n in (2, 4)]
    return [pytest.param(rules, n, id=f"{name}-{n}") for name, rules, n in games]


def scripted_action(env: Any, policy: Policy = Policy.RANDOM) -> int:
    """The action of a scripted policy for the seat to act in a PettingZoo env."""
    raw = env.unwrapped
    action = np.zeros(1, np.int64)
    act_rows(raw.rules.table, raw.rows, np.zeros(1, np.int64), int(policy), action)
    return int(action[0])


def play(env: Any, policy: Policy = Policy.RANDOM, limit: int = 100_000) -> Iterator[Any]:
    """Play to the end, yielding the raw env before every decision; `env` was reset before."""
    raw = env.unwrapped
    for _ in range(limit):
        if not raw.agents or raw.terminations[raw.agent_selection]:
            return
        if raw.truncations[raw.agent_selection]:
            return
        yield raw
        env.step(scripted_action(env, policy))


def raw_env(seed: int | None = None, **kwargs: Any) -> Any:
    """A raw env, reset with `seed`."""
    env = pocket_uno_v0.raw_env(**kwargs)
    env.reset(seed=seed)
    return env
