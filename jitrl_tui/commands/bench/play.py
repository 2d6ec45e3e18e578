"""`jitrl bench run` and `resume`: play a suite, or go on with a run."""

from __future__ import annotations

import argparse
import contextlib
import shlex
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine import waits
from engine.errors import MissingError, StorageError, UsageError
from engine.paths import saves_folder
from engine.wait import signals_in_threads
from jitrl_tui.runs.trackers import TOOLS, check
from jitrl_tui.system import shutdown
from jitrl_tui.system.output import note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from engine.bench.estimate import Estimate
    from engine.bench.executor import Executor
    from engine.bench.plan import BenchPlan
    from engine.bench.progress import RunLimits
    from engine.bench.records import Cell, Message
    from engine.bench.runner import Runner
    from engine.bench.suite import Suite

_NAMES = ("tasks", "arms", "models")


def register_run(actions: Any, common: argparse.ArgumentParser) -> None:
    """Add `run`."""
    parser = actions.add_parser("run", parents=[common], help="play a suite and report it")
    parser.add_argument("suite", metavar="SUITE", help="one of `jitrl bench ls`, or the path of a TOML file")
    for name in _NAMES:
        parser.add_argument(
            f"--{name}", action="append", metavar="NAMES", help=f"only or other {name}, joined by commas; repeatable"
            if name != "arms" else "only these arms, joined by commas; repeatable",
        )  # fmt: skip
    parser.add_argument("--seeds", metavar="N|LIST", help="number of seeds, or seeds joined by commas")
    parser.add_argument("--episodes", type=int, metavar="L", help="episodes on each task")
    parser.add_argument("--steps", type=int, metavar="M", help="steps an episode at most")
    parser.add_argument("--profile", metavar="NAME", help="another profile of settings")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="changes",
                        help="a setting of all arms; repeatable")  # fmt: skip
    parser.add_argument("--name", default="", metavar="RUN", help="name of the run (default: suite and time)")
    parser.add_argument("--memory", metavar="ADDRESS",
                        help="the memories of all cells, apart from each other, on a PostgreSQL server: "
                             "postgresql://HOST/DATABASE#SPACE")  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="check and estimate, and play nothing")
    parser.add_argument("--yes", action="store_true", help="do not ask before a run that costs money")
    _add_play_options(parser)
    parser.set_defaults(handler=run)


def register_resume(actions: Any, common: argparse.ArgumentParser) -> None:
    """Add `resume`."""
    parser = actions.add_parser("resume", parents=[common], help="go on with a run that was stopped")
    parser.add_argument("name", metavar="RUN", help="a run of `jitrl bench ls`, its folder, or last")
    parser.add_argument("--episodes", type=int, metavar="L", help="play more episodes on each task than before")
    _add_play_options(parser)
    parser.set_defaults(handler=resume)


def _add_play_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--jobs", type=int, default=None, metavar="N",
                        help="cells at a time (default: number of cores; 1 with a model in this machine)")  # fmt: skip
    parser.add_argument("--on", default="local", metavar="WHERE",
                        help="where cells are played: local (processes of this machine), ray (Ray, started here for "
                             "this run), ray:auto (the Ray cluster that this machine belongs to), or ray://HOST:PORT "
                             "(the one with this head node) (default: %(default)s)")  # fmt: skip
    parser.add_argument("--max-usd", type=float, metavar="X", help="stop when the run has cost more US dollars")
    parser.add_argument("--max-tokens", type=int, metavar="N", help="stop when the run has used so many tokens")
    parser.add_argument("--max-minutes", type=float, metavar="T", help="stop after so many minutes")
    parser.add_argument("--track", choices=TOOLS,
                        help="write the episodes of each cell for this tool, too, to saves/track")  # fmt: skip
    parser.add_argument("--watch", action="store_true", help="a screen with all cells and their curves")


def run(args: argparse.Namespace) -> int:
    """Check a suite, estimate it, play it, and write its report."""
    from engine.bench import folder as folders
    from engine.bench import suite as suites
    from engine.bench.estimate import estimate
    from engine.bench.plan import make_plan
    from engine.kinds import EnvironmentContext
    from engine.memory.memory_factory import check_address
    from jitrl_tui.commands.options import address

    saves = saves_folder(args.saves)
    limits = _limits(args)
    check(args.track)
    suite = suites.change_suite(suites.load(args.suite), **_changes(args))
    memory = address(args.memory) if args.memory is not None else ""
    plan = make_plan(suite, EnvironmentContext(saves, args.games), args.suite, memory)
    on = _on(args.on)
    jobs = _jobs(args.jobs, plan.cells)
    expected = estimate(plan.cells, saves, jobs)
    _tell_estimate(suite, expected, quiet=args.quiet)
    _tell_retired(plan, "--models")
    if args.dry_run:
        return 0
    if not _agreed(expected, limits, yes=args.yes):
        return 1
    if memory:
        check_address(memory)
    with _executor(on, plan, args, saves) as (executor, jobs):
        folder = folders.create(saves, plan, args.name, _command(args))
        return _play(folder, plan, args, saves, limits, executor, jobs)


