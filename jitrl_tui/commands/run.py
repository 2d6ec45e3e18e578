"""`jitrl run GAME`: plays a session without a screen, with a progress bar and a JSON result."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import Any

from engine.errors import UsageError
from engine.paths import saves_folder
from jitrl_tui.commands.headless import play, result_of, tracked, verdict, write
from jitrl_tui.commands.options import add_session_options, session_config
from jitrl_tui.commands.run_suite import new_suite, run_suite
from jitrl_tui.runs.start_checks import check_game
from jitrl_tui.runs.trackers import TOOLS, check


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = subparsers.add_parser("run", parents=[common], help="play episodes without a screen")
    add_session_options(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="write the result there, as JSON")
    parser.add_argument("--json", nargs="?", const="-", metavar="FILE", help="the result on stdout, or in FILE")
    parser.add_argument("--resume", metavar="SESSION", help="go on with this session, or last, instead of a new one")
    parser.add_argument("--track", choices=TOOLS, help="write the episodes for this tool, too, to saves/track")
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    """Play; return the exit code. On Ctrl-C, finished steps are stored, and the command to resume is printed."""
    from engine.session import edits, suites
    from engine.session import store as sessions

    check(args.track)
    config = session_config(args)
    saves = saves_folder(args.saves)
    target = _target(args.output or args.json)
    suite = suites.find(saves, args.resume) if args.resume else None
    if suite is not None:
        check_game(suite.config, saves)
    elif args.resume:
        saved = sessions.find(saves, args.resume)
        config = saved.config
        check_game(config, saves)
    else:
        names = check_game(config, saves)
        if names != (config.game,):
            suite = new_suite(config, names, saves, args.episodes)
        else:
            saved = sessions.create(saves, config, "run")
    if suite is not None:
        return run_suite(suite, saves, target, quiet=args.quiet, show=args.json == "-", tool=args.track)
    session, progress, interrupted = play(saved, saves, quiet=args.quiet)
    write(result_of(session.results, config, progress), target, show=args.json == "-")
    tracked(args.track, saves, saved, session, progress)
    again = f"go on with: jitrl run {shlex.quote(config.game)} --resume {shlex.quote(saved.name)}"
    if interrupted:
        print(f"stopped; {again}", file=sys.stderr)
        return 130
    if session.error is not None:
        print(f"jitrl: {session.error}", file=sys.stderr)
        if not edits.discard_unplayed(saved) and progress.started is not None:
            print(f"what was played is kept; {again}", file=sys.stderr)
        return session.error.exit_code
    return verdict(session.results, config, progress)


def _target(name: str | None) -> Path | None:
    """Return the path of the result file. A missing folder is reported before the run starts."""
    if name is None or name == "-":
        return None
    target = Path(name)
    if target.is_dir() or not target.absolute().parent.is_dir():
        raise UsageError(f"cannot write the result to {name}: no such folder")
    return target
