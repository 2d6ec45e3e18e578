"""Learning results on games: many seeds of several agents, learning curves and a table.

    python -m tests.bench.results_jericho --games FOLDER [--arms graph,knn] [--seeds 5] [--episodes 50] [--jobs 2]

Every run is a `jitrl run` of its own in an empty home with an empty memory. What is finished is kept in `--work` under
a name that holds the digest of its settings, so the whole can be interrupted and gone on with; only `--again` plays
anew. At the end `docs/results/jericho.md`, the curves (PNG) and all scores (CSV) are written from what there is.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from engine.environments import profile

GAMES = ("zork1", "zork3", "library", "pantry", "manor", "feast")
OWN = ("pantry", "manor", "feast")
PAPER = {"zork1": (53.0, 69.0), "library": (25.9, 30.0), "zork3": (3.1, 5.0)}
"""(average, final) of JitRL in the paper's Table 1, with Gemini-2.5-flash."""

ALGORITHM_1 = ("--estimator", "knn", "--set", "beta=1", "--set", "selection=sample", "--model", "prior/verbs")
"""The paper's estimator and update as they can be had without a language model."""

ARMS: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    "graph": ("graph, prior/verbs (profile default)", {}, ("--model", "prior/verbs")),
    "graph-uniform": ("graph, prior/uniform", {}, ("--model", "prior/uniform")),
    "graph-lm": ("graph, local/smollm2", {}, ("--model", "local/smollm2")),
    "graph-mixed": (
        "graph, local/smollm2 and prior/verbs, half and half",
        {},
        ("--model", "local/smollm2+prior/verbs"),
    ),
    "knn": ("knn, prior/verbs (Algorithm 1, β = 1)", {}, ALGORITHM_1),
    "static": (
        "no memory, prior/verbs",
        {},
        ("--agent", "static", *ALGORITHM_1),
    ),
    "random": ("any valid action", {}, ("--agent", "random")),
    "no-curiosity": ("graph without exploration", {"curiosity": 0.0}, ("--model", "prior/verbs")),
    "deaf": ("graph, exploring regardless of the prior", {"prior_weight": 0.0}, ("--model", "prior/verbs")),
}
"""Title, changed settings and options of each arm."""


@dataclass(frozen=True)
class Run:
    """One seed of one arm on one game."""

    arm: str
    game: str
    seed: int
    episodes: int
    steps: int

    @property
    def options(self) -> list[str]:
        """What `jitrl run` gets."""
        _, changes, options = ARMS[self.arm]
        sets = [word for name, value in changes.items() for word in ("--set", f"{name}={value}")]
        return [
            *options,
            *sets,
            "--episodes",
            str(self.episodes),
            "--steps",
            str(self.steps),
            "--seed",
            str(self.seed),
        ]

    @property
    def file(self) -> str:
        """Where the result is kept: its name tells the settings."""
        digest = hashlib.sha256(json.dumps([self.options, settings_digest()]).encode()).hexdigest()[:10]
        return f"{self.arm}-{self.game}-{self.seed}-{digest}.json"


def settings_digest() -> str:
    """Return the digest of the `default` profile: one setting for all games."""
    return hashlib.sha256(json.dumps(asdict(profile("default")), sort_keys=True).encode()).hexdigest()[:12]


def play(run: Run, games: Path | None, work: Path, cache: Path | None) -> str:
    """Play one run unless its result is there; return a line about it.

    Args:
        cache: Valid actions that runs share; without it each run looks for all of them itself.
    """
    target = work / run.file
    if target.is_file():
        return f"{run.arm} {run.game} {run.seed}: known"
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as home:
        out = Path(home) / "result.json"
        if cache is not None:
            (Path(home) / "cache").symlink_to(cache.resolve())
        where = ["--games", str(games)] if games is not None else []
        command = [sys.executable, "-m", "jitrl_tui.cli", "run", run.game, *where, "--saves", home, "--fresh",
                   "--quiet", "--json", str(out), *run.options]  # fmt: skip
        env = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
        if done.returncode != 0 or not out.is_file():
            last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
            return f"{run.arm} {run.game} {run.seed}: failed: {last}"
        result = json.loads(out.read_text())
    result["wall_s"] = time.monotonic() - begun
    part = target.with_suffix(".part")
    part.write_text(json.dumps(result))
    part.replace(target)
    scores = [episode["score"] for episode in result["episodes"]]
    return f"{run.arm} {run.game} {run.seed}: average {statistics.fmean(scores):.1f}, final {scores[-1]:g}"


def interval(values: Sequence[float]) -> str:
    """Return the mean with the half width of its 95 % interval (Student's t over seeds)."""
    mean = statistics.fmean(values)
    if len(values) < 2:
        return f"{mean:.1f}"
    t = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31, 10: 2.26}.get(
        len(values), 2.0
    )
    return f"{mean:.1f} ± {t * statistics.stdev(values) / math.sqrt(len(values)):.1f}"


def results(runs: Iterable[Run], work: Path) -> dict[tuple[str, str], list[tuple[Run, dict[str, Any]]]]:
    """Return the results there are, by arm and game."""
    found: dict[tuple[str, str], list[tuple[Run, dict[str, Any]]]] = {}
    for run in runs:
        if (work / run.file).is_file():
            result = json.loads((work / run.file).read_text())
            found.setdefault((run.arm, run.game), []).append((run, result))
    return found


