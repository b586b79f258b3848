"""Write the generated parts of README.md and docs/ from the code and from measured results.

    python docs/generate.py            rewrite them (`make docs`)
    python docs/generate.py --check    say whether they are up to date

A part stands between ``<!-- generated:NAME -->`` and ``<!-- /generated -->``. Results come from the
JSON files that evaluate.py wrote into docs/results/: `make results` makes them anew, `make
scripted` those of the scripted agents. Speed comes from benchmarks/results.json, which `make bench`
measures anew.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import textwrap
from itertools import pairwise
from pathlib import Path
from typing import Any

import generate_api
import generate_environment

from pocket_uno_env import describe as describe_observation
from pocket_uno_env import pocket_uno_v0
from pocket_uno_env.agents import describe, load, names, registry
from pocket_uno_env.evaluation.report.tables import rules_title
from pocket_uno_env.exploitability.setting import Setting

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
INDEX = ROOT / "docs" / "index.md"
AGENTS = ROOT / "docs" / "agents.md"
SPEED = ROOT / "docs" / "speed.md"
EVALUATING = ROOT / "docs" / "evaluating.md"
ENVIRONMENT = ROOT / "docs" / "environment.md"
API = ROOT / "docs" / "api" / "index.md"
RECORDS = ROOT / "docs" / "records.md"
TESTING = ROOT / "docs" / "testing.md"
TESTS = ROOT / "tests"
SEARCH = ROOT / "docs" / "search.md"
EXPLOITABILITY = ROOT / "docs" / "exploitability.md"
OPENSPIEL = ROOT / "docs" / "ecosystem" / "openspiel.md"
ARGUED = ("search", "ismcts", "clairvoyant", "ppo", "onnx", "rllib", "rlcard", "spiel")
"""Agents that `names` leaves out, because they need an argument."""
RESULTS = ROOT / "docs" / "results"
LADDERS = ROOT / "pocket_uno_env" / "evaluation" / "ladders"
RECORD_SEED = 5


def observation() -> str:
    """The layout that `describe` prints."""
    return f"```\n{describe_observation()}\n```"


def agents() -> str:
    """Every agent that has a name, and what it does."""
    rows = [
        f"| `{registry.usage(name)}` | {describe(name)} |"
        for name in [*names(), *registry.networks(), *ARGUED]
    ]
    return "\n".join(["| agent | how it plays |", "|---|---|", *rows])


def reasons(folder: str = "") -> str:
    """Why to use it, a number each; `folder` is where the pages are, as seen from this one."""
    bench = json.loads((ROOT / "benchmarks" / "results.json").read_text("utf-8"))
    batch = bench["measures"]["batch, mask + uint8"]
    rates = _rates(RESULTS / "1-pocket-2p.json")
    best = rates["pocket-2p", "strong"]
    search = json.loads((RESULTS / "search" / "search-1000-strong.json").read_text("utf-8"))
    found = search["line_ups"][0]["figures"][0]["win_rate"]
    deals = json.loads((RESULTS / "1-pocket-2p.json").read_text("utf-8"))["deals"]
    points = [
        f"**Exact.** The [rules]({folder}rules.md) leave no case open. "
        f"{sum(rule_cases().values())} cases written by hand hold in the "
        "compiled engine and in a second game in plain Python "
        f"that [shares no code with it]({folder}testing.md).",
        f"**Fast.** {batch['decisions_per_second'][0] / 1e6:.0f} million decisions a second on one "
        f"core, with mask and observation: [{batch['ratio'][0]:.0f} times]({folder}speed.md) those "
        "of RLCard's UNO in the same run.",
        f"**Nothing hidden leaks.** [{faults()} faults]({folder}faults.md) that users of other "
        "environments reported have tests here. Permute the cards that a seat cannot know, and "
        "its observation keeps every byte.",
        f"**Strong opponents.** {len(names())} [scripted agents]({folder}agents.md) and "
        f"{len(registry.networks())} trained networks. The one for two players wins "
        f"{_cell(best)} % of matches against `strong`, a scripted yardstick, a "
        f"[search]({folder}search.md) of a thousand playouts {_cell(found)} %.",
        "**Figures with intervals.** Each deal is played with all seat rotations: after "
        f"{deals:,} deals the 95 % interval is ± {_half(best):.1f} points, and the "
        f"[evaluation]({folder}evaluating.md) makes no claim without the power for it.",
    ]
    return "\n".join(_wrapped(f"- {point}") for point in points)


def _wrapped(point: str) -> str:
    """A point of a list in lines of 100, as all pages are written."""
    return textwrap.fill(
        point, 100, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def results() -> str:
    """What the networks of `make results` win: one small table."""
    rivals = ["random", "greedy", "counter", "strong"]
    rows = []
    for path in sorted(RESULTS.glob("*.json")):
        n, network = _report(path)["num_players"], path.stem.partition("-")[2]
        rates, rounds = _rates(path), _rates(path, "round_win_rate")
        pairs = [(network, rival) for rival in rivals]
        cells = [_both(rates.get(pair), rounds.get(pair)) for pair in pairs]
        rows.append([f"`{network}`", *cells, f"{100 / n:.0f}"])
    heads = ["network", *(f"`{rival}`" for rival in rivals), "even game"]
    return generate_environment.table(heads, rows, right=len(rivals) + 1)


def win_rates() -> str:
    """The measured win rates: what each row wins against each column."""
    return "\n\n".join(_matrix(path) for path in sorted(RESULTS.glob("*.json")))


def _report(path: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return report


def _rates(path: Path, of: str = "win_rate") -> dict[tuple[str, str], dict[str, Any]]:
    """By agent and rival: a rate of one agent against a table full of the other."""
    rates: dict[tuple[str, str], dict[str, Any]] = {}
    for line_up in _report(path)["line_ups"]:
        for figure in line_up["figures"]:
            if len(set(figure["against"])) == 1:
                rates[_short(figure["agent"]), _short(figure["against"][0])] = figure[of]
    return rates


def _matrix(path: Path) -> str:
    report, rates, rounds = _report(path), _rates(path), _rates(path, "round_win_rate")
    order = list(dict.fromkeys(name for pair in rates for name in pair))
    rows = [f"| | {' | '.join(order)} |", "|---" + "|---:" * len(order) + "|"]
    for one in order:
        cells = [_both(rates.get((one, other)), rounds.get((one, other))) for other in order]
        rows.append(f"| **{one}** | {' | '.join(cells)} |")
    n = report["num_players"]
    table = "one against one" if n == 2 else f"one against {n - 1}"
    title = (
        f"{report['rules']['name'].capitalize()}, {n} players, {table}: matches won in % with the "
        f"95 % interval, and in brackets the rounds won in them; {report['deals']:,} deals, each "
        f"in all {n} seat rotations ({100 / n:.0f} % is an even game)."
    )
    return "\n".join([title, "", *rows])


def scripted() -> str:
    """The scripted agents by strength: the mean of what each wins against each of the others."""
    paths = sorted((RESULTS / "scripted").glob("*.json"), key=lambda p: (p.stem[0] != "p", p.stem))
    games = {path.stem: _means(path) for path in paths}
    order = sorted(games["pocket-2p"], key=lambda name: games["pocket-2p"][name][0])
    titles = [f"{stem[:-3].capitalize()}, {stem[-2]} players" for stem in games]
    rows = [
        f"| agent | {' | '.join(titles)} |",
        "|---" + "|---:" * len(games) + "|",
    ]
    for name in order:
        cells = []
        for means in games.values():
            rank = 1 + sum(other[0] > means[name][0] for other in means.values())
            cells.append(f"{100 * means[name][0]:.1f} ± {100 * means[name][1]:.1f} ({rank})")
        rows.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(rows)


def networks() -> str:
    """The published networks and what they win, from their cards."""
    rows = [
        "| network | `greedy` | `strong` | rounds of more than 400 decisions, longest; unwon |",
        "|---|---:|---:|---:|",
    ]
    for path in sorted(registry.NETWORKS.glob("*.json"), key=lambda card: card.stem):
        card = _report(path)
        cells = [_both(rate, rate["rounds"]) for rate in card["win_rates"]["against"].values()]
        lengths = card["lengths"].values()
        long, unwon, rounds = (
            sum(length[key] for length in lengths) for key in ("over_400", "unwon", "rounds")
        )
        longest = max(length["longest"] for length in lengths)
        cells.append(f"{long} of {rounds:,}, {longest:,}; {unwon}")
        rows.append(f"| `{path.stem}` | {' | '.join(cells)} |")
    return "\n".join(rows)


def _means(path: Path) -> dict[str, tuple[float, float]]:
    """By agent: the mean win rate over the others, and the mean half width of its intervals."""
    found: dict[str, list[tuple[float, float]]] = {}
    for line_up in json.loads(path.read_text("utf-8"))["line_ups"]:
        for figure in line_up["figures"]:
            if len(line_up["agents"]) == 2 or line_up["agents"].count(figure["agent"]) == 1:
                rate = figure["win_rate"]
                half = (rate["high"] - rate["low"]) / 2
                found.setdefault(figure["agent"], []).append((rate["mean"], half))
    return {
        name: (sum(m for m, _ in values) / len(values), sum(h for _, h in values) / len(values))
        for name, values in found.items()
    }


def speed() -> str:
    """What `make bench` found last: the promised figures, and where they were measured."""
    found = json.loads((ROOT / "benchmarks" / "results.json").read_text("utf-8"))
    rows = [
        f"Measured on {found['date']} ({found['machine']}), medians of {found['repeats']} repeats, "
        "quartiles in brackets:",
        "",
        "| | measured | wanted |",
        "|---|---:|---:|",
    ]
    for target in found["targets"]:
        median, low, high = target["figure"]
        wanted = "at most" if "at most" in target else "at least"
        missed = median > target[wanted] if wanted == "at most" else median < target[wanted]
        rows.append(
            f"| {target['about']} | {median:.3g} {target['unit']} [{low:.3g}, {high:.3g}] | "
            f"{wanted} {target[wanted]:g}{' (missed)' * missed} |"
        )
    return "\n".join(rows)


def measures() -> str:
    """Everything that `make bench` found last."""
    found = json.loads((ROOT / "benchmarks" / "results.json").read_text("utf-8"))
    rows = [
        f"{found['date']}, {found['machine']}, medians of {found['repeats']} repeats.",
        "",
        "| | decisions/s | x RLCard | quartiles | rounds/s |",
        "|---|---:|---:|---:|---:|",
    ]
    for name, measure in found["measures"].items():
        median, low, high = measure["ratio"]
        rounds = measure.get("rounds_per_second", [0])[0]
        rows.append(
            f"| {name} | {measure['decisions_per_second'][0]:,.0f} | {median:.3g} | "
            f"{low:.3g} - {high:.3g} | {f'{rounds:,.0f}' if rounds else ''} |"
        )
    rows += ["", "| CPU seconds | |", "|---|---:|"]
    rows += [f"| {name} | {seconds:g} |" for name, seconds in found["startup"].items()]
    return "\n".join(rows)


def _short(name: str) -> str:
    """A trained run is named by its folder."""
    return name.rstrip("/").split("/")[-1]


def _cell(rate: dict[str, Any] | None) -> str:
    if rate is None:
        return ""
    return f"{100 * rate['mean']:.1f} ± {_half(rate):.1f}"


def _both(matches: dict[str, Any] | None, rounds: dict[str, Any] | None) -> str:
    """A rate of matches, and in brackets that of their rounds."""
    return f"{_cell(matches)} ({100 * rounds['mean']:.1f})" if rounds else ""


def _half(rate: dict[str, Any]) -> float:
    """Half the width of a win rate's interval, in points."""
    return 50.0 * float(rate["high"] - rate["low"])


