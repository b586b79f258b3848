"""Games of the reference alone: rule sets, deals, random play, records of it."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Sequence
from typing import Any

from pocket_uno_env.reference.game import Game, deal, deck_of, is_wild, preset
from pocket_uno_env.reference.record_format import CHOICES
from pocket_uno_env.reference.referee import match_is_over, out_of_match

Record = dict[str, Any]
NO_WILDS = {"W": 0, "WD": 0, "W+2": 0, "W+4": 0}

# Rules, numbers of players, rounds to play. The small decks run dry again and again.
RULE_SETS: dict[str, tuple[dict[str, Any], tuple[int, ...], int]] = {
    "pocket": (preset("pocket"), (2, 3, 4, 5), 160),
    "pocket51": (preset("pocket51"), (2, 5), 60),
    "classic": (preset("classic"), (2, 3, 6, 10), 100),
    "mini": (preset("mini"), (2,), 200),
    "pocket, other readings": (
        preset(
            "pocket",
            opening_wild="first_player_chooses",
            two_player_reverse="literal",
            draw_until_playable=True,
            draw_limit=4,
            challenge_condition="matching_color",
            uno_call="automatic",
        ),
        (2, 3, 5),
        90,
    ),
    "classic, other readings": (
        preset(
            "classic",
            opening_wild="first_player_chooses",
            two_player_reverse="literal",
            draw_until_playable=True,
            wild_draw_four="challenge",
        ),
        (2, 4, 10),
        60,
    ),
    "both +2 and +4": (
        preset(
            "pocket",
            wild_copies={"W": 1, "WD": 2, "W+2": 2, "W+4": 2},
            symbols={"0": 1, "1": 1, "5": 1, "+1": 2, "+2": 2, "S": 1, "V": 1},
            hand_size=4,
        ),
        (2, 3, 5),
        90,
    ),
    "a small deck": (
        preset(
            "pocket",
            colors=2,
            symbols={"1": 1, "2": 1, "+1": 1, "+2": 1, "S": 1, "V": 1},
            wild_copies={"W": 1, "WD": 1, "W+2": 1, "W+4": 1},
            hand_size=2,
            wild_draw_four="challenge",
        ),
        (2, 3, 5),
        300,
    ),
    "a small deck, draw until playable": (
        preset(
            "pocket",
            colors=3,
            symbols={"3": 1, "4": 1, "+2": 1},
            wild_copies={"W": 0, "WD": 1, "W+2": 1, "W+4": 0},
            hand_size=2,
            max_players=4,
            draw_until_playable=True,
        ),
        (2, 3, 4),
        300,
    ),
}


def random_house_rules(rng: random.Random) -> dict[str, Any]:
    """Choose house rules at random, over a deck of few cards or one of the presets."""
    few = {
        "colors": 3,
        "symbols": {"0": 2, "1": 1, "5": 1, "7": 2, "+1": 2, "+2": 1, "S": 1, "V": 2},
        "wild_copies": {"W": 1, "WD": 1, "W+2": 2, "W+4": 2},
        "hand_size": 3,
    }
    chosen = {field: rng.choice(CHOICES[field]) for field in CHOICES}
    name, deck = rng.choice([("pocket", {}), ("classic", {"hand_size": 4}), ("pocket", few)])
    return preset(name, **{**deck, **chosen, "match_goal": rng.choice([20, 60, 150])})


def new_round(
    rules: dict[str, Any],
    num_players: int,
    rng: random.Random,
    dealer: int | None = None,
    out: Sequence[int] = (),
) -> Game:
    """Shuffle, deal and open, putting wilds back where the rules say so."""
    dealer = rng.randrange(num_players) if dealer is None else dealer
    while True:
        deck = deck_of(rules)
        rng.shuffle(deck)
        hands, opening, pile = deal(rules, deck, num_players, dealer, out)
        turned_back = []
        undealt = [opening, *pile]
        if rules["opening_wild"] == "put_back":
            if all(map(is_wild, undealt)):
                continue
            while is_wild(undealt[0]):
                turned_back.append(undealt[0])
                rng.shuffle(undealt)
        return Game(rules, hands, undealt[0], undealt[1:], dealer, turned_back, out)


def choose(game: Game, rng: random.Random, eagerness: float) -> str:
    """Choose a legal action; an eager player plays a card when it can."""
    legal = game.legal_names()
    plays = [name for name in legal if name.startswith("play ")]
    return rng.choice(plays if plays and rng.random() < eagerness else legal)


def shuffled(rng: random.Random) -> Callable[[list[str]], list[str]]:
    return lambda cards: rng.sample(cards, len(cards))


def play_on(game: Game, rng: random.Random, eagerness: float = 0.9, cap: int = 400) -> Game:
    """Play a round to its end, or truncate it after `cap` decisions."""
    for _ in range(cap):
        if game.end is not None:
            return game
        game.apply(game.actor, choose(game, rng, eagerness), reshuffle=shuffled(rng))
    if game.end is None:
        game.truncate()
    return game


def record_of(games: list[Game], match: bool = False) -> Record:
    """Return the record of a round, or of the rounds of a match."""
    return {
        "format": "uno-record/1",
        "rules": copy.deepcopy(games[0].rules),
        "players": ["somebody"] * games[0].num_players,
        "seed": 7,
        "match": match,
        "rounds": [game.round_record() for game in games],
    }


def finished_rounds(
    rules: dict[str, Any], num_players: int, count: int, wanted: Callable[[Game], bool]
) -> list[Record]:
    """Return records of rounds that somebody won, of the wanted kind."""
    records: list[Record] = []
    for seed in range(100_000):
        game = play_on(new_round(rules, num_players, random.Random(seed)), random.Random(seed))
        if game.end == "out" and wanted(game):
            records.append(record_of([game]))
            if len(records) == count:
                return records
    raise AssertionError("no such rounds")


def play_match(
    rules: dict[str, Any], num_players: int, rng: random.Random, cap: int = 60
) -> list[Game]:
    """Play rounds until the match is over."""
    games = [play_on(new_round(rules, num_players, rng), rng)]
    while True:
        totals = [sum(points) for points in zip(*(g.points for g in games), strict=True)]
        if match_is_over(games[0].rules, totals):
            return games
        out = out_of_match(games[0].rules, totals)
        dealer = (games[-1].dealer + 1) % num_players
        while dealer in out:
            dealer = (dealer + 1) % num_players
        games.append(play_on(new_round(rules, num_players, rng, dealer, out), rng, cap=cap))