def table(found: dict[tuple[str, str], list[tuple[Run, dict[str, Any]]]]) -> list[str]:
    """Return the lines of a Markdown table."""
    lines = [
        "| game | agent | seeds | average | last ten | final | best | paper's JitRL avg / final | s a run |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for game in GAMES:
        for arm in ARMS:
            got = found.get((arm, game))
            if not got:
                continue
            scores = [[e["score"] for e in result["episodes"]] for _, result in got]
            top = got[0][1]["episodes"][0].get("max_score")
            paper = f"{PAPER[game][0]} / {PAPER[game][1]:g}" if game in PAPER else f"– (maximum {top:g})"
            lines.append(
                f"| {game} | {ARMS[arm][0]} | {len(got)} | {interval([statistics.fmean(s) for s in scores])} | "
                f"{interval([statistics.fmean(s[-10:]) for s in scores])} | {interval([s[-1] for s in scores])} | "
                f"{max(map(max, scores)):g} | {paper} | {statistics.median(r['wall_s'] for _, r in got):.0f} |"
            )
    return lines


def curves(found: dict[tuple[str, str], list[tuple[Run, dict[str, Any]]]], target: Path) -> None:
    """Draw the mean score by episode with its 95 % interval, a panel a game."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import numpy as np

    games = [game for game in GAMES if any(key[1] == game for key in found)]
    columns = min(3, len(games))
    rows = -(-len(games) // columns)
    figure, panels = plt.subplots(rows, columns, figsize=(4.6 * columns, 3.4 * rows), squeeze=False)
    lines: dict[str, Any] = {}
    for panel, game in zip(panels.flat, games, strict=False):
        for number, arm in enumerate(ARMS):
            got = found.get((arm, game))
            if not got:
                continue
            colour = f"C{number}"  # an arm has the same in every panel
            scores = np.array([[e["score"] for e in result["episodes"]] for _, result in got], dtype=float)
            episodes, mean = np.arange(1, scores.shape[1] + 1), scores.mean(axis=0)
            (lines[arm],) = panel.plot(episodes, mean, label=ARMS[arm][0], linewidth=1.4, color=colour)
            if len(scores) > 1:
                half = 1.96 * scores.std(axis=0, ddof=1) / math.sqrt(len(scores))
                panel.fill_between(episodes, mean - half, mean + half, alpha=0.15, color=colour)
        if game in PAPER:
            panel.axhline(PAPER[game][0], color="grey", linestyle=":", linewidth=1)
        panel.set_title(game)
        panel.set_xlabel("episode")
        panel.set_ylabel("score")
    for panel in list(panels.flat)[len(games) :]:
        panel.axis("off")
    figure.tight_layout(rect=(0, 0.10, 1, 1))
    figure.legend(handles=list(lines.values()), loc="lower center", ncols=4, fontsize=8)
    figure.savefig(target, dpi=110)


def scores_csv(found: dict[tuple[str, str], list[tuple[Run, dict[str, Any]]]], target: Path) -> None:
    """Write every score of every run."""
    with target.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["arm", "game", "seed", "episode", "score", "steps"])
        for (arm, game), got in sorted(found.items()):
            for run, result in got:
                for number, episode in enumerate(result["episodes"], 1):
                    writer.writerow([arm, game, run.seed, number, f"{episode['score']:g}", episode["steps"]])


def main() -> None:
    """Run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--games", type=Path, default=Path(os.environ.get("JITRL_GAMES", "../shared/games")))
    parser.add_argument("--arms", default="graph,knn,static,random")
    parser.add_argument("--only", default=",".join(GAMES), help="games, joined by commas")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--episodes", type=int, default=50)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--work", type=Path, default=Path("saves/results"))
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    parser.add_argument(
        "--cache", type=Path, help="a folder of valid actions that the runs share: faster, same scores"
    )
    parser.add_argument("--write-only", action="store_true", help="only write what there is")
    args = parser.parse_args()
    games = args.games if args.games.is_dir() else None
    args.work.mkdir(parents=True, exist_ok=True)
    if args.cache is not None:
        args.cache.mkdir(parents=True, exist_ok=True)
    wanted = [
        Run(arm, game, seed, args.episodes, args.steps)
        for seed in range(1, args.seeds + 1)
        for arm in args.arms.split(",")
        for game in args.only.split(",")
        if game in OWN or games is not None
    ]
    if not args.write_only:
        with ThreadPoolExecutor(args.jobs) as pool:
            for line in pool.map(lambda run: play(run, games, args.work, args.cache), wanted):
                print(line, flush=True)
    everything = [
        Run(arm, game, seed, args.episodes, args.steps)
        for arm in ARMS
        for game in GAMES
        for seed in range(1, 33)
    ]
    found = results(everything, args.work)
    if not found:
        sys.exit("there are no results to write")
    args.out.mkdir(parents=True, exist_ok=True)
    scores_csv(found, args.out / "jericho.csv")
    curves(found, args.out / "jericho.png")
    page = args.out / "jericho.md"
    text = page.read_text() if page.is_file() else "# Results on games\n\n<!-- table -->\n<!-- end -->\n"
    head, _, rest = text.partition("<!-- table -->")
    _, _, tail = rest.partition("<!-- end -->")
    length = f"{args.episodes} episodes of {args.steps} steps"
    lines = [f"Settings: profile `default`, digest `{settings_digest()}`; {length}.", "", *table(found)]
    page.write_text(head + "<!-- table -->\n" + "\n".join(lines) + "\n<!-- end -->" + tail)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
