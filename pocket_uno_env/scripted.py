"""The scripted policies, compiled: the ladder from random play to the strong heuristic.

A policy is a kernel ``policy(rules, row) -> action`` for the seat to act, called as its member of
`Policy` in lower case with ``_action``. It reads the game only through `information`; its own
randomness comes from the row's ``policy_rng``, never from the generator that deals.
"""

from __future__ import annotations

from enum import IntEnum

from .baselines import (
    attacker_action,
    challenger_action,
    first_action,
    greedy_action,
    high_card_action,
    random_action,
    random_uno_action,
)
from .baselines import cardless as cardless
from .baselines import choose as choose
from .baselines import play_action as play_action
from .counter import counter_action
from .heuristics import strong_action
from .kernel import kernel


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


@kernel
def act(rules, row, policy):
    """The action that a scripted `policy` takes for the seat to act.

    Precondition: the round is running.
    """
    if policy == Policy.STRONG:
        return strong_action(rules, row)
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
