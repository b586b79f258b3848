"""The judge of game records: plays a record again by the slow game and names what is wrong.

It knows a record as docs/rules.md, sections 8 and 11, has it, and nothing of who wrote it: beside
the slow game of `reference` it imports nothing of this package.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from .reference import HOUSE_OFF, PRESETS, SYMBOLS, WILDS, Game, RuleError, deck_counts, is_wild

FORMAT = "uno-record/1"
FIELDS = tuple(PRESETS["pocket"])  # of `Rules`
#: The fields that hold one of a few words or a truth value (docs/rules.md, sections 9 and 11).
CHOICES: dict[str, tuple[Any, ...]] = {
    "opening_wild": ("put_back", "first_player_chooses"),
    "two_player_reverse": ("skip", "literal"),
    "draw_until_playable": (False, True),
    "wild_draw_four": ("enforced", "challenge"),
    "challenge_condition": ("any_playable", "matching_color"),
    "uno_call": ("explicit", "automatic"),
    **dict.fromkeys(HOUSE_OFF, (False, True)),
    "stacking": (False, "same", "any"),
}


class RecordError(ValueError):
    """A game record that does not follow the rules, with the round and event where it fails."""


class Step(NamedTuple):
    """A moment of a record that is played again.

    Attributes
    ----------
    round : int
        Which round of the record.
    what : str
        The deal, with the effect of the opening card; a decision, with all that follows from it; or
        the result, of a round that still runs too.
    game : Game
        The round as it is now. It goes on with the next step: copy what is to be kept.
    events : list
        The events that this step added.
    """

    round: int
    what: Literal["deal", "decision", "result"]
    game: Game
    events: list[list[Any]]


def check_record(record: dict[str, Any]) -> None:
    """Verify a whole game record by playing it again (docs/rules.md, section 8).

    Checks the deal, every event with its cards and place, results, and the course of a match.
    A round that still runs may be the last. Raises `RecordError` naming round and event index.
    """
    for _ in walk(record):
        pass


def walk(record: dict[str, Any]) -> Iterator[Step]:
    """Play a record again, verifying all of it up to each step; see `check_record`."""
    record = _read_head(record)
    rules, rounds, num_players = record["rules"], record["rounds"], len(record["players"])
    totals = [0] * num_players
    out: list[int] = []
    for i, entry in enumerate(rounds):
        where = f"round {i}"
        _check_entry(entry, num_players, where)
        _need(entry["dealer"] not in out, f"{where}: dealer {entry['dealer']} is out of the match")
        if i > 0:
            dealer = _next_dealer(rounds[i - 1]["dealer"], num_players, out)
            _need(entry["dealer"] == dealer, f"{where}: the deal passes left, to seat {dealer}")
        due = [0 if seat in out else rules["hand_size"] for seat in range(num_players)]
        game = yield from _walk_round(i, entry, rules, due)
        totals = [total + points for total, points in zip(totals, game.points, strict=True)]
        out = out_of_match(rules, totals)
        if i + 1 < len(rounds):
            _need(game.end is not None, f"{where}: still runs, but another round follows")
            over = match_is_over(rules, totals)
            _need(not over, f"{where}: ends the match at {totals}, but another round follows")


def out_of_match(rules: dict[str, Any], totals: Sequence[int]) -> list[int]:
    """Return the seats that are out of the match at these totals (section 11, elimination)."""
    if not rules["elimination"]:
        return []
    return [seat for seat, total in enumerate(totals) if total >= rules["match_goal"]]


def match_is_over(rules: dict[str, Any], totals: Sequence[int]) -> bool:
    """Tell whether a match is over at these totals (sections 6 and 11)."""
    if rules["elimination"]:
        return len(out_of_match(rules, totals)) >= len(totals) - 1
    return max(totals) >= int(rules["match_goal"])


def _need(condition: bool, message: str) -> None:
    if not condition:
        raise RecordError(message)


def _is_int(value: Any, least: int = 0) -> bool:
    return type(value) is int and value >= least


def _are_cards(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(card, str) for card in value)


# The head (sections 8, 9 and 11)


def _read_head(record: Any) -> dict[str, Any]:
    """Verify all but the rounds; return a copy of the record in which every field is set."""
    try:
        record = json.loads(json.dumps(record, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise RecordError(f"the record is not JSON: {error}") from error
    _need(isinstance(record, dict), "the record must be an object")
    form = record.get("format")
    _need(form == FORMAT, f"format {form!r} is unknown, not {FORMAT!r}")
    for field in ("rules", "players", "seed", "match", "rounds"):
        _need(field in record, f"field {field!r} is missing")
    check_rules(record["rules"])
    rules, players, rounds = with_house_rules(record["rules"]), record["players"], record["rounds"]
    named = isinstance(players, list) and all(isinstance(name, str) for name in players)
    _need(named, "players: must be a list of names")
    fits = 2 <= len(players) <= rules["max_players"]
    _need(fits, f"players: {len(players)}, but these rules are for 2 to {rules['max_players']}")
    _need(record["seed"] is None or type(record["seed"]) is int, "seed: must be an integer or null")
    _need(isinstance(record["match"], bool), "match: must be true or false")
    _need(isinstance(rounds, list) and len(rounds) > 0, "rounds: must be a list of at least one")
    single = record["match"] or len(rounds) == 1
    _need(single, f"rounds: {len(rounds)}, but a record that is no match has one")
    return {**record, "rules": rules}


def with_house_rules(rules: dict[str, Any]) -> dict[str, Any]:
    """Return rules in which a house rule that is missing or null is off (section 11)."""
    off = {field for field in HOUSE_OFF if rules.get(field) is None}
    return {**rules, **dict.fromkeys(off, False)}


def check_rules(rules: Any) -> None:
    """Refuse fields of Rules that are missing, unknown or of a wrong value (sections 9 and 11)."""
    _need(isinstance(rules, dict), "rules: must be an object")
    for field, value in rules.items():
        known = field in FIELDS or value is None or value is False
        _need(known, f"rules: unknown field {field!r} with value {value!r}")
    rules = with_house_rules(rules)
    for field in FIELDS:
        _need(field in rules, f"rules: field {field!r} is missing")
    for field, choices in CHOICES.items():
        allowed = [value for value in choices if type(value) is type(rules[field])]
        _need(rules[field] in allowed, f"rules: {field} must be one of {choices}")
    for field in ("hand_size", "match_goal", "draw_limit"):
        _need(_is_int(rules[field], 1), f"rules: {field} must be a positive integer")
    _need(isinstance(rules["name"], str), "rules: name must be a string")
    _need(_is_int(rules["max_players"], 2), "rules: max_players must be an integer above 1")
    colors = rules["colors"]
    _need(_is_int(colors, 1) and colors <= 4, "rules: colors must be 1 to 4")
    for field, names in (("symbols", SYMBOLS), ("wild_copies", WILDS)):
        _need(isinstance(rules[field], dict), f"rules: {field} must be an object")
        for name, copies in rules[field].items():
            good = name in names and _is_int(copies)
            _need(good, f"rules: {field} cannot hold {name!r}: {copies!r}")


# A round (section 8)


def _next_dealer(dealer: int, num_players: int, out: Sequence[int]) -> int:
    """Return the next seat on the dealer's left that is in."""
    seats = [(dealer + 1 + i) % num_players for i in range(num_players)]
    return next(seat for seat in seats if seat not in out)


