"""The book of each of a learner's games: what is kept beside the row."""

from __future__ import annotations

from typing import Any

import numpy as np

from pocket_uno_env.compiled.kernel import as_rows
from pocket_uno_env.rules.limits import MAX_SEATS
from pocket_uno_env.rules.phases import End

LEARNER = -1
"""Value of ``waits_for`` when it is the learner's decision."""

BOOK = np.dtype(
    [
        ("reward", np.float64),  # of the learner's last decision
        ("owed", np.float64),  # what rounds of this match have paid before its first decision
        ("opponents", np.int64, (MAX_SEATS,)),  # by seat, the code of its agent in this episode
        ("learner", np.int64),  # the learner's seat in this episode
        ("last_learner", np.int64),  # its seat in the last episode that ended
        ("waits_for", np.int64),  # who has to act: `LEARNER`, or the number of the caller's agent
        ("decided", np.bool_),  # whether the learner has had a decision in this episode
        ("end", np.uint8),  # after its last decision: `End.RUNNING`, or why its episode ended
    ],
    align=True,
)
"""What is kept for the learner beside a row."""


def new_books(n: int) -> Any:
    """`n` zeroed books, shape ``(n,)``."""
    return as_rows(np.zeros(n, BOOK))


def check_books(books: np.ndarray, rows: np.ndarray, num_players: int, codes: np.ndarray) -> None:
    """ValueError unless the books go with the rows, between two decisions of the learner.

    ``codes`` are those of the opponents.
    """
    seats = np.arange(MAX_SEATS) < num_players
    ends = [int(end) for end in End]
    for field, right in {
        "learner": books["learner"] == rows["to_act"],
        "last_learner": (books["last_learner"] >= 0) & (books["last_learner"] < num_players),
        "opponents": (np.isin(books["opponents"], codes) | ~seats).all(1),
        "waits_for": books["waits_for"] == LEARNER,
        "decided": books["decided"].view(np.uint8) == 1,
        "end": np.isin(books["end"], ends),
        "reward": np.isfinite(books["reward"]),
        "owed": np.isfinite(books["owed"]),
    }.items():
        if not right.all():
            place = int(right.argmin())
            raise ValueError(
                f"game {place} is none: {field} of its book is {books[field][place]}, which "
                "does not go with its row or with the opponents"
            )
