"""Hashes of an agent's code and weights, to tell whether it has changed, and of rules."""

from __future__ import annotations

import hashlib
import inspect
import json
from pathlib import Path
from typing import Any

import numpy as np

from pocket_uno_env.agents.agent import Agent
from pocket_uno_env.agents.scripted import policies
from pocket_uno_env.compiled.code_cache import sources_hash
from pocket_uno_env.rules.rules import Rules


def rules_fingerprint(rules: Rules) -> str:
    """A hash of all that rules say, whatever they are called."""
    said = {name: value for name, value in rules.to_dict().items() if name != "name"}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:10]


def fingerprint(agent: Agent) -> str:
    """A hash of an agent's code and of all its weights.

    It covers the compiled core for a scripted agent, the module of the class for others, and every
    array in the agent and in the agents that it holds.
    """
    digest = hashlib.sha256(f"{agent.name} {agent.policy}".encode())
    _hash_into(digest, agent, set())
    return digest.hexdigest()[:16]


def _hash_into(digest: Any, value: Any, seen: set[int]) -> None:
    if isinstance(value, np.ndarray):
        digest.update(str((value.dtype, value.shape)).encode())
        digest.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, list | tuple):
        for item in value:
            _hash_into(digest, item, seen)
    elif isinstance(value, dict):
        for key in sorted(value, key=str):
            digest.update(str(key).encode())
            _hash_into(digest, value[key], seen)
    elif inspect.isfunction(value) or isinstance(value, Agent):
        if id(value) in seen:
            return
        seen.add(id(value))
        source = inspect.getsourcefile(value if inspect.isfunction(value) else type(value))
        if source is not None and Path(source).exists():
            digest.update(Path(source).read_bytes())
        if isinstance(value, Agent):
            if value.policy is not None:
                digest.update(sources_hash(Path(policies.__file__)).encode())
            # What the agent was last checked for, and what tables call it, is not part of it.
            others = ("_checked", "alias")
            kept = {name: of for name, of in vars(value).items() if name not in others}
            _hash_into(digest, kept, seen)
    elif isinstance(value, str | int | float | bool | None):
        digest.update(repr(value).encode())
