"""The fast path to RLlib's PPO: an env runner on the compiled batch, and what learns from it.

`BatchEnvRunner` plays many games at once, one policy in every seat, and hands over `Fragment`:
arrays, where RLlib's own env runners build a Python object for each episode. `FragmentsToBatch`
makes of them what PPO's loss takes. Both are put in by the configuration::

    .env_runners(env_runner_cls=BatchEnvRunner)
    .learners(
        learner_connector=lambda *spaces: FragmentsToBatch(gamma=1.0, lambda_=0.95),
        add_default_connectors_to_learner_pipeline=False,
    )
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import batch_space
from ray.rllib.connectors.connector_v2 import ConnectorV2
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner
from ray.rllib.evaluation.postprocessing import Postprocessing
from ray.rllib.utils.metrics import EPISODE_AGENT_RETURN_MEAN, EPISODE_LEN_MEAN
from ray.rllib.utils.postprocessing.value_predictions import compute_value_targets

from pocket_uno_env.batch import Batch
from pocket_uno_env.episodes.episode import Scores
from pocket_uno_env.observation.canonical import VIEWS, color_tables, plain_actions, to_view
from pocket_uno_env.observation.encoders import COMPACT_SCALE
from pocket_uno_env.rules.limits import MAX_CYCLES, MAX_ROUNDS
from pocket_uno_env.rules.phases import End
from pocket_uno_env.rules.rules import Rules

from .rllib import game_spaces


@dataclass(frozen=True, eq=False)
class Fragment:
    """Decisions of many seats, those of one seat of one game in a row, in order of time.

    All arrays have one line a decision, m in all.

    Attributes
    ----------
    observations : uint8, shape ``(m, size)``
        Times `encoders.COMPACT_SCALE`.
    masks : int8, shape ``(m, n_actions)``
    actions : int64
    logp, logits : float32, shapes ``(m,)`` and ``(m, n_actions)``
        The policy that acted, masked.
    rewards : float32
        What the seat earned between this decision and its next one, or the end of the episode.
    terminated : bool
        Whether the episode ended before the seat's next decision. If not, that is the next line.
    bootstrap : bool
        A decision whose outcome is not known yet; it comes again in the next fragment. It stands
        here as the state that the line before it led to.
    """

    observations: np.ndarray
    masks: np.ndarray
    actions: np.ndarray
    logp: np.ndarray
    logits: np.ndarray
    rewards: np.ndarray
    terminated: np.ndarray
    bootstrap: np.ndarray

    def __len__(self) -> int:
        """The decisions to learn from: those whose outcome is known."""
        return len(self.bootstrap) - int(np.count_nonzero(self.bootstrap))

    def __getitem__(self, index: slice) -> Fragment:
        """Some of the decisions to learn from, for several learners."""
        known = np.flatnonzero(~self.bootstrap)
        first, last, _ = index.indices(len(known))
        if first >= last:
            return self._take(slice(0, 0))
        start, stop = int(known[first]), int(known[last - 1]) + 1
        if self.terminated[stop - 1]:
            return self._take(slice(start, stop))
        part = self._take(slice(start, stop + 1))
        part.bootstrap[-1] = True
        return part

    def slice(self, index: slice, len_lookback_buffer: int | None = None) -> Fragment:
        """The same under the name of RLlib's episodes."""
        return self[index]

    def _take(self, lines: Any) -> Fragment:
        parts = {field.name: getattr(self, field.name)[lines] for field in fields(self)}
        return Fragment(**parts | {"bootstrap": parts["bootstrap"].copy()})


def concatenate(fragments: Sequence[Fragment]) -> Fragment:
    """One after the other."""
    names = [field.name for field in fields(Fragment)]
    return Fragment(*(np.concatenate([getattr(f, name) for f in fragments]) for name in names))


