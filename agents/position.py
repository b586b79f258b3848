"""A position from what one player sees of it: a row that agrees with that, for agents to look at.

The hidden cards of the row are drawn at random, and no agent may look at them; everything else is
as described. The row is made by moving cards as the game does, so that all its books agree.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pocket_uno_env.arguments import excerpt
from pocket_uno_env.compiled.kernel import kernel
from pocket_uno_env.engine.deal import deal_round, new_game
from pocket_uno_env.engine.piles import draw_card, lay, leave_hand, reshuffle
from pocket_uno_env.engine.state import new_rows
from pocket_uno_env.records.snapshot import phase_name
from pocket_uno_env.rows import legal_names, step_rows
from pocket_uno_env.rules.actions import catalogue
from pocket_uno_env.rules.cards import COLOR_NAMES, COLORS, DIGITS, WILDS
from pocket_uno_env.rules.phases import Phase
from pocket_uno_env.rules.rules import Rules, RulesError

PHASES = ("play", "drawn", "challenge", "uno", "catch", "give")
_NOT_ASKED = ("stack", "swap", "jump", "name")
"""Decisions under house rules, and of an opening wild's colour: no position describes them."""
_FIELDS = {
    "rules", "hand", "top", "color", "others", "direction", "discards", "scores", "phase",
    "drawn", "before_top", "before_color", "silent",
}  # fmt: skip


class AdviceError(ValueError):
    """A position that cannot be; the message says what is wrong with it."""


@dataclasses.dataclass(frozen=True)
class Position:
    """What one player sees, checked. You are seat 0; seat 1 is on your left, and so on.

    Attributes
    ----------
    rules : Rules
    hand : list of str
    top, color : str
        The top card and the active colour (a letter).
    sizes : list of int
        How many cards everybody holds, you first.
    direction : int
        1 clockwise, -1 counter-clockwise.
    discards : list of str
        The cards under the top card, the lowest first, as far as you remember them; without
        `before_top`, where there is one.
    scores : list of int
        Match points, you first.
    phase : str
        One of `PHASES`.
    drawn, before_top, before_color, silent
        What was drawn; what lay there before the last play; who is silent.
    """

    rules: Rules
    hand: list[str]
    top: str
    color: str
    sizes: list[int]
    direction: int
    discards: list[str]
    scores: list[int]
    phase: str
    drawn: str | None
    before_top: str | None
    before_color: str | None
    silent: int | None


def read_position(fields: Mapping[str, Any]) -> Position:
    """A position from JSON; AdviceError names what is missing or cannot be.

    Parameters
    ----------
    fields : dict
        ``hand``, ``top``, ``others`` (hand sizes, from your left), and if need be ``rules``
        (default "pocket"), ``color`` (for a wild on top), ``direction``, ``discards`` (the cards
        under the top card, or under ``before_top`` where that is needed), ``scores``,
        ``phase`` (default "play") with ``drawn``; ``before_top`` and ``before_color``, what the
        last card was played upon (challenge, uno, catch, give); ``silent``, the seat to catch.
    """
    if not isinstance(fields, Mapping):
        raise AdviceError(f"a position is a JSON object, not {excerpt(fields)}")
    if unknown := sorted(str(key) for key in set(fields) - _FIELDS):
        raise AdviceError(f"there is no field {excerpt(unknown[0])}; there are {sorted(_FIELDS)}")
    for needed in ("hand", "top", "others"):
        if needed not in fields:
            raise AdviceError(f"the field {needed!r} is missing")
    rules = _rules(fields.get("rules", "pocket"))
    hand, discards = (_cards(rules, name, fields.get(name, [])) for name in ("hand", "discards"))
    top = _card(rules, "top", fields["top"])
    others = _numbers("others", fields["others"], 1, rules.n_cards)
    if not hand:
        raise AdviceError("your hand is empty: the round is over")
    try:
        seats = rules.check_players(len(others) + 1)
    except RulesError as error:
        raise AdviceError(f"'others' has {len(others)} hand sizes: {error}") from None
    scores = _numbers("scores", fields.get("scores", [0] * seats), 0, 10**6)
    if len(scores) != seats:
        raise AdviceError(f"'scores' has {len(scores)} numbers; expected {seats}, yours first")
    direction = fields.get("direction", 1)
    if type(direction) is not int or direction not in (1, -1):
        raise AdviceError(f"'direction' is {excerpt(direction)}; expected 1 (clockwise) or -1")
    phase = fields.get("phase", "play")
    if phase not in PHASES:
        why = "; the advisor is not asked such decisions" if phase in _NOT_ASKED else ""
        raise AdviceError(f"'phase' is {excerpt(phase)}; expected one of {list(PHASES)}{why}")
    drawn, before = fields.get("drawn"), fields.get("before_top")
    before = None if before is None else _card(rules, "before_top", before)
    silent = fields.get("silent")
    if phase == "catch" and (type(silent) is not int or not 1 <= silent < seats):
        raise AdviceError(
            f"'silent' is {excerpt(silent)}; expected a seat from 1 to {seats - 1} to catch"
        )
    return Position(
        rules=rules,
        hand=hand,
        top=top,
        color=_color(rules, "color", "top", top, fields.get("color")),
        sizes=[len(hand), *others],
        direction=direction,
        discards=discards,
        scores=scores,
        phase=phase,
        drawn=None if drawn is None else _card(rules, "drawn", drawn),
        before_top=before,
        before_color=before
        and _color(rules, "before_color", "before_top", before, fields.get("before_color")),
        silent=silent,
    )


