"""Game records: write them, and replay them through the engine (docs/rules.md, section 8).

A record is made by playing a game again from what decides it: the row before each deal and the
actions taken. So the engine pays nothing for records while it plays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pocket_uno_env.compiled.kernel import as_record
from pocket_uno_env.engine.deal import deal_round, new_game
from pocket_uno_env.engine.legality import is_legal, write_mask
from pocket_uno_env.engine.match import match_winner
from pocket_uno_env.engine.piles import Note
from pocket_uno_env.engine.state import NO_SEAT, new_rows
from pocket_uno_env.engine.transition import apply, truncate
from pocket_uno_env.reference.record_format import FORMAT, RecordError, read_record
from pocket_uno_env.rules.actions import catalogue
from pocket_uno_env.rules.cards import WILDS
from pocket_uno_env.rules.phases import End
from pocket_uno_env.rules.rules import Rules, RulesError

from .snapshot import round_result, snapshot

_LOG_SIZE = 1 << 15


@dataclass
class Transcript:
    """What decides one round: the row before its deal, the caller's deal, the actions."""

    before: np.ndarray
    dealer: int = NO_SEAT
    deck: np.ndarray | None = None
    actions: list[int] = field(default_factory=list)
    truncated: bool = False

    def replay(self, rules: Rules) -> dict[str, Any]:
        """Play the round again; its entry in a record's ``rounds``."""
        rows = new_rows(1)
        rows[:] = self.before
        table = rules._table[0]
        names = catalogue(rules).names
        log = Log(rules)
        dealt = deal_entry(rules, rows, self.dealer, self.deck, log)
        for action in self.actions:
            seat = int(rows["to_act"][0])
            apply(table, rows[0], action, None, log.clear())
            dealt["events"] += log.events([seat, names[action]])
        if self.truncated:
            truncate(rows[0])
        return {**dealt, "result": round_result(as_record(rows))}


def game_record(
    rules: Rules,
    players: Sequence[str],
    seed: int | None,
    match: bool,
    rounds: Iterable[Transcript],
) -> dict[str, Any]:
    """The record of a game, ready for ``json.dumps``."""
    rounds = list(rounds)
    started = rounds[0].before["scores"][0, : len(players)].tolist() if rounds else []
    scores = {"scores": started} if any(started) else {}
    return {
        "format": FORMAT,
        "rules": rules.to_dict(),
        "players": list(players),
        "seed": seed,
        "match": match,
        **scores,
        "rounds": [transcript.replay(rules) for transcript in rounds],
    }


def from_actions(
    rules: Rules,
    num_players: int,
    row_seed: int,
    actions: Sequence[int],
    players: Sequence[str],
    seed: int | None,
    truncated: bool = False,
) -> dict[str, Any]:
    """The record of a single round, from the seed of its row and the actions taken in it."""
    before = new_rows(1)
    new_game(before[0], num_players, np.uint64(row_seed))
    transcript = Transcript(before, actions=list(actions), truncated=truncated)
    return game_record(rules, players, seed, False, [transcript])


class Log:
    """The engine's log of random outcomes, read back as the events of a record."""

    def __init__(self, rules: Rules) -> None:
        self.array = np.zeros(_LOG_SIZE, np.int16)
        self._names = [kind.name for kind in rules.kinds]

    def clear(self) -> np.ndarray:
        """Empty the log; the array to hand to a kernel."""
        self.array[0] = 0
        return self.array

    def _notes(self) -> list[tuple[int, int]]:
        pairs = self.array[1 : 1 + 2 * int(self.array[0])].tolist()
        return list(zip(pairs[::2], pairs[1::2], strict=True))

    def turned_back(self) -> list[str]:
        """The wilds that were turned over and put back, in order."""
        return [self._names[value] for code, value in self._notes() if code == Note.TURNED_BACK]

    def events(self, action: list[Any] | None) -> list[list[Any]]:
        """The player's event, if any, and all draws and reshuffles that followed from it."""
        events: list[list[Any]] = [] if action is None else [action]
        for code, value in self._notes():
            if code == Note.FORCED:
                events.append([value, "forced", []])
            elif code == Note.DRAW:
                events[-1].append([])
            elif code == Note.CARD:
                events[-1][2].append(self._names[value])
            elif code == Note.RESHUFFLE:
                # It stands before the draw that needed it, even one that is half done.
                events.insert(-1, ["reshuffle", []])
            elif code == Note.PILE:
                events[-2][1].append(self._names[value])
        return events


