"""Self-tests of the slow game and of the judge of records (docs/rules.md, sections 3 to 8)."""

from __future__ import annotations

import copy
import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pocket_uno_env.reference import (
    PRESETS,
    Game,
    RecordError,
    RuleError,
    check_record,
    deal,
    deck_of,
    is_wild,
    preset,
)

Record = dict[str, Any]
Path = tuple[Any, ...]
Change = Callable[[Any], None]
NO_WILDS = {"W": 0, "WD": 0, "W+2": 0, "W+4": 0}

# Rules, numbers of players, rounds to play. The small decks run dry again and again.
RULE_SETS: dict[str, tuple[dict[str, Any], tuple[int, ...], int]] = {
    "pocket": (preset("pocket"), (2, 3, 4, 5), 160),
    "pocket51": (preset("pocket51"), (2, 5), 60),
    "classic": (preset("classic"), (2, 3, 6, 10), 100),
    "mini": (preset("mini"), (2,), 200),
    "pocket, other readings": (
        preset(
            "pocket",
            opening_wild="first_player_chooses",
            two_player_reverse="literal",
            draw_until_playable=True,
            draw_limit=4,
            challenge_condition="matching_color",
            uno_call="automatic",
        ),
        (2, 3, 5),
        90,
    ),
    "classic, other readings": (
        preset(
            "classic",
            opening_wild="first_player_chooses",
            two_player_reverse="literal",
            draw_until_playable=True,
            wild_draw_four="challenge",
        ),
        (2, 4, 10),
        60,
    ),
    "both +2 and +4": (
        preset(
            "pocket",
            wild_copies={"W": 1, "WD": 2, "W+2": 2, "W+4": 2},
            symbols={"0": 1, "1": 1, "5": 1, "+1": 2, "+2": 2, "S": 1, "V": 1},
            hand_size=4,
        ),
        (2, 3, 5),
        90,
    ),
    "a small deck": (
        preset(
            "pocket",
            colors=2,
            symbols={"1": 1, "2": 1, "+1": 1, "+2": 1, "S": 1, "V": 1},
            wild_copies={"W": 1, "WD": 1, "W+2": 1, "W+4": 1},
            hand_size=2,
            wild_draw_four="challenge",
        ),
        (2, 3, 5),
        300,
    ),
    "a small deck, draw until playable": (
        preset(
            "pocket",
            colors=3,
            symbols={"3": 1, "4": 1, "+2": 1},
            wild_copies={"W": 0, "WD": 1, "W+2": 1, "W+4": 0},
            hand_size=2,
            max_players=4,
            draw_until_playable=True,
        ),
        (2, 3, 4),
        300,
    ),
}


def new_round(
    rules: dict[str, Any], num_players: int, rng: random.Random, dealer: int | None = None
) -> Game:
    """Shuffle, deal and open, putting wilds back where the rules say so."""
    dealer = rng.randrange(num_players) if dealer is None else dealer
    while True:
        deck = deck_of(rules)
        rng.shuffle(deck)
        hands, opening, pile = deal(rules, deck, num_players, dealer)
        turned_back = []
        undealt = [opening, *pile]
        if rules["opening_wild"] == "put_back":
            if all(map(is_wild, undealt)):
                continue
            while is_wild(undealt[0]):
                turned_back.append(undealt[0])
                rng.shuffle(undealt)
        return Game(rules, hands, undealt[0], undealt[1:], dealer, turned_back)


def choose(game: Game, rng: random.Random, eagerness: float) -> str:
    """Choose a legal action; an eager player plays a card when it can."""
    legal = game.legal_names()
    plays = [name for name in legal if name.startswith("play ")]
    return rng.choice(plays if plays and rng.random() < eagerness else legal)


def shuffled(rng: random.Random) -> Callable[[list[str]], list[str]]:
    return lambda cards: rng.sample(cards, len(cards))


def play_on(game: Game, rng: random.Random, eagerness: float = 0.9, cap: int = 400) -> Game:
    """Play a round to its end, or truncate it after `cap` decisions."""
    for _ in range(cap):
        if game.end is not None:
            return game
        game.apply(game.actor, choose(game, rng, eagerness), reshuffle=shuffled(rng))
    if game.end is None:
        game.truncate()
    return game