def ladders() -> str:
    """The ratings of the ladders, side by side: by matches, and in brackets by their rounds."""
    found = {path.stem: json.loads(path.read_text("utf-8")) for path in LADDERS.glob("*.json")}
    order = sorted(found)
    names = dict.fromkeys(name for key in order for name in found[key]["ratings"])
    heads = [f"{key}, version {found[key]['version']}" for key in order]
    rows = ["| agent | " + " | ".join(heads) + " |", "|---" + "|---:" * len(order) + "|"]
    for name in names:
        cells = [_rating(found[key], name) for key in order]
        rows.append(f"| `{name}` | {' | '.join(cells)} |")
    commands = [found[key]["command"] for key in order]
    return "\n".join([*rows, "", "```", *commands, "```"])


def _rating(ladder: dict[str, Any], name: str) -> str:
    rating, rounds = ladder["ratings"].get(name), ladder.get("round_ratings", {}).get(name)
    if rating is None:
        return ""
    beside = f" ({rounds['mean']:.0f})" if rounds else ""
    return f"{rating['mean']:.0f} {_width(rating)}{beside}"


def _width(rating: dict[str, float]) -> str:
    half = (rating["high"] - rating["low"]) / 2
    return f"± {half:.0f}" if half else "anchor"


def equity() -> str:
    """How well match equity is calibrated, by game and agent."""
    rows = ["| game | matches among copies of | matches | mean difference |", "|---|---|---:|---:|"]
    for path in sorted((RESULTS / "equity").glob("*.json")):
        report = json.loads(path.read_text("utf-8"))
        game = f"{report['rules']['name']}, {report['num_players']} players"
        for found in report["agents"]:
            cells = (
                f"`{_short(found['agent'])}` | {found['matches']:,} | {100 * found['error']:.2f}"
            )
            rows.append(f"| {game} | {cells} |")
    return "\n".join(rows)


