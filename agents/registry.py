"""Agents by name: ``load("greedy")``, ``load("ppo:runs/x")``, ``load("runs/x")``.

A text that names an agent is a registered name, with an argument after a colon where the agent
takes one, or the path of a trained run. Behind a trained network ``,sample`` makes it draw from its
policy: ``pocket-2p,sample``, ``runs/x,sample``. Other packages, and the adapters of this one, add
names by an entry point of the group `PLUG_INS`.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import importlib.util
import inspect
import json
import os
import re
import sys
import warnings
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from pocket_uno_env.agents.scripted import policies
from pocket_uno_env.agents.scripted.agent import ScriptedAgent, policy_name
from pocket_uno_env.arguments import excerpt

from .agent import Agent, AgentError, ObservationAgent

Make = Callable[[str], Agent]
"""Makes an agent from what stands after the colon, ``""`` if there is none."""

PLUG_INS = "pocket_uno_env.agents"
"""The group of entry points in which an installed package names functions under `register`."""

MOST_NESTED = 20
"""How deep agents may lie within each other, as ``noisy:0.1,noisy:0.1,greedy`` is three deep."""

SAMPLE = ",sample"
"""After a trained model: it draws from its policy instead of taking the likeliest action."""

NETWORKS = Path(__file__).parent / "trained" / "networks"
"""Trained networks with their cards, written by ``pocket-uno publish``."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One registered name."""

    make: Make
    about: str
    argument: str
    holds_agents: bool = True
    network: bool = False

    @property
    def needs_argument(self) -> bool:
        """Whether the name alone is not enough."""
        return bool(self.argument) and not self.argument.startswith("[")


_ENTRIES: dict[str, Entry] = {}
_depth: ContextVar[int] = ContextVar("_depth", default=0)
"""How many calls of `load` are under way in this thread, each within the one before."""


def register(
    name: str, about: str = "", argument: str = "", holds_agents: bool = True
) -> Callable[[Make], Make]:
    """Register a function that makes an agent, as a decorator.

    The name is known in this program. With an entry point for the function, under the same name in
    the group `PLUG_INS`, it is known wherever the package is installed.

    Parameters
    ----------
    name : str
        Without a colon.
    about : str
        How the agent plays, in one line; without it the first line of the docstring.
    argument : str
        What stands after the colon: ``"DIR"``, in brackets if it may be left out, as in
        ``"[playouts=N]"``; empty if the agent takes none. The function is called with what was
        written there, or ``""``.
    holds_agents : bool
        Whether the argument may name other agents, as that of ``noisy`` does, or is a file or
        another library's name; `runs_code` looks at it.

    Raises
    ------
    AgentError
        When the name is taken or holds a colon.

    Examples
    --------
    >>> @register("first", "the first legal action")
    ... def make_first(argument: str) -> Agent:
    ...     return ObservationAgent("first", lambda observations, masks: masks.argmax(axis=1))
    """
    if not name or ":" in name:
        raise AgentError(f"{name!r} cannot name an agent; expected a text without a colon")
    if name in _ENTRIES:
        raise AgentError(f"there is an agent {name!r} already")

    def decorate(make: Make) -> Make:
        text = about or (make.__doc__ or "").strip().split("\n")[0]
        _ENTRIES[name] = Entry(make, text, argument, holds_agents)
        return make

    return decorate


def names() -> list[str]:
    """The agents of any game that `load` takes by name alone, in the order of registration."""
    found = _all_entries().items()
    return [name for name, entry in found if not entry.needs_argument and not entry.network]


def networks() -> list[str]:
    """The trained networks that come with the package, such as ``"pocket-2p"``.

    Each plays the game that its name says, and no other. Loading one needs safetensors, from the
    extra ``evaluate``, and no PyTorch.
    """
    return [name for name, entry in _ENTRIES.items() if entry.network]


def usages() -> list[str]:
    """Every registered name as it is written, with its argument: ``"greedy"``, ``"ppo:DIR"``."""
    return [usage(name) for name in _all_entries()]


def describe(spec: str) -> str:
    """How an agent plays, in one line: of what `load` takes, or a name without its argument.

    Of one in a module it is the first line of the docstring in the source, or "An agent of your
    own."; the module is not imported.

    Raises
    ------
    AgentError
        When there is no such agent.
    """
    name, argument = _split(spec)
    if name == "import" and argument:
        return _about_own(argument)
    if _find(name) is None and argument and _locate(name) is not None:
        return _about_own(spec)
    return _entry(name, spec).about