class BatchGames(VectorEnv[Any, Any, Any]):
    """The games of one `BatchEnvRunner`: a `batch.Batch`, its buffers, and the spaces of a seat.

    Parameters
    ----------
    num_envs : int
    rules, num_players, reward, max_cycles, episode, max_rounds, scores
        As for `batch.Batch`.
    view : {"plain", "canonical"}
        Colours by name, or in the order of `canonical`; observations, masks and actions.

    Attributes
    ----------
    observations : uint8, masks : int8
        Of the seat to act, in each game.
    payoffs : float32, shape ``(num_envs, num_players)``
    ends : uint8, shape ``(num_envs,)``
        Of the last step, as `batch.Batch.step` writes them.
    """

    def __init__(
        self,
        num_envs: int,
        rules: str | Rules = "pocket",
        num_players: int = 2,
        reward: str = "win",
        max_cycles: int = MAX_CYCLES,
        view: str = "plain",
        episode: str = "round",
        max_rounds: int = MAX_ROUNDS,
        scores: Scores = None,
    ) -> None:
        if view not in VIEWS:
            raise ValueError(f"view is {view!r}; expected one of {list(VIEWS)}")
        self.batch = Batch(
            num_envs, rules, num_players, reward=reward, max_cycles=max_cycles, episode=episode,
            max_rounds=max_rounds, scores=scores,
        )  # fmt: skip
        self.num_envs = num_envs
        seen, action = game_spaces(self.batch.rules, num_players)
        self.single_observation_space, self.single_action_space = seen, action
        self.observation_space = batch_space(seen, num_envs)
        self.action_space = batch_space(action, num_envs)
        self.observations = np.zeros((num_envs, self.batch.observation_size), np.uint8)
        self.masks = np.zeros((num_envs, self.batch.n_actions), np.int8)
        self.payoffs = np.zeros((num_envs, num_players), np.float32)
        self.ends = np.zeros(num_envs, np.uint8)
        canonical = view == "canonical"
        self._tables = color_tables(self.batch.rules, num_players) if canonical else None
        self._orders = np.zeros((num_envs, self.batch.rules.colors), np.int64)

    def deal(self, seed: int) -> None:
        """New games everywhere."""
        self.batch.reset(seed, self.masks, self.observations)
        self._look()

    def act(self, actions: np.ndarray) -> None:
        """Take one action (int64) in every game; ValueError if one is not legal."""
        if self._tables is not None:
            viewed, actions = actions, np.empty_like(actions)
            plain_actions(self._tables, self._orders, viewed, actions)
        self.batch.step(actions, self.masks, self.observations, self.payoffs, self.ends)
        self._look()

    def _look(self) -> None:
        if self._tables is not None:
            to_view(self._tables, self.observations, self.masks, self._orders)


