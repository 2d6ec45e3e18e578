"""Checkpoints of a run, and what the trainers of SFT and GRPO are told alike."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from engine.settings.train import TrainingSettings

CHECKPOINTS = "checkpoints"
"""Folder of a run that they are in."""
STATE = "trainer_state.json"
"""File that the trainer writes last."""


def latest(folder: Path, also: str = STATE) -> Path | None:
    """Return the last whole checkpoint, None if there is none.

    Unfinished ones after it, which a kill leaves, are removed.

    Args:
        folder: Their folder.
        also: Name of another file that a whole one has.
    """
    found = sorted(
        (path for path in folder.glob("checkpoint-*") if path.name.rpartition("-")[2].isdigit()),
        key=lambda path: int(path.name.rpartition("-")[2]),
        reverse=True,
    )
    for path in found:
        if (path / STATE).is_file() and (path / also).is_file():
            return path
        shutil.rmtree(path, ignore_errors=True)
    return None


def arguments(settings: TrainingSettings, folder: Path, seed: int, *, cpu: bool) -> dict[str, Any]:
    """Return the arguments of TRL's configurations that do not depend on the method.

    Args:
        settings: The training settings.
        folder: Folder of the run.
        seed: Seed of torch's random numbers.
        cpu: Whether to compute on the CPU.
    """
    return {
        "output_dir": str(folder / CHECKPOINTS),
        "learning_rate": settings.learning_rate,
        "lr_scheduler_type": "constant",
        "max_grad_norm": settings.gradient_norm,
        "logging_steps": 1,
        "save_total_limit": settings.kept_checkpoints,
        "seed": seed,
        "use_cpu": cpu,
        "bf16": settings.precision == "bf16" and not cpu,
        "gradient_checkpointing": settings.activations == "recompute",  # TRL still sets the old name
        "activation_checkpointing": settings.activations == "recompute",
        "dataloader_pin_memory": not cpu,
        "disable_tqdm": True,
        "report_to": [],
    }