def record_of(games: list[Game], match: bool = False) -> Record:
    """Return the record of a round, or of the rounds of a match."""
    return {
        "format": "uno-record/1",
        "rules": copy.deepcopy(games[0].rules),
        "players": ["somebody"] * games[0].num_players,
        "seed": 7,
        "match": match,
        "rounds": [game.round_record() for game in games],
    }


def finished_rounds(
    rules: dict[str, Any], num_players: int, count: int, wanted: Callable[[Game], bool]
) -> list[Record]:
    """Return records of rounds that somebody won, of the wanted kind."""
    records: list[Record] = []
    for seed in range(100_000):
        game = play_on(new_round(rules, num_players, random.Random(seed)), random.Random(seed))
        if game.end == "out" and wanted(game):
            records.append(record_of([game]))
            if len(records) == count:
                return records
    raise AssertionError("no such rounds")


def play_match(rules: dict[str, Any], num_players: int, rng: random.Random) -> list[Game]:
    games = [play_on(new_round(rules, num_players, rng), rng)]
    while (
        max(sum(points) for points in zip(*(g.points for g in games), strict=True))
        < (rules["match_goal"])
    ):
        dealer = (games[-1].dealer + 1) % num_players
        games.append(play_on(new_round(rules, num_players, rng, dealer), rng, cap=60))
    return games


# Random play


@pytest.mark.parametrize("name", RULE_SETS)
def test_random_rounds(name: str) -> None:
    random_rounds(name, range(RULE_SETS[name][2]))


@pytest.mark.soak
@pytest.mark.parametrize("name", RULE_SETS)
def test_thousands_of_random_rounds(name: str) -> None:
    random_rounds(name, range(1_000, 3_000))


def random_rounds(name: str, seeds: range) -> None:
    rules, players, _ = RULE_SETS[name]
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
            assert [p for seat, p in enumerate(result["points"]) if seat != winner] == (
                [0] * (game.num_players - 1)
            )
        else:
            assert result["winner"] is None and not any(result["points"])
        check_record(record_of([game]))
    assert ends["out"] > len(seeds) // 10
    if "small deck" in name:
        assert ends["blocked"] > 0


def test_matches() -> None:
    for name, num_players in (("pocket", 2), ("pocket", 5), ("classic", 3), ("mini", 2)):
        for seed in range(8):
            games = play_match(preset(name), num_players, random.Random(seed))
            check_record(record_of(games, match=True))
            check_record(record_of(games[:1], match=True))


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
    for seed, (rules, players, _) in enumerate(RULE_SETS.values()):
        rng = random.Random(seed)
        game = new_round(rules, players[-1], rng)
        names = {f"play {card}" for card in deck_of(rules) if not is_wild(card)}
        names |= {f"play {c}:{color}" for c in deck_of(rules) if is_wild(c) for color in "RBGYX"}
        names |= {f"give {card}" for card in deck_of(rules)} | {"name R", "name X", "", "play"}
        names |= {"draw", "keep", "challenge", "accept", "say uno", "stay silent", "catch"}
        names |= {"let go", "play W", "reshuffle", "forced", "Draw", "draw "}
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


# The judge


def has_reshuffle(game: Game) -> bool:
    return any(event[0] == "reshuffle" for event in game.events)


@pytest.fixture(scope="module")
def good_records() -> list[Record]:
    """Single rounds that somebody won, each with draws, some with a reshuffle."""

    def drawn(game: Game) -> bool:
        return len(game.events) < 40 and any(len(e) == 3 and e[2] for e in game.events)

    def both(game: Game) -> bool:
        return drawn(game) and has_reshuffle(game)

    return [
        *finished_rounds(preset("pocket"), 2, 2, drawn),
        *finished_rounds(preset("pocket"), 5, 1, drawn),
        *finished_rounds(preset("classic"), 3, 1, drawn),
        *finished_rounds(RULE_SETS["pocket, other readings"][0], 3, 2, drawn),
        *finished_rounds(RULE_SETS["a small deck"][0], 3, 4, both),
        *finished_rounds(RULE_SETS["a small deck, draw until playable"][0], 2, 4, both),
    ]


