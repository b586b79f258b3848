"""Train an agent with MaskablePPO and print how often it wins.

    pocket-uno train --opponents greedy --seed 1 --out runs/mine
    pocket-uno train --resume runs/mine

Many rounds are played in parallel in one compiled batch. The opponents move
inside `step`, and the learner's seat varies. With the same settings, seed and
kind of processor a run is reproducible, also if it is interrupted and resumed.
"""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import tyro
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv

from pocket_uno_env import files
from pocket_uno_env.agents import Agent, AgentError, load
from pocket_uno_env.agents.registry import usages
from pocket_uno_env.agents.trained import run_folder
from pocket_uno_env.cli.program import print_error, program_name
from pocket_uno_env.cli.progress import Display, console, help_text, this_python
from pocket_uno_env.envs.sb3 import LearnerVecEnv
from pocket_uno_env.episodes.episode import OCCURRING
from pocket_uno_env.equity.tables import EquityError
from pocket_uno_env.evaluation.report import tables
from pocket_uno_env.rules.rules import PRESETS, Rules, RulesError
from pocket_uno_env.training import networks
from pocket_uno_env.training.all_hands import AllHands
from pocket_uno_env.training.checkpoints import Interrupted, Interrupts, Keeper, restore
from pocket_uno_env.training.curves import Curves, WinRates
from pocket_uno_env.training.final_evaluation import evaluate, gain_of_ppo
from pocket_uno_env.training.imitation import imitate
from pocket_uno_env.training.initial import as_initial, initial_of, put_weights
from pocket_uno_env.training.lookahead import look_ahead
from pocket_uno_env.training.ppo import EntropyWeight, linear_schedule, make_model
from pocket_uno_env.training.reward_scale import reward_scale, worst_payoff
from pocket_uno_env.training.self_play import Pool, SelfPlay, snapshots
from pocket_uno_env.training.settings import (
    RESUME_CHANGES,
    Settings,
    check,
    from_config,
    kept,
    names_of_code,
    option,
)


def train(
    settings: Settings,
    command: str,
    display: Display,
    held: ExitStack,
    resume: str | None = None,
) -> Path:
    """Start or resume a run and train it to its end; returns its folder.

    A new folder is locked until `held` is closed; that of a resumed run is locked already.
    `resume` is the command that goes on after an interruption, if it is none of train.py.
    """
    rules = rules_of(settings)
    settings = with_precision(settings)
    initial = initial_of(settings, rules)
    settings = as_initial(settings, initial)
    env, visible, pool = environment(settings, rules)
    teacher = teacher_of(settings, rules)
    model = new_model(settings, env, visible)
    if initial is not None:
        put_weights(model, settings, initial)
    saved, about = restore_newest(settings, model, display)
    if settings.resume and is_finished(settings, about):
        return settings.resume
    folder, config = prepare_folder(settings, rules, model, saved, command, display, held)
    resume = resume or resume_command(settings, folder)
    display.say(f"Training in {folder}")
    if saved:
        display.say(f"Resuming from {saved}")
    made = about.get("taught", sum(stages_before(settings)) + about["steps"]) if about else 0
    model.set_logger(Curves(folder, made))
    try:
        with Interrupts() as interrupts:
            keeper = Keeper(
                folder,
                settings.checkpoint_every,
                settings.keep,
                interrupts,
                display.report,
                about,
            )
            run_stages(settings, model, teacher, pool, keeper, about, display)
        keeper.save()
        run_folder.save_tensors(folder / run_folder.MODEL, networks.weights(model.policy))
        all_made = {"steps": model.num_timesteps, **keeper.spent}
        run_folder.write_config(folder, {**config, "made": all_made})
    except Interrupted:
        display.say(f"Interrupted. Resume with: {resume}")
        raise
    except (OSError, files.FileError) as error:
        cause = error if isinstance(error, OSError) else error.__cause__
        if not isinstance(cause, OSError) or isinstance(cause, BrokenPipeError):
            raise
        raise run_folder.RunError(
            f"{in_words(error)}; once this is fixed, resume with: {resume}"
        ) from error
    return folder


