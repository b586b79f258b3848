"""Events: what happened at the deal and at each decision, and what of it a seat has seen.

`HistoryEvent.seen_by` is the one place that decides who sees what of an event. All that one seat
has seen, in order, is its information state: it never forgets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pocket_uno_env.rules.limits import NO_KIND

DEAL = -1
"""In place of an action: the round was dealt."""
HIDDEN = -2
"""In place of an action: a card was given away unseen."""

Cards = tuple[int, ...]
"""Card kinds; `NO_KIND` for a card that was not seen."""


@dataclass(frozen=True, slots=True)
class HistoryEvent:
    """One decision, or the deal, with everything that followed from it at once.

    Attributes
    ----------
    seat : int
        Who decided; the dealer of a deal.
    action : int
        An action id, `DEAL` or `HIDDEN`.
    draws : tuple of (seat, cards)
        Every draw, in order.
    hands : tuple of cards or None, by seat
        The hands that the seats had afterwards, if they were dealt or changed seats.
    shown : (viewer, owner, cards) or None
        The hand that a challenge showed.
    opening : int
        The kind of a deal's opening card.
    receiver : int
        Who got the card that was given away; -1 if none was.
    """

    seat: int
    action: int
    draws: tuple[tuple[int, Cards], ...] = ()
    hands: tuple[Cards | None, ...] = ()
    shown: tuple[int, int, Cards] | None = None
    opening: int = NO_KIND
    receiver: int = -1

    @property
    def open(self) -> bool:
        """Whether every seat saw all of it."""
        return not (self.draws or self.hands or self.shown) and self.receiver < 0

    def seen_by(self, seat: int) -> HistoryEvent:
        """The event as `seat` saw it: other seats' cards unknown, an unseen gift hidden."""
        shown = self.shown
        if shown and seat not in shown[:2]:
            shown = (*shown[:2], _unknown(shown[2]))
        gift = self.receiver >= 0 and seat not in (self.seat, self.receiver)
        return replace(
            self,
            action=HIDDEN if gift else self.action,
            draws=tuple(
                (drawer, cards if drawer == seat else _unknown(cards))
                for drawer, cards in self.draws
            ),
            hands=tuple(hand if i == seat else None for i, hand in enumerate(self.hands)),
            shown=shown,
        )

    def text(self, kinds: Sequence[str], actions: Sequence[str]) -> str:
        """The event in the names of kinds and actions: ``0 play R+1, 1 draws ?``."""
        if self.action == DEAL:
            parts = [f"{self.seat} deals", f"{kinds[self.opening]} opens"]
        else:
            parts = [f"{self.seat} {'give ?' if self.action == HIDDEN else actions[self.action]}"]
        if self.shown:
            viewer, owner, cards = self.shown
            parts.append(f"{owner} shows {viewer} {card_list(kinds, cards)}")
        parts += [f"{seat} draws {card_list(kinds, cards)}" for seat, cards in self.draws]
        parts += [
            f"{seat} holds {card_list(kinds, hand)}"
            for seat, hand in enumerate(self.hands)
            if hand is not None
        ]
        return ", ".join(parts)


def _unknown(cards: Cards) -> Cards:
    return (NO_KIND,) * len(cards)


def card_list(kinds: Sequence[str], cards: Cards) -> str:
    """The names of some cards, ``?`` for those unseen; ``nothing`` for none."""
    return " ".join("?" if card == NO_KIND else kinds[card] for card in cards) or "nothing"