def _check_entry(entry: Any, num_players: int, where: str) -> None:
    """Verify that a round has all its parts, and a dealer."""
    _need(isinstance(entry, dict), f"{where}: must be an object")
    for field in ("dealer", "hands", "opening", "turned_back", "pile", "events", "result"):
        _need(field in entry, f"{where}: field {field!r} is missing")
    _need(isinstance(entry["events"], list), f"{where}: events must be a list")
    dealer = entry["dealer"]
    seated = _is_int(dealer) and dealer < num_players
    _need(seated, f"{where}: dealer must be a seat, not {dealer!r}")


def _walk_round(
    index: int, entry: dict[str, Any], rules: dict[str, Any], due: Sequence[int]
) -> Generator[Step, None, Game]:
    """Play a round of a record again and return it as a game; who is due no cards is out."""
    where, events, result = f"round {index}", entry["events"], entry["result"]
    _check_deal(entry, rules, due, where)
    dealt = {key: entry[key] for key in ("hands", "opening", "pile", "dealer", "turned_back")}
    game = Game(rules, **dealt, out=[seat for seat, size in enumerate(due) if size == 0])
    _compare_events(game, events, 0, where)
    yield Step(index, "deal", game, game.events[:])
    while len(game.events) < len(events):
        start = len(game.events)
        _check_step(game, events, where)
        yield Step(index, "decision", game, game.events[start:])
    if isinstance(result, dict) and result.get("end") == "truncated":
        _need(game.end is None, f"{where}: result: truncated, but it had ended ({game.end})")
        game.truncate()
    same = repr(_sorted_items(result)) == repr(_sorted_items(game.result()))
    _need(same, f"{where}: result: must be {game.result()}, not {result}")
    yield Step(index, "result", game, [])
    return game