def rules_of(settings: Settings) -> Rules:
    """The rules; of a resumed run those in its config.json, whatever has become of their file."""
    if settings.resume is not None:
        return Rules.from_dict(run_folder.read_config(settings.resume)["rules"])
    return Rules.of(settings.rules)


def with_precision(settings: Settings) -> Settings:
    """The settings with the precision that "auto" means on this machine."""
    if settings.precision != "auto":
        return settings
    native = networks.multiplies_bfloat16()
    return replace(settings, precision="bfloat16" if native else "float32")


def environment(settings: Settings, rules: Rules) -> tuple[VecEnv, int, Pool | None]:
    """The environment, the number of values the actor sees, and the pool if there is one."""
    players, view = settings.num_players, settings.view
    count = settings.pool if settings.self_play else 0
    past = snapshots(count, settings.network, rules, players, view)
    try:
        env: VecEnv = LearnerVecEnv(
            settings.games,
            rules,
            players,
            [*settings.opponents, *past],
            reward=settings.reward,
            max_cycles=settings.max_cycles,
            scores=OCCURRING if settings.reward == "match" else None,
            view=view,
            skip_forced=settings.skip_forced,
        )
    except EquityError as error:
        raise run_folder.RunError(f"{error}; or train for rounds with --reward win") from error
    pool = Pool(env, past, settings.self_play) if past else None
    env = pool or env
    visible = int(env.observation_space.shape[0])
    return (AllHands(env) if settings.critic == "all-hands" else env), visible, pool


def teacher_of(settings: Settings, rules: Rules) -> Agent | None:
    """The agent to imitate, if there is one; it must be able to play the game."""
    if not settings.teacher:
        return None
    teacher = load(settings.teacher)
    teacher.check(rules, settings.num_players)
    return teacher


def new_model(settings: Settings, env: VecEnv, visible: int) -> MaskablePPO:
    """The untrained model for an `environment`; ``settings.precision`` must not be "auto"."""
    scale = reward_scale(env.unwrapped.games)
    return make_model(
        env,
        visible=visible,
        network=settings.network,
        critic_network=settings.critic_network,
        learning_rate=linear_schedule(settings.learning_rate, settings.last_learning_rate),
        bfloat16=settings.precision == "bfloat16",
        seed=settings.seed,
        reward_scale=scale,
        time_cost=(1 - settings.gamma) * scale * worst_payoff(env.unwrapped.games),
        n_steps=settings.rollout,
        batch_size=settings.batch_size,
        n_epochs=settings.epochs,
        gamma=settings.gamma,
        gae_lambda=settings.gae_lambda,
        clip_range=settings.clip_range,
        ent_coef=settings.entropy,
        vf_coef=settings.value_weight,
        max_grad_norm=settings.max_grad_norm,
    )


def restore_newest(
    settings: Settings, model: MaskablePPO, display: Display
) -> tuple[Path | None, dict[str, Any]]:
    """Restore the newest checkpoint of a resumed run.

    Returns
    -------
    path, about
        The checkpoint and its `checkpoints.About`; None and an empty dict if there is none.
    """
    saved, tensors, about = run_folder.newest_checkpoint(settings.resume, display.say)
    if saved:
        try:
            restore(model, tensors, about)
        except run_folder.RunError as error:
            raise run_folder.RunError(f"cannot resume from {saved}: {error}") from error
    return saved, about


def is_finished(settings: Settings, about: dict[str, Any]) -> bool:
    """Whether only the evaluation of a resumed run is left; RunError if nothing is."""
    folder, made = settings.resume, about.get("steps", 0)
    assert folder is not None
    if made < settings.steps or not (folder / run_folder.MODEL).exists():
        return False
    if settings.deals and not (folder / run_folder.RESULTS).exists():
        return True
    raise run_folder.RunError(f"{folder} has made {made:,} steps; train longer with --steps")


