"""Matched games: rotations, repeatability, records, and the figures made from them."""

import numpy as np
import pytest

from pocket_uno_env.agents import Agent, AgentError, ObservationAgent, load, names
from pocket_uno_env.evaluation.arena import MOST, count_rotations, play
from pocket_uno_env.evaluation.games import COLUMNS, ArenaError
from pocket_uno_env.evaluation.line_ups import line_ups
from pocket_uno_env.records.record import from_actions, positions, replay
from pocket_uno_env.reference.referee import check_record
from pocket_uno_env.rules.phases import End
from pocket_uno_env.rules.rules import Rules, RulesError


class Asked(Agent):
    """A scripted agent that has to be asked like any other."""

    def __init__(self, name):
        self._agent = load(name)
        self.name = name
        self.asked = 0

    def act_rows(self, rules, rows, index):
        self.asked += len(index)
        return self._agent.act_rows(rules, rows, index)


def same(some, others):
    return all(
        one.lineup == other.lineup
        and all(np.array_equal(getattr(one, f), getattr(other, f)) for f in COLUMNS)
        for one, other in zip(some, others, strict=True)
    )


def recorded(rules, seats, agents, deals, seed=5, **options):
    records = []
    games = play(rules, seats, agents, deals, seed, on_record=records.append, **options)
    return games, records


@pytest.mark.parametrize("seats", [2, 3, 4, 5])
def test_each_deal_is_played_in_all_rotations(seats):
    agents = [load("greedy"), load("random"), *(Asked("greedy") for _ in range(seats - 2))]
    for number, agent in enumerate(agents):
        agent.name = f"agent {number}"
    games, records = recorded("pocket", seats, agents, 4)
    assert len(games) == 1
    assert len(records) == 4 * seats
    deals = [records[first : first + seats] for first in range(0, len(records), seats)]
    for deal in deals:
        rounds = [record["rounds"][0] for record in deal]
        for field in ("dealer", "hands", "opening", "pile", "turned_back"):
            assert all(entry[field] == rounds[0][field] for entry in rounds)
        places = [record["players"].index("agent 0") for record in deal]
        assert places == list(range(seats))
        for record in deal:
            turned = record["players"].index("agent 0")
            clockwise = record["players"][turned:] + record["players"][:turned]
            assert clockwise == [f"agent {number}" for number in range(seats)]
    assert deals[0][0]["rounds"][0]["hands"] != deals[1][0]["rounds"][0]["hands"]


@pytest.mark.parametrize("seats", [2, 3])
def test_results_depend_on_neither_chunk_size_nor_number_of_deals(seats):
    agents = [load("greedy"), Asked("random")]
    games, records = recorded("pocket", seats, agents, 11, chunk_deals=256)
    for chunk_deals in (1, 3, 7):
        others, other_records = recorded("pocket", seats, agents, 11, chunk_deals=chunk_deals)
        assert same(games, others)
        assert records == other_records
    fewer = play("pocket", seats, agents, 4, 5)
    for of, few in zip(games, fewer, strict=True):
        assert np.array_equal(of.winner[:4], few.winner)
        assert np.array_equal(of.decisions[:4], few.decisions)


def test_another_seed_gives_other_deals():
    agents = [load("greedy"), load("random")]
    assert same(play("pocket", 2, agents, 20, 1), play("pocket", 2, agents, 20, 1))
    assert not same(play("pocket", 2, agents, 20, 1), play("pocket", 2, agents, 20, 2))


@pytest.mark.parametrize("rules", ["pocket", "classic", "mini"])
def test_compiled_and_asked_agents_play_the_same_games(rules):
    compiled = [load("greedy"), load("random")]
    asked = [Asked("greedy"), Asked("random")]
    seats = 2 if rules == "mini" else 3
    expected = recorded(rules, seats, compiled, 6)
    for agents in (asked, [compiled[0], asked[1]], [asked[0], compiled[1]]):
        games, records = recorded(rules, seats, agents, 6)
        assert same(games, expected[0])
        assert records == expected[1]
        assert same(play(rules, seats, agents, 6, 5), games)
    assert sum(agent.asked for agent in asked) > 0


@pytest.mark.parametrize("name", ["greedy", "random"])
@pytest.mark.parametrize("seats", [2, 4])
def test_an_agent_against_itself_wins_its_share_of_every_block(name, seats):
    (games,) = play("pocket", seats, [load(name)], 50, 0)
    assert games.lineup == (0,) * seats
    assert games.win_rates(0) == pytest.approx(1 / seats, abs=1e-15)


