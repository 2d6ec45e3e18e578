"""Web tasks, `static` against `jitrl`, each task for consecutive episodes, with intervals; run by hand.

    python -m tests.bench.web_experiment web:local --model prior/verbs --json results.json

Each arm has a memory of its own, empty at first and shared by its tasks. Intervals are 95 % bootstrap intervals over
tasks; those of differences are paired by task. What was played is written down after every task, and the same command
goes on where it was stopped. `--show` prints the tables of a file alone.

Cross-task (Sec. 5): in the first episode at a task the memory knows other tasks alone, those of its site that came
before it. The second table has these episodes, of the tasks that have any before them on their site.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from pathlib import Path

import numpy as np

from engine.environments import profile
from engine.paths import saves_folder
from engine.records import Decided
from engine.session import recording
from engine.session import store as sessions
from engine.session.loop import Session
from engine.settings import SessionConfig
from engine.web.environment_factory import PREFIX, ready
from engine.web.tasks.suites import get

ARMS = ("static", "jitrl")
RESAMPLES = 5000


def main() -> int:
    """Play and print the table; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="tasks or suites, such as web:local-fossil")
    parser.add_argument("--model", default="prior/verbs")
    parser.add_argument("--episodes", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], dest="changes")
    parser.add_argument("--saves")
    parser.add_argument(
        "--static", type=Path, help="take what `static` did from this file: it has no memory to set"
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--show", type=Path, help="play nothing, print the tables of this file")
    parser.add_argument(
        "--against", type=Path, help="with --show: compare its `jitrl` with that of this file, too"
    )
    args = parser.parse_args()
    if args.show:
        kept = json.loads(args.show.read_text())
        print(tables(kept["results"]))
        if args.against:
            print("\n" + between(json.loads(args.against.read_text())["results"], kept["results"]))
        print("\n" + uses_table(saves_folder(args.saves), kept["owners"]["jitrl"]))
        return 0
    saves = saves_folder(args.saves)
    names = [each for name in args.names for each in ready(name, saves, os.environ)]
    changes = {key: value(given) for key, _, given in (text.partition("=") for text in args.changes)}
    settings = profile("default", "web", **changes)
    results, owners = [], {}
    if args.json and args.json.is_file():
        before = json.loads(args.json.read_text())
        results, owners = before["results"], before["owners"]
        # What an error of the machine cut off is played again.
        failed = {result["task"] for result in results if result["error"]}
        results = [result for result in results if result["task"] not in failed]
    done = {result["task"] for result in results}
    known = json.loads(args.static.read_text())["results"] if args.static else []
    known = [result for result in known if result["arm"] == "static" and not result["error"]]
    for number, name in enumerate(names, 1):
        if name in done:
            continue
        given = [r for r in known if r["task"] == name]
        results += given
        for arm in ARMS[bool(given) :]:
            owner = owners.get(arm)
            config = SessionConfig(
                name, arm, args.model, args.episodes, args.seed, "web", settings,
                memory=f"own:{owner}" if owner else "own",
            )  # fmt: skip
            saved = sessions.create(saves, config, "run")
            owners.setdefault(arm, saved.name)
            session = Session(saved, saves, lambda event: None)
            session.run()
            results.append({
                "task": name, "site": site(name, saves), "arm": arm, "error": str(session.error or ""),
                "scores": [e.score for e in session.results], "steps": [e.steps for e in session.results],
                "flips": [e.flips for e in session.results], "tokens": sum(e.tokens for e in session.results),
                "wall_s": round(sum(e.wall_s for e in session.results), 2),
            })  # fmt: skip
        last = [r["scores"] for r in results[-2:]]
        print(f"{number}/{len(names)} {name} static {last[0]} jitrl {last[1]}", file=sys.stderr, flush=True)
        if args.json:
            shown = {"names": args.names, "model": args.model, "seed": args.seed, "set": args.changes}
            args.json.write_text(json.dumps({"args": shown, "owners": owners, "results": results}, indent=1))
    print(tables(results))
    print("\n" + uses_table(saves, owners["jitrl"]))
    return 0


def value(text: str) -> float | int | str:
    """Return a setting as it is written on a command line."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def site(name: str, saves: Path) -> str:
    """Return the sites of a task in one word."""
    task = name.removeprefix(PREFIX)
    return "miniwob" if task.startswith("miniwob-") else get(task, saves).site


def tables(results: list[dict]) -> str:
    """Return what `table` and `cross_table` do."""
    return f"{table(results)}\n\n{cross_table(results)}"


def cross_table(results: list[dict]) -> str:
    """Return first episodes alone, of tasks whose site had tasks before them, by site."""
    rng = np.random.default_rng(0)
    rows = ["| sites | tasks | static % | jitrl % | difference | steps, static | steps, jitrl | memory changed, % |",
            "|---|---|---|---|---|---|---|---|"]  # fmt: skip
    seen: set[str] = set()
    later = []
    for task in dict.fromkeys(r["task"] for r in results):
        arms = {r["arm"]: r for r in results if r["task"] == task}
        if arms["static"]["site"] in seen and all(len(r["scores"]) for r in arms.values()):
            later.append(arms)
        seen.add(arms["static"]["site"])
    for name in ["all", *dict.fromkeys(arms["static"]["site"] for arms in later)]:
        mine = [arms for arms in later if name in ("all", arms["static"]["site"])]
        first = {arm: [arms[arm]["scores"][0] for arms in mine] for arm in ARMS}
        steps = {arm: [arms[arm]["steps"][0] for arms in mine] for arm in ARMS}
        flips = sum(arms["jitrl"]["flips"][0] for arms in mine)
        both = [b - a for a, b in zip(first["static"], first["jitrl"], strict=True)]
        rows.append(f"| {name} | {len(mine)} | {_shown(first['static'], rng)} | {_shown(first['jitrl'], rng)} "
                    f"| {_shown(both, rng)} | {_mean(steps['static'])} | {_mean(steps['jitrl'])} "
                    f"| {100 * flips / max(1, sum(steps['jitrl'])):.0f} |")  # fmt: skip
    return "\n".join(rows)


def uses_table(saves: Path, owner: str) -> str:
    """Return where the neighbours of jitrl's decisions came from, by site (the paper's Table on memory utilisation).

    Args:
        owner: The session whose memory the arm shares.
    """
    count: dict[str, Counter[str]] = {}
    for saved in sessions.saved_sessions(saves):
        if saved.config.agent != "jitrl" or owner not in (
            saved.name,
            saved.config.memory.removeprefix("own:"),
        ):
            continue
        task = saved.config.game
        intent = "" if "miniwob" in task else get(task.removeprefix(PREFIX), saves).intent
        mine = count.setdefault(site(task, saves), Counter())
        for _, event in recording.read(saved.recording):
            if isinstance(event, Decided):
                near = [n.state.endswith(f"] {intent}") for n in event.decision.update.neighbours]
                mine.update(decisions=1, informed=bool(near), same=sum(near), other=len(near) - sum(near))
    rows = [
        "| site | decisions | with neighbours % | neighbours of the same task % | of other tasks % |",
        "|---|---|---|---|---|",
    ]
    for name, mine in [("all", sum(count.values(), Counter())), *sorted(count.items())]:
        near = max(1, mine["same"] + mine["other"])
        rows.append(f"| {name} | {mine['decisions']} | {100 * mine['informed'] / max(1, mine['decisions']):.0f} "
                    f"| {100 * mine['same'] / near:.0f} | {100 * mine['other'] / near:.0f} |")  # fmt: skip
    return "\n".join(rows)


def between(before: list[dict], after: list[dict]) -> str:
    """Return what `jitrl` did in two files, the tasks that are in both, and the differences paired by task."""
    rng = np.random.default_rng(0)
    rows = ["| sites | tasks | jitrl of | Avg % | Final % | first % |", "|---|---|---|---|---|---|"]
    found = [
        {r["task"]: r for r in results if r["arm"] == "jitrl" and r["scores"]} for results in (before, after)
    ]
    both = [task for task in found[0] if task in found[1]]
    for name in ["all", *dict.fromkeys(found[0][task]["site"] for task in both)]:
        tasks = [task for task in both if name in ("all", found[0][task]["site"])]
        parts = [
            [[np.mean(arm[t]["scores"]), arm[t]["scores"][-1], arm[t]["scores"][0]] for t in tasks]
            for arm in found
        ]
        for title, values in (("the other file", parts[0]), ("this one", parts[1]),
                              ("difference", np.subtract(parts[1], parts[0]))):  # fmt: skip
            shown = " | ".join(_shown(list(np.asarray(values)[:, i]), rng) for i in range(3))
            rows.append(f"| {name} | {len(tasks)} | {title} | {shown} |")
    return "\n".join(rows)


def _mean(values: list[float]) -> str:
    return f"{np.mean(values):.1f}" if values else "-"


def table(results: list[dict]) -> str:
    """Return what the arms did, in all and by site, as a table in Markdown."""
    rng = np.random.default_rng(0)
    rows = ["| sites | tasks | arm | Avg % | Final % | steps an episode |", "|---|---|---|---|---|---|"]
    for name in ["all", *dict.fromkeys(r["site"] for r in results)]:
        mine = [r for r in results if name in ("all", r["site"])]
        tasks = [t for t in dict.fromkeys(r["task"] for r in mine)
                 if all(len(r["scores"]) for r in mine if r["task"] == t)]  # fmt: skip
        arms = {arm: {r["task"]: r for r in mine if r["arm"] == arm} for arm in ARMS}
        for arm, found in arms.items():
            avg = [np.mean(found[t]["scores"]) for t in tasks]
            rows.append(f"| {name} | {len(tasks)} | {arm} | {_shown(avg, rng)} "
                        f"| {_shown([found[t]['scores'][-1] for t in tasks], rng)} "
                        f"| {np.mean([np.mean(found[t]['steps']) for t in tasks]):.1f} |")  # fmt: skip
        avg = [np.mean(arms["jitrl"][t]["scores"]) - np.mean(arms["static"][t]["scores"]) for t in tasks]
        last = [arms["jitrl"][t]["scores"][-1] - arms["static"][t]["scores"][-1] for t in tasks]
        rows.append(f"| {name} | {len(tasks)} | difference | {_shown(avg, rng)} | {_shown(last, rng)} | |")
    return "\n".join(rows)


def _shown(values: list[float], rng: np.random.Generator) -> str:
    """Return a mean over tasks with its 95 % bootstrap interval, in percent."""
    given = np.asarray(values, float)
    if not len(given):
        return "-"
    means = given[rng.integers(0, len(given), (RESAMPLES, len(given)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return f"{100 * given.mean():.1f} [{100 * low:.1f}, {100 * high:.1f}]"


if __name__ == "__main__":
    sys.exit(main())
