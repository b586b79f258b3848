"""The commands that check and show game records, by the reference game.

    pocket-uno check games.jsonl          verify every game by the rules
    pocket-uno show games.jsonl --game 3  print one to read

The exit status is 0 if all is well, 1 if a game does not follow the rules, 2 if the command or the
file is of no use, and 141 if the reader of the output has left.
"""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
import time
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from pocket_uno_env.cli.program import print_error, program_name

from .game import COLORS, HOUSE_OFF, PRESETS, symbol_of
from .record_format import RecordError, parse_record, with_house_rules
from .referee import Step, check_record, match_is_over, out_of_match, walk

WIDTH = 80
COLOR_NAMES = dict(zip(COLORS, ("red", "blue", "green", "yellow"), strict=True))
NAME_WIDTH = 16
LONGEST_LINE = 1 << 25
"""The most bytes of a game: more than a million decisions."""


class UsageError(Exception):
    """What was asked cannot be done; the message says why, in one line."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Exit with one line, without the usage that argparse puts before it."""
        self.exit(2, f"{self.prog}: error: {message} (--help explains)\n")


def check(arguments: Sequence[str] | None = None) -> int:
    """Run ``pocket-uno check``; the exit status."""
    parser = _parser("check", "Verify every game of a file by the rules.")
    parser.add_argument(
        "--faults", type=_positive, default=10, metavar="N", help="faults to print (10)"
    )
    options = parser.parse_args(arguments)
    return _run("check", lambda: _check(options.file, options.faults))


def show(arguments: Sequence[str] | None = None) -> int:
    """Run ``pocket-uno show``; the exit status."""
    parser = _parser("show", "Print a game of a file to read, up to its fault if there is one.")
    parser.add_argument(
        "--game", type=_positive, default=1, metavar="K", help="which game, counted from 1 (1)"
    )
    options = parser.parse_args(arguments)
    return _run("show", lambda: _show(options.file, options.game))


def _parser(verb: str, about: str) -> _Parser:
    parser = _Parser(
        prog=program_name(verb),
        description=about,
        epilog="The exit status is 0 if all is well, 1 if a game does not follow the rules, 2 if "
        "the command or the file is of no use, and 141 if the reader of the output has left.",
    )
    parser.add_argument("file", type=Path, metavar="FILE.jsonl", help="records, one a line")
    return parser


def _run(verb: str, command: Callable[[], int]) -> int:
    try:
        return command()
    except UsageError as error:
        print_error(verb, error)
        return 2
    except KeyboardInterrupt:
        return 130


def _positive(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above 0")
    return number


# Reading a file


def _lines(file: Path) -> Iterator[tuple[int, int, bytes | None]]:
    """Yield number, end in bytes, and content of each line that is not blank; None: too long."""
    try:
        with file.open("rb") as stream:
            end = number = 0
            while line := stream.readline(LONGEST_LINE + 1):
                number += 1
                end += len(line)
                too_long = len(line) > LONGEST_LINE
                while too_long and not line.endswith(b"\n") and line:  # the rest of it
                    line = stream.readline(LONGEST_LINE)
                    end += len(line)
                if too_long:
                    yield number, end, None
                elif line.removeprefix(BOM_UTF8).strip():
                    yield number, end, line
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror or error}") from error


def _parse(line: bytes | None) -> Any:
    """Return the value of a line of JSON; `RecordError` says where it is none."""
    if line is None:
        raise RecordError(f"the line is longer than {LONGEST_LINE:,} bytes, too long for a game")
    return parse_record(line)


# check


def _check(file: Path, most_faults: int) -> int:
    """Verify every line of a file; print a summary, or the first faults."""
    ends: Counter[str] = Counter()
    games = rounds = decisions = faults = 0
    progress = _Progress(file)
    for number, read, line in _lines(file):
        games += 1
        try:
            record = _parse(line)
            check_record(record)
        except RecordError as error:
            faults += 1
            if faults <= most_faults:
                progress.clear()
                print(f"{file}:{number}: {error}", flush=True)
        else:
            rounds += len(record["rounds"])
            for entry in record["rounds"]:
                ends[entry["result"]["end"] or "running"] += 1
                decisions += sum(e[0] != "reshuffle" and e[1] != "forced" for e in entry["events"])
        progress.report(games, read)
    progress.clear()
    if not games:
        raise UsageError(f"{file} holds no game")
    if faults:
        shown = f", the first {most_faults} are shown" if faults > most_faults else ""
        print(f"{file}: {faults:,} of {_count(games, 'game')} at fault{shown}")
        return 1
    counts = f"{_count(games, 'game')}, {_count(rounds, 'round')}, {_count(decisions, 'decision')}"
    print(f"{file}: {counts}, all by the rules")
    print("rounds: " + ", ".join(f"{count:,} {end}" for end, count in ends.most_common()))
    return 0


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + "s" * (count != 1)


