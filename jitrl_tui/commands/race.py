"""`jitrl race GAME`: two to four agents on one game and seed, step by step at the same time."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import UsageError
from engine.paths import saves_folder
from engine.settings import PROFILES, SessionConfig
from jitrl_tui.arguments import racers
from jitrl_tui.commands.options import change, one_game
from jitrl_tui.system.output import clean, note

if TYPE_CHECKING:

    from engine.session.race import SavedRace


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "race", parents=[common], help="two to four agents on one game and seed, step by step at the same time"
    )
    parser.add_argument("game", nargs="?", metavar="GAME", help="what they play; the same as for watch")
    parser.add_argument(
        "--arm",
        action="append",
        default=[],
        metavar="[NAME=]AGENT[:KEY=VALUE,...]",
        dest="arms",
        help="a racer: an agent, with settings, model or profile of its own: --arm static --arm "
        "'jitrl:estimator=knn,beta=1' --arm 'big=jitrl:model=openai/gpt-4o'; two to four times; "
        f"without it {' and '.join(racers())}",
    )
    parser.add_argument("--model", default="local/smollm2", help="model of arms that name none (default: %(default)s)")
    parser.add_argument("--profile", default="default", help=f"settings: {', '.join(PROFILES)} (default: %(default)s)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="changes",
                        help="a setting of all arms; repeatable")  # fmt: skip
    parser.add_argument("--episodes", type=int, default=10, metavar="N", help="episodes (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=None, metavar="M", help="steps an episode at most")
    parser.add_argument("--seed", type=int, default=1, metavar="S",
                        help="seed of game and choices (default: %(default)s)")  # fmt: skip
    parser.add_argument("--shared", action="store_true",
                        help="all use the game's shared memory, instead of each an empty one of its own")  # fmt: skip
    parser.add_argument("--resume", metavar="RACE", help="go on with this race, or last")
    parser.add_argument("--replay", metavar="RACE", help="show this race again, or last, without model or game")
    parser.add_argument("--speed", type=float, default=2.0, metavar="N", help="steps per second (default: %(default)s)")
    parser.add_argument("--plain", action="store_true", help="lines instead of a screen")
    parser.add_argument("--json", action="store_true", help="run it without a screen; an object on stdout")
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    """Run, resume or replay a race; return the exit code."""
    from engine.session import race as races
    from jitrl_tui.plain.terminal import wants_plain

    saves = saves_folder(args.saves)
    named = args.resume or args.replay
    if args.resume and args.replay:
        raise UsageError("--resume goes on with a race and --replay shows one again: give one of them")
    if named:
        if args.game or args.arms:
            raise UsageError(f"the race {named} has its game and its arms; leave out GAME and --arm")
        race = races.load(saves, named)
    elif not args.game:
        there = ", ".join(races.saved_races(saves))
        raise UsageError(f"which game? jitrl race GAME{f'; races: {there}' if there else ''}")
    else:
        arms = [arm(text, args) for text in args.arms or racers()]
        for _, config in arms:
            one_game(config, saves)
        race = races.create(saves, arms)
    if args.json or args.plain or wants_plain():
        return _lines(race, saves, replay=bool(args.replay), quiet=args.json)
    return _screen(race, saves, replay=bool(args.replay), speed=args.speed)


def arm(text: str, args: argparse.Namespace) -> tuple[str, SessionConfig]:
    """Return name and configuration of a racer from [NAME=]AGENT[:KEY=VALUE,...].

    Raises:
        UsageError: It is not written like this, or a name or value is wrong.
    """
    from engine import agents, environments

    head, _, rest = text.partition(":")
    given, separator, agent = head.rpartition("=")
    try:
        pairs = [pair.partition("=") for pair in rest.split(",") if pair]
        own = {key.strip(): value.strip() for key, _, value in pairs}
        model, profile = own.pop("model", args.model), own.pop("profile", args.profile)
        kind, game = environments.resolve(args.game)
        changes = dict(change(one) for one in args.changes)
        if args.steps is not None:
            changes["step_limit"] = args.steps
        changes.update(change(f"{key}={value}") for key, value in own.items())
        agents.AGENTS.find(agent)
        settings = kind.profile(profile, **changes)
    except UsageError as error:
        raise UsageError(f"--arm {text}: {str(error).removeprefix('--set ')}") from None
    if separator and not given:
        raise UsageError(f"--arm {text}: the name before = is empty")
    config = SessionConfig(
        game=game,
        agent=agent,
        model=model,
        episodes=args.episodes,
        seed=args.seed,
        profile=profile,
        settings=settings,
        games=args.games,
        memory="shared" if args.shared else "own",
    )
    return given or text, config


def _screen(race: SavedRace, saves: Path, *, replay: bool, speed: float) -> int:
    from jitrl_tui.run_apps import run_race_app
    from jitrl_tui.runs.race_source import LiveRace, RecordedRace

    delay = 1.0 / speed if speed > 0 else 0.0
    code = run_race_app(RecordedRace(race) if replay else LiveRace(race, saves), race, saves, delay=delay)
    if not replay:
        _say_how_to_go_on(race)
    return code


def _lines(race: SavedRace, saves: Path, *, replay: bool, quiet: bool) -> int:
    """Run or replay a race in lines; return the exit code."""
    from engine.session.race import Race, RacerEvent, moments
    from jitrl_tui.runs.race_view import RaceLines, RaceView, as_json
    from jitrl_tui.system import shutdown

    view, lock = RaceView(race), threading.Lock()
    lines = RaceLines(view)

    def emit(item: RacerEvent) -> None:
        with lock:
            for line in lines.lines_of(item):
                if not quiet:
                    print(clean(line), flush=True)

    errors: dict[int, str] = {}
    stopped = False
    if replay:
        for moment in moments(race):
            for item in moment:
                emit(item)
    else:
        running = Race(race, saves, emit)
        with shutdown.interruptible(running.stop, sys.stdout) as interrupt:
            running.run()
        errors, stopped = running.errors, interrupt.called
    if quiet:
        print(json.dumps(as_json(view), indent=1))
    else:
        for line in lines.summary():
            print(clean(line))
    if not replay:
        _say_how_to_go_on(race)
    return 130 if stopped else 1 if errors else 0


def _say_how_to_go_on(race: SavedRace) -> None:
    """Say on stderr how the race is shown again or, unless all have finished, resumed."""
    finished = all(racer.session.finished() for racer in race.racers)
    again = "show it again with" if finished else "go on with"
    option = "--replay" if finished else "--resume"
    note(f"{again}: jitrl race {option} {shlex.quote(race.name)}")
