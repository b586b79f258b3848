"""Played games as transitions: each seat's decisions in order, and what each of them earned."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from pocket_uno_env.compiled.kernel import kernel
from pocket_uno_env.engine.legality import write_mask
from pocket_uno_env.engine.transition import apply, truncate
from pocket_uno_env.episodes.episode import Episode
from pocket_uno_env.episodes.kernels import finish_round
from pocket_uno_env.evaluation.arena import Chunk
from pocket_uno_env.evaluation.matches import after_decision
from pocket_uno_env.observation.blocks import observation_size, write_observation
from pocket_uno_env.observation.canonical import color_tables, to_view, view_actions
from pocket_uno_env.rules.actions import catalogue
from pocket_uno_env.rules.phases import End


@dataclass(frozen=True, eq=False)
class Transitions:
    """What every seat of some games saw, did and earned, n decisions in e episodes.

    An *episode* is one seat in one game. Lines are in order of games, seats and the seat's
    decisions: what follows a decision of a seat is the next line, unless the episode ended there.

    Attributes
    ----------
    observations : uint8 array, shape ``(n, observation_size)``
        What the seat knew, times `encoders.COMPACT_SCALE`.
    action_masks : int8 array, shape ``(n, n_actions)``
    actions : int16 array, shape ``(n,)``
    rewards : float32 array, shape ``(n,)``
        What the seat earned after this decision and before its next one.
    terminated, truncated : bool array, shape ``(n,)``
        Of the last decision of an episode: whether the rules ended it, or a cap did.
    seats : int8 array, shape ``(n,)``
    agents : int16 array, shape ``(n,)``
        Who decided, by number.
    deals, games, steps, rounds : int32 array, shape ``(n,)``
        The deal; the game; which of the seat's decisions in it this is; in which round, from 0.
    final_observations : uint8 array, shape ``(t, observation_size)``
        What the seat knew when a cap had ended the game, for each line that is `truncated`.
    episode_games, episode_deals, episode_steps : int32 array, shape ``(e,)``
        The last is how many decisions the seat made, 0 if it never came to act.
    episode_rotations, episode_seats : int8 array, shape ``(e,)``
    episode_agents : int16 array, shape ``(e,)``
    episode_earned_before : float32 array, shape ``(e,)``
        What the seat earned before its first decision, which is no decision's reward: all that it
        earned if it never came to act.
    """

    observations: np.ndarray
    action_masks: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    seats: np.ndarray
    agents: np.ndarray
    deals: np.ndarray
    games: np.ndarray
    steps: np.ndarray
    rounds: np.ndarray
    final_observations: np.ndarray
    episode_games: np.ndarray
    episode_deals: np.ndarray
    episode_rotations: np.ndarray
    episode_seats: np.ndarray
    episode_agents: np.ndarray
    episode_steps: np.ndarray
    episode_earned_before: np.ndarray

    def __len__(self) -> int:
        """How many decisions there are."""
        return len(self.actions)


NAMES = tuple(field.name for field in fields(Transitions))
"""All columns."""
PER_EPISODE = tuple(name for name in NAMES if name.startswith("episode_"))
"""Those with a line for each episode."""
PER_DECISION = NAMES[: NAMES.index("final_observations")]
"""Those with a line for each decision."""


def transitions(chunk: Chunk, episode: Episode, view: str, first_game: int) -> Transitions:
    """The transitions of a chunk that was played with `keep_actions`.

    Parameters
    ----------
    episode : Episode
        What rounds and matches pay; its limits are those of the chunk.
    view : {"plain", "canonical"}
        Of observations, masks and actions.
    first_game : int
        The number of the chunk's first game.
    """
    rules, n = chunk.setup.rules, chunk.setup.num_players
    games = np.arange(len(chunk.seated))
    made = np.zeros((len(games), n), np.int64)
    _count(chunk.finished_games(), made)
    total, size = int(made.sum()), observation_size(rules, n)

    observations = np.zeros((total, size), np.uint8)
    masks = np.zeros((total, len(catalogue(rules))), np.int8)
    actions, rewards = np.zeros(total, np.int64), np.zeros(total, np.float32)
    ends, rounds = np.zeros(total, np.uint8), np.zeros(total, np.int32)
    before = np.zeros(made.shape, np.float32)
    finals = np.zeros((made.size, size), np.uint8)
    starts = np.concatenate([[0], np.cumsum(made.ravel())])[:-1].reshape(made.shape)
    columns = observations, masks, actions, rewards, ends, rounds
    cut = _write(chunk.finished_games(), episode, starts.copy(), *columns, before, finals)
    finals = finals[:cut].copy()
    if view == "canonical":
        tables = color_tables(rules, n)
        orders = np.zeros((total, rules.colors), np.int64)
        to_view(tables, observations, masks, orders)
        view_actions(tables, orders, actions, actions)
        to_view(tables, finals, np.zeros((cut, masks.shape[1]), np.int8), orders[:cut].copy())

    episodes = {
        "games": np.repeat(games + first_game, n).astype(np.int32),
        "deals": np.repeat(games // chunk.rotations + chunk.first, n).astype(np.int32),
        "rotations": np.repeat(chunk.rotation, n).astype(np.int8),
        "seats": np.tile(np.arange(n), len(games)).astype(np.int8),
        "agents": chunk.seated.ravel().astype(np.int16),
        "steps": made.ravel().astype(np.int32),
        "earned_before": before.ravel(),
    }
    each = {
        name: np.repeat(episodes[name], made.ravel())
        for name in ("seats", "agents", "deals", "games")
    }
    return Transitions(
        observations=observations,
        action_masks=masks,
        actions=actions.astype(np.int16),
        rewards=rewards,
        terminated=(ends != End.RUNNING) & (ends != End.TRUNCATED),
        truncated=ends == End.TRUNCATED,
        **each,
        steps=(np.arange(total) - np.repeat(starts.ravel(), made.ravel())).astype(np.int32),
        rounds=rounds,
        final_observations=finals,
        **{f"episode_{name}": column for name, column in episodes.items()},
    )


@kernel
def _count(games: Any, made: Any) -> None:
    """Count the decisions of each seat in each game: ``made`` int64, ``(games, n)``."""
    rules = games.rules
    for game in range(games.rows.shape[0]):
        row = games.rows[game]
        for decision in range(games.lengths[game]):
            made[game, row.to_act] += 1
            apply(rules[0], row, np.int64(games.actions[game, decision]), None, None)
            after_decision(rules[0], row, game, games.book)


@kernel
def _write(
    games: Any,
    episode: Any,
    lines: Any,
    observations: Any,
    masks: Any,
    actions: Any,
    rewards: Any,
    ends: Any,
    rounds: Any,
    before: Any,
    finals: Any,
) -> Any:
    """Play finished games again, and write what each seat saw, did and earned.

    Parameters
    ----------
    lines : int64 array, shape ``(games, n)``, changed
        The first line of each seat.
    ends : uint8 array, shape ``(total,)``, written
        `End` of the episode in the line of its last decision.
    before : float32 array, shape ``(games, n)``, written
        Earned before the first decision.
    finals : uint8 array, written
        What a seat knew after a cap ended the game, one line after the other.

    Returns
    -------
    int
        How many lines of `finals` there are.
    """
    rules, seats = games.rules, lines.shape[1]
    paid, decided, cut = np.zeros(seats), np.zeros(seats, np.bool_), 0
    for game in range(games.rows.shape[0]):
        row = games.rows[game]
        decided[:] = False
        for decision in range(games.lengths[game]):
            seat = np.int64(row.to_act)
            line = lines[game, seat]
            action = np.int64(games.actions[game, decision])
            write_observation(rules[0], row, seat, observations[line])
            write_mask(rules[0], row, masks[line])
            actions[line] = action
            rounds[line] = row.round_index
            lines[game, seat] += 1
            decided[seat] = True
            apply(rules[0], row, action, None, None)
            if row.end == End.RUNNING and row.decisions >= episode.max_cycles:
                truncate(row)
            if row.end != End.RUNNING:
                end = finish_round(rules[0], row, episode, paid)
                for of in range(seats):
                    if not decided[of]:
                        before[game, of] += paid[of]
                        continue
                    rewards[lines[game, of] - 1] += paid[of]
                    ends[lines[game, of] - 1] = end
                    if end == End.TRUNCATED:
                        write_observation(rules[0], row, of, finals[cut])
                        cut += 1
            after_decision(rules[0], row, game, games.book)
    return cut
