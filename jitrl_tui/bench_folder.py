"""The folder of a benchmark, read as the messages that its cells told."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from engine.bench.records import (
    Began,
    Cell,
    Ended,
    EpisodeRow,
    Failed,
    Finished,
    Message,
    Stopped,
    TimingRow,
)
from engine.codec import from_plain
from engine.disk import open_binary, read_bytes, shown
from engine.errors import BadFile
from engine.limits import LINE, parsed

Row = TypeVar("Row", EpisodeRow, TimingRow)


@dataclass(frozen=True, slots=True)
class CellState:
    """What the manifest says of a cell that was played: its state, and the error that ended it."""

    state: str
    error: str = ""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The part of `manifest.json` that is shown.

    Attributes:
        cells: States of the cells by name.
        stopped: Why the run ended early, "" if it did not.
    """

    cells: Mapping[str, CellState] = field(default_factory=dict)
    stopped: str = ""


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a run.

    Raises:
        BadFile: There is none, or it cannot be read.
    """
    path = folder / "manifest.json"
    try:
        return from_plain(Manifest, parsed(read_bytes(path)))
    except OSError as error:
        raise BadFile(f"cannot read {shown(path)}: {error.strerror}") from None
    except BadFile as error:
        raise BadFile(f"{shown(path)}: {error}") from None


def messages(folder: Path, manifest: Manifest, cells: Sequence[Cell]) -> Iterator[Message]:
    """Yield what each cell told, cell by cell. All its episodes were played before (`again`).

    Rows are those of the cell's own folder, or, if it has none, those of the whole run. A cell that was being played
    when its run was killed is stopped.

    Raises:
        BadFile: A file cannot be read, or has a row that the plan does not.
    """
    known = {cell.name: cell for cell in cells}
    episodes = _by_cell(folder / "episodes.jsonl", EpisodeRow, known)
    timings = _by_cell(folder / "timings.jsonl", TimingRow, known)
    for cell in cells:
        own = folder / "cells" / cell.name
        rows = _by_cell(own / "episodes.jsonl", EpisodeRow, known)[cell.name] or episodes[cell.name]
        times = _by_cell(own / "timings.jsonl", TimingRow, known)[cell.name] or timings[cell.name]
        now = manifest.cells.get(cell.name, CellState("waiting"))
        if rows or now.state != "waiting":
            yield Began(cell.name)
        took = {(time.leg, time.episode): time for time in times}
        for row in rows:
            yield _ended(row, took.get((row.leg, row.episode)))
        match now.state:
            case "finished":
                yield Finished(cell.name)
            case "failed":
                yield Failed(cell.name, now.error)
            case state if rows or state != "waiting":
                yield Stopped(cell.name)


def _ended(row: EpisodeRow, took: TimingRow | None) -> Ended:
    tokens, usd, wall = (took.paid_tokens, took.paid_usd, took.wall_s) if took else (0, 0.0, 0.0)
    return Ended(
        row.cell, row.leg, row.episode, row.score, row.max_score, row.steps, tokens, usd, wall, again=True
    )


def _by_cell(path: Path, kind: type[Row], known: Mapping[str, Cell]) -> defaultdict[str, list[Row]]:
    """Return the rows of a file by cell, none if there is no file. A last line without its end is left out."""
    rows: defaultdict[str, list[Row]] = defaultdict(list)
    try:
        with open_binary(path) as file:
            number = 0
            while (line := file.readline(LINE + 1)).endswith(b"\n"):
                number += 1
                row = _row(line, kind, known, f"{shown(path)}, line {number}")
                rows[row.cell].append(row)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise BadFile(f"cannot read {shown(path)}: {error.strerror}") from None
    return rows


def _row(line: bytes, kind: type[Row], known: Mapping[str, Cell], where: str) -> Row:
    try:
        row = from_plain(kind, parsed(line))
    except BadFile as error:
        raise BadFile(f"{where}: {error}") from None
    cell = known.get(row.cell)
    if cell is None or not 0 <= row.leg < len(cell.legs):
        raise BadFile(f"{where}: the plan of the run has no session {row.leg} of the cell {row.cell!r}")
    return row