@pytest.fixture(scope="module")
def good_match() -> Record:
    """A match of at least three rounds."""
    for seed in range(100):
        games = play_match(preset("pocket"), 3, random.Random(seed))
        if len(games) >= 3 and games[1].end == "out":
            return record_of(games, match=True)
    raise AssertionError("no such match")


def another_card(record: Record, card: str) -> str:
    return next(name for name in sorted(deck_of(record["rules"])) if name != card)


# Changes of a round, each at a path of keys and indices into it.


def at(value: Any, path: Path) -> Any:
    for key in path:
        value = value[key]
    return value


def put(path: Path, value: Any) -> Change:
    def change(entry: Any) -> None:
        at(entry, path[:-1])[path[-1]] = value

    return change


def drop(path: Path) -> Change:
    def change(entry: Any) -> None:
        del at(entry, path[:-1])[path[-1]]

    return change


def insert(path: Path, value: Any) -> Change:
    def change(entry: Any) -> None:
        at(entry, path[:-1]).insert(path[-1], value)

    return change


def exchange(one: Path, other: Path) -> Change:
    def change(entry: Any) -> None:
        first, second = at(entry, one), at(entry, other)
        put(one, second)(entry)
        put(other, first)(entry)

    return change


def move(one: Path, other: Path) -> Change:
    def change(entry: Any) -> None:
        at(entry, other).append(at(entry, one).pop())

    return change


def corrupt_events(record: Record) -> Iterator[tuple[str, Change]]:
    """Yield changes of single events of a finished round, none of which leaves it right."""
    events, seats = record["rounds"][0]["events"], len(record["players"])
    for i, event in enumerate(events):
        here: Path = ("events", i)
        yield f"event {i} dropped", drop(here)
        yield f"event {i} twice", insert(here, event)
        if i and events[i - 1] != event:
            yield f"events {i - 1} and {i} exchanged", exchange(("events", i - 1), here)
        yield f"a reshuffle of nothing before event {i}", insert(here, ["reshuffle", []])
        yield f"event {i}: more to it", insert((*here, len(event)), [])
        yield f"event {i}: cut short", drop((*here, len(event) - 1))
        cards = event[-1] if isinstance(event[-1], list) else []
        if event[0] == "reshuffle":
            for j in range(1, len(cards)):
                if cards[j] != cards[0]:  # the first of them is drawn at once
                    other_order = exchange((*here, 1, 0), (*here, 1, j))
                    yield f"event {i}: cards 0 and {j} exchanged", other_order
            yield f"event {i}: a card less", drop((*here, 1, 0))
        else:
            for seat in set(range(-1, seats + 1)) - {event[0]}:
                yield f"event {i} by seat {seat}", put((*here, 0), seat)
            yield f"event {i}: an unknown action", put((*here, 1), "pass")
            if cards and cards[0] != cards[-1]:
                other_order = exchange((*here, 2, 0), (*here, 2, len(cards) - 1))
                yield f"event {i}: cards in another order", other_order
        for j, card in enumerate(cards):
            wrong = another_card(record, card)
            yield f"event {i}: another card {j}", put((*here, len(event) - 1, j), wrong)
        if isinstance(event[-1], list):
            yield f"event {i}: a card more", insert((*here, len(event) - 1, len(cards)), "R1")
    for late in ([0, "draw", []], [0, "forced", []], ["reshuffle", ["R1"]], [0, "keep"], []):
        yield f"{late} after the end", insert(("events", len(events)), late)


def corrupt_result(record: Record) -> Iterator[tuple[str, Change]]:
    """Yield changes of the result of a finished round."""
    right, seats = record["rounds"][0]["result"], len(record["players"])
    for seat in [None, *range(-1, seats + 1)]:
        if seat != right["winner"]:
            yield f"winner {seat}", put(("result", "winner"), seat)
    for seat, points in enumerate(right["points"]):
        for wrong in (points + 1, points - 1, float(points), None):
            yield f"points {wrong} of seat {seat}", put(("result", "points", seat), wrong)
    yield "points of too many", insert(("result", "points", seats), 0)
    yield "points of too few", drop(("result", "points", seats - 1))
    for end in (None, "blocked", "truncated", "won"):
        nobody = {"winner": None, "points": [0] * seats, "end": end}
        yield f"end {end}", put(("result", "end"), end)
        yield f"nobody wins, end {end}", put(("result",), nobody)


