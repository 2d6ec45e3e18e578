"""`jitrl sessions`: lists sessions, resumes one, and branches from one."""

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
        "sessions", parents=[common], help="list what was played and saved, or take one up again"
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="take up this session, or load this save")
    parser.add_argument(
        "--branch",
        metavar="[EPISODE:]STEP",
        help="go on after this step instead, in a new session with a memory of its own, as it was at that step",
    )
    parser.add_argument(
        "--into-memory",
        action="store_true",
        help="the branch uses the memory of the session as it is now, and is remembered there",
    )
    parser.add_argument(
        "--episodes",
        type=int,
        metavar="N",
        help="episodes that the branch plays, the one it begins in included (as many as the session; with --yes 1)",
    )
    parser.add_argument("--yes", action="store_true", help="play the branch at once, without a screen or a pause")
    parser.add_argument("--json", action="store_true", help="a list on stdout")
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    """List the sessions, newest first, or open one."""
    from engine.errors import UsageError
    from engine.paths import saves_folder

    saves = saves_folder(args.saves)
    if args.branch is not None:
        return _branch(args, saves)
    if args.yes or args.into_memory or args.episodes is not None:
        raise UsageError("--yes, --into-memory and --episodes are for a branch: --branch [EPISODE:]STEP")
    if args.name:
        from jitrl_tui.app import run_saved

        return run_saved(_named(args.name, saves), saves)
    return _list(args, saves)


def _list(args: argparse.Namespace, saves: Path) -> int:
    from engine.session import branches as keeping
    from engine.session import store as sessions

    found = list(sessions.saved(saves))
    if args.json:
        print(json.dumps([_plain(session) for session in found], indent=1))
        return 0
    for session in found:
        item = _plain(session)
        state = "finished" if item["finished"] else "open"
        of = f"  branch of {item['origin']}" if item["origin"] else ""
        print(
            f"{item['name']:<46} {item['agent']:<8} {item['model']:<24} {item['episodes']:>4} episodes  {state}{of}"
        )
    named = list(keeping.named(saves))
    for save in named:
        print(f"{save.name:<46} a save of {save.session.config.game}")
    if not found and not named:
        print("no session yet; jitrl play, jitrl watch and jitrl run make one", file=sys.stderr)
    return 0


def _named(name: str, saves: Path) -> SavedSession:
    """Return the session of this name, or a new session that continues from the save of this name."""
    from engine.errors import UsageError
    from engine.session import branches as keeping
    from engine.session import store as sessions

    folder = saves / "sessions" / name
    if "/" not in name and folder.is_dir():
        return sessions.load(folder)
    if any(save.name == name for save in keeping.named(saves)):
        return keeping.load(saves, name)
    raise UsageError(f"there is no session {name!r}; `jitrl sessions` lists them")


def _branch(args: argparse.Namespace, saves: Path) -> int:
    """Branch from a session: on the screen, paused at the step; with --yes as lines, played at once."""
    from engine.errors import UsageError
    from engine.session import branches as keeping
    from engine.session import store as sessions
    from jitrl_tui import plain

    if not args.name:
        raise UsageError("--branch needs the name of a session; `jitrl sessions` lists them")
    folder = saves / "sessions" / args.name
    if "/" in args.name or not folder.is_dir():
        raise UsageError(f"there is no session {args.name!r}; `jitrl sessions` lists them")
    session, (episode, step) = sessions.load(folder), _place(args.branch)
    if args.episodes is not None and args.episodes < 1:
        raise UsageError(f"--episodes must be at least 1, not {args.episodes}")
    keeping.until(session, (episode, step))  # report a step that is not there before anything is written
    asks = session.kind == "play" and sys.stdin.isatty()
    if plain.wants_plain() and not asks and not args.yes:
        raise UsageError(
            f"{_plan(args, episode, step)}; here is no terminal in which it could wait for you at that step: add --yes "
            "to play it at once"
        )
    count = args.episodes or (1 if args.yes else None)
    last = None if count is None else episode + count - 1
    branch = keeping.branch(saves, session, (episode, step), shared=args.into_memory, episodes=last)
    if args.yes:
        print(f"branch: {branch.name}", file=sys.stderr)
        return plain.run_saved_plain(branch, saves, play=False)
    from jitrl_tui.app import run_saved

    return run_saved(branch, saves, paused=True)


def _place(text: str) -> tuple[int, int]:
    """Return episode and step of STEP or EPISODE:STEP."""
    from engine.errors import UsageError

    episode, _, step = text.rpartition(":")
    try:
        return int(episode or 1), int(step)
    except ValueError:
        raise UsageError(f"--branch takes STEP or EPISODE:STEP, for instance 2:15, not {text!r}") from None


def _plan(args: argparse.Namespace, episode: int, step: int) -> str:
    """Return in words what the branch would do if it were played at once."""
    memory = (
        "with the memory of that session as it is now, which would learn from it"
        if args.into_memory
        else "with a memory of its own, as it was at that step"
    )
    count = args.episodes or 1
    more = f" and {count - 1} more episode{'s' if count > 2 else ''}" if count > 1 else ""
    return (
        f"this would go on after step {step} of episode {episode} of {args.name}, in a new session {memory}, and play "
        f"to the end of that episode{more}"
    )


def _plain(session: SavedSession) -> dict[str, Any]:
    config, origin = session.config, session.origin
    return {
        "name": session.name, "kind": session.kind, "game": config.game, "agent": config.agent,
        "model": config.model, "seed": config.seed, "episodes": config.episodes,
        "finished": session.finished(), "recording": str(session.recording),
        "origin": f"{origin.session} {origin.episode}:{origin.step}" if origin else "",
    }  # fmt: skip
