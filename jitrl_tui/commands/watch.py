"""`jitrl watch`, `play` and `replay` open the watch screen: on a new session, one of another process, a recording."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from engine.errors import UsageError
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

if TYPE_CHECKING:
    from engine.bench.follower import FollowedRun
    from jitrl_tui.runs.follower import Reach


_OF_A_NEW_SESSION = {
    "agent": "agent", "model": "model", "episodes": "episodes", "steps": "steps", "seed": "seed", "profile": "profile",
    "estimator": "estimator", "rewards": "rewards", "changes": "set", "fresh": "fresh", "ask": "ask", "breaks": "break",
    "speed": "speed", "layout": "layout",
}  # fmt: skip
"""Options that mean nothing with --follow, by the attribute that holds them."""


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "watch", parents=[common], help="watch an agent play and learn",
        description="Watch an agent play and learn. With --follow RUN, watch what another process plays: the cells of "
                    "a benchmark, or one session. It is read-only, until you take a session in hand.",
    )  # fmt: skip
    parser.add_argument(
        "--follow", metavar="RUN",
        help="follow a run of a benchmark or a session, in place of GAME: its name, its folder, or last; with --memory "
             "through the database of its memory",
    )  # fmt: skip
    add_session_options(parser, optional=True)
    add_orders(parser, ask=True)
    add_screen_options(parser)
    add_plain(parser)
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    """Open the watch screen; return the exit code."""
    if args.follow is not None:
        if args.game is not None:
            raise UsageError("--follow stands in place of GAME; leave one of them out")
        typed = (name for held, name in _OF_A_NEW_SESSION.items() if getattr(args, held) not in (None, False, []))
        given = [f"--{name}" for name in typed]
        if given:
            raise UsageError(
                f"--follow shows what another process plays, as it plays it; leave out {' and '.join(given)}"
            )
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
    from engine.bench.follower import FollowedRun
    from jitrl_tui.plain.terminal import wants_plain

    found = _found(args)
    in_lines = args.plain or wants_plain()
    if isinstance(found, FollowedRun):
        if in_lines:
            from jitrl_tui.plain.follow import follow_run

            return follow_run(found)
        from jitrl_tui.run_apps import run_bench_app
        from jitrl_tui.runs.bench_source import FollowedBench

        return run_bench_app(FollowedBench(found))
    if in_lines:
        from jitrl_tui.plain.follow import follow_session

        return follow_session(found)
    from jitrl_tui.app import run_app
    from jitrl_tui.screens.follow import follow_screen

    pictures = found.folder is not None and (found.folder / "pages").is_dir()
    return run_app(lambda: follow_screen(found), pictures=pictures)


def _found(args: argparse.Namespace) -> FollowedRun | Reach:
    """Return the run, or how the session is reached, that is to be followed: in a folder, or through a database."""
    from functools import partial

    from engine.bench.follower import FollowedRun, RelayedRun, RunFolder, find
    from engine.session.remote.followed import FolderSession
    from engine.session.remote.relayed import RelayedSession, is_session
    from jitrl_tui.commands.options import address
    from jitrl_tui.runs.follower import Reach

    if args.memory is not None:
        through = address(args.memory)
        if is_session(through, args.follow):
            return Reach(partial(RelayedSession, through, args.follow))
        return FollowedRun(RelayedRun(through, args.follow))
    found = find(saves_folder(args.saves), args.follow)
    if found.bench:
        return FollowedRun(RunFolder(found.folder))
    return Reach(partial(FolderSession, found.folder), found.folder)


def register_play(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "play", parents=[common], help="play yourself; the agent says what it would do"
    )
    add_session_options(parser, episodes=1)
    add_orders(parser, ask=False)
    add_screen_options(parser)
    add_plain(parser)
    parser.set_defaults(handler=_play)


def _play(args: argparse.Namespace) -> int:
    """Open the play screen, or the plain mode if there is no screen; return the exit code."""
    config, orders = session_config(args), orders_of(args)
    saves = saves_folder(args.saves)
    one_game(config, saves)  # report a wrong name before the screen opens
    from jitrl_tui.app import run_play

    return run_play(config, saves, orders, in_lines=args.plain)


def register_replay(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = subparsers.add_parser("replay", parents=[common], help="show a recorded session again")
    parser.add_argument(
        "file", metavar="SESSION", help="a session's name, last, its folder, or an events.jsonl"
    )
    add_screen_options(parser)
    add_plain(parser)
    parser.set_defaults(handler=_replay)


def _replay(args: argparse.Namespace) -> int:
    """Open the watch screen on the recording; return the exit code."""
    from engine.session import recording
    from engine.session.store import recording_path

    saves = saves_folder(args.saves)
    path = recording_path(saves, args.file)
    next(recording.read(path), None)  # report a file that is not a recording before the screen opens
    from jitrl_tui.app import run_replay

    return run_replay(path, saves, in_lines=args.plain, paced=args.speed is not None)