def resume(args: argparse.Namespace) -> int:
    """Go on with a run."""
    from engine.bench import folder as folders
    from engine.bench.folder import change
    from engine.bench.plan import make_plan
    from engine.kinds import EnvironmentContext
    from engine.memory.memory_factory import check_address

    saves = saves_folder(args.saves)
    limits = _limits(args)
    check(args.track)
    folder = folders.find(saves, args.name)
    plan = folders.read_plan(folder)
    games = args.games or plan.games
    now = make_plan(plan.suite, EnvironmentContext(saves, games), str(folder), plan.memory)
    if plan.memory:
        check_address(plan.memory)
    if now.tasks != plan.tasks or now.train != plan.train or folders.is_outdated(folder, plan):
        raise UsageError(
            f"the run in {folder} was planned with other tasks or settings than this version has; begin a new run"
        )
    change(folder, games, args.episodes)
    plan = folders.read_plan(folder)
    _tell_retired(plan)
    with _executor(_on(args.on), plan, args, saves) as (executor, jobs):
        return _play(folder, plan, args, saves, limits, executor, jobs)


def _tell_retired(plan: BenchPlan, option: str = "") -> None:
    """Say which models of a run their providers retire."""
    from engine.llm.listed import retirement

    for sentence in filter(None, (retirement(name, option) for name in dict.fromkeys(c.model for c in plan.cells))):
        print(sentence, file=sys.stderr)


def watch_stored(folder: Path) -> int:
    """Show a stored run on the screen."""
    from jitrl_tui.run_apps import run_bench_app
    from jitrl_tui.runs.bench_source import source_of

    return run_bench_app(source_of(folder))


def _on(text: str) -> str:
    """Return where the cells are to be played, checked as far as that is possible without going there.

    Raises:
        UsageError: There is no such place.
    """
    if text != "local":
        from engine.bench.on_ray import ray_address

        ray_address(text)
    return text


@contextlib.contextmanager
def _executor(on: str, plan: BenchPlan, args: argparse.Namespace, saves: Path) -> Iterator[tuple[Executor, int]]:
    """Yield what plays the cells, and how many at a time."""
    if on == "local":
        from engine.bench.executor import LocalPool

        jobs = _jobs(args.jobs, plan.cells)
        yield LocalPool(jobs), jobs
        return
    from engine.bench.on_ray.ray_cluster import open_executor

    if not args.quiet:
        note(f"{'starting' if on == 'ray' else 'joining'} Ray ...")
    with open_executor(on, plan, saves, _jobs(args.jobs, plan.cells) if on == "ray" else args.jobs) as executor:
        yield executor, executor.jobs


def _play(
    folder: Path, plan: BenchPlan, args: argparse.Namespace, saves: Path, limits: RunLimits, executor: Executor,
    jobs: int,
) -> int:
    """Play what is left of a run, and write its report; return the exit code."""
    from engine.bench.runner import Runner

    def runner(tell: Callable[[Message], None]) -> Runner:
        return Runner(folder, plan.cells, executor, limits, tell, saves)

    if args.watch:
        from jitrl_tui.run_apps import run_bench_app
        from jitrl_tui.runs.bench_source import BenchInfo, LiveBench

        info = BenchInfo(folder.name, plan.suite.title, plan.cells, jobs, limits, folder)
        source = LiveBench(info, runner, saves=saves)
        code, stopped = run_bench_app(source), ""
        if not source.wait(0):
            source.stop()
            source.wait(waits.BENCH_LEFT.seconds)
    else:
        code, stopped = _with_lines(runner, plan.cells, limits, jobs, quiet=args.quiet)
    if stopped:
        print(f"jitrl: {stopped}", file=sys.stderr)
    if code:
        print(f"what was played is kept; go on with: jitrl bench resume {shlex.quote(folder.name)}", file=sys.stderr)
    _report(folder, quiet=args.quiet)
    if args.track is not None:
        _track(args.track, folder, saves)
    return code


def _track(tool: str, folder: Path, saves: Path) -> None:
    """Write each cell with its finished episodes as one run of a tool. A failure is told."""
    from engine.bench import report
    from jitrl_tui.runs.trackers import of_row, track

    results = report.load(folder)
    for cell in sorted({row.cell for row in results.rows}):
        mine = [row for row in results.rows if row.cell == cell]
        first = mine[0]
        params = {"game": first.task, "agent": first.agent, "arm": first.arm, "model": first.model, "seed": first.seed,
                  **(results.cells[cell].get("settings") or {})}  # fmt: skip
        try:
            track(tool, saves, f"{folder.name}-{cell}", params, [of_row(row) for row in mine])
        except StorageError as error:
            print(f"jitrl: {error}", file=sys.stderr)


def _with_lines(
    make: Callable[[Callable[[Message], None]], Runner],
    cells: Sequence[Cell],
    limits: RunLimits,
    jobs: int,
    *,
    quiet: bool,
) -> tuple[int, str]:
    """Play with progress on stderr; return the exit code, and why the run ended early."""
    from engine.bench.progress import BenchProgress
    from jitrl_tui.runs.bench_lines import BenchLines

    lines = BenchLines(BenchProgress(cells, jobs), limits, quiet=quiet)
    runner = make(lines.show)
    handlers: dict[signal.Signals, Callable[[], None]] = {
        signal.SIGTERM: runner.stop, signal.SIGHUP: runner.stop, signal.SIGINT: shutdown.Interrupt(runner.stop),
    }  # fmt: skip
    try:
        with signals_in_threads(handlers):
            code = runner.run()
    finally:
        lines.close()
    return code, runner.stopped


