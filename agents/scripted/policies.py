"""The scripted policies, compiled: the ladder from random play to the strong heuristic.

A policy is a kernel ``NAME_action(rules, row) -> action`` for the seat to act. It reads the game
only through `observation.information`; its own randomness comes from the row's ``policy_rng``,
never from the generator that deals. A new one is imported here, has a member of `Policy` by its
name and a branch of `act`; agents are registered from these, with the first line of the kernel's
docstring.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from pocket_uno_env.arguments import as_integers, check_apart, check_buffer
from pocket_uno_env.compiled.kernel import kernel, unowned
from pocket_uno_env.engine.validity import check_rows
from pocket_uno_env.rows import check_written
from pocket_uno_env.rules.rules import Rules, rules_of

from .counter import counter_action
from .simple import (
    attacker_action,
    challenger_action,
    first_action,
    greedy_action,
    high_card_action,
    random_action,
    random_uno_action,
)
from .strong import strong_action, strong_match_action


class Policy(IntEnum):
    """The scripted policies, about in the order of their strength.

    The value is what `act` dispatches on; agents are loaded by the name in lower case, with
    hyphens.
    """

    RANDOM = 0
    RANDOM_UNO = 2
    FIRST = 3
    HIGH_CARD = 4
    ATTACKER = 6
    CHALLENGER = 5
    GREEDY = 1
    COUNTER = 7
    STRONG = 8
    STRONG_MATCH = 9


STOCHASTIC = (Policy.RANDOM, Policy.RANDOM_UNO)
"""The policies that draw their actions at random; the others are deterministic."""


@kernel
def act(rules, row, policy):
    """The action that a scripted `policy` takes for the seat to act.

    Precondition: the round is running.
    """
    if policy == Policy.STRONG:
        return strong_action(rules, row)
    if policy == Policy.STRONG_MATCH:
        return strong_match_action(rules, row)
    if policy == Policy.RANDOM:
        return random_action(rules, row)
    if policy == Policy.COUNTER:
        return counter_action(rules, row)
    if policy == Policy.RANDOM_UNO:
        return random_uno_action(rules, row)
    if policy == Policy.FIRST:
        return first_action(rules, row)
    if policy == Policy.HIGH_CARD:
        return high_card_action(rules, row)
    if policy == Policy.CHALLENGER:
        return challenger_action(rules, row)
    if policy == Policy.ATTACKER:
        return attacker_action(rules, row)
    return greedy_action(rules, row)


def act_rows(
    rules: Rules | np.ndarray,
    rows: np.ndarray,
    index: np.ndarray,
    policy: Policy | int,
    actions: np.ndarray,
) -> None:
    """Write the action of a scripted policy in ``rows[index[j]]`` into ``actions[j]``.

    Only the policies' generator of those rows moves on.

    Parameters
    ----------
    index : int64 array, shape ``(m,)``
        Running games.
    actions : int64 array, shape ``(m,)``, written

    Raises
    ------
    ValueError
        For a policy that does not exist, an array of another form, or games that are over.
    """
    found, index = rules_of(rules), as_integers("index", index)
    check_policy(policy)
    check_buffer("actions", actions, (len(index),), np.int64)
    check_written(rows)
    check_apart({"actions": actions, "rows": rows}, {"index": index})
    check_rows(found, rows, index=index, running=True)
    act_rows_unchecked(found._table, rows, index, int(policy), actions)


def check_policy(policy: Any) -> None:
    """Raise ValueError unless this is a member of `Policy`, or the value of one."""
    if policy not in list(Policy):
        raise ValueError(f"policy is {policy!r}; expected one of {[p.name for p in Policy]}")


@kernel
def act_rows_unchecked(rules, rows, index, policy, actions):
    """`act_rows` for the rules' table, without its checks."""
    rules = unowned(rules)
    rows = unowned(rows)
    for j in range(index.shape[0]):
        actions[j] = act(rules[0], rows[index[j]], policy)
