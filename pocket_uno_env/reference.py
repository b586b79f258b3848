"""The slow, obvious game: one round in plain Python, and the judge of game records.

Written from docs/rules.md alone; it imports nothing else of this package, so that a fault of the
engine cannot hide in both. `Game` is the oracle the tests step beside the engine, `check_record`
verifies a record that anybody wrote. Cards and actions are the names of docs/rules.md,
sections 1 and 7; nothing here is fast, and nothing here is random.
"""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

COLORS = "RBGY"
WILDS = ("W", "WD", "W+2", "W+4")
SYMBOLS = (*"0123456789", "S", "V", "+1", "+2")

#: How many cards the card makes somebody draw (docs/rules.md, section 4).
DRAWS = {"+1": 1, "+2": 2, "W+2": 2, "W+4": 4}
UNO_PENALTY = 2

_POCKET: dict[str, Any] = {
    "name": "pocket",
    "colors": 4,
    "symbols": {**{str(number): 1 for number in range(1, 10)}, "+1": 1, "S": 1, "V": 1},
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
}
#: Every field of `Rules` for each preset, as a record holds them (docs/rules.md, section 9).
PRESETS: dict[str, dict[str, Any]] = {
    "pocket": _POCKET,
    "pocket51": {
        **_POCKET,
        "name": "pocket51",
        "wild_copies": {"W": 1, "WD": 1, "W+2": 1, "W+4": 0},
    },
    "classic": {
        **_POCKET,
        "name": "classic",
        "symbols": {
            "0": 1,
            **{str(number): 2 for number in range(1, 10)},
            **{"+2": 2, "S": 2, "V": 2},
        },
        "wild_copies": {"W": 4, "WD": 0, "W+2": 0, "W+4": 4},
        "hand_size": 7,
        "max_players": 10,
        "match_goal": 500,
    },
    "mini": {
        **_POCKET,
        "name": "mini",
        "colors": 2,
        "symbols": {"1": 1, "2": 1},
        "wild_copies": {"W": 2, "WD": 0, "W+2": 0, "W+4": 0},
        "hand_size": 2,
        "max_players": 2,
        "match_goal": 20,
        "uno_call": "automatic",
    },
}
#: The fields that hold one of a few words or a truth value.
CHOICES: dict[str, tuple[Any, ...]] = {
    "opening_wild": ("put_back", "first_player_chooses"),
    "two_player_reverse": ("skip", "literal"),
    "draw_until_playable": (False, True),
    "wild_draw_four": ("enforced", "challenge"),
    "challenge_condition": ("any_playable", "matching_color"),
    "uno_call": ("explicit", "automatic"),
}


class RuleError(ValueError):
    """An action that the rules do not allow now, or a wrong order of reshuffled cards."""


class RecordError(ValueError):
    """A game record that does not follow the rules, with the round and event where it fails."""


Order = Sequence[str] | Callable[[list[str]], Sequence[str]] | None


def preset(name: str, **changed: Any) -> dict[str, Any]:
    """Return a preset's fields with some of them changed (docs/rules.md, section 9)."""
    unknown = changed.keys() - PRESETS[name].keys()
    if unknown:
        raise ValueError(f"no such fields of Rules: {sorted(unknown)}")
    return copy.deepcopy({**PRESETS[name], **changed})


def deck_counts(rules: dict[str, Any]) -> Counter[str]:
    """Return how many there are of each card, coloured ones first (docs/rules.md, section 1)."""
    counts: Counter[str] = Counter()
    for color in COLORS[: rules["colors"]]:
        counts.update({color + symbol: copies for symbol, copies in rules["symbols"].items()})
    counts.update(rules["wild_copies"])
    return +counts  # without the kinds of no copy


def deck_of(rules: dict[str, Any]) -> list[str]:
    """Return all cards of the deck, coloured ones first (docs/rules.md, section 1)."""
    return list(deck_counts(rules).elements())


def deal(
    rules: dict[str, Any], deck: Sequence[str], num_players: int, dealer: int
) -> tuple[list[list[str]], str, list[str]]:
    """Deal from the front of `deck`: hands by seat, opening card, draw pile (section 2)."""
    dealt = num_players * rules["hand_size"]
    hands: list[list[str]] = [[] for _ in range(num_players)]
    for i, card in enumerate(deck[:dealt]):
        hands[(dealer + 1 + i) % num_players].append(card)
    return hands, deck[dealt], list(deck[dealt + 1 :])


