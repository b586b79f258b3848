"""Compiled code on disk: never stale, never damaged, made once, and never a condition."""

from __future__ import annotations

import ast
import logging
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numba.core.errors import TypingError

import pocket_uno_env
from pocket_uno_env import agents
from pocket_uno_env.compiled import code_cache
from pocket_uno_env.compiled.code_cache import Store, sources_hash
from pocket_uno_env.compiled.kernel import kernel

PACKAGE = Path(pocket_uno_env.__file__).parent
AGENTS = Path(agents.__file__).parent
COPY = (
    "import sys; sys.path.insert(0, {folder!r}); sys.meta_path[:] = "
    "[f for f in sys.meta_path if 'editable' not in repr(f).lower()];"
)
"""Makes Python import the package from a folder, whatever is installed."""
MIX = "import numpy as np; from pocket_uno_env.compiled.rng import mix; print(mix(np.uint64(1)));"
MIXED = "6238072747940578789"
NOWHERE = {"XDG_CACHE_HOME": "/dev/null/no", "TMPDIR": "/dev/null/no"}


def start(code: str, cache: Path | None = None, **environment: str) -> subprocess.Popen[str]:
    """A process with no other cache than the one given."""
    plain = {name: os.environ[name] for name in os.environ if name != "NUMBA_CACHE_DIR"}
    places = {"NUMBA_CACHE_DIR": str(cache)} if cache else {}
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env={**plain, **places, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(code: str, cache: Path | None = None, **environment: str) -> tuple[str, str]:
    """What code prints, in a process of its own, to both streams."""
    process = start(code, cache, **environment)
    out, err = process.communicate()
    assert process.returncode == 0, err
    return out.strip(), err.strip()


def kept(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.nbc"))


@pytest.fixture
def copied(tmp_path: Path) -> tuple[Path, str]:
    """A copy of the package as it is installed, and the code that makes Python import it."""
    copy = tmp_path / "installed" / "pocket_uno_env"
    ignored = shutil.ignore_patterns("__pycache__", "networks", "page")
    shutil.copytree(PACKAGE, copy, ignore=ignored)
    shutil.copytree(AGENTS, copy / "agents", ignore=ignored, dirs_exist_ok=True)
    return copy, COPY.format(folder=str(copy.parent))


# Never stale.


def modules() -> dict[str, Path]:
    """The modules and packages of this package by name."""
    found = {}
    for top, folder in (("pocket_uno_env.agents", AGENTS), ("pocket_uno_env", PACKAGE)):
        for path in folder.rglob("*.py"):
            if path not in found.values():
                parts = path.relative_to(folder).with_suffix("").parts
                found[".".join((top, *(part for part in parts if part != "__init__")))] = path
    return found


def imported(name: str, path: Path, known: dict[str, Path]) -> Iterator[str]:
    """What a module imports of these modules, by its syntax tree."""
    package = name if path.stem == "__init__" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            start = package.split(".")[: len(package.split(".")) + 1 - node.level]
            parts = [*(start if node.level else []), *([node.module] if node.module else [])]
            base = ".".join(parts)
            for alias in node.names:
                yield from [m for m in (f"{base}.{alias.name}", base) if m in known][:1]


def test_what_a_kernel_is_made_of() -> None:
    known = modules()
    of = {name: set(imported(name, path, known)) for name, path in known.items()}
    with_kernels = 0
    for name, path in known.items():
        if "@kernel" in path.read_text("utf-8") or "@inlined" in path.read_text("utf-8"):
            with_kernels += 1
            reached, left = set(), [name]
            while left:
                if (module := left.pop()) not in reached:
                    reached.add(module)
                    left += of[module]
            found, files = set(), [path]
            while files:
                if (file := files.pop()) not in found:
                    found.add(file)
                    files += code_cache._source(file)[1]
            # More only where the example in a docstring imports something.
            assert {known[module] for module in reached} <= found, name
    assert with_kernels > 35
    agents_too = code_cache._source(known["pocket_uno_env.agents.search.tree"])[1]
    assert known["pocket_uno_env.agents.search.playouts"] in agents_too
    assert known["pocket_uno_env.rules"].name == "__init__.py"


@pytest.mark.slow
def test_an_edit_starts_afresh_what_is_made_of_it(copied: tuple[Path, str]) -> None:
    copy, prelude = copied
    code = prelude + (
        "from pathlib import Path; import pocket_uno_env.compiled.code_cache as c\n"
        f"here = Path({str(copy)!r})\n"
        "names = 'engine/transition', 'agents/search/tree', 'training/belief', \\\n"
        "    'training/tune', 'agents/noisy'\n"
        "print(*(c.sources_hash(here / f'{name}.py') for name in names))"
    )
    before = run(code)[0].split()
    assert len(set(before)) == 5
    for file, changes in {
        "compiled/rng.py": (True, True, True, True, True),
        "training/belief.py": (False, False, True, False, False),
        "training/tune.py": (False, False, False, True, False),
        "agents/search/playouts.py": (False, True, False, False, False),
        "agents/agent.py": (False, False, True, False, True),
        "training/program.py": (False,) * 5,
    }.items():
        with (copy / file).open("a") as stream:
            stream.write("\n# edited\n")
        after = run(code)[0].split()
        assert tuple(a != b for a, b in zip(after, before, strict=True)) == changes, file
        before = after


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["engine", "agents/search"])
def test_compiled_code_follows_an_edit_in_another_file(
    copied: tuple[Path, str], tmp_path: Path, folder: str
) -> None:
    """Numba's own cache sees only the file of the kernel itself."""
    copy, prelude = copied
    module = ".".join(["pocket_uno_env", *folder.split("/")])
    constant, probe = copy / folder / "constant.py", copy / folder / "probe.py"
    probe.write_text(
        f"from {module}.constant import PROBE\n"
        "from pocket_uno_env.compiled.kernel import kernel\n\n\n"
        "@kernel\ndef probe():\n    return PROBE\n"
    )
    code = prelude + (
        f"from {module}.probe import probe; from numba.core import event\n"
        "with event.install_recorder('numba:compile') as seen: print(probe(), len(seen.buffer))"
    )
    seen = []
    for value in ("11", "22", "11"):
        constant.write_text(f"PROBE = {value}\n")
        seen += [run(code, tmp_path)[0], run(code, tmp_path)[0]]
    assert seen == ["11 2", "11 0", "22 2", "22 0", "11 0", "11 0"]
    assert len(kept(tmp_path / "pocket_uno_env")) == 2
    assert not kept(copy)  # which `pip uninstall` would leave behind


def test_each_signature_has_a_file_of_its_own(tmp_path: Path) -> None:
    """Two processes that compile different signatures at once must not share a file."""
    code = MIX + "mix(np.uint32(1))"
    run(code, tmp_path)
    names = kept(tmp_path)
    assert len(names) == 2 and all(name.name.startswith("rng.mix.") for name in names)
    run(code, tmp_path)
    assert kept(tmp_path) == names


# Never damaged.


@pytest.mark.slow
def test_a_damaged_file_is_made_anew(tmp_path: Path) -> None:
    assert run(MIX, tmp_path) == (MIXED, "")
    (file,) = kept(tmp_path)
    whole = file.read_bytes()
    middle = len(whole) // 2
    flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
    for damaged in (b"", whole[:10], whole[:-1], flipped, b"\0" * len(whole)):
        file.write_bytes(damaged)
        assert run(MIX, tmp_path) == (MIXED, "")
        assert kept(tmp_path) == [file] and len(file.read_bytes()) > len(whole) - 1000
        assert file.read_bytes() != damaged


def test_a_file_that_numba_cannot_use_is_made_anew(tmp_path: Path) -> None:
    run(MIX, tmp_path)
    (file,) = kept(tmp_path)
    Store([file.parent]).write(file.name, b"\x80\x04N.")  # None, pickled
    assert run(MIX, tmp_path) == (MIXED, "")
    assert file.stat().st_size > 1000


# Never a condition.


def test_where_no_cache_can_be_written(tmp_path: Path) -> None:
    """One line, in whatever process; root ignores permissions, but not this."""
    file = tmp_path / "file"
    file.touch()
    out, err = run(MIX + "mix(np.uint32(1))", file, **NOWHERE)
    assert out == MIXED and err.count("\n") == 0
    assert err.startswith("Compiled code cannot be kept, so every start compiles anew (")
    assert f"{file}/pocket_uno_env: Not a directory" in err and "NUMBA_CACHE_DIR" in err


def test_the_next_place_is_taken(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    places = {**NOWHERE, "TMPDIR": str(tmp_path)}
    out, err = run(MIX, tmp_path / "file", **places)
    own = tmp_path / f"pocket_uno_env-{os.getuid()}"
    assert out == MIXED and err.startswith(f"Compiled code is kept in {own} (")
    assert err.count("\n") == 0 and len(kept(own)) == 1 and own.stat().st_mode & 0o777 == 0o700
    assert run(MIX, tmp_path / "file", **places) == (MIXED, "")  # it was loaded


def test_without_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(code_cache.Path, "home", home)
    monkeypatch.setattr(code_cache.config, "CACHE_DIR", "")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert code_cache._folders() == [tmp_path / f"pocket_uno_env-{os.getuid()}"]


@pytest.mark.slow
def test_a_full_disk(tmp_path: Path) -> None:
    """A limit of the size of a file fails in the middle of writing, as a full disk does."""
    limited = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))"
        f"; {MIX}"
    )
    out, err = run(limited, tmp_path / "first", **NOWHERE)
    assert out == MIXED and err.count("\n") == 0 and "pocket_uno_env: File too large" in err
    assert not [file for file in tmp_path.rglob("*") if file.is_file()]
    run(MIX, tmp_path / "first")
    assert run(limited, tmp_path / "first", **NOWHERE) == (MIXED, "")  # what is there is used


