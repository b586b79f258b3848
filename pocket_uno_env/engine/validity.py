"""Whether an array of rows holds games: everything that compiled code relies on, checked."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from pocket_uno_env.arguments import as_integers
from pocket_uno_env.compiled.bits import EMPTY, add_card, bit, has_card, size
from pocket_uno_env.compiled.kernel import kernel, unowned
from pocket_uno_env.rules.cards import CARD_WORDS
from pocket_uno_env.rules.limits import MAX_SEATS, NO_COLOR, NO_KIND
from pocket_uno_env.rules.phases import End, Phase
from pocket_uno_env.rules.rules import Rules, rules_of

from .state import NO_CARD, NO_SEAT, ROW


class Fault(IntEnum):
    """What is wrong with a row."""

    NONE = 0
    SEATS = 1
    TURN = 2
    PHASE = 3
    TABLE = 4
    CARDS = 5
    OVER = 6
    ABSENT = 7
    TWICE = 8


_WORDS = {
    Fault.SEATS: "its number of players, or who of them is in, is not that of the others",
    Fault.TURN: "its direction, dealer or seat to act makes no turn",
    Fault.PHASE: "its phase and its end do not agree",
    Fault.TABLE: "its top card or its colour is none of these rules",
    Fault.CARDS: "its cards are not the deck of these rules, each in one place",
    Fault.OVER: "its round is over",
}


@kernel
def row_fault(rules, row):
    """What is wrong with a row of these rules: a `Fault`."""
    players = np.int64(row.num_players)
    if players < 2 or players > MAX_SEATS or (row.out >> players) != 0:
        return Fault.SEATS
    left = players - size(np.uint64(row.out))
    if left < 1 or row.players_in != left or row.passes > players:
        return Fault.SEATS
    if row.phase > Phase.OVER or row.end > End.TRUNCATED:
        return Fault.PHASE
    over = row.phase == Phase.OVER
    if over != (row.end != End.RUNNING) or not (over or row.phase < rules.n_phases):
        return Fault.PHASE
    if row.dealer >= players or (row.direction != 1 and row.direction != -1):
        return Fault.TURN
    if over != (row.to_act == NO_SEAT) or not (over or row.to_act < players):
        return Fault.TURN
    if not over and (row.out >> row.to_act) & 1:
        return Fault.TURN
    named = row.actor < players and row.top_before < rules.n_kinds
    unnamed = row.actor == NO_SEAT and row.top_before == NO_KIND
    early = over or row.phase == Phase.PLAY or row.phase == Phase.DRAWN or row.phase == Phase.NAME
    if not (named or (unnamed and early)):
        return Fault.TURN
    if row.top >= rules.n_kinds or not _is_color(rules, row.color_before):
        return Fault.TABLE
    if not _is_color(rules, row.active_color):
        return Fault.TABLE
    if row.active_color == NO_COLOR and not (over or row.phase == Phase.NAME):
        return Fault.TABLE
    return _cards_fault(rules, row)


@kernel
def _is_color(rules, color):
    return color < rules.n_colors or color == NO_COLOR


@kernel
def _cards_fault(rules, row):
    """Every card is in one place, and the books about it agree."""
    n_cards = np.int64(rules.n_cards)
    total = np.int64(row.draw_count) + np.int64(row.discard_count)
    for seat in range(row.num_players):
        total += row.hand_size[seat]
    if total != n_cards or row.discard_count < 1:
        return Fault.CARDS
    seen = np.zeros(CARD_WORDS, np.uint64)
    kinds = EMPTY
    for i in range(row.discard_count):
        card = np.int64(row.discard_pile[i])
        if card >= n_cards or not has_card(row.discards, card) or has_card(seen, card):
            return Fault.CARDS
        add_card(seen, card)
        kinds |= bit(rules.card_kind[card])
    if kinds != row.discard_kinds or row.top != rules.card_kind[card]:
        return Fault.CARDS
    for word in range(CARD_WORDS):
        if seen[word] != row.discards[word]:
            return Fault.CARDS
    for i in range(row.draw_count):
        card = np.int64(row.draw_pile[i])
        if card >= n_cards or has_card(seen, card):
            return Fault.CARDS
        add_card(seen, card)
    for seat in range(row.num_players):
        held, kinds = np.int64(0), EMPTY
        for word in range(CARD_WORDS):
            cards = row.hands[seat, word]
            if cards & seen[word] != EMPTY:
                return Fault.CARDS
            seen[word] |= cards
            held += size(cards)
        for kind in range(rules.n_kinds):
            for word in range(CARD_WORDS):
                if row.hands[seat, word] & rules.kind_cards[kind, word] != EMPTY:
                    kinds |= bit(kind)
        if held != row.hand_size[seat] or kinds != row.hand_kinds[seat]:
            return Fault.CARDS
    # As many cards as the deck has, each once: it remains that they are cards of the deck.
    for word in range(CARD_WORDS):
        deck = EMPTY
        for kind in range(rules.n_kinds):
            deck |= rules.kind_cards[kind, word]
        if seen[word] != deck:
            return Fault.CARDS
    if row.phase == Phase.DRAWN:
        return Fault.NONE if _holds_drawn(rules, row) else Fault.CARDS
    return Fault.NONE


@kernel
def _holds_drawn(rules, row):
    if row.drawn_card == NO_CARD or row.drawn_card >= rules.n_cards:
        return False
    return has_card(row.hands[row.to_act], row.drawn_card)


@kernel
def _first_fault(rules, rows, index, num_players, running, once, found):
    """The first ``j`` whose ``rows[index[j]]`` is no game, or -1; ``found[0]`` is its `Fault`."""
    rules, rows = unowned(rules), unowned(rows)
    taken = np.zeros(rows.shape[0] if once else 0, np.bool_)
    for j in range(index.shape[0]):
        i = index[j]
        if i < 0 or i >= rows.shape[0]:
            found[0] = Fault.ABSENT
            return j
        if once:
            if taken[i]:
                found[0] = Fault.TWICE
                return j
            taken[i] = True
        row = rows[i]
        fault = row_fault(rules[0], row)
        if fault == Fault.NONE and row.num_players != num_players:
            fault = Fault.SEATS
        if fault == Fault.NONE and running and row.end != End.RUNNING:
            fault = Fault.OVER
        if fault != Fault.NONE:
            found[0] = fault
            return j
    return -1


def check_rows(
    rules: str | Rules | np.ndarray,
    rows: np.ndarray,
    num_players: int | None = None,
    *,
    index: np.ndarray | None = None,
    running: bool = False,
    once: bool = False,
) -> int:
    """The number of players of some games, if they are games of these rules.

    Parameters
    ----------
    rules : str, Rules or ``Rules.table``
    rows : structured array, dtype `state.ROW`, shape ``(n,)``
    num_players : int, optional
        How many play in each; without it as many as in the first of them.
    index : int64 array, shape ``(m,)``, optional
        Which of the rows are looked at; all without it.
    running : bool
        Whether their rounds have to be running.
    once : bool
        Whether `index` may name a row only once.

    Returns
    -------
    int
        0 if there are no games.

    Raises
    ------
    ValueError, IndexError
        If the array is not one of rows, or one of them is no game of these rules, naming it.
    """
    rules = Rules.of(rules) if isinstance(rules, str) else rules_of(rules)
    if not isinstance(rows, np.ndarray) or rows.dtype != ROW or rows.ndim != 1:
        found = f"{getattr(rows, 'dtype', type(rows).__name__)}"
        raise ValueError(
            f"rows are {found if len(found) < 50 else 'another record'} of shape "
            f"{getattr(rows, 'shape', '?')}; expected one dimension of state.ROW"
        )
    if not (rows.flags.c_contiguous and rows.flags.aligned):
        raise ValueError("rows must be C-contiguous; make a copy")
    if not rows.flags.writeable:
        rows = rows.copy()  # for a look; what writes to rows asks for more
    index = np.arange(len(rows)) if index is None else as_integers("index", index)
    if not len(index):
        return 0
    if num_players is None:
        first = int(index[0])
        num_players = int(rows["num_players"][first]) if 0 <= first < len(rows) else 0
    fault = np.zeros(1, np.int64)
    j = int(_first_fault(rules._table, rows, index, num_players, running, once, fault))
    if j < 0:
        return num_players
    place = int(index[j])
    if fault[0] == Fault.ABSENT:
        raise IndexError(f"index[{j}] is {place}; there are {len(rows)} rows")
    if fault[0] == Fault.TWICE:
        raise ValueError(f"index[{j}] is {place}, which stands there before; expected each once")
    raise ValueError(
        f"row {place} is no game to go on with: {_WORDS[Fault(int(fault[0]))]} "
        f"(rules {rules.name!r}, {num_players} players)"
    )
