"""`jitrl export SESSION|RUN`: one row for each candidate of each decision, for other programs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.session.candidates import CandidateRow

FORMATS = ("csv", "jsonl", "parquet")


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "export", parents=[common], help="one row for each candidate of each decision: CSV, JSON lines, Parquet",
        description="Write one row for each candidate of each decision of a session, or of all sessions of a "
                    "benchmark's run. Parquet takes: jitrl up parquet.",
    )  # fmt: skip
    parser.add_argument("name", metavar="SESSION|RUN", help="a session or a run: its name, its folder or its recording")
    parser.add_argument("--to", choices=FORMATS, help="the format (that of FILE's name, or csv)")
    parser.add_argument("-o", "--output", metavar="FILE", help="where it goes (stdout)")
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    """Write the rows; return the exit code."""
    from engine.disk import shown
    from engine.errors import UsageError
    from engine.paths import saves_folder
    from engine.session import tables

    target = None if args.output in (None, "-") else Path(args.output)
    form = args.to or (target.suffix.removeprefix(".") if target is not None else "csv")
    if form not in FORMATS:
        raise UsageError(f"--to is needed: {shown(str(args.output))} does not end with .{', .'.join(FORMATS)}")
    if form == "parquet" and target is None:
        raise UsageError("Parquet is no text: name a file with -o")
    rows = _rows(args.name, saves_folder(args.saves))
    if target is None:
        tables.write(rows, form, sys.stdout)
    else:
        count = tables.save(rows, form, target)
        print(f"wrote {count:,} rows to {shown(target)}", file=sys.stderr)
    return 0


def _rows(name: str, saves: Path) -> Iterator[CandidateRow]:
    from engine.session.candidates import candidate_rows

    return (row for path, cell in recordings(name, saves) for row in candidate_rows(path, cell))


def recordings(name: str, saves: Path) -> list[tuple[Path, str]]:
    """Return the recording of a session, or those of each cell of a run with the names of the cells.

    Raises:
        UsageError: There is no such session or run.
    """
    from engine.bench import folder as runs
    from engine.errors import UsageError
    from engine.session import recording

    for path in (saves / "sessions" / name, Path(name)) if "/" not in name else (Path(name),):
        if path.is_file():
            return [(path, "")]
        if (path / recording.FILE_NAME).is_file():
            return [(path / recording.FILE_NAME, "")]
    try:
        run = runs.find(saves, name)
    except UsageError:
        raise UsageError(f"there is no session or run {name!r}; see `jitrl sessions` and `jitrl bench ls`") from None
    found = sorted((run / "cells").rglob(recording.FILE_NAME))
    return [(path, path.relative_to(run / "cells").parts[0]) for path in found]
