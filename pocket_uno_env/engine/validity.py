"""Whether an array of rows holds games: everything that compiled code relies on, checked.

Kernels believe every number in a row. Here every field that they go by is one that a game can have,
every card is in one place, and what a row says twice it says alike. Whether play leads there is not
asked.
"""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache

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
    """The field of a row that no game of these rules has, or what is wrong with an index."""

    NONE = 0
    NUM_PLAYERS = 1
    OUT = 2
    PLAYERS_IN = 3
    PASSES = 4
    DECISIONS = 5
    ROUND_INDEX = 6
    SCORES = 7
    POINTS = 8
    PHASE = 9
    END = 10
    WINNER = 11
    DEALER = 12
    DIRECTION = 13
    TO_ACT = 14
    ACTOR = 15
    STACK = 16
    TOP = 17
    TOP_BEFORE = 18
    ACTIVE_COLOR = 19
    COLOR_BEFORE = 20
    DRAWN_CARD = 21
    DRAW_COUNT = 22
    DISCARD_COUNT = 23
    DISCARD_PILE = 24
    DISCARDS = 25
    DISCARD_KINDS = 26
    DRAW_PILE = 27
    HANDS = 28
    HAND_SIZE = 29
    HAND_KINDS = 30
    KNOWN = 31
    SHOWN = 32
    OFF_COLOR = 33
    OVER = 34
    ABSENT = 35
    TWICE = 36


_EXPECTED = {
    Fault.NUM_PLAYERS: "the number of players",
    Fault.OUT: "a bit for each seat that is out",
    Fault.PLAYERS_IN: "the number of those that are not out, 2 or more while a round runs",
    Fault.PASSES: "at most the number of players",
    Fault.DECISIONS: "0 or more",
    Fault.ROUND_INDEX: "0 or more",
    Fault.SCORES: "0 or more for each player, and 0 at empty seats",
    Fault.POINTS: "0 while a round runs and at empty seats, else 0 or more",
    Fault.PHASE: "a phase of these rules that agrees with the end",
    Fault.END: "0 to 3",
    Fault.WINNER: "a player if a hand was emptied, else none",
    Fault.DEALER: "a player",
    Fault.DIRECTION: "1 or -1",
    Fault.TO_ACT: "a player who is not out; none after the end",
    Fault.ACTOR: "a player who is not out, or none where no play is resolved",
    Fault.STACK: "what draw cards make somebody draw, and 0 where nobody is to draw",
    Fault.TOP: "the kind on top of the discard pile",
    Fault.TOP_BEFORE: "a card kind, or none if there is no actor",
    Fault.ACTIVE_COLOR: "a colour of these rules, or none before it is named",
    Fault.COLOR_BEFORE: "a colour of these rules, or none",
    Fault.DRAWN_CARD: "a card of the hand in phase drawn, else none",
    Fault.DRAW_COUNT: "at most the cards of the deck",
    Fault.DISCARD_COUNT: "1 to the cards of the deck",
    Fault.DISCARD_PILE: "cards of the deck, each once",
    Fault.DISCARDS: "the cards of the discard pile",
    Fault.DISCARD_KINDS: "the kinds in the discard pile",
    Fault.DRAW_PILE: "cards of the deck, each once and in one place",
    Fault.HANDS: "each card of the deck in one place, and some at each seat that plays",
    Fault.HAND_SIZE: "the number of cards in the hands",
    Fault.HAND_KINDS: "the kinds in the hands",
    Fault.KNOWN: "cards in hands, and none at empty seats",
    Fault.SHOWN: "cards in hands, and none at empty seats",
    Fault.OFF_COLOR: "at most the cards in the hand",
}
"""What is expected of the field whose name is that of the fault."""


@lru_cache(maxsize=256)
def running_phases(rules: Rules) -> np.uint64:
    """The phases in which a running round of `rules` can be, bit p for phase p."""
    wilds = rules.wild_copies
    challenged = wilds["W+2"] or (wilds["W+4"] and rules.wild_draw_four == "challenge")
    there = {
        Phase.UNO: rules.uno_call == "explicit",
        Phase.CATCH: rules.uno_call == "explicit",
        Phase.CHALLENGE: challenged and not rules.stacking,
        Phase.GIVE: wilds["WD"],
        Phase.NAME: rules.opening_wild == "first_player_chooses",
        Phase.STACK: rules.stacking,
        Phase.SWAP: rules.seven_zero,
        Phase.JUMP: rules.jump_in,
        Phase.OVER: False,
    }
    return np.uint64(sum(1 << phase for phase in Phase if there.get(phase, True)))


