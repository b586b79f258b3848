"""The slow, obvious game: one round in plain Python.

Written from docs/rules.md alone; it imports nothing else of this package, so that a fault of the
engine cannot hide in both. The tests step `Game` beside the engine. Cards and actions are the names
of docs/rules.md, sections 1, 7 and 11; nothing here is fast, and nothing here is random.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

Fields = dict[str, Any]  # of `Rules`, by name
Order = Sequence[str] | Callable[[list[str]], Sequence[str]] | None

COLORS = "RBGY"
WILDS = ("W", "WD", "W+2", "W+4")
SYMBOLS = (*"0123456789", "S", "V", "+1", "+2")

#: How many cards the card makes somebody draw (docs/rules.md, section 4).
DRAWS = {"+1": 1, "+2": 2, "W+2": 2, "W+4": 4}
UNO_PENALTY = 2

#: The house rules, all off (docs/rules.md, section 11).
HOUSE_OFF: Fields = dict.fromkeys(
    ("stacking", "seven_zero", "jump_in", "forced_play", "elimination"), False
)
_POCKET: Fields = {
    "name": "pocket",
    "colors": 4,
    "symbols": dict.fromkeys([*"123456789", "+1", "S", "V"], 1),
    "wild_copies": {"W": 2, "WD": 1, "W+2": 1, "W+4": 0},
    "hand_size": 5,
    "max_players": 5,
    "match_goal": 250,
    "opening_wild": "put_back",
    "two_player_reverse": "skip",
    "draw_until_playable": False,
    "draw_limit": 10,
    "wild_draw_four": "enforced",
    "challenge_condition": "any_playable",
    "uno_call": "explicit",
    **HOUSE_OFF,
}
_POCKET51: Fields = {"wild_copies": {"W": 1, "WD": 1, "W+2": 1, "W+4": 0}}
_CLASSIC: Fields = {
    "symbols": {"0": 1, **dict.fromkeys([*"123456789", "+2", "S", "V"], 2)},
    "wild_copies": {"W": 4, "WD": 0, "W+2": 0, "W+4": 4},
    "hand_size": 7,
    "max_players": 10,
    "match_goal": 500,
}
_MINI: Fields = {
    "colors": 2,
    "symbols": {"1": 1, "2": 1},
    "wild_copies": {"W": 2, "WD": 0, "W+2": 0, "W+4": 0},
    "hand_size": 2,
    "max_players": 2,
    "match_goal": 20,
    "uno_call": "automatic",
}
#: Every field of `Rules` for each preset, as a record holds them (docs/rules.md, sections 9, 11).
PRESETS: dict[str, Fields] = {
    "pocket": _POCKET,
    "pocket51": {**_POCKET, **_POCKET51, "name": "pocket51"},
    "classic": {**_POCKET, **_CLASSIC, "name": "classic"},
    "mini": {**_POCKET, **_MINI, "name": "mini"},
}


class RuleError(ValueError):
    """An action that the rules do not allow now, or a wrong order of reshuffled cards."""


def preset(name: str, **changed: Any) -> Fields:
    """Return a preset's fields with some of them changed (docs/rules.md, section 9)."""
    unknown = changed.keys() - PRESETS[name].keys()
    if unknown:
        raise ValueError(f"no such fields of Rules: {sorted(unknown)}")
    return copy.deepcopy({**PRESETS[name], **changed})


def deck_counts(rules: Fields) -> Counter[str]:
    """Return how many there are of each card, coloured ones first (docs/rules.md, section 1)."""
    counts: Counter[str] = Counter()
    for color in COLORS[: rules["colors"]]:
        counts.update({color + symbol: copies for symbol, copies in rules["symbols"].items()})
    counts.update(rules["wild_copies"])
    return +counts  # without the kinds of no copy


def deck_of(rules: Fields) -> list[str]:
    """Return all cards of the deck, coloured ones first (docs/rules.md, section 1)."""
    return list(deck_counts(rules).elements())


def deal(
    rules: Fields, deck: Sequence[str], num_players: int, dealer: int, out: Sequence[int] = ()
) -> tuple[list[list[str]], str, list[str]]:
    """Deal from the front of `deck`: hands by seat, opening card, draw pile (section 2)."""
    round_table = [(dealer + 1 + i) % num_players for i in range(num_players)]
    order = [seat for seat in round_table if seat not in out] * rules["hand_size"]
    hands: list[list[str]] = [[] for _ in range(num_players)]
    for seat, card in zip(order, deck, strict=False):
        hands[seat].append(card)
    return hands, deck[len(order)], list(deck[len(order) + 1 :])


