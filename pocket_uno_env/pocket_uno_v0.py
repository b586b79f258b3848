"""UNO Pocket and classic UNO for PettingZoo: ``env`` (wrapped) and ``raw_env``."""

from .aec_env import env, raw_env

__all__ = ["env", "raw_env"]
