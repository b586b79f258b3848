"""Evaluation: matched games between agents, and what they say about their strength.

What notebooks and programs need is here; `program` is evaluate.py.

| module | holds |
|---|---|
| `names` | agents under names of one's own: ``mine=runs/a`` |
| `line_ups` | designs: which agents meet at which places |
| `matches` | the kernels: rounds and matches in parallel, from common deals |
| `arena`, `games` | matched games between agents, in chunks; `play`; their results |
| `behavior`, `draw_luck` | counts of what agents do; the luck of their draws |
| `fingerprint`, `plan` | whether an agent has changed; everything that decides a tournament |
| `tournament`, `journal` | runs a plan task by task; keeps the results on disk |
| `workers`, `ray_workers` | play the tasks: in this process, in several, on a Ray cluster |
| `kept` | tournaments that the same command goes on with |
| `ladder` | fixed agents with published ratings, and the rating of a newcomer |
| `rivals` | two agents compared by what each wins against a common field |
| `statistics` | estimates, sequential test, verdicts, ratings, adjustment for luck |
| `report` | the report, and its tables, plots and page |
"""

from .arena import Chunk, GameSetup, play
from .behavior import opening_hands
from .games import ArenaError, Games, round_rate
from .line_ups import DesignError, line_ups
from .plan import Plan, plan_of
from .report.report import compare
from .statistics.estimates import Estimate, mean_estimate, rate_estimate
from .statistics.ratings import openskill, rate_against, ratings
from .statistics.sprt import Sprt
from .statistics.verdicts import Verdict, deals_needed, verdict

__all__ = [
    "ArenaError",
    "Chunk",
    "DesignError",
    "Estimate",
    "GameSetup",
    "Games",
    "Plan",
    "Sprt",
    "Verdict",
    "compare",
    "deals_needed",
    "line_ups",
    "mean_estimate",
    "opening_hands",
    "openskill",
    "plan_of",
    "play",
    "rate_against",
    "rate_estimate",
    "ratings",
    "round_rate",
    "verdict",
]