@dataclasses.dataclass
class _Setup:
    """The cards and the turn as they were before the steps that lead to the question."""

    own: list[str]
    sizes: list[int]
    top: str
    color: str
    actor: int = 0
    held: str | None = None
    """What another seat is known to hold, since it plays it."""
    pile: list[str] = dataclasses.field(default_factory=list)
    steps: list[str] = dataclasses.field(default_factory=list)


def position_rows(position: Position, seed: int = 0) -> Any:
    """A game in which seat 0 sees the position: structured array, shape ``(1,)``.

    Raises
    ------
    AdviceError
        When there is no such game.
    """
    rules, setup = position.rules, _setup(position)
    hidden = _hidden(position, setup)
    np.random.default_rng(seed).shuffle(hidden)
    hands = [setup.own]
    for seat in range(1, len(setup.sizes)):
        kept = [setup.held] if setup.held is not None and seat == setup.actor else []
        hands.append(kept + [hidden.pop() for _ in range(setup.sizes[seat] - len(kept))])
    discards = [*position.discards, setup.top]
    rows = _placed(rules, hands, discards, [*setup.pile, *hidden], seed)
    row = rows[0]
    row["direction"], row["to_act"], row["phase"] = position.direction, setup.actor, Phase.PLAY
    row["active_color"] = COLORS.index(setup.color)
    row["scores"][: len(hands)] = position.scores
    for step in setup.steps:
        _take(rules, rows, step)
    asked = rows["to_act"][0] == 0 and phase_name(rows[0]) == position.phase
    # One that draws until a card can be played may have drawn more than the card in question.
    if not asked or rows["hand_size"][0][: len(hands)].tolist() != position.sizes:
        if position.phase == "drawn":
            raise AdviceError(
                f"the card drawn, {position.drawn}, cannot be played on {position.top} while "
                f"{COLOR_NAMES[position.color]} is active, so there is nothing to decide"
            )
        raise AdviceError(
            f"by the rules this does not lead to a decision of yours in phase {position.phase!r}"
        )
    return rows


