"""A round as a history: the caller decides every random outcome, one after the other.

What solvers and tree search need, and OpenSpiel's form of a game. A `History` is immutable;
`History.after` makes the next one. Draws are named when they happen: nobody has seen the order of
the draw pile, so a draw is uniform over its cards, and after a reshuffle over the discarded ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from pocket_uno_env.agents.search.determinize import new_unseen
from pocket_uno_env.compiled.kernel import as_rows
from pocket_uno_env.engine.piles import Note
from pocket_uno_env.engine.state import NO_SEAT, ROW, new_rows
from pocket_uno_env.row_kernels import mask_rows
from pocket_uno_env.rules.actions import Move
from pocket_uno_env.rules.cards import MAX_CARDS

from .deals import GameParameters, Outcomes, deal_outcomes, deals
from .events import DEAL, Cards, HistoryEvent, card_list
from .kernels import apply_row, play_out_row, redeal_row, start_row

_FIRST = np.zeros(1, np.int64)
_LOG_SIZE = 16 * MAX_CARDS


class History:
    """A round from its deal on, decided by the caller down to the last card.

    Attributes
    ----------
    parameters : GameParameters
    outcomes : Outcomes
        What may happen next by chance; empty where a seat decides, and at the end.
    rows : structured array, dtype `state.ROW`, shape ``(1,)``, or None
        The game at its last decision, None before the deal. Not to be changed. The order of the
        draw pile means nothing.
    to_act : int or None
        The seat that decides next; None where chance does, and at the end.
    events : tuple of HistoryEvent
    """

    __slots__ = (
        "_action",
        "_deal",
        "_drawn",
        "_seen",
        "events",
        "outcomes",
        "parameters",
        "rows",
        "to_act",
    )  # fmt: skip

    def __init__(self, parameters: GameParameters) -> None:
        self.parameters = parameters
        self.rows: Any = None
        self.events: tuple[HistoryEvent, ...] = ()
        self._seen = tuple(f"seat {seat}" for seat in range(parameters.num_players))
        self._deal: tuple[int, ...] = ()
        self._action: int | None = None
        self._drawn: Cards = ()
        self.outcomes: Outcomes = deal_outcomes(parameters, ())
        self.to_act: int | None = None

    @classmethod
    def at(cls, parameters: GameParameters, rows: Any, place: int) -> History:
        """What the seat to act in ``rows[place]`` knows, as a history without a past.

        The rest is dealt anew, as by `resampled`.
        """
        history = cls(parameters)
        history.rows = _copied(rows[place : place + 1])
        history.outcomes, history.to_act = (), int(rows["to_act"][place])
        return history.resampled(int(rows["policy_rng"][place]))

    def __deepcopy__(self, memo: Any) -> History:
        """Itself: it never changes."""
        return self

    @property
    def over(self) -> bool:
        """Whether the round has ended."""
        return self.to_act is None and not self.outcomes

    def legal(self) -> list[int]:
        """The legal actions of the seat to act, ascending; empty if there is none."""
        if self.to_act is None:
            return []
        mask = np.zeros((1, len(self.parameters.catalogue)), np.int8)
        mask_rows(self.parameters.table, self.rows, _FIRST, mask)
        return np.flatnonzero(mask[0]).tolist()

    def seen(self, seat: int) -> str:
        """Everything that `seat` has seen so far, in order, its hand now, and whose turn it is."""
        if self.rows is None:
            hand = self._dealt_hands()[seat]
        else:
            hand = self.parameters.hand(self.rows[0], seat)
        turn = "" if self.to_act is None else f"; {self.to_act} to act"
        return f"{self._seen[seat]}; holds {card_list(self.parameters.kinds, hand)}{turn}"

    def text(self) -> str:
        """Everything that has happened, in words."""
        parameters = self.parameters
        parts = [event.text(parameters.kinds, parameters.catalogue.names) for event in self.events]
        if self.rows is None:
            parts.append(f"dealt {' '.join(map(str, self._deal)) or 'nothing'}")
        elif self._action is not None:
            parts.append(f"{self.rows['to_act'][0]} {parameters.catalogue.names[self._action]}")
        if self._drawn:
            parts.append(f"drawn {card_list(parameters.kinds, self._drawn)}")
        return "; ".join(parts)

    def played_out(self, policy: int, seed: int) -> np.ndarray:
        """What each seat is paid if a scripted policy plays all seats from here on.

        Parameters
        ----------
        policy : int
            A `policies.Policy`.

        Returns
        -------
        float64 array, shape ``(num_players,)``
        """
        rng = np.random.default_rng(seed)
        line = self
        while line.outcomes:
            ids, chances = zip(*line.outcomes, strict=True)
            line = line.after(int(rng.choice(ids, p=chances)))
        payoffs = np.zeros(self.parameters.num_players)
        arguments = (np.uint64(seed), self.parameters.episode, payoffs)
        play_out_row(self.parameters.table, _copied(line.rows), policy, *arguments)
        return payoffs

    def outcome_name(self, outcome: int) -> str:
        """A random outcome in words."""
        parameters = self.parameters
        if self.rows is not None or self._action == DEAL:
            return f"draw {parameters.kinds[outcome]}"
        if parameters.whole_deal:
            deal = deals(parameters.rules, parameters.num_players)[0][outcome]
            hands = " / ".join(card_list(parameters.kinds, hand) for hand in deal.hands)
            return f"{deal.dealer} deals {hands}, {parameters.kinds[deal.opening]} opens"
        if not self._deal:
            return f"{outcome} deals"
        number = len(self._deal) - 1
        if number == parameters.dealt:
            return f"{parameters.kinds[outcome]} opens"
        return f"deal {parameters.kinds[outcome]} to {parameters.receiver(self._deal[0], number)}"

    def after(self, choice: int) -> History:
        """The history with one more decision or random outcome; `choice` must be possible."""
        made = self._copy()
        if self.rows is None and self._action is None:
            made._deal = (*self._deal, choice)
            made.outcomes = deal_outcomes(self.parameters, made._deal)
            if made.outcomes:
                return made
            made._action = DEAL
        elif self.outcomes:
            made._drawn = (*self._drawn, choice)
        else:
            made._action = choice
        made._settle()
        return made

    def resampled(self, seed: int) -> History:
        """Another history that looks the same to the seat to act; it has a past of what that saw.

        Every card that the seat cannot place is dealt anew, each way as likely as any other
        (`determinize.redeal`).

        Raises
        ------
        ValueError
            If no seat is to act.
        """
        seat = self.to_act
        if seat is None:
            raise ValueError("no seat is to act here, whose guess of the hidden cards it could be")
        made = self._copy()
        made.rows = _copied(self.rows)
        redeal_row(self.parameters.table, made.rows, seat, new_unseen(), np.uint64(seed))
        made.events = tuple(event.seen_by(seat) for event in self.events)
        made._seen = tuple(f"seat {other}" for other in range(self.parameters.num_players))
        for event in made.events:
            made._note(event)
        return made

    def _copy(self) -> History:
        made = object.__new__(History)
        for name in self.__slots__:
            setattr(made, name, getattr(self, name))
        return made

    def _settle(self) -> None:
        """Carry out the pending action, or ask for the next card that it draws."""
        log = np.empty(_LOG_SIZE, np.int16)
        while True:
            rows = self._attempt(log)
            draws, pile = _read(log, self._pile, len(self._drawn))
            if not pile:
                self._commit(rows, draws)
                return
            if len(pile) > 1:
                total = sum(pile.values())
                self.outcomes = tuple((kind, pile[kind] / total) for kind in sorted(pile))
                self.to_act = None
                return
            self._drawn = (*self._drawn, *pile)

    def _attempt(self, log: np.ndarray) -> Any:
        """The row after the action with the cards drawn so far; `log` says what it drew."""
        parameters = self.parameters
        log[0] = 0
        if self.rows is None:
            dealer, dealt = self._dealt()
            rest = parameters.deck - Counter(dealt) - Counter(self._drawn)
            order = [*dealt, *self._drawn, *rest.elements()]
            rows = new_rows(1)
            deck = np.array(order, np.uint8)
            seats, scores = parameters.num_players, parameters.episode.scores
            start_row(parameters.table, rows, seats, scores, dealer, deck, log)
            return rows
        rows = _copied(self.rows)
        drawn = np.array(self._drawn, np.uint8)
        cap = parameters.max_decisions
        apply_row(parameters.table, rows, self._action, drawn, cap, log)
        return rows

    def _pile(self) -> Counter[int]:
        """What is in the draw pile before the pending action."""
        if self.rows is None:
            return self.parameters.deck - Counter(self._dealt()[1])
        row = self.rows[0]
        pile = row["draw_pile"][: row["draw_count"]].tolist()
        return Counter(self.parameters.kind_of[card] for card in pile)

    def _dealt(self) -> tuple[int, list[int]]:
        """The dealer, and the cards dealt so far, in order; the last one is the opening card."""
        parameters = self.parameters
        if not parameters.whole_deal:
            return self._deal[0], list(self._deal[1:])
        deal = deals(parameters.rules, parameters.num_players)[0][self._deal[0]]
        left = [list(hand) for hand in deal.hands]
        order = [left[parameters.receiver(deal.dealer, i)].pop() for i in range(parameters.dealt)]
        return deal.dealer, [*order, deal.opening]

    def _dealt_hands(self) -> tuple[Cards, ...]:
        """What has been dealt to each seat so far, sorted."""
        hands: list[list[int]] = [[] for _ in range(self.parameters.num_players)]
        if self._deal:
            dealer, cards = self._dealt()
            for i, card in enumerate(cards[: self.parameters.dealt]):
                hands[self.parameters.receiver(dealer, i)].append(card)
        return tuple(tuple(sorted(hand)) for hand in hands)

    def _commit(self, rows: Any, draws: tuple[tuple[int, Cards], ...]) -> None:
        event = self._event(rows, draws)
        seat = int(rows["to_act"][0])
        self.to_act = None if seat == NO_SEAT else seat
        self.rows, self._action, self._drawn, self.outcomes = rows, None, (), ()
        self.events = (*self.events, event)
        self._note(event)

    def _note(self, event: HistoryEvent) -> None:
        kinds, actions = self.parameters.kinds, self.parameters.catalogue.names
        if event.open:
            text = event.text(kinds, actions)
            self._seen = tuple(f"{seen}; {text}" for seen in self._seen)
            return
        self._seen = tuple(
            f"{seen}; {event.seen_by(seat).text(kinds, actions)}"
            for seat, seen in enumerate(self._seen)
        )

    def _event(self, rows: Any, draws: tuple[tuple[int, Cards], ...]) -> HistoryEvent:
        """The pending action with what followed from it; `rows` is the game after it."""
        parameters, row = self.parameters, rows[0]
        if self.rows is None:
            dealer, cards = self._dealt()
            return HistoryEvent(dealer, DEAL, draws, self._dealt_hands(), opening=cards[-1])
        before = self.rows[0]
        seat = int(before["to_act"])
        assert self._action is not None
        event = HistoryEvent(seat, self._action, draws)
        move = parameters.catalogue.actions[self._action].move
        if move == Move.GIVE:
            return replace(event, receiver=_seat_after(before, seat))
        if move == Move.CHALLENGE:
            owner = int(before["actor"])
            event = replace(event, shown=(seat, owner, parameters.hand(before, owner)))
        if parameters.rules.seven_zero and _hands_moved(before, row, seat):
            seats = range(parameters.num_players)
            return replace(event, hands=tuple(parameters.hand(row, s) for s in seats))
        return event


def _copied(rows: Any) -> Any:
    """A copy of a row; NumPy's own copies field by field, which takes six times as long."""
    return as_rows(rows.view(np.uint8).copy().view(ROW))


