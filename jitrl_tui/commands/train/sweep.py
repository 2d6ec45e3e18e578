"""`jitrl train sweep`: the paper's sweep of GRPO, one run after the other, and what their evaluations scored."""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.paths import saves_folder
from jitrl_tui.commands.train.jobs import add_grpo, grpo

if TYPE_CHECKING:
    from engine.train.runs import TrainingRun

SWEPT = ("group", "batch", "epochs_of_batch", "learning_rate")
"""The settings that differ from run to run."""


def register(actions: Any, common: argparse.ArgumentParser) -> None:
    """Add `sweep`."""
    parser = actions.add_parser(
        "sweep", parents=[common], help="the paper's sweep of GRPO's settings, run after run",
        description="Train with each setting of the paper's sweep in turn, and compare the scores of the episodes that "
                    "were played after each update. The same command goes on where it was stopped.",
    )  # fmt: skip
    add_grpo(parser, "*", "what `jitrl run` plays (default: zork1, as in the paper)", without=SWEPT)
    parser.set_defaults(handler=_sweep)


def _sweep(args: argparse.Namespace) -> int:
    from engine.train.runs import runs

    suite = tomllib.loads((files("engine.train") / "grpo_sweep.toml").read_text(encoding="utf-8"))
    base = args.name or f"{Path((args.tasks or ['zork1'])[0]).stem.replace(':', '-').lower()}-sweep"
    for name in ("steps", "updates", "evaluations"):
        if getattr(args, name) is None:
            setattr(args, name, suite[name])
    saves = saves_folder(args.saves)
    names = []
    for row in suite["runs"]:
        names.append(f"{base}-g{row['group']}-b{row['batch']}-e{row['epochs_of_batch']}-lr{row['learning_rate']:g}")
        done = any(run.job.name == names[-1] and run.written for run in runs(saves))
        again = argparse.Namespace(**{**vars(args), **row, "tasks": args.tasks or ["zork1"], "name": names[-1]})
        if not done and (code := grpo(again)):
            print(f"{len(names) - 1} of {len(suite['runs'])} runs are there; the same command goes on", file=sys.stderr)
            return code
    if not args.dry_run:
        found = {run.job.name: run for run in runs(saves)}
        print(table(suite["runs"], [found[name] for name in names], suite["published"]))
    return 0


def table(rows: Sequence[Mapping[str, Any]], runs: Sequence[TrainingRun], published: str) -> str:
    """Return the scores of the evaluations of each run, beside those of the paper."""
    from engine.bench.published import published as published_table

    papers = published_table(published)
    lines = [f"group  batch  epochs  rate      mean    max    min  episodes   paper ({papers.model}): mean  max  min"]
    for row, run, paper in zip(rows, runs, papers.rows, strict=True):
        scores = [score for update in run.updates for score in update.evaluation]
        mean, most, least = (sum(scores) / len(scores), max(scores), min(scores)) if scores else (0.0, 0.0, 0.0)
        told = f"{mean:7.1f} {most:6g} {least:6g}" if scores else f"{'none':>7} {'':6} {'':6}"
        episodes = run.updates[-1].episodes if run.updates else 0
        lines.append(
            f"{row['group']:5d}  {row['batch']:5d}  {row['epochs_of_batch']:6d}  {row['learning_rate']:<5g} {told} "
            f"{episodes:9d}   {'  '.join(str(value) for value in paper.values)}"
        )
    return "\n".join(lines)
