"""The pieces of train.py: the network, imitation, checkpoints that a run can go on from."""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecMonitor
from torch import Tensor, nn

from . import runs
from .agents import Agent
from .agents.policy import PolicyAgent
from .rollout_buffer import RolloutBuffer
from .sb3_env import LearnerVecEnv

_ILLEGAL = -1e8
"""The logit of an illegal action, as in sb3-contrib."""

Report = Callable[[int, dict[str, float]], None]
"""Called with how many decisions have been made, and figures worth showing."""


class MaskedPolicy(MaskableActorCriticPolicy):
    """sb3-contrib's actor and critic, computed in bfloat16 if wanted, and never illegal.

    It masks the logits once, where the parent builds two distributions for each call, and draws
    actions so that no rounding can let an illegal one win. The parameters are float32 always.

    Parameters
    ----------
    bfloat16 : bool
        Multiply in bfloat16: three times as fast on processors that can, slower on others.
    """

    def __init__(self, *args: Any, bfloat16: bool = False, **kwargs: Any) -> None:
        self.bfloat16 = bfloat16
        super().__init__(*args, **kwargs)

    def _run(self, body: nn.Module, head: nn.Module, obs: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16, enabled=self.bfloat16):
            out: Tensor = head(body(obs))
        return out.float()

    def logits(self, obs: Tensor) -> Tensor:
        """The policy's logits, not masked: shape ``(m, n_actions)``."""
        return self._run(self.mlp_extractor.policy_net, self.action_net, obs)

    def predict_values(self, obs: Tensor) -> Tensor:
        """The critic's values: shape ``(m, 1)``."""
        return self._run(self.mlp_extractor.value_net, self.value_net, obs)

    def forward(
        self, obs: Tensor, deterministic: bool = False, action_masks: Any = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Actions, values and the actions' log-probabilities; the mask is not optional."""
        logits = self.logits(obs)
        legal = torch.as_tensor(action_masks, dtype=torch.bool)
        log_probs = torch.where(legal, logits, _ILLEGAL).log_softmax(1)
        scores = log_probs
        if not deterministic:  # the largest of logits with Gumbel noise is a draw from the softmax
            scores = log_probs - torch.rand_like(logits).clamp_(min=1e-10).log_().neg_().log_()
        actions = torch.where(legal, scores, -torch.inf).argmax(1)
        chosen = log_probs.gather(1, actions[:, None])[:, 0]
        return actions, self.predict_values(obs), chosen

    def evaluate_actions(
        self, obs: Tensor, actions: Tensor, action_masks: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Values, log-probabilities of `actions` and entropies; the mask is not optional."""
        assert action_masks is not None
        masked = torch.where(action_masks.bool(), self.logits(obs), _ILLEGAL)
        log_probs = masked.log_softmax(1)
        chosen = log_probs.gather(1, actions[:, None])[:, 0]
        entropy = -(masked.softmax(1) * log_probs).sum(1)
        return self.predict_values(obs), chosen, entropy

    def _predict(
        self, observation: Any, deterministic: bool = False, action_masks: Any = None
    ) -> Tensor:
        return self.forward(observation, deterministic, action_masks)[0]


def multiplies_bfloat16() -> bool:
    """Whether this machine's processor multiplies bfloat16 itself."""
    get = getattr(torch.cpu, "get_capabilities", None)
    found = get() if get is not None else {}
    return bool(found.get("avx512_bf16") or found.get("amx_bf16"))


def layers(network: nn.Module, head: nn.Module) -> list[nn.Linear]:
    """The linear layers of a network and its last one, in order."""
    return [module for module in (*network, head) if isinstance(module, nn.Linear)]  # type: ignore[misc]


def weights(policy: MaskedPolicy) -> dict[str, np.ndarray]:
    """The weights as arrays: ``policy.<layer>.weight``, ``.bias``, and ``value.<layer>...``."""
    found = {}
    for name, linears in _networks(policy).items():
        for i, layer in enumerate(linears):
            found[f"{name}.{i}.weight"] = layer.weight.detach().numpy().copy()
            found[f"{name}.{i}.bias"] = layer.bias.detach().numpy().copy()
    return found


def layer_sizes(policy: MaskedPolicy) -> list[int]:
    """The sizes of the policy network's layers, from the observation's to the actions'."""
    linears = _networks(policy)["policy"]
    return [linears[0].in_features, *(layer.out_features for layer in linears)]


def as_agent(model: MaskablePPO, name: str) -> PolicyAgent:
    """The policy as it is now, as an agent."""
    env = model.env.unwrapped
    arrays = weights(model.policy)
    count = len(layer_sizes(model.policy)) - 1
    pairs = [(arrays[f"policy.{i}.weight"], arrays[f"policy.{i}.bias"]) for i in range(count)]
    return PolicyAgent(name, pairs, env.rules, env.num_players, env.view)


def _networks(policy: MaskedPolicy) -> dict[str, list[nn.Linear]]:
    extractor = policy.mlp_extractor
    return {
        "policy": layers(extractor.policy_net, policy.action_net),
        "value": layers(extractor.value_net, policy.value_net),
    }


# Imitation.


def imitate(
    model: MaskablePPO,
    teacher: Agent,
    steps: int,
    learning_rate: float,
    batch_size: int,
    report: Report,
) -> None:
    """Teach the actor to act as `teacher`, and the critic what that earns.

    The teacher plays the learner's seat against the opponents of the training, for `steps`
    decisions. Everything is seen once, fresh, so nothing can be learned by heart.
    """
    env: LearnerVecEnv = model.env.unwrapped
    policy: MaskedPolicy = model.policy
    policy.set_training_mode(True)
    n, length = env.num_envs, model.n_steps
    observations = env.reset()
    shape = (length, n)
    seen = np.empty((*shape, observations.shape[1]), np.float32)
    masks = np.empty((*shape, env.action_space.n), bool)
    actions, returns = np.empty(shape, np.int64), np.empty(shape, np.float32)
    rewards, ends = np.empty(shape, np.float32), np.empty(shape, bool)
    done = 0
    while done < steps:
        for t in range(length):
            seen[t], masks[t] = observations, env.action_masks()
            actions[t] = env.ask(teacher)
            observations, rewards[t], ends[t], _ = env.step(actions[t])
        with torch.no_grad():
            following = policy.predict_values(torch.from_numpy(observations))[:, 0].numpy()
        for t in reversed(range(length)):
            returns[t] = rewards[t] + np.where(ends[t], 0, model.gamma * following)
            following = returns[t]
        rate = learning_rate * max(1 - done / steps, 0.05)
        for group in policy.optimizer.param_groups:
            group["lr"] = rate
        losses = []
        flat = [a.reshape(length * n, *a.shape[2:]) for a in (seen, actions, masks, returns)]
        order = np.random.permutation(length * n)
        for start in range(0, length * n, batch_size):
            part = order[start : start + batch_size]
            obs, chosen, legal, paid = (torch.from_numpy(a[part]) for a in flat)
            values, log_probs, _ = policy.evaluate_actions(obs, chosen, legal)
            error = nn.functional.mse_loss(values[:, 0], paid)
            loss = -log_probs.mean() + model.vf_coef * error
            policy.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), model.max_grad_norm)
            policy.optimizer.step()
            losses.append((-log_probs.mean().item(), error.item()))
        done += length * n
        surprise, error = np.mean(losses, axis=0)
        report(done, {"surprise": float(surprise), "value_error": float(error)})
    policy.optimizer.state.clear()


