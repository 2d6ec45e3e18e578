"""`jitrl play GAME`: a person plays, and the agent advises."""

from __future__ import annotations

import argparse
from typing import Any

from engine.paths import saves_folder
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
        "play", parents=[common], help="play yourself; the agent says what it would do"
    )
    add_session_options(parser, episodes=1)
    add_orders(parser, ask=False)
    add_screen_options(parser)
    add_plain(parser)
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    """Open the play screen, or the plain mode if there is no screen; return the exit code."""
    config, orders = session_config(args), orders_of(args)
    saves = saves_folder(args.saves)
    one_game(config, saves)  # report a wrong name before the screen opens
    from jitrl_tui.app import run_play

    return run_play(config, saves, orders, in_lines=args.plain)