def control() -> str:
    """How many games the control variates save."""
    rows = ["| game | agents | win rate | without luck | games needed |", "|---|---|---|---|---:|"]
    commands = []
    for path in sorted((RESULTS / "control").glob("*.json")):
        report = json.loads(path.read_text("utf-8"))
        figure = report["line_ups"][0]["figures"][0]
        rate, without = figure["win_rate"], figure["adjusted"]["win_rate"]
        game = f"{report['rules']['name']}, {report['num_players']} players"
        pair = f"`{figure['agent']}` against `{figure['against'][0]}`"
        needed = f"{100 * without['games_needed']:.0f} %"
        rows.append(f"| {game} | {pair} | {_cell(rate)} | {_cell(without)} | {needed} |")
        commands.append(report["command"])
    return "\n".join([*rows, "", "```", *commands, "```"])


def rlcard() -> str:
    """RLCard's rule agent under rules that come nearer to RLCard's step by step."""
    rows = ["| rules | win rate in % against `random` |", "|---|---:|"]
    commands = []
    for path in sorted((RESULTS / "rlcard").glob("*.json")):
        report = json.loads(path.read_text("utf-8"))
        title = rules_title(report["rules"]).replace("'", "").replace("_", " ")
        rows.append(f"| {title} | {_cell(report['line_ups'][0]['figures'][0]['win_rate'])} |")
        commands.append(report["command"])
    return "\n".join([*rows, "", "```", *commands, "```"])


