"""The engine agrees with the reference game, decision by decision."""

from __future__ import annotations

import pytest
from games import ODD_RULES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lockstep import lockstep

from pocket_uno_env import Rules, RulesError
from pocket_uno_env.rules.cards import SYMBOLS
from pocket_uno_env.rules.rules import HOUSE_RULES

PER_RULE_SET = 200_000
GAMES = [("pocket", n) for n in (2, 3, 4, 5)] + [("classic", n) for n in (2, 3, 6, 10)]
GAMES += [("pocket51", n) for n in (2, 5)] + [("mini", 2)]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "num_players"), GAMES)
def test_presets(name: str, num_players: int) -> None:
    share = sum(other == name for other, _ in GAMES)
    assert lockstep(Rules.preset(name), num_players, 1, PER_RULE_SET // share) > 0


@pytest.mark.parametrize("name", ODD_RULES)
@pytest.mark.parametrize("num_players", [2, 4])
def test_odd_rules(name: str, num_players: int) -> None:
    assert lockstep(ODD_RULES[name], num_players, 2, 4_000) > 0


@st.composite
def random_rules(draw: st.DrawFn) -> Rules:
    """Rules of every kind that make a game, small decks included."""
    copies = st.integers(0, 2)
    fields = {
        "colors": draw(st.integers(1, 4)),
        "symbols": draw(st.dictionaries(st.sampled_from(SYMBOLS), st.integers(1, 2), min_size=1)),
        "wild_copies": {wild: draw(copies) for wild in ("W", "WD", "W+2", "W+4")},
        "hand_size": draw(st.integers(1, 8)),
        "max_players": 10,
        "match_goal": draw(st.integers(1, 500)),
        "opening_wild": draw(st.sampled_from(["put_back", "first_player_chooses"])),
        "two_player_reverse": draw(st.sampled_from(["skip", "literal"])),
        "draw_until_playable": draw(st.booleans()),
        "draw_limit": draw(st.integers(1, 12)),
        "wild_draw_four": draw(st.sampled_from(["enforced", "challenge"])),
        "challenge_condition": draw(st.sampled_from(["any_playable", "matching_color"])),
        "uno_call": draw(st.sampled_from(["explicit", "automatic"])),
        "stacking": draw(st.sampled_from([False, "same", "any"])),
        **{name: draw(st.booleans()) for name in HOUSE_RULES[1:]},
    }
    try:
        return Rules.preset("custom", **fields)
    except RulesError:
        # The smallest hands always leave room, or the deck is hopeless and is drawn again.
        fields["hand_size"] = 1
        fields["symbols"] = {**fields["symbols"], "1": 2, "2": 2, "3": 2}
        fields["wild_copies"] = {**fields["wild_copies"], "W": 1}
        return Rules.preset("custom", **fields)


def most_players(rules: Rules) -> int:
    for players in range(10, 2, -1):
        try:
            return rules.check_players(players)
        except RulesError:
            continue
    return 2


@settings(
    max_examples=150, deadline=None, derandomize=True,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
@given(rules=random_rules(), data=st.data())
def test_random_rules(rules: Rules, data: st.DataObject) -> None:
    players = data.draw(st.integers(2, most_players(rules)))
    lockstep(rules, players, data.draw(st.integers(0, 1000)), 300, cap=250)


@pytest.mark.soak
@settings(max_examples=3000, deadline=None, suppress_health_check=list(HealthCheck))
@given(rules=random_rules(), data=st.data())
def test_random_rules_soak(rules: Rules, data: st.DataObject) -> None:
    players = data.draw(st.integers(2, most_players(rules)))
    lockstep(rules, players, data.draw(st.integers(0, 2**31)), 1000, cap=900)


@pytest.mark.soak
@pytest.mark.parametrize(("name", "num_players"), GAMES)
def test_presets_soak(name: str, num_players: int) -> None:
    for seed in range(100, 105):
        lockstep(Rules.preset(name), num_players, seed, PER_RULE_SET)
