"""UNO Pocket and classic UNO as environments for training, benchmarking and studying agents."""

from .rules import Rules, RulesError

__all__ = ["Rules", "RulesError"]
__version__ = "0.1.0"