def is_wild(card: str) -> bool:
    """Tell a wild from a coloured card (docs/rules.md, section 1)."""
    return card in WILDS


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
    """One round, from the deal to its end (docs/rules.md, sections 2 to 6).

    `hands` are lists of names in dealt order, `pile` is the draw pile after the opening card, top
    first; `turned_back` are the wilds that were put back before it. The opening card has its
    effect here. All state may be read; only `apply` and `truncate` change it.
    """

    def __init__(
        self,
        rules: dict[str, Any],
        hands: Sequence[Sequence[str]],
        opening: str,
        pile: Sequence[str],
        dealer: int,
        turned_back: Sequence[str] = (),
    ) -> None:
        self.rules = rules
        self.num_players = len(hands)
        self.dealer = dealer
        self.hands = [list(hand) for hand in hands]
        self.draw_pile = list(pile)  # top first
        self.discard_pile = [opening]  # top first
        self.active_color: str | None = None if is_wild(opening) else opening[0]
        self.direction = 1
        self.player = dealer  # whose turn it is
        self.actor = dealer  # whose decision is awaited
        self.phase = "play"
        self.drawn = ""  # the card that may be played in phase "drawn"
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
        hand = set(self.hands[self.actor])
        if self.phase == "play":
            names = ["draw", *(name for card in hand for name in self._plays(card))]
        elif self.phase == "drawn":
            names = ["keep", *self._plays(self.drawn)]
        elif self.phase == "give":
            names = [f"give {card}" for card in hand]
        elif self.phase == "name":
            names = [f"name {color}" for color in COLORS[: self.rules["colors"]]]
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
        twin = copy.copy(self)
        twin.hands = [list(hand) for hand in self.hands]
        twin.draw_pile, twin.discard_pile = list(self.draw_pile), list(self.discard_pile)
        twin.points, twin.events = list(self.points), list(self.events)
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
        before = self.copy()
        self._supplied = reshuffle
        try:
            self._act(name)
            if self._supplied and not callable(self._supplied):
                raise RuleError(f"seat {seat}, {name!r}: an order is given, nothing is reshuffled")
        except Exception:
            self.__dict__.update(before.__dict__)
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
        return (seat + self.direction) % self.num_players

    def _begin_turn(self, seat: int) -> None:
        self.player = self.actor = seat
        self.phase = "play"
        self.drawn = ""

    def _pass_turn(self) -> None:
        self._begin_turn(self._next(self.player))

    def _decide(self, phase: str, seat: int) -> None:
        self.phase, self.actor = phase, seat

    def _plays(self, card: str) -> list[str]:
        """Return the names under which the actor can play `card` from the hand as it now is."""
        top, hand = self.discard_pile[0], self.hands[self.actor]
        if not is_wild(card):
            return [f"play {card}"] if matches(card, top, self.active_color) else []
        enforced = card == "W+4" and self.rules["wild_draw_four"] == "enforced"
        if enforced and any(matches(other, top, self.active_color) for other in hand):
            return []  # wilds don't count as matching
        return [f"play {card}:{color}" for color in COLORS[: self.rules["colors"]]]

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
        elif name == "say uno":
            self._effect()
        elif name == "stay silent":
            self._decide("catch", following)
        elif name == "let go":
            if following == self.player:  # all others have let go
                self._effect()
            else:
                self._decide("catch", following)
        elif name == "catch":
            self._forced_draw(self.player, UNO_PENALTY)
            self._effect()
        elif name == "accept":
            self._draw_and_skip(DRAWS[self.discard_pile[0]])
        elif name == "challenge":
            self._challenge()
        elif verb == "give":
            self.hands[self.actor].remove(argument)
            self.hands[following].append(argument)
            self._pass_turn()
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
        if self.dry_passes == self.num_players:
            self._finish("blocked")
        else:
            self._pass_turn()

    def _play(self, argument: str) -> None:
        """Play a card: to the discard pile, colour named, UNO call, effect, in this order."""
        card, _, color = argument.partition(":")
        hand = self.hands[self.player]
        hand.remove(card)
        # Judged now: the hand without this card, the pile and the colour as they were before it.
        self.guilty = self._would_be_guilty(hand)
        self.discard_pile.insert(0, card)
        self.active_color = color or card[0]
        self.dry_passes = 0
        if not hand:
            self._go_out(card)
        elif len(hand) == 1 and self.rules["uno_call"] == "explicit":
            self._decide("uno", self.player)
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
        card = self.discard_pile[0]
        kind = card if is_wild(card) else card[1:]
        if kind == "S":
            self._begin_turn(self._next(self._next(self.player)))
        elif kind == "V":
            self.direction = -self.direction
            if self.num_players == 2 and self.rules["two_player_reverse"] == "skip":
                self._begin_turn(self.player)
            else:
                self._pass_turn()
        elif kind == "WD":
            if self._forced_draw(self.player, 1):
                self._decide("give", self.player)
            else:
                self._pass_turn()
        elif kind == "W+2" or (kind == "W+4" and self.rules["wild_draw_four"] == "challenge"):
            self._decide("challenge", self._next(self.player))
        elif kind in DRAWS:
            self._draw_and_skip(DRAWS[kind])
        else:  # numbers and W
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
        count = DRAWS[self.discard_pile[0]]
        if self.guilty:
            self._forced_draw(self.player, count)
            self._begin_turn(self.actor)
        else:
            self._draw_and_skip(count + 2)

    # The end (section 6)

    def _go_out(self, card: str) -> None:
        """End the round with the player's last card; next still draws, nothing else happens."""
        kind = card if is_wild(card) else card[1:]
        if kind in DRAWS:
            self._forced_draw(self._next(self.player), DRAWS[kind])
        self.winner = self.player
        self.points[self.player] = sum(card_points(c) for hand in self.hands for c in hand)
        self._finish("out")

    def _finish(self, end: str) -> None:
        self.phase, self.end = "over", end


