"""`jitrl run GAME`: plays a session, or the tasks of a suite in order, without a screen, with a JSON result."""

from __future__ import annotations

import argparse
import dataclasses
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import UsageError
from engine.paths import saves_folder
from engine.records import SessionStarted
from jitrl_tui.commands.headless import RunProgress, play, result_of, track_episodes, verdict, write
from jitrl_tui.commands.options import add_session_options, session_config, typed_settings
from jitrl_tui.runs.start_checks import check_game
from jitrl_tui.runs.trackers import TOOLS, check
from jitrl_tui.system.output import note

if TYPE_CHECKING:
    from engine.session.store import SavedSession
    from engine.session.suites import SavedSuite
    from engine.settings import SessionConfig


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
        _refuse_changes(args, config, suite.config, suite.name)
    elif args.resume:
        saved = sessions.find(saves, args.resume)
        check_game(saved.config, saves)
        _refuse_changes(args, config, saved.config, saved.name)
        config = saved.config
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
    track_episodes(args.track, saves, saved, session, progress)
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


def _refuse_changes(args: argparse.Namespace, asked: SessionConfig, kept: SessionConfig, name: str) -> None:
    """Refuse a game or an option that a session to be resumed does not have.

    Args:
        asked: What the arguments say, with all else as it is set.
        kept: What the session has.
        name: Its name.
    """
    if asked.game != kept.game:
        again = f"jitrl run {shlex.quote(kept.game)} --resume {shlex.quote(name)}"
        raise UsageError(f"{name} is a session of {kept.game}, not of {asked.game}; go on with: {again}")
    options = [one for one in ("agent", "model", "episodes", "seed", "profile") if getattr(args, one) is not None]
    pairs = [(f"--{one}", getattr(asked, one), getattr(kept, one)) for one in options]
    pairs += [(one, getattr(asked.settings, one), getattr(kept.settings, one)) for one in typed_settings(args)]
    for option, new, old in pairs:
        if new != old:
            raise UsageError(
                f"{name} has {option} {old}, which stays as it is when it is resumed; leave {option} out, or begin a "
                "session without --resume"
            )


def _target(name: str | None) -> Path | None:
    """Return the path of the result file. A missing folder is reported before the run starts."""
    if name is None or name == "-":
        return None
    target = Path(name)
    if target.is_dir() or not target.absolute().parent.is_dir():
        raise UsageError(f"cannot write the result to {name}: no such folder")
    return target


EPISODES = 5
"""Episodes of each task, as in the paper."""
_SHARED = ("format", "settings", "versions", "code", "prompts")
"""Fields of a result that are the same for all tasks of a suite."""


def new_suite(config: SessionConfig, names: Sequence[str], saves: Path, episodes: int | None) -> SavedSuite:
    """Create the run of a suite."""
    from engine.session import suites

    return suites.create(saves, dataclasses.replace(config, episodes=episodes or EPISODES), names)


def run_suite(
    suite: SavedSuite, saves: Path, target: Path | None, *, quiet: bool, show: bool, tool: str | None = None
) -> int:
    """Play all remaining tasks; return the exit code. If a task fails, this is reported and the next one begins."""
    from engine.session import suites

    config, results, code = suite.config, [], 0
    for number, (name, saved) in enumerate(suites.play(saves, suite), 1):
        if saved.finished():
            results.append(_before(saved))
            continue
        if not quiet:
            note(f"task {number}/{len(suite.tasks)}: {name}")
        session, progress, interrupted = play(saved, saves, quiet=quiet)
        result = result_of(session.results, saved.config, progress)
        if session.error is not None:
            print(f"jitrl: {name}: {session.error}", file=sys.stderr)
            result["error"], code = str(session.error), session.error.exit_code
        elif not interrupted:
            code = verdict(session.results, saved.config, progress) or code
        track_episodes(tool, saves, saved, session, progress)
        results.append(result)
        write(summary(config, results), target, show=False)  # store the results so far, whatever happens later
        if interrupted:
            again = f"jitrl run {shlex.quote(config.game)} --resume {shlex.quote(suite.name)}"
            print(f"stopped; go on with: {again}", file=sys.stderr)
            code = 130
            break
    done = summary(config, results)
    write(done, target, show=show)
    if not quiet and done["avg"] is not None:
        print(f"{len(results)} tasks: success {100 * done['avg']:.1f} % on average, "
              f"{100 * done['final']:.1f} % at last", file=sys.stderr)  # fmt: skip
    return code


def _before(saved: SavedSession) -> dict[str, Any]:
    """Return the result of a session that is already finished."""
    from engine.session import recording, suites

    episodes = suites.finished_episodes(saved)
    progress = RunProgress(saved.config.episodes, saved.config.settings.step_limit, quiet=True)
    for _, event in recording.read(saved.recording):
        if isinstance(event, SessionStarted):
            progress.show(event)
            break
    progress.memory_entries = episodes[-1].memory_entries if episodes else 0
    return result_of(episodes, saved.config, progress)


def summary(config: SessionConfig, results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the result of the suite: Avg over all episodes, Final over the last episode of each task, and by task."""
    played = [result for result in results if result["episodes"]]
    scores = [episode["score"] for result in played for episode in result["episodes"]]
    last = [result["final"] for result in played]
    shared = {name: results[0][name] for name in _SHARED if results and name in results[0]}
    return {
        **shared,
        "suite": config.game,
        "agent": config.agent,
        "model": config.model,
        "seed": config.seed,
        "profile": config.profile,
        "avg": sum(scores) / len(scores) if scores else None,
        "final": sum(last) / len(last) if last else None,
        "answers": {
            name: sum(result["answers"][name] for result in results)
            for name in (results[0]["answers"] if results else ())
        },
        "tasks": [{name: value for name, value in result.items() if name not in shared} for result in results],
    }
