"""Canonical colours: the same game under other names of its colours looks the same."""

from __future__ import annotations

import numpy as np
import pytest
from games import every_game

from pocket_uno_env import Rules
from pocket_uno_env.agents.scripted.policies import Policy, act_rows
from pocket_uno_env.engine.state import NO_CARD, new_rows
from pocket_uno_env.observation.blocks import BLOCKS, layout, observation_size
from pocket_uno_env.observation.canonical import (
    color_tables,
    plain_actions,
    to_view,
    view_actions,
)
from pocket_uno_env.rows import mask_rows, observe_rows, reset_rows, step_rows
from pocket_uno_env.rules.actions import catalogue
from pocket_uno_env.rules.limits import NO_COLOR, NO_KIND
from pocket_uno_env.rules.phases import End


def positions(rules, num_players, games=40, decisions=25, seed=0):
    """Running games, as many decisions in as they go up to `decisions`."""
    rows = new_rows(games)
    reset_rows(rules.table, rows, num_players, np.uint64(seed), np.uint64(0))
    rng = np.random.default_rng(seed)
    for _ in range(int(rng.integers(1, decisions))):
        running = np.flatnonzero(rows["end"] == End.RUNNING)
        running = running[rng.random(len(running)) < 0.9]
        if len(running) > 5:
            actions = np.zeros(len(running), np.int64)
            policy = Policy.RANDOM if rng.random() < 0.5 else Policy.GREEDY
            act_rows(rules.table, rows, running, int(policy), actions)
            step_rows(rules.table, rows, running, actions, 1000)
    return rows[rows["end"] == End.RUNNING]


def sight(rules, rows):
    num_players = int(rows["num_players"][0])
    index = np.arange(len(rows))
    observations = np.zeros((len(rows), observation_size(rules, num_players)), np.float32)
    masks = np.zeros((len(rows), len(catalogue(rules))), np.int8)
    observe_rows(rules.table, rows, index, observations)
    mask_rows(rules.table, rows, index, masks)
    return observations, masks


def view(rules, rows):
    observations, masks = sight(rules, rows)
    orders = np.zeros((len(rows), rules.colors), np.int64)
    to_view(color_tables(rules, int(rows["num_players"][0])), observations, masks, orders)
    return observations, masks, orders


def moved_kinds(kinds, kind_moved):
    return sum(1 << kind_moved[k] for k in range(64) if int(kinds) >> k & 1)


