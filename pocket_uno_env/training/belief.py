"""Train the belief network of search: which unseen cards are in which hand, from self-play.

    pocket-uno belief --rules pocket --out agents/search/beliefs/pocket

Scripted agents play each other; the network maximizes the likelihood of the hands that were really
held in positions of their games. Its log-likelihood is measured on other games, beside those of the
rules of inference and of the uniform distribution.
"""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pocket_uno_env import files
from pocket_uno_env.agents.agent import AgentError
from pocket_uno_env.agents.scripted.policies import Policy, act
from pocket_uno_env.agents.search.belief import (
    TABLE_FEATURES,
    Network,
    card_features,
    count_places,
    write_card,
    write_rule_weights,
    write_table,
)
from pocket_uno_env.agents.search.belief_network import FORMAT, TRUST, cards_of
from pocket_uno_env.agents.search.determinize import (
    Unseen,
    is_held,
    list_unseen,
    log_likelihood,
    new_unseen,
    unknown_size,
)
from pocket_uno_env.agents.trained import run_folder
from pocket_uno_env.cli.program import print_error, program_name
from pocket_uno_env.cli.progress import help_text
from pocket_uno_env.compiled.kernel import kernel, unowned
from pocket_uno_env.compiled.rng import bounded, mix, next_state
from pocket_uno_env.engine.deal import deal_round, new_game
from pocket_uno_env.engine.state import NO_SEAT, new_rows
from pocket_uno_env.engine.transition import apply
from pocket_uno_env.rules.limits import MAX_SEATS
from pocket_uno_env.rules.phases import End, Phase
from pocket_uno_env.rules.rules import Rules, RulesError

_LARGEST = 12
"""The most unknown cards of a hand that is learned from."""
_LONGEST = 300
"""Decisions after which a game is abandoned for a new one."""


@dataclass
class Options:
    """The fields are the options of the command line."""

    rules: str = "pocket"
    """The rules, by the name of a preset."""
    players: tuple[int, ...] = (2, 2, 2, 3, 4)
    """Numbers of players, from which one is drawn for each game."""
    policies: tuple[str, ...] = ("strong", "strong", "strong", "counter", "greedy")
    """Scripted agents, from which one is drawn for each seat of each game."""
    batches: int = 3000
    """Gradient steps."""
    batch_size: int = 512
    """Positions in a gradient step."""
    hidden: int = 64
    """Units in each of the two hidden layers."""
    learning_rate: float = 3e-3
    """Learning rate in the first half; it falls linearly to zero over the second."""
    seed: int = 0
    """The same seed and options give the same network on the same machine."""
    test_positions: int = 4096
    """Positions of other games on which the result is measured, for each opponent."""
    out: Path = Path("runs/belief")
    """Path of the files to write, without their endings .safetensors and .json."""


class Positions(NamedTuple):
    """Training data: m positions with up to n unseen cards.

    Attributes
    ----------
    table : float32, shape ``(m, TABLE_FEATURES)``
    card : float32, shape ``(m, n, card_features)``
    held, valid : float32, shape ``(m, n)``
        1 where the hand held the card; 1 where there is such a card, 0 for padding.
    size : int64, shape ``(m,)``
        How many unknown cards the hand held.
    uniform, by_rules : float64, shape ``(m,)``
        Log-likelihood of the hand under the uniform distribution and the rules of inference.
    """

    table: Any
    card: Any
    held: Any
    valid: Any
    size: Any
    uniform: Any
    by_rules: Any


def new_positions(rules: Rules, count: int) -> Positions:
    """Zeroed buffers for `play_positions`."""
    cards = len(rules.deck)
    return Positions(
        np.zeros((count, TABLE_FEATURES), np.float32),
        np.zeros((count, cards, card_features(len(rules.faces))), np.float32),
        np.zeros((count, cards), np.float32),
        np.zeros((count, cards), np.float32),
        np.zeros(count, np.int64),
        np.zeros(count),
        np.zeros(count),
    )