# The judge of records (section 8)


def _need(condition: bool, message: str) -> None:
    if not condition:
        raise RecordError(message)


def _is_int(value: Any, least: int = 0) -> bool:
    return type(value) is int and value >= least


def _are_cards(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(card, str) for card in value)


def check_rules(rules: Any) -> None:
    """Refuse fields of Rules that are missing, unknown or of a wrong value (section 9)."""
    _need(isinstance(rules, dict), "rules: must be an object")
    for field, value in rules.items():
        known = field in _POCKET or value is None or value is False
        _need(known, f"rules: unknown field {field!r} with value {value!r}")
    for field in _POCKET:
        _need(field in rules, f"rules: field {field!r} is missing")
    for field, choices in CHOICES.items():
        allowed = [value for value in choices if type(value) is type(rules[field])]
        _need(rules[field] in allowed, f"rules: {field} must be one of {choices}")
    for field in ("hand_size", "match_goal", "draw_limit"):
        _need(_is_int(rules[field], 1), f"rules: {field} must be a positive integer")
    _need(isinstance(rules["name"], str), "rules: name must be a string")
    _need(_is_int(rules["max_players"], 2), "rules: max_players must be an integer above 1")
    colors = rules["colors"]
    _need(_is_int(colors, 1) and colors <= 4, "rules: colors must be 1 to 4")
    for field, names in (("symbols", SYMBOLS), ("wild_copies", WILDS)):
        _need(isinstance(rules[field], dict), f"rules: {field} must be an object")
        for name, copies in rules[field].items():
            good = name in names and _is_int(copies)
            _need(good, f"rules: {field} cannot hold {name!r}: {copies!r}")


def check_record(record: dict[str, Any]) -> None:
    """Verify a whole game record by playing it again (docs/rules.md, section 8).

    Checks the deal, every event with its cards and place, results, and the course of a match.
    A round that still runs may be the last. Raises `RecordError` naming round and event index.
    """
    try:
        record = json.loads(json.dumps(record))
    except (TypeError, ValueError) as error:
        raise RecordError(f"the record is not JSON: {error}") from error
    _need(isinstance(record, dict), "the record must be an object")
    form = record.get("format")
    _need(form == "uno-record/1", f"format {form!r} is unknown, not 'uno-record/1'")
    for field in ("rules", "players", "seed", "match", "rounds"):
        _need(field in record, f"field {field!r} is missing")
    rules, players, rounds = record["rules"], record["players"], record["rounds"]
    check_rules(rules)
    named = isinstance(players, list) and all(isinstance(name, str) for name in players)
    _need(named, "players: must be a list of names")
    fits = 2 <= len(players) <= rules["max_players"]
    _need(fits, f"players: {len(players)}, but these rules are for 2 to {rules['max_players']}")
    _need(record["seed"] is None or type(record["seed"]) is int, "seed: must be an integer or null")
    _need(isinstance(record["match"], bool), "match: must be true or false")
    _need(isinstance(rounds, list) and len(rounds) > 0, "rounds: must be a list of at least one")
    single = record["match"] or len(rounds) == 1
    _need(single, f"rounds: {len(rounds)}, but a record that is no match has one")
    totals = [0] * len(players)
    for i, entry in enumerate(rounds):
        where = f"round {i}"
        game = _check_round(entry, rules, len(players), where)
        if i > 0:
            dealer = (rounds[i - 1]["dealer"] + 1) % len(players)
            _need(game.dealer == dealer, f"{where}: the deal passes left, to seat {dealer}")
        totals = [total + points for total, points in zip(totals, game.points, strict=True)]
        if i + 1 < len(rounds):
            _need(game.end is not None, f"{where}: still runs, but another round follows")
            over = max(totals) >= rules["match_goal"]
            _need(not over, f"{where}: ends the match at {totals}, but another round follows")


