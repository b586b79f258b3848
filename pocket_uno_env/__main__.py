"""The command line: ``pocket-uno VERB ...``, or ``python -m pocket_uno_env VERB ...``."""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Sequence
from typing import NamedTuple, NoReturn

from pocket_uno_env.cli.program import print_error, program_name, run_program


class Verb(NamedTuple):
    """A program: ``module:function``, the extra that it needs, and what it does in a line."""

    entry: str
    extra: str | None
    about: str


VERBS = {
    "play": Verb(
        "pocket_uno_env.play.program:main", "play", "play, in the terminal or in the browser"
    ),
    "replay": Verb(
        "pocket_uno_env.play.film:main", "play", "make a page of a game record to step through"
    ),
    "advise": Verb(
        "pocket_uno_env.play.advise:main", "play", "rank the actions in a position, by any agent"
    ),
    "check": Verb(
        "pocket_uno_env.reference.commands:check", None, "verify game records by the rules"
    ),
    "show": Verb("pocket_uno_env.reference.commands:show", None, "print a game record to read"),
    "train": Verb("pocket_uno_env.training.program:main", "train", "train an agent"),
    "evaluate": Verb(
        "pocket_uno_env.evaluation.program:main", "evaluate", "measure agents against each other"
    ),
    "dataset": Verb(
        "pocket_uno_env.datasets.program:main",
        "evaluate",
        "play games and write them as a dataset for offline learning",
    ),
    "equity": Verb(
        "pocket_uno_env.evaluation.equity:main",
        "evaluate",
        "the chance to win the match at given scores",
    ),
    "export": Verb(
        "pocket_uno_env.training.export_onnx:main", "onnx", "write a trained network as ONNX"
    ),
    "import-rllib": Verb(
        "pocket_uno_env.agents.trained.rllib_checkpoint:main",
        "evaluate",
        "turn a checkpoint of RLlib into a run that agents load",
    ),
    "publish": Verb(
        "pocket_uno_env.training.publish:main",
        "evaluate",
        "put a trained network among those of the package",
    ),
    "tune": Verb(
        "pocket_uno_env.training.tune:main", "evaluate", "tune the weights of the strong heuristic"
    ),
    "belief": Verb(
        "pocket_uno_env.training.belief:main", "train", "train the belief network that search uses"
    ),
}
"""Each is imported when it is called, and not before."""

SECOND = {
    ("evaluate", "exploit"): Verb(
        "pocket_uno_env.exploitability.program:main",
        "train",
        "train a best response against an agent",
    ),
}
"""Verbs of two words whose program stands above that of the first one."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program that the first argument names; its exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if not arguments:
        print_error("", "expected a command (--help lists them)")
        return 2
    name, *others = arguments
    if name in ("-h", "--help"):
        print(usage())
        return 0
    if name not in VERBS:
        near = difflib.get_close_matches(name, VERBS, n=1)
        meant = f"; did you mean {near[0]!r}?" if near else ""
        print_error("", f"there is no command {name!r}{meant} (--help lists them)")
        return 2
    verb = VERBS[name]
    if (name, *others[:1]) in SECOND:
        verb = SECOND[name, others.pop(0)]
    module, _, function = verb.entry.partition(":")
    try:
        status: int = getattr(importlib.import_module(module), function)(others)
    except ModuleNotFoundError as error:
        if verb.extra is None or (error.name or "").startswith("pocket_uno_env"):
            raise
        extra = f"the extra {verb.extra!r} (pip install 'pocket-uno-env[{verb.extra}]')"
        print_error(name, f"this needs {extra}: {error}")
        return 2
    return status


def usage() -> str:
    """What --help prints: the verbs, with a line each."""
    width = max(map(len, VERBS)) + 2
    return "\n".join(
        [
            f"usage: {program_name()} VERB ...",
            "",
            "UNO Pocket and classic UNO for reinforcement learning.",
            "",
            *(f"  {name:<{width}}{verb.about}" for name, verb in VERBS.items()),
            "",
            f"{program_name('VERB')} --help explains each.",
        ]
    )


def run() -> NoReturn:
    """Run the command line and exit: what ``pocket-uno`` calls."""
    run_program(main)


if __name__ == "__main__":
    run()
