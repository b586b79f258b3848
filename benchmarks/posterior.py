"""What a seat could know of the other hand if it knew the policy that plays it: exactly.

Two players; seat 1 plays `strong`, which is deterministic. So it may hold the hands with which it
would have decided in the whole round as it did, all equally likely. A Markov chain walks over them
(N. Metropolis and others, "Equation of State Calculations by Fast Computing Machines", 1953): a
step exchanges two cards that seat 0 cannot place, in all positions of the round, unless a decision
would have been another one with that. It starts at the true hand, which is one of them, so that
every hand on the way is as likely as it should be.

What seat 0 has known of the hand once, and does not know any more, is not held against a guess.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pocket_uno_env.agents.scripted.choices import cardless
from pocket_uno_env.agents.scripted.policies import Policy, act
from pocket_uno_env.agents.search.determinize import list_unseen
from pocket_uno_env.compiled.bits import (
    EMPTY,
    add_card,
    bit,
    first,
    has_card,
    remove_card,
    without_first,
)
from pocket_uno_env.compiled.kernel import kernel, unowned
from pocket_uno_env.compiled.rng import bounded, mix, next_state
from pocket_uno_env.engine.legality import is_guilty, matching_kinds, write_mask
from pocket_uno_env.engine.piles import shuffle
from pocket_uno_env.engine.transition import apply
from pocket_uno_env.rules.actions import Move
from pocket_uno_env.rules.cards import CARD_WORDS
from pocket_uno_env.rules.phases import End, Phase

LONGEST = 64
"""Decisions of seat 1 that are remembered; rounds with more are left there."""
BURN_IN = 100
"""Steps before the first hand is taken from the chain."""
NOT_PLAYED = -1
"""The decision not to play the card just drawn, or that it could not be played."""
_CAP = 800


@kernel
def asked(row: Any) -> Any:
    """Whether there is anything to decide: to say uno and to catch cost nothing."""
    return row.phase != Phase.UNO and row.phase != Phase.CATCH


@kernel
def play_on(rules: Any, rows: Any, moves: Any, past: Any, actions: Any, counts: Any) -> None:
    """Make ``moves[i]`` for seat 0, if not negative, and play on until it is asked again.

    Parameters
    ----------
    past : rows, shape ``(rounds, LONGEST)``
        The games before each decision of seat 1.
    actions : int64, the same shape
        What it decided, or `NOT_PLAYED`.
    counts : int64, shape ``(rounds,)``
        How many there are.
    """
    rules = unowned(rules)
    keep, draw = cardless(rules[0], Move.KEEP), cardless(rules[0], Move.DRAW)
    for i in range(rows.shape[0]):
        row = rows[i]
        if row.end == End.RUNNING and moves[i] >= 0:
            apply(rules[0], row, moves[i], None, None)
        while row.end == End.RUNNING and counts[i] < LONGEST - 2:
            if row.to_act == 0 and asked(row):
                break
            action = act(rules[0], row, Policy.STRONG)
            if row.to_act == 0 or not asked(row):
                apply(rules[0], row, action, None, None)
                continue
            n = counts[i]
            past[i, n] = row
            kept = row.phase == Phase.DRAWN and action == keep
            actions[i, n] = NOT_PLAYED if kept else action
            counts[i] += 1
            apply(rules[0], row, action, None, None)
            before, after = past[i, n], past[i, n + 1]
            passed = row.phase != Phase.DRAWN and row.hand_size[1] > before.hand_size[1]
            if action == draw and passed:
                past[i, n + 1] = past[i, n]
                _show_drawn(rules[0], after, row)
                actions[i, n + 1] = NOT_PLAYED
                counts[i] += 1


@kernel
def _show_drawn(rules: Any, row: Any, after: Any) -> None:
    """Turn the game before a draw into the question whether to play what was drawn."""
    for card in range(rules.n_cards):
        if has_card(after.hands[1], card) and not has_card(row.hands[1], card):
            add_card(row.hands[1], card)
            row.drawn_card = card
    row.hand_kinds[1] = after.hand_kinds[1]
    row.hand_size[1] += 1
    row.draw_count -= 1
    row.phase = Phase.DRAWN


@kernel
def _decides(rules: Any, row: Any, action: Any) -> Any:
    """Whether seat 1 decides so with the hand that it has in `row`."""
    if action == NOT_PLAYED:
        drawn = bit(rules.card_kind[row.drawn_card])
        if matching_kinds(rules, row.hand_kinds[1], row.top, row.active_color) & drawn == EMPTY:
            return True
        action = cardless(rules, Move.KEEP)
    return act(rules, row, Policy.STRONG) == action


@kernel
def _exchange(rules: Any, row: Any, out: Any, into: Any) -> None:
    """Let seat 1 hold another card instead of one of its own."""
    remove_card(row.hands[1], out)
    add_card(row.hands[1], into)
    if row.drawn_card == out:
        row.drawn_card = into
    kinds = EMPTY
    for word in range(CARD_WORDS):
        cards = row.hands[1, word]
        while cards != EMPTY:
            kinds |= bit(rules.card_kind[64 * word + first(cards)])
            cards = without_first(cards)
    row.hand_kinds[1] = kinds


@kernel
def _swap(rules: Any, past: Any, count: Any, one: Any, two: Any) -> Any:
    """Exchange two cards in the first `count` positions; in how many seat 1 held one of them."""
    changed = 0
    for t in range(count):
        has_one, has_two = has_card(past[t].hands[1], one), has_card(past[t].hands[1], two)
        if has_one and not has_two:
            _exchange(rules, past[t], one, two)
            changed += 1
        elif has_two and not has_one:
            _exchange(rules, past[t], two, one)
            changed += 1
    return changed


@kernel
def step(rules: Any, row: Any, past: Any, actions: Any, count: Any, one: Any, two: Any) -> Any:
    """Exchange two cards in `row` and all of `past`, unless a decision speaks against it."""
    in_one, in_two = has_card(row.hands[1], one), has_card(row.hands[1], two)
    if one == two or not (in_one or in_two):
        return False
    for t in range(count):
        has_one, has_two = has_card(past[t].hands[1], one), has_card(past[t].hands[1], two)
        if has_one == has_two:
            continue
        out, into = (one, two) if has_one else (two, one)
        free = not has_card(past[t].discards, into) and not has_card(past[t].hands[0], into)
        if free:
            _exchange(rules, past[t], out, into)
            if _decides(rules, past[t], actions[t]):
                continue
            _exchange(rules, past[t], into, out)
        _swap(rules, past, t, one, two)
        return False
    if in_one and not in_two:
        _exchange(rules, row, one, two)
    elif in_two and not in_one:
        _exchange(rules, row, two, one)
    return True


@kernel
def _finish(rules: Any, row: Any, action: Any) -> Any:
    """The share of the win that seat 0 gets if it does so and `strong` plays on."""
    apply(rules, row, action, None, None)
    while row.end == End.RUNNING and row.decisions < _CAP:
        apply(rules, row, act(rules, row, Policy.STRONG), None, None)
    if row.end != End.OUT:
        return 0.5
    return 1.0 if row.winner == 0 else 0.0


@kernel
def advantages(
    rules: Any,
    rows: Any,
    place: Any,
    reference: Any,
    past: Any,
    actions: Any,
    count: Any,
    samples: Any,
    thin: Any,
    seed: Any,
    gains: Any,
) -> Any:
    """How much better than the reference each move of ``rows[place]`` is, over all likely hands.

    Parameters
    ----------
    past, actions, count
        The decisions of seat 1 in this round; `past` is changed.
    samples, thin : int
        How many hands, and the steps of the chain between them.
    gains : float64, shape ``(2, n_actions)``, written
        By the first and by the second half of the hands.

    Returns
    -------
    accepted : float
        The share of steps that led to another hand; negative if the true hand does not explain the
        decisions, which would be a fault in here.
    """
    rules = unowned(rules)
    for t in range(count):
        if not _decides(rules[0], past[t], actions[t]):
            return -1.0
    worlds = rows[:3].copy()
    world, guess, game = worlds[0], worlds[1], worlds[2]
    mask = np.zeros(rules[0].n_actions, np.int8)
    write_mask(rules[0], rows[place], mask)
    unseen = np.zeros(rules[0].n_cards, np.uint8)
    worlds[0] = rows[place]
    hidden = list_unseen(rules[0], world, 0, unseen)
    moved, steps = 0, 0
    gains[:] = 0.0
    for k in range(samples):
        for _ in range(BURN_IN if k == 0 else thin):
            seed = next_state(seed)
            one = np.int64(unseen[bounded(seed, hidden)])
            seed = next_state(seed)
            two = np.int64(unseen[bounded(seed, hidden)])
            moved += step(rules[0], world, past, actions, count, one, two)
            steps += 1
        worlds[1] = worlds[0]
        left = 0
        for i in range(hidden):
            if not has_card(guess.hands[1], unseen[i]):
                guess.draw_pile[left] = unseen[i]
                left += 1
        seed = next_state(seed)
        guess.rng = mix(seed)
        shuffle(guess, guess.draw_pile, left)
        if guess.phase == Phase.CHALLENGE:
            guess.guilty = is_guilty(rules[0], guess, guess.hand_kinds[1])
        worlds[2] = worlds[1]
        base = _finish(rules[0], game, reference)
        half = gains[2 * k // samples]
        for action in range(mask.shape[0]):
            if mask[action] and action != reference:
                worlds[2] = worlds[1]
                half[action] += (_finish(rules[0], game, action) - base) / (samples / 2)
    return moved / steps