def prepare_folder(
    settings: Settings,
    rules: Rules,
    model: MaskablePPO,
    saved: Path | None,
    command: str,
    display: Display,
    held: ExitStack,
) -> tuple[Path, dict[str, Any]]:
    """Make the folder of a new run, and write config.json there; the folder and the config."""
    players = settings.num_players
    sizes = networks.layer_sizes(model.policy)
    how = settings.view, sizes, kept(settings)
    scale = float(model.env.reward_scale)
    config = run_folder.config_of(rules, players, *how, command, scale)
    if settings.resume is not None:
        folder = settings.resume
        before = run_folder.read_config(folder)
        config["command"] = before.get("command", "")
        again = {"from": saved.stem if saved else "the start", "command": command}
        config["resumed"] = [*before.get("resumed", []), again]
        for name in ("steps", "threads"):
            if (old := before["settings"][name]) != getattr(settings, name):
                display.say(f"{option(name)} was {old}: the weights may differ from here on")
    else:
        folder = run_folder.new_folder(settings.out, rules.name, players)
        held.enter_context(files.only_writer(folder))
    run_folder.write_config(folder, config)
    if rules_file(rules, folder) is not None:
        rules.save(folder / run_folder.RULES)
    return folder, config


def run_stages(
    settings: Settings,
    model: MaskablePPO,
    teacher: Agent | None,
    pool: Pool | None,
    keeper: Keeper,
    about: dict[str, Any],
    display: Display,
) -> None:
    """Imitation, lookahead and PPO, from the checkpoint with this `about` on."""
    if not about or "taught" in about:
        before_ppo(settings, model, teacher, pool, about.get("taught", 0), keeper, display)
    callbacks: list[BaseCallback] = [
        keeper,
        EntropyWeight(linear_schedule(settings.entropy, settings.last_entropy)),
        WinRates(settings.opponents),
    ]
    if pool is not None:
        callbacks.append(SelfPlay(pool, settings.pool_every, settings.lookahead_steps))
    if settings.steps and not model.num_timesteps and any(stages_before(settings)):
        before = networks.weights(model.policy)
        run_folder.save_tensors(keeper.folder / run_folder.BEFORE_PPO, before)
    model.logger.before = sum(stages_before(settings))
    display.begin("training", settings.steps, model.num_timesteps)
    model.learn(
        settings.steps - model.num_timesteps,
        callback=callbacks,
        reset_num_timesteps=False,
    )