def test_code_of_other_users_is_not_run(tmp_path: Path) -> None:
    own = tmp_path / f"pocket_uno_env-{os.getuid()}"
    store = Store([own])
    store.write("a.nbc", b"code")
    assert store.read("a.nbc") == b"code"
    own.chmod(0o777)  # others could have written it
    assert store.read("a.nbc") is None
    (tmp_path / "elsewhere").mkdir()
    shutil.rmtree(own)
    own.symlink_to(tmp_path / "elsewhere")
    store.write("a.nbc", b"code")
    assert store.read("a.nbc") is None and not kept(tmp_path)


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    store = Store([tmp_path])
    for age, name in enumerate(("a.nbc", "b.nbc", "c.nbc", "d.nbc.part")):
        store.write(name, bytes(1000))
        os.utime(tmp_path / name, (time.time() - 1e6 * (age + 1),) * 2)
    assert store.read("c.nbc") == bytes(1000)  # and so it is in use
    code_cache._shrink(tmp_path, 2 * 1032)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.nbc", "c.nbc"]


# Made once.


@pytest.mark.slow
def test_processes_that_start_together_compile_once(tmp_path: Path) -> None:
    code = (
        "from numba.core import event\n"
        f"with event.install_recorder('numba:compile') as seen: {MIX}\n"
        "print(len(seen.buffer) // 2)"
    )
    together = [start(code, tmp_path) for _ in range(3)]
    said = [process.communicate()[0].split() for process in together]
    assert [mixed for mixed, _ in said] == [MIXED] * 3
    assert sorted(made for _, made in said) == ["0", "0", "1"]


