"""The generated parts of docs/environment.md: facts, arguments, observation, actions.

`docs/generate.py` puts them in their places.
"""

from __future__ import annotations

import inspect
import re

from pocket_uno_env import Rules, pocket_uno_v0
from pocket_uno_env.observation.blocks import layout, observation_size
from pocket_uno_env.observation.full_state import state_size
from pocket_uno_env.rules.actions import CARDLESS_MOVES, Catalogue, Move, catalogue
from pocket_uno_env.rules.rules import HOUSE_RULES

HOUSE = Rules.preset("pocket", **{**dict.fromkeys(HOUSE_RULES, True), "stacking": "any"})
GAMES = (
    ("pocket, 2 players", Rules.preset("pocket"), 2),
    ("pocket, 4 players", Rules.preset("pocket"), 4),
    ("classic, 2 players", Rules.preset("classic"), 2),
    ("mini", Rules.preset("mini"), 2),
    ("all house rules, 2 players", HOUSE, 2),
)


def facts() -> str:
    """PettingZoo's fact table, for the default game."""
    rules = Rules.preset("pocket")
    most = Rules.preset("classic").max_players
    actions, size = len(catalogue(rules)), observation_size(rules, 2)
    return table(
        ["Import", "`from pocket_uno_env import pocket_uno_v0`"],
        [
            ["Actions", "Discrete"],
            ["Agents", f"`player_0` ... `player_{{n-1}}`, n from 2 to {rules.max_players} "
                       f"(classic: {most})"],
            ["Action Shape", f"Discrete({actions})"],
            ["Action Values", f"0 ... {actions - 1}"],
            ["Observation Shape", f"({size},)"],
            ["Observation Values", "[0, 1], float32"],
        ],
    )  # fmt: skip


def sizes() -> str:
    """How large everything is, game by game."""
    rows = [
        [
            title,
            str(rules.table["n_cards"][0]),
            str(len(catalogue(rules))),
            str(observation_size(rules, n)),
            str(state_size(rules, n)),
        ]
        for title, rules, n in GAMES
    ]
    return table(["game", "cards", "actions", "observation", "state"], rows, right=4)


def arguments() -> str:
    """The arguments of the environment, from its signature and its docstring."""
    defaults = inspect.signature(pocket_uno_v0.raw_env.__init__).parameters
    text = inspect.cleandoc(pocket_uno_v0.raw_env.__doc__ or "")
    text = text.split("Parameters\n----------\n")[1].split("\n\nRaises\n")[0]
    rows = []
    for name, kind, meaning in re.findall(r"^(\w+) : (.*)\n((?:    .*\n?)+)", text, re.M):
        default = f"`{defaults[name].default!r}`".replace('"', "").replace("'", '"')
        if kind.startswith("{"):
            kind = ", ".join(f"`{value}`" for value in kind.strip("{}").split(", "))
        rows.append([f"`{name}`", kind, default, markdown(meaning)])
    if [row[0].strip("`") for row in rows] != list(defaults)[1:]:
        raise ValueError("the docstring of raw_env does not describe its arguments")
    return table(["argument", "values", "default", "meaning"], rows)


def blocks() -> str:
    """Where each block of the observation lies, game by game."""
    layouts = [{b.name: b for b in layout(rules, n)} for _, rules, n in GAMES]
    rows = []
    for name, block in layouts[-1].items():
        places = [found.get(name) for found in layouts]
        ranges = [f"{b.start}:{b.start + b.length}" if b else "" for b in places]
        rows.append([f"`{name}`", " ".join(block.meaning.split()), *ranges])
    titles = [title for title, _, _ in GAMES]
    return table(["block", "values", *titles], rows, right=len(titles))


def actions() -> str:
    """Which ids mean what, game by game."""
    games = [(title, catalogue(rules)) for title, rules, _ in GAMES if "4" not in title]
    groups = [
        ("`play R5`: a coloured card", lambda c: range(c.first_wild)),
        ("`play W:B`: a wild, naming a colour", lambda c: range(c.first_wild, c.first_move)),
        *((f"`{name}`", lambda c, move=move: of(c, move)) for move, name in CARDLESS_MOVES.items()),
        ("`give R5`: a card, after a `WD`", lambda c: range(c.first_give, c.first_name)),
        ("`name R`: the colour of the opening wild", lambda c: of(c, Move.NAME)),
        ("`swap 1`: hands with a seat", lambda c: of(c, Move.SWAP)),
        ("`jump in`, `pass`", lambda c: [*of(c, Move.JUMP_IN), *of(c, Move.PASS)]),
    ]
    rows = [[text, *(span(ids(made)) for _, made in games)] for text, ids in groups]
    heads = [title.removesuffix(", 2 players") for title, _ in games]
    return table(["action", *heads], rows, right=len(heads))


def every_action() -> str:
    """All actions of pocket by id."""
    names = catalogue(Rules.preset("pocket")).names
    entries = [f"{i:3} {name:12}" for i, name in enumerate(names)]
    height = -(-len(entries) // 4)
    lines = ["".join(entries[i::height]).rstrip() for i in range(height)]
    return "\n".join(["```text", *lines, "```"])


def of(made: Catalogue, move: Move) -> list[int]:
    """The ids of the actions that make a move."""
    return [i for i, action in enumerate(made.actions) if action.move == move]


def span(ids: range | list[int]) -> str:
    """A run of ids as text."""
    if not ids:
        return ""
    return f"{ids[0]}" if len(ids) == 1 else f"{ids[0]}-{ids[-1]}"


def markdown(text: str) -> str:
    """A docstring's lines as one line of Markdown."""
    line = " ".join(text.split()).replace("``", "`")
    return re.sub(r"`modes\.Renderer`", "[render modes](play.md#pictures-windows-films)", line)


def table(heads: list[str], rows: list[list[str]], right: int = 0) -> str:
    """A Markdown table; the last `right` columns hold numbers."""
    rules = ["---"] * (len(heads) - right) + ["---:"] * right
    return "\n".join(
        [
            f"| {' | '.join(heads)} |",
            f"|{'|'.join(rules)}|",
            *(f"| {' | '.join(cells)} |" for cells in rows),
        ]
    )


PARTS = {
    "facts": facts,
    "sizes": sizes,
    "arguments": arguments,
    "blocks": blocks,
    "actions": actions,
    "every-action": every_action,
}