def record() -> str:
    """A whole record, small enough to be read: a round of the mini game."""
    env = pocket_uno_v0.raw_env("mini", max_cycles=8)
    env.reset(seed=RECORD_SEED)
    agent = load("greedy")
    while not env.terminations[env.agent_selection]:
        env.step(agent.act(env))
    return f"```json\n{_folded(env.record())}\n```"


def _folded(value: Any, indent: str = "") -> str:
    """JSON with as much on a line as fits."""
    text = json.dumps(value)
    if len(indent + text) <= 90 or not value or not isinstance(value, dict | list):
        return text
    within = indent + " "
    if isinstance(value, dict):
        parts = [f"{json.dumps(key)}: {_folded(part, within)}" for key, part in value.items()]
        return "{" + f",\n{within}".join(parts) + "}"
    return "[" + f",\n{within}".join(_folded(part, within) for part in value) + "]"


def rule_cases() -> dict[str, int]:
    """How many rule cases there are, by file."""
    files = TESTS.glob("engine/cases/*")
    return {path.name: path.read_text("utf-8").count("\n") for path in files}


def faults() -> int:
    """How many rows docs/faults.md has."""
    return len(re.findall(r"^\| .*#\d", (ROOT / "docs" / "faults.md").read_text("utf-8"), re.M))


