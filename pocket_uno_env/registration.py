"""Makes the environments known to PettingZoo's registry."""

from __future__ import annotations

AEC_ID = "pocket_uno/pocket_uno_v0"


def register_envs() -> None:
    """Register with PettingZoo, so that ``pettingzoo.make("aec", AEC_ID)`` works.

    The registry is new in PettingZoo 1.27; with an older one, or none, there is nothing to do.
    """
    try:
        import pettingzoo
    except ImportError:
        return
    if hasattr(pettingzoo, "register") and AEC_ID not in pettingzoo.aec_registry:
        pettingzoo.register("aec", AEC_ID, entry_point="pocket_uno_env.pocket_uno_v0:env")
