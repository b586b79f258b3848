"""The fields of rules in a file, TOML or JSON, as plain values.

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

SUFFIXES = (".toml", ".json")
LIMIT = 100_000
"""The most bytes of a file."""


def read_fields(path: str | Path) -> dict[str, Any]:
    """The fields in a file, without those that are null.

    Raises
    ------
    FileError
        When the file cannot be read or holds no table of fields; the message names it.
    """
    path = _checked(path)
    data = read_file(path, LIMIT)
    fields = _parse_toml(data, path) if path.suffix == ".toml" else parse_json(data, str(path))
    if not isinstance(fields, Mapping):
        raise FileError(f"{path} holds no table of fields")
    return {key: value for key, value in fields.items() if value is not None}


def write_fields(path: str | Path, fields: Mapping[str, Any]) -> None:
    """Write fields to a file, whole; its suffix says whether as TOML or JSON.

    Raises
    ------
    FileError
        When the file has another suffix or cannot be written.
    """
    path = _checked(path)
    text = json.dumps(fields, indent=1) if path.suffix == ".json" else _toml(fields)
    write_whole(path, (text + "\n").encode())


def _checked(path: str | Path) -> Path:
    path = Path(path)
    if path.suffix not in SUFFIXES:
        raise FileError(f"{path} should end in {' or '.join(SUFFIXES)}")
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
