"""A trained network as an ONNX file: write it, run it by onnxruntime alone, play with it.

    python examples/onnx_export.py

Needs the extra `onnx`, and no PyTorch. The first half is all that a program in another language
would do: read the metadata, feed observation and mask, take the action.
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import gymnasium
import numpy as np
import onnxruntime

from pocket_uno_env.agents import load
from pocket_uno_env.evaluation import play, rate_estimate
from pocket_uno_env.training.export_onnx import export

NETWORK = "pocket-2p"
ROUNDS = 50

with TemporaryDirectory() as folder:
    file = Path(folder) / "network.onnx"
    difference = export(load(NETWORK), file)
    print(f"{NETWORK}: logits within {difference:.1e} of the network's")

    # By hand, in an environment that shows what the network was trained to see.
    session = onnxruntime.InferenceSession(str(file))
    about = session.get_modelmeta().custom_metadata_map
    names = json.loads(about["actions"])
    env = gymnasium.make(
        "pocket_uno_env:pocket_uno/PocketUno-v0",
        rules=json.loads(about["rules"])["name"],
        num_players=json.loads(about["num_players"]),
        view=about["view"],
        opponents=["greedy"],
    )
    won = 0
    for seed in range(ROUNDS):
        observation, info = env.reset(seed=seed)
        over = False
        while not over:
            feed = {"observation": observation[None], "action_mask": info["action_mask"][None]}
            (action,) = session.run(["action"], feed)[0]
            observation, reward, terminated, truncated, info = env.step(action)
            over = terminated or truncated
        won += reward > 0
    print(f"won {won} of {ROUNDS} rounds against greedy; the last action was {names[action]!r}")

    # As an agent: in the arena, as an opponent, wherever an agent may be named.
    agent, network = load(f"onnx:{file}"), load(NETWORK)
    (games,) = play("pocket", 2, [agent, load("greedy")], deals=200, seed=1)
    print(f"win rate against greedy: {rate_estimate(games.win_rates(0)).mean:.2f}")
    (twin,) = play("pocket", 2, [network, load("greedy")], deals=200, seed=1)
    same = np.array_equal(games.win_rates(0), twin.win_rates(0))
    print("the same actions as the network" if same else "other actions than the network")
