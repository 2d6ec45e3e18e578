"""`jitrl sessions`: lists, resumes, deletes and renames sessions."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.session.store import SavedSession


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "sessions", parents=[common], help="list what was played and saved, or take one up again",
        description="List what was played and saved, newest first; or take a session up again. `jitrl sessions rm "
                    "NAME...` deletes sessions, `jitrl sessions rename NAME NEW` gives one another name.",
    )  # fmt: skip
    parser.add_argument("name", nargs="?", metavar="NAME", help="take up this session, or load this save")
    parser.add_argument(
        "--branch", metavar="[EPISODE:]STEP", help="go on after this step instead, in a session of its own"
    )
    parser.add_argument("--json", action="store_true", help="a list on stdout")
    parser.set_defaults(handler=run)
    # The command line writes `sessions rm` with a hyphen, because NAME stands in the place of an action.
    remove = subparsers.add_parser("sessions-rm", parents=[common], prog="jitrl sessions rm")
    remove.add_argument("names", nargs="+", metavar="NAME", help="delete these sessions with their recordings")
    remove.add_argument("--yes", action="store_true", help="do not ask")
    remove.set_defaults(handler=_remove)
    rename = subparsers.add_parser("sessions-rename", parents=[common], prog="jitrl sessions rename")
    rename.add_argument("name", metavar="NAME", help="give this session")
    rename.add_argument("new", metavar="NEW", help="this name")
    rename.set_defaults(handler=_rename)


def run(args: argparse.Namespace) -> int:
    """List the sessions, newest first, or open one."""
    from engine.paths import saves_folder
    from engine.session import branches as keeping
    from engine.session import store as sessions

    saves = saves_folder(args.saves)
    if args.name:
        session = _named(args, saves)
        from jitrl_tui.app import run_saved

        return run_saved(session, saves)
    found = list(sessions.saved(saves))
    if args.json:
        print(json.dumps([_plain(session) for session in found], indent=1))
        return 0
    for session in found:
        item = _plain(session)
        state = "finished" if item["finished"] else "open"
        played = f"{item['played']}/{item['episodes']}"
        scores = "-" if item["last"] is None else f"{item['last']:g}/{item['average']:.1f}/{item['best']:g}"
        print(f"{item['name']:<46} {item['agent']:<8} {item['model']:<24} {played:>9}  {scores:<14} {state}")
    named = list(keeping.named(saves))
    for save in named:
        print(f"{save.name:<46} a save of {save.session.config.game}")
    if not found and not named:
        print("no session yet; jitrl play, jitrl watch and jitrl run make one", file=sys.stderr)
    return 0


def _named(args: argparse.Namespace, saves: Path) -> SavedSession:
    """Return the session that the arguments name, or a new branch of it."""
    from engine.errors import UsageError
    from engine.session import branches as keeping
    from engine.session import store as sessions

    folder = saves / "sessions" / args.name
    if "/" in args.name or not folder.is_dir():
        if args.branch is None and any(save.name == args.name for save in keeping.named(saves)):
            return keeping.load(saves, args.name)
        raise UsageError(f"there is no session {args.name!r}; `jitrl sessions` lists them")
    session = sessions.load(folder)
    if args.branch is None:
        return session
    episode, _, step = args.branch.rpartition(":")
    try:
        at = int(episode or 1), int(step)
    except ValueError:
        raise UsageError(
            f"--branch takes STEP or EPISODE:STEP, for instance 2:15, not {args.branch!r}"
        ) from None
    return keeping.branch(saves, session, at)


def _found(saves: Path, name: str) -> SavedSession:
    """Return the session with a name.

    Raises:
        UsageError: There is none.
    """
    from engine.errors import UsageError
    from engine.session import store as sessions

    folder = saves / "sessions" / name
    if not name or "/" in name or not folder.is_dir():
        raise UsageError(f"there is no session {name!r}; `jitrl sessions` lists them")
    return sessions.load(folder)


def _remove(args: argparse.Namespace) -> int:
    """Delete the named sessions, after a question."""
    from engine.disk import shown
    from engine.errors import UsageError
    from engine.paths import saves_folder
    from engine.session import changing

    saves = saves_folder(args.saves)
    doomed = [_found(saves, name) for name in dict.fromkeys(args.names)]
    if not args.yes:
        if not sys.stdin.isatty():
            raise UsageError("sessions rm asks before it deletes; without a terminal, add --yes")
        names = shown(", ".join(args.names))
        print(f"Delete {names} with their recordings? [y/N] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().casefold() not in ("y", "yes"):
            print("nothing was deleted", file=sys.stderr)
            return 1
    for session in doomed:
        changing.delete(saves, session)
        print(f"deleted {shown(session.name)}", file=sys.stderr)
    return 0


def _rename(args: argparse.Namespace) -> int:
    """Give a session another name."""
    from engine.disk import shown
    from engine.paths import saves_folder
    from engine.session import changing

    saves = saves_folder(args.saves)
    renamed = changing.rename(saves, _found(saves, args.name), args.new)
    print(f"{shown(args.name)} is {shown(renamed.name)} now", file=sys.stderr)
    return 0


def _plain(session: Any) -> dict[str, Any]:
    from jitrl_tui.history import facts

    config, known = session.config, facts(session.recording)
    return {
        "name": session.name, "kind": session.kind, "game": config.game, "agent": config.agent,
        "model": config.model, "seed": config.seed, "episodes": config.episodes,
        "finished": session.finished(), "recording": str(session.recording), "played": len(known.scores),
        "last": known.last, "average": known.average, "best": known.best, "max_score": known.max_score,
        "changed": known.changed,
    }  # fmt: skip
