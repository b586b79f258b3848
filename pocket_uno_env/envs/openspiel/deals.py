"""The deal as random outcomes: card by card, or all of it as one of so many deals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import comb
from typing import Any

from pocket_uno_env.episodes.episode import Episode, episode_of
from pocket_uno_env.rules.actions import Catalogue, catalogue
from pocket_uno_env.rules.rules import Rules

from .events import Cards

MAX_DEALS = 100_000
"""How many deals `deals` will list."""

Outcomes = tuple[tuple[int, float], ...]
"""Ids of random outcomes in ascending order, with their probabilities."""


@dataclass(frozen=True, slots=True)
class Deal:
    """A deal that can be told from others: who deals, the hands as sorted kinds, the opening."""

    dealer: int
    hands: tuple[Cards, ...]
    opening: int


@dataclass(frozen=True)
class GameParameters:
    """What is the same in all histories of a game.

    Attributes
    ----------
    max_decisions : int
        Decisions after which the round is truncated.
    whole_deal : bool
        The deal is one random outcome, an index into `deals`. Otherwise it is a row of them: the
        dealer's seat, the kind of each card in the order of dealing, the kind of the opening card.
    reward : str
        A key of `payoff.REWARDS`.
    scores : tuple of int
        By seat, the points before the round; none for 0 points each.
    """

    rules: Rules
    num_players: int
    max_decisions: int
    whole_deal: bool = False
    reward: str = "win"
    scores: tuple[int, ...] = ()

    def __reduce__(self) -> Any:
        """What is computed is not pickled."""
        given = self.rules, self.num_players, self.max_decisions, self.whole_deal
        return GameParameters, (*given, self.reward, self.scores)

    @cached_property
    def episode(self) -> Episode:
        """What the round pays."""
        return episode_of(
            self.rules,
            self.num_players,
            reward=self.reward,
            max_cycles=self.max_decisions,
            scores=self.scores or None,
        )

    @cached_property
    def table(self) -> Any:
        """The rules as kernels read them."""
        return self.rules._table

    @cached_property
    def catalogue(self) -> Catalogue:
        """The actions of the rules."""
        return catalogue(self.rules)

    @cached_property
    def kinds(self) -> list[str]:
        """The names of the card kinds."""
        return [kind.name for kind in self.rules.kinds]

    @cached_property
    def deck(self) -> Counter[int]:
        """How many cards of each kind there are."""
        return Counter({i: kind.copies for i, kind in enumerate(self.rules.kinds)})

    @cached_property
    def coloured(self) -> frozenset[int]:
        """The kinds that are no wilds."""
        return frozenset(i for i, kind in enumerate(self.rules.kinds) if kind.color is not None)

    @cached_property
    def kind_of(self) -> list[int]:
        """The kind of each physical card."""
        return [int(kind) for kind in self.rules._table["card_kind"][0][: self.rules.n_cards]]

    @property
    def dealt(self) -> int:
        """How many cards are dealt to the hands."""
        return self.rules.hand_size * self.num_players

    def receiver(self, dealer: int, number: int) -> int:
        """Who gets card `number` of the deal."""
        return (dealer + 1 + number) % self.num_players

    def hand(self, row: Any, seat: int) -> Cards:
        """The kinds of a hand, sorted."""
        low, high = row["hands"][seat].tolist()
        return tuple(sorted(self.kind_of[card] for card in _members(low | high << 64)))


def _members(bits: int) -> Iterator[int]:
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low


def deal_outcomes(parameters: GameParameters, dealt: tuple[int, ...]) -> Outcomes:
    """What may come next in a deal of which `dealt` has happened; empty if it is complete."""
    if parameters.whole_deal:
        return () if dealt else deals(parameters.rules, parameters.num_players)[1]
    if not dealt:
        return tuple((seat, 1 / parameters.num_players) for seat in range(parameters.num_players))
    cards = dealt[1:]
    if len(cards) > parameters.dealt:
        return ()
    left = parameters.deck - Counter(cards)
    put_back = parameters.rules.opening_wild == "put_back"
    if len(cards) == parameters.dealt:
        # A wild that is put back leaves no trace: the first that stays is any other card.
        weights = {k: float(n) for k, n in left.items() if not put_back or k in parameters.coloured}
    else:
        weights = {k: n * _chance_to_open(parameters, (*cards, k)) for k, n in left.items()}
    total = sum(weights.values())
    return tuple((k, weights[k] / total) for k in sorted(weights) if weights[k] > 0)


def _chance_to_open(parameters: GameParameters, cards: Cards) -> float:
    """The chance that a deal which begins so leaves a card to open with; else it begins anew."""
    coloured = sum(parameters.deck[kind] for kind in parameters.coloured)
    if parameters.rules.opening_wild != "put_back" or coloured > parameters.dealt:
        return 1.0
    if not parameters.coloured.issuperset(cards):
        return 1.0
    undealt = parameters.rules.n_cards - len(cards)
    return 1 - 1 / comb(undealt, parameters.dealt - len(cards))


@lru_cache(maxsize=8)
def deals(rules: Rules, num_players: int) -> tuple[tuple[Deal, ...], Outcomes]:
    """All deals that can be told apart, and how likely each is.

    Raises
    ------
    ValueError
        If there are more than `MAX_DEALS`.
    """
    parameters = GameParameters(rules, num_players, 1)
    put_back = rules.opening_wild == "put_back"
    found: dict[Deal, float] = {}
    for hands, left, ways in _hand_choices(parameters, num_players, parameters.deck, 1):
        openings = {k: n for k, n in left.items() if not put_back or k in parameters.coloured}
        for opening, copies in openings.items():
            chance = ways * copies / sum(openings.values())
            for dealer in range(num_players):
                found[Deal(dealer, hands, opening)] = chance
        if len(found) > MAX_DEALS:
            raise ValueError(
                f"rules {rules.name!r} for {num_players} players have more than {MAX_DEALS:,} "
                "different deals, too many for one chance node; deal card by card"
            )
    total = sum(found.values())
    order = sorted(found, key=lambda deal: (deal.dealer, deal.hands, deal.opening))
    return tuple(order), tuple((i, found[deal] / total) for i, deal in enumerate(order))


def _hand_choices(
    parameters: GameParameters, seats: int, left: Counter[int], ways: int
) -> Iterator[tuple[tuple[Cards, ...], Counter[int], int]]:
    """Hands for so many seats, the cards left over, and in how many ways physical cards do it."""
    if seats == 0:
        yield (), left, ways
        return
    for hand in _multisets(left, parameters.rules.hand_size, 0):
        held = Counter(hand)
        more = ways
        for kind, count in held.items():
            more *= comb(left[kind], count)
        for others, rest, all_ways in _hand_choices(parameters, seats - 1, left - held, more):
            yield (hand, *others), rest, all_ways


def _multisets(left: Counter[int], size: int, lowest: int) -> Iterator[Cards]:
    """All sorted hands of `size` cards from those left, of kinds from `lowest` on."""
    if size == 0:
        yield ()
        return
    for kind in sorted(left):
        if kind >= lowest and left[kind] > 0:
            for others in _multisets(left - Counter({kind: 1}), size - 1, kind):
                yield (kind, *others)
