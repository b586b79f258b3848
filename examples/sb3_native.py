"""MaskablePPO on the native VecEnv, with MaskableEvalCallback.

    python examples/sb3_native.py
    python examples/sb3_native.py --steps 1000000

An illegal action would raise and end the program: none comes, however long it runs. Needs the
extra ``train``. `train.py` does the same with self-play, a lesson and checkpoints.
"""

import torch
import tyro
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.callbacks import MaskableEvalCallback
from stable_baselines3.common.vec_env import VecMonitor

from pocket_uno_env.envs.sb3 import LearnerVecEnv


def main(steps: int = 40_000, games: int = 256, seed: int = 1) -> None:
    """Train against `random`, and measure against `greedy` four times on the way.

    Parameters
    ----------
    steps
        Decisions of the learner, in all.
    games
        Games that run side by side.
    seed
        Of games, weights and sampling.
    """
    torch.set_num_threads(1)  # small networks are computed fastest so
    env = VecMonitor(LearnerVecEnv(games, "pocket", opponents=["random"], seed=seed))
    against = VecMonitor(LearnerVecEnv(games, "pocket", opponents=["greedy"], seed=seed + 1))
    evaluation = MaskableEvalCallback(
        against, n_eval_episodes=games, eval_freq=max(1, steps // games // 4), verbose=1
    )
    model = MaskablePPO("MlpPolicy", env, n_steps=32, batch_size=2048, n_epochs=4, seed=seed)
    model.learn(steps, callback=evaluation)
    print(f"{model.num_timesteps:,} decisions, none of them illegal")


if __name__ == "__main__":
    tyro.cli(main)