def stages_before(settings: Settings) -> tuple[int, int]:
    """The decisions of imitation and of lookahead: whole rollouts."""
    rollout = settings.games * settings.rollout
    taught = settings.teacher_steps if settings.teacher else 0
    return -(-taught // rollout) * rollout, -(-settings.lookahead_steps // rollout) * rollout


def before_ppo(
    settings: Settings,
    model: MaskablePPO,
    teacher: Agent | None,
    pool: Pool | None,
    made: int,
    keeper: Keeper,
    display: Display,
) -> None:
    """Imitation, then lookahead; `made` decisions of the two have been made already."""
    imitated, _ = stages_before(settings)
    if teacher is not None and made < imitated:
        display.begin("imitation", settings.teacher_steps, made)
        imitate(
            model,
            teacher,
            settings.teacher_steps,
            settings.teacher_learning_rate,
            settings.teacher_batch_size,
            model.logger.of_stage("imitation", 0, display.report),
            made,
            keeper.before_ppo,
        )
    if settings.lookahead_steps:
        ahead = max(made - imitated, 0)
        display.begin("lookahead", settings.lookahead_steps, ahead)

        def after_rollout(model: MaskablePPO, ahead: int) -> None:
            if pool is not None:
                pool.follow(networks.actor_layers(model.policy), ahead, settings.pool_every)
            keeper.before_ppo(model, imitated + ahead)

        look_ahead(
            model,
            settings.lookahead_steps,
            settings.lookahead_learning_rate,
            settings.lookahead_batch_size,
            settings.lookahead_entropy,
            model.logger.of_stage("lookahead", imitated, display.report),
            ahead,
            after_rollout,
        )


def resumed(settings: Settings, arguments: Sequence[str] | None) -> Settings:
    """The settings of the run to be resumed, with the options given; RunError if one is fixed."""
    assert settings.resume is not None
    path = settings.resume / run_folder.CONFIG
    before = from_config(path, run_folder.read_config(settings.resume))
    before = replace(before, resume=settings.resume)
    # An option that is not given keeps the value of the run.
    after = tyro.cli(Settings, args=arguments, default=before, description=described())
    for name, value in vars(after).items():
        if name not in RESUME_CHANGES and value != getattr(before, name):
            raise run_folder.RunError(f"{option(name)} cannot be changed when a run is resumed")
    if not after.trust and (named := names_of_code(after)):
        raise run_folder.RunError(
            f"{path} names the agent {named[0]!r}, whose module would be imported, so that its "
            "code runs; add --trust if you trust whoever made this folder"
        )
    return after


def command_line(name: str, *arguments: object) -> str:
    """The command line that runs train.py or evaluate.py here."""
    script = [f"{name}.py"] if Path(f"{name}.py").exists() else ["-m", "pocket_uno_env", name]
    return shlex.join([this_python(), *script, *map(str, arguments)])


def resume_command(settings: Settings, folder: Path) -> str:
    """The command line that resumes a run."""
    return command_line("train", "--resume", folder, *["--trust"] * bool(names_of_code(settings)))


def evaluate_command(settings: Settings, folder: Path) -> str:
    """The command line that evaluates the trained agent in the game that it was trained for."""
    rules = Rules.from_dict(run_folder.read_config(folder)["rules"])
    game: list[object] = []
    if rules != Rules():
        game += ["--rules", rules_file(rules, folder) or rules.name]
    if settings.num_players != 2:
        game += ["--num-players", settings.num_players]
    match = ["--episode", "match", "--deals", 2_000]
    return command_line("evaluate", "--agents", folder, "greedy", *game, *match)


def rules_file(rules: Rules, folder: Path) -> Path | None:
    """The rules file that a run keeps for other programs, unless the rules are a preset."""
    known = rules.name in PRESETS and rules == Rules.preset(rules.name)
    return None if known else folder / run_folder.RULES


def in_words(error: Exception) -> str:
    """An error as one sentence, with the file it is about."""
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        return f"{place}{error.strerror or error}"
    return str(error)


def described() -> str:
    """The head of --help."""
    return help_text(
        __file__, f"Agents: {', '.join(usages())}, or a path. Rules: {', '.join(PRESETS)}."
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    began = time.monotonic()
    arguments = sys.argv[1:] if arguments is None else arguments
    name = program_name("train")
    settings = tyro.cli(Settings, prog=name, args=arguments, description=described())
    command = shlex.join(["train.py", *arguments])
    folder, more = None, ""
    try:
        with Display() as display, ExitStack() as held:
            if settings.resume is not None:
                run_folder.read_config(settings.resume)  # no lock in a folder that is no run
                held.enter_context(files.only_writer(settings.resume))
                settings = resumed(settings, arguments)
            check(settings)
            torch.set_num_threads(settings.threads)
            folder = train(settings, command, display, held)
            more = f"More:  {evaluate_command(settings, folder)}"
            found = None
            if settings.deals:
                found = evaluate(settings, rules_of(settings), folder, display)
    except BrokenPipeError:
        raise
    except (AgentError, RulesError, ValueError, OSError, MemoryError) as error:
        text = "there is not enough memory" if isinstance(error, MemoryError) else in_words(error)
        print_error("train", text)
        return 2
    except (Interrupted, KeyboardInterrupt):
        if folder is not None:
            print(
                f"Interrupted in the evaluation. Model: {folder / run_folder.MODEL}",
                file=sys.stderr,
            )
            print(more, file=sys.stderr)
        return 130
    if found is not None:
        console().print(tables.table(found))
        console().print(gain_of_ppo(found))
    print(f"Model: {folder / run_folder.MODEL} ({time.monotonic() - began:.0f} seconds in all)")
    print(more)
    return 0