def _report(folder: Path, *, quiet: bool) -> None:
    """Write the report, and print its main table."""
    from engine.bench import report

    results = report.load(folder)
    if not results.rows:
        return
    out = folder / "report"
    try:
        report.write(results, out)
    except MissingError as error:
        print(f"jitrl: {error}", file=sys.stderr)
    print(report.summary(results))
    if not quiet:
        note(f"report: {out / 'report.html'}")


def _limits(args: argparse.Namespace) -> RunLimits:
    """Return the limits of cost.

    Raises:
        UsageError: One is out of range.
    """
    from engine.bench.progress import RunLimits

    if args.max_usd is not None and not args.max_usd >= 0:
        raise UsageError(f"--max-usd must be 0 or more, not {args.max_usd:g}")
    if args.max_tokens is not None and args.max_tokens < 1:
        raise UsageError(f"--max-tokens must be at least 1, not {args.max_tokens}")
    if args.max_minutes is not None and not args.max_minutes > 0:
        raise UsageError(f"--max-minutes must be above 0, not {args.max_minutes:g}")
    if args.jobs is not None and args.jobs < 1:
        raise UsageError(f"--jobs must be at least 1, not {args.jobs}")
    return RunLimits(args.max_usd, args.max_tokens, args.max_minutes)


def _changes(args: argparse.Namespace) -> dict[str, Any]:
    """Return the changes of a suite from the options."""
    from jitrl_tui.commands.options import change

    found: dict[str, Any] = {
        name: tuple(part for text in given for part in text.split(",") if part)
        for name in _NAMES
        if (given := getattr(args, name)) is not None
    }
    if args.seeds is not None:
        try:
            numbers = [int(part) for part in args.seeds.split(",")]
        except ValueError:
            raise UsageError(f"--seeds takes a number, or numbers joined by commas, not {args.seeds!r}") from None
        found["seeds"] = numbers if "," in args.seeds else numbers[0]
    for name in ("episodes", "steps", "profile"):
        if getattr(args, name) is not None:
            found[name] = getattr(args, name)
    for name in ("episodes", "steps"):
        if found.get(name, 1) < 1:
            raise UsageError(f"--{name} must be at least 1, not {found[name]}")
    if args.changes:
        found["settings"] = dict(change(text) for text in args.changes)
    return found


def _jobs(given: int | None, cells: Sequence[Cell]) -> int:
    """Return how many cells are played at a time: all cores are one model's, if it runs in this machine."""
    if given is not None:
        return given
    from engine.system import cores

    local = any("local/" in cell.model or "local:" in cell.model for cell in cells)
    return 1 if local else cores()


def _tell_estimate(suite: Suite, expected: Estimate, *, quiet: bool) -> None:
    if quiet:
        return
    from jitrl_tui.runs.amounts import parts_of

    parts = [
        f"{expected.cells} cells", f"{expected.episodes:,} episodes", f"up to {expected.steps:,} steps",
        *parts_of(expected),
    ]  # fmt: skip
    basis = "as in earlier runs" if expected.measured else "time is told after the first episodes"
    note(f"{suite.title}: {', '.join(parts)} ({basis})")


def _agreed(expected: Estimate, limits: RunLimits, *, yes: bool) -> bool:
    """Return whether the run may begin. One that costs money is confirmed on the terminal, or by --yes or --max-usd.

    Raises:
        UsageError: It costs money, and nobody can be asked; or it may cost none.
    """
    from jitrl_tui.runs.amounts import dollars

    if expected.usd == 0:
        return True
    price = "a price that is not known" if expected.usd is None else f"about {dollars(expected.usd)}"
    if limits.usd == 0:
        raise UsageError(f"--max-usd 0 allows models without cost only, and this run has {price}")
    if expected.usd is None and limits.usd is not None:
        raise UsageError(f"--max-usd {limits.usd:g} cannot be kept, because this run has {price}; use --max-tokens")
    if yes or limits.usd is not None:
        return True
    if not sys.stdin.isatty():
        raise UsageError(f"this run has {price}; begin it with --yes or with --max-usd X")
    return input(f"This run has {price}. Begin? [y/N] ").strip().lower() in ("y", "yes")


def _command(args: argparse.Namespace) -> str:
    """Return the command that begins this run again."""
    words = ["jitrl", "bench", "run", args.suite]
    for name in ("tasks", "arms", "models"):
        for text in getattr(args, name) or ():
            words += [f"--{name}", text]
    for name in ("seeds", "episodes", "steps", "profile", "memory", "games"):
        if getattr(args, name) is not None:
            words += [f"--{name}", str(getattr(args, name))]
    for text in args.changes:
        words += ["--set", text]
    return shlex.join(words)