def _setup(position: Position) -> _Setup:
    own, sizes = list(position.hand), list(position.sizes)
    if position.phase == "play":
        return _Setup(own, sizes, position.top, position.color)
    if position.phase == "drawn":
        if position.drawn not in own:
            given = "is missing" if position.drawn is None else f"is {position.drawn!r}"
            raise AdviceError(
                f"'drawn' {given}; expected the card that you drew, which is in your hand now: "
                f"one of {', '.join(sorted(set(own)))}"
            )
        own.remove(position.drawn)
        pile = [position.drawn]
        sizes[0] -= 1
        if not own:
            raise AdviceError("before you drew you held no card: the round was over")
        return _Setup(own, sizes, position.top, position.color, pile=pile, steps=["draw"])
    # Somebody has just played the top card.
    if position.before_top is None or position.before_color is None:
        raise AdviceError(
            f"phase {position.phase!r} needs 'before_top' (and 'before_color' if that is a wild): "
            "what lay there before the last card was played"
        )
    after = len(sizes) - 1 if position.direction == 1 else 1
    actor = {"challenge": after, "catch": position.silent or 0}.get(position.phase, 0)
    if position.phase in ("uno", "catch") and sizes[actor] != 1:
        who = f"seat {actor} holds" if actor else "you hold"
        raise AdviceError(
            f"in phase {position.phase!r} after that play {who} one card, not {sizes[actor]}"
        )
    named = f":{position.color}" if position.top in WILDS else ""
    setup = _Setup(own, sizes, position.before_top, position.before_color, actor)
    setup.steps = [f"play {position.top}{named}"]
    if position.phase == "give":
        if position.top != "WD" or len(own) < 2:
            raise AdviceError("a card is given after a WD, by who holds two cards or more then")
        setup.pile = [own.pop()]
        sizes[0] -= 1
    if position.phase in ("challenge", "give"):
        setup.steps += ["say uno"]
    elif position.phase == "catch":
        setup.steps += ["stay silent", *["let go"] * (len(sizes) - 2)]
    sizes[actor] += 1
    if actor == 0:
        own.append(position.top)
    else:
        setup.held = position.top
    return setup


def _take(rules: Rules, rows: Any, name: str) -> None:
    """Take one of the steps that lead to the question; some may not be asked for at all."""
    legal = legal_names(rules, rows)
    if name == "say uno" and name not in legal:
        return
    if name == "let go" and rows["to_act"][0] == 0:
        return
    if name not in legal:
        raise AdviceError(
            f"{name!r} was not possible before; legal was {', '.join(legal) or 'nothing'}"
        )
    actions = np.array([catalogue(rules).id(name)])
    step_rows(rules, rows, np.zeros(1, np.int64), actions, 10**6)


def _hidden(position: Position, setup: _Setup) -> list[str]:
    """The cards that you cannot see, checked: none twice, and enough for the other hands."""
    top, under = "the top card", "the cards under it"
    if position.phase not in ("play", "drawn"):
        top, under = "'before_top'", "'discards', the cards under 'before_top'"
    places = {
        "your hand": setup.own,
        top: [setup.top],
        under: position.discards,
        "the card drawn": setup.pile,
        "the card just played": [setup.held] if setup.held is not None else [],
    }
    left = Counter(position.rules.deck)
    for cards in places.values():
        left.subtract(cards)
    for card, count in left.items():
        if count < 0:
            where = [place for place, cards in places.items() if card in cards]
            raise AdviceError(
                f"{card} is there {position.rules.deck.count(card) - count} times "
                f"({' and '.join(where)}), but the deck has {position.rules.deck.count(card)}"
            )
    hidden = list(left.elements())
    wanted = sum(setup.sizes[1:]) - (setup.held is not None)
    if len(hidden) < wanted:
        raise AdviceError(
            f"the others would hold {wanted} cards, but only {len(hidden)} are out of your sight"
        )
    return hidden


def _placed(
    rules: Rules, hands: list[list[str]], discards: list[str], pile: list[str], seed: int
) -> Any:
    """A game with these cards in these places: discards from the lowest, draw pile from its top."""
    first = [hand[0] for hand in hands]
    later = [*discards[1:], *(card for hand in hands for card in hand[1:]), *pile]
    opening = next((card for card in later if card[1:] in DIGITS), None)
    if opening is None:
        raise AdviceError("no number is out of sight to open such a game with")
    middle = list(later)
    middle.remove(opening)
    rows = new_rows(1)
    new_game(rows[0], len(hands), np.uint64(seed))
    arrange_position(
        dataclasses.replace(rules, hand_size=1)._table,
        rows,
        _kinds(rules, [*first, opening, *middle, discards[0]]),
        _kinds(rules, later),
        len(discards) - 1,
        np.array([len(hand) - 1 for hand in hands]),
    )
    return rows