def _sorted_items(value: Any) -> Any:
    return sorted(value.items()) if isinstance(value, dict) else value


def _check_deal(
    entry: dict[str, Any], rules: dict[str, Any], due: Sequence[int], where: str
) -> None:
    """Verify hands, opening card, cards put back and draw pile (section 2)."""
    hands, opening = entry["hands"], entry["opening"]
    pile, turned_back = entry["pile"], entry["turned_back"]
    shaped = isinstance(hands, list) and all(_are_cards(hand) for hand in hands)
    _need(shaped, f"{where}: hands must be lists of cards")
    sizes = [len(hand) for hand in hands]
    _need(sizes == due, f"{where}: hands must be of {due} cards, not {sizes}")
    _need(isinstance(opening, str), f"{where}: opening must be a card")
    _need(_are_cards(pile), f"{where}: pile must be a list of cards")
    _need(_are_cards(turned_back), f"{where}: turned_back must be a list of cards")
    dealt = Counter([card for hand in hands for card in hand] + [opening, *pile])
    deck = deck_counts(rules)
    _need(
        dealt == deck,
        f"{where}: the deal is not the deck: {dict(deck - dealt)} are missing, "
        f"{dict(dealt - deck)} are too many",
    )
    if rules["opening_wild"] == "put_back":
        _need(not is_wild(opening), f"{where}: opening {opening} had to be put back")
        for card in turned_back:
            there = is_wild(card) and card in pile
            _need(there, f"{where}: turned_back {card!r} is no wild among the undealt cards")
    else:
        _need(not turned_back, f"{where}: nothing is put back under first_player_chooses")


def _check_step(game: Game, events: list[Any], where: str) -> None:
    """Play the record's next action, which begins at the game's own next event index."""
    start = len(game.events)
    place = start
    if _is_reshuffle(events[start]):  # a reshuffle stands before the draw that needs it
        place += 1
    here = f"{where}, event {place}"
    _need(place < len(events), f"{where}, event {start}: a reshuffle that nothing follows")
    event = events[place]
    shaped = isinstance(event, list) and len(event) >= 2 and isinstance(event[1], str)
    _need(shaped and type(event[0]) is int, f"{here}: {event!r} is no [seat, action]")
    _need(event[1] != "forced", f"{here}: {event!r}, but no forced draw is due")

    def order(cards: list[str]) -> list[str]:
        index = len(game.events)
        found = index < len(events) and _is_reshuffle(events[index])
        _need(found, f"{where}, event {index}: the reshuffle of {sorted(cards)} is missing")
        return list(events[index][1])

    try:
        game.apply(event[0], event[1], reshuffle=order)
    except RuleError as error:
        raise RecordError(f"{here}: {error}") from error
    _compare_events(game, events, start, where)


def _is_reshuffle(event: Any) -> bool:
    return (
        isinstance(event, list)
        and len(event) == 2
        and event[0] == "reshuffle"
        and _are_cards(event[1])
    )


def _compare_events(game: Game, events: list[Any], start: int, where: str) -> None:
    """Compare what the game wrote from index `start` on with the record."""
    for index in range(start, len(game.events)):
        here, due = f"{where}, event {index}", game.events[index]
        _need(index < len(events), f"{here}: {due} is missing")
        # By their text, for which True, 1 and 1.0 are not the same.
        _need(repr(events[index]) == repr(due), f"{here}: must be {due}, not {events[index]!r}")
