"""UNO Pocket and classic UNO as environments for training, benchmarking and studying agents."""

from .observation import describe
from .record import replay
from .record_format import RecordError
from .registration import register_envs
from .rules import Rules, RulesError

__all__ = ["RecordError", "Rules", "RulesError", "describe", "replay"]
__version__ = "0.1.0"

register_envs()