class _Progress:
    """How far a file is read: one line of a terminal, nothing anywhere else."""

    def __init__(self, file: Path) -> None:
        self._size = file.stat().st_size if file.is_file() else 0
        self._shown = time.monotonic() if sys.stderr.isatty() else float("inf")
        self._visible = False

    def report(self, games: int, read: int) -> None:
        """Say how much is done, ten times a second."""
        now = time.monotonic()
        if now - self._shown < 0.1:
            return
        share = f", {100 * read / self._size:.0f} %" if self._size else ""
        print(f"\r{_count(games, 'game')}{share} ", end="", file=sys.stderr, flush=True)
        self._shown, self._visible = now, True

    def clear(self) -> None:
        """Wipe the line."""
        if self._visible:
            print("\r" + " " * 40 + "\r", end="", file=sys.stderr, flush=True)
        self._visible = False


# show


def _show(file: Path, game: int) -> int:
    """Print a game of a file, up to its fault if there is one."""
    games = 0
    for number, _, line in _lines(file):
        games += 1
        if games == game:
            try:
                record = _parse(line)
                for text in describe_game(record):
                    print(text)
            except RecordError as error:
                sys.stdout.flush()
                print(f"{file}:{number}: {error}", file=sys.stderr)
                return 1
            return 0
    if not games:
        raise UsageError(f"{file} holds no game")
    raise UsageError(f"{file} holds {_count(games, 'game')}, there is no {game}")


def describe_game(record: dict[str, Any]) -> Iterator[str]:
    """Yield the lines that tell a game, each within 80 columns.

    Rounds and events are counted as in a record, from 0. Raises `RecordError` at the first thing
    that the rules do not allow, after the lines of all that came before it.
    """
    teller: _Teller | None = None
    for step in walk(record):
        teller = teller or _Teller(record)
        for indent, text in teller.tell(step):
            yield from _wrapped(indent, text)


def _wrapped(indent: int, text: str) -> list[str]:
    """Break a text into lines, all but the first further in."""
    start = text[:indent]
    return textwrap.wrap(
        text[indent:], WIDTH, initial_indent=start, subsequent_indent=" " * indent
    ) or [start.rstrip()]