@kernel
def describe(
    rules: Any,
    row: Any,
    seat: Any,
    other: Any,
    trust: Any,
    counts: Any,
    unseen: Unseen,
    out: Positions,
    m: Any,
) -> None:
    """Write position m: what `seat` may know of the hand of `other`, and the cards it holds.

    ``counts`` and ``unseen`` are scratch.
    """
    size = unknown_size(rules, row, seat, other)
    write_table(rules, row, seat, other, size, out.table[m])
    count_places(rules, row, seat, other, counts)
    count = list_unseen(rules, row, seat, unseen.cards)
    out.valid[m] = 0
    out.held[m] = 0
    for i in range(count):
        card = unseen.cards[i]
        kind = np.int64(rules.card_kind[card])
        write_card(rules, row, other, kind, counts, out.card[m, i])
        out.valid[m, i] = 1
        out.held[m, i] = is_held(row, other, card)
    out.size[m] = size
    unseen.weights[:] = 1.0
    out.uniform[m] = log_likelihood(rules, row, seat, other, unseen)
    write_rule_weights(rules, row, seat, trust, unseen.weights)
    out.by_rules[m] = log_likelihood(rules, row, seat, other, unseen)


@kernel
def play_positions(
    rules: Any,
    rows: Any,
    seated: Any,
    players: Any,
    policies: Any,
    state: Any,
    unseen: Unseen,
    trust: Any,
    out: Positions,
) -> None:
    """Play all rows in turn, and write about every fourth decision as a position.

    Parameters
    ----------
    rows : games, zeroed before the first call
    seated : int64, shape ``(games, MAX_SEATS)``
        The policies at each table, kept between calls.
    players, policies : int64
        One of each is drawn for each game and for each seat.
    state : uint64, shape ``(1,)``
        The state of the random generator.
    """
    rules = unowned(rules)
    rows = unowned(rows)
    counts = np.zeros((3, 4 + rules[0].n_faces), np.float32)
    m = g = 0
    while m < out.size.shape[0]:
        row = rows[g]
        if row.num_players == 0 or row.end != End.RUNNING or row.decisions > _LONGEST:
            state[0] = next_state(state[0])
            seats = players[bounded(state[0], players.shape[0])]
            new_game(row, seats, mix(~state[0]))
            deal_round(rules[0], row, NO_SEAT, None, None)
            for place in range(seats):
                state[0] = next_state(state[0])
                seated[g, place] = policies[bounded(state[0], policies.shape[0])]
        state[0] = next_state(state[0])
        asked = row.phase != Phase.UNO and row.phase != Phase.CATCH
        if asked and bounded(state[0], 4) == 0:
            seat = np.int64(row.to_act)
            state[0] = next_state(state[0])
            other = (seat + 1 + bounded(state[0], row.num_players - 1)) % row.num_players
            if 0 < unknown_size(rules[0], row, seat, other) <= _LARGEST:
                describe(rules[0], row, seat, other, trust, counts, unseen, out, m)
                m += 1
        apply(rules[0], row, act(rules[0], row, seated[g, row.to_act]), None, None)
        g = (g + 1) % rows.shape[0]


class Games:
    """Self-play of scripted policies that never ends."""

    def __init__(
        self, rules: Rules, players: tuple[int, ...], policies: tuple[str, ...], seed: int, n: int
    ) -> None:
        numbers = {policy.name.lower().replace("_", "-"): int(policy) for policy in Policy}
        unknown = [name for name in policies if name not in numbers]
        if unknown or not policies:
            raise AgentError(f"policies {unknown} are none of {', '.join(numbers)}")
        self.rules = rules
        self._players = np.array([rules.check_players(count) for count in players])
        self._policies = np.array([numbers[name] for name in policies])
        self._rows = new_rows(n)
        self._seated = np.zeros((n, MAX_SEATS), np.int64)
        self._state = np.array([mix(np.uint64(seed))], np.uint64)
        self._unseen = new_unseen()

    def fill(self, positions: Positions) -> None:
        """Overwrite `positions` with the next ones."""
        play_positions(
            self.rules._table,
            self._rows,
            self._seated,
            self._players,
            self._policies,
            self._state,
            self._unseen,
            TRUST,
            positions,
        )


def mean_difference(first: np.ndarray, second: np.ndarray) -> list[float]:
    """The mean of ``first - second``, and half the width of its 95 % interval."""
    difference = first - second
    half = 1.96 * difference.std(ddof=1) / len(difference) ** 0.5
    return [round(float(difference.mean()), 4), round(float(half), 4)]