def tests() -> str:
    """How many tests of which kind there are; the functions rounded down, as they become more."""
    functions = sum(
        len(re.findall(r"^ *def test_", path.read_text("utf-8"), re.M))
        for path in TESTS.rglob("test_*.py")
    )
    mutants = ast.parse((TESTS / "support" / "mutants.py").read_text("utf-8")).body
    changed = next(
        len(node.value.elts)
        for node in mutants
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "MUTANTS"
    )
    rows = [
        ("test functions, many of them over all presets, players and seeds",
         f"more than {functions // 100 * 100}"),
        *((f"rule cases of `{name}`", str(count)) for name, count in sorted(rule_cases().items())),
        ("mutants of the engine", str(changed)),
        ("faults reported elsewhere, with the tests that keep them out", str(faults())),
    ]  # fmt: skip
    return generate_environment.table(["what", "how many"], [list(row) for row in rows], right=1)


def search_gains() -> str:
    """What variants of a search gain by single decisions."""
    rows = ["| variant | moves that differ | gain in a round | over the first | ms |"]
    rows.append("|---|---:|---:|---:|---:|")
    report = json.loads((RESULTS / "search" / "gains.json").read_text("utf-8"))
    for name, line in report["agents"].items():
        gain, over = ("{:+.1f} ± {:.1f}".format(*line[key]) for key in ("gain", "over"))
        label = name if " " in name else f"`{name}`"
        spent = f"{line['milliseconds']:.1f}" if line["milliseconds"] else ""
        rows.append(f"| {label} | {100 * line['differs']:.1f} % | {gain} | {over} | {spent} |")
    return "\n".join(rows)


def searches() -> str:
    """What agents that search have won, and the commands that repeat it."""
    rows = ["| agent | against | deals | what | won |", "|---|---|---:|---|---:|"]
    commands = []
    for path in sorted((RESULTS / "search").glob("*-*.json")):
        report = json.loads(path.read_text("utf-8"))
        figure = report["line_ups"][0]["figures"][0]
        agent, rival = figure["agent"], figure["against"][0]
        match = report["episode"] == "match"
        rate = _cell(figure["win_rate"])
        what = "matches" if match else "rounds"
        rows.append(f"| `{agent}` | `{rival}` | {report['deals']:,} | {what} | {rate} |")
        how = f"--deals {report['deals']} --seed {report['seed']}" + " --episode match" * match
        commands.append(f".venv/bin/python evaluate.py --agents {agent} {rival} {how}")
    return "\n".join([*rows, "", "```", *commands, "```"])


def exploitability() -> str:
    """NashConv on the mini deck: the agents, then CFR+ by iterations."""
    found = json.loads((RESULTS / "openspiel" / "exploitability.json").read_text("utf-8"))
    rows = ["| policy | NashConv |", "|---|---:|"]
    rows += [f"| `{name}` | {gain:.4f} |" for name, gain in found["agents"].items()]
    for iterations, gain in found["cfr_plus"].items():
        rows.append(f"| CFR+, iteration {int(iterations):,} | {gain:.4f} |")
    return "\n".join([*rows, "", "```", found["command"], "```"])


def bots() -> str:
    """What OpenSpiel's bots win."""
    rows = ["| bot | against | deals | win rate |", "|---|---|---:|---:|"]
    commands = []
    for path in sorted((RESULTS / "openspiel").glob("bots-*.json")):
        report = json.loads(path.read_text("utf-8"))
        figure = report["line_ups"][0]["figures"][0]
        rows.append(
            f"| `{figure['agent']}` | `{figure['against'][0]}` | {report['deals']:,} | "
            f"{_cell(figure['win_rate'])} |"
        )
        commands.append(report["command"])
    return "\n".join([*rows, "", "```", *commands, "```"])