@kernel
def row_fault(rules, row, num_players, phases):
    """What is wrong with a row of these rules: a `Fault`; ``phases``: `running_phases`."""
    fault = _match_fault(row, num_players)
    if fault == Fault.NONE:
        fault = _turn_fault(rules, row, phases)
    if fault == Fault.NONE:
        fault = _top_fault(rules, row)
    if fault == Fault.NONE:
        fault = _cards_fault(rules, row)
    if fault == Fault.NONE:
        fault = _knowledge_fault(row)
    return fault


@kernel
def _match_fault(row, num_players):
    """Who plays, and the points."""
    players = np.int64(row.num_players)
    if players != num_players or players < 2 or players > MAX_SEATS:
        return Fault.NUM_PLAYERS
    if (row.out >> players) != 0:
        return Fault.OUT
    running = row.end == End.RUNNING
    left = players - size(np.uint64(row.out))
    if row.players_in != left or left < (2 if running else 1):
        return Fault.PLAYERS_IN
    if row.passes > players:
        return Fault.PASSES
    if row.decisions < 0:
        return Fault.DECISIONS
    if row.round_index < 0:
        return Fault.ROUND_INDEX
    for seat in range(MAX_SEATS):
        empty = seat >= players
        if row.scores[seat] < 0 or (empty and row.scores[seat] != 0):
            return Fault.SCORES
        if row.points[seat] < 0 or ((empty or running) and row.points[seat] != 0):
            return Fault.POINTS
    return Fault.NONE


@kernel
def _turn_fault(rules, row, phases):
    """Who has to decide what."""
    players = np.int64(row.num_players)
    if row.end > End.TRUNCATED:
        return Fault.END
    running = row.end == End.RUNNING
    if row.phase > Phase.OVER or running != (row.phase != Phase.OVER):
        return Fault.PHASE
    if running and (phases >> np.uint64(row.phase)) & np.uint64(1) == EMPTY:
        return Fault.PHASE
    if row.winner != NO_SEAT if row.end != End.OUT else row.winner >= players:
        return Fault.WINNER
    if row.dealer >= players:
        return Fault.DEALER
    if row.direction != 1 and row.direction != -1:
        return Fault.DIRECTION
    if running != (row.to_act != NO_SEAT):
        return Fault.TO_ACT
    if running and (row.to_act >= players or (row.out >> row.to_act) & 1):
        return Fault.TO_ACT
    resolved = row.phase == Phase.PLAY or row.phase == Phase.DRAWN or row.phase == Phase.NAME
    if row.actor == NO_SEAT:
        if running and not resolved:
            return Fault.ACTOR
    elif row.actor >= players or (running and (row.out >> row.actor) & 1):
        return Fault.ACTOR
    if resolved and row.stack != 0:
        return Fault.STACK
    return Fault.NONE


@kernel
def _top_fault(rules, row):
    """What lies on top, and lay there before."""
    if row.top >= rules.n_kinds:
        return Fault.TOP
    if not rules.stacking and row.stack != 0 and row.stack != rules.kind_draws[row.top]:
        return Fault.STACK
    if row.actor == NO_SEAT:
        if row.top_before != NO_KIND:
            return Fault.TOP_BEFORE
    elif row.top_before >= rules.n_kinds:
        return Fault.TOP_BEFORE
    if row.color_before >= rules.n_colors and row.color_before != NO_COLOR:
        return Fault.COLOR_BEFORE
    if row.active_color >= rules.n_colors:
        unnamed = row.phase == Phase.NAME or row.phase == Phase.OVER
        if row.active_color != NO_COLOR or not unnamed:
            return Fault.ACTIVE_COLOR
    return Fault.NONE


