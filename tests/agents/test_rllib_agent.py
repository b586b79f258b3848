"""Checkpoints of RLlib as agents, without Ray; those that Ray writes are tested in ecosystem/."""

import json
import pickle
import tracemalloc
from collections import OrderedDict

import numpy as np
import pytest

from pocket_uno_env.agents import AgentError, load
from pocket_uno_env.agents.trained.rllib_checkpoint import GAME, LONGEST, MODULES, export
from pocket_uno_env.engine.state import new_rows
from pocket_uno_env.observation.blocks import observation_size
from pocket_uno_env.rows import mask_rows, observe_rows, reset_rows
from pocket_uno_env.rules.actions import catalogue
from pocket_uno_env.rules.rules import Rules

RULES, PLAYERS = Rules.preset("pocket", two_player_reverse="literal"), 3


def weights():
    """A state as RLlib's MLPs have it: two hidden layers, a head; the critic likewise."""
    generator = np.random.default_rng(1)
    size, n_actions = observation_size(RULES, PLAYERS), len(catalogue(RULES))
    state = OrderedDict({"pi.log_std_clip_param_const": np.ones(1, np.float32)})
    for encoder, head, outputs in (("actor", "pi", n_actions), ("critic", "vf", 1)):
        path = f"encoder.{encoder}_encoder.net.mlp"
        for name, m, n in (
            (f"{path}.0", size, 16),
            (f"{path}.2", 16, 8),
            (f"{head}.net.mlp.0", 8, outputs),
        ):
            state[f"{name}.weight"] = generator.normal(size=(n, m)).astype(np.float32)
            state[f"{name}.bias"] = generator.normal(size=n).astype(np.float32)
    return state


def write(folder, state, module="default_policy", game=True):
    place = folder / MODULES / module
    place.mkdir(parents=True)
    about = {"rules": RULES.to_dict(), "num_players": PLAYERS, "view": "plain", "reward": "win"}
    (place / "metadata.json").write_text(json.dumps({"ray": 1, **({GAME: about} if game else {})}))
    (place / "module_state.pkl").write_bytes(pickle.dumps(state))
    return place


def test_the_network_is_the_one_that_was_saved(tmp_path):
    state = weights()
    place = write(tmp_path, state)
    agent = load(f"rllib:{tmp_path}")
    assert (agent.rules, agent.num_players, agent.name) == (RULES, PLAYERS, f"rllib:{tmp_path}")
    rows, index = new_rows(32), np.arange(32)
    reset_rows(RULES.table, rows, PLAYERS, np.uint64(3), np.uint64(0))
    log_probs = agent.log_probs(RULES, rows, index)
    x = np.zeros((32, observation_size(RULES, PLAYERS)), np.float32)
    masks = np.zeros((32, len(catalogue(RULES))), np.int8)
    observe_rows(RULES.table, rows, index, x)
    mask_rows(RULES.table, rows, index, masks)
    path = "encoder.actor_encoder.net.mlp"
    for name in (f"{path}.0", f"{path}.2"):
        x = np.maximum(x @ state[f"{name}.weight"].T + state[f"{name}.bias"], 0)
    logits = x @ state["pi.net.mlp.0.weight"].T + state["pi.net.mlp.0.bias"]
    logits[masks == 0] = -np.inf
    logits -= np.log(np.exp(logits).sum(axis=1, keepdims=True))
    assert np.allclose(log_probs, np.maximum(logits, -10), atol=1e-3)
    assert (agent.act_rows(RULES, rows, index) == logits.argmax(axis=1)).all()
    assert agent.opinion(RULES, rows, 0).value is not None  # by the critic
    assert np.array_equal(load(f"rllib:{place}").weights, agent.weights)


def test_a_checkpoint_becomes_a_run(tmp_path):
    pytest.importorskip("stable_baselines3")  # whose version a run notes
    write(tmp_path / "checkpoint", weights())
    run = export(tmp_path / "checkpoint", tmp_path / "run")
    agent, again = load(f"rllib:{tmp_path / 'checkpoint'}"), load(str(run))
    assert np.array_equal(agent.weights, again.weights)
    assert (again.rules, again.num_players, again.view) == (RULES, PLAYERS, "plain")
    with pytest.raises(ValueError, match="not empty"):
        export(tmp_path / "checkpoint", tmp_path / "run")