# Checkpoints.


def capture(model: MaskablePPO) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Everything that the rest of the training depends on, between two rollouts.

    Returns
    -------
    tensors, about
        What `runs.save_checkpoint` takes: weights, optimizer, games, random generators.
    """
    monitor = model.env
    kind, keys, position, has_gauss, gauss = np.random.get_state(legacy=True)
    assert kind == "MT19937"
    tensors = weights(model.policy)
    for name, state in _optimizer_states(model.policy):
        for key, value in state.items():
            tensors[f"adam.{name}.{key}"] = torch.as_tensor(value).numpy().copy()
    for name, array in monitor.unwrapped.state().items():
        tensors[f"env.{name}"] = array
    tensors["env.episode_starts"] = np.asarray(model._last_episode_starts)
    tensors["env.episode_returns"] = monitor.episode_returns
    tensors["env.episode_lengths"] = monitor.episode_lengths
    tensors["random.torch"] = torch.get_rng_state().numpy()
    tensors["random.numpy"] = np.asarray(keys)
    about = {
        "steps": model.num_timesteps,
        "updates": model._n_updates,
        "numpy": [int(position), int(has_gauss), float(gauss)],
    }
    return tensors, about


def restore(model: MaskablePPO, tensors: dict[str, np.ndarray], about: dict[str, Any]) -> None:
    """Bring a model with the same settings to where `capture` was; then ``learn`` without reset."""
    for name, linears in _networks(model.policy).items():
        for i, layer in enumerate(linears):
            with torch.no_grad():
                layer.weight.copy_(torch.from_numpy(tensors[f"{name}.{i}.weight"]))
                layer.bias.copy_(torch.from_numpy(tensors[f"{name}.{i}.bias"]))
    for name, parameter in model.policy.named_parameters():
        prefix = f"adam.{name}."
        state = {
            key.removeprefix(prefix): torch.from_numpy(array.copy())
            for key, array in tensors.items()
            if key.startswith(prefix)
        }
        if state:
            model.policy.optimizer.state[parameter] = state
    monitor = model.env
    games = {"rows": tensors["env.rows"], "books": tensors["env.books"]}
    model._last_obs = monitor.unwrapped.set_state(games)
    model._last_episode_starts = tensors["env.episode_starts"]
    monitor.episode_returns = tensors["env.episode_returns"]
    monitor.episode_lengths = tensors["env.episode_lengths"]
    torch.set_rng_state(torch.from_numpy(tensors["random.torch"]))
    position, has_gauss, gauss = about["numpy"]
    np.random.set_state(("MT19937", tensors["random.numpy"], position, has_gauss, gauss))
    model.num_timesteps = about["steps"]
    model._n_updates = about["updates"]


def _optimizer_states(policy: MaskedPolicy) -> list[tuple[str, dict[str, Any]]]:
    states = policy.optimizer.state
    return [(name, states[p]) for name, p in policy.named_parameters() if p in states]


class Interrupted(Exception):
    """The training was asked to stop, and has written a checkpoint."""


class Interrupts(AbstractContextManager["Interrupts"]):
    """Turns the first Ctrl-C (or SIGTERM) into a wish; the second has its usual effect."""

    def __init__(self) -> None:
        self.wanted = False
        self._usual: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._usual[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._usual.items():
            signal.signal(number, handler)

    def checked(self, report: Report) -> Report:
        """`report`, which then raises `Interrupted` if the wish was made."""

        def check(done: int, figures: dict[str, float]) -> None:
            report(done, figures)
            if self.wanted:
                raise Interrupted

        return check

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.wanted = True
        for usual, handler in self._usual.items():
            signal.signal(usual, handler)


class Keeper(BaseCallback):
    """Saves checkpoints between rollouts, ends the training if asked to, reports progress.

    Parameters
    ----------
    folder : Path
    every : int
        Decisions between checkpoints; there is one at the start, too.
    keep : int
    interrupts : Interrupts
    report : Report
    """

    def __init__(
        self, folder: Path, every: int, keep: int, interrupts: Interrupts, report: Report
    ) -> None:
        super().__init__()
        self.folder = folder
        self.every = every
        self.keep = keep
        self.interrupts = interrupts
        self.report = report
        self._saved = -every

    def save(self) -> None:
        """Write a checkpoint, unless that of this step is written; only between rollouts."""
        steps = self.model.num_timesteps
        if steps != self._saved:
            runs.save_checkpoint(self.folder, steps, *capture(self.model), self.keep)
            self._saved = steps

    def _on_training_start(self) -> None:
        self._saved = -self.every if self.num_timesteps == 0 else self.num_timesteps

    def _on_rollout_start(self) -> None:
        if self.interrupts.wanted or self.model.num_timesteps >= self._saved + self.every:
            self.save()
        if self.interrupts.wanted:
            raise Interrupted

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        ended = self.model.ep_info_buffer
        won = float(np.mean([episode["r"] > 0 for episode in ended])) if ended else float("nan")
        self.logger.record("rollout/win_rate", won)
        self.report(self.num_timesteps, {"win_rate": won})


def make_model(
    env: LearnerVecEnv,
    *,
    network: tuple[int, ...],
    learning_rate: float,
    bfloat16: bool,
    seed: int,
    **settings: Any,
) -> MaskablePPO:
    """MaskablePPO with `MaskedPolicy` on a monitored environment; the learning rate falls to 0.

    Parameters
    ----------
    settings
        Arguments of MaskablePPO.
    """
    sizes = list(network)
    return MaskablePPO(
        MaskedPolicy,
        VecMonitor(env),
        learning_rate=lambda remaining: learning_rate * remaining,
        policy_kwargs={
            "net_arch": {"pi": sizes, "vf": sizes},
            "activation_fn": nn.ReLU,
            "optimizer_kwargs": {"eps": 1e-5, "fused": True},
            "bfloat16": bfloat16,
        },
        rollout_buffer_class=RolloutBuffer,
        seed=seed,
        device="cpu",
        stats_window_size=2000,
        **settings,
    )
