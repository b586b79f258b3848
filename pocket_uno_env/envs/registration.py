"""Makes the environments known to PettingZoo's and Gymnasium's registries."""

from __future__ import annotations

AEC_ID = "pocket_uno/pocket_uno_v0"
GYM_ID = "pocket_uno/PocketUno-v0"


def register_envs() -> None:
    """Register, so that ``pettingzoo.make("aec", AEC_ID)`` and ``gymnasium.make(GYM_ID)`` work.

    A process that starts afresh knows them once this package is imported, which
    ``gymnasium.make("pocket_uno_env:" + GYM_ID)`` does. PettingZoo's registry is new in 1.27. Where
    a library is missing there is nothing to do.
    """
    try:
        import pettingzoo
    except ImportError:
        pass
    else:
        if hasattr(pettingzoo, "register") and AEC_ID not in pettingzoo.aec_registry:
            pettingzoo.register("aec", AEC_ID, entry_point="pocket_uno_env.pocket_uno_v0:env")
    try:
        import gymnasium
    except ImportError:
        return
    if GYM_ID not in gymnasium.registry:
        gymnasium.register(
            GYM_ID,
            entry_point="pocket_uno_env.envs.gym:PocketUnoEnv",
            vector_entry_point="pocket_uno_env.envs.gym_vector:PocketUnoVectorEnv",
        )
