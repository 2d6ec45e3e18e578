"""A suite for `jitrl bench` that compares training runs with the same model untrained, and with JitRL."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from engine.errors import UsageError
from engine.train.runs import TrainingRun

PLAYED = {"selection": "sample", "candidates": 1000}
"""Settings with which a trained policy is played as it was sampled."""


def suite(runs: Sequence[TrainingRun], episodes: int) -> str:
    """Return the suite as TOML.

    Its rows: the untrained model alone, JitRL with it, each run as it was trained before and plays now, and each run
    of GRPO while it was trained (online).

    Args:
        runs: Runs of the same model, tasks and step limit.
        episodes: Episodes of each row.

    Raises:
        UsageError: There is none, or they cannot be compared, or one was not written yet.
    """
    if not runs:
        raise UsageError("name the training runs to compare; `jitrl train ls` lists them")
    first = runs[0].job
    steps = first.session.settings.step_limit
    for run in runs:
        if (run.job.model, run.job.tasks, run.job.session.settings.step_limit) != (first.model, first.tasks, steps):
            raise UsageError(f"{run.job.name} and {first.name} differ in model, games, or steps of an episode")
        if not run.written:
            raise UsageError(f"{run.job.name} is not written yet; write it with: jitrl train write {run.job.name}")
    alone = {"selection": "sample", "beta": 1.0}
    arms: list[Mapping[str, Any]] = [
        {"name": "Static", "agent": "static", "model": first.model, "settings": alone, "reference": True},
        {"name": "JitRL", "agent": "jitrl", "model": first.model},
    ]
    for run in runs:
        arms.append({"name": run.job.name, "agent": "static", "model": f"local:{run.folder}", "settings": PLAYED})
        if run.job.kind == "grpo":
            arms.append({"name": f"{run.job.name} (online)", "agent": "static", "model": run.job.model,
                         "recorded": str(run.folder / "rollouts"), "settings": PLAYED})  # fmt: skip
    head = {
        "title": f"Weights against memory: {', '.join(first.tasks)}",
        "about": "Rows of training runs play with weights that stay as they are; rows marked (online) are the episodes "
        "that they were trained with.",
        "tasks": list(first.tasks),
        "episodes": episodes,
        "steps": steps,
        "seeds": [first.session.seed],
    }
    report = '[report]\nmeasures = ["avg", "final", "best"]\n'
    return "\n".join([_table(head), *("[[arms]]\n" + _table(arm) for arm in arms), report])


def _table(values: Mapping[str, Any]) -> str:
    return "".join(f"{name} = {_value(value)}\n" for name, value in values.items())


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{name} = {_value(each)}" for name, each in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)  # texts, numbers, lists and true are the same in TOML