def deal_entry(
    rules: Rules, rows: Any, dealer: int, deck: np.ndarray | None, log: Log
) -> dict[str, Any]:
    """Deal a round; the first half of its entry in a record, opening draws as events."""
    deal_round(rules._table[0], rows[0], dealer, deck, log.clear())
    # After the deal the memory of the draw pile still holds the whole deck, dealt from its end.
    order = rules._table["card_kind"][0][rows["draw_pile"][0][: rules.n_cards][::-1]]
    names = [rules.kinds[kind].name for kind in order]
    seats, dealer = int(rows["num_players"][0]), int(rows["dealer"][0])
    served = _served(rows, dealer)
    dealt = len(served) * rules.hand_size
    return {
        "dealer": dealer,
        "hands": [
            names[served.index(seat) : dealt : len(served)] if seat in served else []
            for seat in range(seats)
        ],
        "opening": names[dealt],
        "turned_back": log.turned_back(),
        "pile": names[dealt + 1 :],
        "events": log.events(None),
    }


def _served(rows: Any, dealer: int) -> list[int]:
    """The seats that are in the game, in the order in which they are dealt to."""
    seats, out = int(rows["num_players"][0]), int(rows["out"][0])
    order = [(dealer + 1 + i) % seats for i in range(seats)]
    return [seat for seat in order if not out >> seat & 1]


def replay(record: Mapping[str, Any]) -> dict[str, Any]:
    """Play a record through the engine and hold every card and every event against it.

    Parameters
    ----------
    record : dict
        A game in the format ``uno-record/1``, finished or not.

    Returns
    -------
    dict
        The snapshot of where the game stands at the end of the record.

    Raises
    ------
    RecordError
        At the first disagreement, naming the round, the event and what the engine says.
    """
    for moment in positions(record):
        last = moment
    return snapshot(last.rules, as_record(last.rows))


@dataclass(frozen=True, eq=False, slots=True)
class RecordedPosition:
    """A moment of a record that is played again: before a decision, or where its round stops.

    Attributes
    ----------
    rules : Rules
    rows : structured array, dtype `state.ROW`, shape ``(1,)``
        The game as it is now. It goes on with the next position: copy what is to be kept.
    round : int
        Which round of the record.
    events : int
        How many events of the round lie behind.
    action : int or None
        The action id that the seat to act took; None where the round has ended or the record stops.
    """

    rules: Rules
    rows: Any
    round: int
    events: int
    action: int | None


def positions(record: Mapping[str, Any]) -> Iterator[RecordedPosition]:
    """Play a record through the engine, as `replay` does, and stop before every decision.

    Yields
    ------
    RecordedPosition
        All with the same ``rows``, one row that goes on with the game: ``list(positions(record))``
        holds its last moment many times. Keep a moment by ``position.rows.copy()``.

    Raises
    ------
    RecordError
        As `replay`, when the iteration comes to the disagreement.
    """
    record = read_record(record)
    try:
        rules = Rules.from_dict(record["rules"])
        seats = rules.check_players(len(record["players"]))
    except RulesError as error:
        raise RecordError(str(error)) from None
    rows = new_rows(1)
    new_game(rows[0], seats, np.uint64(0))
    rows["scores"][0, :seats] = record["scores"]
    rounds = record["rounds"]
    for number, entry in enumerate(rounds):
        where = f"round {number}"
        if number and rows["end"][0] == End.RUNNING:
            raise RecordError(f"{where}: the round before it has not ended")
        if number and match_winner(rules._table[0], rows[0]) != NO_SEAT:
            raise RecordError(f"{where}: the match was over")
        for at, action in _replay_round(rules, rows, entry, where):
            yield RecordedPosition(rules, rows, number, at, action)


