"""The end of a run: its model, adapter and manifest."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

import torch

from engine.errors import UsageError
from engine.session.manifest import code
from engine.settings.train import TrainingSettings
from engine.train import curve, export, manifest
from engine.train.jobs import TrainingJob
from engine.train.sources import ModelSource
from engine.train.work import Tell


def finish(
    trainer: Any,
    tokenizer: Any,
    source: ModelSource,
    job: TrainingJob,
    settings: TrainingSettings,
    tell: Tell,
    stopped: bool,
) -> None:
    """Write what was trained. A run that was stopped only has checkpoints, because it goes on later.

    Raises:
        StorageError: It cannot be written.
    """
    if stopped or not trainer.accelerator.is_main_process:
        return
    folder = Path(job.folder)
    tell("say", "writing the adapter and the model")
    why = export.write(
        trainer.accelerator.unwrap_model(trainer.model), tokenizer, source, folder,
        prompt=settings.prompt, run=job.name, kind=settings.file_type,
    )  # fmt: skip
    updates = curve.read(folder)
    manifest.add(
        folder,
        updates=updates[-1].update if updates else 0,
        versions=manifest.versions(),
        code=code(),
        device=torch.cuda.get_device_name() if torch.cuda.is_available() else platform.processor() or "cpu",
        processes=int(trainer.accelerator.num_processes),
        model_file=not why,
    )
    if why:
        tell("say", f"no model file was written: {why}")


def write(
    trainer: Any,
    checkpoint: Path | None,
    tokenizer: Any,
    source: ModelSource,
    job: TrainingJob,
    settings: TrainingSettings,
    tell: Tell,
) -> None:
    """Write the results of the last checkpoint of a run that was stopped.

    Raises:
        UsageError: It has none.
        StorageError: They cannot be written.
    """
    if checkpoint is None:
        raise UsageError(
            f"the run {job.name} has no checkpoint yet; go on with: jitrl train resume {job.name}"
        )
    trainer._load_from_checkpoint(str(checkpoint))
    finish(trainer, tokenizer, source, job, settings, tell, stopped=False)
