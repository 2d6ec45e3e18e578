"""The manifest of a run: what is played, with what, on which machine, and what became of each cell."""

from __future__ import annotations

import contextlib
import os
import platform
from pathlib import Path
from typing import Any

from engine import limits
from engine.bench.records import FORMAT
from engine.disk import printable, read_bytes, write_json
from engine.errors import BadFile, UsageError

MANIFEST = "manifest.json"
"""Name of the file."""
WAITING, RUNNING, FINISHED, FAILED, STOPPED = "waiting", "running", "finished", "failed", "stopped"
"""States of a cell."""
NOTHING = {"usd": 0.0, "tokens": 0, "minutes": 0.0}
"""What a run has spent before it begins."""


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a run, checked so far that a report can be made of it.

    Raises:
        UsageError: There is no run in the folder.
        BadFile: The manifest is damaged, or was written by a newer version.
    """
    file = folder / MANIFEST
    try:
        found = limits.parse_json(read_bytes(file))
    except FileNotFoundError:
        raise UsageError(f"there is no run of a benchmark in {printable(folder)}: it has no {MANIFEST}") from None
    except (OSError, BadFile) as error:
        raise BadFile(f"{printable(file)} cannot be read: {error}") from None
    return check_manifest(found, printable(file))


def check_manifest(found: Any, where: str) -> dict[str, Any]:
    """Return a manifest that was read, checked so far that a report can be made of it.

    Args:
        found: What was read.
        where: How to call it in messages.

    Raises:
        BadFile: It is damaged, or was written by a newer version.
    """
    if wrong := _wrong(found):
        raise BadFile(f"{where} is damaged: {wrong}")
    if found["format"] > FORMAT:
        raise BadFile(f"{where} was written by a newer jitrl (format {found['format']}); update jitrl")
    manifest: dict[str, Any] = found
    return manifest


def write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    """Write the manifest.

    Raises:
        StorageError: It cannot be written. The former one is intact.
    """
    write_json(folder / MANIFEST, manifest)


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


def _is_amount(name: str, value: Any) -> bool:
    """Whether `value` can be what was spent of `name`: a number, or None for US dollars of which a price is unknown."""
    return limits.is_number(value) or (name == "usd" and value is None)


def _wrong(manifest: Any) -> str:
    """Return what is wrong with a manifest, "" if a report can be made of it. What may be missing is filled in."""
    if not isinstance(manifest, dict):
        return "it is no object"
    if not limits.is_whole(manifest.get("format")):
        return "it has no format"
    spent = manifest.setdefault("spent", dict(NOTHING))
    if not isinstance(spent, dict) or not all(_is_amount(name, spent.get(name)) for name in NOTHING):
        return "it does not say what was spent"
    if not isinstance(manifest.setdefault("tasks", {}), dict) or not isinstance(manifest.setdefault("train", {}), dict):
        return "its tasks are no object"
    for name in ("plan", "cells"):
        if not isinstance(manifest.get(name), dict):
            return f"it has no {name}"
    if manifest["plan"].get("report") is not None and not isinstance(manifest["plan"]["report"], dict):
        return "the report of its plan is no object"
    for name in ("tasks", "train", "models", "arms"):
        if manifest["plan"].get(name) is not None and not isinstance(manifest["plan"][name], list):
            return f"the {name} of its plan are no list"
    if not all(isinstance(arm, dict) for arm in manifest["plan"].get("arms") or []):
        return "an arm of its plan is no object"
    for name, cell in manifest["cells"].items():
        if not isinstance(cell, dict) or not isinstance(cell.get("arm"), str) or not limits.is_whole(cell.get("seed")):
            return f"the cell {limits.short_text(name)} has no arm or no seed"
        if not limits.is_whole(cell.get("workers", 1)):
            return f"the workers of the cell {limits.short_text(name)} are no whole number"
        if not isinstance(cell.setdefault("state", WAITING), str):
            return f"the state of the cell {limits.short_text(name)} is no text"
        if not isinstance(cell.get("tasks"), list) or not all(isinstance(task, str) for task in cell["tasks"]):
            return f"the cell {limits.short_text(name)} has no tasks"
        if not all(isinstance(cell.get(key, {}), dict) for key in ("settings", "prompts", "stories")):
            return f"the settings of the cell {limits.short_text(name)} are no object"
        if not isinstance(cell.get("training", {}), dict):
            return f"the training of the cell {limits.short_text(name)} is no object"
        if not isinstance(cell.get("model", ""), str):
            return f"the model of the cell {limits.short_text(name)} is no text"
    return ""
