"""Change one condition of a kernel on purpose and see which tests notice.

    python tests/support/mutants.py            all mutants
    python tests/support/mutants.py 3 7        some of them

Each mutant is a copy of the project with one line changed, under which the fast tests run until the
first failure. A mutant that survives is a hole in the tests.
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
        "engine/legality.py",
        "matching_kinds(rules, hand, row.top_before, row.color_before)",
        "matching_kinds(rules, hand, row.top_before, row.active_color)",
    ),
    (
        "the UNO penalty is one card",
        "engine/transition.py",
        "UNO_PENALTY = 2",
        "UNO_PENALTY = 1",
    ),
    (
        "a reverse with two players gives the turn away",
        "engine/transition.py",
        "row.players_in == 2 and not rules.literal_reverse",
        "row.players_in == 1 and not rules.literal_reverse",
    ),
    (
        "one pass too few blocks the round",
        "engine/transition.py",
        "if row.passes >= row.players_in:",
        "if row.passes >= row.players_in - 1:",
    ),
    (
        "on top of a wild its kind counts as a symbol",
        "rules/table.py",
        "            row.kind_color[index] = NO_COLOR\n",
        "            row.kind_color[index] = NO_COLOR\n            row.symbol_kinds[index] = row.coloured_kinds\n",
    ),
    (
        "a W+4 is enforced against wilds too",
        "engine/legality.py",
        "if rules.w4_enforced and coloured != EMPTY:",
        "if rules.w4_enforced and coloured | (wilds & ~rules.w4_kind) != EMPTY:",
    ),
    (
        "a last +1 is not drawn",
        "engine/transition.py",
        "    if count > 0:\n        forced_draw",
        "    if count > 1:\n        forced_draw",
    ),
    (
        "an opening reverse leaves the turn to the dealer's left",
        "engine/deal.py",
        "        row.direction = -1\n        row.to_act = row.dealer",
        "        row.direction = -1\n        row.to_act = left",
    ),
    (
        "the reshuffle takes the top card too, and leaves the one below",
        "engine/piles.py",
        "    top = row.discard_pile[count]\n",
        "    top = row.discard_pile[0]\n",
    ),
    (
        "the silent player is asked first whether to be caught",
        "engine/transition.py",
        "        row.phase = Phase.CATCH\n        row.to_act = seat_after(row, row.actor)",
        "        row.phase = Phase.CATCH\n        row.to_act = seat_after(row, seat_after(row, row.actor))",
    ),
    (
        "a challenge shows the hand to everyone",
        "engine/knowledge.py",
        "        row.known[observer, word] |= row.hands[seat, word]\n",
        "        for other in range(row.num_players):\n"
        "            if other != seat:\n"
        "                row.known[other, word] |= row.hands[seat, word]\n",
    ),
    (
        "a hidden gift is forgotten by nobody but the giver",
        "engine/knowledge.py",
        "                row.known[other, word] &= ~row.hands[giver, word]\n",
        "                row.known[other, word] |= np.uint64(0)\n",
    ),
    (
        "guilt is written into the observation",
        "observation/encoders.py",
        "one * (row.direction == 1)",
        "one * ((row.direction == 1) & (not row.guilty))",
    ),
    (
        "a challenge lost costs three more cards",
        "engine/transition.py",
        "FAILED_CHALLENGE = 2",
        "FAILED_CHALLENGE = 3",
    ),
    (
        'a stack is answered by any draw card under "same"',
        "engine/legality.py",
        "    if not rules.stack_any:\n",
        "    if rules.stack_any:\n",
    ),
    (
        "a kept card ends the turn of the next player too",
        "engine/transition.py",
        "    elif move == Move.KEEP:\n        _begin_turn(row, seat_after(row, row.to_act))",
        "    elif move == Move.KEEP:\n        _begin_turn(row, seat_after(row, seat_after(row, row.to_act)))",
    ),
]


def first_failure(file: str, old: str, new: str) -> str:
    """The first test that fails under the mutant, or an empty string."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        ignored = shutil.ignore_patterns("__pycache__", ".*", "runs", "build", "*.egg-info")
        shutil.copytree(ROOT, copy, ignore=ignored)
        source = copy / "pocket_uno_env" / file
        text = source.read_text("utf-8")
        if text.count(old) != 1:
            raise SystemExit(f"{file} should hold once: {old!r}")
        source.write_text(text.replace(old, new), "utf-8")
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
    for number, (what, file, old, new) in enumerate(MUTANTS):
        if chosen and number not in chosen:
            continue
        failure = first_failure(file, old, new)
        survived += not failure
        print(f"{number:2} {what}\n   {failure[:150] or 'SURVIVED'}", flush=True)
    return survived


if __name__ == "__main__":
    sys.exit(main([int(argument) for argument in sys.argv[1:]]))
