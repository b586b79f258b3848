"""A game in the terminal: what happened, the table, the hand, and a prompt."""

from __future__ import annotations

import difflib
import os
import sys
import textwrap
from collections.abc import Callable, Sequence

from pocket_uno_env.display.prompts import PROMPTS
from pocket_uno_env.display.text import WIDTH, card_text, chances_text, render_text
from pocket_uno_env.rules.cards import COLOR_NAMES, COLORS, WILDS

from .table import Table

HELP = """\
Type the number or the name of an action, and Enter. Or the first letters of
its name: "d" draws, "r5" plays R5, "w:b" plays a wild and names blue.
  R B G Y   the colours red, blue, green, yellow
  S skip    V reverse    +1 +2 the next player draws
  W wild    WD wild, and you draw one card and give one away
  W+2 W+4   wild, and the next player draws; they may challenge it, if they
            think you held another card to play
UNO must be said with one card left, or the others may catch you: two cards.
  ?  this help    t  the table    q  leave; the record is kept"""


class Left(Exception):
    """The person has left the table."""


def use_color() -> bool:
    """Whether to colour what is printed: on a terminal, unless ``NO_COLOR`` is set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


class Terminal:
    """One person's place at a table, as text.

    Parameters
    ----------
    table : Table
    seat : int or None
        The person's seat; None watches, with all hands open.
    read, write : callable
        Where answers come from (default `input`) and where text goes.
    color : bool
        Whether to colour cards.
    on_change : callable
        Called after every decision, to keep the record.
    """

    def __init__(
        self,
        table: Table,
        seat: int | None,
        read: Callable[[str], str] | None = None,
        write: Callable[[str], None] = print,
        color: bool = False,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self.table, self.seat = table, seat
        self.read, self.write, self.color = read or input, write, color
        self.on_change = on_change
        self._told = 0

    def play(self) -> None:
        """Play to the end of the game; `Left` if the person leaves before."""
        self._begin_round()
        while True:
            while self.table.running:
                if self.table.to_act == self.seat:
                    self._decide()
                else:
                    self.table.ask_agent()
                    self.on_change()
                    if self.seat is None:
                        self._tell()
            self._end_round()
            if self.table.over:
                return
            self._ask("Enter for the next round, q to leave: ")
            self.table.next_round()
            self._begin_round()

    # What is shown.

    def _begin_round(self) -> None:
        self._told = 0
        goal = self.table.rules.match_goal
        what = f"Round {self.table.round + 1}"
        if self.table.match and self.table.rules.elimination:
            what += f", out of the match at {goal} points"
        elif self.table.match:
            what += f" of a match to {goal} points"
        dealer = self.table.sight(None)["dealer"]
        who = "you deal" if dealer == self.seat else f"{self.table.names[dealer]} deals"
        self.write(f"\n{f'-- {what}; {who} ':-<{WIDTH}}")

    def _tell(self) -> None:
        """What happened since the last time."""
        events = self.table.events(self.seat)
        for event in events[self._told :]:
            for line in textwrap.wrap(event["text"], WIDTH - 4, break_on_hyphens=False):
                self.write(f"  {self._colored(line)}")
        self._told = len(events)

    def _colored(self, text: str) -> str:
        return " ".join(
            card_text(word.rstrip("."), self.color) + "." * word.endswith(".")
            if _is_card(word.rstrip("."))
            else word
            for word in text.split(" ")
        )

    @property
    def _names(self) -> list[str]:
        return ["you" if i == self.seat else name for i, name in enumerate(self.table.names)]

    def _show_table(self) -> None:
        text = render_text(self.table.sight(self.seat), self._names, self.color)
        # The last line says who is asked what; the question below says it better.
        self.write("\n".join(text.split("\n")[: -1 if self.table.running else None]))

    def _end_round(self) -> None:
        self._tell()
        self.write("")
        self._show_table()
        if self.table.winner is not None:
            who = self.table.winner
            won = "You win" if who == self.seat else f"{self.table.names[who]} wins"
            self.write(f"{won} the match.")
        elif (chances := self.table.chances) is not None:
            for line in textwrap.wrap(chances_text(chances, self._names), WIDTH):
                self.write(line)

    # What is asked.

    def _decide(self) -> None:
        self._tell()
        seen = self.table.sight(self.seat)
        self.write("")
        self._show_table()
        actor = "?" if seen["actor"] is None else self.table.names[seen["actor"]]
        question = PROMPTS[seen["phase"]].question.format(
            drawn=seen["drawn"], top=seen["top"], actor=actor
        )
        self.write(f"{question}:")
        for line in self._menu(seen["legal"]):
            self.write(line)
        while True:
            answer = self._ask("> ")
            if answer == "?":
                self.write(HELP)
            elif answer.lower() in ("t", "table"):
                self._show_table()
            else:
                chosen = chosen_action(answer, seen["legal"])
                if chosen is not None:
                    break
                self.write(f"{answer!r} is none of them; a number or a name, ? for help")
        self.table.act(chosen)
        self.on_change()

    def _menu(self, legal: Sequence[str]) -> list[str]:
        """The legal actions with their numbers, as many to a line as fit."""
        cells = [(f"{i:>2} {name}", name) for i, name in enumerate(legal, 1)]
        width = max(len(plain) for plain, _ in cells) + 3
        lines, per_line = [], max(1, (WIDTH - 2) // width)
        for start in range(0, len(cells), per_line):
            line = ""
            for plain, name in cells[start : start + per_line]:
                card = name.partition(" ")[2]
                shown = plain
                if card and _is_card(card.partition(":")[0]):
                    head = plain[: len(plain) - len(card)]
                    shown = head + card_text(card.partition(":")[0], self.color)
                    color = card.partition(":")[2]
                    shown += f":{color}" if color else ""
                line += shown + " " * (width - len(plain))
            lines.append(f"  {line.rstrip()}")
        return lines

    def _ask(self, prompt: str) -> str:
        try:
            answer = " ".join(self.read(prompt).split())
        except EOFError:
            self.write("")
            raise Left from None
        if answer.lower() in ("q", "quit", "exit"):
            raise Left
        return answer


def _is_card(word: str) -> bool:
    return word in WILDS or (word[:1] in COLORS and word[1:] in (*"0123456789SV", "+1", "+2"))


def chosen_action(answer: str, legal: Sequence[str]) -> str | None:
    """The action that an answer means: its number, its name, or the start of one; else None."""
    if answer.isascii() and answer.isdigit():
        number = int(answer)
        if 1 <= number <= len(legal):
            return legal[number - 1]
        return None
    wanted = answer.lower()
    if not wanted:
        return None
    for letter, color in COLOR_NAMES.items():  # "w:blue", "name blue"
        for before in (":", " "):
            if wanted.endswith(before + color):
                wanted = wanted.removesuffix(color) + letter.lower()
    lower = {name.lower(): name for name in legal}
    # "play" goes without saying.
    exact = [lower[name] for name in (wanted, f"play {wanted}", f"give {wanted}") if name in lower]
    if exact:
        return exact[0]
    starts = [
        full
        for name, full in lower.items()
        if name.startswith(wanted) or name.partition(" ")[2].startswith(wanted)
    ]
    if len(starts) == 1:
        return starts[0]
    near = difflib.get_close_matches(wanted, lower, 1, 0.85)
    return lower[near[0]] if near and not starts else None