def _check_round(entry: Any, rules: dict[str, Any], num_players: int, where: str) -> Game:
    """Verify one round of a record and return it as a game."""
    _need(isinstance(entry, dict), f"{where}: must be an object")
    for field in ("dealer", "hands", "opening", "turned_back", "pile", "events", "result"):
        _need(field in entry, f"{where}: field {field!r} is missing")
    _check_deal(entry, rules, num_players, where)
    game = Game(
        rules,
        **{key: entry[key] for key in ("hands", "opening", "pile")},
        dealer=entry["dealer"],
        turned_back=entry["turned_back"],
    )
    events = entry["events"]
    _need(isinstance(events, list), f"{where}: events must be a list")
    _compare_events(game, events, 0, where)
    while len(game.events) < len(events):
        _check_step(game, events, where)
    result = entry["result"]
    if isinstance(result, dict) and result.get("end") == "truncated":
        _need(game.end is None, f"{where}: result: truncated, but it had ended ({game.end})")
        game.truncate()
    same = repr(_sorted_items(result)) == repr(_sorted_items(game.result()))
    _need(same, f"{where}: result: must be {game.result()}, not {result}")
    return game


def _sorted_items(value: Any) -> Any:
    return sorted(value.items()) if isinstance(value, dict) else value


def _check_deal(entry: dict[str, Any], rules: dict[str, Any], players: int, where: str) -> None:
    """Verify dealer, hands, opening card, cards put back and draw pile (section 2)."""
    dealer, hands, opening = entry["dealer"], entry["hands"], entry["opening"]
    pile, turned_back = entry["pile"], entry["turned_back"]
    _need(_is_int(dealer) and dealer < players, f"{where}: dealer must be a seat, not {dealer!r}")
    shaped = isinstance(hands, list) and all(_are_cards(hand) for hand in hands)
    _need(shaped, f"{where}: hands must be lists of cards")
    sizes = [len(hand) for hand in hands]
    due = [rules["hand_size"]] * players
    _need(sizes == due, f"{where}: hands must be of {due} cards, not {sizes}")
    _need(isinstance(opening, str), f"{where}: opening must be a card")
    _need(_are_cards(pile), f"{where}: pile must be a list of cards")
    _need(_are_cards(turned_back), f"{where}: turned_back must be a list of cards")
    dealt = Counter([card for hand in hands for card in hand] + [opening, *pile])
    deck = deck_counts(rules)
    _need(
        dealt == deck,
        f"{where}: the deal is not the deck: {dict(deck - dealt)} are missing, "
        f"{dict(dealt - deck)} are too many",
    )
    if rules["opening_wild"] == "put_back":
        _need(not is_wild(opening), f"{where}: opening {opening} had to be put back")
        for card in turned_back:
            there = is_wild(card) and card in pile
            _need(there, f"{where}: turned_back {card!r} is no wild among the undealt cards")
    else:
        _need(not turned_back, f"{where}: nothing is put back under first_player_chooses")


def _check_step(game: Game, events: list[Any], where: str) -> None:
    """Play the record's next action, which begins at the game's own next event index."""
    start = len(game.events)
    place = start
    if _is_reshuffle(events[start]):  # a reshuffle stands before the draw that needs it
        place += 1
    here = f"{where}, event {place}"
    _need(place < len(events), f"{where}, event {start}: a reshuffle that nothing follows")
    event = events[place]
    shaped = isinstance(event, list) and len(event) >= 2 and isinstance(event[1], str)
    _need(shaped and type(event[0]) is int, f"{here}: {event!r} is no [seat, action]")
    _need(event[1] != "forced", f"{here}: {event!r}, but no forced draw is due")

    def order(cards: list[str]) -> list[str]:
        index = len(game.events)
        found = index < len(events) and _is_reshuffle(events[index])
        _need(found, f"{where}, event {index}: the reshuffle of {sorted(cards)} is missing")
        return list(events[index][1])

    try:
        game.apply(event[0], event[1], reshuffle=order)
    except RuleError as error:
        raise RecordError(f"{here}: {error}") from error
    _compare_events(game, events, start, where)


def _is_reshuffle(event: Any) -> bool:
    return (
        isinstance(event, list)
        and len(event) == 2
        and event[0] == "reshuffle"
        and _are_cards(event[1])
    )


def _compare_events(game: Game, events: list[Any], start: int, where: str) -> None:
    """Compare what the game wrote from index `start` on with the record."""
    for index in range(start, len(game.events)):
        here, due = f"{where}, event {index}", game.events[index]
        _need(index < len(events), f"{here}: {due} is missing")
        # By their text, for which True, 1 and 1.0 are not the same.
        _need(repr(events[index]) == repr(due), f"{here}: must be {due}, not {events[index]!r}")
