"""`--track TOOL`: writes the episodes of a run for MLflow, Weights & Biases or TensorBoard, on this machine.

Each tool is one function, which gets the name of a run, its parameters and its episodes. Nothing is sent unless the
tool's own variables say so (`MLFLOW_TRACKING_URI`, `WANDB_MODE=online`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine import extras
from engine.errors import StorageError
from engine.paths import ensure_folder

if TYPE_CHECKING:
    from engine.bench.records import EpisodeRow
    from engine.records import EpisodeEnded

Metrics = Mapping[str, float]
"""Numbers of one episode by name."""


def of_episode(event: EpisodeEnded) -> Metrics:
    """Return what is told of an episode of a session; no cost where no price is known."""
    return _known(
        score=event.score, steps=event.steps, tokens=event.tokens, cost_usd=event.cost_usd, flips=event.flips,
        entries=event.memory_entries, searched=event.tally.searched, found=event.tally.found,
    )  # fmt: skip


def of_row(row: EpisodeRow) -> Metrics:
    """Return what is told of an episode of a benchmark, by the same names."""
    return _known(
        score=row.score, steps=row.steps, tokens=row.prompt_tokens + row.completion_tokens, cost_usd=row.cost_usd,
        flips=row.changed, entries=row.entries, searched=row.answers.get("searched"), found=row.answers.get("found"),
    )  # fmt: skip


def check(tool: str | None) -> None:
    """Check that the package of a tool is installed, before anything is played; None asks for no tool.

    Raises:
        MissingError: It is not.
    """
    if tool is not None:
        extras.require(f"track-{tool}")


def track(tool: str, saves: Path, name: str, params: Mapping[str, Any], episodes: Sequence[Metrics]) -> Path:
    """Write one run of a tool; return the folder of the tool's files.

    Args:
        tool: One of `TOOLS`.
        saves: The saves folder; the files go to `track/TOOL` in it.
        name: Name of the run.
        params: Settings and the like.
        episodes: Numbers of each episode, oldest first.

    Raises:
        StorageError: The tool cannot write.
    """
    folder = ensure_folder(ensure_folder(saves / "track") / tool)
    try:
        TOOLS[tool](folder, name, params, episodes)
    except Exception as error:  # of any kind: the package is not ours, and what was played must not be lost by it
        raise StorageError(f"{tool} could not write the run {name} to {folder}: {error}") from error
    return folder


def _known(**numbers: float | None) -> Metrics:
    return {name: float(number) for name, number in numbers.items() if number is not None}


def _tensorboard(folder: Path, name: str, params: Mapping[str, Any], episodes: Iterable[Metrics]) -> None:
    """Write event files with `tensorboard`, which needs no TensorFlow for that."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.plugins.text.summary_v2 import text_pb
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    for old in (folder / name).glob("events.out.*"):  # of the same run before it was resumed
        old.unlink()
    writer = EventFileWriter(str(folder / name))
    text = "\n".join(f"    {key} = {value}" for key, value in params.items())
    writer.add_event(Event(wall_time=time.time(), step=0, summary=text_pb("settings", text)))
    for number, metrics in enumerate(episodes, 1):
        values = [Summary.Value(tag=key, simple_value=value) for key, value in metrics.items()]
        writer.add_event(Event(wall_time=time.time(), step=number, summary=Summary(value=values)))
    writer.close()


def _mlflow(folder: Path, name: str, params: Mapping[str, Any], episodes: Iterable[Metrics]) -> None:
    """Write to the store of `MLFLOW_TRACKING_URI`, otherwise to files, and send no usage data unless told to."""
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=os.environ.get("MLFLOW_TRACKING_URI") or folder.absolute().as_uri())
    known = client.get_experiment_by_name("jitrl")
    experiment = known.experiment_id if known is not None else client.create_experiment("jitrl")
    run = client.create_run(experiment, run_name=name).info.run_id
    for key, value in params.items():
        client.log_param(run, key, str(value)[:500])
    for number, metrics in enumerate(episodes, 1):
        for key, value in metrics.items():
            client.log_metric(run, key, value, step=number)
    client.set_terminated(run)


def _wandb(folder: Path, name: str, params: Mapping[str, Any], episodes: Iterable[Metrics]) -> None:
    """Write a run that stays here until `wandb sync` sends it, unless `WANDB_MODE` says otherwise."""
    os.environ.setdefault("WANDB_MODE", "offline")
    os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
    os.environ.setdefault("WANDB_SILENT", "true")
    import wandb

    run = wandb.init(project=os.environ.get("WANDB_PROJECT", "jitrl"), name=name, config=dict(params), dir=str(folder))
    for number, metrics in enumerate(episodes, 1):
        run.log(dict(metrics), step=number)
    run.finish()


TOOLS: Mapping[str, Callable[[Path, str, Mapping[str, Any], Sequence[Metrics]], None]] = {
    "mlflow": _mlflow,
    "wandb": _wandb,
    "tensorboard": _tensorboard,
}
"""What writes for each tool, which is also the name of its package."""
