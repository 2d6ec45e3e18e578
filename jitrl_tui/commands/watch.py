"""`jitrl watch GAME`: opens the watch screen with a new session."""

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
    parser = subparsers.add_parser("watch", parents=[common], help="watch an agent play and learn")
    add_session_options(parser)
    add_orders(parser, ask=True)
    add_screen_options(parser)
    add_plain(parser)
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    """Open the watch screen; return the exit code."""
    from engine.paths import saves_folder

    config, orders = session_config(args), orders_of(args)
    saves = saves_folder(args.saves)
    one_game(config, saves)  # report a wrong name before the screen opens
    from jitrl_tui.app import run_watch

    return run_watch(config, saves, orders, in_lines=args.plain)