@kernel
def arrange_position(rules: Any, rows: Any, deck: Any, later: Any, under: Any, more: Any) -> None:
    """Put the cards of a game where they should be, as the game moves them.

    A card is dealt to everybody; the rest goes over the discard pile, so that what is dealt last
    stays on top of it as the lowest discard; and what was under it is drawn from again.

    Parameters
    ----------
    rules : a table of rules with a hand size of 1
    deck, later : uint8 arrays
        Kinds: all cards as they are dealt, and the draw pile after it was turned over.
    under : int
        How many cards of `later` are discarded on top of the lowest.
    more : int64 array, shape ``(num_players,)``
        How many cards each seat draws after that.
    """
    row = rows[0]
    seats = np.int64(row.num_players)
    deal_round(rules[0], row, seats - 1, deck, None)
    while row.draw_count > 0:
        _discard_next(rules[0], row)
    reshuffle(rules[0], row, later, None)
    for _ in range(under):
        _discard_next(rules[0], row)
    for seat in range(seats):
        for _ in range(more[seat]):
            draw_card(rules[0], row, seat, None, None)


@kernel
def _discard_next(rules: Any, row: Any) -> None:
    card = draw_card(rules, row, 0, None, None)
    leave_hand(rules, row, 0, card)
    lay(rules, row, card)


def _kinds(rules: Rules, cards: Sequence[str]) -> np.ndarray:
    return np.array([rules.kind_ids[card] for card in cards], np.uint8)


def _rules(value: Any) -> Rules:
    try:
        if isinstance(value, Mapping):
            changed = {str(key): field for key, field in value.items()}
            return Rules.preset(changed.pop("name", "pocket"), **changed)
        return Rules.preset(value)
    except RulesError as error:
        raise AdviceError(str(error)) from None


def _card(rules: Rules, name: str, value: Any) -> str:
    if not isinstance(value, str) or value.upper() not in rules.kind_ids:
        raise AdviceError(
            f"{name!r} has {excerpt(value)}, which is no card of the rules {rules.name!r}; cards "
            f"are written like {', '.join([*list(rules.kind_ids)[:2], *list(rules.kind_ids)[-2:]])}"
        )
    return value.upper()


def _cards(rules: Rules, name: str, value: Any) -> list[str]:
    if not isinstance(value, list) or len(value) > rules.n_cards:
        raise AdviceError(f"{name!r} should be a list of at most {rules.n_cards} cards")
    return [_card(rules, name, card) for card in value]


def _numbers(name: str, value: Any, low: int, high: int) -> list[int]:
    fits = isinstance(value, list) and all(type(n) is int and low <= n <= high for n in value)
    if not fits:
        raise AdviceError(
            f"{name!r} is {excerpt(value)}; expected a list of numbers from {low} to {high}"
        )
    return list(value)


def _color(rules: Rules, name: str, of: str, card: str, value: Any) -> str:
    """The letter of a colour, which a coloured card says itself."""
    known = COLORS[: rules.colors]
    letters = {COLOR_NAMES[c]: c for c in known} | {c.lower(): c for c in known}
    if value is None and card not in WILDS:
        return card[0]
    found = letters.get(value.lower()) if isinstance(value, str) else None
    if found is None:
        given = "is missing" if value is None else f"is {excerpt(value)}"
        raise AdviceError(
            f"{name!r} {given}; {of!r} is {card}, so one of {', '.join(letters)} is needed"
        )
    if card not in WILDS and found != card[0]:
        raise AdviceError(f"{of!r} is {card}, so {name!r} cannot be {COLOR_NAMES[found]}")
    return found
