"""The curve of a run: a line of JSON for each update. What the run has taken so far is in its manifest."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from engine import limits
from engine.codec import from_plain, to_plain
from engine.disk import read_text, write_private
from engine.errors import BadFile, FailingAs, ModelError, StorageError
from engine.train import manifest
from engine.train.jobs import WeightUpdate

CURVE = "curve.jsonl"
"""File of a run."""
SAMPLES = ("episodes", "environment_steps", "prompt_tokens", "completion_tokens", "processor_s")
"""What a run has taken, as `samples` in its manifest; reports of benchmarks read it (`engine.bench.samples`)."""


def read(folder: Path) -> list[WeightUpdate]:
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
            found.append(from_plain(WeightUpdate, limits.parsed(line.encode())))
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


def write(folder: Path, updates: Sequence[WeightUpdate]) -> None:
    """Write the curve of a run, and what the run has taken so far.

    Raises:
        StorageError: It cannot be written.
    """
    lines = "".join(json.dumps(to_plain(update), separators=(",", ":")) + "\n" for update in updates)
    last = updates[-1] if updates else WeightUpdate(0)
    with FailingAs(StorageError, f"cannot write in {folder}", "free some space"):
        write_private(folder / CURVE, lines)
    manifest.add(folder, samples={name: getattr(last, name) for name in SAMPLES})