def corrupt_deal(record: Record) -> Iterator[tuple[str, Change]]:
    """Yield changes of the deal of a finished round, none of which leaves it right."""
    only = record["rounds"][0]
    seats, winner, dealer = len(record["players"]), only["result"]["winner"], only["dealer"]
    for wrong in [*range(-1, seats + 1), None, float(dealer), str(dealer)]:
        if repr(wrong) != repr(dealer):
            yield f"dealer {wrong!r}", put(("dealer",), wrong)
    for i, card in enumerate(only["hands"][winner]):
        mine: Path = ("hands", winner, i)
        yield f"card {i} of the winner replaced", put(mine, another_card(record, card))
        for j, other in enumerate(only["pile"]):
            if card != other and j % 7 == i % 7:  # the winner needs every card he was dealt
                swap = exchange(mine, ("pile", j))
                yield f"card {i} of the winner exchanged with {j} of the pile", swap
    yield "a hand too big", move(("pile",), ("hands", 0))
    yield "a hand too small", move(("hands", 0), ("pile",))
    yield "a card from hand to hand", move(("hands", 1), ("hands", 0))
    yield "a hand too many", insert(("hands", seats), [])
    yield "a hand too few", drop(("hands", seats - 1))
    yield "a card lost", drop(("pile", -1))
    yield "a card made", insert(("pile", 0), "R1")
    yield "an unknown card", put(("pile", -1), "R11")
    if only["pile"][0] != only["pile"][-1]:
        yield "another card on top of the pile", exchange(("pile", 0), ("pile", -1))
    yield "a coloured card put back", insert(("turned_back", 0), "R1")
    if record["rules"]["opening_wild"] == "put_back":
        for card in sorted(set(deck_of(record["rules"]))):
            if is_wild(card) and card not in only["pile"]:
                yield f"{card} put back from a hand", insert(("turned_back", 0), card)
    else:
        yield "a wild put back that stays", insert(("turned_back", 0), "W")


def test_every_corrupted_round_is_refused(good_records: list[Record]) -> None:
    count = 0
    for record in good_records:
        check_record(record)
        for corrupt in (corrupt_events, corrupt_result, corrupt_deal):
            for what, change in corrupt(record):
                bad = copy.deepcopy(record)
                change(bad["rounds"][0])
                assert repr(bad) != repr(record), what
                with pytest.raises(RecordError):
                    check_record(bad)
                    pytest.fail(f"accepted: {what}\n{record['rounds'][0]}")
                count += 1
    assert count > 4_000


def test_every_corrupted_match_is_refused(good_match: Record) -> None:
    check_record(good_match)
    rounds = good_match["rounds"]

    def refused(match: str, change: Callable[[Record], Any]) -> None:
        twin = copy.deepcopy(good_match)
        change(twin)
        assert twin != good_match
        with pytest.raises(RecordError, match=match):
            check_record(twin)

    refused("is no match has one", lambda r: r.update(match=False))
    refused("deal passes left", lambda r: r["rounds"].pop(1))
    refused("deal passes left", lambda r: r["rounds"].insert(0, r["rounds"][1]))
    refused("ends the match", lambda r: r["rules"].update(match_goal=1))
    refused("ends the match", lambda r: r["rounds"].extend(r["rounds"][-1:] * 3))
    refused("round 0: result", lambda r: r["rounds"][0]["result"].update(end="truncated"))
    refused("round 2: result", lambda r: r["rounds"][2]["result"].update(points=[0, 0, 0]))
    refused("at least one", lambda r: r["rounds"].clear())
    refused("round 1, event 0", lambda r: r["rounds"][1]["events"].insert(0, [9, "draw", []]))

    def still_runs(r: Record) -> None:
        events = r["rounds"][1]["events"]
        while not str(events.pop()[1]).startswith("play"):
            pass
        r["rounds"][1]["result"] = {"winner": None, "points": [0, 0, 0], "end": None}

    refused("round 1: still runs", still_runs)
    totals = [sum(r["result"]["points"][seat] for r in rounds) for seat in range(3)]
    last = copy.deepcopy(good_match)
    last["rules"]["match_goal"] = max(totals)
    check_record(last)


