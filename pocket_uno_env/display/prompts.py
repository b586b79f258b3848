"""What the seat to act is asked, by phase, in the words of each display."""

from __future__ import annotations

from typing import NamedTuple


class Prompt(NamedTuple):
    """One decision in words.

    Attributes
    ----------
    about : str
        What the seat does, behind its name: in the table as text.
    short : str
        The same in a few words: in a picture.
    question : str
        What a person is asked in the terminal. ``{actor}``, ``{top}`` and ``{drawn}`` stand for
        the player whose card is in question, the top card and the card drawn.
    explained : str
        What a person is asked on the page, with the consequences: ``{cards}`` stands for how many
        cards a challenge is about, ``{more}`` for how many a challenger draws who is wrong.
    """

    about: str
    short: str
    question: str
    explained: str


PROMPTS = {
    "play": Prompt(
        "plays a card or draws",
        "play or draw",
        "Your turn. Play a card, or draw one",
        "Your turn: play a card, or draw one.",
    ),
    "drawn": Prompt(
        "plays the drawn card or keeps it",
        "play it or keep it",
        "You drew {drawn}. Play it, or keep it",
        "You drew {drawn}: play it, or keep it.",
    ),
    "uno": Prompt(
        "says uno or stays silent",
        "say uno?",
        "One card left! Say it, before somebody notices",
        "One card left! Say UNO. If you stay silent, the others may catch you, and you draw two.",
    ),
    "catch": Prompt(
        "catches the silent player or lets go",
        "catch?",
        "{actor} has one card left and said nothing",
        "{actor} has one card left and did not say UNO. Catch it, and it draws two.",
    ),
    "challenge": Prompt(
        "challenges or accepts",
        "challenge?",
        "{actor} played {top}. Challenge it, or draw the cards",
        "{actor} played a {top} on you. Challenge it if you think that {actor} could have played "
        "another card: if so, {actor} draws {cards}; if not, you draw {more}. Or accept, and draw "
        "{cards}.",
    ),
    "give": Prompt(
        "gives a card",
        "give a card",
        "Give one of your cards to the next player",
        "Give one card of your hand to the next player. Click it.",
    ),
    "name": Prompt(
        "names the colour",
        "name the colour",
        "Name the colour",
        "Name the colour to begin with.",
    ),
    "stack": Prompt(
        "stacks a draw card or takes the stack",
        "stack or accept",
        "Answer with a draw card, or take all the cards",
        "Answer with a draw card, or accept all the cards of the stack.",
    ),
    "swap": Prompt(
        "swaps hands with somebody",
        "swap with whom?",
        "With whom do you swap hands?",
        "With whom do you swap hands?",
    ),
    "jump": Prompt(
        "jumps in or passes",
        "jump in?",
        "You may jump in",
        "You may jump in with the same card.",
    ),
}
"""For each phase but the end, by its name in `snapshot`."""

MUST_DRAW = "No card of yours can be played: draw one."
"""On the page, instead of the prompt of ``"play"``, to whom has no other choice."""
