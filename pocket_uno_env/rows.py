"""Games in rows of your own: deal, look, act. Every call checks what it is given.

A row (`state.ROW`) is one whole game. These functions take the rules as `Rules` or as
``Rules.table``, an array of rows and, but for `reset_rows`, an index: which of the rows are meant.
All raise ValueError, IndexError or TypeError for what they cannot take, with all rows as they were.
`batch.Batch` has its own rows and is faster; the kernels that check nothing are `row_kernels`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pocket_uno_env import row_kernels
from pocket_uno_env.arguments import as_integers, check_apart, check_buffer, check_count, check_seed
from pocket_uno_env.engine.state import ROW
from pocket_uno_env.engine.validity import check_rows
from pocket_uno_env.observation.blocks import observation_size
from pocket_uno_env.records.snapshot import phase_name
from pocket_uno_env.rules.actions import catalogue
from pocket_uno_env.rules.rules import Rules, rules_of


def reset_rows(
    rules: Rules | np.ndarray,
    rows: np.ndarray,
    num_players: int,
    seed: int | np.integer[Any],
    first_index: int | np.integer[Any] = 0,
) -> None:
    """Start a new game in every row and deal its first round.

    Game ``i`` follows from ``(seed, first_index + i)``, each from 0 to ``2**64 - 1``, and is the
    same as in a `batch.Batch` of that seed.
    """
    found = rules_of(rules)
    players = found.check_players(num_players)
    check_buffer("rows", rows, (len(rows),) if np.ndim(rows) else (0,), ROW)
    start, index = check_seed("seed", seed), check_seed("first_index", first_index)
    zeros = np.zeros((0, players), np.int64)
    row_kernels.reset_rows(found._table, rows, players, start, index, zeros)


def step_rows(
    rules: Rules | np.ndarray,
    rows: np.ndarray,
    index: np.ndarray,
    actions: np.ndarray,
    max_cycles: int,
) -> None:
    """Take ``actions[j]`` in ``rows[index[j]]``; truncate rounds at `max_cycles` decisions.

    Parameters
    ----------
    index : int64 array, shape ``(m,)``
        Running games, each once.
    actions : int64 array, shape ``(m,)``

    Raises
    ------
    ValueError
        If an action is not legal, naming the game, the action, the phase and the legal ones.
    """
    found, index = rules_of(rules), as_integers("index", index)
    actions = as_integers("actions", actions, len(index))
    cap = check_count("max_cycles", max_cycles)
    check_written(rows)
    check_apart({"rows": rows}, {"index": index, "actions": actions})
    check_rows(found, rows, index=index, running=True, once=True)
    if (j := row_kernels.first_illegal(found._table, rows, index, actions)) >= 0:
        raise ValueError(illegal_action(found, rows, int(index[j]), int(actions[j])))
    row_kernels.step_rows(found._table, rows, index, actions, cap)


def mask_rows(
    rules: Rules | np.ndarray, rows: np.ndarray, index: np.ndarray, masks: np.ndarray
) -> None:
    """Write the legal actions of the seat to act: zeros where the round is over.

    Parameters
    ----------
    index : int64 array, shape ``(m,)``
    masks : int8 array, shape ``(m, n_actions)``, written
    """
    found, index = rules_of(rules), as_integers("index", index)
    check_buffer("masks", masks, (len(index), len(catalogue(found))), np.int8)
    check_apart({"masks": masks}, {"rows": rows, "index": index})
    check_rows(found, rows, index=index)
    row_kernels.mask_rows(found._table, readable(rows), index, masks)


def observe_rows(
    rules: Rules | np.ndarray, rows: np.ndarray, index: np.ndarray, observations: np.ndarray
) -> None:
    """Write what the seat to act knows.

    Parameters
    ----------
    index : int64 array, shape ``(m,)``
        Running games, all with the same number of players.
    observations : float32 or uint8 array, shape ``(m, observation_size)``, written
    """
    found, index = rules_of(rules), as_integers("index", index)
    players = check_rows(found, rows, index=index, running=True)
    width = (observation_size(found, players),) if players else np.shape(observations)[1:]
    check_buffer("observations", observations, (len(index), *width), np.float32, np.uint8)
    check_apart({"observations": observations}, {"rows": rows, "index": index})
    if players:
        row_kernels.observe_rows(found._table, readable(rows), index, observations)


def legal_names(rules: Rules, rows: np.ndarray, place: int = 0) -> list[str]:
    """The names of the legal actions of the seat to act in ``rows[place]``, in the order of ids."""
    names = catalogue(rules).names
    mask = np.zeros((1, len(names)), np.int8)
    row_kernels.mask_rows(rules._table, rows, np.array([place]), mask)
    return [names[action] for action in np.flatnonzero(mask[0])]


def illegal_action(rules: Rules, rows: np.ndarray, place: int, action: int) -> str:
    """What to say about an action that is not legal in ``rows[place]``."""
    names = catalogue(rules).names
    known = f" ({names[action]!r})" if 0 <= action < len(names) else ""
    legal = ", ".join(sorted(legal_names(rules, rows, place)))
    return (
        f"action {action}{known} is not legal in game {place}, phase "
        f"{phase_name(rows[place])!r}; legal: {legal}"
    )


def check_written(rows: Any) -> None:
    """Raise ValueError if rows that are about to be written cannot be."""
    if isinstance(rows, np.ndarray) and not rows.flags.writeable:
        raise ValueError("rows are read-only; expected rows that can be written")


def readable(rows: np.ndarray) -> np.ndarray:
    """The rows, or a copy of read-only ones: for other kinds of arrays Numba compiles anew."""
    return rows if rows.flags.writeable else rows.copy()
