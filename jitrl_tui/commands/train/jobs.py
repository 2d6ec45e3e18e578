"""`jitrl train grpo`, `sft`, `sweep`, `resume` and `write`: the jobs of a training process."""

from __future__ import annotations

import argparse
import dataclasses
import sys
import tempfile
import tomllib
from collections.abc import Collection, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import UsageError
from engine.paths import cache_folder, saves_folder
from engine.settings import SessionConfig
from engine.settings.train import GrpoSettings, SftSettings, TrainingSettings
from engine.train.run_files import WeightUpdate
from jitrl_tui.system.output import note

if TYPE_CHECKING:
    from engine.train.run_files import TrainingJob
    from engine.train.runs import TrainingRun


ALL = 1000
"""Candidates of a decision: all valid actions, so that the policy is not cut."""


def register_grpo(actions: Any, common: argparse.ArgumentParser) -> None:
    """Add `grpo`."""
    parser = actions.add_parser("grpo", parents=[common], help="train by the returns of groups of episodes")
    add_grpo(parser, "+", "what `jitrl run` plays; several are trained in turn")
    parser.set_defaults(handler=grpo)


def add_grpo(parser: argparse.ArgumentParser, count: str, tasks: str, without: Collection[str] = ()) -> None:
    """Add the games and the options of GRPO.

    Args:
        count: How many games there are, as `nargs` of argparse.
        tasks: The help on them.
        without: Training settings that are no options.
    """
    parser.add_argument("tasks", metavar="GAME", nargs=count, help=tasks)
    _add_common(parser, GrpoSettings, without)
    parser.add_argument(
        "--accelerate", metavar="FILE", default="",
        help="several processes or GPUs: 1-gpu, 4-gpus, or a configuration of accelerate",
    )  # fmt: skip


def register_sft(actions: Any, common: argparse.ArgumentParser) -> None:
    """Add `sft`."""
    parser = actions.add_parser("sft", parents=[common], help="train on recorded episodes")
    parser.add_argument("tasks", metavar="GAME", nargs=1, help="what was played")
    parser.add_argument("--from", metavar="SESSION", action="append", default=[], dest="sources",
                        help="a session, last, or a folder with recordings; repeatable")  # fmt: skip
    parser.add_argument("--walkthrough", action="store_true",
                        help="learn the game's known solution instead; the manifest says so")  # fmt: skip
    _add_common(parser, SftSettings)
    parser.set_defaults(handler=_sft, accelerate="")


def _add_common(
    parser: argparse.ArgumentParser, group: type[TrainingSettings], without: Collection[str] = ()
) -> None:
    """Add the options of the episodes, and one for each training setting but those that are left out."""
    parser.add_argument(
        "--model",
        default="local/smollm2",
        help="local/smollm2, local:/path/to/file.gguf, or a folder of transformers (default: %(default)s)",
    )
    parser.add_argument(
        "--name", default="", help="name of the run and of its row in tables (default: made of game and method)"
    )
    parser.add_argument("--steps", type=int, default=None, metavar="M", help="steps an episode at most")
    parser.add_argument(
        "--seed", type=int, default=1, metavar="S", help="seed of game and choices (default: %(default)s)"
    )
    parser.add_argument("--profile", default="default", help="settings of the episodes (default: %(default)s)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="changes",
                        help="a setting of the episodes; repeatable")  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="only build the trainer and one batch")
    settings = parser.add_argument_group("training settings")
    for spec in dataclasses.fields(group):
        meta = spec.metadata
        if spec.name in without:
            continue
        settings.add_argument(
            f"--{spec.name.replace('_', '-')}",
            type=type(spec.default),
            default=None,
            metavar="|".join(meta["choices"]) or ("N" if isinstance(spec.default, int) else "X"),
            help=f"{meta['meaning']} (default: {_shown(spec.default)})".replace("%", "%%"),
        )


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value) or "none"


def grpo(args: argparse.Namespace) -> int:
    """Train with GRPO."""
    return _start(args, _job(args, "grpo", GrpoSettings))


def _sft(args: argparse.Namespace) -> int:
    if bool(args.sources) == args.walkthrough:
        raise UsageError("say what to learn from: either --from SESSION, or --walkthrough")
    job = _job(args, "sft", SftSettings)
    found = tuple(str(_source(Path(job.saves), source)) for source in args.sources)
    return _start(args, dataclasses.replace(job, recordings=found, walkthroughs=args.walkthrough))


def resume(args: argparse.Namespace) -> int:
    """Go on with a run."""
    from engine.train.runs import load

    return _start(
        args, dataclasses.replace(load(saves_folder(args.saves), args.name).job, dry=False, write=False)
    )


