"""An exact set-up: the reset options ``deck``, ``dealer`` and ``scores``, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np

from pocket_uno_env.engine.state import NO_SEAT
from pocket_uno_env.episodes.episode import read_scores
from pocket_uno_env.records.record import kinds_of
from pocket_uno_env.rules.cards import WILDS
from pocket_uno_env.rules.rules import Rules

OPTIONS = ("deck", "dealer", "scores")
MASK = "reset_mask"
"""Gymnasium's name for the option that says which games of a vector are reset."""


class ResetOptions(NamedTuple):
    """What `read_options` has found.

    Attributes
    ----------
    dealer : int
        A seat, or `NO_SEAT`.
    deck : uint8 array or None
        The kinds of all cards.
    scores : int64 array, shape ``(m, num_players)``, or None
    """

    dealer: int
    deck: np.ndarray | None
    scores: np.ndarray | None


def read_options(
    rules: Rules, num_players: int, options: Mapping[str, Any] | None, masked: bool = False
) -> ResetOptions:
    """The options of a reset.

    Parameters
    ----------
    options : dict or None
        ``"deck"``: the names of all cards in the order they are dealt; ``"dealer"``: a seat;
        ``"scores"``: points that the match starts with (`episode.read_scores`). Keys that resemble
        none of these are somebody else's and are passed over.
    masked : bool
        Whether the caller takes ``"reset_mask"`` too (`read_reset_mask`).

    Raises
    ------
    ValueError
        For a slip in a key, or an option that makes no game, saying why.
    """
    options = {} if options is None else options
    if not isinstance(options, Mapping):
        raise ValueError(f"options is {options!r}; expected a dict")
    if MASK in options and not masked:
        raise ValueError(f"reset option {MASK!r} is for the environments of gymnasium.make_vec")
    # PettingZoo's api_test passes foreign options, so only a slip of the pen is refused.
    for key in set(options) - {*OPTIONS, MASK}:
        if meant := get_close_matches(str(key).lower(), (*OPTIONS, MASK)):
            raise ValueError(f"unknown reset option {key!r}; did you mean {meant[0]!r}?")
    deck, dealer, scores = (options.get(key) for key in OPTIONS)
    if dealer is not None and (
        isinstance(dealer, bool)
        or not isinstance(dealer, int | np.integer)
        or not 0 <= dealer < num_players
    ):
        raise ValueError(
            f"options['dealer'] is {dealer!r}; expected a seat from 0 to {num_players - 1}"
        )
    return ResetOptions(
        NO_SEAT if dealer is None else int(dealer),
        None if deck is None else _read_deck(rules, num_players, deck),
        None if scores is None else read_scores(rules, num_players, scores),
    )


def read_reset_mask(num_games: int, options: Mapping[str, Any] | None) -> np.ndarray | None:
    """Which games are reset, as int64 numbers; None for all of them.

    Parameters
    ----------
    options : dict or None
        ``"reset_mask"``: bool, shape ``(num_games,)``, True where a game is reset.
    """
    mask = None if options is None else options.get(MASK)
    if mask is None:
        return None
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (num_games,):
        found = f"{getattr(mask, 'dtype', type(mask))} of shape {getattr(mask, 'shape', '?')}"
        raise ValueError(f"options['reset_mask'] is {found}; expected bool of shape ({num_games},)")
    return np.flatnonzero(mask)


def _read_deck(rules: Rules, num_players: int, deck: Any) -> np.ndarray:
    if isinstance(deck, str) or not isinstance(deck, Sequence | np.ndarray):
        raise ValueError(f"options['deck'] is {deck!r}; expected a list of card names")
    names = [str(name) for name in deck]
    if unknown := [name for name in names if name not in rules.kind_ids]:
        raise ValueError(
            f"options['deck'] has {unknown[0]!r}, which is no card of rules {rules.name!r}"
        )
    for kind in rules.kinds:
        if (count := names.count(kind.name)) != kind.copies:
            raise ValueError(
                f"options['deck'] has {kind.name} {count} times; rules {rules.name!r} have "
                f"{kind.copies} of it in a deck of {rules.n_cards}"
            )
    undealt = names[num_players * rules.hand_size :]
    if rules.opening_wild == "put_back" and all(name in WILDS for name in undealt):
        raise ValueError(
            "options['deck'] leaves only wilds undealt, and a wild cannot open the discard pile "
            "(Rules.opening_wild is 'put_back')"
        )
    return kinds_of(rules, names)
