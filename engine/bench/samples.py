"""Samples: what was played to reach a score, training included: episodes, environment steps, tokens, processor time.

A folder that `jitrl train` wrote has them in its `manifest.json`:

    {"samples": {"episodes": 400, "environment_steps": 24000, "prompt_tokens": 9000000, "completion_tokens": 120000,
                 "processor_s": 52000.0}}
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine import limits
from engine.bench.records import EpisodeRow, TimingRow
from engine.disk import printable, read_bytes
from engine.errors import BadFile, UsageError

MANIFEST = "manifest.json"
LOCAL = "local:"

PER: Mapping[str, str] = {
    "episode": "episodes", "step": "environment steps", "token": "tokens", "hour": "processor hours",
}  # fmt: skip
"""What samples can be counted in, with the name of the axis."""


@dataclass(frozen=True, slots=True)
class Samples:
    """Counts of what was played.

    Attributes:
        episodes: Number of episodes.
        environment_steps: Number of actions taken in them.
        prompt_tokens: Tokens of all prompts.
        completion_tokens: Tokens of all replies.
        processor_s: Processor seconds.
    """

    episodes: int = 0
    environment_steps: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    processor_s: float = 0.0

    def __add__(self, other: Samples) -> Samples:
        """Return the sum."""
        names = [spec.name for spec in dataclasses.fields(Samples)]
        return Samples(**{name: getattr(self, name) + getattr(other, name) for name in names})

    @property
    def tokens(self) -> int:
        """Tokens of prompts and replies."""
        return self.prompt_tokens + self.completion_tokens

    def amount(self, per: str) -> float:
        """Return the count in one of `PER`."""
        return {
            "episode": float(self.episodes), "step": float(self.environment_steps), "token": float(self.tokens),
            "hour": self.processor_s / 3600,
        }[per]  # fmt: skip


NONE = Samples()


def episode_samples(row: EpisodeRow, timing: TimingRow | None = None) -> Samples:
    """Return what one episode counts."""
    seconds = timing.processor_s if timing is not None else 0.0
    return Samples(1, row.steps, row.prompt_tokens, row.completion_tokens, seconds)


def total(parts: Iterable[Samples]) -> Samples:
    """Return the sum."""
    return sum(parts, NONE)


def of_plain(found: Any, where: str) -> Samples:
    """Return samples that were read.

    Args:
        where: How to call it in messages.

    Raises:
        BadFile: They are no counts.
    """
    counts = {}
    for spec in dataclasses.fields(Samples):
        value = found.get(spec.name, 0) if isinstance(found, Mapping) else None
        whole = spec.name != "processor_s"
        if not (limits.is_whole(value) if whole else limits.is_number(value)) or value is None or value < 0:
            raise BadFile(f"{where}: its samples are no counts: {spec.name}")
        counts[spec.name] = value
    return Samples(**counts)


def training_samples(model: str, folder: str = "") -> Samples | None:
    """Return what a model was trained with, None if nothing says so.

    Args:
        model: Name of the model. `local:PATH` is looked up: a folder that `jitrl train` wrote, or a file in it.
        folder: That folder, for a model that a server has; "" to look at the name alone.

    Raises:
        UsageError: `folder` is given and says nothing of samples.
        BadFile: Its counts are damaged.
    """
    if not folder and not model.startswith(LOCAL):
        return None
    file, manifest = _manifest(model, folder)
    if "samples" not in manifest:
        if folder:
            raise UsageError(f"{printable(file)} does not say what a model was trained with")
        return None
    return of_plain(manifest["samples"], printable(file))


def base(model: str, folder: str = "") -> str:
    """Return the model that a trained one was made from, "" if nothing says so.

    Args:
        model: As of `training_samples`.
        folder: As of `training_samples`.
    """
    if not folder and not model.startswith(LOCAL):
        return ""
    found = _manifest(model, folder)[1].get("model")
    return found if isinstance(found, str) else ""


def _manifest(model: str, folder: str) -> tuple[Path, Mapping[str, Any]]:
    """Return where the manifest of a training run is, and the manifest; {} if it cannot be read."""
    place = Path(folder or model.removeprefix(LOCAL)).expanduser()
    file = (place if place.is_dir() else place.parent) / MANIFEST
    try:
        manifest = limits.parse_json(read_bytes(file))
    except (OSError, BadFile):
        manifest = {}
    return file, manifest if isinstance(manifest, Mapping) else {}