@kernel
def _cards_fault(rules, row):
    """Every card is in one place, and what is said twice about it agrees."""
    n_cards = np.int64(rules.n_cards)
    if row.draw_count > n_cards:
        return Fault.DRAW_COUNT
    if row.discard_count < 1 or row.discard_count > n_cards:
        return Fault.DISCARD_COUNT
    seen = np.zeros(CARD_WORDS, np.uint64)
    kinds = EMPTY
    card = np.int64(0)
    for i in range(row.discard_count):
        card = np.int64(row.discard_pile[i])
        if card >= n_cards or has_card(seen, card):
            return Fault.DISCARD_PILE
        add_card(seen, card)
        kinds |= bit(rules.card_kind[card])
    for word in range(CARD_WORDS):
        if seen[word] != row.discards[word]:
            return Fault.DISCARDS
    if kinds != row.discard_kinds:
        return Fault.DISCARD_KINDS
    if row.top != rules.card_kind[card]:
        return Fault.TOP
    for i in range(row.draw_count):
        card = np.int64(row.draw_pile[i])
        if card >= n_cards or has_card(seen, card):
            return Fault.DRAW_PILE
        add_card(seen, card)
    for seat in range(MAX_SEATS):
        held, kinds = np.int64(0), EMPTY
        for word in range(CARD_WORDS):
            cards = row.hands[seat, word]
            if cards & seen[word] != EMPTY:
                return Fault.HANDS
            seen[word] |= cards
            held += size(cards)
        if held > 0:
            for kind in range(rules.n_kinds):
                for word in range(CARD_WORDS):
                    if row.hands[seat, word] & rules.kind_cards[kind, word] != EMPTY:
                        kinds |= bit(kind)
        plays = seat < row.num_players and (row.out >> seat) & 1 == 0
        if row.end == End.RUNNING and (held > 0) != plays:
            return Fault.HANDS
        if held > 0 and seat >= row.num_players:
            return Fault.HANDS
        if held != row.hand_size[seat]:
            return Fault.HAND_SIZE
        if kinds != row.hand_kinds[seat]:
            return Fault.HAND_KINDS
    for word in range(CARD_WORDS):
        deck = EMPTY
        for kind in range(rules.n_kinds):
            deck |= rules.kind_cards[kind, word]
        if seen[word] != deck:
            return Fault.HANDS
    if row.phase != Phase.DRAWN:
        return Fault.NONE if row.drawn_card == NO_CARD else Fault.DRAWN_CARD
    if row.drawn_card >= n_cards or not has_card(row.hands[row.to_act], row.drawn_card):
        return Fault.DRAWN_CARD
    return Fault.NONE


@kernel
def _knowledge_fault(row):
    """What is known is about cards in hands."""
    held = np.zeros(CARD_WORDS, np.uint64)
    for seat in range(row.num_players):
        for word in range(CARD_WORDS):
            held[word] |= row.hands[seat, word]
    for seat in range(MAX_SEATS):
        for word in range(CARD_WORDS):
            known = held[word] if seat < row.num_players else EMPTY
            if row.known[seat, word] & ~known != EMPTY:
                return Fault.KNOWN
            if row.shown[seat, word] & ~known != EMPTY:
                return Fault.SHOWN
        for color in range(row.off_color.shape[1]):
            if row.off_color[seat, color] > row.hand_size[seat]:
                return Fault.OFF_COLOR
    return Fault.NONE


@kernel
def _first_fault(rules, rows, index, num_players, phases, running, once, found):
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
        fault = row_fault(rules[0], row, num_players, phases)
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
        If the array is not one of rows, or one of them is no game of these rules, naming the row,
        the field and its value.
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
    wrong, game = np.zeros(1, np.int64), f"rules {rules.name!r}, {num_players} players"
    phases = running_phases(rules)
    j = int(_first_fault(rules._table, rows, index, num_players, phases, running, once, wrong))
    if j < 0:
        _check_flags(rows, index, game)
        return num_players
    place, fault = int(index[j]), Fault(int(wrong[0]))
    if fault == Fault.ABSENT:
        raise IndexError(f"index[{j}] is {place}; there are {len(rows)} rows")
    if fault == Fault.TWICE:
        raise ValueError(f"index[{j}] is {place}, which stands there before; expected each once")
    if fault == Fault.OVER:
        raise ValueError(f"row {place} is no game to go on with: its round is over ({game})")
    field = fault.name.lower()
    value = rows[field][place]
    shown = f" is {value}" if np.ndim(value) == 0 else ""
    raise ValueError(
        f"row {place} is no game to go on with: {field}{shown}; "
        f"expected {_EXPECTED[fault]} ({game})"
    )


def _check_flags(rows: np.ndarray, index: np.ndarray, game: str) -> None:
    """ValueError if a truth value is neither 0 nor 1, which compiled code cannot see."""
    for field in ("guilty", "caught"):
        if (values := rows[field].view(np.uint8)[index]).max() > 1:
            j = int(values.argmax())
            raise ValueError(
                f"row {index[j]} is no game to go on with: {field} is {values[j]}; "
                f"expected 0 or 1 ({game})"
            )
