"""`jitrl sessions`: what was played, and taking one up again."""

from __future__ import annotations

import argparse
import json
from typing import Any


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "sessions", parents=[common], help="list what was played, or take one up again"
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="take up this session on the screen")
    parser.add_argument("--json", action="store_true", help="a list on stdout")
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    """List the sessions, last one first, or open one."""
    from engine import sessions
    from engine.errors import UsageError
    from engine.paths import saves_folder

    saves = saves_folder(args.saves)
    if args.name:
        folder = saves / "sessions" / args.name
        if "/" in args.name or not folder.is_dir():
            raise UsageError(f"there is no session {args.name!r}; `jitrl sessions` lists them")
        from jitrl_tui.app import run_saved

        return run_saved(sessions.load(folder), saves)
    found = list(sessions.saved(saves))
    if args.json:
        print(json.dumps([_plain(session) for session in found], indent=1))
        return 0
    for session in found:
        item = _plain(session)
        state = "finished" if item["finished"] else "open"
        print(
            f"{item['name']:<46} {item['agent']:<8} {item['model']:<24} {item['episodes']:>4} episodes  {state}"
        )
    return 0


def _plain(session: Any) -> dict[str, Any]:
    config = session.config
    return {
        "name": session.name, "kind": session.kind, "game": config.game, "agent": config.agent,
        "model": config.model, "seed": config.seed, "episodes": config.episodes,
        "finished": session.finished(), "recording": str(session.recording),
    }  # fmt: skip
