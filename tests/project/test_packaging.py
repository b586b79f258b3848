"""What is declared is what is tested: Pythons, lower bounds, versions, the targets of CI."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from oldest import oldest

import pocket_uno_env

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
JOBS = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))["jobs"]
TARGETS = re.findall(r"^([a-z-]+(?: [a-z-]+)*):", (ROOT / "Makefile").read_text("utf-8"), re.M)


def test_the_pythons_declared_are_those_that_ci_tests() -> None:
    declared = re.findall(r"Python :: (3\.\d+)$", "\n".join(PROJECT["classifiers"]), re.M)
    (first,) = (step["with"]["python-version"] for step in JOBS["test"]["steps"] if "with" in step)
    assert declared == [first, *JOBS["python"]["strategy"]["matrix"]["python"]]
    assert PROJECT["requires-python"] == f">={first}"


def test_every_job_is_a_target() -> None:
    known = {name for line in TARGETS for name in line.split()}
    jobs = JOBS["test"]["strategy"]["matrix"]["target"]
    assert set(jobs) <= known and len(jobs) >= 9
    assert "make test-python " in JOBS["python"]["steps"][-1]["run"] and "test-python" in known


def test_every_requirement_has_a_lower_bound() -> None:
    pins = oldest((ROOT / "pyproject.toml").read_text("utf-8"))
    assert "numpy==2.0" in pins and "gymnasium==1.1" in pins and "torch==2.13" in pins
    assert len(pins) > 15
    with pytest.raises(ValueError, match="scipy"):
        oldest('[project]\ndependencies = ["scipy"]\noptional-dependencies = {}')


def test_the_version_is_one() -> None:
    cited = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.M)
    assert cited is not None
    assert PROJECT["version"] == pocket_uno_env.__version__ == cited[1].strip("\"'")
