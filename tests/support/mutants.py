"""Change one condition of a kernel on purpose and see which tests notice.

    python tests/support/mutants.py            all mutants
    python tests/support/mutants.py 3 7        some of them

Each mutant is a copy of the project with one line changed, under which the fast tests run until the
first failure. A mutant that survives is a hole in the tests. A mutant names the text that it changes,
which stands in one place of the packages, whatever the file is called.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = [
    "engine/test_rule_cases.py",
    "engine/test_engine.py",
    "observation/test_hiding.py",
    "engine/test_lockstep.py",
]

# ruff: noqa: E501 - the changed lines stand here as they stand in the sources
MUTANTS = [
    (
        "a wild draw two is judged by the named colour",
        "matching_kinds(rules, hand, row.top_before, row.color_before)",
        "matching_kinds(rules, hand, row.top_before, row.active_color)",
    ),
    (
        "the UNO penalty is one card",
        "UNO_PENALTY = 2",
        "UNO_PENALTY = 1",
    ),
    (
        "a reverse with two players gives the turn away",
        "row.players_in == 2 and not rules.literal_reverse",
        "row.players_in == 1 and not rules.literal_reverse",
    ),
    (
        "one pass too few blocks the round",
        "if row.passes >= row.players_in:",
        "if row.passes >= row.players_in - 1:",
    ),
    (
        "on top of a wild its kind counts as a symbol",
        "            row.kind_color[index] = NO_COLOR\n",
        "            row.kind_color[index] = NO_COLOR\n            row.symbol_kinds[index] = row.coloured_kinds\n",
    ),
    (
        "a W+4 is enforced against wilds too",
        "if rules.w4_enforced and coloured != EMPTY:",
        "if rules.w4_enforced and coloured | (wilds & ~rules.w4_kind) != EMPTY:",
    ),
    (
        "a last +1 is not drawn",
        "    if count > 0:\n        forced_draw",
        "    if count > 1:\n        forced_draw",
    ),
    (
        "an opening reverse leaves the turn to the dealer's left",
        "        row.direction = -1\n        row.to_act = row.dealer",
        "        row.direction = -1\n        row.to_act = left",
    ),
    (
        "the reshuffle takes the top card too, and leaves the one below",
        "    top = row.discard_pile[count]\n",
        "    top = row.discard_pile[0]\n",
    ),
    (
        "the silent player is asked first whether to be caught",
        "        row.phase = Phase.CATCH\n        row.to_act = seat_after(row, row.actor)",
        "        row.phase = Phase.CATCH\n        row.to_act = seat_after(row, seat_after(row, row.actor))",
    ),
    (
        "a challenge shows the hand to everyone",
        "        row.known[observer, word] |= row.hands[seat, word]\n",
        "        for other in range(row.num_players):\n"
        "            if other != seat:\n"
        "                row.known[other, word] |= row.hands[seat, word]\n",
    ),
    (
        "a hidden gift is forgotten by nobody but the giver",
        "                row.known[other, word] &= ~row.hands[giver, word]\n",
        "                row.known[other, word] |= np.uint64(0)\n",
    ),
    (
        "guilt is written into the observation",
        "one * (row.direction == 1)",
        "one * ((row.direction == 1) & (not row.guilty))",
    ),
    (
        "a challenge lost costs three more cards",
        "FAILED_CHALLENGE = 2",
        "FAILED_CHALLENGE = 3",
    ),
    (
        'a stack is answered by any draw card under "same"',
        "    if not rules.stack_any:\n",
        "    if rules.stack_any:\n",
    ),
    (
        "a kept card ends the turn of the next player too",
        "    elif move == Move.KEEP:\n        _begin_turn(row, seat_after(row, row.to_act))",
        "    elif move == Move.KEEP:\n        _begin_turn(row, seat_after(row, seat_after(row, row.to_act)))",
    ),
]


def source_of(old: str, root: Path = ROOT) -> Path:
    """The one file of the packages that holds a text, once; the reference game is left as it is."""
    package = root / "pocket_uno_env"
    sources = [*package.rglob("*.py"), *(root / "agents").rglob("*.py")]
    counts = {
        path: path.read_text("utf-8").count(old)
        for path in sources
        if not path.is_relative_to(package / "reference")
    }
    if sum(counts.values()) != 1:
        places = [str(path.relative_to(root)) for path, count in counts.items() if count]
        raise LookupError(f"should stand once, stands in {places}: {old!r}")
    return max(counts, key=lambda path: counts[path])


def first_failure(old: str, new: str) -> str:
    """The first test that fails under the mutant, or an empty string."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        ignored = shutil.ignore_patterns("__pycache__", ".*", "runs", "build", "*.egg-info")
        shutil.copytree(ROOT, copy, ignore=ignored)
        source = source_of(old, copy)
        source.write_text(source.read_text("utf-8").replace(old, new), "utf-8")
        # In place of the agents of this clone, which the installed package would find.
        (copy / "pocket_uno_env" / "agents").symlink_to(copy / "agents")
        result = subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"),
                *("-m", "not slow and not soak", "-c", str(copy / "pyproject.toml")),
                *(str(copy / "tests" / test) for test in TESTS),
            ],
            cwd=copy,
            env={**os.environ, "PYTHONPATH": str(copy)},
            capture_output=True,
            text=True,
            check=False,
        )
    found = re.search(r"^(?:FAILED|ERROR) (?:\S*/)?(\S+::\S+.*)$", result.stdout, re.MULTILINE)
    return found[1] if found else result.stdout[-300:] * bool(result.returncode)


def main(chosen: list[int]) -> int:
    """Run the mutants; the number of those that survived."""
    survived = 0
    for number, (what, old, new) in enumerate(MUTANTS):
        if chosen and number not in chosen:
            continue
        failure = first_failure(old, new)
        survived += not failure
        print(f"{number:2} {what}\n   {failure[:150] or 'SURVIVED'}", flush=True)
    return survived


if __name__ == "__main__":
    sys.exit(main([int(argument) for argument in sys.argv[1:]]))
