"""Rounds that begin with hands given card by card."""

from __future__ import annotations

from typing import Any

from games import raw_env

from pocket_uno_env import Rules


def deck_with(hands: list[list[str]], opening: str, pile: list[str], rules: Rules) -> list[str]:
    """A deck that deals these hands (dealer is the last seat), opening and pile."""
    front = [hand[i] for i in range(len(hands[0])) for hand in hands] + [opening, *pile]
    rest = list(rules.deck)
    for card in front:
        rest.remove(card)
    return front + rest


def start(hands: list[list[str]], opening: str, pile: list[str], actions: list[str]) -> Any:
    """An environment in which these hands were dealt, after some actions by name."""
    rules = Rules()
    env = raw_env(0, num_players=len(hands))
    deck = deck_with(hands, opening, pile, rules)
    env.reset(seed=0, options={"deck": deck, "dealer": len(hands) - 1})
    for action in actions:
        env.step(env.action_id(action))
    return env


HANDS = [
    ["R1", "B3", "G4", "Y5", "W+2"],
    ["R6", "B6", "G7", "Y8", "YS"],
    ["B4", "G5", "GV", "R3", "Y6"],
]
"""Three hands that challenges, gifts and draws tell apart."""
