"""Files and folders that cannot be made: one sentence says what is in the way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pocket_uno_env.agents.trained.run_folder import new_folder
from pocket_uno_env.evaluation.journal import _make
from pocket_uno_env.files import FileError, make_folder, write_whole
from pocket_uno_env.play.table import write_record


def write(path: Path) -> None:
    write_whole(path, b"x")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("link").symlink_to("away/x")
    Path("empty").symlink_to("x")
    Path("file").write_text("x")
    return tmp_path.resolve()


def test_a_file_behind_a_link_is_written_where_that_leads(here: Path) -> None:
    write(Path("empty"))
    assert (here / "x").read_bytes() == b"x" and Path("empty").is_symlink()


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("link", "link is a link to {here}/away/x, and there is no folder {here}/away"),
        ("link/y", "link is a link to {here}/away/x, and there is no folder {here}/away/x"),
        ("away/y", "there is no folder away"),
    ],
)
def test_what_a_file_lacks_is_named(here: Path, path: str, says: str) -> None:
    with pytest.raises(FileError) as error:
        write(Path(path))
    assert str(error.value) == f"cannot write {path}: {says.format(here=here)}"


MAKERS: list[Callable[[Path], object]] = [
    make_folder,
    _make,
    lambda folder: new_folder(folder, "pocket", 2),
    lambda folder: write_record(folder / "game.jsonl", {}),
]


@pytest.mark.parametrize("make", MAKERS, ids=["files", "evaluate", "train", "play"])
@pytest.mark.parametrize(
    ("folder", "says"),
    [
        ("link", "link is a link to {here}/away/x, which is not there"),
        ("link/y", "link is a link to {here}/away/x, which is not there"),
        ("file", "file is a file"),
        ("file/y", "file is a file"),
        ("x" * 300, "File name too long"),
    ],
    ids=lambda value: value[:20],
)
def test_what_is_in_the_way_of_a_folder_is_named(
    here: Path, make: Callable[[Path], object], folder: str, says: str
) -> None:
    with pytest.raises(FileError) as error:
        make(Path(folder))
    assert str(error.value) == f"cannot make the folder {folder}: {says.format(here=here)}"
    assert {path.name for path in here.iterdir()} == {"link", "empty", "file"}
