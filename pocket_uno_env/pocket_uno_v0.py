"""UNO Pocket and classic UNO for PettingZoo: ``env`` (wrapped) and ``raw_env``."""

from pocket_uno_env.envs.aec import raw_env
from pocket_uno_env.envs.aec_wrapped import env

__all__ = ["env", "raw_env"]
