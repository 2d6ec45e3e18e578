"""Recall: are the actions that solve the local tasks among those offered, step by step?

    python -m tests.bench.web_recall --json recall.json

For each task `web_paths.json` has a way to do it with the browser, all of its actions written as memory keeps them. A
way is gone step by step, whether its next action was offered or not; the evaluator says at the end whether the task
was done. The exit code is 1 if one was not, or if an action was not offered that is on a page (`COMPUTED` has the
tasks whose answers are on none). Besides the recall the tables say where the action stands among all that were
offered, by the odds of `prior/verbs` (1 is the likeliest). Ways were written after looking at the sites; nothing of
the engine reads them.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

import numpy as np

from engine.errors import JitrlError
from engine.paths import saves_folder
from engine.records import ActionRequest
from engine.web.environment import WebEnvironment
from engine.web.environment_factory import open_web
from engine.web.prior import logits
from engine.web.sites.manager import Sites
from engine.web.tasks.suites import get, render

PATHS = Path(__file__).with_name("web_paths.json")
COMPUTED = frozenset({"38", "58", "241", "242", "243", "244", "245", "322", "323"})
"""Tasks with a text that is on no page: a sum, a difference, a count over pages, a list, two texts put together."""


def main() -> int:
    """Go all ways and print the tables; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tasks", nargs="*", help="numbers; all if none is given")
    parser.add_argument("--saves")
    parser.add_argument(
        "--json", type=Path, help="written after every task; the same command goes on with it"
    )
    args = parser.parse_args()
    saves = saves_folder(args.saves)
    urls = Sites(saves).urls()
    paths = json.loads(PATHS.read_text())
    results = json.loads(args.json.read_text()) if args.json and args.json.is_file() else {}
    for number in args.tasks or paths:
        if number in results:
            continue
        environment = open_web(f"web:local-{number}", saves, os.environ)
        try:
            found = go(environment, [render(action, urls) for action in paths[number]])
        finally:
            environment.close()
        results[number] = {"site": get(f"local-{number}", saves).site, **found}
        print(number, found["score"], found["missed"], found["ranks"], file=sys.stderr, flush=True)
        if args.json:
            args.json.write_text(json.dumps(results, indent=1))
    print(table(results))
    good = (each["score"] == 1.0 and (all(each["ranks"]) or number in COMPUTED) for number, each in results.items())
    return int(not all(good))


def go(environment: WebEnvironment, way: list[str]) -> dict:
    """Go a way; return its score, the rank of each action (0: not offered), and what was missed or impossible."""
    seen = environment.reset(1)
    abstractor = environment.abstractor()
    abstractor.begin(seen)
    ranks, missed = [], []
    for action in way:
        offered = environment.valid_actions()
        action = environment.resolve(action) or action  # As this page calls its element.
        request = ActionRequest("", "", abstractor.recent(5), seen.description, offered, 3)
        if action in offered:
            odds = logits(request)
            mine = odds[offered.index(action)]
            ranks.append(1 + sum(each > mine for each in odds))
        else:
            ranks.append(0)
            missed.append(action)
        seen = environment.step(action)
        abstractor.advance(action, seen)
        if "Error" in seen.text:
            missed[-1:] = [f"{action}: {seen.text.splitlines()[0]}"]
            break
    return {"score": seen.score, "ranks": ranks, "missed": missed}


def table(results: dict[str, dict]) -> str:
    """Return recall by site, in Markdown, and what was not offered."""
    rows = [
        "| sites | tasks | done this way | all offered | actions | offered % | median rank | in the first 3, % |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in ["all", *dict.fromkeys(r["site"] for r in results.values())]:
        mine = [r for r in results.values() if name in ("all", r["site"])]
        ranks = [rank for r in mine for rank in r["ranks"]]
        known = [rank for rank in ranks if rank]
        done, whole = sum(r["score"] == 1.0 for r in mine), sum(all(r["ranks"]) for r in mine)
        first = sum(rank <= 3 for rank in known)
        rows.append(
            f"| {name} | {len(mine)} | {done} | {whole} | {len(ranks)} | {100 * len(known) / max(1, len(ranks)):.0f} "
            f"| {np.median(known or [0]):.0f} | {100 * first / max(1, len(ranks)):.0f} |"
        )
    rows += [f"\n{number}: {'; '.join(r['missed'])}" for number, r in results.items() if r["missed"]]
    return "\n".join(rows)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except JitrlError as error:
        sys.exit(str(error))
