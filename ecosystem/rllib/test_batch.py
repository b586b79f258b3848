"""The env runner on the batch, against a slow account of its games; and what learns from it."""

import numpy as np
import pytest
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.connectors.learner import AddOneTsToEpisodesAndTruncate, GeneralAdvantageEstimation
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.env.single_agent_episode import SingleAgentEpisode
from ray.rllib.evaluation.postprocessing import Postprocessing
from rllib_batch import config

from pocket_uno_env.envs.rllib import game_spaces, module_spec
from pocket_uno_env.envs.rllib_batch import BatchEnvRunner, FragmentsToBatch, concatenate
from pocket_uno_env.observation.encoders import COMPACT_SCALE
from pocket_uno_env.rules.phases import End
from pocket_uno_env.rules.rules import Rules

GAMES, STEPS = 6, 120
GAMMA, LAMBDA = 0.97, 0.9


def make(rules="pocket", players=2, view="canonical", max_cycles=100, **options):
    settings = config(rules, players, env_runners=0, learners=0, games=GAMES, seed=5)
    game = {"rules": rules, "num_players": players, "max_cycles": max_cycles, "view": view}
    game |= options
    return BatchEnvRunner(config=settings.environment(env_config=game), worker_index=0)


class Account:
    """Writes down every decision of a runner's games, seat by seat, and what came of it."""

    def __init__(self, runner):
        self.games = runner.env
        self.act = self.games.act
        self.games.act = self.watch
        players = runner.env.batch.num_players
        self.seats = {(g, s): [] for g in range(GAMES) for s in range(players)}
        self.first = dict.fromkeys(self.seats, 0)  # since the episode began
        self.told = dict.fromkeys(self.seats, 0)
        self.ends = set()
        self.rounds = 0  # that paid and were followed by another of the match

    def watch(self, actions):
        for game, seat in enumerate(self.games.batch.to_act):
            seen = self.games.observations[game].copy(), self.games.masks[game].copy()
            self.seats[game, seat].append([*seen, actions[game], 0.0, False])
        self.act(actions)
        for game, end in enumerate(self.games.ends):
            over = end != End.RUNNING
            self.ends.add(End(end))
            self.rounds += not over and self.games.payoffs[game].any()
            for seat, payoff in enumerate(self.games.payoffs[game]):
                made = self.seats[game, seat]
                if len(made) > self.first[game, seat]:
                    made[-1][3:] = made[-1][3] + payoff, over
                if over:
                    self.first[game, seat] = len(made)

    def expected(self):
        """The lines of the next fragment: a decision, and whether it only ends what is known."""
        lines = []
        for key, made in self.seats.items():
            known = len(made) if made and made[-1][4] else len(made) - 1
            known = max(known, self.told[key])
            lines += [(line, False) for line in made[self.told[key] : known]]
            if known > self.told[key] and not made[known - 1][4]:
                lines.append((made[known], True))
            self.told[key] = known
        return lines


MATCHES = {"episode": "match", "reward": "match", "scores": [[245, 240], [0, 0]], "max_rounds": 4}
SHORT = Rules.preset("pocket", hand_size=1, match_goal=40)
"""Whoever can play wins: rounds end before some seat has had a decision."""


@pytest.mark.parametrize("view", ["plain", "canonical"])
@pytest.mark.parametrize(
    ("rules", "players", "options"),
    [
        ("pocket", 2, {}),
        ("pocket", 3, {}),
        ("pocket", 4, {}),
        ("mini", 2, {}),
        ("pocket", 2, MATCHES),
        (SHORT, 3, {"episode": "match", "reward": "points", "max_rounds": 5}),
    ],
)
def test_a_fragment_holds_each_decision_once_with_what_came_of_it(rules, players, options, view):
    runner = make(rules, players, view, **options)
    runner.sample(num_timesteps=GAMES)
    account = Account(runner)
    runner._needs_initial_reset = True
    fragments = []
    for _ in range(5):
        (fragment,) = runner.sample(num_timesteps=STEPS * GAMES)
        lines = account.expected()
        assert len(fragment.actions) == len(lines)
        assert len(fragment) == sum(not ends for _, ends in lines)
        for i, ((observation, mask, action, reward, over), ends) in enumerate(lines):
            assert (fragment.observations[i] == observation).all()
            assert (fragment.masks[i] == mask).all() and mask[action] == 1
            assert fragment.actions[i] == action and fragment.bootstrap[i] == ends
            if not ends:
                assert fragment.rewards[i] == np.float32(reward) and fragment.terminated[i] == over
        logp = torch.from_numpy(fragment.logits).log_softmax(1).numpy()
        chosen = logp[np.arange(len(logp)), fragment.actions]
        assert np.allclose(chosen, fragment.logp, atol=1e-5)
        assert (logp[fragment.masks == 0] < -1e30).all()
        fragments.append(fragment)
    assert End.OUT in account.ends and (rules == "mini" or End.TRUNCATED in account.ends)
    assert (account.rounds > 0) == bool(options)
    made = sum(map(len, account.seats.values()))
    waiting = sum(bool(seat) and not seat[-1][4] for seat in account.seats.values())
    assert sum(map(len, fragments)) == made - waiting == 5 * STEPS * GAMES - waiting


