"""`jitrl replay FILE`: plays back a recorded session, without model or game."""

from __future__ import annotations

import argparse
from typing import Any

from engine.paths import saves_folder
from jitrl_tui.commands.options import add_plain, add_screen_options


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = subparsers.add_parser("replay", parents=[common], help="show a recorded session again")
    parser.add_argument(
        "file", metavar="SESSION", help="a session's name, last, its folder, or an events.jsonl"
    )
    add_screen_options(parser)
    add_plain(parser)
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    """Open the watch screen on the recording; return the exit code."""
    from engine.session import recording
    from engine.session.store import recorded

    saves = saves_folder(args.saves)
    path = recorded(saves, args.file)
    next(recording.read(path), None)  # report a file that is not a recording before the screen opens
    from jitrl_tui.app import run_replay

    return run_replay(path, saves, in_lines=args.plain, paced=args.speed is not None)
