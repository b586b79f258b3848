"""The judge of game records: plays a record again by the slow game and names what is wrong.

It knows a record as docs/rules.md, sections 8 and 11, has it, and nothing of who wrote it: neither
this nor what it imports knows of the engine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from .game import Game, RuleError, deck_counts, is_wild
from .record_format import RecordError, need, read_record


class Step(NamedTuple):
    """A moment of a record that is played again.

    Attributes
    ----------
    round : int
        Which round of the record.
    what : str
        The deal, with the effect of the opening card; a decision, with all that follows from it; or
        the result, of a round that still runs too.
    game : Game
        The round as it is now. It goes on with the next step: copy what is to be kept.
    events : list
        The events that this step added.
    """

    round: int
    what: Literal["deal", "decision", "result"]
    game: Game
    events: list[list[Any]]


def check_record(record: dict[str, Any]) -> None:
    """Verify a whole game record by playing it again (docs/rules.md, section 8).

    Checks the deal, every event with its cards and place, results, and the course of a match.
    A round that still runs may be the last. Raises `RecordError` naming round and event index.
    """
    for _ in walk(record):
        pass


def walk(record: dict[str, Any]) -> Iterator[Step]:
    """Play a record again, verifying all of it up to each step; see `check_record`."""
    record = read_record(record)
    rules, rounds, num_players = record["rules"], record["rounds"], len(record["players"])
    totals = list(record["scores"])
    out: list[int] = []
    for i, entry in enumerate(rounds):
        where = f"round {i}"
        need(entry["dealer"] not in out, f"{where}: dealer {entry['dealer']} is out of the match")
        if i > 0:
            dealer = _next_dealer(rounds[i - 1]["dealer"], num_players, out)
            need(entry["dealer"] == dealer, f"{where}: the deal passes left, to seat {dealer}")
        due = [0 if seat in out else rules["hand_size"] for seat in range(num_players)]
        game = yield from _walk_round(i, entry, rules, due)
        totals = [total + points for total, points in zip(totals, game.points, strict=True)]
        out = out_of_match(rules, totals)
        if i + 1 < len(rounds):
            need(game.end is not None, f"{where}: still runs, but another round follows")
            over = match_is_over(rules, totals)
            need(not over, f"{where}: ends the match at {totals}, but another round follows")


def out_of_match(rules: dict[str, Any], totals: Sequence[int]) -> list[int]:
    """Return the seats that are out of the match at these totals (section 11, elimination)."""
    if not rules["elimination"]:
        return []
    return [seat for seat, total in enumerate(totals) if total >= rules["match_goal"]]


def match_is_over(rules: dict[str, Any], totals: Sequence[int]) -> bool:
    """Tell whether a match is over at these totals (sections 6 and 11)."""
    if rules["elimination"]:
        return len(out_of_match(rules, totals)) >= len(totals) - 1
    return max(totals) >= int(rules["match_goal"])


# A round (section 8)


def _next_dealer(dealer: int, num_players: int, out: Sequence[int]) -> int:
    """Return the next seat on the dealer's left that is in."""
    seats = [(dealer + 1 + i) % num_players for i in range(num_players)]
    return next(seat for seat in seats if seat not in out)


def _walk_round(
    index: int, entry: dict[str, Any], rules: dict[str, Any], due: Sequence[int]
) -> Generator[Step, None, Game]:
    """Play a round of a record again and return it as a game; who is due no cards is out."""
    where, events, result = f"round {index}", entry["events"], entry["result"]
    _check_deal(entry, rules, due, where)
    dealt = {key: entry[key] for key in ("hands", "opening", "pile", "dealer", "turned_back")}
    game = Game(rules, **dealt, out=[seat for seat, size in enumerate(due) if size == 0])
    _compare_events(game, events, 0, where)
    yield Step(index, "deal", game, game.events[:])
    while len(game.events) < len(events):
        start = len(game.events)
        _check_step(game, events, where)
        yield Step(index, "decision", game, game.events[start:])
    if result["end"] == "truncated":
        need(game.end is None, f"{where}: result: truncated, but it had ended ({game.end})")
        game.truncate()
    need(game.result() == result, f"{where}: result: must be {game.result()}, not {result}")
    yield Step(index, "result", game, [])
    return game


def _check_deal(
    entry: dict[str, Any], rules: dict[str, Any], due: Sequence[int], where: str
) -> None:
    """Verify hands, opening card, cards put back and draw pile (section 2)."""
    hands, opening = entry["hands"], entry["opening"]
    pile, turned_back = entry["pile"], entry["turned_back"]
    sizes = [len(hand) for hand in hands]
    need(sizes == due, f"{where}: hands must be of {due} cards, not {sizes}")
    dealt = Counter([card for hand in hands for card in hand] + [opening, *pile])
    deck = deck_counts(rules)
    need(
        dealt == deck,
        f"{where}: the deal is not the deck: {dict(deck - dealt)} are missing, "
        f"{dict(dealt - deck)} are too many",
    )
    if rules["opening_wild"] == "put_back":
        need(not is_wild(opening), f"{where}: opening {opening} had to be put back")
        for card in turned_back:
            there = is_wild(card) and card in pile
            need(there, f"{where}: turned_back {card!r} is no wild among the undealt cards")
    else:
        need(not turned_back, f"{where}: nothing is put back under first_player_chooses")


def _check_step(game: Game, events: list[Any], where: str) -> None:
    """Play the record's next action, which begins at the game's own next event index."""
    start = len(game.events)
    place = start
    if events[start][0] == "reshuffle":  # a reshuffle stands before the draw that needs it
        place += 1
    here = f"{where}, event {place}"
    need(place < len(events), f"{where}, event {start}: a reshuffle that nothing follows")
    event = events[place]
    need(event[0] != "reshuffle", f"{here}: a second reshuffle, but one draw needs only one")
    need(event[1] != "forced", f"{here}: {event}, but no forced draw is due")

    def order(cards: list[str]) -> list[str]:
        index = len(game.events)
        found = index < len(events) and events[index][0] == "reshuffle"
        need(found, f"{where}, event {index}: the reshuffle of {sorted(cards)} is missing")
        return list(events[index][1])

    try:
        game.apply(event[0], event[1], reshuffle=order)
    except RuleError as error:
        raise RecordError(f"{here}: {error}") from error
    _compare_events(game, events, start, where)


def _compare_events(game: Game, events: list[Any], start: int, where: str) -> None:
    """Compare what the game wrote from index `start` on with the record."""
    for index in range(start, len(game.events)):
        here, due = f"{where}, event {index}", game.events[index]
        need(index < len(events), f"{here}: {due} is missing")
        need(events[index] == due, f"{here}: must be {due}, not {events[index]}")
