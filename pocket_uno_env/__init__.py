"""UNO Pocket and classic UNO as environments for training, benchmarking and studying agents.

What a program needs most, by short names; each is loaded when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .envs.registration import register_envs
from .version import __version__

if TYPE_CHECKING:
    from . import pocket_uno_v0
    from .agents import Agent, AgentError, ObservationAgent, load
    from .agents.scripted.policies import Policy
    from .batch import Batch
    from .equity.tables import EquityError, match_equity
    from .observation.blocks import describe
    from .records.record import replay
    from .reference.record_format import RecordError
    from .rules.rules import Rules, RulesError

_HOMES = {
    "Agent": "agents",
    "AgentError": "agents",
    "Batch": "batch",
    "EquityError": "equity.tables",
    "ObservationAgent": "agents",
    "Policy": "agents.scripted.policies",
    "RecordError": "reference.record_format",
    "Rules": "rules.rules",
    "RulesError": "rules.rules",
    "describe": "observation.blocks",
    "load": "agents",
    "match_equity": "equity.tables",
    "replay": "records.record",
}
"""The module of each name."""

__all__ = [
    "Agent",
    "AgentError",
    "Batch",
    "EquityError",
    "ObservationAgent",
    "Policy",
    "RecordError",
    "Rules",
    "RulesError",
    "__version__",
    "describe",
    "load",
    "match_equity",
    "pocket_uno_v0",
    "replay",
]

register_envs()


def __getattr__(name: str) -> Any:
    """The value of a name of `__all__`, from its module (PEP 562)."""
    if name == "pocket_uno_v0":
        return import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
