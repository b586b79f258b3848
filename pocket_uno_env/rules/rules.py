"""`Rules`: every decision of the rules as a validated field (docs/rules.md, section 9).

`Rules` is what people write; `Rules.table` is the same as one flat record that compiled code reads.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from pocket_uno_env.arguments import excerpt
from pocket_uno_env.compiled.kernel import JIT
from pocket_uno_env.files import FileError

from .cards import COLORS, DIGITS, MAX_CARDS, SYMBOLS, WILDS, Kind, make_kinds
from .file import read_fields, write_fields
from .limits import MAX_SEATS
from .table import RULES_ROW, rules_table

_CHOICES: dict[str, tuple[Any, ...]] = {
    "name": ("pocket", "pocket51", "classic", "mini", "custom"),
    "opening_wild": ("put_back", "first_player_chooses"),
    "two_player_reverse": ("skip", "literal"),
    "wild_draw_four": ("enforced", "challenge"),
    "challenge_condition": ("any_playable", "matching_color"),
    "uno_call": ("explicit", "automatic"),
    "stacking": (False, "same", "any"),
}

_POCKET_SYMBOLS = {**{d: 1 for d in DIGITS[1:]}, "+1": 1, "S": 1, "V": 1}
_CLASSIC_SYMBOLS = {"0": 1, **{d: 2 for d in DIGITS[1:]}, "+2": 2, "S": 2, "V": 2}

_PRESETS: dict[str, dict[str, Any]] = {
    "pocket": {},
    "pocket51": {"wild_copies": {"W": 1, "WD": 1, "W+2": 1, "W+4": 0}},
    "classic": {
        "symbols": _CLASSIC_SYMBOLS,
        "wild_copies": {"W": 4, "WD": 0, "W+2": 0, "W+4": 4},
        "hand_size": 7,
        "max_players": 10,
        "match_goal": 500,
    },
    "mini": {
        "colors": 2,
        "symbols": {"1": 1, "2": 1},
        "wild_copies": {"W": 2, "WD": 0, "W+2": 0, "W+4": 0},
        "hand_size": 2,
        "max_players": 2,
        "match_goal": 20,
        "uno_call": "automatic",
    },
}
PRESETS = tuple(_PRESETS)
HOUSE_RULES = ("stacking", "seven_zero", "jump_in", "forced_play", "elimination")
"""The fields that are off in every preset (docs/rules.md, section 11)."""
_SWITCHES = ("draw_until_playable", *(name for name in HOUSE_RULES if name not in _CHOICES))


class RulesError(ValueError):
    """A field of `Rules` has a value that makes no game; the message names field and reason."""


@dataclass(frozen=True)
class Rules:
    """The rules of one game; immutable, hashable, compared by value.

    Build one with `Rules.preset`; the constructor's defaults are the preset ``"pocket"``.

    Raises
    ------
    RulesError
        When a field's value makes no game. The message names the field and the reason.

    Notes
    -----
    Field by field: docs/rules.md, section 9.
    """

    name: str = "pocket"
    colors: int = 4
    symbols: Mapping[str, int] = field(default_factory=lambda: dict(_POCKET_SYMBOLS))
    wild_copies: Mapping[str, int] = field(
        default_factory=lambda: {"W": 2, "WD": 1, "W+2": 1, "W+4": 0}
    )
    hand_size: int = 5
    max_players: int = 5
    match_goal: int = 250
    opening_wild: Literal["put_back", "first_player_chooses"] = "put_back"
    two_player_reverse: Literal["skip", "literal"] = "skip"
    draw_until_playable: bool = False
    draw_limit: int = 10
    wild_draw_four: Literal["enforced", "challenge"] = "enforced"
    challenge_condition: Literal["any_playable", "matching_color"] = "any_playable"
    uno_call: Literal["explicit", "automatic"] = "explicit"
    stacking: Literal[False, "same", "any"] = False
    seven_zero: bool = False
    jump_in: bool = False
    forced_play: bool = False
    elimination: bool = False

    def __post_init__(self) -> None:
        """Check every field and bring the mappings into their canonical order."""
        for name, choices in _CHOICES.items():
            value = getattr(self, name)
            # By type too: 0 and -0.0 equal False.
            if not any(isinstance(value, type(c)) and value == c for c in choices):
                raise RulesError(
                    f"Rules.{name} is {excerpt(value)}; expected one of {list(choices)}"
                )
        for name in _SWITCHES:
            value = getattr(self, name)
            if not isinstance(value, bool):
                raise RulesError(f"Rules.{name} is {excerpt(value)}; expected true or false")
        self._check_int("colors", 1, len(COLORS))
        object.__setattr__(self, "symbols", self._copies("symbols", SYMBOLS))
        object.__setattr__(self, "wild_copies", self._copies("wild_copies", WILDS))
        self._check_int("hand_size", 1, MAX_CARDS)
        self._check_int("max_players", 2, MAX_SEATS)
        self._check_int("match_goal", 1, 1_000_000)
        self._check_int("draw_limit", 1, MAX_CARDS)
        self._check_deck()

    def __hash__(self) -> int:
        """Of all fields, found once: tables are looked up by rules in every call."""
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(tuple(getattr(self, f.name) for f in dataclasses.fields(self)))

    def _check_int(self, name: str, low: int, high: int) -> None:
        value = getattr(self, name)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise RulesError(
                f"Rules.{name} is {excerpt(value)}; expected a whole number from {low} to {high}"
            )

    def _copies(self, name: str, known: tuple[str, ...]) -> _FrozenCopies:
        value = getattr(self, name)
        if not isinstance(value, Mapping):
            raise RulesError(
                f"Rules.{name} is {excerpt(value)}; expected a table of copies by card"
            )
        for key, copies in value.items():
            if key not in known:
                raise RulesError(
                    f"Rules.{name} names {excerpt(key)}, which is no card; "
                    f"expected some of {list(known)}"
                )
            whole = isinstance(copies, int) and not isinstance(copies, bool)
            if not whole or not 0 <= copies <= MAX_CARDS:
                raise RulesError(
                    f"Rules.{name}[{key!r}] is {excerpt(copies)}; "
                    f"expected a whole number of copies from 0 to {MAX_CARDS}"
                )
        listed = known if name == "wild_copies" else tuple(k for k in known if value.get(k, 0))
        return _FrozenCopies((key, value.get(key, 0)) for key in listed)

    def _check_deck(self) -> None:
        if sum(self.symbols.values()) == 0:
            raise RulesError("Rules.symbols has no card; a deck needs coloured cards")
        if self.n_cards > MAX_CARDS:
            raise RulesError(
                f"Rules make a deck of {self.n_cards} cards; at most {MAX_CARDS} are supported"
            )
        self._check_deal(2)

    def _check_deal(self, num_players: int) -> None:
        coloured = sum(kind.copies for kind in self.kinds if kind.color is not None)
        dealt = self.hand_size * num_players
        if coloured < dealt or self.n_cards <= dealt:
            raise RulesError(
                f"Rules.hand_size {self.hand_size} for {num_players} players deals {dealt} cards, "
                f"but the deck has {self.n_cards} cards, {coloured} of them coloured; the coloured"
                " ones must cover the hands and a card must be left to open with"
            )

    @classmethod
    def preset(cls, /, name: str, **changed: Any) -> Rules:
        """A preset (``"pocket"``, ``"pocket51"``, ``"classic"``, ``"mini"``), fields changed."""
        if not isinstance(name, str):
            raise RulesError(f"rules is {excerpt(name)}; expected the name of a preset")
        if name == "custom":
            base: dict[str, Any] = {}
        elif name in _PRESETS:
            base = _PRESETS[name]
        else:
            raise RulesError(
                f"unknown rules {excerpt(name)}; "
                f"expected one of {list(PRESETS)}, or a .toml or .json file"
            )
        known = {f.name for f in dataclasses.fields(cls)}
        if unknown := sorted(set(changed) - known):
            raise RulesError(
                f"Rules has no field {excerpt(unknown[0])}; its fields are {sorted(known)}"
            )
        return cls(**{"name": name, **base, **changed})

    @classmethod
    def of(cls, rules: str | Rules) -> Rules:
        """`rules` itself, the preset of that name, or the rules in that file (TOML or JSON)."""
        if isinstance(rules, Rules):
            return rules
        if isinstance(rules, str):
            if rules.endswith((".toml", ".json")):
                return cls.load(rules)
            return cls.preset(rules)
        raise RulesError(f"rules is {excerpt(rules)}; expected Rules or one of {list(PRESETS)}")

    @classmethod
    def load(cls, path: str | Path) -> Rules:
        """The rules in a file that ends in ``.toml`` or ``.json``.

        It holds the ``name`` of a preset and the fields that differ from it.

        Raises
        ------
        RulesError
            When the file cannot be read or holds no rules; the message names file and reason.
        """
        try:
            fields = read_fields(path)
        except FileError as error:
            raise RulesError(str(error)) from None
        try:
            return cls.preset(fields.pop("name", "custom"), **fields)
        except RulesError as error:
            raise RulesError(f"{path}: {error}") from None

    def save(self, path: str | Path) -> None:
        """Write all fields to a file that ends in ``.toml`` or ``.json``.

        Raises
        ------
        RulesError
            When the file has another ending or cannot be written; what was there stays.
        """
        try:
            write_fields(path, self.to_dict())
        except FileError as error:
            raise RulesError(str(error)) from None

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Rules:
        """Rules from a record's ``rules``: all fields, unknown ones only if false or null.

        The fields of house rules may be missing or null: they are then off.

        Raises
        ------
        RulesError
            For other fields, and values that make no game.
        """
        if not isinstance(fields, Mapping):
            raise RulesError(f"rules is {excerpt(fields)}; expected a table of fields")
        known = {f.name for f in dataclasses.fields(cls)}
        off = {name: False for name in HOUSE_RULES if fields.get(name) is None}
        fields = {**fields, **off}
        for key, value in fields.items():
            if key not in known and value is not False and value is not None:
                raise RulesError(
                    f"unknown field {excerpt(key)} with value {excerpt(value)} in rules"
                )
        if missing := sorted(known - set(fields)):
            raise RulesError(f"field {missing[0]!r} is missing in rules")
        return cls(**{key: value for key, value in fields.items() if key in known})

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain values, as they stand in a record."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return {k: dict(v) if isinstance(v, Mapping) else v for k, v in fields.items()}

    def check_players(self, num_players: int) -> int:
        """`num_players`, if the rules allow as many; else RulesError."""
        if (
            isinstance(num_players, bool)
            or not isinstance(num_players, int | np.integer)
            or not 2 <= num_players <= self.max_players
        ):
            raise RulesError(
                f"num_players is {excerpt(num_players)}; rules {self.name!r} are for 2 to "
                f"{self.max_players} players (Rules.max_players)"
            )
        self._check_deal(num_players)
        return int(num_players)

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        """The card kinds in the order of their ids."""
        return make_kinds(self.colors, self.symbols, self.wild_copies)

    @cached_property
    def kind_ids(self) -> dict[str, int]:
        """Card name to kind id."""
        return {kind.name: index for index, kind in enumerate(self.kinds)}

    @cached_property
    def faces(self) -> tuple[str, ...]:
        """The symbols and wilds in the deck: a card kind without its colour."""
        return tuple(dict.fromkeys(kind.symbol for kind in self.kinds))

    @property
    def n_cards(self) -> int:
        """Physical cards in the deck."""
        return sum(kind.copies for kind in self.kinds)

    @property
    def deck(self) -> list[str]:
        """The names of all cards, sorted by kind."""
        return [kind.name for kind in self.kinds for _ in range(kind.copies)]

    @cached_property
    def table(self) -> Any:
        """What compiled code reads: dtype `RULES_ROW`, shape ``(1,)``; nobody can write it.

        Kernels called from Python take arrays and an index, because Numba dispatches on an array
        ten times faster than on a single record.
        """
        kind = np.ndarray if JIT else np.recarray
        return kind(1, RULES_ROW, _TableBytes.of(self))

    @cached_property
    def _table(self) -> Any:
        """The same for the package's own calls: Numba compiles anew for arrays of another kind."""
        return rules_table(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """The fields alone: copies make their own tables."""
        return type(self), tuple(getattr(self, f.name) for f in dataclasses.fields(self))


def rules_of(rules: Any) -> Rules:
    """The rules that a caller gives as `Rules` or as ``Rules.table``.

    Raises
    ------
    TypeError
        For anything else, such as a copy of a table, which might have been changed.
    """
    if isinstance(rules, Rules):
        return rules
    base = rules
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, _TableBytes) and rules.dtype == RULES_ROW:
        return base.rules
    raise TypeError(f"rules is {type(rules).__name__}; expected Rules, or Rules.table itself")


class _TableBytes(bytes):
    """The memory of a ``Rules.table``, which knows whose it is."""

    rules: Rules

    @classmethod
    def of(cls, rules: Rules) -> _TableBytes:
        made = cls(rules._table.tobytes())
        made.rules = rules
        return made


class _FrozenCopies(dict[str, int]):
    """A table of copies that hashes by value, so that `Rules` can be a dictionary's key."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self.items()))

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise TypeError("Rules are immutable; make new ones with Rules.preset")

    __setitem__ = __delitem__ = clear = pop = popitem = setdefault = update = _refuse
    __ior__ = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return (_FrozenCopies, (tuple(self.items()),))