class _Teller:
    """Tells the steps of a record as texts, each with the indent of its further lines."""

    def __init__(self, record: dict[str, Any]) -> None:
        self.record = record
        self.rules = with_house_rules(record["rules"])
        self.players = [f"{seat} {_printable(name)}" for seat, name in enumerate(record["players"])]
        self.column = max(len(player) for player in self.players) + 2
        self.totals = [0] * len(self.players)
        self.sizes = [0] * len(self.players)  # of the hands, before the step that is told

    def tell(self, step: Step) -> Iterator[tuple[int, str]]:
        """Yield the texts of a step."""
        if step.what == "deal":
            if step.round == 0:
                yield from self._head()
            yield from self._deal(step)
        if step.what == "result":
            yield from self._result(step)
        index = len(step.game.events) - len(step.events)
        for event in step.events:
            who = "" if event[0] == "reshuffle" else self.players[event[0]]
            before = f"{index:>5}  {who:<{self.column}}"
            yield len(before), before + self._event(event, step)
            index += 1
        if step.what == "decision" and _hands_were_passed(step):
            yield 7, " " * 7 + "all hands are passed on"
        self.sizes = [len(hand) for hand in step.game.hands]

    def _head(self) -> Iterator[tuple[int, str]]:
        kind = "match" if self.record["match"] else "single round"
        seed = "no seed" if self.record["seed"] is None else f"seed {self.record['seed']}"
        count = f"{len(self.players)} players"
        yield 2, f"{self.rules['name']}, {count}, {kind}, {seed}"
        preset = PRESETS.get(self.rules["name"], PRESETS["pocket"])  # of which "custom" is made
        changed = [f for f in preset if f != "name" and self.rules[f] != preset[f]]
        for field in changed:
            value = self.rules[field]
            house = "house rule " if field in HOUSE_OFF else ""
            yield 4, f"  {house}{field}: {value if isinstance(value, str) else json.dumps(value)}"

    def _deal(self, step: Step) -> Iterator[tuple[int, str]]:
        entry, game = self.record["rounds"][step.round], step.game
        yield 0, ""
        yield 2, f"round {step.round}: {self.players[game.dealer]} deals"
        for seat, player in enumerate(self.players):
            before = f"       {player:<{self.column}}"
            yield len(before), before + (" ".join(entry["hands"][seat]) or "out of the match")
        back = entry["turned_back"]
        put_back = f", after {', '.join(back)} put back" if back else ""
        before = f"       {'':<{self.column}}"
        yield len(before), f"{before}opening card {entry['opening']}{put_back}"

    def _event(self, event: list[Any], step: Step) -> str:
        if event[0] == "reshuffle":
            return f"the discard pile becomes the draw pile: {_count(len(event[1]), 'card')}"
        seat, name = event[:2]
        verb, _, argument = name.partition(" ")
        left = f" ({self.sizes[seat] - 1} left)"
        if verb == "play":
            card, _, color = argument.partition(":")
            named = f", names {COLOR_NAMES[color]}" if color else ""
            return f"plays {card}{named}{left}"
        if name == "jump in":
            return f"jumps in with {step.game.discard_pile[0]}{left}"
        if name == "draw":
            return f"draws {' '.join(event[2])}" if event[2] else "passes: no card to draw"
        if name == "forced":
            return f"has to draw: {' '.join(event[2]) or 'no card is left'}"
        if name == "challenge":
            return f"challenges: {'guilty' if step.game.guilty else 'not guilty'}"
        if verb == "give":
            return f"gives {argument} to {self.players[step.game.player]}"
        if verb == "name":
            return f"names {COLOR_NAMES[argument]}"
        if verb == "swap":
            return f"swaps hands with {self.players[int(argument)]}"
        return {
            "keep": "keeps it",
            "accept": "accepts",
            "say uno": "says uno",
            "stay silent": "stays silent",
            "catch": "catches the silent player",
            "let go": "lets the silent player go",
            "pass": "does not jump in",
        }[str(name)]

    def _result(self, step: Step) -> Iterator[tuple[int, str]]:
        game = step.game
        points = [
            f"{player} {scored}"
            for player, scored in zip(self.players, game.points, strict=True)
            if scored
        ]
        if game.end == "out":
            winner = self.players[game.winner or 0]
            scored = ", ".join(points) or "no points"
            yield 2, f"{winner} wins round {step.round}; points: {scored}"
        elif game.end == "blocked":
            yield 2, f"round {step.round} is blocked: there is nothing to draw; no points"
        elif game.end == "truncated":
            yield 2, f"round {step.round} is truncated; no points"
        else:
            yield 2, f"round {step.round} still runs; {self.players[game.actor]} is to act"
        if not self.record["match"]:
            return
        self.totals = [a + b for a, b in zip(self.totals, game.points, strict=True)]
        scores = zip(self.players, self.totals, strict=True)
        yield 2, "match: " + ", ".join(f"{player} {total}" for player, total in scores)
        out = out_of_match(self.rules, self.totals)
        if out:
            yield 2, "out of the match: " + ", ".join(self.players[seat] for seat in out)
        if match_is_over(self.rules, self.totals):
            yield 2, f"{' and '.join(self._match_winners(out))} wins the match"

    def _match_winners(self, out: list[int]) -> list[str]:
        if self.rules["elimination"]:
            return [player for seat, player in enumerate(self.players) if seat not in out]
        best = max(self.totals)
        return [p for p, total in zip(self.players, self.totals, strict=True) if total == best]


def _hands_were_passed(step: Step) -> bool:
    """Tell whether a 0 had its effect in this step (docs/rules.md, section 11)."""
    game, name = step.game, str(next(e[1] for e in step.events if e[0] != "reshuffle"))
    zero = game.rules["seven_zero"] and symbol_of(game.discard_pile[0]) == "0"
    settled = name.startswith("play ") or name in ("jump in", "say uno", "let go", "catch", "pass")
    return bool(zero and settled and game.phase == "play")


def _printable(name: str) -> str:
    """Return a name that is safe on a terminal and not too long."""
    clean = "".join(char if char.isprintable() else "?" for char in name)
    return clean if len(clean) <= NAME_WIDTH else clean[: NAME_WIDTH - 3] + "..."
