"""The actor and the critic, with masked actions, computed in bfloat16 where that is fast."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.torch_layers import MlpExtractor
from torch import Tensor, nn

from pocket_uno_env.agents.trained.policy import PolicyAgent

_ILLEGAL = -1e8
"""The logit of an illegal action, as in sb3-contrib."""


class MaskedPolicy(MaskableActorCriticPolicy):
    """sb3-contrib's actor and critic, optionally computed in bfloat16; never acts illegally.

    It masks the logits once, where the parent builds two distributions in each call, and samples
    actions so that no rounding error can select an illegal one. The parameters are always float32.

    Parameters
    ----------
    visible : int
        How many values of an observation the actor sees, the first ones. The critic sees all.
    bfloat16 : bool
        Multiply in bfloat16: three times as fast on processors that support it, slower on others.
    """

    def __init__(self, *args: Any, visible: int, bfloat16: bool = False, **kwargs: Any) -> None:
        self.visible = visible
        self.bfloat16 = bfloat16
        super().__init__(*args, **kwargs)

    def _build_mlp_extractor(self) -> None:
        super()._build_mlp_extractor()
        actor = MlpExtractor(self.visible, self.net_arch, self.activation_fn, self.device)
        self.mlp_extractor.policy_net = actor.policy_net

    def _run(self, body: nn.Module, head: nn.Module, obs: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16, enabled=self.bfloat16):
            out: Tensor = head(body(obs))
        return out.float()

    def logits(self, obs: Tensor) -> Tensor:
        """The policy's logits, not masked: shape ``(m, n_actions)``."""
        visible = obs[:, : self.visible]
        return self._run(self.mlp_extractor.policy_net, self.action_net, visible)

    def log_probs(self, obs: Tensor, legal: Tensor) -> Tensor:
        """The log-probability of each action under the policy: shape ``(m, n_actions)``."""
        return torch.where(legal, self.logits(obs), _ILLEGAL).log_softmax(1)

    def sample(self, log_probs: Tensor, legal: Tensor) -> Tensor:
        """Sample an action from each row of `log_probs`, by the Gumbel-max trick."""
        noise = torch.rand_like(log_probs).clamp_(min=1e-10).log_().neg_().log_()
        return torch.where(legal, log_probs - noise, -torch.inf).argmax(1)

    def predict_values(self, obs: Tensor) -> Tensor:
        """The critic's values: shape ``(m, 1)``."""
        return self._run(self.mlp_extractor.value_net, self.value_net, obs)

    def forward(
        self, obs: Tensor, deterministic: bool = False, action_masks: Any = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Actions, values and the actions' log-probabilities; the mask is not optional."""
        legal = torch.as_tensor(action_masks, dtype=torch.bool)
        log_probs = self.log_probs(obs, legal)
        if deterministic:
            actions = torch.where(legal, log_probs, -torch.inf).argmax(1)
        else:
            actions = self.sample(log_probs, legal)
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
    for name, linears in networks(policy).items():
        for i, layer in enumerate(linears):
            found[f"{name}.{i}.weight"] = layer.weight.detach().numpy().copy()
            found[f"{name}.{i}.bias"] = layer.bias.detach().numpy().copy()
    return found


def layer_sizes(policy: MaskedPolicy) -> list[int]:
    """The sizes of the policy network's layers, from the observation's to the actions'."""
    linears = networks(policy)["policy"]
    return [linears[0].in_features, *(layer.out_features for layer in linears)]


def actor_layers(policy: MaskedPolicy) -> list[tuple[np.ndarray, np.ndarray]]:
    """The weight and bias of each layer of the actor, copied."""
    return [
        (layer.weight.detach().numpy().copy(), layer.bias.detach().numpy().copy())
        for layer in networks(policy)["policy"]
    ]


def as_agent(model: MaskablePPO, name: str) -> PolicyAgent:
    """The policy as it is now, as an agent."""
    env = model.env.unwrapped
    return PolicyAgent(name, actor_layers(model.policy), env.rules, env.num_players, env.view)


def networks(policy: MaskedPolicy) -> dict[str, list[nn.Linear]]:
    """The linear layers of the actor, ``"policy"``, and of the critic, ``"value"``."""
    extractor = policy.mlp_extractor
    return {
        "policy": layers(extractor.policy_net, policy.action_net),
        "value": layers(extractor.value_net, policy.value_net),
    }