def usage(name: str) -> str:
    """How to write the name: ``"greedy"``, ``"ppo:DIR"``."""
    entry = _entry(name, name)
    if entry.network:
        return f"{name}[{SAMPLE}]"
    if entry.needs_argument:
        return f"{name}:{entry.argument}"
    return f"{name}[:{entry.argument[1:]}" if entry.argument else name


def load(spec: str) -> Agent:
    """The agent that `spec` names.

    Parameters
    ----------
    spec : str
        One of `names`, such as ``"greedy"``; a name with an argument, such as ``"ppo:runs/x"``;
        one of your own as ``"module:Class"``, if no agent has the module's name; or the path of a
        trained run's folder, of its ``model.safetensors``, or of an ``.onnx`` file.

    Returns
    -------
    Agent
        A new one, whose ``name`` is `spec`.

    Raises
    ------
    AgentError
        When there is no such agent, with those that come near, or it cannot be loaded.
    """
    if _depth.get() == MOST_NESTED:
        raise AgentError(
            f"agent {excerpt(spec)} lies within {MOST_NESTED} others; expected at most "
            f"{MOST_NESTED} within each other"
        )
    token = _depth.set(_depth.get() + 1)
    try:
        return _load(spec)
    finally:
        _depth.reset(token)


def _load(spec: str) -> Agent:
    name, argument = _split(spec)
    if _find(name) is None and argument and importable(name):
        name, argument = "import", spec
    entry = _entry(name, spec)
    if (argument and not entry.argument) or (entry.needs_argument and not argument):
        raise AgentError(f"agent {spec!r} should be written {usage(name)!r}")
    agent = entry.make(argument)
    agent.name = spec
    return agent


def runs_code(spec: str) -> bool:
    """Whether `load` would import a Python module because `spec` says so, and call what is in it.

    True of ``"module:Class"`` and ``"import:module:Class"``, and of what holds one:
    ``"noisy:0.1,module:Class"``, ``"search:100ms,policy=module:Class"``. Nothing is imported to
    find out, except a package whose entry point has this very name. Ask before loading what a file
    of somebody else names.
    """
    parts = [spec]
    while parts:  # and no recursion, since there may be any number of colons
        part = parts.pop()
        name, _, argument = part.partition(":")
        if name == "import":
            return True
        entry = _find(name)
        if entry is None:
            if argument and not os.path.exists(part):
                return True
        elif entry.holds_agents and argument:
            parts.extend(re.split("[,=+]", argument))
    return False