def is_wild(card: str) -> bool:
    """Tell a wild from a coloured card (docs/rules.md, section 1)."""
    return card in WILDS


def symbol_of(card: str) -> str:
    """Return the symbol of a coloured card; a wild stands for itself."""
    return card if is_wild(card) else card[1:]


def matches(card: str, top: str, active_color: str | None) -> bool:
    """Tell whether a coloured card matches; a wild, which needs no match, does not (section 3)."""
    if is_wild(card):
        return False
    # On top of a wild only the active colour counts.
    return card[0] == active_color or (not is_wild(top) and card[1:] == top[1:])


def card_points(card: str) -> int:
    """Return what a card left in a hand is worth (docs/rules.md, section 6)."""
    if is_wild(card):
        return 50
    return int(card[1:]) if card[1:].isdigit() else 20


class Game:
    """One round, from the deal to its end (docs/rules.md, sections 2 to 6 and 11).

    `rules` without a field of section 11 have it off. `hands` are lists of names in dealt order,
    `pile` is the draw pile after the opening card, top first; `turned_back` are the wilds that were
    put back before it. `out` are the seats that are out of the match: their hands are empty. The
    opening card has its effect here. All state may be read; only `apply` and `truncate` change it.
    """

    def __init__(
        self,
        rules: Fields,
        hands: Sequence[Sequence[str]],
        opening: str,
        pile: Sequence[str],
        dealer: int,
        turned_back: Sequence[str] = (),
        out: Sequence[int] = (),
    ) -> None:
        self.rules = {**HOUSE_OFF, **rules}
        self.num_players = len(hands)  # seats, those that are out too
        self.seats = [seat for seat in range(len(hands)) if seat not in out]  # those that are in
        self.dealer = dealer
        self.hands = [list(hand) for hand in hands]
        self.draw_pile = list(pile)  # top first
        self.discard_pile = [opening]  # top first
        self.active_color: str | None = None if is_wild(opening) else opening[0]
        self.direction = 1
        self.player = dealer  # whose turn it is, or who played the card that is being settled
        self.actor = dealer  # whose decision is awaited
        self.phase = "play"
        self.drawn = ""  # the card that may be played in phase "drawn"
        self.stack: list[str] = []  # the draw cards that are played and not drawn for yet
        self.guilty = False  # the verdict, should the last wild be challenged
        self.dry_passes = 0
        self.winner: int | None = None
        self.points = [0] * self.num_players
        self.end: str | None = None
        self.events: list[list[Any]] = []
        self._deal: dict[str, Any] = {
            "dealer": dealer,
            "hands": [list(hand) for hand in hands],
            "opening": opening,
            "turned_back": list(turned_back),
            "pile": list(pile),
        }
        self._supplied: Order = None
        self._open(opening)

    # What can be seen from outside

    def legal_names(self) -> list[str]:
        """Return the names of all legal actions, sorted; none after the end (section 7)."""
        if self.phase == "over":
            return []
        hand, top = set(self.hands[self.actor]), self.discard_pile[0]
        if self.phase in ("play", "stack"):
            names = [name for card in hand for name in self._plays(card)]
            if self.phase == "stack":
                names += ["accept", "challenge"] if self._is_challengeable() else ["accept"]
            elif not (names and self.rules["forced_play"]):
                names.append("draw")
        elif self.phase == "drawn":
            names = self._plays(self.drawn)
            if not self.rules["forced_play"]:
                names.append("keep")
        elif self.phase == "give":
            names = [f"give {card}" for card in hand]
        elif self.phase == "name":
            names = [f"name {color}" for color in COLORS[: self.rules["colors"]]]
        elif self.phase == "swap":
            names = [f"swap {seat}" for seat in self.seats if seat != self.actor]
        elif self.phase == "jump":
            names = ["jump in", "pass"] if top in hand else ["pass"]
        else:
            names = {
                "uno": ["say uno", "stay silent"],
                "catch": ["catch", "let go"],
                "challenge": ["accept", "challenge"],
            }[self.phase]
        return sorted(names)

    def result(self) -> dict[str, Any]:
        """Return winner, points and end as a record has them; null end while running."""
        return {"winner": self.winner, "points": list(self.points), "end": self.end}

    def round_record(self) -> dict[str, Any]:
        """Return this round as it stands in a record's `rounds` (docs/rules.md, section 8)."""
        return copy.deepcopy({**self._deal, "events": self.events, "result": self.result()})

    def snapshot(self) -> dict[str, Any]:
        """Return a copy of the position, everything face up."""
        return {
            "hands": [list(hand) for hand in self.hands],
            "top": self.discard_pile[0],
            "active_color": self.active_color,
            "draw_pile": list(self.draw_pile),
            "discard_pile": list(self.discard_pile),
            "direction": self.direction,
            "dealer": self.dealer,
            "to_act": None if self.phase == "over" else self.actor,
            "phase": self.phase,
        }

    def copy(self) -> Game:
        """Return an independent game in the same position."""
        twin = self._twin()
        twin.events = list(self.events)
        return twin

    def _twin(self) -> Game:
        """Return such a copy, but with the same list of events: it may be long."""
        twin = copy.copy(self)
        twin.hands = [list(hand) for hand in self.hands]
        twin.draw_pile, twin.discard_pile = list(self.draw_pile), list(self.discard_pile)
        twin.stack, twin.points = list(self.stack), list(self.points)
        return twin

    # What changes the game

    def apply(self, seat: int, name: str, reshuffle: Order = None) -> None:
        """Take one action of a seat, with all that follows from it up to the next decision.

        `reshuffle` is the new draw pile, top first, or a function that gets the cards and returns
        it, should this action need one (it never needs two). Raises `RuleError`, leaving the
        game as it was, for an illegal action, a needed order that is missing or holds other
        cards, and a supplied order that is not needed.
        """
        legal = self.legal_names()
        if self.phase == "over":
            raise RuleError(f"seat {seat} cannot {name!r}: the round is over ({self.end})")
        if seat != self.actor or name not in legal:
            raise RuleError(
                f"seat {seat} cannot {name!r} in phase {self.phase!r}: seat {self.actor} is to "
                f"act, legal are {legal}"
            )
        before, happened = self._twin(), len(self.events)
        self._supplied = reshuffle
        try:
            self._act(name)
            if self._supplied and not callable(self._supplied):
                raise RuleError(f"seat {seat}, {name!r}: an order is given, nothing is reshuffled")
        except Exception:
            self.__dict__.update(before.__dict__)
            del self.events[happened:]
            raise
        finally:
            self._supplied = None

    def truncate(self) -> None:
        """End a running round without winner or points, as a cap does (section 6)."""
        if self.phase == "over":
            raise RuleError(f"the round is over ({self.end}), it cannot be truncated")
        self._finish("truncated")

    # Opening (section 2)

    def _open(self, opening: str) -> None:
        """Let the opening card have its effect: the table of section 2."""
        left = self._next(self.dealer)
        after_left = self._next(left)
        if is_wild(opening):  # it stayed: opening_wild is "first_player_chooses"
            self._begin_turn(left)
            self.phase = "name"
        elif opening[1:] == "S":
            self._begin_turn(after_left)
        elif opening[1:] in DRAWS:
            self._forced_draw(left, DRAWS[opening[1:]])
            self._begin_turn(after_left)
        elif opening[1:] == "V":
            self.direction = -1
            self._begin_turn(self.dealer)
        else:
            self._begin_turn(left)

    # A turn (section 3)

    def _next(self, seat: int) -> int:
        seats = self.seats
        return seats[(seats.index(seat) + self.direction) % len(seats)]

    def _begin_turn(self, seat: int) -> None:
        self.player = self.actor = seat
        self.phase = "play"
        self.drawn = ""
        self.stack = []

    def _pass_turn(self) -> None:
        self._begin_turn(self._next(self.player))

    def _decide(self, phase: str, seat: int) -> None:
        self.phase, self.actor = phase, seat

    def _plays(self, card: str) -> list[str]:
        """Return the names under which the actor can play `card` from the hand as it now is."""
        top, hand = self.discard_pile[0], self.hands[self.actor]
        fits = is_wild(card) or matches(card, top, self.active_color)
        if self.phase == "stack":  # only a draw card goes on a draw card, whatever the colour
            same = symbol_of(card) == symbol_of(top)
            fits = same or (self.rules["stacking"] == "any" and symbol_of(card) in DRAWS)
        if card == "W+4" and self.rules["wild_draw_four"] == "enforced":
            # Wilds don't count as matching.
            fits = fits and not any(matches(other, top, self.active_color) for other in hand)
        if not fits:
            return []
        colors = COLORS[: self.rules["colors"]]
        return [f"play {card}:{color}" for color in colors] if is_wild(card) else [f"play {card}"]

    def _act(self, name: str) -> None:
        """Take a legal action of the actor."""
        if name == "draw":  # its event carries the cards, and comes after a reshuffle
            self._draw()
            return
        self.events.append([self.actor, name])
        verb, _, argument = name.partition(" ")
        following = self._next(self.actor)
        if verb == "play":
            self._play(argument)
        elif name == "keep":
            self._pass_turn()
        elif name == "stay silent":
            self._decide("catch", following)
        elif name == "catch":
            self._forced_draw(self.player, UNO_PENALTY)
            self._ask_for_jumps()
        elif name in ("let go", "pass") and following != self.player:
            self.actor = following  # not all of the others have been asked
        elif name in ("let go", "say uno"):
            self._ask_for_jumps()
        elif name == "pass":
            self._effect()
        elif name == "jump in":
            self._play(self.discard_pile[0])
        elif name == "accept":
            self._draw_and_skip(self._owed())
        elif name == "challenge":
            self._challenge()
        elif verb == "give":
            self.hands[self.actor].remove(argument)
            self.hands[following].append(argument)
            self._pass_turn()
        elif verb == "swap":
            self._hand_over({self.actor: int(argument), int(argument): self.actor})
        elif verb == "name":
            self.active_color = argument
            self.phase = "play"

    def _draw(self) -> None:
        """Draw a card, or on until one can be played; then offer it or pass the turn."""
        limit = self.rules["draw_limit"] if self.rules["draw_until_playable"] else 1
        cards: list[str] = []
        playable = False
        while len(cards) < limit and not playable:
            card = self._take_card(self.player)
            if card is None:
                break
            cards.append(card)
            playable = bool(self._plays(card))
        self.events.append([self.player, "draw", cards])
        if playable:
            self.drawn = cards[-1]
            self._decide("drawn", self.player)
            return
        self.dry_passes = 0 if cards else self.dry_passes + 1
        if self.dry_passes == len(self.seats):
            self._finish("blocked")
        else:
            self._pass_turn()

    def _play(self, argument: str) -> None:
        """Let the actor play a card: to the discard pile, colour named, UNO call, effect."""
        card, _, color = argument.partition(":")
        self.player = self.actor
        hand = self.hands[self.player]
        hand.remove(card)
        # Judged now: the hand without this card, the pile and the colour as they were before it.
        self.guilty = self._would_be_guilty(hand)
        answered = self.stack if self.rules["stacking"] else []
        self.stack = [*answered, card] if symbol_of(card) in DRAWS else []
        self.discard_pile.insert(0, card)
        self.active_color = color or card[0]
        self.dry_passes = 0
        if not hand:
            self._go_out()
        elif len(hand) == 1 and self.rules["uno_call"] == "explicit":
            self._decide("uno", self.player)
        else:
            self._ask_for_jumps()

    def _ask_for_jumps(self) -> None:
        """After the UNO call: ask for a jump-in, or let the card have its effect (section 11)."""
        card = self.discard_pile[0]
        several = not is_wild(card) and self.rules["symbols"][card[1:]] > 1
        if self.rules["jump_in"] and several:
            self._decide("jump", self._next(self.player))
        else:
            self._effect()

    # Piles (section 3)

    def _take_card(self, seat: int) -> str | None:
        """Move the top of the draw pile into a hand; None if there is nothing to draw at all."""
        if not self.draw_pile and len(self.discard_pile) > 1:
            self._reshuffle()
        if not self.draw_pile:
            return None
        card = self.draw_pile.pop(0)
        self.hands[seat].append(card)
        return card

    def _reshuffle(self) -> None:
        """Make the discard pile except its top card the draw pile, in the supplied order."""
        cards = self.discard_pile[1:]
        order = self._supplied(list(cards)) if callable(self._supplied) else self._supplied
        if order is None:
            raise RuleError(f"a reshuffle of {sorted(cards)} is needed, no order was given")
        if sorted(order) != sorted(cards):
            raise RuleError(f"the reshuffle must hold {sorted(cards)}, not {sorted(order)}")
        self._supplied = None  # used: one action never needs a second
        self.draw_pile = list(order)
        self.discard_pile = self.discard_pile[:1]
        self.events.append(["reshuffle", list(order)])

    def _forced_draw(self, seat: int, count: int) -> list[str]:
        """Make a seat draw as many of `count` cards as there are; one event."""
        cards: list[str] = []
        while len(cards) < count:
            card = self._take_card(seat)
            if card is None:
                break
            cards.append(card)
        self.events.append([seat, "forced", cards])
        return cards

    # Effects (section 4)

    def _effect(self) -> None:
        """Let the card just played have its effect."""
        kind = symbol_of(self.discard_pile[0])
        if kind == "S":
            self._begin_turn(self._next(self._next(self.player)))
        elif kind == "V":
            self.direction = -self.direction
            again = len(self.seats) == 2 and self.rules["two_player_reverse"] == "skip"
            self._begin_turn(self.player if again else self._next(self.player))
        elif kind == "WD" and self._forced_draw(self.player, 1):
            self._decide("give", self.player)
        elif kind in DRAWS and self.rules["stacking"]:
            self._decide("stack", self._next(self.player))
        elif self._is_challengeable():
            self._decide("challenge", self._next(self.player))
        elif kind in DRAWS:
            self._draw_and_skip(self._owed())
        elif kind == "7" and self.rules["seven_zero"]:
            self._decide("swap", self.player)
        elif kind == "0" and self.rules["seven_zero"]:
            self._hand_over({seat: self._next(seat) for seat in self.seats})
        else:  # numbers, W, and a WD whose draw found nothing
            self._pass_turn()

    def _owed(self) -> int:
        """Return how many cards the stack makes somebody draw; without stacking, the top card."""
        return sum(DRAWS[symbol_of(card)] for card in self.stack)

    def _is_challengeable(self) -> bool:
        """Tell whether the stack is one wild, of a kind that can be challenged."""
        fours = ["W+4"] if self.rules["wild_draw_four"] == "challenge" else []
        return len(self.stack) == 1 and self.stack[0] in ["W+2", *fours]

    def _hand_over(self, receivers: dict[int, int]) -> None:
        """Give each of these hands to its receiver, all at once; then next plays (section 11)."""
        given = {receiver: self.hands[giver] for giver, receiver in receivers.items()}
        for receiver, hand in given.items():
            self.hands[receiver] = hand
        self._pass_turn()

    def _draw_and_skip(self, count: int) -> None:
        """Next draws and loses the turn."""
        victim = self._next(self.player)
        self._forced_draw(victim, count)
        self._begin_turn(self._next(victim))

    def _would_be_guilty(self, rest: Sequence[str]) -> bool:
        """Judge a hand without the wild to be played, before that wild lies on the pile."""
        if self.rules["challenge_condition"] == "matching_color":
            return any(card[0] == self.active_color for card in rest)
        # A wild can always be played: a W+4 fails only where a coloured card matches anyway.
        top = self.discard_pile[0]
        return any(is_wild(card) or matches(card, top, self.active_color) for card in rest)

    def _challenge(self) -> None:
        """Settle the challenge of the actor against the player of the wild."""
        if self.guilty:
            self._forced_draw(self.player, self._owed())
            self._begin_turn(self.actor)
        else:
            self._draw_and_skip(self._owed() + 2)

    # The end (section 6)

    def _go_out(self) -> None:
        """End the round with the player's last card; next still draws, nothing else happens."""
        if self.stack:
            self._forced_draw(self._next(self.player), self._owed())
        self.winner = self.player
        held = [sum(map(card_points, hand)) for hand in self.hands]
        if self.rules["elimination"]:
            self.points = held  # the winner's hand is empty
        else:
            self.points[self.player] = sum(held)
        self._finish("out")

    def _finish(self, end: str) -> None:
        self.phase, self.end = "over", end
