"""The game in OpenSpiel: ``python_pocket_uno``, with explicit chance nodes.

Importing this module registers the game:

    import pyspiel
    import pocket_uno_env.envs.openspiel.game

    game = pyspiel.load_game("python_pocket_uno(rules=pocket,players=3)")

One round, played by the same engine as everywhere. The extra ``spiel`` brings OpenSpiel.

Parameters
----------
rules : str
    A preset, ``pocket`` by default, or a rules file (TOML or JSON). `load` takes `Rules`.
players : int
    2 by default.
max_decisions : int
    Decisions after which the round is truncated and pays nothing, 1,000 by default.
reward : str
    ``win`` (+1, the others -1/(n-1)), ``points``, or ``match``: what the round did to the chance
    to win the match; as in `pocket_uno_v0`.
scores : str
    By seat, the points in the match before the round, such as ``120:80``; 0 each by default.
deal : str
    ``cards``: the deal is a chance node for the dealer, for each card and for the opening card.
    ``once``: all of it is a single chance node, which small decks such as that of ``mini`` allow.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote

import numpy as np
import pyspiel

from pocket_uno_env.arguments import check_count
from pocket_uno_env.display.seat_view import sight
from pocket_uno_env.display.text import render_text
from pocket_uno_env.episodes.payoff import REWARDS
from pocket_uno_env.observation.blocks import observation_size
from pocket_uno_env.row_kernels import observe_row
from pocket_uno_env.rules.actions import catalogue
from pocket_uno_env.rules.limits import NO_KIND
from pocket_uno_env.rules.rules import Rules

from .deals import GameParameters, deals
from .events import DEAL, HistoryEvent
from .history import History
from .kernels import pay_row

SHORT_NAME = "python_pocket_uno"
_DEFAULTS: dict[str, Any] = {
    "rules": "pocket",
    "players": 2,
    "max_decisions": 1000,
    "reward": "win",
    "scores": "",
    "deal": "cards",
}


def _game_type(max_players: int) -> Any:
    return pyspiel.GameType(
        short_name=SHORT_NAME,
        long_name="UNO Pocket",
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
        information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
        utility=pyspiel.GameType.Utility.ZERO_SUM,
        reward_model=pyspiel.GameType.RewardModel.TERMINAL,
        max_num_players=max_players,
        min_num_players=2,
        provides_information_state_string=True,
        provides_information_state_tensor=True,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification=_DEFAULTS,
    )


def load(rules: str | Rules = "pocket", players: int = 2, **params: Any) -> PocketUnoGame:
    """The game by any `Rules`; `params` are the parameters of the module."""
    text = rules if isinstance(rules, str) else _rules_text(Rules.of(rules))
    game = pyspiel.load_game(SHORT_NAME, {"rules": text, "players": players, **params})
    return game  # type: ignore[no-any-return]


def _rules_text(rules: Rules) -> str:
    """Rules as a text that may stand in the name of a game: a preset, or all fields, quoted."""
    if rules.name != "custom" and rules == Rules.preset(rules.name):
        return rules.name
    return quote(json.dumps(rules.to_dict()), safe="")


def _rules_of(text: str) -> Rules:
    if text.startswith(quote("{")):
        try:
            return Rules.from_dict(json.loads(unquote(text)))
        except json.JSONDecodeError as error:
            raise ValueError(f"rules is {text!r}, which is no JSON: {error}") from error
    return Rules.of(text)


def _scores_of(text: str) -> tuple[int, ...]:
    parts = text.split(":") if text else []
    if not all(part.isascii() and part.isdecimal() for part in parts):
        raise ValueError(f"scores is {text!r}; expected points by seat, such as '120:80'")
    return tuple(map(int, parts))


class PocketUnoGame(pyspiel.Game):
    """The game; see the module.

    Attributes
    ----------
    parameters : GameParameters
    """

    def __init__(self, params: dict[str, Any] | None = None) -> None:
        given = {**_DEFAULTS, **(params or {})}
        if unknown := sorted(set(given) - set(_DEFAULTS)):
            raise ValueError(f"{SHORT_NAME} has no parameter {unknown[0]!r}; {sorted(_DEFAULTS)}")
        rules = _rules_of(given["rules"])
        players = rules.check_players(given["players"])
        cap = check_count("max_decisions", given["max_decisions"])
        for name, choices in (("reward", list(REWARDS)), ("deal", ["cards", "once"])):
            if given[name] not in choices:
                raise ValueError(f"{name} is {given[name]!r}; expected one of {choices}")
        whole = given["deal"] == "once"
        scores = _scores_of(given["scores"])
        self.parameters = GameParameters(rules, players, cap, whole, given["reward"], scores)
        assert self.parameters.episode  # raises an error that says what is wrong
        outcomes = max(players, len(rules.kinds))
        if whole:
            outcomes = max(outcomes, len(deals(rules, players)[0]))
        low, high = -1.0 / (players - 1), 1.0
        if given["reward"] == "points":
            # The hands together can never be worth more than the deck.
            high = sum(kind.copies * kind.points for kind in rules.kinds) / rules.match_goal
            low = -high
        elif given["reward"] == "match":
            low = -1.0
        info = pyspiel.GameInfo(
            num_distinct_actions=len(catalogue(rules)),
            max_chance_outcomes=outcomes,
            num_players=players,
            min_utility=low,
            max_utility=high,
            utility_sum=0.0,
            max_game_length=cap,
        )
        super().__init__(_game_type(rules.max_players), info, given)
        self._root = History(self.parameters)

    def new_initial_state(self) -> PocketUnoState:
        """The state before the deal."""
        return PocketUnoState(self, self._root)

    def state_at(self, rows: Any, place: int) -> PocketUnoState:
        """What the seat to act in ``rows[place]`` knows, as a state; the rest is dealt anew.

        Its history begins there, so its information states tell what happens from there on.
        """
        return PocketUnoState(self, History.at(self.parameters, rows, place))

    def max_chance_nodes_in_history(self) -> int:
        """The deal and every card that can be drawn; a play makes one more of them."""
        parameters = self.parameters
        deal = 1 if parameters.whole_deal else 2 + parameters.dealt
        return deal + parameters.rules.n_cards - parameters.dealt - 1 + parameters.max_decisions

    def make_py_observer(
        self, iig_obs_type: Any = None, params: dict[str, Any] | None = None
    ) -> PocketUnoObserver:
        """See `PocketUnoObserver`."""
        if params:
            raise ValueError(f"{SHORT_NAME} knows no parameters of an observer, given {params}")
        kind = iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False)
        own = pyspiel.PrivateInfoType.SINGLE_PLAYER
        if not kind.public_info or kind.private_info != own:
            raise ValueError(f"{SHORT_NAME} is observed with public and own private information")
        return PocketUnoObserver(self.parameters, bool(kind.perfect_recall))


class PocketUnoState(pyspiel.State):
    """A state: an immutable `History`, which `apply_action` replaces by the next one."""

    def __init__(self, game: PocketUnoGame, line: History) -> None:
        super().__init__(game)
        self.line = line

    def current_player(self) -> int:
        """The seat to act, or OpenSpiel's chance or terminal player."""
        if self.line.outcomes:
            return int(pyspiel.PlayerId.CHANCE)
        return int(pyspiel.PlayerId.TERMINAL) if self.line.to_act is None else self.line.to_act

    def _legal_actions(self, player: int) -> list[int]:
        return self.line.legal()

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Ids with their probabilities: kinds of cards, seats for the dealer, or whole deals."""
        return list(self.line.outcomes)

    def _apply_action(self, action: int) -> None:
        possible = [outcome for outcome, _ in self.line.outcomes] or self.line.legal()
        if action not in possible:
            raise ValueError(f"{action} cannot happen here; what can: {possible}")
        self.line = self.line.after(action)

    def _action_to_string(self, player: int, action: int) -> str:
        if player == pyspiel.PlayerId.CHANCE:
            return self.line.outcome_name(action)
        return self.line.parameters.catalogue.name(action)

    def is_terminal(self) -> bool:
        """Whether the round is over."""
        return self.line.over

    def returns(self) -> list[float]:
        """What the round pays each seat; zeros while it runs."""
        payoffs = np.zeros(self.num_players())
        if self.line.over:
            parameters = self.line.parameters
            pay_row(parameters.table, self.line.rows, parameters.episode, payoffs)
        return payoffs.tolist()  # type: ignore[no-any-return]

    def resample_from_infostate(
        self, player_id: int, probability_sampler: Callable[[], float]
    ) -> PocketUnoState:
        """A state that looks the same to the player to act; what it cannot know is dealt anew.

        It agrees with all that the player can place now (`determinize`). What it might conclude
        from the past, such as that a drawn card that was not played could not be, is left aside.
        The history of the new state begins here.
        """
        if player_id != self.line.to_act:
            raise ValueError(
                f"player {player_id} is not to act; resample for player {self.line.to_act}"
            )
        seed = int(probability_sampler() * 2**53)
        return PocketUnoState(self.get_game(), self.line.resampled(seed))

    def __str__(self) -> str:
        """Everything that happened."""
        return self.line.text()


class PocketUnoObserver:
    """What a seat knows, or with perfect recall all that it has seen.

    Attributes
    ----------
    tensor : float32
        ``dict`` holds its parts, in [0, 1]. ``observation`` is that of `describe`, zeros before
        the deal. With perfect recall ``events`` follows, a line for the deal and each decision:
        the seat that acted, one-hot; the action, one-hot (for the deal the play of the opening
        card); per seat the cards drawn / deck; per kind the own cards drawn / copies; per kind
        the cards seen in a hand that was dealt, shown or swapped / copies. Seats count from the
        observer to the left.
    """

    def __init__(self, parameters: GameParameters, perfect_recall: bool) -> None:
        self._parameters = parameters
        self._recall = perfect_recall
        size = observation_size(parameters.rules, parameters.num_players)
        seats, kinds = parameters.num_players, len(parameters.kinds)
        self._blocks = np.cumsum([seats, len(parameters.catalogue), seats, kinds])
        width = int(self._blocks[-1]) + kinds
        lines = parameters.max_decisions + 1 if perfect_recall else 0
        self.tensor = np.zeros(size + lines * width, np.float32)
        self.dict = {"observation": self.tensor[:size]}
        if perfect_recall:
            self.dict["events"] = self.tensor[size:].reshape(lines, width)
        self._copies = np.array([parameters.deck[kind] for kind in range(kinds)], np.float32)

    def set_from(self, state: PocketUnoState, player: int) -> None:
        """Fill `tensor` with what `player` knows in `state`."""
        self.tensor.fill(0)
        line = state.line
        if line.rows is not None:
            observe_row(self._parameters.table, line.rows, player, self.dict["observation"])
        if self._recall:
            for i, event in enumerate(line.events):
                self._write(event.seen_by(player), player, self.dict["events"][i])

    def string_from(self, state: PocketUnoState, player: int) -> str:
        """The table as `player` sees it, or with perfect recall all that it has seen, in order."""
        line = state.line
        if self._recall:
            return line.seen(player)
        if line.rows is None:
            return f"seat {player}, before the deal"
        return render_text(sight(self._parameters.rules, line.rows, player))

    def _write(self, event: HistoryEvent, player: int, out: np.ndarray) -> None:
        seats = self._parameters.num_players
        actor, action, drawn, own, _ = np.split(out, self._blocks)
        seen = out[self._blocks[-1] :]
        actor[(event.seat - player) % seats] = 1
        if event.action == DEAL:
            plays = self._parameters.catalogue.actions
            action[[play.kind for play in plays].index(event.opening)] = 1
        elif event.action >= 0:
            action[event.action] = 1
        for seat, cards in event.draws:
            drawn[(seat - player) % seats] += len(cards) / self._parameters.rules.n_cards
            self._count(cards, own)
        for hand in event.hands:
            self._count(hand or (), seen)
        if event.shown:
            self._count(event.shown[2], seen)

    def _count(self, cards: tuple[int, ...], out: np.ndarray) -> None:
        for kind in cards:
            if kind != NO_KIND:
                out[kind] += 1 / self._copies[kind]


pyspiel.register_game(_game_type(10), PocketUnoGame)