def learner_of(rules, players):
    seen, actions = game_spaces(rules, players)
    settings = PPOConfig().environment(observation_space=seen, action_space=actions)
    settings.rl_module(rl_module_spec=module_spec(rules, players))
    settings.training(gamma=GAMMA, lambda_=LAMBDA)
    return settings.build_learner(spaces={DEFAULT_MODULE_ID: (seen, actions)})


def as_episodes(fragment, players, rules):
    """The same decisions as RLlib's episodes."""
    seen, actions = game_spaces(rules, players)
    ends = np.flatnonzero(fragment.bootstrap | fragment.terminated) + 1
    for start, stop in zip([0, *ends[:-1]], ends, strict=True):
        over = bool(fragment.terminated[stop - 1])
        lines = np.arange(start, stop)
        if over:  # there is nothing to see after the end
            lines = np.append(lines, stop - 1)
        known = slice(start, stop if over else stop - 1)
        yield SingleAgentEpisode(
            observations=[
                {
                    "observations": fragment.observations[i].astype(np.float32) / COMPACT_SCALE,
                    "action_mask": fragment.masks[i].astype(np.float32),
                }
                for i in lines
            ],
            actions=list(fragment.actions[known]),
            rewards=list(fragment.rewards[known]),
            extra_model_outputs={
                Columns.ACTION_LOGP: list(fragment.logp[known]),
                Columns.ACTION_DIST_INPUTS: list(fragment.logits[known]),
            },
            observation_space=seen,
            action_space=actions,
            terminated=over,
            len_lookback_buffer=0,
        ).to_numpy()


@pytest.mark.parametrize(
    ("rules", "players", "options"), [("mini", 2, {}), ("pocket", 3, {}), ("pocket", 2, MATCHES)]
)
def test_a_train_batch_is_what_rllibs_own_connectors_make(rules, players, options):
    runner = make(rules, players, "plain", **options)
    fragments = [runner.sample(num_timesteps=30 * GAMES)[0] for _ in range(2)]
    learner = learner_of(rules, players)
    pipeline = learner._learner_connector
    assert isinstance(pipeline.connectors[0], AddOneTsToEpisodesAndTruncate)
    assert isinstance(pipeline.connectors[-1], GeneralAdvantageEstimation)
    episodes = [episode for f in fragments for episode in as_episodes(f, players, rules)]
    theirs = pipeline(
        rl_module=learner.module, batch={}, episodes=episodes, shared_data={}, metrics=None
    )[DEFAULT_MODULE_ID]
    ours = FragmentsToBatch(gamma=GAMMA, lambda_=LAMBDA)(
        rl_module=learner.module, batch={}, episodes=fragments
    )[DEFAULT_MODULE_ID]
    real = theirs.pop(Columns.LOSS_MASK)
    assert len(ours[Columns.ACTIONS]) == int(real.sum()) == sum(map(len, fragments)) > 100
    assert set(ours) <= set(theirs)
    for name in set(ours) - {Postprocessing.ADVANTAGES}:
        assert torch.allclose(ours[name], theirs[name][real], atol=1e-5), name
    # RLlib scales by all lines, those that it has added included.
    advantages = theirs[Postprocessing.ADVANTAGES][real]
    scaled = (advantages - advantages.mean()) / advantages.std(unbiased=False)
    assert torch.allclose(ours[Postprocessing.ADVANTAGES], scaled, atol=1e-3)


def test_a_fragment_can_be_shared_out_among_learners():
    runner = make("mini", 2, "plain")
    whole = concatenate([runner.sample(num_timesteps=30 * GAMES)[0] for _ in range(2)])
    module = learner_of("mini", 2).module

    def batch(*fragments):
        # Without lambda a cut changes nothing: the value of the next state stands for the rest.
        connector = FragmentsToBatch(gamma=GAMMA, lambda_=0.0)
        return connector(rl_module=module, batch={}, episodes=list(fragments))[DEFAULT_MODULE_ID]

    expected = batch(whole)
    for cut in range(1, len(whole)):
        parts = whole[:cut], whole.slice(slice(cut, None), len_lookback_buffer=1)
        assert [len(part) for part in parts] == [cut, len(whole) - cut]
        if cut % 10 == 0:
            found = batch(*parts)
            for name in (Columns.OBS, Columns.ACTIONS, Postprocessing.VALUE_TARGETS):
                assert torch.allclose(found[name], expected[name], atol=1e-5), (cut, name)
    assert len(whole[5:5]) == 0


def test_without_exploration_it_takes_the_likeliest_action():
    (fragment,) = make().sample(num_timesteps=20 * GAMES, explore=False)
    assert (fragment.actions == fragment.logits.argmax(axis=1)).all()


def test_what_it_cannot_do_is_said():
    runner = make()
    with pytest.raises(NotImplementedError, match=r"evaluate\.py"):
        runner.sample(num_episodes=3)
    with pytest.raises(ValueError, match="view is 'both'"):
        make(view="both")
