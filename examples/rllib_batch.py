"""PPO self-play in Ray RLlib on the compiled batch: the fast path, on one machine or many.

    python examples/rllib_batch.py
    python examples/rllib_batch.py --steps 5000000 --env-runners 2 --out runs/rllib
    python examples/rllib_batch.py --steps 9000000 --env-runners 2 --out runs/rllib --resume
    RAY_ADDRESS=auto python examples/rllib_batch.py --env-runners 8 --learners 8

One network sits in every seat. Needs the extra ``rllib``; docs/ecosystem/rllib.md says how to go
on from here, and what more machines bring.
"""

import shutil
from pathlib import Path

import ray
import tyro
from ray.rllib.algorithms.ppo import PPOConfig

from pocket_uno_env.cli.progress import Display
from pocket_uno_env.envs.rllib import module_spec
from pocket_uno_env.envs.rllib_batch import BatchEnvRunner, FragmentsToBatch

VIEW = "canonical"
GAMMA, LAMBDA = 1.0, 0.95


def config(rules: str, num_players: int, env_runners: int, learners: int, games: int, seed: int):
    """PPO whose samples come from `BatchEnvRunner`."""
    game = {"rules": rules, "num_players": num_players}
    return (
        PPOConfig()
        .environment(env_config={**game, "max_cycles": 400, "view": VIEW})
        .rl_module(rl_module_spec=module_spec(**game, view=VIEW, hidden=(256, 256)))
        .env_runners(
            env_runner_cls=BatchEnvRunner,
            num_env_runners=env_runners,
            num_envs_per_env_runner=games,
        )
        .learners(
            num_learners=learners,
            learner_connector=lambda *spaces: FragmentsToBatch(gamma=GAMMA, lambda_=LAMBDA),
            add_default_connectors_to_learner_pipeline=False,
        )
        .training(
            train_batch_size_per_learner=16_384,
            minibatch_size=2048,
            num_epochs=3,
            lr=5e-4,
            entropy_coeff=0.01,
            vf_loss_coeff=0.5,
            use_kl_loss=False,
            grad_clip=0.5,
        )
        .debugging(seed=seed)
    )


def main(
    steps: int = 50_000,
    rules: str = "pocket",
    num_players: int = 2,
    env_runners: int = 1,
    learners: int = 0,
    games: int = 256,
    save_every: int = 20,
    seed: int = 1,
    out: Path = Path("runs/rllib"),
    resume: bool = False,
) -> None:
    """Train, and save checkpoints that evaluate.py plays with.

    Parameters
    ----------
    steps
        Decisions of all seats, in all.
    rules
        The name of a preset.
    num_players
        Seats at each table.
    env_runners
        Processes that play; 0 plays where it learns.
    learners
        Processes that learn; 0 learns in this one.
    games
        Games side by side in each env runner.
    save_every
        Iterations between checkpoints.
    seed
        Of games, weights and sampling.
    out
        The folder of the checkpoints.
    resume
        Go on from the newest checkpoint in `out`.
    """
    out = out.resolve()
    saved = sorted(out.glob("step-*"))
    if saved and not resume:
        raise SystemExit(f"{out} holds a training; go on with it by --resume, or choose another")
    ray.init()  # the cluster of RAY_ADDRESS, if there is one, else one on this machine
    algorithm = config(rules, num_players, env_runners, learners, games, seed).build_algo()
    if saved:
        algorithm.restore_from_path(str(saved[-1]))
    with Display() as display:
        made = int(saved[-1].name.removeprefix("step-")) if saved else 0
        display.begin("self-play", steps, made)
        while made < steps:
            found = algorithm.train()["env_runners"]
            made = int(found["num_env_steps_sampled_lifetime"])
            display.report(made, {"decisions_a_round": found.get("episode_len_mean", 0.0)})
            if made >= steps or algorithm.iteration % save_every == 0:
                part = out / "part"
                shutil.rmtree(part, ignore_errors=True)
                algorithm.save_to_path(str(part))
                part.rename(out / f"step-{made:012d}")
    algorithm.stop()
    ray.shutdown()
    newest = sorted(out.glob("step-*"))[-1]
    players = "" if num_players == 2 else f" --num-players {num_players}"
    print(f"evaluate.py --agents rllib:{newest} random --rules {rules}{players}")


if __name__ == "__main__":
    tyro.cli(main)
