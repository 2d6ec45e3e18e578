"""The folder of a run: its manifest, its cells, and the rows of all cells in one file."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import platform
import re
import secrets
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from engine import limits
from engine.bench import rows
from engine.bench.records import FORMAT, Cell
from engine.bench.suite import Suite, plain
from engine.codec import to_plain
from engine.disk import open_binary, read_bytes, shown, write_private
from engine.errors import BadFile, StorageError, UsageError
from engine.paths import ensure_folder
from engine.session.manifest import code, versions

MANIFEST, LOCK = "manifest.json", "lock"
WAITING, RUNNING, FINISHED, FAILED, STOPPED = "waiting", "running", "finished", "failed", "stopped"
"""States of a cell in the manifest."""


def runs(saves: Path) -> Iterator[Path]:
    """Yield the folders of runs, the newest first."""
    root = saves / "bench"
    found = [folder for folder in root.iterdir() if (folder / MANIFEST).is_file()] if root.is_dir() else []
    yield from sorted(found, key=lambda folder: (folder / MANIFEST).stat().st_mtime, reverse=True)


def find(saves: Path, name: str) -> Path:
    """Return the folder of a run by its name or path; the newest for "last".

    Raises:
        UsageError: There is none.
    """
    if name == "last":
        newest = next(runs(saves), None)
        if newest is None:
            raise UsageError(f"there is no run in {shown(saves / 'bench')}; begin one with: jitrl bench run SUITE")
        return newest
    for folder in (saves / "bench" / name, Path(name)) if "/" not in name else (Path(name),):
        if (folder / MANIFEST).is_file():
            return folder
    raise UsageError(f"there is no run {name!r}; `jitrl bench ls` lists them")


def create(saves: Path, suite: Suite, cells: Sequence[Cell], name: str, command: str, games: str | None) -> Path:
    """Create the folder of a run and write its manifest; return the folder.

    Args:
        saves: The saves folder.
        suite: The suite, with all changes from the command line.
        cells: Its cells.
        name: Name of the run, "" for one made from suite and time.
        command: The command that begins it.
        games: Additional folder with stories.

    Raises:
        UsageError: There is a run of this name, or it cannot be the name of a folder.
        StorageError: The folder cannot be written.
    """
    if name and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", name):
        raise UsageError(f"a run cannot be named {name!r}: letters, digits, dots, dashes and underscores are possible")
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", suite.name)[:40]
    name = name or f"{time.strftime('%Y%m%d-%H%M%S')}-{stem}-{secrets.token_hex(2)}"
    folder = saves / "bench" / name
    if (folder / MANIFEST).exists():
        raise UsageError(f"there is a run {name!r} already; go on with: jitrl bench resume {name}")
    ensure_folder(ensure_folder(saves / "bench") / name)
    manifest = {
        "format": FORMAT,
        "name": name,
        "suite": suite.name,
        "title": suite.title,
        "created": round(time.time(), 3),
        "command": command,
        "games": games,
        "versions": versions(),
        "code": code(),
        "machine": machine(),
        "plan": plain(suite),
        "cells": {cell.name: _cell(cell) for cell in cells},
        "spent": {"usd": 0.0, "tokens": 0, "minutes": 0.0},
        "stopped": "",
    }
    write_manifest(folder, manifest)
    return folder


def _cell(cell: Cell) -> dict[str, Any]:
    """Return what the manifest says of a cell before it is played."""
    return {
        "arm": cell.arm,
        "agent": cell.agent,
        "model": cell.model,
        "seed": cell.seed,
        "tasks": list(dict.fromkeys(leg.task for leg in cell.legs)),
        "state": WAITING,
        "error": "",
        "settings": to_plain(cell.legs[0].config.settings),
    }


def machine() -> dict[str, Any]:
    """Return a description of this machine."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        cpu = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
        return _machine(cpu, memory)
    return _machine(platform.processor() or platform.machine(), memory)


def _machine(cpu: str, memory: float) -> dict[str, Any]:
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": cpu,
        "cores": os.cpu_count() or 1,
        "memory_gb": round(memory, 1),
        "python": platform.python_version(),
    }


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a run.

    Raises:
        BadFile: It is missing, damaged, or of a newer version.
    """
    path = folder / MANIFEST
    try:
        manifest = limits.parsed(read_bytes(path))
        newer = manifest["format"] > FORMAT
        cells = manifest["cells"]
        whole = isinstance(cells, dict) and all(isinstance(cell, dict) and "state" in cell for cell in cells.values())
        if not whole or not isinstance(manifest["plan"], dict) or not isinstance(manifest["spent"], dict):
            raise BadFile("its cells or its plan are missing")
    except (OSError, LookupError, TypeError, BadFile) as error:
        raise BadFile(f"{shown(path)} cannot be read ({error})") from None
    if newer:
        raise BadFile(f"{shown(path)} was made by a newer jitrl; update jitrl")
    found: dict[str, Any] = manifest
    return found


def write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    """Write the manifest.

    Raises:
        StorageError: It cannot be written. The former one is intact.
    """
    try:
        write_private(folder / MANIFEST, json.dumps(manifest, indent=1))
    except OSError as error:
        raise StorageError(f"cannot write to {shown(folder)}: {error.strerror}; free some space") from None


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes from playing this run.

    Raises:
        UsageError: Another process plays it.
        StorageError: The folder cannot be written.
    """
    try:
        fd = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StorageError(f"cannot write to {shown(folder)}: {error.strerror}") from None
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(f"the run in {shown(folder)} is being played by another process") from None
        yield
    finally:
        os.close(fd)


def cell_folder(folder: Path, name: str) -> Path:
    """Return the folder of a cell."""
    return folder / "cells" / name


def finished(folder: Path, name: str) -> bool:
    """Whether a cell was played to its end and its files were written."""
    return (cell_folder(folder, name) / rows.DONE).is_file()


def gather(folder: Path, names: Sequence[str]) -> None:
    """Write the rows of all cells into one file each, in the order of the plan.

    Raises:
        StorageError: They cannot be written.
        BadFile: The rows of a cell cannot be read.
    """
    for file in (rows.EPISODES, rows.TIMINGS):
        parts = []
        for name in names:
            path = cell_folder(folder, name) / file
            try:
                with open_binary(path) as lines:
                    parts.append(lines.read())
            except FileNotFoundError:
                continue
            except OSError as error:
                raise BadFile(f"cannot read {shown(path)}: {error.strerror}") from None
        try:
            write_private(folder / file, b"".join(parts))
        except OSError as error:
            raise StorageError(f"cannot write to {shown(folder)}: {error.strerror}; free some space") from None
