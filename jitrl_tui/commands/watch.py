"""`jitrl watch GAME`: opens the watch screen with a new session. `jitrl watch --follow RUN` follows another process."""

from __future__ import annotations

import argparse
from typing import Any

from jitrl_tui.commands.options import (
    add_orders,
    add_plain,
    add_screen_options,
    add_session_options,
    one_game,
    orders_of,
    session_config,
)


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "watch", parents=[common], help="watch an agent play and learn",
        description="Watch an agent play and learn. With --follow RUN, watch what another process plays: the cells of "
                    "a benchmark, or one session. It is read-only, until you take a session in hand.",
    )  # fmt: skip
    parser.add_argument(
        "--follow", metavar="RUN",
        help="follow a run of a benchmark or a session, in place of GAME: its name, its folder, or last",
    )  # fmt: skip
    add_session_options(parser, optional=True)
    add_orders(parser, ask=True)
    add_screen_options(parser)
    add_plain(parser)
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    """Open the watch screen; return the exit code."""
    from engine.errors import UsageError
    from engine.paths import saves_folder

    if args.follow is not None:
        if args.game is not None:
            raise UsageError("--follow stands in place of GAME; leave one of them out")
        return _follow(args)
    if args.game is None:
        raise UsageError("watch needs a game, or --follow RUN; `jitrl games ls` lists the games")
    config, orders = session_config(args), orders_of(args)
    saves = saves_folder(args.saves)
    one_game(config, saves)  # report a wrong name before the screen opens
    from jitrl_tui.app import run_watch

    return run_watch(config, saves, orders, in_lines=args.plain)


def _follow(args: argparse.Namespace) -> int:
    """Follow what another process plays; return the exit code."""
    from engine.bench.following import FolderRun, find
    from engine.paths import saves_folder
    from jitrl_tui import plain

    found = find(saves_folder(args.saves), args.follow)
    in_lines = args.plain or plain.wants_plain()
    if found.bench:
        run = FolderRun(found.folder)
        if in_lines:
            from jitrl_tui.plain.follow import follow_run

            return follow_run(run)
        from jitrl_tui.bench_app import run_bench_app
        from jitrl_tui.bench_source import FollowedBench

        return run_bench_app(FollowedBench(run))
    if in_lines:
        from jitrl_tui.plain.follow import follow_session

        return follow_session(found.folder)
    from jitrl_tui.app import run_app
    from jitrl_tui.screens.follow import followed

    return run_app(lambda: followed(found.folder), pictures=(found.folder / "pages").is_dir())
