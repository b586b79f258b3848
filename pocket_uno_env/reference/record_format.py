"""What a record is: its fields, their types and bounds (docs/rules.md, sections 8, 9 and 11).

The engine and the referee both read records through `read_record`, and so take the same for one.
Whether the game in it was played by the rules, each finds out on its own. Like the referee, this
knows nothing of the engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pocket_uno_env.arguments import excerpt
from pocket_uno_env.files import FileError, parse_json

from .game import COLORS, HOUSE_OFF, PRESETS, SYMBOLS, WILDS, deck_counts, is_wild

FORMAT = "uno-record/1"
FIELDS = tuple(PRESETS["pocket"])
"""Of `Rules`."""
NAMES = (*PRESETS, "custom")
"""What rules may be called."""
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
"""The fields of `Rules` that hold one of a few words or a truth value."""
MAX_CARDS = 128
"""The most cards of a deck."""
BOUNDS = {
    "colors": (1, 4),
    "hand_size": (1, MAX_CARDS),
    "max_players": (2, 10),
    "match_goal": (1, 1_000_000),
    "draw_limit": (1, MAX_CARDS),
}
"""The fields of `Rules` that hold a whole number, and the least and the largest."""
CARDS = {*WILDS, *(color + symbol for color in COLORS for symbol in SYMBOLS)}
LONGEST_NAME = 20
"""No action has a longer name."""
LARGEST = 2**63 - 1
"""No number is larger but a seed, which may be of any size."""
COPIES = {"symbols": SYMBOLS, "wild_copies": WILDS}
"""The fields of `Rules` that hold a number of copies by symbol or wild."""


class RecordError(ValueError):
    """What is no record, or breaks a rule; the message names the round and the event."""


def parse_record(text: str | bytes) -> Any:
    """The value in a line of a file of records; `RecordError` where it is no strict JSON."""
    try:
        return parse_json(text, "the line")
    except FileError as error:
        raise RecordError(str(error)) from None


def read_record(record: Any) -> dict[str, Any]:
    """A record in which every field has the type and the bounds that it should have.

    Further fields of the record and of its rounds are passed over.

    Parameters
    ----------
    record : dict
        As JSON has it: dicts, lists, str, int, bool and None.

    Returns
    -------
    dict
        The record, with the fields of house rules that were missing or null set to false, and
        ``scores`` that were missing set to zeros.

    Raises
    ------
    RecordError
        Naming the first field that is missing or wrong.
    """
    need(isinstance(record, Mapping), "the record must be an object")
    form = record.get("format")
    need(form == FORMAT, f"format {excerpt(form)} is unknown, not {FORMAT!r}")
    _need_fields(record, ("rules", "players", "seed", "match", "rounds"), "")
    players, rounds = record["players"], record["rounds"]
    need(isinstance(players, list), "players: must be a list of names")
    rules = read_rules(record["rules"], len(players))
    named = all(isinstance(name, str) for name in players)
    need(named, "players: must be a list of names")
    need(record["seed"] is None or type(record["seed"]) is int, "seed: must be an integer or null")
    need(isinstance(record["match"], bool), "match: must be true or false")
    need(isinstance(rounds, list) and len(rounds) > 0, "rounds: must be a list of at least one")
    single = record["match"] or len(rounds) == 1
    need(single, f"rounds: {len(rounds)}, but a record that is no match has one")
    for number, entry in enumerate(rounds):
        _check_round(entry, len(players), f"round {number}")
    scores = record.get("scores", [0] * len(players))
    need(
        isinstance(scores, list)
        and len(scores) == len(players)
        and all(_is_int(score) and 0 <= score < rules["match_goal"] for score in scores),
        f"scores: must be {len(players)} integers from 0 to {rules['match_goal'] - 1}, "
        f"not {excerpt(scores)}",
    )
    return {**record, "rules": rules, "scores": scores}


def read_rules(given: Any, num_players: int) -> dict[str, Any]:
    """The rules of a record for so many players, house rules that are missing or null off."""
    need(isinstance(given, Mapping), "rules: must be an object")
    for field, value in given.items():
        known = field in FIELDS or value is None or value is False
        need(known, f"rules: unknown field {excerpt(field)} with value {excerpt(value)}")
    rules = with_house_rules(given)
    _need_fields(rules, FIELDS, "rules: ")
    for field, choices in {"name": NAMES, **CHOICES}.items():
        allowed = [value for value in choices if type(value) is type(rules[field])]
        need(
            rules[field] in allowed,
            f"rules: {field} must be one of {choices}, not {excerpt(rules[field])}",
        )
    for field, (least, most) in BOUNDS.items():
        need(
            _is_int(rules[field]) and least <= rules[field] <= most,
            f"rules: {field} must be an integer from {least} to {most}, "
            f"not {excerpt(rules[field])}",
        )
    for field, names in COPIES.items():
        need(isinstance(rules[field], Mapping), f"rules: {field} must be an object")
        for name, copies in rules[field].items():
            good = name in names and _is_int(copies) and 0 <= copies <= MAX_CARDS
            need(good, f"rules: {field} cannot hold {excerpt(name)}: {excerpt(copies)}")
    most = rules["max_players"]
    fits = 2 <= num_players <= most
    need(fits, f"players: {num_players}, but these rules are for 2 to {most}")
    deck = deck_counts(rules)
    cards = deck.total()
    need(cards <= MAX_CARDS, f"rules: a deck of {cards} cards, but {MAX_CARDS} are the most")
    dealt = num_players * rules["hand_size"]
    coloured = sum(copies for card, copies in deck.items() if not is_wild(card))
    need(
        dealt <= coloured and dealt < cards,
        f"rules: {dealt} cards are dealt, but of the {cards} in the deck {coloured} are coloured; "
        "these must cover the hands, and a card must be left to open with",
    )
    return rules


def with_house_rules(rules: Mapping[str, Any]) -> dict[str, Any]:
    """Rules in which a house rule that is missing or null is off (section 11)."""
    off = {field for field in HOUSE_OFF if rules.get(field) is None}
    return {**rules, **dict.fromkeys(off, False)}


def need(condition: bool, message: str) -> None:
    """Raise `RecordError` unless the condition holds."""
    if not condition:
        raise RecordError(message)


def _check_round(entry: Any, num_players: int, where: str) -> None:
    need(isinstance(entry, Mapping), f"{where}: must be an object")
    fields = ("dealer", "hands", "opening", "turned_back", "pile", "events", "result")
    _need_fields(entry, fields, f"{where}: ")
    need(
        _is_seat(entry["dealer"], num_players),
        f"{where}: dealer must be a seat, not {excerpt(entry['dealer'])}",
    )
    hands = entry["hands"]
    shaped = isinstance(hands, list) and all(_are_cards(hand) for hand in hands)
    need(
        shaped and len(hands) == num_players,
        f"{where}: hands must be {num_players} lists of cards",
    )
    opening = entry["opening"]
    need(_is_card(opening), f"{where}: opening must be a card, not {excerpt(opening)}")
    for field in ("turned_back", "pile"):
        need(_are_cards(entry[field]), f"{where}: {field} must be a list of cards")
    need(isinstance(entry["events"], list), f"{where}: events must be a list")
    for index, event in enumerate(entry["events"]):
        if not _is_event(event):
            raise RecordError(
                f"{where}, event {index}: {excerpt(event)} is neither [seat, action], "
                '[seat, action, cards] nor ["reshuffle", cards]'
            )
    result = entry["result"]
    need(
        _is_result(result, num_players),
        f"{where}: result must hold a winner, {num_players} points and an end, "
        f"not {excerpt(result)}",
    )


def _need_fields(value: Mapping[str, Any], fields: tuple[str, ...], where: str) -> None:
    for field in fields:
        need(field in value, f"{where}field {field!r} is missing")


def _is_int(value: Any) -> bool:
    return type(value) is int and abs(value) <= LARGEST  # bool is another type


def _is_seat(value: Any, num_players: int) -> bool:
    return _is_int(value) and 0 <= value < num_players


def _is_card(value: Any) -> bool:
    return isinstance(value, str) and value in CARDS


def _are_cards(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= MAX_CARDS and all(map(_is_card, value))


def _is_event(event: Any) -> bool:
    if not isinstance(event, list) or len(event) not in (2, 3):
        return False
    if event[0] == "reshuffle":
        return len(event) == 2 and _are_cards(event[1])
    seat, name = event[:2]
    shaped = _is_int(seat) and isinstance(name, str) and len(name) <= LONGEST_NAME
    return shaped and all(map(_are_cards, event[2:]))


def _is_result(result: Any, num_players: int) -> bool:
    if not isinstance(result, Mapping) or set(result) != {"winner", "points", "end"}:
        return False
    winner, points, end = result["winner"], result["points"], result["end"]
    seated = winner is None or _is_seat(winner, num_players)
    scored = isinstance(points, list) and len(points) == num_players and all(map(_is_int, points))
    return seated and scored and (end is None or end in ("out", "blocked", "truncated"))