def write(args: argparse.Namespace) -> int:
    """Write the results of the last checkpoint of a run."""
    from engine.train.runs import load

    args.accelerate = ""
    return _start(
        args, dataclasses.replace(load(saves_folder(args.saves), args.name).job, dry=False, write=True)
    )


def _job(args: argparse.Namespace, kind: str, group: type[TrainingSettings]) -> TrainingJob:
    """Return the job that the arguments ask for.

    Raises:
        UsageError: A name or value is wrong.
    """
    from engine.train.run_files import TrainingJob, runs_folder

    saves = saves_folder(args.saves)
    given = {spec.name: getattr(args, spec.name) for spec in dataclasses.fields(group)}
    settings = group(**{name: value for name, value in given.items() if value is not None})
    session, tasks = _session(args, saves)
    name = args.name or f"{Path(args.tasks[0]).stem.replace(':', '-').lower()}-{kind}"
    _check_name(name)
    return TrainingJob(
        kind=kind,
        name=name,
        folder=str(runs_folder(saves) / name),
        saves=str(saves),
        cache=str(cache_folder(saves)),
        model=_model(args.model),
        tasks=tasks,
        session=session,
        settings=dataclasses.asdict(settings),
        dry=args.dry_run,
    )


def _model(name: str) -> str:
    """Return the name of a model, with an absolute path if it is one, so that a run can be resumed from anywhere."""
    beginning = "local:" if name.startswith("local:") else ""
    path = Path(name.removeprefix(beginning)).expanduser()
    return f"{beginning}{path.absolute()}" if path.exists() else name


def _check_name(name: str) -> None:
    if not name.isprintable() or "/" in name or name.startswith(".") or len(name) > 80:
        raise UsageError(f"{name!r} cannot be the name of a run; use letters, digits and -")


def _session(args: argparse.Namespace, saves: Path) -> tuple[SessionConfig, tuple[str, ...]]:
    """Return the configuration of the episodes, and the full names of all tasks.

    Raises:
        JitrlError: A game cannot be played, or a setting is wrong.
    """
    from engine import environments
    from engine.kinds import EnvironmentContext
    from jitrl_tui.commands.options import change

    places = EnvironmentContext(saves, args.games)
    kind, _ = environments.resolve(args.tasks[0])
    changes: dict[str, Any] = dict(change(text) for text in args.changes)
    changes |= {"selection": "sample", "candidates": ALL}
    if args.steps is not None:
        changes["step_limit"] = args.steps
    tasks: list[str] = []
    for name in args.tasks:
        own, full = environments.resolve(name)
        tasks += own.ready(full, places)
    settings = kind.profile(args.profile, **changes)
    session = SessionConfig(
        game=tasks[0], agent="static", model=args.model, seed=args.seed, profile=args.profile, settings=settings,
        games=places.games, memory="own",
    )  # fmt: skip
    return session, tuple(dict.fromkeys(tasks))


def _source(saves: Path, name: str) -> Path:
    """Return the folder of a session, or a folder with recordings.

    Raises:
        UsageError: It is not there, or has no recording.
    """
    from engine.session.store import find
    from engine.train.data import recordings

    session = saves / "sessions" / name
    inside = name == "last" or ("/" not in name and session.is_dir())
    folder = find(saves, name).folder if inside else Path(name).absolute()
    recordings(folder)
    return folder


def _start(args: argparse.Namespace, job: TrainingJob) -> int:
    """Check what can be checked here, then train. A dry run has a folder for as long as it takes."""
    from engine.train import runs
    from engine.train.checks import check
    from engine.train.install import ready
    from engine.train.trainers import accelerate_file, train

    accelerate = accelerate_file(args.accelerate)
    python = ready(Path(job.saves))
    check(job)
    if job.dry:
        with tempfile.TemporaryDirectory(prefix="jitrl-train-") as folder:
            job = dataclasses.replace(job, folder=folder)
            runs.write(job)
            return train(python, job, accelerate, _ConsoleProgress())
    job = runs.begin(job)
    code = train(python, job, accelerate, _ConsoleProgress())
    _tell_end(Path(job.saves), job.name, stopped=code != 0)
    return code


class _ConsoleProgress:
    """Prints what a training process tells: sentences to stderr, updates as lines of a table."""

    def __init__(self) -> None:
        self._begun = False

    def __call__(self, name: str, value: Any) -> None:
        from engine.train.runs import update_of
        from jitrl_tui.commands.train.jobs import HEAD, line

        if name == "say":
            note(f"{value} ...")
            return
        if not self._begun:
            print(HEAD)
            self._begun = True
        print(line(update_of(value)), flush=True)