def test_the_head_of_a_record(good_records: list[Record]) -> None:
    good = good_records[0]
    for field in good:
        twin = {key: value for key, value in good.items() if key != field}
        with pytest.raises(RecordError, match=field):
            check_record(twin)
    for field in good["rules"]:
        twin = {**good, "rules": {k: v for k, v in good["rules"].items() if k != field}}
        with pytest.raises(RecordError, match=f"'{field}' is missing"):
            check_record(twin)
    for field in good["rounds"][0]:
        twin = copy.deepcopy(good)
        del twin["rounds"][0][field]
        with pytest.raises(RecordError, match=f"round 0: field '{field}'"):
            check_record(twin)
    wrong: list[Any] = [True, 0, 1, "no", [], {}]
    for value in wrong:
        with pytest.raises(RecordError, match="unknown field 'stacking'"):
            check_record({**good, "rules": {**good["rules"], "stacking": value}})
    for harmless in (False, None):
        check_record({**good, "rules": {**good["rules"], "stacking": harmless}})
    for form in ("uno-record/2", "", None, 1):
        with pytest.raises(RecordError, match="format"):
            check_record({**good, "format": form})
    for players in (["a"], ["a"] * 3, ["a"] * 6, [], None, [1, 2], "ab"):
        with pytest.raises(RecordError):
            check_record({**good, "players": players})
    wrong = ["7", 7.0, True, []]
    for seed in wrong:
        with pytest.raises(RecordError, match="seed"):
            check_record({**good, "seed": seed})
    check_record({**good, "seed": None})
    check_record({**good, "match": True})


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value inside a record, containers too."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, inner in items:
        yield (*path, key)
        yield from leaves(inner, (*path, key))


def test_nothing_but_a_record_error_comes_of_nonsense(good_records: list[Record]) -> None:
    junk: list[Any] = [None, True, -1, 10**9, 0.5, "x", "W+4", [], [[]], ["R1"], {}, {"R1": 1}]
    # These may hold anything, or are no contradiction to what was played.
    free = {"seed", "players", "match", "match_goal", "max_players", "draw_limit", "name"}
    free |= {
        "turned_back",
        "two_player_reverse",
        "challenge_condition",
        "uno_call",
        "wild_draw_four",
    }
    for record in (good_records[0], good_records[-1]):
        for path in leaves(record):
            for value in junk:
                twin = copy.deepcopy(record)
                place = twin
                for key in path[:-1]:
                    place = place[key]
                if repr(place[path[-1]]) == repr(value):
                    continue
                place[path[-1]] = copy.deepcopy(value)
                try:
                    check_record(twin)
                except RecordError:
                    continue
                assert free & set(path), (path, value)
    junk = [None, [], 1, "x", {"format": object()}, {1, 2}]
    for nonsense in junk:
        with pytest.raises(RecordError):
            check_record(nonsense)


def test_the_message_names_round_and_event(good_records: list[Record]) -> None:
    twin = copy.deepcopy(good_records[0])
    events = twin["rounds"][0]["events"]
    events[3][0] = 7
    with pytest.raises(RecordError, match="round 0, event 3"):
        check_record(twin)
    record = next(
        r for r in good_records if any(e[0] == "reshuffle" for e in r["rounds"][0]["events"])
    )
    twin = copy.deepcopy(record)
    events = twin["rounds"][0]["events"]
    index = next(i for i, event in enumerate(events) if event[0] == "reshuffle")
    del events[index]
    with pytest.raises(RecordError, match=f"round 0, event {index}: the reshuffle of .* missing"):
        check_record(twin)


def test_presets_hold_the_same_fields() -> None:
    assert {frozenset(fields) for fields in PRESETS.values()} == {frozenset(PRESETS["pocket"])}
    sizes = {name: len(deck_of(fields)) for name, fields in PRESETS.items()}
    assert sizes == {"pocket": 52, "pocket51": 51, "classic": 108, "mini": 6}
    with pytest.raises(ValueError, match="stacking"):
        preset("pocket", stacking=True)
