"""Uses the installed package with the extras evaluate and play: run outside of the clone."""

import sys
from pathlib import Path

import pocket_uno_env
from pocket_uno_env.agents import load, names, networks
from pocket_uno_env.evaluation.arena import play
from pocket_uno_env.evaluation.statistics.estimates import rate_estimate
from pocket_uno_env.play.web.server import PAGE

assert Path(pocket_uno_env.__file__).is_relative_to(sys.prefix), pocket_uno_env.__file__

# Each network plays the game that its name says.
for name in networks():
    rules, seats = name.split("-")
    agents = [load(name), load("random")]
    (games,) = play(rules, int(seats[0]), agents, 20, 1, lineups=[(0, *[1] * (int(seats[0]) - 1))])
    rate = rate_estimate(games.win_rates(0))
    print(name, f"{rate.mean:.2f}")
    assert rate.mean > 0.7, name

# The belief of a search is a network that comes with the package, too.
searching = load("search:20,belief=learned")
(games,) = play("pocket", 2, [searching, load("random")], 2, 1)
print(searching.name, rate_estimate(games.win_rates(0)).mean)

for name in names():
    load(name)
assert {"index.html", "app.js", "style.css"} <= {file.name for file in Path(PAGE).iterdir()}
assert "torch" not in sys.modules
print("extras: played")
