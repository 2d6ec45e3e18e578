"""`jitrl replay FILE`: plays back a recorded session, without model or game."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from jitrl_tui.commands.options import add_plain, add_screen_options


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = subparsers.add_parser("replay", parents=[common], help="show a recorded session again")
    parser.add_argument(
        "file", metavar="FILE", type=Path, help="an events.jsonl, its folder, or a session's name"
    )
    add_screen_options(parser)
    add_plain(parser)
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    """Open the watch screen on the recording; return the exit code."""
    from engine.paths import saves_folder
    from engine.session import recording

    path: Path = args.file
    saves = saves_folder(args.saves)
    named = saves / "sessions" / path
    if not path.exists() and len(path.parts) == 1 and named.is_dir():
        path = named
    next(recording.read(path), None)  # report a file that is not a recording before the screen opens
    from jitrl_tui.app import run_replay

    return run_replay(path, saves, in_lines=args.plain, paced=args.speed is not None)