def test_nobody_waits_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from pocket_uno_env.compiled.code_cache import Store\n"
        f"print(Store([Path({str(tmp_path)!r})]).wait('a'), flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdout is not None and other.stdout.readline() == "None\n"
    store = Store([tmp_path])
    monkeypatch.setattr(code_cache, "PATIENCE", 0.0)
    began = time.monotonic()
    assert store.wait("a") is None and time.monotonic() - began > 0.05
    assert store.wait("b") is None  # another name, another lock
    monkeypatch.setattr(code_cache, "PATIENCE", 60.0)
    other.communicate()  # its end gives the lock back
    assert store.wait("a") is None


def test_an_error_gives_the_lock_back(tmp_path: Path) -> None:
    @kernel
    def wrong(array):
        return array.no_such_thing

    with pytest.raises(TypingError):
        wrong(np.zeros(1))
    assert wrong._cache._claimed == []


def test_a_notice_when_there_is_much_to_compile(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = Store([tmp_path])
    for number in range(code_cache.SILENT + 5):
        with caplog.at_level(logging.WARNING):
            assert store.wait(f"{number}") is None
        assert len(caplog.records) == (number >= code_cache.SILENT)
    assert caplog.messages == ["Compiling. This can take a minute, the first time only."]


def test_hashes_are_of_what_this_process_runs(tmp_path: Path) -> None:
    """A file that is edited while a program runs is not what the program has imported."""
    file = tmp_path / "mine.py"
    file.write_text("A = 1\n")
    before = sources_hash(file)
    file.write_text("A = 2\n")
    assert sources_hash(file) == before