class Trap:
    """What runs code when it is unpickled."""

    def __reduce__(self):
        return (open, ("trapped", "w"))


class Objects:
    """The type of objects, marked as one without any: NumPy would take bytes as pointers."""

    def __reduce__(self):
        return np.dtype, ("O8", False, True), (3, "|", None, None, None, -1, -1, 0)


class Pointers:
    """An array of such objects, at addresses that the file names."""

    def __reduce__(self):
        made = (np.ndarray, (0,), b"b")
        return np.empty(0).__reduce__()[0], made, (1, (2,), Objects(), False, b"A" * 16)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"a": Pointers()}, "numbers of type 'O8'"),
        ({"a": np.array([None])}, "numbers of type 'O8'"),
        ({"a": np.ones(1, complex)}, "numbers of type 'c16'"),
        ({"a": np.zeros(1, [("x", object)])}, "numbers of type"),
        ({"a": np.array(["x"])}, "numbers of type"),
        ({"a": np.array([np.nan])}, "'a': it holds weights that are no finite numbers"),
        ({"a": np.array([1e300])}, "no finite numbers"),
        ({"a": np.ones(1, np.longdouble)}, "numbers of type"),
        ({"a": np.ones(1, np.int64)}, "numbers of type 'i8'"),
        ({"a": np.ones(1, ">f4")}, "numbers of type"),
        ({1: np.ones(1)}, "expected a dict of arrays"),
        ({"a": Trap()}, "it holds _?io.open; expected arrays alone"),
        ({"a": np.array([Trap()], object)}, "it holds _?io.open"),
        ({"a": 1}, "expected a dict of arrays"),
        ([np.ones(1)], "expected a dict of arrays"),
        ({"a": np.ones(1)}, "no network of the kind"),
        ({}, "expected a dict of arrays"),
    ],
)
def test_what_holds_no_network_is_refused_and_nothing_runs(state, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "checkpoint", state)
    with pytest.raises(AgentError, match=message):
        load("rllib:checkpoint")
    assert not (tmp_path / "trapped").exists()


HEAD = "pi.net.mlp.0"


@pytest.mark.parametrize(
    "change",
    [
        {f"{HEAD}.bias": None},
        {f"{HEAD}.bias": np.ones(7, np.float32)},
        {f"{HEAD}.weight": np.ones((123, 9), np.float32)},
        {f"{HEAD}.weight": np.ones(123, np.float32)},
    ],
)
def test_layers_that_do_not_fit_are_refused(change, tmp_path):
    state = {key: value for key, value in {**weights(), **change}.items() if value is not None}
    write(tmp_path, state)
    with pytest.raises(AgentError, match=r"the layer pi\.net\.mlp\.0 has weights of shape"):
        load(f"rllib:{tmp_path}")


@pytest.mark.parametrize(
    ("about", "says"),
    [
        ({"view": "bogus"}, "view is 'bogus'"),
        ({"view": []}, r"view is \[\]"),
        ({"reward": "bogus"}, "reward is 'bogus'"),
        ({"reward": {}}, "reward is {}"),
        ({"num_players": "2"}, "num_players is '2'"),
        ({"num_players": 9}, "num_players is 9"),
        ({"num_players": 3.0}, r"num_players is 3\.0"),
        ({"cls": 1}, "cls"),
        ({"self": 1}, "self"),
        ({"rules": {"cls": 1}}, "unknown field 'cls'"),
        ({"rules": [1]}, r"rules is \[1\]"),
    ],
)
def test_a_game_that_is_none_is_refused(about, says, tmp_path):
    place = write(tmp_path, weights())
    data = json.loads((place / "metadata.json").read_text())
    data[GAME] |= about
    (place / "metadata.json").write_text(json.dumps(data))
    with pytest.raises(AgentError, match=f"does not say which game it is for .*{says}"):
        load(f"rllib:{tmp_path}")