def importable(module: str) -> bool:
    """Whether Python finds a module of this name."""
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def import_extra(module: str, extra: str, spec: str) -> Any:
    """The module that makes the agent `spec`; `AgentError` if packages of an extra are missing."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise AgentError(
            f"agent {spec!r} needs the extra {extra!r} "
            f"(pip install 'pocket-uno-env[{extra}]'): {error}"
        ) from error


def _split(spec: str) -> tuple[str, str]:
    """The name and the argument in `spec`; those of ``ppo`` or ``onnx`` for a path."""
    name, _, argument = spec.partition(":")
    path = spec if os.path.exists(spec) else spec.removesuffix(SAMPLE)
    if path != spec and path in networks():
        return "ppo", f"{NETWORKS / path}.safetensors{SAMPLE}"
    if path and _find(name) is None and os.path.exists(path):
        return "onnx" if spec.endswith(".onnx") else "ppo", spec
    return name, argument


def _locate(module: str) -> ModuleSpec | None:
    """Where Python finds a module, without importing the packages above it; None if nowhere."""
    found, path, name = None, None, ""
    for part in module.split("."):
        name = f"{name}.{part}" if name else part
        finders = [f.find_spec for f in sys.meta_path if hasattr(f, "find_spec")]
        found = next((s for find in finders if (s := find(name, path)) is not None), None)
        path = None if found is None else found.submodule_search_locations
        if path is None and name != module:
            return None
    return found


def _about_own(spec: str) -> str:
    """How an agent ``MODULE:NAME`` plays, by its source."""
    module, _, attribute = spec.partition(":")
    found = _locate(module)
    if found is None and module not in sys.modules:
        raise AgentError(f"no agent {spec!r}; {_not_found(module)}")
    try:
        tree = ast.parse(Path(found.origin).read_bytes()) if found and found.origin else None
    except (OSError, SyntaxError, ValueError, RecursionError):  # compiled code, or no code at all
        tree = None
    text = ""
    for node in tree.body if tree is not None else ():
        if (
            isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and node.name == attribute
        ):
            text = ast.get_docstring(node) or ""
    return text.split("\n")[0] or "An agent of your own."


def _find(name: str) -> Entry | None:
    """What is registered under `name`, here or by an entry point; None if nothing is."""
    if name not in _ENTRIES:
        for point in entry_points(group=PLUG_INS, name=name):
            _plug_in(point)
    return _ENTRIES.get(name)


def _all_entries() -> dict[str, Entry]:
    """Everything that is registered; a warning in place of plug-ins that cannot be loaded."""
    for point in entry_points(group=PLUG_INS):
        try:
            _plug_in(point)
        except AgentError as error:
            warnings.warn(str(error), stacklevel=3)
    return _ENTRIES


def _plug_in(point: EntryPoint) -> None:
    if point.name in _ENTRIES:
        return
    try:
        point.load()
    except Exception as error:
        raise AgentError(
            f"cannot load the plug-in {point.name!r} ({point.value}): {error}"
        ) from error
    if point.name not in _ENTRIES:
        raise AgentError(
            f"the plug-in {point.name!r} ({point.value}) registers no agent of its own name; "
            f"expected a function under @register({point.name!r})"
        )


def _stale() -> str:
    """A sentence for a clone whose installation is older than its source, so lists no plug-ins."""
    dists = (point.dist for point in entry_points(group=PLUG_INS))
    if any(dist and dist.name.replace("_", "-") == "pocket-uno-env" for dist in dists):
        return ""
    return (
        ". The installation of pocket-uno-env is older than this source, and some agents are not "
        "known by it: install again (make setup, or pip install -e .)"
    )


def _entry(name: str, spec: str) -> Entry:
    entry = _find(name)
    if entry is not None:
        return entry
    if "/" in spec or spec.endswith((".safetensors", ".onnx")):
        raise AgentError(f"no agent {spec!r}: there is no such file or folder")
    module, _, attribute = spec.partition(":")
    own = f"; {_not_found(module)}" if attribute else ""
    near = difflib.get_close_matches(name.lower().replace("_", "-"), _all_entries())
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else "."
    raise AgentError(
        f"no agent {spec!r}{own}{hint} Known: {', '.join(usages())}, or the path of a trained run"
        f"{_stale()}"
    )


def _not_found(module: str) -> str:
    places = [os.path.abspath(place) for place in sys.path if not place.endswith(".zip")]
    return f"No module named {module!r} in {places[0]}, nor in the rest of sys.path"


def _register_scripted(policy: policies.Policy) -> None:
    kernel = getattr(policies, f"{policy.name.lower()}_action", None)
    about = (kernel.__doc__ or "").strip().split("\n")[0] if kernel else ""
    register(policy_name(policy), about)(lambda argument: ScriptedAgent(policy))


for _policy in policies.Policy:
    _register_scripted(_policy)


@register("ppo", argument="DIR[,sample]", holds_agents=False)
def _trained(argument: str) -> Agent:
    """A trained model: the folder of a run of train.py, or its model.safetensors."""
    sample = not os.path.exists(argument) and argument.endswith(SAMPLE)
    argument = argument.removesuffix(SAMPLE) if sample else argument
    if not os.path.exists(argument):
        raise AgentError(f"no trained model {argument!r}: there is no such file or folder")
    try:
        # Here, because it needs more packages than all other agents do.
        policy = importlib.import_module("pocket_uno_env.agents.trained.policy")
        agent: Agent = policy.load_policy(argument, sample)
    except ImportError as error:
        raise AgentError(
            f"agent {argument!r} is a trained model, which needs the extra 'evaluate' "
            f"(pip install 'pocket-uno-env[evaluate]'): {error}"
        ) from error
    except (OSError, ValueError, KeyError) as error:
        raise AgentError(f"cannot load the trained model {argument!r}: {error}") from error
    return agent


@register("rllib", argument="DIR", holds_agents=False)
def _rllib(argument: str) -> Agent:
    """A checkpoint of Ray RLlib, trained on this game (docs/ecosystem/rllib.md)."""
    module = "pocket_uno_env.agents.trained.rllib_checkpoint"
    checkpoint = import_extra(module, "evaluate", f"rllib:{argument}")
    agent: Agent = checkpoint.load_checkpoint(argument)
    return agent


@register("onnx", argument="FILE", holds_agents=False)
def _onnx(argument: str) -> Agent:
    """A trained network in an ONNX file that `pocket-uno export` wrote; no PyTorch needed."""
    module = "pocket_uno_env.agents.trained.onnx_policy"
    onnx_policy = import_extra(module, "onnx", f"onnx:{argument}")
    agent: Agent = onnx_policy.OnnxAgent(argument)
    return agent


def _register_network(card: Path) -> None:
    about = json.loads(card.read_text("utf-8"))["about"]
    weights = str(card.with_suffix(".safetensors"))
    _ENTRIES[card.stem] = Entry(lambda argument: _trained(weights), about, "", network=True)


for _card in sorted(NETWORKS.glob("*.json"), key=lambda card: card.stem):
    _register_network(_card)


@register("import", argument="MODULE:NAME")
def _imported(argument: str) -> Agent:
    """Your own: an Agent, what makes one, or choose(observations, masks), in a Python module."""
    module, _, attribute = argument.partition(":")
    if not module or not attribute:
        raise AgentError(f"agent {argument!r} should be written 'import:MODULE:NAME'")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        missing = isinstance(error, ModuleNotFoundError) and error.name == module
        why = _not_found(module) if missing else error
        raise AgentError(f"cannot import agent {argument!r}: {why}") from error
    agent = found if isinstance(found, Agent) else _made(found, argument)
    if not isinstance(agent, Agent):
        raise AgentError(f"{argument!r} is {agent!r}; expected an Agent, or what makes one")
    return agent


def _made(found: Any, argument: str) -> Any:
    """What a function makes; one of two arguments is the `choose` of an ObservationAgent."""
    if not callable(found):
        return found
    try:
        arguments = list(inspect.signature(found).parameters.values())
    except ValueError:  # some functions written in C don't tell
        arguments = []
    named = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    required = [a for a in arguments if a.default is a.empty and a.kind in named]
    if len(required) == 2:
        return ObservationAgent(argument, found)
    if required:
        raise AgentError(
            f"{argument!r} is a function of {len(required)} arguments; expected an Agent, a "
            "function without arguments that makes one, or choose(observations, masks)"
        )
    return found()


@register("noisy", argument="P[,AGENT]")
def _noisy(argument: str) -> Agent:
    """Another agent, greedy if none is named, that takes a random action with probability P."""
    noisy = importlib.import_module("pocket_uno_env.agents.noisy")
    chance, _, spec = argument.partition(",")
    try:
        value = float(chance)
    except ValueError:
        raise AgentError(f"agent 'noisy:{argument}' should be written 'noisy:P[,AGENT]'") from None
    agent: Agent = noisy.NoisyAgent(value, load(spec or "greedy"))
    return agent


@register("rlcard-rule")
def _rlcard_rule(argument: str) -> Agent:
    """RLCard's rule agent, for the classic game: plays what it can at random, wilds last."""
    rule = importlib.import_module("pocket_uno_env.agents.scripted.rlcard_rule")
    agent: Agent = rule.RlcardRuleAgent()
    return agent


