"""Rules in a file, TOML or JSON, so that a study is a file.

TOML is written by hand: the standard library reads it but does not write it, and all there is to
write are words, numbers, truth values and two flat tables.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pocket_uno_env.files import FileError, parse_json, read_file, write_whole

from .rules import Rules, RulesError

SUFFIXES = (".toml", ".json")
LIMIT = 100_000
"""The most bytes of a file."""


def load_rules(path: str | Path) -> Rules:
    """The rules in a file: a preset by its ``name``, and the fields that differ from it.

    Raises
    ------
    RulesError
        When the file cannot be read or holds no rules; the message names file and reason.
    """
    path = _checked(path)
    try:
        data = read_file(path, LIMIT)
        fields = _parse_toml(data, path) if path.suffix == ".toml" else parse_json(data, str(path))
    except FileError as error:
        raise RulesError(str(error)) from None
    if not isinstance(fields, Mapping):
        raise RulesError(f"{path} holds no table of fields")
    changed = {key: value for key, value in fields.items() if value is not None}
    try:
        return Rules.preset(changed.pop("name", "custom"), **changed)
    except RulesError as error:
        raise RulesError(f"{path}: {error}") from None


def save_rules(rules: Rules, path: str | Path) -> None:
    """Write all fields to a file, whole; its suffix says whether as TOML or JSON."""
    path = _checked(path)
    fields = rules.to_dict()
    text = json.dumps(fields, indent=1) if path.suffix == ".json" else _toml(fields)
    try:
        write_whole(path, (text + "\n").encode())
    except FileError as error:
        raise RulesError(str(error)) from None


def _checked(path: str | Path) -> Path:
    path = Path(path)
    if path.suffix not in SUFFIXES:
        raise RulesError(f"{path} should end in {' or '.join(SUFFIXES)}")
    return path


def _parse_toml(data: bytes, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except RecursionError:
        raise FileError(f"{path} is nested too deeply") from None
    except ValueError as error:  # UnicodeDecodeError is one
        raise FileError(f"{path} is no TOML: {error}") from None


def _toml(fields: Mapping[str, Any]) -> str:
    tables = {name: value for name, value in fields.items() if isinstance(value, Mapping)}
    lines = [f"{key} = {json.dumps(fields[key])}" for key in fields if key not in tables]
    for name, table in tables.items():
        lines += ["", f"[{name}]", *(f"{json.dumps(key)} = {n}" for key, n in table.items())]
    return "\n".join(lines)
