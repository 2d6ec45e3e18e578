"""Cross-task on the web: each episode is another task of the same page, so memory never knows the one at hand.

    python -m tests.bench.web_cross --every 2 --json cross.json

MiniWoB++ makes a new task from every seed (other names, other things asked for) on a page of one URL: what memory has
was lived with other tasks, as in the paper's cold start (Sec. 5, Cross Task Generalization). `static` and `jitrl` see
the same tasks in the same order. Intervals are 95 % bootstrap intervals over pages; differences are paired by page.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

import numpy as np

from engine.environments import profile
from engine.paths import saves_folder
from engine.session import store as sessions
from engine.session.loop import Session
from engine.settings import SessionConfig
from engine.web.environment_factory import ready
from tests.bench.web_experiment import ARMS, _shown, value


class EachAnother(Session):
    """A session whose episodes have a seed each."""

    def _seed(self, number: int) -> int:
        return self._config.seed * 1000 + number


def main() -> int:
    """Play and print the table; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--every", type=int, default=1, help="take only every so many pages of the suite")
    parser.add_argument("--model", default="prior/verbs")
    parser.add_argument("--tasks", type=int, default=10, help="tasks of each page, one episode each")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], dest="changes", help="NAME=VALUE of a setting")
    parser.add_argument("--only", default="", help="pages with this in their name")
    parser.add_argument("--saves")
    parser.add_argument(
        "--static", type=Path, help="take what `static` did from this file: it has no memory to set"
    )
    parser.add_argument(
        "--json", type=Path, help="written after every page; the same command goes on with it"
    )
    parser.add_argument("--show", type=Path, help="play nothing, print the table of this file")
    parser.add_argument(
        "--against", type=Path, help="with --show: compare its `jitrl` with that of this file, too"
    )
    args = parser.parse_args()
    if args.show:
        shown = json.loads(args.show.read_text())
        print(table(shown))
        if args.against:
            print("\n" + between(json.loads(args.against.read_text()), shown))
        return 0
    saves = saves_folder(args.saves)
    names = ready("web:miniwob", saves, os.environ)[:: args.every]
    names = [name for name in names if args.only in name]
    settings = profile("default", "web", **{k: value(v) for k, _, v in (text.partition("=") for text in args.changes)})
    results = json.loads(args.json.read_text()) if args.json and args.json.is_file() else []
    # What an error of the machine cut off is played again.
    failed = {result["page"] for result in results if result["error"]}
    results = [result for result in results if result["page"] not in failed]
    done = {result["page"] for result in results}
    known = json.loads(args.static.read_text()) if args.static else []
    known = [result for result in known if result["arm"] == "static" and not result["error"]]
    for number, name in enumerate(names, 1):
        if name in done:
            continue
        given = [r for r in known if r["page"] == name]
        results += given
        for arm in ARMS[bool(given) :]:
            config = SessionConfig(
                name, arm, args.model, args.tasks, args.seed, "web", settings, memory="own"
            )
            session = EachAnother(sessions.create(saves, config, "run"), saves, lambda event: None)
            session.run()
            results.append({
                "page": name, "arm": arm, "error": str(session.error or ""),
                "scores": [e.score for e in session.results], "steps": [e.steps for e in session.results],
                "flips": [e.flips for e in session.results],
            })  # fmt: skip
        print(
            f"{number}/{len(names)} {name} {[sum(r['scores']) for r in results[-2:]]}",
            file=sys.stderr,
            flush=True,
        )
        if args.json:
            args.json.write_text(json.dumps(results, indent=1))
    print(table(results))
    return 0


def table(results: list[dict]) -> str:
    """Return the success of both arms, in all tasks and in the first and second half of them."""
    rng = np.random.default_rng(0)
    whole = [r for r in results if r["scores"] and not r["error"]]
    pages = [
        p for p in dict.fromkeys(r["page"] for r in whole) if sum(r["page"] == p for r in whole) == len(ARMS)
    ]
    arms = {arm: {r["page"]: r for r in whole if r["arm"] == arm} for arm in ARMS}
    parts = _parts(whole)
    rows = ["| tasks | static % | jitrl % | difference | steps, static | steps, jitrl | changed by memory % |",
            "|---|---|---|---|---|---|---|"]  # fmt: skip
    for name, part in parts:
        means = {arm: [float(np.mean(arms[arm][p]["scores"][part])) for p in pages] for arm in ARMS}
        steps = {arm: np.concatenate([arms[arm][p]["steps"][part] for p in pages]) for arm in ARMS}
        flips = np.concatenate([arms["jitrl"][p]["flips"][part] for p in pages])
        both = [b - a for a, b in zip(means["static"], means["jitrl"], strict=True)]
        rows.append(f"| {name} | {_shown(means['static'], rng)} | {_shown(means['jitrl'], rng)} | {_shown(both, rng)} "
                    f"| {steps['static'].mean():.1f} | {steps['jitrl'].mean():.1f} "
                    f"| {100 * flips.sum() / steps['jitrl'].sum():.0f} |")  # fmt: skip
    return f"{len(pages)} pages\n\n" + "\n".join(rows)


def between(before: list[dict], after: list[dict]) -> str:
    """Return how much more `jitrl` did in the second of two files, in percent, paired by page; and where it differs."""
    rng = np.random.default_rng(0)
    static = {r["page"]: r["scores"] for r in after if r["arm"] == "static"}
    old, new = (
        {r["page"]: r["scores"] for r in rows if r["arm"] == "jitrl" and not r["error"]}
        for rows in (before, after)
    )
    pages = [page for page in new if page in old]
    rows = ["| tasks | pages | jitrl of this file − of the other |", "|---|---|---|"]
    for name, part in _parts(after):
        both = [float(np.mean(new[p][part]) - np.mean(old[p][part])) for p in pages]
        rows.append(f"| {name} | {len(pages)} | {_shown(both, rng)} |")
    rows += ["", "| page | static | jitrl of the other file | jitrl of this one |", "|---|---|---|---|"]
    for page in pages:
        done = [sum(scores.get(page, ())) for scores in (static, old, new)]
        if len(set(done)) > 1:
            rows.append(f"| {page.removeprefix('web:miniwob-')} | {' | '.join(f'{n:.0f}' for n in done)} |")
    return "\n".join(rows)


def _parts(results: list[dict]) -> tuple[tuple[str, slice], ...]:
    half = len(results[0]["scores"]) // 2 if results else 0
    return ("all", slice(None)), ("first half", slice(half)), ("second half", slice(half, None))


if __name__ == "__main__":
    sys.exit(main())
