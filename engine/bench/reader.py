"""Reads the rows of a run, and tells them as the messages that its cells told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from engine import limits
from engine.bench import rows as rows_of
from engine.bench.folder import cell_folder, is_finished, plan_of
from engine.bench.manifest import FAILED, FINISHED, MANIFEST, WAITING
from engine.bench.records import Began, Cell, Ended, EpisodeRow, Failed, Finished, Message, Stopped, TimingRow
from engine.bench.rows import EPISODES, TIMINGS
from engine.codec import from_plain
from engine.disk import open_binary, printable
from engine.errors import BadFile, JitrlError, UsageError

T = TypeVar("T")


def records(file: Path, cls: type[T]) -> Iterator[T]:
    """Yield the records of a file with one per line; none if there is no file.

    A last line without its end, which a crash leaves, is ignored.

    Raises:
        BadFile: The file cannot be read, or a line is damaged.
    """
    number = 0
    try:
        with open_binary(file) as lines:
            while (line := lines.readline(limits.LINE + 1)).endswith(b"\n"):
                number += 1
                yield from_plain(cls, limits.parse_json(line))
    except FileNotFoundError:
        return
    except OSError as error:
        raise BadFile(f"{printable(file)} cannot be read: {error.strerror}") from None
    except BadFile as error:
        raise BadFile(f"line {number} of {printable(file)} cannot be read: {error}") from None


@dataclass
class PlayedEpisodes:
    """The finished episodes of a run or of a cell.

    Attributes:
        rows: The episodes, in the order of the cells.
        timings: What they took.
        about: What cells that are not finished were played with, by name, as the manifest says it of finished ones.
    """

    rows: list[EpisodeRow] = field(default_factory=list)
    timings: list[TimingRow] = field(default_factory=list)
    about: dict[str, dict[str, Any]] = field(default_factory=dict)


def read_played(folder: Path, manifest: dict[str, Any]) -> PlayedEpisodes:
    """Return the finished episodes of a run, also of one that is being played or was killed. Nothing is written.

    Those of a finished cell are in its files. Those of another one are read from its recordings. If a cell has no
    folder, they are in the files of the run.

    Raises:
        BadFile: A file cannot be read.
    """
    cells: dict[str, PlayedEpisodes] = {}
    for row in records(folder / EPISODES, EpisodeRow):
        cells.setdefault(row.cell, PlayedEpisodes()).rows.append(row)
    for timing in records(folder / TIMINGS, TimingRow):
        cells.setdefault(timing.cell, PlayedEpisodes()).timings.append(timing)
    own = [name for name in manifest["cells"] if cell_folder(folder, name).is_dir()]
    unfinished = [name for name in own if not is_finished(folder, name)]
    plan = _plan(manifest, printable(folder / MANIFEST)) if unfinished else {}
    for name in own:
        cells[name] = _of_cell(cell_folder(folder, name), plan.get(name) if name in unfinished else None)
    ordered = [cells.pop(name) for name in manifest["cells"] if name in cells] + list(cells.values())
    return PlayedEpisodes(
        [row for one in ordered for row in one.rows],
        [timing for one in ordered for timing in one.timings],
        {name: about for one in ordered for name, about in one.about.items()},
    )


def _plan(manifest: dict[str, Any], where: str) -> dict[str, Cell]:
    """Return the cells of a run by name; {} if this version cannot play it."""
    try:
        return {cell.name: cell for cell in plan_of(manifest, where).cells}
    except UsageError:
        return {}


def _of_cell(place: Path, cell: Cell | None) -> PlayedEpisodes:
    """Return what was played of a cell: from its recordings, or, if that fails or it is None, from its files."""
    if cell is not None:
        try:
            rows, timings, about = rows_of.read_cell(cell, place)
        except JitrlError:
            if not (place / EPISODES).is_file():
                raise
        else:
            return PlayedEpisodes(rows, timings, {cell.name: about} if rows else {})
    return PlayedEpisodes(list(records(place / EPISODES, EpisodeRow)), list(records(place / TIMINGS, TimingRow)))


def messages_before(folder: Path) -> Iterator[Ended]:
    """Yield the episodes in a folder, that of a run or of a cell, as messages.

    Raises:
        BadFile: A file cannot be read.
    """
    timings = {(row.cell, row.leg, row.episode): row for row in records(folder / TIMINGS, TimingRow)}
    for row in records(folder / EPISODES, EpisodeRow):
        took = timings.get((row.cell, row.leg, row.episode))
        tokens, usd, wall_s = (took.paid_tokens, took.paid_usd, took.wall_s) if took is not None else (0, 0.0, 0.0)
        yield Ended(
            row.cell, row.leg, row.episode, row.score, row.max_score, row.steps, tokens, usd, wall_s, again=True
        )


def messages(folder: Path, manifest: Mapping[str, Any], cells: Sequence[Cell]) -> Iterator[Message]:
    """Yield what each cell told, cell by cell. All its episodes were played before (`again`).

    Rows are those of the cell's own folder, or, if it has none, those of the whole run. A cell that was being played
    when its run was killed is stopped.

    Raises:
        BadFile: A file cannot be read, or has an episode that the plan does not have.
    """
    whole: dict[str, list[Ended]] = {}
    for ended in messages_before(folder):
        whole.setdefault(ended.cell, []).append(ended)
    for cell in cells:
        played = list(messages_before(folder / "cells" / cell.name)) or whole.get(cell.name, [])
        now = manifest["cells"].get(cell.name, {})
        state = now.get("state", WAITING)
        if not played and state == WAITING:
            continue
        yield Began(cell.name)
        for ended in played:
            if ended.cell != cell.name or not 0 <= ended.leg < len(cell.legs):
                raise BadFile(f"the plan of {printable(folder)} has no session {ended.leg} of the cell {ended.cell!r}")
            yield ended
        if state == FINISHED:
            yield Finished(cell.name)
        elif state == FAILED:
            yield Failed(cell.name, str(now.get("error", "")))
        else:
            yield Stopped(cell.name)
