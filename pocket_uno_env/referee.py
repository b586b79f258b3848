"""The judge of game records: plays a record again by the slow game, and names what is wrong.

It knows a record as docs/rules.md, section 8, has it, and nothing of who wrote it: beside the slow
game of `reference` it imports nothing of this package.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from .reference import (
    COLORS,
    HOUSE_OFF,
    PRESETS,
    SYMBOLS,
    WILDS,
    Game,
    RuleError,
    deck_counts,
    is_wild,
)

#: The fields that hold one of a few words or a truth value.
CHOICES: dict[str, tuple[Any, ...]] = {
    "opening_wild": ("put_back", "first_player_chooses"),
    "two_player_reverse": ("skip", "literal"),
    "draw_until_playable": (False, True),
    "wild_draw_four": ("enforced", "challenge"),
    "challenge_condition": ("any_playable", "matching_color"),
    "uno_call": ("explicit", "automatic"),
}


class RecordError(ValueError):
    """A game record that does not follow the rules, with the round and event where it fails."""


def _need(condition: bool, message: str) -> None:
    if not condition:
        raise RecordError(message)


def _is_int(value: Any, least: int = 0) -> bool:
    return type(value) is int and value >= least


def _are_cards(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(card, str) for card in value)


def check_rules(rules: Any) -> None:
    """Refuse fields of Rules that are missing, unknown or of a wrong value (section 9)."""
    _need(isinstance(rules, dict), "rules: must be an object")
    for field, value in rules.items():
        known = field in _POCKET or value is None or value is False
        _need(known, f"rules: unknown field {field!r} with value {value!r}")
    for field in _POCKET:
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


def check_record(record: dict[str, Any]) -> None:
    """Verify a whole game record by playing it again (docs/rules.md, section 8).

    Checks the deal, every event with its cards and place, results, and the course of a match.
    A round that still runs may be the last. Raises `RecordError` naming round and event index.
    """
    try:
        record = json.loads(json.dumps(record))
    except (TypeError, ValueError) as error:
        raise RecordError(f"the record is not JSON: {error}") from error
    _need(isinstance(record, dict), "the record must be an object")
    form = record.get("format")
    _need(form == "uno-record/1", f"format {form!r} is unknown, not 'uno-record/1'")
    for field in ("rules", "players", "seed", "match", "rounds"):
        _need(field in record, f"field {field!r} is missing")
    rules, players, rounds = record["rules"], record["players"], record["rounds"]
    check_rules(rules)
    named = isinstance(players, list) and all(isinstance(name, str) for name in players)
    _need(named, "players: must be a list of names")
    fits = 2 <= len(players) <= rules["max_players"]
    _need(fits, f"players: {len(players)}, but these rules are for 2 to {rules['max_players']}")
    _need(record["seed"] is None or type(record["seed"]) is int, "seed: must be an integer or null")
    _need(isinstance(record["match"], bool), "match: must be true or false")
    _need(isinstance(rounds, list) and len(rounds) > 0, "rounds: must be a list of at least one")
    single = record["match"] or len(rounds) == 1
    _need(single, f"rounds: {len(rounds)}, but a record that is no match has one")
    totals = [0] * len(players)
    for i, entry in enumerate(rounds):
        where = f"round {i}"
        game = _check_round(entry, rules, len(players), where)
        if i > 0:
            dealer = (rounds[i - 1]["dealer"] + 1) % len(players)
            _need(game.dealer == dealer, f"{where}: the deal passes left, to seat {dealer}")
        totals = [total + points for total, points in zip(totals, game.points, strict=True)]
        if i + 1 < len(rounds):
            _need(game.end is not None, f"{where}: still runs, but another round follows")
            over = max(totals) >= rules["match_goal"]
            _need(not over, f"{where}: ends the match at {totals}, but another round follows")


def _check_round(entry: Any, rules: dict[str, Any], num_players: int, where: str) -> Game:
    """Verify one round of a record and return it as a game."""
    _need(isinstance(entry, dict), f"{where}: must be an object")
    for field in ("dealer", "hands", "opening", "turned_back", "pile", "events", "result"):
        _need(field in entry, f"{where}: field {field!r} is missing")
    _check_deal(entry, rules, num_players, where)
    game = Game(
        rules,
        **{key: entry[key] for key in ("hands", "opening", "pile")},
        dealer=entry["dealer"],
        turned_back=entry["turned_back"],
    )
    events = entry["events"]
    _need(isinstance(events, list), f"{where}: events must be a list")
    _compare_events(game, events, 0, where)
    while len(game.events) < len(events):
        _check_step(game, events, where)
    result = entry["result"]
    if isinstance(result, dict) and result.get("end") == "truncated":
        _need(game.end is None, f"{where}: result: truncated, but it had ended ({game.end})")
        game.truncate()
    same = repr(_sorted_items(result)) == repr(_sorted_items(game.result()))
    _need(same, f"{where}: result: must be {game.result()}, not {result}")
    return game


def _sorted_items(value: Any) -> Any:
    return sorted(value.items()) if isinstance(value, dict) else value


def _check_deal(entry: dict[str, Any], rules: dict[str, Any], players: int, where: str) -> None:
    """Verify dealer, hands, opening card, cards put back and draw pile (section 2)."""
    dealer, hands, opening = entry["dealer"], entry["hands"], entry["opening"]
    pile, turned_back = entry["pile"], entry["turned_back"]
    _need(_is_int(dealer) and dealer < players, f"{where}: dealer must be a seat, not {dealer!r}")
    shaped = isinstance(hands, list) and all(_are_cards(hand) for hand in hands)
    _need(shaped, f"{where}: hands must be lists of cards")
    sizes = [len(hand) for hand in hands]
    due = [rules["hand_size"]] * players
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
