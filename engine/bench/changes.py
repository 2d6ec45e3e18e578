"""Changes what a run was begun with: where its stories are, and how many episodes it plays."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from engine.agents import AGENTS
from engine.bench import rows
from engine.bench.folder import cell_folder, locked, plan_of
from engine.bench.manifest import FINISHED, MANIFEST, STOPPED, read_manifest, write_manifest
from engine.bench.plan import BenchPlan
from engine.bench.suite import plain
from engine.disk import shown
from engine.errors import FailingAs, StorageError, UsageError


def change(folder: Path, games: str | None, episodes: int | None = None) -> None:
    """Let a run find its stories in another folder, and play more episodes on each task.

    Finished cells can be resumed if there are more episodes.

    Args:
        folder: The folder of the run.
        games: Additional folder with stories.
        episodes: Number of episodes, those that were played included; None for as many as before.

    Raises:
        UsageError: They are fewer than before, play would have been another one with so many, or the run is played now.
        BadFile: The manifest is damaged, or of a newer version.
        StorageError: The folder cannot be written.
    """
    with locked(folder):
        manifest = read_manifest(folder)
        plan = plan_of(manifest, shown(folder / MANIFEST))
        before = plan.suite.episodes
        if episodes is not None and episodes < before:
            raise UsageError(
                f"the run in {shown(folder)} has {before} episodes on each task, and --episodes can only be more; "
                "jitrl bench report --episodes counts fewer"
            )
        if episodes is not None and episodes > before:
            _check(plan)
            _take_up_again(folder, manifest)
            manifest["plan"] = plain(dataclasses.replace(plan.suite, episodes=episodes))
        elif games == plan.games:
            return
        manifest["games"] = games
        write_manifest(folder, manifest)


def _take_up_again(folder: Path, manifest: dict[str, Any]) -> None:
    """Let the finished cells of a run be resumed."""
    for name, cell in manifest["cells"].items():
        if cell["state"] == FINISHED:
            cell["state"] = STOPPED
        with FailingAs(StorageError, f"cannot write to {shown(folder)}"):
            (cell_folder(folder, name) / rows.DONE).unlink(missing_ok=True)


def _check(plan: BenchPlan) -> None:
    """Raise UsageError if a cell would have been played otherwise, had it been begun with more episodes."""
    for cell in plan.cells:
        settings, why = cell.legs[0].config.settings, ""
        if len(cell.legs) > 1:
            why = "plays several sessions with one memory"
        elif cell.legs[0].recorded:
            why = "has recorded episodes in place of played ones"
        elif AGENTS.find(cell.agent).learns and settings.settling > 0 and settings.estimator != "knn":
            why = f"explores less in the last of its episodes (settling={settings.settling:g})"
        if why:
            raise UsageError(f"this run cannot have more episodes: {cell.name} {why}; begin a new run")