@pytest.mark.parametrize("seats", [2, 4])
def test_equal_agents_that_draw_no_lots_play_each_deal_once(seats):
    (games,), records = recorded("pocket", seats, [load("strong")], 20)
    assert games.rotations == 1
    assert games.winner.shape == (20, 1)
    assert games.points.shape == (20, 1, seats)
    assert len(records) == len({str(record["rounds"]) for record in records}) == 20
    (twice,), both = recorded("pocket", seats, [load("random-uno")], 20)
    assert twice.rotations == seats
    assert len({str(record["rounds"]) for record in both}) == len(both) == 20 * seats


def test_a_line_up_that_repeats_itself_after_some_seats_is_turned_so_far():
    lots, none = load("random"), load("greedy")
    assert count_rotations((0, 1, 0, 1), [none, load("strong")]) == 2
    assert count_rotations((0, 1, 1, 1), [none, load("strong")]) == 4
    assert count_rotations((0, 1, 0, 1), [none, lots]) == 4
    assert count_rotations((0, 0, 0), [none]) == 1
    assert count_rotations((0, 0, 0), [load("noisy:0.1")]) == 3


@pytest.mark.parametrize("name", [name for name in names() if load(name).policy is not None])
def test_scripted_agents_say_whether_they_draw_lots(name):
    """Their lots come from the row and from nowhere else."""
    agent = load(name)
    used = False
    for rules in ("pocket", "classic"):
        _, records = recorded(rules, 3, [agent, load("attacker")], 20, lineups=[(0, 1, 1)])
        for record in records:
            for position in positions(record):
                if position.action is not None:
                    before = position.rows["policy_rng"].copy()
                    agent.act_rows(position.rules, position.rows, np.zeros(1, np.int64))
                    used |= bool((position.rows["policy_rng"] != before).any())
    assert used == (not agent.deterministic)


@pytest.mark.parametrize("episode", ["round", "match"])
def test_records_say_which_game_they_are_and_what_it_is_dealt_from(episode):
    """The seed is that of the game: a round is dealt and drawn from it alone."""
    agents = [load("greedy"), load("strong")]
    _, records = recorded("pocket", 2, agents, 5, episode=episode, chunk_deals=2)
    named = [(record["deal"], record["rotation"]) for record in records]
    assert named == [(deal, rotation) for deal in range(5) for rotation in range(2)]
    assert len({record["seed"] for record in records}) == 5
    for record in records:
        rules = Rules.from_dict(record["rules"])
        first = [p.action for p in positions(record) if p.round == 0 and p.action is not None]
        again = from_actions(rules, 2, record["seed"], first, record["players"], record["seed"])
        assert again["rounds"][0] == record["rounds"][0]
        if episode == "round":
            assert again == {key: record[key] for key in again}
            assert record.keys() - again.keys() == {"deal", "rotation"}


@pytest.mark.parametrize("name", list(MOST))
def test_absurd_numbers_are_refused(name):
    agents = [load("greedy"), load("random")]
    for value in (MOST[name] + 1, 10**20, 0, -1):
        if name == "chunk_deals":
            continue
        with pytest.raises(ArenaError, match=f"{name} is {value}; expected a number from 1 to"):
            play("pocket", 2, agents, **{"deals": 1, "seed": 0, name: value})


def twins(name, seats):
    """Agents that play alike but are several, in all rotations."""
    agents = [load(name) for _ in range(seats)]
    for number, agent in enumerate(agents):
        agent.name = f"{name} {number}"
    return play("pocket", seats, agents, 50, 0)[0]


@pytest.mark.parametrize("seats", [2, 4])
def test_agents_without_randomness_play_the_same_game_in_every_rotation(seats):
    games = twins("greedy", seats)
    for number in range(seats):
        assert games.win_rates(number) == pytest.approx(1 / seats, abs=1e-15)
        wins = (games.winner == number).sum(axis=1)
        assert (wins[games.end[:, 0] == End.OUT] == 1).all()


def test_the_agents_randomness_is_independent_from_game_to_game():
    games = twins("random-uno", 2)
    assert len(set(games.decisions.ravel().tolist())) > 60
    assert set(np.round(games.win_rates(0), 2)) == {0, 0.5, 1}
    pairs = [load("random-uno"), load("greedy"), load("strong")]
    tables = play("pocket", 2, pairs, 20, 0, lineups=[(0, 1), (0, 2), (1, 0)])
    assert len({of.decisions.tobytes() for of in tables}) == 3