def search_times() -> str:
    """What a decision of a search costs."""
    report = json.loads((RESULTS / "search" / "time.json").read_text("utf-8"))
    rows = ["| agent | a decision | with a choice | a guess | a playout | its decisions |"]
    rows.append("|---|---:|---:|---:|---:|---:|")
    for name, line in report["agents"].items():
        cells = [f"{line[key]:.1f} ms" for key in ("asked", "with a choice")]
        cells += [f"{line[key]:.1f} us" for key in ("guess", "playout")]
        rows.append(f"| `{name}` | {' | '.join(cells)} | {line['decisions of a playout']:.1f} |")
    return "\n".join(rows)


def exploit_setting() -> str:
    """The setting of all searches for best responses: its values, and what they are."""
    source = (ROOT / "pocket_uno_env" / "exploitability" / "setting.py").read_text("utf-8")
    classes = (node for node in ast.parse(source).body if isinstance(node, ast.ClassDef))
    body = next(node for node in classes if node.name == "Setting").body
    rows = ["| | value | |", "|---|---|---|"]
    for field, text in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
            name, about = ast.unparse(field.target), " ".join(ast.literal_eval(text.value).split())
            value = getattr(Setting(), name)
            shown = ", ".join(map(str, value)) if isinstance(value, tuple) else value
            rows.append(f"| `{name}` | {shown} | {about} |")
    return "\n".join(rows)


def exploit_mini() -> str:
    """How near the bounds come to the exact figures on the mini deck."""
    found = json.loads((RESULTS / "exploit" / "mini.json").read_text("utf-8"))
    starts = next(iter(found["agents"].values()))["validated"]
    heads = ["agent", "exact", "bound", "of the exact", *(f"`{start}`" for start in starts)]
    rows = []
    for name, figures in found["agents"].items():
        exact, bound = figures["exact"], figures["bound"]
        half = 50 * (bound["high"] - bound["low"])
        cells = [f"{100 * exact:.1f}", f"{100 * bound['mean']:.1f} ± {half:.1f}"]
        cells.append(f"{bound['mean'] / exact:.0%}".replace("%", " %"))
        rows.append(
            [f"`{name}`", *cells, *(f"{100 * x:.1f}" for x in figures["validated"].values())]
        )
    table = generate_environment.table(heads, rows, right=len(heads) - 1)
    return (
        f"{table}\n\nThe last {len(starts)} columns are the best that came of each start, on "
        f"validation deals.\n\n```\n{found['command']}\n```"
    )


PARTS = {
    README: {"reasons": lambda: reasons("docs/"), "results": results},
    INDEX: {"reasons": reasons},
    AGENTS: {
        "agents": agents,
        "scripted": scripted,
        "win-rates": win_rates,
        "networks": networks,
    },
    SPEED: {"speed": speed, "measures": measures},
    EVALUATING: {"ladders": ladders, "equity": equity, "control": control, "rlcard": rlcard},
    ENVIRONMENT: {"observation": observation, **generate_environment.PARTS},
    API: generate_api.PARTS,
    RECORDS: {"record": record},
    TESTING: {"tests": tests},
    OPENSPIEL: {"exploitability": exploitability, "bots": bots},
    EXPLOITABILITY: {"exploit-setting": exploit_setting, "exploit-mini": exploit_mini},
    SEARCH: {"gains": search_gains, "rates": searches, "time": search_times},
}


def generated(page: Path) -> str:
    """The text of a page with all its generated parts made anew."""
    text = page.read_text("utf-8")
    for name, make in PARTS[page].items():
        pattern = rf"(<!-- generated:{name} -->\n).*?(<!-- /generated -->)"
        made = make()
        text, count = re.subn(
            pattern, lambda m, made=made: f"{m[1]}{made}\n{m[2]}", text, flags=re.DOTALL
        )
        if count != 1:
            raise ValueError(f"{page.name} should have one part {name!r}, it has {count}")
    return text


def main(arguments: list[str]) -> int:
    """Rewrite the pages, or with ``--check`` return 1 if one is out of date."""
    stale = 0
    for page in PARTS:
        made = generated(page)
        if made == page.read_text("utf-8"):
            continue
        if "--check" in arguments:
            print(f"{page.name} is out of date; run `make docs`", file=sys.stderr)
            stale = 1
        else:
            page.write_text(made, "utf-8")
    return stale


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