def train(options: Options, rules: Rules) -> tuple[Network, dict[str, Any]]:
    """Train and measure; the network, and its log-likelihoods by opponent."""
    import torch

    from pocket_uno_env.cli.progress import Display

    torch.set_num_threads(1)  # two threads are slower on a machine with other work
    torch.manual_seed(options.seed)
    games = Games(rules, options.players, options.policies, options.seed, 2048)
    positions = new_positions(rules, options.batch_size)
    batch = tuple(torch.from_numpy(array) for array in positions[:5])
    model = _model(card_features(len(rules.faces)), options.hidden)
    optimizer = torch.optim.Adam(model.parameters(), options.learning_rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, 2.0 * (1.0 - step / options.batches))
    )
    smooth = 0.0
    with Display() as display:
        display.begin("belief", options.batches)
        for step in range(options.batches):
            games.fill(positions)
            loss = -_likelihood(model(*batch[:2]), *batch[2:]).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            smooth += (loss.item() - smooth) / min(step + 1, 200)
            display.report(step + 1, {"log_likelihood": -smooth})
    found = {}
    with torch.no_grad():
        for name in dict.fromkeys(options.policies):
            games = Games(rules, (2,), (name,), options.seed + 1_000_000, 4096)
            for _ in range(64):  # all games have just been dealt: play until they are spread out
                games.fill(positions)
            tested = new_positions(rules, options.test_positions)
            games.fill(tested)
            parts = [torch.from_numpy(array) for array in tested[:5]]
            learned = _likelihood(model(*parts[:2]), *parts[2:]).numpy()
            found[name] = {
                "uniform": round(float(tested.uniform.mean()), 4),
                "rules over uniform": mean_difference(tested.by_rules, tested.uniform),
                "network over uniform": mean_difference(learned, tested.uniform),
                "network over rules": mean_difference(learned, tested.by_rules),
            }
    state = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    network = Network(
        state["table.weight"].T,
        state["card.weight"].T,
        state["table.bias"],
        state["second.weight"].T,
        state["second.bias"],
        state["out.weight"][0],
    )
    return Network(*(np.ascontiguousarray(array, np.float32) for array in network)), found


def _model(inputs: int, hidden: int) -> Any:
    from torch import nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Linear(TABLE_FEATURES, hidden)
            self.card = nn.Linear(inputs, hidden, bias=False)
            self.second = nn.Linear(hidden, hidden)
            self.out = nn.Linear(hidden, 1, bias=False)

        def forward(self, table: Any, card: Any) -> Any:
            first = (self.table(table)[:, None] + self.card(card)).relu()
            return self.out(self.second(first).relu())[..., 0]

    return Model()


def _likelihood(logits: Any, held: Any, valid: Any, size: Any) -> Any:
    """The log-likelihood of the true hands: `determinize.log_likelihood`, batched."""
    import torch

    logits = logits.clamp(-8, 8).double()
    weights = logits.exp() * valid
    ways = torch.zeros(len(weights), _LARGEST + 1, dtype=torch.double)
    ways[:, 0] = 1
    for i in range(weights.shape[1]):
        ways = torch.cat([ways[:, :1], ways[:, 1:] + weights[:, i : i + 1] * ways[:, :-1]], 1)
    return (logits * held).sum(1) - ways.gather(1, size[:, None])[:, 0].log()


def save(path: Path, network: Network, rules: Rules, card: dict[str, Any]) -> None:
    """Write ``path.safetensors`` and ``path.json``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    about = {"format": FORMAT, "cards": cards_of(rules)}
    run_folder.save_tensors(path.with_suffix(".safetensors"), network._asdict(), about)
    files.write_json(path.with_suffix(".json"), card)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    import tyro

    arguments = sys.argv[1:] if arguments is None else arguments
    about = help_text(__file__)
    options = tyro.cli(Options, prog=program_name("belief"), args=arguments, description=about)
    try:
        rules = Rules.of(options.rules)
        began = time.monotonic()
        network, found = train(options, rules)
    except (AgentError, RulesError) as error:
        print_error("belief", error)
        return 2
    settings = asdict(options) | {"out": str(options.out)}
    card = {
        "format": FORMAT,
        "command": shlex.join(["pocket-uno", "belief", *arguments]),
        "settings": settings,
        "seconds": round(time.monotonic() - began),
        "log_likelihood": found,
    }
    save(options.out, network, rules, card)
    for name, figures in found.items():
        print(f"{name}: uniform {figures['uniform']:.3f}", end="")
        for label, (mean, half) in list(figures.items())[1:]:
            print(f"; {label} {mean:+.3f} ± {half:.3f}", end="")
        print()
    return 0