def test_the_same_cards_are_dealt_to_every_line_up():
    _, records = recorded("pocket", 2, [load(name) for name in ("greedy", "strong", "first")], 3)
    deals = [[r["rounds"][0][f] for f in ("dealer", "hands", "opening", "pile")] for r in records]
    assert deals[:6] == deals[6:12] == deals[12:]


@pytest.mark.parametrize("agent", [load, Asked])
@pytest.mark.parametrize("rules", ["pocket", "classic"])
@pytest.mark.parametrize("seats", [2, 3])
def test_matches_go_to_the_goal_on_the_same_cards(agent, rules, seats):
    agents = [agent("greedy"), agent("strong")]
    (games, *_), records = recorded(rules, seats, agents, 3, episode="match")
    goal = Rules.preset(rules).match_goal
    for place, record in enumerate(records[: 3 * seats]):
        check_record(record)
        replay(record)
        assert record["match"]
        deal, rotation = divmod(place, seats)
        assert len(record["rounds"]) == games.rounds[deal, rotation] > 1
        totals = np.sum([entry["result"]["points"] for entry in record["rounds"]], axis=0)
        seat = (games.winner[deal, rotation] + rotation) % seats
        assert totals.max() == totals[seat] >= goal > np.delete(totals, seat).max()
        assert games.points[deal, rotation].tolist() == np.roll(totals, -rotation).tolist()
        won = np.bincount([entry["result"]["winner"] for entry in record["rounds"]], None, seats)
        assert games.rounds_won[deal, rotation].tolist() == np.roll(won, -rotation).tolist()
        # Round by round the same cards as in the first rotation, as long as both go on.
        for one, other in zip(record["rounds"], records[deal * seats]["rounds"], strict=False):
            assert (one["dealer"], one["hands"]) == (other["dealer"], other["hands"])


def test_a_match_of_too_many_rounds_has_no_winner():
    agents = [load("greedy"), load("strong")]
    (games,), records = recorded("pocket", 2, agents, 3, episode="match", max_rounds=2)
    assert (games.rounds == 2).all()
    assert (games.winner == -1).all()
    assert games.win_rates(0).tolist() == [0.5] * 3
    assert games.points.sum() > 0
    for record in records:
        check_record(record)


def test_capped_rounds_of_a_match_are_recorded():
    agents = [load("random"), load("greedy")]
    (games,), records = recorded(
        "pocket", 2, agents, 4, episode="match", max_cycles=20, max_rounds=6
    )
    ends = [entry["result"]["end"] for record in records for entry in record["rounds"]]
    assert ends.count("truncated") and ends.count("out")
    assert sum(len(record["rounds"]) for record in records) == games.rounds.sum()
    assert games.rounds_won.sum() == ends.count("out")
    # Each round without a winner counts half for either.
    halves = games.count_rounds_won(0) + games.count_rounds_won(1)
    assert halves.tolist() == games.rounds.sum(axis=1).tolist()
    assert games.count_rounds_won(1).sum() - games.rounds_won[:, :, 1].sum() == (
        (games.rounds.sum() - games.rounds_won.sum()) / 2
    )
    for record in records:
        check_record(record)


@pytest.mark.parametrize("rules", ["pocket", "classic"])
@pytest.mark.parametrize("seats", [2, 3, 5])
def test_every_record_is_a_game_and_agrees_with_the_figures(rules, seats):
    agents = [load("greedy"), load("random")]
    deals = 5
    games, records = recorded(rules, seats, agents, deals, lineups=line_ups([0, 1], seats))
    assert len(records) == len(games) * deals * seats
    place = 0
    for of in games:
        rates = {0: np.zeros(deals), 1: np.zeros(deals)}
        points = {0: np.zeros(deals), 1: np.zeros(deals)}
        for deal in range(deals):
            for rotation in range(seats):
                record = records[place]
                place += 1
                check_record(record)
                replay(record)
                result = record["rounds"][0]["result"]
                assert End[result["end"].upper()] == of.end[deal, rotation]
                for seat, name in enumerate(record["players"]):
                    number = ["greedy", "random"].index(name)
                    copies = of.lineup.count(number)
                    won = 1 / seats if result["winner"] is None else result["winner"] == seat
                    rates[number][deal] += won / copies / seats
                    points[number][deal] += result["points"][seat] / copies / seats
        for number in of.agents:
            assert of.win_rates(number) == pytest.approx(rates[number])
            assert of.round_win_rates(number) == pytest.approx(rates[number])
            assert of.mean_points(number) == pytest.approx(points[number])


