"""What both trainers do: follow an update, and write what came of a run.

Training ends when it is asked to, or when a gradient is not finite.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import gather_object
from transformers import TrainerCallback

from engine.errors import UsageError
from engine.session.manifest import code
from engine.settings.train import TrainingSettings
from engine.train import export
from engine.train.install import PACKAGES
from engine.train.run_files import TrainingJob, add_to_manifest, check_finite, read_curve
from engine.train.sources import ModelSource
from engine.train.work import Tell


class Following(TrainerCallback):  # type: ignore[misc]
    """Tells each update, and ends training when it is asked to, or when time is up.

    Args:
        told: Called with the number of the step and its numbers.
        stopped: Whether the user wants to stop.
        minutes: Minutes after which no update begins, 0 for no limit.
    """

    def __init__(
        self, report: Callable[[int, Mapping[str, float]], None], stopped: Callable[[], bool], minutes: float
    ) -> None:
        self._report, self._stopped = report, stopped
        self._until = time.monotonic() + 60 * minutes if minutes else None

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Tell the numbers of an update.

        Raises:
            ModelError: They are not finite.
        """
        if logs and "grad_norm" in logs:
            check_finite(int(state.global_step), logs)
            self._report(int(state.global_step), logs)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        """End training, with a checkpoint, in all processes after the same update."""
        wanted = self._stopped() or (self._until is not None and time.monotonic() > self._until)
        if any(gather_object([wanted])):
            control.should_training_stop = control.should_save = True
        return control


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
    updates = read_curve(folder)
    add_to_manifest(
        folder,
        updates=updates[-1].update if updates else 0,
        versions=versions(),
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


def versions() -> dict[str, str]:
    """Return the versions of the packages that train, in the training environment."""
    found: dict[str, str] = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