def _tell_end(saves: Path, name: str, *, stopped: bool) -> None:
    from engine.train.runs import load
    from jitrl_tui.commands.train.jobs import spent_text

    run = load(saves, name)
    if run.updates:
        print(spent_text(run.updates[-1]))
    if stopped:
        print(f"stopped; go on with: jitrl train resume {name}", file=sys.stderr)
    else:
        note(f"written to {run.folder}; `jitrl train show {name}` tells how to play it")


HEAD = "update  episodes    return   best    loss      kl  gradient  entropy  cpu min    eval"


def line(update: WeightUpdate) -> str:
    """Return an update as a line under `HEAD`."""
    returns = update.returns
    mean = f"{sum(returns) / len(returns):9.2f} {max(returns):6.2f}" if returns else f"{'':9} {'':6}"
    evaluated = f"{sum(update.evaluation) / len(update.evaluation):7.2f}" if update.evaluation else ""
    return (
        f"{update.update:6d} {update.episodes:9d} {mean} {_number(update.loss, 7, 3)} {_number(update.kl, 7, 4)} "
        f"{_number(update.gradient_norm, 9, 3)} {_number(update.entropy, 8, 3)} {update.processor_s / 60:8.1f} "
        f"{evaluated}"
    ).rstrip()


def spent_text(update: WeightUpdate) -> str:
    """Return what a run took up to an update, in a sentence."""
    tokens = update.prompt_tokens + update.completion_tokens
    return (
        f"{update.episodes} episodes with {update.environment_steps} steps and {tokens:,} tokens; gradients of "
        f"{update.trained_tokens:,} tokens; {update.processor_s / 3600:.2f} processor hours"
    )


def _number(value: float | None, width: int, digits: int) -> str:
    return f"{value:{width}.{digits}f}" if value is not None else " " * width


SWEPT = ("group", "batch", "epochs_of_batch", "learning_rate")
"""The settings that differ from run to run."""


def register_sweep(actions: Any, common: argparse.ArgumentParser) -> None:
    """Add `sweep`."""
    parser = actions.add_parser(
        "sweep", parents=[common], help="the paper's sweep of GRPO's settings, run after run",
        description="Train with each setting of the paper's sweep in turn, and compare the scores of the episodes that "
                    "were played after each update. The same command goes on where it was stopped.",
    )  # fmt: skip
    add_grpo(parser, "*", "what `jitrl run` plays (default: zork1, as in the paper)", without=SWEPT)
    parser.set_defaults(handler=_sweep)


def _sweep(args: argparse.Namespace) -> int:
    from engine.train.runs import runs

    suite = tomllib.loads((files("engine.train") / "grpo_sweep.toml").read_text(encoding="utf-8"))
    base = args.name or f"{Path((args.tasks or ['zork1'])[0]).stem.replace(':', '-').lower()}-sweep"
    for name in ("steps", "updates", "evaluations"):
        if getattr(args, name) is None:
            setattr(args, name, suite[name])
    saves = saves_folder(args.saves)
    names = []
    for row in suite["runs"]:
        names.append(f"{base}-g{row['group']}-b{row['batch']}-e{row['epochs_of_batch']}-lr{row['learning_rate']:g}")
        done = any(run.job.name == names[-1] and run.written for run in runs(saves))
        again = argparse.Namespace(**{**vars(args), **row, "tasks": args.tasks or ["zork1"], "name": names[-1]})
        if not done and (code := grpo(again)):
            print(f"{len(names) - 1} of {len(suite['runs'])} runs are there; the same command goes on", file=sys.stderr)
            return code
    if not args.dry_run:
        found = {run.job.name: run for run in runs(saves)}
        print(table(suite["runs"], [found[name] for name in names], suite["published"]))
    return 0


def table(rows: Sequence[Mapping[str, Any]], runs: Sequence[TrainingRun], published: str) -> str:
    """Return the scores of the evaluations of each run, beside those of the paper."""
    from engine.bench.published import read_published as published_table

    papers = published_table(published)
    lines = [f"group  batch  epochs  rate      mean    max    min  episodes   paper ({papers.model}): mean  max  min"]
    for row, run, paper in zip(rows, runs, papers.rows, strict=True):
        scores = [score for update in run.updates for score in update.evaluation]
        mean, most, least = (sum(scores) / len(scores), max(scores), min(scores)) if scores else (0.0, 0.0, 0.0)
        reward_columns = f"{mean:7.1f} {most:6g} {least:6g}" if scores else f"{'none':>7} {'':6} {'':6}"
        episodes = run.updates[-1].episodes if run.updates else 0
        lines.append(
            f"{row['group']:5d}  {row['batch']:5d}  {row['epochs_of_batch']:6d}  {row['learning_rate']:<5g} "
            f"{reward_columns} "
            f"{episodes:9d}   {'  '.join(str(value) for value in paper.values)}"
        )
    return "\n".join(lines)
