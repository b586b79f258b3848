"""Self-tests of the slow game (docs/rules.md, sections 3 to 6 and 11)."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from reference_play import (
    NO_WILDS,
    RULE_SETS,
    choose,
    new_round,
    play_match,
    play_on,
    random_house_rules,
    record_of,
    shuffled,
)

from pocket_uno_env.reference.game import (
    PRESETS,
    Game,
    RuleError,
    card_points,
    deal,
    deck_of,
    is_wild,
    preset,
)
from pocket_uno_env.reference.referee import check_record

# Random play


@pytest.mark.parametrize("name", RULE_SETS)
def test_random_rounds(name: str) -> None:
    rules, players, count = RULE_SETS[name]
    ends = random_rounds(rules, players, range(count))
    assert ends["out"] > count // 10
    if "small deck" in name:
        assert ends["blocked"] > 0


def test_random_rounds_of_random_house_rules() -> None:
    ends: Counter[str | None] = Counter()
    for seed in range(250):
        rng = random.Random(seed)
        ends += random_rounds(random_house_rules(rng), (2, 3, 4, 5), range(seed, seed + 1))
    assert ends["out"] > 80


@pytest.mark.soak
@pytest.mark.parametrize("name", RULE_SETS)
def test_thousands_of_random_rounds(name: str) -> None:
    random_rounds(*RULE_SETS[name][:2], range(1_000, 3_000))


@pytest.mark.soak
def test_thousands_of_random_house_rules() -> None:
    for seed in range(1_000, 6_000):
        rules = random_house_rules(random.Random(seed))
        random_rounds(rules, (2, 3, 4, 5), range(seed, seed + 1))


def random_rounds(
    rules: dict[str, Any], players: tuple[int, ...], seeds: range
) -> Counter[str | None]:
    """Play rounds, checking each position and record; return how they ended."""
    deck = Counter(deck_of(rules))
    ends: Counter[str | None] = Counter()
    for seed in seeds:
        rng = random.Random(seed)
        game = new_round(rules, players[seed % len(players)], rng)
        eagerness, stop = rng.choice((0.0, 0.5, 0.9, 1.0)), rng.randrange(1, 60)
        for decision in range(200):
            if decision == stop:
                check_record(record_of([game]))  # while it runs
            if game.end is not None:
                break
            snapshot = game.snapshot()
            piles = [*snapshot["hands"], snapshot["draw_pile"], snapshot["discard_pile"]]
            assert Counter(card for pile in piles for card in pile) == deck
            assert snapshot["top"] == snapshot["discard_pile"][0]
            legal = game.legal_names()
            assert legal and legal == sorted(set(legal))
            action = choose(game, rng, eagerness)
            game.apply(game.actor, action, reshuffle=shuffled(rng))
        if game.end is None:
            game.truncate()
        assert (game.snapshot()["to_act"], game.legal_names()) == (None, [])
        assert game.snapshot()["phase"] == "over"
        ends[game.end] += 1
        result = game.result()
        if game.end == "out":
            winner = result["winner"]
            assert game.hands[winner] == []
            held = [sum(map(card_points, hand)) for hand in game.hands]
            if game.rules["elimination"]:
                assert result["points"] == held
            else:
                assert result["points"] == [sum(held) * (s == winner) for s in range(len(held))]
        else:
            assert result["winner"] is None and not any(result["points"])
        check_record(record_of([game]))
    return ends


def test_matches() -> None:
    for name, num_players in (("pocket", 2), ("pocket", 5), ("classic", 3), ("mini", 2)):
        for seed in range(8):
            games = play_match(preset(name), num_players, random.Random(seed))
            check_record(record_of(games, match=True))
            check_record(record_of(games[:1], match=True))


def test_matches_of_random_house_rules() -> None:
    lengths = []
    for seed in range(40):
        rng = random.Random(seed)
        rules = random_house_rules(rng)
        games = play_match(rules, rng.choice([2, 3, 5]), rng)
        check_record(record_of(games, match=True))
        lengths.append(len(games))
    assert max(lengths) > 3


def test_a_match_goes_on_after_rounds_without_a_winner() -> None:
    rng = random.Random(0)
    rules = preset("pocket")
    games = [new_round(rules, 3, rng, dealer) for dealer in (2, 0, 1, 2)]
    for game in games[:3]:
        game.truncate()
    check_record(record_of(games, match=True))  # the last still runs


# Applying actions


def small_game(**changed: Any) -> Game:
    """Return a game of 2 in which seat 0 holds R2 R+2 and seat 1 R3 R4; B1 is left to draw."""
    rules = preset(
        "classic",
        colors=2,
        symbols={"1": 1, "2": 1, "3": 1, "4": 1, "+2": 1},
        wild_copies=NO_WILDS,
        hand_size=2,
        max_players=4,
        **changed,
    )
    pile = ["B2", "B3", "B4", "B+2", "B1"]
    return Game(rules, [["R2", "R+2"], ["R3", "R4"]], "R1", pile, dealer=1)


def everything(game: Game) -> str:
    return repr(sorted(vars(game).items()))


def test_illegal_actions_are_refused_and_change_nothing() -> None:
    all_rules = [rules for rules, _, _ in RULE_SETS.values()]
    all_rules += [random_house_rules(random.Random(seed)) for seed in range(12)]
    for seed, rules in enumerate(all_rules):
        rng = random.Random(seed)
        game = new_round(rules, min(rules["max_players"], 4), rng)
        names = {f"play {card}" for card in deck_of(rules) if not is_wild(card)}
        names |= {f"play {c}:{color}" for c in deck_of(rules) if is_wild(c) for color in "RBGYX"}
        names |= {f"give {card}" for card in deck_of(rules)} | {"name R", "name X", "", "play"}
        names |= {"draw", "keep", "challenge", "accept", "say uno", "stay silent", "catch"}
        names |= {"let go", "play W", "reshuffle", "forced", "Draw", "draw "}
        names |= {"pass", "jump in", "jump", "swap", "swap -1", "swap 0", "swap 1", "swap 9"}
        for _ in range(40):
            before, legal, actor = everything(game), game.legal_names(), game.actor
            wrong = [(actor, name) for name in sorted(names - set(legal))]
            wrong += [(s, n) for s in range(-1, game.num_players + 1) if s != actor for n in legal]
            for seat, name in wrong:
                with pytest.raises(RuleError):
                    game.apply(seat, name, reshuffle=shuffled(rng))
            assert everything(game) == before
            if game.end is not None:
                break
            game.apply(actor, choose(game, rng, 0.7), reshuffle=shuffled(rng))


def test_the_message_names_seat_action_phase_and_what_is_legal() -> None:
    with pytest.raises(
        RuleError, match=r"seat 1 .*'play R3' .*'play'.*seat 0.*'draw', 'play R\+2'"
    ):
        small_game().apply(1, "play R3")


def test_a_reshuffle_must_be_supplied_exactly_when_needed() -> None:
    game = small_game()
    for seat in (0, 1, 0, 1, 0):
        game.apply(seat, "draw")
    game.apply(0, "keep")
    assert game.draw_pile == []  # empty, but no draw has found it so
    game.apply(1, "play R3")
    game.apply(0, "play R2")
    assert game.draw_pile == [] and game.discard_pile == ["R2", "R3", "R1"]
    before = everything(game)
    for wrong in (None, [], ["R1"], ["R1", "R2"], ["R1", "R3", "R2"], ["R1", "R1"]):
        with pytest.raises(RuleError, match="reshuffle"):
            game.apply(1, "draw", reshuffle=wrong)
        assert everything(game) == before
    game.apply(1, "draw", reshuffle=["R1", "R3"])
    assert game.events[-2:] == [["reshuffle", ["R1", "R3"]], [1, "draw", ["R1"]]]
    before = everything(game)
    with pytest.raises(RuleError, match="nothing is reshuffled"):
        game.apply(1, "keep", reshuffle=["R3"])
    assert everything(game) == before


def test_a_copy_is_independent() -> None:
    rng = random.Random(3)
    game = new_round(preset("pocket"), 3, rng)
    before = everything(game)
    play_on(game.copy(), rng)
    assert everything(game) == before


def test_truncation() -> None:
    game = small_game()
    game.truncate()
    assert game.result() == {"winner": None, "points": [0, 0], "end": "truncated"}
    with pytest.raises(RuleError):
        game.truncate()
    with pytest.raises(RuleError, match="over"):
        game.apply(0, "draw")


# The order of events (section 8)


def events_of(game: Game, *steps: tuple[int, str]) -> list[list[Any]]:
    for seat, name in steps:
        game.apply(seat, name, reshuffle=sorted)
    check_record(record_of([game]))
    return game.events


def test_a_forced_draw_that_runs_dry_half_way_is_one_event_after_its_reshuffle() -> None:
    game = small_game(uno_call="automatic")
    events = events_of(game, (0, "draw"), (1, "draw"), (0, "draw"), (1, "draw"), (0, "play R+2"))
    assert events[-3:] == [[0, "play R+2"], ["reshuffle", ["R1"]], [1, "forced", ["B1", "R1"]]]


def test_a_draw_until_playable_that_runs_dry_half_way_is_one_event() -> None:
    rules = {**small_game(draw_until_playable=True).rules}
    hands = [["R2", "B3"], ["R4", "B1"]]
    game = Game(rules, hands, "R1", ["B2", "B4", "B+2", "R3", "R+2"], dealer=1)
    events = events_of(game, (0, "draw"), (0, "play R3"), (1, "draw"), (1, "play R+2"))
    assert events == [
        [0, "draw", ["B2", "B4", "B+2", "R3"]],
        [0, "play R3"],
        [1, "draw", ["R+2"]],
        [1, "play R+2"],
        ["reshuffle", ["R1", "R3"]],
        [0, "forced", ["R1", "R3"]],
    ]
    game = Game(rules, [["R2", "R3"], ["R4", "B1"]], "R1", ["B2", "B4"], dealer=1)
    game.apply(0, "draw")
    game.apply(1, "play R4")
    game.apply(1, "say uno")
    # R1 comes back: it is drawn, and can be played on R4.
    game.apply(0, "draw", reshuffle=["R1"])
    assert game.events[-2:] == [["reshuffle", ["R1"]], [0, "draw", ["R1"]]]


def test_nothing_to_reshuffle_leaves_no_event_and_empty_draws() -> None:
    rules = {**small_game(uno_call="explicit").rules, "symbols": {"1": 1, "2": 1, "+2": 1}}
    game = Game(rules, [["R+2", "B2"], ["R2", "B1"]], "R1", ["B+2"], dealer=1)
    events = events_of(game, (0, "play R+2"), (0, "stay silent"), (1, "catch"), (0, "draw"))
    assert events == [
        [0, "play R+2"],
        [0, "stay silent"],
        [1, "catch"],
        ["reshuffle", ["R1"]],
        [0, "forced", ["B+2", "R1"]],
        [1, "forced", []],
        [0, "draw", []],
    ]


def test_forced_draws_stand_where_they_happen() -> None:
    rules = preset("pocket", hand_size=2)

    def game(hands: str, opening: str, pile: str, **changed: Any) -> Game:
        dealt = [hand.split() for hand in hands.split(" / ")]
        front = [card for hand in dealt for card in hand] + [opening, *pile.split()]
        rest = Counter(deck_of(rules)) - Counter(front)
        whole = [*pile.split(), *rest.elements()]
        return Game({**rules, **changed}, dealt, opening, whole, dealer=len(dealt) - 1)

    assert events_of(game("R1 R2 / R3 R4", "R+1", "B5")) == [[0, "forced", ["B5"]]]
    assert events_of(
        game("WD R2 / R3 R4", "R9", "B5 B6 B7"), (0, "play WD:B"), (0, "stay silent"), (1, "catch")
    ) == [
        [0, "play WD:B"],
        [0, "stay silent"],
        [1, "catch"],
        [0, "forced", ["B5", "B6"]],
        [0, "forced", ["B7"]],
    ]
    steps = ((0, "play W+2:B"), (0, "say uno"), (1, "challenge"))
    assert events_of(game("W+2 R2 / R3 R4", "R9", "B5 B6 B7"), *steps)[-1] == (
        [0, "forced", ["B5", "B6"]]
    )
    assert events_of(game("W+2 Y2 / R3 R4", "R9", "B5 B6 B7 B8"), *steps)[-1] == (
        [1, "forced", ["B5", "B6", "B7", "B8"]]
    )
    ending = ((0, "play R2"), (0, "say uno"), (1, "play R3"), (1, "say uno"), (0, "play W+2:Y"))
    last = game("R2 W+2 / R3 R4", "R9", "B5 B6 B7")
    assert events_of(last, *ending)[-2:] == [[0, "play W+2:Y"], [1, "forced", ["B5", "B6"]]]
    assert last.result() == {"winner": 0, "points": [15, 0], "end": "out"}


def test_a_last_reverse_does_not_turn_the_direction() -> None:
    game = Game(preset("pocket", hand_size=1), [["RV"], ["R1"], ["R2"]], "R9", [], dealer=2)
    game.apply(0, "play RV")
    assert (game.snapshot()["direction"], game.snapshot()["to_act"]) == (1, None)


# Seats that are out (section 11, elimination)


def game_of_four(hands: str, opening: str, out: int, pile: str = "", **changed: Any) -> Game:
    """Return a game of 4 seats in which `out` is out and seat 0 plays first."""
    rules = preset("classic", elimination=True, uno_call="automatic", hand_size=2, **changed)
    dealt = [hand.split() for hand in hands.split("|")]
    return Game(rules, dealt, opening, pile.split(), dealer=3, out=[out])


def to_act_after(game: Game, *steps: tuple[int, str]) -> int | None:
    for seat, name in steps:
        game.apply(seat, name, reshuffle=sorted)
    seat: int | None = game.snapshot()["to_act"]
    return seat


def test_the_deal_passes_over_a_seat_that_is_out() -> None:
    rules = preset("classic", hand_size=2)
    deck = ["R1", "R2", "R3", "R4", "R5", "R6", "R7", "R8", "R9"]
    hands, opening, pile = deal(rules, deck, 4, dealer=0, out=[1])
    assert hands == [["R3", "R6"], [], ["R1", "R4"], ["R2", "R5"]]
    assert (opening, pile) == ("R7", ["R8", "R9"])


def test_turns_and_effects_pass_over_a_seat_that_is_out() -> None:
    hands = "R2 R+2 || R3 RS | R4 RV"
    assert to_act_after(game_of_four(hands, "R9", 1), (0, "play R2")) == 2
    game = game_of_four(hands, "R9", 1, pile="B1 B2 B3")
    assert to_act_after(game, (0, "play R+2")) == 3
    assert game.hands == [["R2"], [], ["R3", "RS", "B1", "B2"], ["R4", "RV"]]
    assert to_act_after(game_of_four(hands, "R9", 1), (0, "play R2"), (2, "play RS")) == 0
    steps = ((0, "play R2"), (2, "play R3"), (3, "play RV"))
    assert to_act_after(game_of_four(hands, "R9", 1), *steps) == 2
    for opening, first in (("R9", 0), ("RS", 2), ("RV", 3)):
        assert to_act_after(game_of_four(hands, opening, 1)) == first
    game = game_of_four("R2 R+2 | R3 RS || R4 RV", "R+2", 2, pile="B1 B2 B3")
    assert to_act_after(game) == 1
    assert game.hands[0] == ["R2", "R+2", "B1", "B2"]


def test_askings_pass_over_a_seat_that_is_out() -> None:
    hands = "R2 R3 || R2 RS | R4 RV"
    game = game_of_four(hands, "R9", 1, jump_in=True)
    assert to_act_after(game, (0, "play R2")) == 2
    assert to_act_after(game, (2, "pass")) == 3
    assert to_act_after(game, (3, "pass")) == 2
    assert game.phase == "play"
    game = game_of_four(hands, "R9", 1)
    game.rules["uno_call"] = "explicit"
    assert to_act_after(game, (0, "play R2"), (0, "stay silent"), (2, "let go")) == 3
    assert to_act_after(game, (3, "let go")) == 2
    game = game_of_four("R+2 R3 || B+2 RS | R4 RV", "R9", 1, stacking="same")
    assert to_act_after(game, (0, "play R+2")) == 2
    assert to_act_after(game, (2, "play B+2")) == 3


def test_hands_pass_over_a_seat_that_is_out() -> None:
    game = game_of_four("R0 R7 || R3 RS | R4 RV", "R9", 1, seven_zero=True)
    assert to_act_after(game, (0, "play R0")) == 2
    assert game.hands == [["R4", "RV"], [], ["R7"], ["R3", "RS"]]
    game = game_of_four("R0 R7 || R3 RS | R4 RV", "R9", 1, seven_zero=True)
    game.apply(0, "play R7")
    assert game.legal_names() == ["swap 2", "swap 3"]


def test_two_players_left_are_two_players() -> None:
    rules = preset("classic", elimination=True, uno_call="automatic", hand_size=2)
    hands: list[list[str]] = [["RV", "R2", "R3"], [], ["R4", "R5", "R6"], []]
    game = Game(rules, hands, "R9", [], dealer=2, out=[1, 3])
    assert to_act_after(game, (0, "play RV")) == 0
    assert to_act_after(game, (0, "play R2")) == 2


def test_a_round_is_blocked_by_those_who_are_in() -> None:
    game = game_of_four("R2 R3 || B4 B5 | G6 G7", "Y9", 1)
    assert to_act_after(game, (0, "draw"), (2, "draw")) == 3
    assert to_act_after(game, (3, "draw")) is None
    assert game.result() == {"winner": None, "points": [0, 0, 0, 0], "end": "blocked"}


def test_who_is_out_scores_nothing() -> None:
    game = game_of_four("R2 R3 || R4 B5 | W R7", "R9", 1)
    assert (
        to_act_after(game, (0, "play R2"), (2, "play R4"), (3, "play R7"), (0, "play R3")) is None
    )
    assert game.result() == {"winner": 0, "points": [0, 0, 5, 50], "end": "out"}


# The order of house rules' events (sections 8 and 11)


def test_events_of_house_rules() -> None:
    game = small_game(uno_call="automatic", stacking="same")
    game.hands = [["R2", "R+2", "R1"], ["R3", "B+2"]]
    for seat, name in ((0, "play R+2"), (1, "play B+2"), (0, "accept")):
        game.apply(seat, name, reshuffle=sorted)
    assert game.events == [
        [0, "play R+2"],
        [1, "play B+2"],
        [0, "accept"],
        [0, "forced", ["B2", "B3", "B4", "B+2"]],
    ]
    rules = preset("classic", hand_size=2, jump_in=True, seven_zero=True)
    game = Game(rules, [["R7", "R1"], ["R7", "R2"]], "R9", ["B1", "B2", "B3"], dealer=1)
    steps = ((0, "play R7"), (0, "stay silent"), (1, "catch"), (1, "jump in"), (1, "say uno"))
    for seat, name in (*steps, (0, "pass"), (1, "swap 0")):
        game.apply(seat, name)
    assert game.events == [
        [0, "play R7"],
        [0, "stay silent"],
        [1, "catch"],
        [0, "forced", ["B1", "B2"]],
        [1, "jump in"],
        [1, "say uno"],
        [0, "pass"],
        [1, "swap 0"],
    ]
    assert game.hands == [["R2"], ["R1", "B1", "B2"]]


# Presets


def test_presets_hold_the_same_fields() -> None:
    assert {frozenset(fields) for fields in PRESETS.values()} == {frozenset(PRESETS["pocket"])}
    sizes = {name: len(deck_of(fields)) for name, fields in PRESETS.items()}
    assert sizes == {"pocket": 52, "pocket51": 51, "classic": 108, "mini": 6}
    with pytest.raises(ValueError, match="sevens"):
        preset("pocket", sevens=True)