def _seat_after(row: Any, seat: int) -> int:
    """`piles.seat_after` for Python code."""
    while True:
        seat = (seat + int(row["direction"])) % int(row["num_players"])
        if not row["out"] >> seat & 1:
            return seat


def _hands_moved(before: Any, row: Any, seat: int) -> bool:
    """Whether a seat that did not act has lost cards: only hands that change seats do that."""
    lost = (before["hands"] & ~row["hands"]).any(axis=1)
    lost[seat] = False
    return bool(lost.any())


def _read(
    log: np.ndarray, draw_pile: Callable[[], Counter[int]], known: int
) -> tuple[tuple[tuple[int, Cards], ...], Counter[int]]:
    """The draws in a log, and what card number `known` of them may be; empty if there is none.

    `draw_pile` counts the draw pile before.
    """
    if log[0] == 0:
        return (), Counter()
    pile = draw_pile()
    notes = log[1 : 1 + 2 * int(log[0])].tolist()
    draws: list[tuple[int, list[int]]] = []
    count = 0
    for code, value in zip(notes[::2], notes[1::2], strict=True):
        if code in (Note.DRAW, Note.FORCED):
            draws.append((value, []))
        elif code == Note.RESHUFFLE:
            pile = Counter()
        elif code == Note.PILE:
            pile[value] += 1
        elif code == Note.CARD:
            if count == known:
                return (), +pile
            pile[value] -= 1
            count += 1
            draws[-1][1].append(value)
    return tuple((seat, tuple(cards)) for seat, cards in draws), Counter()
