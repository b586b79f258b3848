"""Run the notebooks afresh, each in an empty folder, and compare what comes with what is stored.

    python notebooks/check.py                          all of them, some minutes
    python notebooks/check.py first_game --write       store what comes

What a cell prints or returns must come again, word by word and number by number. Where numbers
depend on the processor, as a training's do, the cell says in its metadata by how much they may
differ: ``"tolerance": 3``. Pictures are drawn from the same numbers and only have to be there.

The exit status is 0 if everything came again, 1 if not.
"""

from __future__ import annotations

import argparse
import copy
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

FOLDER = Path(__file__).resolve().parent
ESCAPES = re.compile(r"\x1b\[[\d;]*m")
ADDRESS = re.compile(r" at 0x[0-9a-f]+")
NUMBER = re.compile(r"(?<![\w.+])[-+]?\d[\d,]*(?:\.\d+)?")
"""Not the digits of names, such as R5 and W+2; the second part of 44.4-45.7 has no sign."""


def shown(cell: Mapping[str, Any]) -> tuple[str, list[str]]:
    """What a cell printed and returned, as text, and the kinds of everything else it showed."""
    text, kinds = [], []
    for output in cell.get("outputs", []):
        if output.get("name") == "stderr":
            continue  # warnings of other versions are no results
        data = output.get("data", {"text/plain": output.get("text", "")})
        text.append("".join(data.get("text/plain", "")))
        kinds += [name for name in data if name != "text/plain"]
    return ADDRESS.sub("", ESCAPES.sub("", "".join(text))), sorted(kinds)


def differences(stored: Mapping[str, Any], fresh: Mapping[str, Any]) -> Iterator[str]:
    """Where the outputs of two notebooks with the same cells differ, in words."""
    for number, (old, new) in enumerate(zip(stored["cells"], fresh["cells"], strict=True)):
        if old["cell_type"] != "code":
            continue
        (before, kinds), (after, others) = shown(old), shown(new)
        if kinds != others:
            yield f"  cell {number} shows {others or 'nothing'}; stored is {kinds or 'nothing'}"
        for line, other in zip_longest(before.splitlines(), after.splitlines(), fillvalue=""):
            if not alike(line, other, old["metadata"].get("tolerance", 0)):
                yield f"  cell {number}\n    stored  {line}\n    fresh   {other}"


def alike(line: str, other: str, tolerance: float) -> bool:
    """Whether two lines have the same words, and numbers that differ by no more than allowed."""
    if line == other or not tolerance:
        return line == other
    if NUMBER.sub("#", line).split() != NUMBER.sub("#", other).split():
        return False
    pairs = zip(numbers(line), numbers(other), strict=True)
    return all(abs(one - two) <= tolerance + 1e-9 for one, two in pairs)


def numbers(line: str) -> list[float]:
    """The numbers in a line."""
    return [float(found.replace(",", "")) for found in NUMBER.findall(line)]


def executed(notebook: Any) -> Any:
    """A copy of a notebook with the outputs of a run from top to bottom in an empty folder.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        When a cell fails; the message holds its traceback.
    """
    made = copy.deepcopy(notebook)
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(
            made,
            timeout=None,
            kernel_name="python3",
            resources={"metadata": {"path": folder}},
            record_timing=False,
            coalesce_streams=True,
        ).execute()
    made.metadata = notebook.metadata
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status."""
    names = sorted(path.stem for path in FOLDER.glob("*.ipynb"))
    parser = argparse.ArgumentParser(
        description=str(__doc__), formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}")
    parser.add_argument("--write", action="store_true", help="store what comes")
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - set(names):
        parser.error(f"there is no notebook {min(unknown)!r}; expected some of {', '.join(names)}")
    status = 0
    for name in options.names or names:
        path = FOLDER / f"{name}.ipynb"
        stored = nbformat.read(path, nbformat.NO_CONVERT)
        began = time.monotonic()
        try:
            fresh = executed(stored)
        except CellExecutionError as error:
            print(f"{name}: a cell fails\n{error}", flush=True)
            status = 1
            continue
        found = list(differences(stored, fresh))
        outcome = f"{len(found)} differences" if found else "as stored"
        print(f"{name}: {outcome} ({time.monotonic() - began:.0f} s)", *found, sep="\n", flush=True)
        if options.write:
            nbformat.write(fresh, path)
        elif found:
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
