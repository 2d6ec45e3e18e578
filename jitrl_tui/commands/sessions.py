"""`jitrl sessions`: lists sessions, resumes one, and writes transcripts."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.session.store import SavedSession

FORMATS = ("txt", "md", "json")
"""Formats of a transcript, as in `engine.session.transcript`, which is not imported to show the help."""


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "sessions", parents=[common], help="list what was played and saved, or take one up again"
    )
    parser.add_argument(
        "names", nargs="*", metavar="[export] NAME",
        help="take up this session, or load this save; after `export`: write its transcript",
    )  # fmt: skip
    parser.add_argument(
        "--branch", metavar="[EPISODE:]STEP", help="go on after this step instead, in a session of its own"
    )
    parser.add_argument("--json", action="store_true", help="a list on stdout")
    parser.add_argument(
        "--format", choices=FORMATS, help="with export: format of the transcript (that of FILE's name, or txt)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="with export: where it goes (stdout)")
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    """List the sessions, newest first, or open one."""
    from engine.paths import saves_folder
    from engine.session import branches as keeping
    from engine.session import store as sessions

    saves = saves_folder(args.saves)
    args.name = _only_name(args.names)
    if args.names[:1] == ["export"]:
        return _export(args, saves)
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
        print(
            f"{item['name']:<46} {item['agent']:<8} {item['model']:<24} {item['episodes']:>4} episodes  {state}"
        )
    named = list(keeping.named(saves))
    for save in named:
        print(f"{save.name:<46} a save of {save.session.config.game}")
    if not found and not named:
        print("no session yet; jitrl play, jitrl watch and jitrl run make one", file=sys.stderr)
    return 0


def _only_name(words: list[str]) -> str | None:
    """Return the name among the words of the command, None if there is none."""
    from engine.errors import UsageError

    names = words[1:] if words[:1] == ["export"] else words
    if len(names) > 1 or (not names and words):
        raise UsageError("jitrl sessions takes one name: jitrl sessions NAME, or jitrl sessions export NAME")
    return names[0] if names else None


def _export(args: argparse.Namespace, saves: Path) -> int:
    """Write the transcript of a session to a file or to stdout."""
    from engine.disk import shown
    from engine.session.transcript import format_of
    from jitrl_tui.exporting import export, text_of

    recording = _named(args, saves).recording
    if args.output is None or args.output == "-":
        sys.stdout.write(text_of(recording, args.format or "txt"))
        return 0
    target = Path(args.output)
    export(recording, target, format_of(target, args.format))
    print(f"wrote {shown(target)}", file=sys.stderr)
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


def _plain(session: Any) -> dict[str, Any]:
    config = session.config
    return {
        "name": session.name, "kind": session.kind, "game": config.game, "agent": config.agent,
        "model": config.model, "seed": config.seed, "episodes": config.episodes,
        "finished": session.finished(), "recording": str(session.recording),
    }  # fmt: skip
