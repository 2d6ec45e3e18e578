"""How much memory training needs, estimated before anything is loaded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from engine.errors import MissingError
from engine.settings.train import GrpoSettings, SftSettings, TrainingSettings
from engine.train.sources import ModelSource

RUNTIME = 450 * 2**20
"""Bytes of Python with torch and the trainer, without a model."""
ACTIVATIONS = 170
"""Bytes for each token, layer and number of a layer, in 32 bits (measured: 3 MB a token for SmolLM2-135M)."""
OPTIMIZER = 12
"""Bytes for each trained weight besides the weight itself: its gradient and two moments."""


def bytes_needed(source: ModelSource, settings: TrainingSettings) -> int:
    """Return the bytes that training needs at most, with prompts as long as the settings allow."""
    wide = 2 if settings.precision == "bf16" else 4
    # What is trained stays at 32 bits, and is copied to compute in 16.
    weight = wide if settings.lora_rank else 4 + 2 * (wide == 2)
    # Seven matrices a layer; the three of the feed-forward part are about three times as wide on one side.
    adapter = settings.lora_rank * source.layers * source.hidden * 20
    trained = adapter * (4 + OPTIMIZER) if settings.lora_rank else source.parameters * OPTIMIZER
    tokens = settings.micro_batch * settings.train_prompt_tokens
    scored = tokens if isinstance(settings, SftSettings) else settings.micro_batch * 16
    reference = source.parameters * 4 if isinstance(settings, GrpoSettings) and _copies(settings) else 0
    kept = 1 if settings.activations == "recompute" else source.layers
    activations = tokens * kept * source.hidden * ACTIVATIONS * wide // 4
    return (
        RUNTIME
        + source.parameters * weight
        + reference
        + trained
        + activations
        + scored * source.vocabulary * 12
    )


def _copies(settings: GrpoSettings) -> bool:
    """Whether the weights at the start are kept beside those that are trained. An adapter can be left out instead."""
    return settings.kl > 0 and settings.lora_rank == 0


def check(source: ModelSource, settings: TrainingSettings, available: Callable[[], int] | None = None) -> None:
    """Refuse a model that does not fit into memory.

    Args:
        source: The model.
        settings: The training settings.
        available: Returns the free bytes; those of this machine if None.

    Raises:
        MissingError: It does not fit.
    """
    needed, free = bytes_needed(source, settings), (available or free_memory)()
    if needed > free:
        raise MissingError(
            f"training {source.name} needs about {needed / 2**30:.1f} GB of memory, and {free / 2**30:.1f} GB are "
            "free; a smaller --micro-batch or --train-prompt-tokens needs less"
        )


def free_memory() -> int:
    """Return the bytes that this process may still use: those of the machine, or of its control group."""
    free = 1 << 62
    for line in _lines(Path("/proc/meminfo")):
        if line.startswith("MemAvailable:"):
            free = int(line.split()[1]) * 1024
    limit = next(iter(_lines(Path("/sys/fs/cgroup/memory.max"))), "max").strip()
    used = next(iter(_lines(Path("/sys/fs/cgroup/memory.current"))), "0").strip()
    if limit.isdigit() and used.isdigit():
        free = min(free, int(limit) - int(used))
    return free


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def has_gpu() -> bool:
    """Whether this machine has a GPU of NVIDIA or AMD. Then weights do not have to fit into the main memory."""
    return Path("/proc/driver/nvidia/version").exists() or Path("/dev/kfd").exists()