class BatchEnvRunner(SingleAgentEnvRunner):
    """Plays ``num_envs_per_env_runner`` games side by side, the module in every seat.

    ``env_config`` holds the other arguments of `BatchGames`. Each `sample` returns one `Fragment`.
    A round that is cut by ``max_cycles``, or a match by ``max_rounds``, pays nothing, and counts as
    over. What the rounds of a match pay a seat before its first decision is no decision's reward.
    A decision whose outcome is not known when a sample ends comes in the next one, with the
    probability that it was taken with.
    """

    def make_env(self) -> None:
        """Make the games."""
        self.num_envs = self.config.num_envs_per_env_runner
        self.env = BatchGames(self.num_envs, **self.config.env_config)
        self._players = self.env.batch.num_players
        self._needs_initial_reset = True

    def _deal(self) -> None:
        entropy = np.random.SeedSequence(self._seed)
        self.env.deal(int(entropy.generate_state(1, np.uint64)[0]))
        self._lengths = np.zeros(self.num_envs, np.int64)
        self._earned = np.zeros((self.num_envs, self._players))
        self._waiting: Fragment | None = None
        self._waiting_keys = np.zeros(0, np.int64)
        self._needs_initial_reset = False

    def _sample(
        self,
        *,
        num_timesteps: int | None = None,
        num_episodes: int | None = None,
        explore: bool,
        random_actions: bool = False,
        force_reset: bool = False,
    ) -> list[Fragment]:
        if num_timesteps is None or random_actions:
            raise NotImplementedError(
                "BatchEnvRunner samples a number of decisions from its module, no episodes and no "
                "random actions; evaluate with evaluate.py"
            )
        if force_reset or self._needs_initial_reset:
            self._deal()
        games, players = self.env, self._players
        steps = -(-num_timesteps // self.num_envs)
        lines = self._start(steps)
        keys = np.concatenate([self._waiting_keys, np.zeros(steps * self.num_envs, np.int64)])
        # The line of each seat's newest decision in the episode, if it has made one.
        newest = np.full(self.num_envs * players, -1)
        newest[self._waiting_keys] = np.arange(len(self._waiting_keys))
        every = np.arange(self.num_envs)
        ended: list[tuple[np.ndarray, ...]] = []
        for now in range(len(self._waiting_keys), len(keys), self.num_envs):
            here = slice(now, now + self.num_envs)
            lines.observations[here] = games.observations
            lines.masks[here] = games.masks
            actions, lines.logp[here], lines.logits[here] = self._decide(explore)
            lines.actions[here] = actions
            keys[here] = every * players + games.batch.to_act
            newest[keys[here]] = np.arange(now, now + self.num_envs)
            games.act(actions)
            self._lengths += 1
            self._earned += games.payoffs
            over = games.ends != End.RUNNING
            settled = np.flatnonzero(over | games.payoffs.any(axis=1))
            if len(settled):
                _pay(lines, newest.reshape(-1, players), settled, games.payoffs, over)
                ended.append((self._lengths[over], self._earned[over], games.ends[over]))
                self._lengths[over], self._earned[over] = 0, 0
        waiting = newest[newest >= 0]
        lines.bootstrap[waiting] = True
        self._waiting, self._waiting_keys = lines._take(waiting), keys[waiting]
        self._log(steps * self.num_envs, ended)
        return [_in_order(lines, keys)]

    def _start(self, steps: int) -> Fragment:
        """Room for a sample; the decisions that waited stand in front."""
        n, size = steps * self.num_envs, self.env.batch.observation_size
        n_actions = self.env.batch.n_actions
        room = Fragment(
            np.empty((n, size), np.uint8),
            np.empty((n, n_actions), np.int8),
            np.empty(n, np.int64),
            np.empty(n, np.float32),
            np.empty((n, n_actions), np.float32),
            np.zeros(n, np.float32),
            np.zeros(n, bool),
            np.zeros(n, bool),
        )
        if self._waiting is None:
            return room
        self._waiting.bootstrap[:] = False
        return concatenate([self._waiting, room])

    def _decide(self, explore: bool) -> tuple[np.ndarray, torch.Tensor, torch.Tensor]:
        """Actions (int64), their log-probabilities and the masked logits, for all games."""
        module = self.module
        seen = {Columns.OBS: as_input(self.env.observations, self.env.masks, self._device)}
        with torch.no_grad():
            if explore:
                logits = module.forward_exploration(seen)[Columns.ACTION_DIST_INPUTS]
                policy = module.get_exploration_action_dist_cls().from_logits(logits)
                actions = policy.sample()
            else:
                logits = module.forward_inference(seen)[Columns.ACTION_DIST_INPUTS]
                policy = module.get_inference_action_dist_cls().from_logits(logits)
                actions = policy.to_deterministic().sample()
            logp = policy.logp(actions)
        return actions.cpu().numpy().astype(np.int64), logp.cpu(), logits.cpu()

    def _log(self, made: int, ended: list[tuple[np.ndarray, ...]]) -> None:
        """RLlib's metrics; `ended` are lengths, payoffs and ends of the episodes that are over."""
        episodes = sum(len(lengths) for lengths, _, _ in ended)
        self._log_env_steps(metric=self._metrics_num_env_steps_sampled, num_steps=made)
        self._increase_sampled_metrics(made, episodes)
        if not episodes:
            return
        lengths, payoffs, ends = map(np.concatenate, zip(*ended, strict=True))
        self.metrics.log_value(EPISODE_LEN_MEAN, lengths.mean(), window=1)
        self.metrics.log_value("truncated_rounds", (ends == End.TRUNCATED).mean(), window=1)
        for seat, mean in enumerate(payoffs.mean(axis=0)):
            key = (EPISODE_AGENT_RETURN_MEAN, f"player_{seat}")
            self.metrics.log_value(key, mean, window=1)


def _pay(
    lines: Fragment, newest: np.ndarray, index: np.ndarray, payoffs: np.ndarray, over: np.ndarray
) -> None:
    """Add the payoffs of the games of `index` to their seats' newest decisions, if there are.

    `over` says of all games whether they have ended.
    """
    last = newest[index]
    decided = last >= 0
    lines.rewards[last[decided]] += payoffs[index][decided]
    lines.terminated[last[decided & over[index, None]]] = True
    newest[over] = -1


def _in_order(lines: Fragment, keys: np.ndarray) -> Fragment:
    """The lines by seat and game; each seat's stay in order of time."""
    order = np.argsort(keys, kind="stable")
    known = ~lines.bootstrap[order]
    # A decision that waits is needed only where it is the outcome of another.
    goes_on = known & ~lines.terminated[order]
    known[1:] |= goes_on[:-1]
    return lines._take(order[known])


def as_input(observations: np.ndarray, masks: np.ndarray, device: Any) -> dict[str, torch.Tensor]:
    """What `rllib.MaskedModule` takes under ``Columns.OBS``, from bytes."""
    seen = torch.from_numpy(observations).to(device).float().div_(COMPACT_SCALE)
    return {"observations": seen, "action_mask": torch.from_numpy(masks).to(device).float()}


class FragmentsToBatch(ConnectorV2):
    """The whole learner connector pipeline: fragments in, a PPO train batch out.

    Parameters
    ----------
    gamma, lambda_ : float
        Of generalized advantage estimation, over each seat's own decisions.
    """

    def __init__(self, *, gamma: float, lambda_: float) -> None:
        super().__init__()
        self.gamma = gamma
        self.lambda_ = lambda_

    def __call__(
        self,
        *,
        rl_module: Any,
        batch: dict[str, Any],
        episodes: list[Fragment],
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Advantages, value targets and all else that the loss of PPO reads."""
        lines = concatenate(episodes)
        module = rl_module[DEFAULT_MODULE_ID].unwrapped()
        device = next(module.parameters()).device
        seen = as_input(lines.observations, lines.masks, device)
        with torch.no_grad():
            values = module.compute_values({Columns.OBS: dict(seen)}).cpu().numpy()
        goes_on = np.append(lines.bootstrap[1:], False) & ~lines.terminated
        targets = compute_value_targets(
            values,
            lines.rewards,
            lines.terminated.astype(np.float32),
            goes_on.astype(np.float32),
            self.gamma,
            self.lambda_,
        )
        known = ~lines.bootstrap
        advantages = (targets - values)[known]
        advantages = (advantages - advantages.mean()) / max(1e-4, advantages.std())
        kept = torch.from_numpy(np.flatnonzero(known)).to(device)
        columns = {
            Columns.ACTIONS: lines.actions,
            Columns.ACTION_LOGP: lines.logp,
            Columns.ACTION_DIST_INPUTS: lines.logits,
            Postprocessing.VALUE_TARGETS: targets,
        }
        found = {name: torch.from_numpy(column[known]) for name, column in columns.items()}
        found[Postprocessing.ADVANTAGES] = torch.from_numpy(advantages)
        # RLlib's masked module leaves observations and masks like this for its own loss.
        found[Columns.OBS] = seen["observations"][kept]
        found["action_mask"] = seen["action_mask"][kept]
        batch[DEFAULT_MODULE_ID] = {name: column.to(device) for name, column in found.items()}
        return batch
