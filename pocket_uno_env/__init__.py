"""UNO Pocket and classic UNO as environments for training, benchmarking and studying agents."""

from .envs.registration import register_envs
from .observation.blocks import describe
from .records.record import replay
from .reference.record_format import RecordError
from .rules.rules import Rules, RulesError
from .version import __version__

__all__ = ["RecordError", "Rules", "RulesError", "__version__", "describe", "replay"]

register_envs()