def moved_cards(words, moved_card):
    cards = [card for card in range(128) if int(words[card // 64]) >> card % 64 & 1]
    bits = sum(1 << int(moved_card[card]) for card in cards)
    return np.array([bits % 2**64, bits >> 64], np.uint64)


def recolored(rules, rows, new_color):
    """The same games with colour c called ``new_color[c]``."""
    # Every physical card by its kind's name without colour, its colour, and which copy it is.
    deck = [int(card) for card in rules._table["deck"][0][: rules.n_cards]]
    keys = [(k.symbol, k.color, copy) for k in rules.kinds for copy in range(k.copies)]
    place = dict(zip(keys, deck, strict=True))
    moved_card = np.arange(256)
    for (symbol, color, copy), card in place.items():
        moved_card[card] = place[symbol, None if color is None else new_color[color], copy]
    kind_of = rules._table["card_kind"][0]
    kind_moved = {int(kind_of[card]): int(kind_of[moved_card[card]]) for card in deck}
    kind_moved[NO_KIND] = NO_KIND
    color_moved = {**dict(enumerate(new_color)), NO_COLOR: NO_COLOR}
    out = rows.copy()
    for before, after in zip(rows, out, strict=True):
        after["discards"] = moved_cards(before["discards"], moved_card)
        for books in ("hands", "known", "shown"):
            for seat in range(before["num_players"]):
                after[books][seat] = moved_cards(before[books][seat], moved_card)
        for pile in ("draw_pile", "discard_pile"):
            after[pile] = moved_card[before[pile]]
        if before["drawn_card"] != NO_CARD:
            after["drawn_card"] = moved_card[before["drawn_card"]]
        for seat in range(before["num_players"]):
            after["hand_kinds"][seat] = moved_kinds(before["hand_kinds"][seat], kind_moved)
            after["off_color"][seat][list(new_color)] = before["off_color"][seat][: rules.colors]
        after["discard_kinds"] = moved_kinds(before["discard_kinds"], kind_moved)
        after["top"] = kind_moved[int(before["top"])]
        after["top_before"] = kind_moved[int(before["top_before"])]
        for name in ("active_color", "color_before"):
            after[name] = color_moved[int(before[name])]
    return out


@pytest.mark.parametrize(("rules", "num_players"), every_game())
def test_the_names_of_the_colours_make_no_difference(rules, num_players):
    rng = np.random.default_rng(1)
    for seed in range(3):
        rows = positions(rules, num_players, seed=seed)
        new_color = rng.permutation(rules.colors)
        other = recolored(rules, rows, [int(c) for c in new_color])
        one, two = view(rules, rows), view(rules, other)
        assert np.array_equal(one[0], two[0])
        assert np.array_equal(one[1], two[1])
        # and an action of the view is the same action of the game, under its other name
        for i in range(len(rows)):
            for action in np.flatnonzero(one[1][i]):
                first, second = (
                    catalogue(rules).name(plain(rules, v[2][i], action)) for v in (one, two)
                )
                assert renamed(first, new_color) == second


def plain(rules, order, action):
    out = np.zeros(1, np.int64)
    tables = color_tables(rules, 2)
    plain_actions(tables, order[None], np.array([action]), out)
    return int(out[0])


def renamed(name, new_color):
    verb, _, rest = name.partition(" ")
    letters = {"RBGY"[old]: "RBGY"[new] for old, new in enumerate(new_color)}
    if verb not in ("play", "give", "name"):
        return name
    card, colon, color = rest.partition(":")
    if colon:
        return f"{verb} {card}:{letters[color]}"
    return f"{verb} {card if card.startswith('W') else letters[card[0]] + card[1:]}"


@pytest.mark.parametrize(("rules", "num_players"), every_game())
def test_the_view_only_moves_what_belongs_to_colours(rules, num_players):
    tables = color_tables(rules, num_players)
    last = {block.name: block.shape[-1] for block in BLOCKS}
    moved = {
        place
        for block in layout(rules, num_players)
        for place in range(block.start, block.start + block.length)
        if last[block.name] == "color"
        or (
            last[block.name] == "kind"
            and rules.kinds[(place - block.start) % len(rules.kinds)].color is not None
        )
    }
    assert sorted(moved) == sorted(tables.values.ravel().tolist())
    assert len(set(tables.values.ravel().tolist())) == tables.values.size
    rows = positions(rules, num_players)
    plain_sight, seen = sight(rules, rows), view(rules, rows)
    still = sorted(set(range(plain_sight[0].shape[1])) - moved)
    assert np.array_equal(plain_sight[0][:, still], seen[0][:, still])
    for i, order in enumerate(seen[2]):
        assert sorted(order) == list(range(rules.colors))
        assert np.array_equal(seen[0][i][tables.values], plain_sight[0][i][tables.values[order]])


@pytest.mark.parametrize(("rules", "num_players"), every_game())
def test_actions_go_there_and_back(rules, num_players):
    tables = color_tables(rules, num_players)
    rows = positions(rules, num_players)
    _, plain_masks = sight(rules, rows)
    _, masks, orders = view(rules, rows)
    n = len(catalogue(rules))
    for i, order in enumerate(orders):
        actions = np.arange(n)
        out, back = np.zeros(n, np.int64), np.zeros(n, np.int64)
        many = np.repeat(order[None], n, axis=0)
        plain_actions(tables, many, actions, out)
        view_actions(tables, many, out, back)
        assert np.array_equal(back, actions)
        assert sorted(out) == list(actions)
        assert np.array_equal(masks[i], plain_masks[i][out])


def test_the_order_is_active_first_then_by_cards_held():
    rules = Rules.preset("pocket")
    rows = positions(rules, 2, games=200)
    observations, masks = sight(rules, rows)
    orders = np.zeros((len(rows), 4), np.int64)
    kinds = np.array([kind.color if kind.color is not None else 9 for kind in rules.kinds])
    held = np.array(
        [[obs[: len(kinds)][kinds == c].sum() for c in range(4)] for obs in observations]
    )
    active = rows["active_color"]
    to_view(color_tables(rules, 2), observations, masks, orders)
    assert np.array_equal(orders[:, 0], active)
    for counts, order in zip(held, orders, strict=True):
        others = counts[order[1:]]
        assert (np.diff(others) <= 0).all()
