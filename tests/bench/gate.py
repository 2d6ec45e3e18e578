"""The gate that a change of the learner must pass: versions of it, compared on stories and fresh dungeons.

    python -m tests.bench.gate --out DIR [--stories FOLDER] [--only NAME ...] [--seeds 1-3] [--dungeons 9301-9310]
        [--episodes 50] [--steps 60] [--arm NAME[=PART,PART...] ...] [--show]

An arm is a version of the learner: PART is the root of another checkout of the project, or NUMBER=VALUE of
`engine.settings.plan.PlanNumbers` or of the session's settings. Without parts it is the code beside this file.
A changed version needs another name: what an arm of this name has played is not played again.

Every run begins with an empty memory and has `prior/verbs` as its model. What was played is kept in
DIR/results.jsonl, one line a run. An interrupted gate goes on where it was, and several processes may work at one
DIR. All of them share the valid actions of states that any run came to, so later runs are quick. `--show` only
prints. `--stories` names the folder with stories beside the shipped ones (../shared/games). Valid actions are searched
without a limit: how busy the machine is changes no result.

Scores are divided by the best score that any arm had on the story in any episode. `repeated` is the share of
episodes with the same actions as an earlier one of the run, `frozen` the same within the first three quarters of a
run and where the maximum was not reached, `alike` the longest row of equal episodes without the maximum, `idle` the
share of steps that changed nothing, `turns` the longest row of steps in an episode without a gain among at most
three situations, on average, and `ms` the processor time of a decision. Zork I is shown, and no mean counts it.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ("pantry", "manor", "feast")
NOT_COUNTED = "zork1"
SUFFIXES = (".z3", ".z4", ".z5", ".z8")
COMPARED = ("average", "last", "repeated")
KEY = ("arm", "story", "seed", "episodes", "steps")
FIGURES = ("deaths", "repeated", "frozen", "alike", "idle", "turns", "ms")
_Row = dict[str, Any]
_Lived = list[dict[str, Any]]


# ------------------------------------------------------------------------------------------------- one run


def listen() -> _Lived:
    """Return a list that gets the episodes which agents of this process live from now on."""
    from engine.agents.jitrl import JitrlAgent

    lived: _Lived = []
    begin, decide, observe = JitrlAgent.begin_episode, JitrlAgent.decide, JitrlAgent.observe

    def began(self: Any, state: Any) -> None:
        lived.append({"actions": [], "rewards": [], "idle": 0, "lost": False, "max": None, "s": 0.0,
                      "at": [state.tokens]})  # fmt: skip
        begin(self, state)

    def decided(self: Any, *args: Any, **options: Any) -> Any:
        begun = time.process_time()
        decision = decide(self, *args, **options)
        lived[-1]["s"] += time.process_time() - begun
        return decision

    def observed(self: Any, step: Any, then: Any, *, observation: Any, terminated: bool, lost: bool) -> None:
        episode, same = lived[-1], step.state.tokens == then.tokens and not step.env_reward
        episode["actions"].append(step.action)
        episode["rewards"].append(step.env_reward)
        episode["at"].append(then.tokens)
        episode["idle"] += not step.changed if step.world_hash else same
        episode["lost"] |= lost
        episode["max"] = observation.max_score or episode["max"]
        observe(self, step, then, observation=observation, terminated=terminated, lost=lost)

    JitrlAgent.begin_episode, JitrlAgent.decide = began, decided  # type: ignore[method-assign]
    JitrlAgent.observe = observed  # type: ignore[method-assign]
    return lived


def in_turns(at: Sequence[tuple[str, ...]], rewards: Sequence[float], most: int = 3) -> int:
    """Return the longest row of steps without a gain among so many situations at most."""
    longest = first = 0
    for last in range(1, len(at)):
        if rewards[last - 1] > 0:
            first = last
        while len(set(at[first : last + 1])) > most:
            first += 1
        longest = max(longest, last - first)
    return longest


def measured(lived: _Lived) -> _Row:
    """Return what a run comes to."""
    scores = [sum(episode["rewards"]) for episode in lived]
    actions = [tuple(episode["actions"]) for episode in lived]
    top = [episode["max"] is not None and s >= episode["max"] for episode, s in zip(lived, scores, strict=True)]
    again = [one in actions[:number] for number, one in enumerate(actions)]
    row = alike = 0
    for number in range(1, len(lived)):
        row = row + 1 if actions[number] == actions[number - 1] and not top[number] else 0
        alike = max(alike, row + 1 if row else 0)
    early = range(max(1, len(lived) * 3 // 4))
    return {
        "average": statistics.fmean(scores), "last": statistics.fmean(scores[-10:]), "best": max(scores),
        "deaths": sum(episode["lost"] for episode in lived), "repeated": statistics.fmean(again),
        "frozen": statistics.fmean(again[n] and not top[n] for n in early), "alike": alike,
        "idle": sum(episode["idle"] for episode in lived) / max(1, sum(map(len, actions))),
        "turns": statistics.fmean(in_turns(episode["at"], episode["rewards"]) for episode in lived),
        "ms": 1000.0 * sum(episode["s"] for episode in lived) / max(1, sum(map(len, actions))), "scores": scores,
        "way": actions[scores.index(max(scores))],
    }  # fmt: skip


def play(job: _Row) -> _Row:
    """Play a run in this process."""
    from engine.environments import profile
    from engine.session.recording import Recorder
    from engine.settings.plan import PlanNumbers
    from engine.values import learnt
    from jitrl_tui import cli
    from tests.bench import dungeons, traces

    numbers = {name: one for name, one in job["changes"].items() if name in {n.name for n in fields(PlanNumbers)}}
    settings = {name: one for name, one in job["changes"].items() if name not in numbers}
    lived, kind = listen(), job["story"].partition("-")[0]
    if kind in traces.KINDS:
        options: Any = {one: one in traces.KINDS[kind] for one in ("furnished", "untold", "armed", "waking")}
        dungeons.play(job["seed"], job["episodes"], job["steps"], 99, restless=True, **options,
                      settings=profile("default", **settings), numbers=PlanNumbers(**numbers))  # fmt: skip
        return measured(lived)
    learnt.PlanNumbers = partial(PlanNumbers, **numbers)  # type: ignore[misc,assignment]
    Recorder.write = lambda *_: None  # type: ignore[method-assign,assignment]  # a third of the time, and read by nobody
    settings = {"valid_commands": 0, **settings}  # all valid actions, as in benchmarks
    changes = [part for name, one in settings.items() for part in ("--set", f"{name}={one}")]
    with tempfile.TemporaryDirectory() as home:
        Path(home, "cache").symlink_to(Path(job["cache"]))
        failed = cli.main(["run", job["story"], "--games", job["games"], "--saves", home, "--fresh", "--quiet",
                           "--model", "prior/verbs", "--episodes", str(job["episodes"]), "--steps", str(job["steps"]),
                           "--seed", str(job["seed"]), "--json", os.devnull, *changes])  # fmt: skip
    if failed:
        raise SystemExit(failed)
    return measured(lived)


# ------------------------------------------------------------------------------------------------- all runs


def parsed(arm: str) -> tuple[str, str, dict[str, Any]]:
    """Return the name of an arm, the root of its code, and the numbers that it changes."""
    name, _, parts = arm.partition("=")
    root, changes = str(ROOT), dict[str, Any]()
    for part in filter(None, parts.split(",")):
        what, _, value = part.partition("=")
        if value:
            changes[what] = json.loads(value) if value.lstrip("-")[:1].isdigit() else value
        else:
            root = str(Path(part).resolve())
    return name, root, changes


def key(row: _Row) -> tuple[Any, ...]:
    """Return what a run is known by."""
    return tuple(row[what] for what in KEY)


def rows(out: Path) -> list[_Row]:
    """Return what was played."""
    path = out / "results.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


def settle(job: _Row, out: Path, root: str) -> str:
    """Play a run in a process of its own unless another one does, or has; return a line about it."""
    name = "-".join(map(str, key(job)))
    with (out / f"{name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return ""
        if key(job) in map(key, rows(out)):
            return ""
        begun = time.monotonic()
        command = [sys.executable, "-P", __file__, "--play", json.dumps(job)]  # this file, with the code of the arm
        environment = {**os.environ, "PYTHONPATH": root}
        done = subprocess.run(command, env=environment, cwd=out, capture_output=True, text=True, check=False)
        if done.returncode:
            return f"{name}: {(done.stderr.strip().splitlines() or ['failed'])[-1]}"
        row = {what: job[what] for what in KEY} | json.loads(done.stdout.splitlines()[-1])
        with (out / "results.jsonl").open("a") as file:
            file.write(json.dumps(row | {"seconds": round(time.monotonic() - begun, 1)}) + "\n")
        (out / f"{name}.lock").unlink()
    return f"{name}: {row['average']:.2f} / {row['last']:.2f}, {row['deaths']} deaths, {row['alike']} alike"


# ------------------------------------------------------------------------------------------------- tables


def kind_of(story: str) -> str:
    """Return the group of a story."""
    if "-" in story:
        return "dungeons"
    return "shipped" if story in SHIPPED else "Zork I" if story == NOT_COUNTED else "real stories"


def difference(pairs: dict[str, list[float]]) -> str:
    """Return a mean difference with its 95 % interval: stories are drawn, and the seeds of a story belong together."""
    from engine.bench.measures import interval

    means = [statistics.fmean(of_story) for of_story in pairs.values()]
    ends = interval(means)
    return f"{statistics.fmean(means):+.3f}" + (f" [{ends[0]:+.3f}, {ends[1]:+.3f}]" if ends else "")


def tables(found: Iterable[_Row]) -> str:
    """Return everything as tables in Markdown; the first arm is the one that others are compared with."""
    best: defaultdict[str, float] = defaultdict(float)
    arms: dict[str, dict[tuple[str, int], _Row]] = {}
    for row in found:
        best[row["story"]] = max(best[row["story"]], row["best"])
        arms.setdefault(row["arm"], {})[(row["story"], row["seed"])] = row
    first, head = next(iter(arms.values()), {}), ["stories", "arm", "runs", "average", "last ten", *FIGURES]
    head += [f"{what}, difference" for what in COMPARED]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for kind in ("real stories", "Zork I", "shipped", "dungeons"):
        for name, arm in arms.items():
            own = {one: row for one, row in arm.items() if kind_of(one[0]) == kind and best[one[0]] > 0}
            if not own:
                continue
            cells = [kind, name, str(len(own))]
            for what in ("average", "last"):
                cells.append(f"{statistics.fmean(row[what] / best[row['story']] for row in own.values()):.3f}")
            cells += [f"{statistics.fmean(row[what] for row in own.values()):.2f}" for what in FIGURES]
            for what in COMPARED:
                pairs = defaultdict[str, list[float]](list)
                for one in own.keys() & first.keys():
                    by = 1.0 if what == "repeated" else best[one[0]]
                    pairs[one[0]].append((own[one][what] - first[one][what]) / by)
                cells.append(difference(pairs) if arm is not first and pairs else "")
            lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "| story | best | " + " | ".join(arms) + " |", "|---" * (2 + len(arms)) + "|"]
    for story in sorted(best, key=lambda story: (kind_of(story), story)):
        runs = ([row for one, row in sorted(arm.items()) if one[0] == story] for arm in arms.values())
        cells = (" · ".join(f"{r['average']:.1f} / {r['last']:.1f} ({r['alike']})" for r in of_arm) for of_arm in runs)
        lines.append(f"| {story} | {best[story]:g} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Play and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, help="folder of what was played, and of the cache of valid actions")
    parser.add_argument("--stories", type=Path, default=ROOT.parent / "shared" / "games")
    parser.add_argument("--only", nargs="*", help="only these stories, shipped ones and kinds of dungeons")
    parser.add_argument("--seeds", default="1-3", help="first and last seed of each story")
    parser.add_argument("--dungeons", default="9301-9310", help="first and last dungeon of each kind")
    parser.add_argument("--episodes", type=int, default=50)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--arm", action="append", help="NAME[=PART,PART...]; the first is the one to compare with")
    parser.add_argument("--show", action="store_true", help="play nothing")
    parser.add_argument("--play", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.play:
        return print(json.dumps(play(json.loads(args.play))))
    if args.out is None:
        parser.error("--out is missing")
    from tests.bench.traces import KINDS

    (out := args.out.resolve()).joinpath("cache").mkdir(parents=True, exist_ok=True)
    ranges = (args.seeds.partition("-"), args.dungeons.partition("-"))
    seeds, mazes = (range(int(first), int(last or first) + 1) for first, _, last in ranges)
    stories = [*SHIPPED, *sorted(file.stem for file in args.stories.iterdir() if file.suffix in SUFFIXES)]
    runs = [(story, seed) for seed in seeds for story in stories]
    runs += [(f"{kind}-{seed}", seed) for seed in mazes for kind in KINDS]
    wanted = [run for run in runs if not args.only or run[0].partition("-")[0] in args.only]
    arms = [parsed(arm) for arm in args.arm or ["now"]]
    shared = {"episodes": args.episodes, "steps": args.steps, "cache": str(out / "cache"),
              "games": str(args.stories.resolve())}  # fmt: skip
    jobs = [({"arm": arm, "story": story, "seed": seed, "changes": changes, **shared}, root)
            for story, seed in wanted for arm, root, changes in arms]  # fmt: skip
    for job, root in () if args.show else jobs:
        if line := settle(job, out, root):
            print(line, flush=True)
    known = {key(row): row for row in rows(out)}
    print(tables(known[key(job)] for arm, _, _ in arms for job, _ in jobs if job["arm"] == arm and key(job) in known))


if __name__ == "__main__":
    main()
