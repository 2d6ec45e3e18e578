"""Plays dungeons with the graph estimator and without single parts of it: what each part contributes.

    python -m tests.bench.ablations [--seeds 2001-2012] [--episodes 25] [--arms full,openings,...] [--out results.jsonl]

A part is switched off by a number of `engine.settings.planning.PlanNumbers` at which it does nothing. All arms play the
same dungeons of five kinds, so they are compared dungeon by dungeon: printed are the mean difference from the arm
`full` with its standard error, of the share of all points over all episodes and over the last five, and by kind. With
--out, what was played is kept in a file of JSON lines and not played again.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from engine.environments import profile
from engine.settings.planning import PlanNumbers
from tests.bench.dungeons import play
from tests.bench.traces import KINDS

ARMS: dict[str, dict[str, float]] = {
    "full": {},
    "openings": {"shut_ways": 0},
    "joining gains": {"depth": 0},
    "beam": {"beam": 1, "width": 1},
    "trails": {"kept_trails": 0},
    "exact continuations": {"continuations": 0},
    "helpers of helpers": {"helped": 1},
    "making out of a kind": {"kinds": 0},
    "fetching from elsewhere": {"levels": 0},
    "carrying things about": {"carry": 0.0},
    "trying again elsewise": {"again": 0.0},
    "looking around": {"look_around": 0},
    "worthwhile detours only": {"worthwhile": 0.0},
    "cost of steps lost": {"step_value": 0.0},
    "care for a light": {"lightless": 0.0},
    "patience with plans": {"departures": 1000, "patience": 1000},
}
"""By part, the numbers that switch it off."""
_Played = dict[str, Any]


def played(arm: str, kind: str, seed: int, episodes: int) -> _Played:
    """Play one dungeon with one arm."""
    options = {one: one in KINDS[kind] for one in ("furnished", "untold", "armed", "waking")}
    begun = time.process_time()
    settings, numbers = profile("default"), PlanNumbers(**ARMS[arm])  # type: ignore[arg-type]
    shares, deaths = play(seed, episodes, 60, 99, restless=True, settings=settings, numbers=numbers, **options)
    return {
        "arm": arm, "kind": kind, "seed": seed, "episodes": episodes, "average": statistics.fmean(shares),
        "last": statistics.fmean(shares[-5:]), "deaths": deaths, "seconds": time.process_time() - begun,
    }  # fmt: skip


def difference(arm: dict[tuple[str, int], _Played], full: dict[tuple[str, int], _Played], what: str) -> str:
    """Return the mean difference of an arm from the full one and its standard error, over the dungeons both played.

    Dungeons of one seed have the same rooms, so the standard error is that of the means of the seeds.
    """
    by_seed = defaultdict[int, list[float]](list)
    for key in arm.keys() & full.keys():
        by_seed[key[1]].append(arm[key][what] - full[key][what])
    found = [statistics.fmean(of_seed) for of_seed in by_seed.values()]
    if len(found) < 2:
        return "–"
    return f"{statistics.fmean(found):+.3f} ± {statistics.stdev(found) / math.sqrt(len(found)):.3f}"


def table(results: list[_Played]) -> str:
    """Return the comparison as a table in Markdown."""
    arms: dict[str, dict[tuple[str, int], _Played]] = {}
    for one in results:
        arms.setdefault(one["arm"], {})[(one["kind"], one["seed"])] = one
    lines = [f"| without | dungeons | average | last five | {' | '.join(KINDS)} |", "|---" * (4 + len(KINDS)) + "|"]
    for name, arm in arms.items():
        kinds = ({key: one for key, one in arm.items() if key[0] == kind} for kind in KINDS)
        cells = [name, str(len(arm)), difference(arm, arms.get("full", {}), "average"),
                 difference(arm, arms.get("full", {}), "last"),
                 *(difference(of_kind, arms.get("full", {}), "average") for of_kind in kinds)]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Play and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", default="2001-2012", help="first and last dungeon of each kind")
    parser.add_argument("--episodes", type=int, default=25)
    parser.add_argument("--arms", default=",".join(ARMS), help="parts to leave out, and full")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    first, _, last = args.seeds.partition("-")
    known: list[_Played] = []
    if args.out is not None and args.out.exists():
        known = [json.loads(line) for line in args.out.read_text().splitlines()]
    done = {(one["arm"], one["kind"], one["seed"], one["episodes"]) for one in known}
    wanted = [(arm, kind, seed, args.episodes) for arm in args.arms.split(",")
              for seed in range(int(first), int(last or first) + 1) for kind in KINDS]  # fmt: skip
    with ProcessPoolExecutor(args.jobs) as pool:
        for one in pool.map(played, *zip(*(key for key in wanted if key not in done), strict=True)):
            known.append(one)
            if args.out is not None:
                with args.out.open("a") as file:
                    file.write(json.dumps(one) + "\n")
    print(table([one for one in known if (one["arm"], one["kind"], one["seed"], one["episodes"]) in set(wanted)]))


if __name__ == "__main__":
    main()
