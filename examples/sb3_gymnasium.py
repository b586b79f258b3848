"""MaskablePPO on the Gymnasium environment, in one process or in several.

    python examples/sb3_gymnasium.py
    python examples/sb3_gymnasium.py --vec subproc

The environment has the method ``action_masks`` that sb3-contrib asks for; `ActionMasker` is not
needed. The native VecEnv of sb3_native.py is many times faster; this is for wrappers of your own.
Needs the extra ``train``.
"""

from typing import Literal

import tyro
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.callbacks import MaskableEvalCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecEnv

from pocket_uno_env.envs.gym import PocketUnoEnv

VEC_ENVS: dict[str, type[VecEnv]] = {"dummy": DummyVecEnv, "subproc": SubprocVecEnv}


def main(
    vec: Literal["dummy", "subproc"] = "dummy", steps: int = 4096, games: int = 4, seed: int = 1
) -> None:
    """Train against `random`, and measure against `greedy` on the way.

    Parameters
    ----------
    vec
        All games in this process, or one process for each.
    steps
        Decisions of the learner, in all.
    games
        Games that run side by side.
    seed
        Of games, weights and sampling.
    """

    def make(opponent: str) -> VecEnv:
        kwargs = {"num_players": 2, "opponents": [opponent], "illegal": "raise"}
        return make_vec_env(PocketUnoEnv, games, seed, env_kwargs=kwargs, vec_env_cls=VEC_ENVS[vec])

    env, against = make("random"), make("greedy")
    evaluation = MaskableEvalCallback(
        against, n_eval_episodes=20, eval_freq=max(1, steps // games // 2), verbose=1
    )
    model = MaskablePPO("MlpPolicy", env, n_steps=256, batch_size=256, n_epochs=4, seed=seed)
    model.learn(steps, callback=evaluation)
    print(f"{model.num_timesteps:,} decisions, none of them illegal")
    env.close()
    against.close()


if __name__ == "__main__":
    tyro.cli(main)
