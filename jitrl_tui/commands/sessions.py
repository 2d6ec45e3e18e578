"""`jitrl sessions` lists, resumes, deletes, renames, branches and exports sessions; `jitrl compare` shows two."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.disk import printable
from engine.errors import UsageError
from engine.paths import saves_folder
from jitrl_tui.system.output import clean, note

if TYPE_CHECKING:
    from engine.session.store import SavedSession


FORMATS = ("txt", "md", "html", "json")
"""Formats of a transcript, as in `engine.session.transcript`, which is not imported to show the help."""


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "sessions", parents=[common], help="list what was played and saved, or resume it",
        description="List what was played and saved, newest first; or resume a session. `jitrl sessions rm "
                    "NAME...` deletes sessions, `jitrl sessions rename NAME NEW` gives one another name, and "
                    "`jitrl sessions export NAME` writes its transcript.",
    )  # fmt: skip
    parser.add_argument("name", nargs="?", metavar="SESSION", help="resume this session, load this save, or last")
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
        help="episodes of the branch, the one it begins in included (default: as many as the session; with --yes 1)",
    )
    parser.add_argument("--yes", action="store_true", help="play the branch at once, without a screen or a pause")
    parser.add_argument("--json", action="store_true", help="a list on stdout")
    parser.set_defaults(handler=run)
    # The command line writes `sessions rm` with a hyphen, because NAME stands in the place of an action.
    remove = subparsers.add_parser("sessions-rm", parents=[common], prog="jitrl sessions rm")
    remove.add_argument("names", nargs="+", metavar="SESSION", help="delete these sessions with their recordings")
    remove.add_argument("--yes", action="store_true", help="do not ask")
    remove.set_defaults(handler=_remove)
    rename = subparsers.add_parser("sessions-rename", parents=[common], prog="jitrl sessions rename")
    rename.add_argument("name", metavar="SESSION", help="give this session")
    rename.add_argument("new", metavar="NEW", help="this name")
    rename.set_defaults(handler=_rename)
    export = subparsers.add_parser("sessions-export", parents=[common], prog="jitrl sessions export")
    export.add_argument("name", metavar="SESSION", help="write the transcript of this session")
    export.add_argument("--format", choices=FORMATS, help="its format (default: that of FILE's name, or txt)")
    export.add_argument("-o", "--output", metavar="FILE", help="where it goes (default: stdout)")
    export.add_argument("--thoughts", action="store_true", help="tell the reason of each action, too")
    export.set_defaults(handler=_export)


def run(args: argparse.Namespace) -> int:
    """List the sessions, newest first, or open one."""
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
    from engine.session import branches
    from engine.session import store as sessions

    found = list(sessions.saved_sessions(saves))
    if args.json:
        print(json.dumps([_plain(session) for session in found], indent=1))
        return 0
    for session in found:
        item = _plain(session)
        state = "finished" if item["finished"] else "open"
        played = f"{item['played']}/{item['episodes']}"
        scores = "-" if item["last"] is None else f"{item['last']:g}/{item['average']:.1f}/{item['best']:g}"
        of = f"  branch of {item['origin']}" if item["origin"] else ""
        print(f"{item['name']:<46} {item['agent']:<8} {item['model']:<24} {played:>9}  {scores:<14} {state}{of}")
    named = list(branches.named_saves(saves))
    for save in named:
        print(f"{save.name:<46} a save of {save.session.config.game}")
    if not found and not named:
        print("no session yet; jitrl play, jitrl watch and jitrl run make one", file=sys.stderr)
    return 0


def _export(args: argparse.Namespace) -> int:
    """Write the transcript of a session to a file or to stdout."""
    from engine.session.transcript import format_of
    from jitrl_tui.runs.session_files import export, text_of

    recording = _named(args.name, saves_folder(args.saves)).recording
    if args.output is None or args.output == "-":
        sys.stdout.write(text_of(recording, args.format or "txt", thoughts=args.thoughts))
        return 0
    target = Path(args.output)
    export(recording, target, format_of(target, args.format), thoughts=args.thoughts)
    note(f"wrote {printable(target)}")
    return 0


def _named(name: str, saves: Path) -> SavedSession:
    """Return the session of this name, or a new session that continues from the save of this name."""
    from engine.session import branches
    from engine.session import store as sessions

    if any(save.name == name for save in branches.named_saves(saves)) and not (saves / "sessions" / name).is_dir():
        return branches.load(saves, name)
    return sessions.find(saves, name)


def _branch(args: argparse.Namespace, saves: Path) -> int:
    """Branch from a session: on the screen, paused at the step; with --yes as lines, played at once."""
    from engine.session import branches, orders
    from engine.session import store as sessions
    from jitrl_tui.plain.run import refuse_to_wait, run_saved_plain
    from jitrl_tui.plain.terminal import wants_plain

    if not args.name:
        raise UsageError("--branch needs the name of a session; `jitrl sessions` lists them")
    session, (episode, step) = sessions.find(saves, args.name), _place(args.branch)
    if args.episodes is not None and args.episodes < 1:
        raise UsageError(f"--episodes must be at least 1, not {args.episodes}")
    branches.until(session, (episode, step))  # report a step that is not there before anything is written
    asks = session.kind == "play" and sys.stdin.isatty()
    if wants_plain() and not asks and not args.yes:
        raise UsageError(
            f"{_plan(args, episode, step)}; here is no terminal in which it could wait for you at that step: add --yes "
            "to play it at once"
        )
    if args.yes:
        refuse_to_wait(orders.orders_of(session.folder))
    count = args.episodes or (1 if args.yes else None)
    last = None if count is None else episode + count - 1
    branch = branches.branch(saves, session, (episode, step), shared=args.into_memory, episodes=last)
    if args.yes:
        note(f"branch: {branch.name}")
        return run_saved_plain(branch, saves, play=False)
    from jitrl_tui.app import run_saved

    return run_saved(branch, saves, paused=True)


def _remove(args: argparse.Namespace) -> int:
    """Delete the named sessions, after a question."""
    from engine.session import edits, store

    saves = saves_folder(args.saves)
    doomed = list({found.name: found for found in (store.find(saves, name) for name in args.names)}.values())
    if not args.yes:
        if not sys.stdin.isatty():
            raise UsageError("sessions rm asks before it deletes; without a terminal, add --yes")
        names = printable(", ".join(session.name for session in doomed))
        print(f"Delete {names} with their recordings? [y/N] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().casefold() not in ("y", "yes"):
            note("nothing was deleted")
            return 1
    for session in doomed:
        edits.delete(saves, session)
        note(f"deleted {printable(session.name)}")
    return 0


def _rename(args: argparse.Namespace) -> int:
    """Give a session another name."""
    from engine.session import edits, store

    saves = saves_folder(args.saves)
    session = store.find(saves, args.name)
    renamed = edits.rename(saves, session, args.new)
    note(f"{printable(session.name)} is {printable(renamed.name)} now")
    return 0


def _place(text: str) -> tuple[int, int]:
    """Return episode and step of STEP or EPISODE:STEP."""
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
    from jitrl_tui.runs.session_summary import summary_of

    config, origin, known = session.config, session.origin, summary_of(session.recording)
    return {
        "name": session.name, "kind": session.kind, "game": config.game, "agent": config.agent,
        "model": config.model, "seed": config.seed, "episodes": config.episodes,
        "finished": session.finished(), "recording": str(session.recording), "played": len(known.scores),
        "last": known.last, "average": known.average, "best": known.best, "max_score": known.max_score,
        "changed": known.changed,
        "origin": f"{origin.session} {origin.episode}:{origin.step}" if origin else "",
    }  # fmt: skip


def register_compare(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "compare", parents=[common], help="two sessions side by side: where they part, and why"
    )
    for name in ("a", "b"):
        parser.add_argument(
            name, metavar="SESSION", help="name of a session, last, its folder, or an events.jsonl"
        )
    parser.add_argument("--plain", action="store_true", help="lines instead of a screen")
    parser.add_argument("--json", action="store_true", help="an object on stdout")
    parser.set_defaults(handler=_compare)


def _compare(args: argparse.Namespace) -> int:
    """Show the comparison on the screen, or print it; return the exit code."""
    from engine.session.store import recording_path
    from jitrl_tui.plain.terminal import wants_plain
    from jitrl_tui.runs import comparison_texts

    saves = saves_folder(args.saves)
    paths = recording_path(saves, args.a), recording_path(saves, args.b)
    names = [path.name if path.is_dir() else path.parent.name for path in paths]
    comparison = comparison_texts.compare_recordings(*paths)
    if args.json:
        print(json.dumps(comparison_texts.as_json(comparison, names), indent=1))
    elif args.plain or wants_plain():
        for line in comparison_texts.lines(comparison, names):
            print(clean(line))
    else:
        from jitrl_tui.app import run_app
        from jitrl_tui.screens.compare import CompareScreen

        return run_app(lambda: CompareScreen(comparison, names))
    return 0
