"""`jitrl train`: trains the weights of a model on a game, with SFT or GRPO, in an environment of its own."""

from __future__ import annotations

import argparse
import shlex
import sys
from typing import Any

from engine.paths import saves_folder
from jitrl_tui.commands.train.jobs import register_grpo, register_sft, register_sweep, resume, write
from jitrl_tui.system.output import note


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the command and its actions."""
    parser = subparsers.add_parser("train", parents=[common], help="train a model's weights: SFT and GRPO")
    parser.set_defaults(handler=_ls)
    actions = parser.add_subparsers(metavar="ACTION")
    up = actions.add_parser(
        "up", parents=[common], help="tell whether the training environment is here, or make it"
    )
    up.add_argument(
        "--install",
        action="store_true",
        help="make saves/train/venv with torch and TRL (1.5 GB; more for GPUs)",
    )
    up.set_defaults(handler=_up)
    register_grpo(actions, common)
    register_sweep(actions, common)
    register_sft(actions, common)
    again = actions.add_parser("resume", parents=[common], help="go on with a run from its last checkpoint")
    again.add_argument("name", metavar="RUN", help="a run of `jitrl train ls`, or last")
    again.add_argument("--accelerate", metavar="FILE", default="", help="as for `jitrl train grpo`")
    again.set_defaults(handler=resume)
    result = actions.add_parser(
        "write", parents=[common], help="write adapter and model of the last checkpoint"
    )
    result.add_argument("name", metavar="RUN", help="a run of `jitrl train ls`, or last")
    result.set_defaults(handler=write)
    suite = actions.add_parser("suite", parents=[common], help="print a suite that compares runs, for `jitrl bench`")
    suite.add_argument("names", metavar="RUN", nargs="*", help="runs of `jitrl train ls`")
    suite.add_argument("--episodes", type=int, default=10, metavar="L", help="episodes a row (default: %(default)s)")
    suite.set_defaults(handler=_suite)
    listing = actions.add_parser("ls", parents=[common], help="list the runs")
    listing.set_defaults(handler=_ls)
    show = actions.add_parser("show", parents=[common], help="show the curve of a run and what it took")
    show.add_argument("name", metavar="RUN", help="a run of `jitrl train ls`, or last")
    show.set_defaults(handler=_show)


def _up(args: argparse.Namespace) -> int:
    from engine.train import install

    saves = saves_folder(args.saves)
    if args.install:
        install.install(saves, lambda text: note(f"{text} ..."))
    python = install.ready(saves)
    print(f"the training environment is ready: {python.parent.parent}")
    return 0


def _suite(args: argparse.Namespace) -> int:
    from engine.train.comparison import suite
    from engine.train.runs import load

    print(suite([load(saves_folder(args.saves), name) for name in args.names], args.episodes), end="")
    return 0


def _ls(args: argparse.Namespace) -> int:
    from engine.train.runs import runs

    found = list(runs(saves_folder(args.saves)))
    if not found:
        print("no training run yet; begin one with: jitrl train grpo GAME", file=sys.stderr)
    for run in found:
        last = run.updates[-1] if run.updates else None
        state = "written" if run.written else "begun"
        took = f"{len(run.updates)} updates, {last.episodes} episodes" if last else "no update yet"
        print(f"{run.job.name:<32} {run.job.kind:<5} {state:<8} {took:<28} {run.job.model}")
    return 0


def _show(args: argparse.Namespace) -> int:
    from engine.train.runs import load
    from jitrl_tui.commands.train.jobs import HEAD, line, taken

    run = load(saves_folder(args.saves), args.name)
    print(HEAD)
    for update in run.updates:
        print(line(update))
    if run.updates:
        print(taken(run.updates[-1]))
    if run.written:
        print(f"play it with: jitrl run {shlex.quote(run.job.tasks[0])} --agent static "
              f"--model {shlex.quote(f'local:{run.folder}')} {PLAY}")
    return 0


PLAY = "--set selection=sample --set candidates=1000"
"""Options with which a trained policy is played as it was sampled."""
