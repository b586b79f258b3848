"""What happened, told to somebody: the events of a record as one seat saw them, in sentences.

Events are those of a game record (docs/rules.md, section 8). A seat sees its own cards and those
that lie open; of all others it sees how many there were.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pocket_uno_env.rules.cards import COLOR_NAMES

Event = dict[str, Any]
"""``seat`` (None for a reshuffle), ``do`` (an action by name, a gift as ``"give"``; ``"forced"``;
``"reshuffle"``), ``cards`` (names, None where hidden), ``count`` (how many), ``to`` (the seat that
was given a card, or None) and ``text``."""

_SENTENCES = {
    "keep": ("keep the drawn card", "keeps the drawn card"),
    "accept": ("accept", "accepts"),
    "challenge": ("challenge", "challenges"),
    "say uno": ("say UNO!", "says UNO!"),
    "stay silent": ("say nothing, with one card left", "says nothing, with one card left"),
    "catch": ("catch the silent player!", "catches the silent player!"),
    "let go": ("let it go", "lets it go"),
    "jump in": ("jump in with the same card!", "jumps in with the same card!"),
    "pass": ("do not jump in", "does not jump in"),
}
"""What is said of "you" and of anybody else."""


def seen_events(
    events: Sequence[Sequence[Any]],
    seat: int | None,
    players: Sequence[str],
    to_act: int | None,
) -> list[Event]:
    """The events of a round as `seat` saw them; None sees all.

    Parameters
    ----------
    events : list
        As in a record.
    players : sequence of str
        What to call the seats (`seat_names`). The viewer is "you".
    to_act : int or None
        The seat to act after the last event.
    """
    told = []
    for index, event in enumerate(events):
        if event[0] == "reshuffle":
            count = len(event[1])
            text = f"The discard pile is shuffled and becomes the draw pile ({count})."
            told.append(_event(None, "reshuffle", None, count, None, text))
            continue
        who, do = event[0], event[1]
        cards = list(event[2]) if len(event) > 2 else None
        to = None
        if do.startswith("give "):
            # The receiver is whoever acts next (section 4), and the name says what only two know.
            to = next((e[0] for e in events[index + 1 :] if e[0] != "reshuffle"), to_act)
            do, cards = "give", [do.removeprefix("give ")]
        count = len(cards or ())
        if seat is not None and seat not in (who, to):
            cards = None
        first = seat == who
        text = _sentence(do, cards, count, first, "you" if to == seat else _name(players, to))
        subject = "You" if first else players[who]
        told.append(_event(who, do, cards, count, to, f"{subject} {text}."))
    for entry in told:
        entry["text"] = entry["text"].replace("!.", "!")
    return told


def seat_names(names: Sequence[str]) -> list[str]:
    """Names to tell the seats by: the number of the seat follows where two are called the same."""
    return [f"{name} {i}" if names.count(name) > 1 else name for i, name in enumerate(names)]


def _name(players: Sequence[str], seat: int | None) -> str:
    return "nobody" if seat is None else players[seat]


def _event(
    seat: int | None, do: str, cards: list[str] | None, count: int, to: int | None, text: str
) -> Event:
    return {"seat": seat, "do": do, "cards": cards, "count": count, "to": to, "text": text}


def _sentence(do: str, cards: list[str] | None, count: int, first: bool, to: str) -> str:
    """What follows after the subject; `first` for "you"."""
    s = "" if first else "s"
    verb, _, argument = do.partition(" ")
    these = " ".join(cards) if cards else "a card" if count == 1 else f"{count} cards"
    if do in _SENTENCES:
        return _SENTENCES[do][0 if first else 1]
    if verb == "play":
        card, _, color = argument.partition(":")
        return f"play{s} {card}" + (f" and name{s} {COLOR_NAMES[color]}" if color else "")
    if verb == "give":
        return f"give{s} {to} {these}"
    if verb == "name":
        return f"name{s} {COLOR_NAMES[argument]}"
    if verb == "swap":
        return f"swap{s} hands with seat {argument}"
    if verb == "draw":
        return (
            f"draw{s} {these}" if count else f"find{s} nothing to draw and pass{'es' * (not first)}"
        )
    must = "have to" if first else "has to"
    return f"{must} draw {these}" if count else f"{must} draw, but no card is left"