def test_long_games_are_recorded_whole():
    (games,), records = recorded("pocket", 2, [load("random"), Asked("random")], 12)
    assert games.decisions.max() > 600  # more than the first guess at the length, twice
    for record, decisions in zip(records, games.decisions.ravel(), strict=True):
        check_record(record)
        acted = [
            e for e in record["rounds"][0]["events"] if e[1] != "forced" and e[0] != "reshuffle"
        ]
        assert len(acted) == decisions


@pytest.mark.parametrize("agent", [load, Asked])
def test_a_capped_round_counts_a_share_for_everyone(agent):
    (games,), records = recorded("pocket", 3, [agent("random")], 4, max_cycles=3)
    assert (games.end == End.TRUNCATED).all()
    assert (games.decisions == 3).all()
    assert (games.winner == -1).all()
    assert games.win_rates(0) == pytest.approx(1 / 3)
    assert games.mean_points(0).tolist() == [0] * 4
    assert games.count(End.TRUNCATED) == 12
    for record in records:
        check_record(record)
        assert record["rounds"][0]["result"]["end"] == "truncated"


def test_figures_of_who_did_not_play_are_refused() -> None:
    (games,) = play("pocket", 2, [load("greedy"), load("random")], 2, 0)
    for figures in (games.win_rates, games.round_win_rates, games.mean_points, games.name):
        with pytest.raises(ArenaError, match=r"agent 2 does not play .* one of \[0, 1\]"):
            figures(2)


def test_progress_counts_every_round_once():
    finished = []
    play(
        "pocket",
        3,
        [load("greedy"), Asked("random")],
        7,
        0,
        on_finished=finished.append,
        chunk_deals=2,
    )
    assert sum(finished) == 2 * 7 * 3
    assert min(finished) > 0


def test_records_name_players_by_seat_and_any_seed_will_do():
    _, records = recorded("pocket", 2, [load("greedy"), load("random")], 1, seed=2**64 - 1)
    assert [record["players"] for record in records] == [["greedy", "random"], ["random", "greedy"]]
    assert len({record["seed"] for record in records}) == 1


def test_an_illegal_action_stops_everything_with_its_name():
    class Cheat(Agent):
        name = "cheat"

        def act_rows(self, rules, rows, index):
            return np.full(len(index), len(rules.kinds))

    with pytest.raises(AgentError, match=r"'cheat' chose action \d+ \(play .*legal: "):
        play("pocket", 2, [Cheat(), load("greedy")], 200, 0)

    class Short(Cheat):
        def act_rows(self, rules, rows, index):
            return np.zeros(1, np.int64)

    with pytest.raises(AgentError, match="asked for"):
        play("pocket", 2, [Short(), load("greedy")], 20, 0)


@pytest.mark.parametrize(
    ("error", "changed"),
    [
        (ArenaError, {"deals": 0}),
        (ArenaError, {"seed": -1}),
        (ArenaError, {"seed": 2**64}),
        (ArenaError, {"max_cycles": 0}),
        (ArenaError, {"max_rounds": 0}),
        (ArenaError, {"episode": "day"}),
        (ArenaError, {"agents": []}),
        (ArenaError, {"lineups": [(0, 2)]}),
        (ArenaError, {"lineups": [(0,)]}),
        (RulesError, {"num_players": 6}),
        (RulesError, {"num_players": 1}),
        (RulesError, {"rules": "uno"}),
    ],
)
def test_arguments_are_checked_at_the_door(error, changed):
    class Untouched(Agent):
        name = "untouched"

        def act_rows(self, rules, rows, index):
            raise AssertionError("played before the arguments were checked")

    arguments = {
        "rules": "pocket",
        "num_players": 2,
        "agents": [Untouched(), Untouched()],
        "deals": 1,
        "seed": 0,
    }
    with pytest.raises(error):
        play(**{**arguments, **changed})


def test_an_agent_may_refuse_a_game():
    class TwoPlayers(ObservationAgent):
        def check(self, rules, num_players):
            if num_players != 2:
                raise AgentError("made for two")

    picky = TwoPlayers("picky", lambda observations, masks: masks.argmax(axis=1))
    play("pocket", 2, [picky], 1, 0)
    with pytest.raises(AgentError, match="made for two"):
        play("pocket", 3, [picky], 1, 0)


def test_rules_may_be_changed():
    rules = Rules.preset("pocket", uno_call="automatic", draw_until_playable=True)
    _, records = recorded(rules, 3, [load(name) for name in names()[:2]], 3)
    for record in records:
        check_record(record)
        assert record["rules"] == rules.to_dict()
