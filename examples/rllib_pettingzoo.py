"""PPO self-play in Ray RLlib on the PettingZoo environment, by RLlib's own env runners.

    python examples/rllib_pettingzoo.py
    RAY_ADDRESS=auto python examples/rllib_pettingzoo.py --steps 1000000 --env-runners 32

All seats share one masked network. `rllib_batch.py` does the same many times faster. Needs the
extra ``rllib``; see docs/ecosystem/rllib.md.
"""

from pathlib import Path

import ray
import tyro
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec

from pocket_uno_env.envs.rllib import PocketUnoMultiAgentEnv, module_spec


def config(num_players: int, env_runners: int, seed: int):
    """Multi-agent PPO with one policy, ``"shared"``, for all seats."""
    return (
        PPOConfig()
        .environment(
            PocketUnoMultiAgentEnv,
            env_config={"num_players": num_players, "max_cycles": 400},
            disable_env_checking=True,  # the check plays illegal actions, which raise
        )
        .multi_agent(policies={"shared"}, policy_mapping_fn=lambda *args, **kwargs: "shared")
        .rl_module(
            rl_module_spec=MultiRLModuleSpec(
                rl_module_specs={"shared": module_spec("pocket", num_players)}
            )
        )
        .env_runners(num_env_runners=env_runners, num_envs_per_env_runner=16)
        .training(
            train_batch_size_per_learner=2048,
            minibatch_size=512,
            num_epochs=3,
            lr=5e-4,
            gamma=1.0,
            lambda_=0.95,
            entropy_coeff=0.01,
            vf_loss_coeff=0.5,
            use_kl_loss=False,
            grad_clip=0.5,
        )
        .debugging(seed=seed)
    )


def main(
    steps: int = 6000,
    num_players: int = 2,
    env_runners: int = 1,
    seed: int = 1,
    out: Path = Path("runs/rllib-pettingzoo"),
) -> None:
    """Train, and save a checkpoint that evaluate.py plays with.

    Parameters
    ----------
    steps
        Decisions of all seats, in all.
    num_players
        Seats at each table.
    env_runners
        Processes that play; 0 plays where it learns.
    seed
        Of games, weights and sampling.
    out
        The checkpoint.
    """
    ray.init()  # the cluster of RAY_ADDRESS, if there is one, else one on this machine
    algorithm = config(num_players, env_runners, seed).build_algo()
    made = 0
    while made < steps:
        found = algorithm.train()["env_runners"]
        made = int(found["num_env_steps_sampled_lifetime"])
        length = found.get("episode_len_mean", float("nan"))
        print(f"{made:,} of {steps:,} decisions, {length:.0f} a round")
    algorithm.save_to_path(str(out.resolve()))
    algorithm.stop()
    ray.shutdown()
    players = "" if num_players == 2 else f" --num-players {num_players}"
    print(f"evaluate.py --agents rllib:{out} random{players}")


if __name__ == "__main__":
    tyro.cli(main)
