"""The mutants change what stands in the sources: each one text, which stands there once."""

from __future__ import annotations

import pytest
from mutants import MUTANTS, ROOT, TESTS, source_of


@pytest.mark.parametrize("number", range(len(MUTANTS)))
def test_a_mutant_changes_one_place(number: int) -> None:
    _, old, new = MUTANTS[number]
    source = source_of(old)
    assert old != new
    compile(source.read_text("utf-8").replace(old, new), str(source), "exec")


@pytest.mark.parametrize("text", ["this stands nowhere", "from __future__ import annotations"])
def test_a_text_that_does_not_stand_once_is_refused(text: str) -> None:
    with pytest.raises(LookupError, match="should stand once"):
        source_of(text)


def test_the_tests_that_should_notice_exist() -> None:
    assert all((ROOT / "tests" / test).is_file() for test in TESTS)
