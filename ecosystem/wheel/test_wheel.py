"""The wheel and the source distribution, in clean environments and outside of the clone."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from packaging.metadata import Metadata

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PACKAGE = "pocket_uno_env"
MOST_MEGABYTES = 350
"""What the core may take on disk, with all that it depends on."""

Command = Callable[..., str]


@pytest.fixture(scope="session")
def command(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """Runs a program in a folder outside of the clone; what it prints."""
    folder = tmp_path_factory.mktemp("elsewhere")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "NUMBA"))}

    def run(*words: str | Path, status: int = 0) -> str:
        done = subprocess.run(
            [str(word) for word in words],
            capture_output=True, text=True, check=False, cwd=folder, env=environment,
        )  # fmt: skip
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout if status == 0 else done.stdout + done.stderr

    return run


@pytest.fixture(scope="session")
def sdist(command: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("sdist")
    command(sys.executable, "-m", "build", "--sdist", "--outdir", out, ROOT)
    return next(out.glob("*.tar.gz"))


@pytest.fixture(scope="session")
def wheel(command: Command, sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that is made from the unpacked source distribution."""
    out = tmp_path_factory.mktemp("wheel")
    with tarfile.open(sdist) as archive:
        archive.extractall(out, filter="data")
    source = next(path for path in out.iterdir() if path.is_dir())
    command(sys.executable, "-m", "build", "--wheel", "--outdir", out, source)
    return next(out.glob("*.whl"))


def new_environment(command: Command, folder: Path) -> Path:
    """A fresh virtual environment; its Python."""
    command(sys.executable, "-m", "venv", folder)
    return folder / "bin" / "python"


def install(command: Command, python: Path, *what: str | Path) -> None:
    command(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what)


@pytest.fixture(scope="session")
def core(command: Command, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the wheel and what it depends on, the newest of each."""
    python = new_environment(command, tmp_path_factory.mktemp("core"))
    install(command, python, wheel)
    return python


@pytest.fixture(scope="session")
def extras(command: Command, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the extras that need no PyTorch."""
    python = new_environment(command, tmp_path_factory.mktemp("extras"))
    install(command, python, f"{wheel}[evaluate,play,render]")
    return python


def tracked() -> set[str]:
    """The files of the package in the clone, as they are called when installed."""
    listed = subprocess.run(
        ["git", "ls-files", PACKAGE, "agents"], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout.splitlines()
    return {file if file.startswith(PACKAGE) else f"{PACKAGE}/{file}" for file in listed}


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert names == tracked()
    assert not [name for name in names if "test" in name or "/__pycache__/" in name]
    data = ("networks/pocket-2p.safetensors", "beliefs/pocket.json", "ladders/pocket-2p.json")
    for file in (*data, "page/index.html", "page/app.js", "py.typed", "training/program.py"):
        assert [name for name in names if name.endswith(f"/{file}")], file


def test_the_wheel_from_the_clone_is_the_one_from_the_sdist(
    command: Command, wheel: Path, tmp_path: Path
) -> None:
    command(
        sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check",
        "--no-deps", "--wheel-dir", tmp_path, ROOT,
    )  # fmt: skip
    direct = zipfile.ZipFile(next(tmp_path.glob("*.whl")))
    other = zipfile.ZipFile(wheel)
    files = [name for name in other.namelist() if ".dist-info/" not in name]
    assert [name for name in files if direct.read(name) != other.read(name)] == []


def test_the_sdist_has_what_it_takes_to_test(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    listed = subprocess.run(
        ["git", "ls-files"], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout.splitlines()
    assert {file for file in listed if not file.startswith(".")} - names == set()
    assert not [name for name in names if "__pycache__" in name or name.endswith(".pyc")]


def test_the_metadata_is_valid(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (path,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    data = Metadata.from_email(archive.read(path), validate=True)
    assert data.license_expression == "MIT" and data.license_files == ["LICENSE"]
    assert data.description_content_type == "text/markdown" and data.description
    dependencies = [str(one) for one in data.requires_dist or [] if one.marker is None]
    assert {re.split("[<>]", one)[0] for one in dependencies} == {
        "gymnasium", "numba", "numpy", "pettingzoo",
    }  # fmt: skip


def test_the_core_is_small_and_plays(command: Command, core: Path) -> None:
    listed = json.loads(command(core, "-m", "pip", "list", "--format", "json"))
    names = {one["name"].lower() for one in listed}
    assert PACKAGE.replace("_", "-") in names
    assert not names & {"torch", "stable-baselines3", "scipy", "matplotlib"}
    assert "no broken" in command(core, "-m", "pip", "check").lower()
    site = Path(command(core, "-c", "import site; print(site.getsitepackages()[0])").strip())
    others = {path for name in ("pip", "setuptools") for path in site.glob(f"{name}*")}
    megabytes = sum(
        path.stat().st_blocks * 512
        for path in site.rglob("*")
        if path.is_file() and not others & set(path.parents)
    ) / (1 << 20)
    print(f"the core takes {megabytes:.0f} MB")
    assert 50 < megabytes < MOST_MEGABYTES
    assert "core: played" in command(core, "-W", "error", HERE / "core.py")


def test_what_is_not_installed_is_named(command: Command, core: Path) -> None:
    load = "from pocket_uno_env.agents import load; load({!r})"
    said = command(core, "-c", load.format("pocket-2p"), status=1)
    assert "AgentError" in said and "'evaluate'" in said and "safetensors" in said
    for module in ("evaluate", "train"):
        said = command(core, "-m", PACKAGE, module, "--help", status=2)
        assert f"pocket-uno-env[{module}]" in said and "Traceback" not in said


def test_the_core_is_typed(command: Command, core: Path) -> None:
    mypy = (sys.executable, "-m", "mypy", "--strict", "--python-executable", core)
    assert "Success" in command(*mypy, "--cache-dir", os.devnull, HERE / "typed.py")
    wrong = "from pocket_uno_env import Rules; number: int = Rules.preset('pocket').name"
    assert "Incompatible types" in command(*mypy, "--cache-dir", os.devnull, "-c", wrong, status=1)


def test_the_extras_play(command: Command, extras: Path, tmp_path: Path) -> None:
    assert "extras: played" in command(extras, HERE / "extras.py")
    games, report = tmp_path / "games.jsonl", tmp_path / "report.json"
    said = command(
        extras, "-m", PACKAGE, "evaluate", "--agents", "pocket-2p", "greedy", "--deals", "50",
        "--records", games, "--json", report,
    )  # fmt: skip
    assert "pocket-2p" in said and json.loads(report.read_text())["format"]
    assert "100" in command(extras, "-m", PACKAGE, "check", games)
    assert "--web" in command(extras, "-m", f"{PACKAGE}.agents.play", "--help")
