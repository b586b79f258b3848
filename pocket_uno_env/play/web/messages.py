"""What a page may say to the server: JSON objects, checked field by field.

| ``do`` | fields |
|---|---|
| ``new`` | ``rules``, ``seats``, ``match``, ``pace`` |
| ``sit`` | ``token`` |
| ``act`` | ``turn``, ``action`` |
| ``step``, ``next`` | ``turn`` |
| ``pace`` | ``pace`` |
| ``analyse`` | ``turn``, ``agent`` |
| ``record`` | |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pocket_uno_env.files import FileError, parse_json

MAX_BYTES = 16_384
"""A message of a page is far smaller."""
MAX_PACE = 10_000
"""The slowest pace of agents: milliseconds before each of their decisions."""
PERSON = "person"
"""In ``seats``: somebody with a page."""


class MessageError(ValueError):
    """A message that is none; it says what was wrong and what was expected."""


def _text(longest: int) -> tuple[str, Callable[[Any], bool]]:
    return (
        f"a text of at most {longest} characters",
        lambda value: isinstance(value, str) and 0 < len(value) <= longest,
    )


def _whole(low: int, high: int) -> tuple[str, Callable[[Any], bool]]:
    return (
        f"a whole number from {low} to {high}",
        lambda value: type(value) is int and low <= value <= high,
    )


def _or_null(check: tuple[str, Callable[[Any], bool]]) -> tuple[str, Callable[[Any], bool]]:
    return f"{check[0]}, or null", lambda value: value is None or check[1](value)


def _are_seats(value: Any) -> bool:
    name = _text(200)[1]
    return isinstance(value, list) and 2 <= len(value) <= 10 and all(map(name, value))


_RULES = (
    "the name of a preset, or an object with the fields of Rules that are changed and a name",
    lambda value: _text(40)[1](value) or (isinstance(value, dict) and len(value) <= 30),
)
_TURN = _whole(0, 2**53)
_PACE = _or_null(_whole(0, MAX_PACE))
FIELDS: Mapping[str, Mapping[str, tuple[str, Callable[[Any], bool]]]] = {
    "new": {
        "rules": _RULES,
        "seats": (f"a list of 2 to 10 names of agents or {PERSON!r}", _are_seats),
        "match": ("true or false", lambda value: isinstance(value, bool)),
        "pace": _PACE,
    },
    "sit": {"token": _text(64)},
    "act": {"turn": _TURN, "action": _text(40)},
    "step": {"turn": _TURN},
    "next": {"turn": _TURN},
    "pace": {"pace": _PACE},
    "analyse": {"turn": _TURN, "agent": _text(200)},
    "record": {},
}


def read(text: str) -> dict[str, Any]:
    """A message, with every field checked; MessageError says what is wrong with it."""
    message = parse(text, MAX_BYTES)
    do = message.get("do")
    if not isinstance(do, str) or do not in FIELDS:
        raise MessageError(f"'do' is {short(do)}; expected one of {list(FIELDS)}")
    fields = FIELDS[do]
    if unknown := [key for key in message if key != "do" and key not in fields]:
        raise MessageError(f"{do!r} has no field {short(unknown[0])}; it has {list(fields)}")
    for name, (expected, holds) in fields.items():
        if name not in message:
            raise MessageError(f"{do!r} needs the field {name!r}: {expected}")
        if not holds(message[name]):
            raise MessageError(f"{name!r} is {short(message[name])}; expected {expected}")
    return message


def parse(text: str | bytes, longest: int) -> dict[str, Any]:
    """A JSON object of at most so many bytes."""
    size = len(text.encode("utf-8", "replace") if isinstance(text, str) else text)
    if size > longest:
        raise MessageError(f"{size:,} bytes are too many; at most {longest:,} are read")
    try:
        value = parse_json(text, "the message")
    except FileError as error:
        raise MessageError(str(error)) from None
    if not isinstance(value, dict):
        raise MessageError(f"expected a JSON object, not {short(value)}")
    return value


def short(value: Any) -> str:
    """A value as it may stand in an error message."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def clip(text: str) -> str:
    """A sentence as it may be told: what it quotes can be as long as a message."""
    return text if len(text) <= 600 else text[:597] + "..."
