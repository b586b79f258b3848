"""The lower bounds of pyproject.toml as exact versions, for `make test-oldest`.

python tests/support/oldest.py > oldest.txt && pip install -r oldest.txt
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

EXTRAS = ("evaluate", "train", "play", "render", "onnx")
"""Those that the tests of the main environment use; Ray and the frameworks pin what they need."""


def oldest(text: str) -> list[str]:
    """Of each requirement in a pyproject.toml the oldest version that it admits."""
    project = tomllib.loads(text)["project"]
    extras = project["optional-dependencies"]
    found = [*project["dependencies"], *(one for name in EXTRAS for one in extras.get(name, []))]
    pins = []
    for one in found:
        bound = re.match(r"([\w.-]+)>=([\w.]+)", one)
        if bound is not None:
            pins.append(f"{bound[1]}=={bound[2]}")
        elif "[" not in one:  # an extra of our own, which is listed itself
            raise ValueError(f"the requirement {one!r} has no lower bound")
    return pins


if __name__ == "__main__":
    root = Path(__file__).resolve().parents[2]
    print("\n".join(oldest((root / "pyproject.toml").read_text("utf-8"))))
