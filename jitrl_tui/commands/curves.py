"""`jitrl curves SESSION`: what each episode scored and cost, as a table, as JSON, or as a file with plots."""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import UsageError
from engine.paths import saves_folder

if TYPE_CHECKING:
    from jitrl_tui.runs.curves import Curve
    from jitrl_tui.runs.history import SessionCosts

FORMAT = 1
"""Number of the format of `--json`."""


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "curves", parents=[common], help="scores, cost, times and memory of a session, episode by episode"
    )
    parser.add_argument(
        "session", nargs="?", default="last", metavar="SESSION",
        help="a session's name, its folder or recording, or last (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--with", action="append", default=[], dest="others", metavar="SESSION",
        help="another session of the same game as a curve of its own, whatever its settings; repeatable",
    )  # fmt: skip
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write FILE.svg, FILE.png or FILE.csv")
    parser.add_argument("--export", dest="output", type=Path, help=argparse.SUPPRESS)  # as it was called before
    parser.add_argument("--json", action="store_true", help="every episode on stdout")
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    """Print or write the curves; return the exit code."""
    from jitrl_tui.runs import curves, history

    saves = saves_folder(args.saves)
    own, rows = _session(args.session, saves)
    added = [_session(name, saves) for name in args.others]
    for one, _ in added:
        if one.started.environment.scope != own.started.environment.scope:
            raise UsageError(f"{one.name} is a session of {one.started.environment.name}, "
                             f"{own.name} one of {own.started.environment.name}")  # fmt: skip
    if len(added) > len(curves.LETTERS):
        raise UsageError(f"there is room for {len(curves.LETTERS)} sessions with --with, not {len(added)}")
    if not rows:
        raise UsageError(f"no episode of {own.name} has ended, so there is no curve yet")
    found = curves.collect(own, rows, history.earlier(saves, own.name, own.started), added)
    if args.output is not None:
        curves.export(args.output, f"Learning curves of {own.started.environment.title}", found)
    if args.json:
        document = {"format": FORMAT, "game": own.started.environment.name, "curves": list(map(_plain, found))}
        print(json.dumps(document, indent=1))
    elif args.output is None:
        print("\n".join(_lines(found)))
    return 0


def _session(name: str, saves: Path) -> SessionCosts:
    """Return a session by its name, its folder or its recording, with its finished episodes."""
    from engine.session import recording, store
    from jitrl_tui.runs import history

    path = store.recording_path(saves, name)
    file = path / recording.FILE_NAME if path.is_dir() else path
    started = history.started_of(file)
    if started is None:
        raise UsageError(f"there is no session {name!r} that can be read; `jitrl sessions` lists them")
    return history.PlayedSession(started.session, file, started), history.rows_of(file)


def _plain(curve: Curve) -> dict[str, Any]:
    return {
        "name": curve.name,
        "about": curve.about,
        "sessions": [
            {"name": name, "episodes": [dataclasses.asdict(row) for row in rows]} for name, rows in curve.sessions
        ],
    }


def _lines(found: list[Curve]) -> list[str]:
    """Return a table: a line for each measure of each curve."""
    from jitrl_tui.runs.curves import MEASURES, UNKNOWN

    lines = []
    for curve in found:
        lines.append(f"{curve.name}  ({curve.about})")
        if not any(rows for _, rows in curve.sessions):
            lines.append("  no episode has ended")
            continue
        lines.append(f"  {'':<20} {'first':>12} {'last':>12} {'mean':>12} {'best' :>12}")
        for measure in MEASURES:
            if not (values := curve.values(measure)):
                lines.append(f"  {measure.title:<20} {UNKNOWN:>12}")
                continue
            best = f"{max(values):>12,.{measure.decimals}f}" if measure.name == "score" else ""
            numbers = (values[0], values[-1], sum(values) / len(values))
            columns = " ".join(f"{value:>12,.{measure.decimals}f}" for value in numbers)
            lines.append(f"  {measure.title:<20} {columns} {best}".rstrip())
    return lines