def _replay_round(
    rules: Rules, rows: Any, entry: Mapping[str, Any], where: str
) -> Iterator[tuple[int, int | None]]:
    """Yield the index of the next event and the action, before each decision and at the end."""
    last = int(rows["dealer"][0])
    deck = _dealt_deck(rules, rows, entry, where)
    log = Log(rules)
    dealer = entry["dealer"]
    if last != NO_SEAT and dealer != _served(rows, last)[0]:
        raise RecordError(f"{where}: the deal passes to the left, but the dealer is {dealer}")
    expected = deal_entry(rules, rows, dealer, deck, log)["events"]
    events = entry["events"]
    if events[: len(expected)] != expected:
        raise RecordError(f"{where}: the opening card makes {expected}, not {events[:1]}")
    table, cat = rules._table[0], catalogue(rules)
    at = len(expected)
    while at < len(events):
        here = f"{where}, event {at}"
        supply = None
        if _is_reshuffle(events[at]):
            if at + 1 == len(events):
                raise RecordError(f"{here}: a reshuffle without the draw that needs it")
            event, supply = events[at + 1], events[at][1]
        else:
            event = events[at]
            # A reshuffle for a forced draw stands among the draws that follow the action.
            for later in range(at + 1, len(events) - 1):
                if _is_reshuffle(events[later]) and _is_forced(events[later + 1]):
                    supply = events[later][1]
                elif not _is_forced(events[later]):
                    break
        seat, name = _player_event(event, here)
        if int(rows["to_act"][0]) != seat:
            raise RecordError(f"{here}: seat {seat} acts, but {_turn(rows)}")
        action = cat.ids.get(name, -1)
        if action < 0 or not is_legal(table, rows[0], action):
            mask = np.zeros(len(cat), np.int8)
            write_mask(table, rows[0], mask)
            raise RecordError(
                f"{here}: {name!r} is not legal for seat {seat}; legal: "
                f"{', '.join(cat.legal_names(mask))}"
            )
        order = None if supply is None else _reshuffle_order(rules, supply, here)
        yield at, action
        apply(table, rows[0], action, order, log.clear())
        made = log.events([seat, name])
        if events[at : at + len(made)] != made:
            raise RecordError(
                f"{here}: the engine makes {made}, the record has {events[at : at + len(made)]}"
            )
        at += len(made)
    result = entry["result"]
    if result["end"] == "truncated" and rows["end"][0] == End.RUNNING:
        truncate(rows[0])
    if round_result(as_record(rows)) != result:
        raise RecordError(
            f"{where}: the result is {round_result(as_record(rows))}, the record has {result}"
        )
    yield at, None


def _dealt_deck(rules: Rules, rows: Any, entry: Mapping[str, Any], where: str) -> np.ndarray:
    """The kinds of a round's deck in dealt order, checked."""
    seats, dealer, hands = int(rows["num_players"][0]), entry["dealer"], entry["hands"]
    served = _served(rows, dealer)
    sizes = [rules.hand_size if seat in served else 0 for seat in range(seats)]
    if [len(hand) for hand in hands] != sizes:
        raise RecordError(f"{where}: expected hands of {sizes} cards")
    names = [hands[seat][i] for i in range(rules.hand_size) for seat in served]
    names += [entry["opening"], *entry["pile"]]
    if sorted(names) != sorted(rules.deck):
        raise RecordError(f"{where}: hands, opening and pile are not the deck of these rules")
    undealt = names[rules.hand_size * len(served) :]
    for card in entry["turned_back"]:
        if rules.opening_wild != "put_back" or card not in WILDS or card not in undealt:
            raise RecordError(f"{where}: {card!r} cannot have been turned over and put back")
    if rules.opening_wild == "put_back" and entry["opening"] in WILDS:
        raise RecordError(f"{where}: the wild {entry['opening']!r} cannot stay as opening card")
    return kinds_of(rules, names)


def _reshuffle_order(rules: Rules, supply: Sequence[str], here: str) -> np.ndarray:
    """The order to reshuffle in. Wrong cards show when the engine's events are compared."""
    if any(card not in rules.kind_ids for card in supply):
        raise RecordError(f"{here}: the reshuffle names cards that are not in the deck")
    return kinds_of(rules, supply)


def kinds_of(rules: Rules, names: Sequence[str]) -> np.ndarray:
    """Card names as kind ids (uint8)."""
    return np.array([rules.kind_ids[name] for name in names], np.uint8)


def _is_reshuffle(event: list[Any]) -> bool:
    return bool(event[0] == "reshuffle")


def _is_forced(event: list[Any]) -> bool:
    return bool(event[1] == "forced")


def _player_event(event: list[Any], here: str) -> tuple[int, str]:
    if _is_reshuffle(event) or _is_forced(event):
        raise RecordError(f"{here}: {event} is no action of a player")
    return event[0], event[1]


def _turn(rows: Any) -> str:
    seat = int(rows["to_act"][0])
    return "the round is over" if seat == NO_SEAT else f"it is seat {seat}'s turn"