@register("rlcard", argument="NAME", holds_agents=False)
def _rlcard(argument: str) -> Agent:
    """An agent of RLCard's, in the classic game: uno-rule-v1, random (docs/ecosystem/rlcard.md)."""
    rlcard = import_extra("pocket_uno_env.agents.rlcard", "rlcard", f"rlcard:{argument}")
    agent: Agent = rlcard.from_name(argument)
    return agent


def _searching(argument: str, **how: bool) -> Agent:
    # Here, because it compiles more than other agents do.
    search = importlib.import_module("pocket_uno_env.agents.search.agent")
    budget, settings = search.parse(argument, **how)
    agent: Agent = search.SearchAgent(budget, settings, load=load, **how)
    return agent


@register("search", argument="BUDGET[,...]")
def _flat(argument: str) -> Agent:
    """Flat Monte Carlo on guessed hands: so many playouts or ms a decision (docs/search.md)."""
    return _searching(argument)


@register("ismcts", argument="BUDGET[,...]")
def _tree(argument: str) -> Agent:
    """Tree search over what its seat can tell apart, on guessed hands (docs/search.md)."""
    return _searching(argument, tree=True)


@register("clairvoyant", argument="BUDGET[,...]")
def _clairvoyant(argument: str) -> Agent:
    """Cheats: flat Monte Carlo on the true hands and draw pile; the ceiling, not an opponent."""
    return _searching(argument, clairvoyant=True)