def pickled_arrays(count, data):
    """Many arrays of the same bytes: a file of few bytes for many numbers."""
    one = pickle.dumps(np.zeros(data, np.float16), 5)[2:]  # without its head
    body = one[9:] if one[:1] == pickle.FRAME else one
    body = body[:-1]  # without the end
    first = b"\x8c\x01a" + body + b"r" + (40).to_bytes(4, "little")
    rest = b"".join(
        b"X" + (8).to_bytes(4, "little") + f"{i:08}".encode() + b"j" + (40).to_bytes(4, "little")
        for i in range(count)
    )
    return b"\x80\x05}(" + first + rest + b"u."


BOMBS = {
    "a far place of the memory": b"}r\xff\xff\xff\x0f.",
    "a far place, by number": b"}p99999999\n.",
    "an array of bytes that is not there": b"\x96" + (2**36).to_bytes(8, "little") + b".",
    "a frame that is not there": b"\x80\x04\x95" + (2**36).to_bytes(8, "little") + b"}.",
    "more steps than arrays need": b"]" * 1_000_000 + b".",
    "dicts of dicts": b"\x80\x05}(" + b"K\x01K\x02" * 9_000 + b"ur\x01\x00\x00\x00"
    + (b"ccollections\nOrderedDict\nj\x01\x00\x00\x00\x85R") * 9_000 + b".",
}  # fmt: skip


@pytest.mark.parametrize("data", BOMBS.values(), ids=BOMBS)
def test_a_short_file_takes_little_memory(data, tmp_path):
    place = write(tmp_path, {})
    (place / "module_state.pkl").write_bytes(data)
    tracemalloc.start()
    try:
        with pytest.raises(AgentError, match="cannot read the weights"):
            load(f"rllib:{tmp_path}")
        assert tracemalloc.get_traced_memory()[1] < 2 * LONGEST
    finally:
        tracemalloc.stop()


def test_numbers_are_not_read_twice(tmp_path):
    place = write(tmp_path, {})
    (place / "module_state.pkl").write_bytes(pickled_arrays(5000, 1_000_000))
    with pytest.raises(AgentError, match="the same one"):
        load(f"rllib:{tmp_path}")


def test_a_file_that_is_too_long_is_not_read(tmp_path):
    place = write(tmp_path, weights())
    with open(place / "module_state.pkl", "wb") as file:
        file.truncate(LONGEST + 1)
    with pytest.raises(AgentError, match="longer than 134,217,728 bytes"):
        load(f"rllib:{tmp_path}")


@pytest.mark.parametrize("protocol", [4, 5])
def test_every_way_to_pickle_an_array_is_read(protocol, tmp_path):
    state = weights()
    place = write(tmp_path, state)
    expected = load(f"rllib:{tmp_path}").weights
    by_columns = {name: np.asfortranarray(array) for name, array in state.items()}
    for one in (state, by_columns):
        (place / "module_state.pkl").write_bytes(pickle.dumps(one, protocol))
        assert np.array_equal(load(f"rllib:{tmp_path}").weights, expected)


def test_errors_say_what_is_missing(tmp_path):
    with pytest.raises(AgentError, match="no checkpoint of RLlib"):
        load(f"rllib:{tmp_path}")
    with pytest.raises(AgentError, match="should be written 'rllib:DIR'"):
        load("rllib")
    other = tmp_path / "other"
    place = write(other, weights(), game=False)
    with pytest.raises(AgentError, match=r"does not say which game.*module_spec"):
        load(f"rllib:{other}")
    (place / "metadata.json").write_text(json.dumps({GAME: {"rules": {}}}))
    with pytest.raises(AgentError, match="does not say which game"):
        load(f"rllib:{other}")
    write(other, weights(), "second")
    with pytest.raises(AgentError, match="several networks; name one"):
        load(f"rllib:{other}")
    assert load(f"rllib:{other / MODULES / 'second'}").num_players == PLAYERS
    cut = other / MODULES / "second" / "module_state.pkl"
    cut.write_bytes(cut.read_bytes()[:1000])
    with pytest.raises(AgentError, match="cannot read the weights"):
        load(f"rllib:{cut.parent}")
