"""`jitrl export SESSION|RUN`: decisions and episodes in the formats of other programs."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.disk import printable
from engine.errors import UsageError
from engine.paths import ensure_folder, saves_folder
from jitrl_tui.system.output import note

if TYPE_CHECKING:
    from engine.session.candidates import CandidateRow

TABLES = ("csv", "jsonl", "parquet")
FORMATS = (*TABLES, "datasets", "inspect", "openinference")


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "export", parents=[common], help="decisions as tables or a dataset; logs of Inspect, spans",
        description="Write one row for each candidate of each decision of a session, or of all sessions of a "
                    "benchmark's run: as a table, or with --to datasets as a folder that Hugging Face's load_dataset "
                    "opens. --to inspect writes the episodes as a log of Inspect (.eval or .json), --to openinference "
                    "as spans of OpenTelemetry (.json); for a run, a folder of files. Parquet needs pyarrow "
                    "(jitrl up parquet).",
    )  # fmt: skip
    parser.add_argument("name", metavar="SESSION|RUN", help="a session or a run: name, folder or recording, or last")
    parser.add_argument("--to", choices=FORMATS, metavar="FORMAT",
                        help=f"{', '.join(FORMATS)} (default: that of FILE's name, or csv)")  # fmt: skip
    parser.add_argument("-o", "--output", metavar="FILE", help="file or folder that is written (default: stdout)")
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    """Write the rows; return the exit code."""
    from engine.session import tables

    target = None if args.output in (None, "-") else Path(args.output)
    ending = target.suffix.removeprefix(".") if target is not None else "csv"
    form = args.to or ("inspect" if ending == "eval" else ending)
    if form not in FORMATS:
        raise UsageError(
            f"--to is needed: {printable(str(args.output))} does not end with .{', .'.join(TABLES)} or .eval"
        )
    if target is None and form not in ("csv", "jsonl"):
        raise UsageError(f"{form} is no text for a terminal: say with -o where it goes")
    found = recordings(args.name, saves_folder(args.saves))
    if target is not None and form in ("inspect", "openinference"):
        return _files(found, target, form)
    rows = _rows(found)
    if target is None:
        tables.write(rows, form, sys.stdout)
        return 0
    title = f"Decisions of {args.name}"
    count = tables.save_dataset(rows, target, title) if form == "datasets" else tables.save(rows, form, target)
    note(f"wrote {count:,} rows to {printable(target)}")
    return 0


def _files(found: list[tuple[Path, str]], target: Path, form: str) -> int:
    """Write a file for a session, or a folder with one for each cell of a run."""
    from engine.session import inspect_log, spans

    save, ending, what = (
        (inspect_log.save, "eval", "episodes") if form == "inspect" else (spans.save, "json", "spans")
    )
    files = [(path, target) for path, _ in found]
    if found and found[0][1]:
        ensure_folder(target, private=False)
        files = [(path, target / f"{cell}-{number}.{ending}") for number, (path, cell) in enumerate(found, 1)]
    count = sum(save(path, file) for path, file in files)
    note(f"wrote {count:,} {what} to {printable(target)}")
    return 0


def _rows(found: list[tuple[Path, str]]) -> Iterator[CandidateRow]:
    from engine.session.candidates import candidate_rows

    return (row for path, cell in found for row in candidate_rows(path, cell))


def recordings(name: str, saves: Path) -> list[tuple[Path, str]]:
    """Return the recording of a session, or those of each cell of a run with the names of the cells.

    Raises:
        UsageError: There is no such session or run.
    """
    from engine.bench import folder as runs
    from engine.session import recording, store

    with contextlib.suppress(UsageError):
        path = store.recording_path(saves, name)
        file = path / recording.FILE_NAME if path.is_dir() else path
        if file.is_file():
            return [(file, "")]
    try:
        run = runs.find(saves, name)
    except UsageError:
        raise UsageError(f"there is no session or run {name!r}; see `jitrl sessions` and `jitrl bench ls`") from None
    found = sorted((run / "cells").rglob(recording.FILE_NAME))
    return [(path, path.relative_to(run / "cells").parts[0]) for path in found]
