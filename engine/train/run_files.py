"""The files of a run of training: where they are, its job, its manifest, its curve, its checkpoints.

All but the checkpoints are read and written on both sides, by the training process and by what started it.
"""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine import limits
from engine.codec import from_plain, to_plain
from engine.disk import read_bytes, read_text, write_json, write_private
from engine.errors import BadFile, FailingAs, ModelError, StorageError
from engine.settings import SessionConfig
from engine.settings.train import TrainingSettings

PYTHON = "JITRL_TRAIN"
"""Variable with the Python of a training environment, if it is not that in the saves folder."""


def train_folder(saves: Path) -> Path:
    """Return the folder of all that training keeps."""
    return saves / "train"


def runs_folder(saves: Path) -> Path:
    """Return the folder of the runs."""
    return train_folder(saves) / "runs"


def python_of(saves: Path, variables: Mapping[str, str] = os.environ) -> Path:
    """Return the Python of the training environment, whether or not it is there."""
    chosen = variables.get(PYTHON)
    return Path(chosen).expanduser().absolute() if chosen else train_folder(saves) / "venv" / "bin" / "python"


JOB = "job.json"
"""File of a run with its job."""


@dataclass(frozen=True, slots=True)
class TrainingJob:
    """What a training process is to do.

    Attributes:
        kind: "sft" or "grpo".
        name: Name of the run, and of the row in tables.
        folder: Folder of the run.
        saves: The saves folder.
        cache: Folder of what can be made anew.
        model: Name of the model.
        tasks: Full names of the environments.
        session: Configuration of the sessions that play; its `game` is the first task.
        settings: Values of the training settings, by name.
        recordings: Folders of sessions to learn from (SFT).
        walkthroughs: Whether solutions of the games are learnt from (SFT).
        dry: Whether only the trainer and one batch are built.
        write: Whether only the results of the last checkpoint are written.
    """

    kind: str
    name: str
    folder: str
    saves: str
    cache: str
    model: str
    tasks: tuple[str, ...]
    session: SessionConfig
    settings: Mapping[str, Any] = field(default_factory=dict)
    recordings: tuple[str, ...] = ()
    walkthroughs: bool = False
    dry: bool = False
    write: bool = False


@dataclass(frozen=True, slots=True)
class WeightUpdate:
    """One update of the weights, a line of the curve.

    Attributes:
        update: Its number, from 1.
        episodes: Episodes played so far. All counts are sums up to this update.
        environment_steps: Actions taken in them.
        prompt_tokens: Tokens of the prompts of their decisions.
        completion_tokens: Tokens of the answers that were scored.
        trained_tokens: Tokens that gradients were computed for.
        processor_s: Processor seconds of the training process and its children.
        wall_s: Seconds, without pauses between two calls.
        returns: Returns of this update's episodes; () for SFT.
        scores: Scores of this update's episodes.
        loss: Loss of the update.
        kl: Divergence from the weights at the start, nats a token; None where it is not computed.
        gradient_norm: Norm of the gradient before it was scaled down.
        entropy: Entropy of the choices, nats a token.
        idle: Share of groups with equal returns, which teach nothing.
        evaluation: Scores of the episodes that were played with the weights of this update and not trained with.
    """

    update: int
    episodes: int = 0
    environment_steps: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    trained_tokens: int = 0
    processor_s: float = 0.0
    wall_s: float = 0.0
    returns: tuple[float, ...] = ()
    scores: tuple[float, ...] = ()
    loss: float | None = None
    kl: float | None = None
    gradient_norm: float | None = None
    entropy: float | None = None
    idle: float | None = None
    evaluation: tuple[float, ...] = ()


MANIFEST = "manifest.json"


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a run, {} if there is none yet.

    Raises:
        BadFile: It is damaged.
    """
    path = folder / MANIFEST
    try:
        found = limits.parse_json(read_bytes(path)) if path.is_file() else {}
    except (OSError, ValueError) as error:
        raise BadFile(f"the manifest {path} is damaged: {error}") from None
    return dict(found) if isinstance(found, Mapping) else {}


def add_to_manifest(folder: Path, **more: Any) -> None:
    """Write more into the manifest of a run.

    Raises:
        StorageError: It cannot be written.
        BadFile: It is damaged.
    """
    write_json(folder / MANIFEST, {**read_manifest(folder), **more})


CURVE = "curve.jsonl"
"""File of a run."""
SAMPLES = ("episodes", "environment_steps", "prompt_tokens", "completion_tokens", "processor_s")
"""What a run has taken, as `samples` in its manifest; reports of benchmarks read it (`engine.bench.samples`)."""


def read_curve(folder: Path) -> list[WeightUpdate]:
    """Return the updates of a run, oldest first. A torn last line is passed over.

    Raises:
        BadFile: The file is damaged.
    """
    path = folder / CURVE
    if not path.is_file():
        return []
    found: list[WeightUpdate] = []
    for line in read_text(path).splitlines(keepends=True):
        if not line.endswith("\n"):
            break
        try:
            found.append(from_plain(WeightUpdate, limits.parse_json(line.encode())))
        except (BadFile, TypeError, ValueError, LookupError) as error:
            raise BadFile(f"the curve {path} is damaged: {error}") from None
    return found


def check_finite(step: int, logs: Mapping[str, float]) -> None:
    """Refuse an update whose gradient or loss is not a finite number; the trainer itself would go on and store it.

    Raises:
        ModelError: It is not.
    """
    if not all(math.isfinite(logs.get(name, 0.0)) for name in ("grad_norm", "loss")):
        raise ModelError(
            f"the gradient of update {step} is not a finite number, so training ended before it was stored; go on from "
            "the last checkpoint with a smaller --learning-rate, or in fp32"
        )


def write_curve(folder: Path, updates: Sequence[WeightUpdate]) -> None:
    """Write the curve of a run, and what the run has taken so far.

    Raises:
        StorageError: It cannot be written.
    """
    lines = "".join(json.dumps(to_plain(update), separators=(",", ":")) + "\n" for update in updates)
    last = updates[-1] if updates else WeightUpdate(0)
    with FailingAs(StorageError, f"cannot write in {folder}", "free some space"):
        write_private(folder / CURVE, lines)
    add_to_manifest(folder, samples={name: getattr(last, name) for name in SAMPLES})


CHECKPOINTS = "checkpoints"
"""Folder of a run that they are in."""
STATE = "trainer_state.json"
"""File that the trainer writes last."""


def latest_checkpoint(folder: Path, also: str = STATE) -> Path | None:
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


def trainer_arguments(settings: TrainingSettings, folder: Path, seed: int, *, cpu: bool) -> dict[str, Any]:
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
