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

from .rules import Rules, RulesError

SUFFIXES = (".toml", ".json")


def load_rules(path: str | Path) -> Rules:
    """The rules in a file: a preset by its ``name``, and the fields that differ from it.

    Raises
    ------
    RulesError
        When the file cannot be read or holds no rules; the message names file and reason.
    """
    path = _checked(path)
    try:
        text = path.read_text("utf-8")
        fields = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except OSError as error:
        raise RulesError(f"cannot read rules from {path}: {error.strerror}") from None
    except ValueError as error:
        raise RulesError(f"{path} is no {path.suffix[1:].upper()}: {error}") from None
    if not isinstance(fields, Mapping):
        raise RulesError(f"{path} holds no table of fields")
    changed = {key: value for key, value in fields.items() if value is not None}
    try:
        return Rules.preset(changed.pop("name", "custom"), **changed)
    except RulesError as error:
        raise RulesError(f"{path}: {error}") from None


def save_rules(rules: Rules, path: str | Path) -> None:
    """Write all fields to a file; its suffix says whether as TOML or JSON."""
    path = _checked(path)
    fields = rules.to_dict()
    text = json.dumps(fields, indent=1) if path.suffix == ".json" else _toml(fields)
    path.write_text(text + "\n", "utf-8")


def _checked(path: str | Path) -> Path:
    path = Path(path)
    if path.suffix not in SUFFIXES:
        raise RulesError(f"{path} should end in {' or '.join(SUFFIXES)}")
    return path


def _toml(fields: Mapping[str, Any]) -> str:
    tables = {name: value for name, value in fields.items() if isinstance(value, Mapping)}
    lines = [f"{key} = {json.dumps(fields[key])}" for key in fields if key not in tables]
    for name, table in tables.items():
        lines += ["", f"[{name}]", *(f"{json.dumps(key)} = {n}" for key, n in table.items())]
    return "\n".join(lines)
