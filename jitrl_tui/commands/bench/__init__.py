"""`jitrl bench`: compares methods. Lists, shows, runs and reports suites of tasks, agents, models and seeds."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from engine.errors import BadFile, UsageError
from engine.paths import saves_folder
from jitrl_tui.commands.bench.play import register_resume, register_run
from jitrl_tui.runs.amounts import dollars

ACTIONS = ("ls", "show", "run", "resume", "report")
"""The actions. `jitrl bench SUITE` stands for `jitrl bench run SUITE`."""


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the command and its actions."""
    parser = subparsers.add_parser(
        "bench", parents=[common], help="compare methods: run a suite, read its tables",
        description="Compare methods on tasks, with models and seeds. `jitrl bench SUITE` is short for "
                    "`jitrl bench run SUITE`.",
    )  # fmt: skip
    parser.set_defaults(handler=list_all, json=False)
    actions = parser.add_subparsers(metavar="ACTION")

    ls = actions.add_parser("ls", parents=[common], help="list the suites, and the runs that were begun")
    ls.add_argument("--json", action="store_true", help="an object on stdout")
    ls.set_defaults(handler=list_all)

    show = actions.add_parser("show", parents=[common], help="what a suite compares, or how far a run is")
    show.add_argument("name", metavar="SUITE|RUN", help="a suite, its file, a run, or last")
    show.add_argument("--json", action="store_true", help="an object on stdout")
    show.add_argument("--watch", action="store_true", help="a run on the screen, with its curves")
    show.set_defaults(handler=show_one)

    register_run(actions, common)
    register_resume(actions, common)

    report = actions.add_parser("report", parents=[common], help="tables and pictures of a run, or of several joined")
    report.add_argument(
        "names", nargs="+", metavar="RUN", help="a run, its folder, or last; several of one suite are joined"
    )
    report.add_argument(
        "--episodes", type=int, metavar="L", help="count the first L episodes of each task and seed only"
    )
    report.add_argument(
        "--format", action="append", default=None, dest="formats", metavar="FORMAT",
        help="md, csv, tex, html, svg or png; repeatable (default: all; svg and png where matplotlib is installed)",
    )  # fmt: skip
    report.add_argument("-o", "--output", type=Path, metavar="DIR",
                        help="folder of the files (default: report in the run's folder)")  # fmt: skip
    report.add_argument("--out", dest="output", type=Path, help=argparse.SUPPRESS)  # as it was called before
    report.add_argument("--print", action="store_true", dest="show", help="the report as Markdown on stdout, no files")
    report.add_argument("--json", action="store_true", help="the numbers as an object on stdout, no files")
    report.add_argument(
        "--per", choices=("episode", "step", "token", "hour"), default="",
        help="draw the curves against episodes, environment steps, tokens or processor hours, training included",
    )  # fmt: skip
    report.set_defaults(handler=report_one)


def list_all(args: argparse.Namespace) -> int:
    """List the suites and the runs."""
    from engine.bench import folder as folders
    from engine.bench import suite as suites
    from engine.bench.manifest import read_manifest

    found = [suites.load(name) for name in suites.shipped_suites()]
    runs = []
    for folder in folders.runs(saves_folder(args.saves)):
        try:
            runs.append(_state(folder, read_manifest(folder)))
        except BadFile as error:
            print(f"jitrl: {error}", file=sys.stderr)
    if args.json:
        print(json.dumps({"suites": [suites.plain(one) | {"name": one.name} for one in found], "runs": runs}, indent=1))
        return 0
    print("suites")
    for suite in found:
        print(f"  {suite.name:<18} {suite.title}")
    if runs:
        print("\nruns, the newest first")
    for run in runs:
        print(f"  {run['name']:<44} {run['finished']}/{run['cells']} cells  {run['stopped']}")
    return 0


def show_one(args: argparse.Namespace) -> int:
    """Show a suite or a run."""
    from engine.bench import folder as folders
    from engine.bench import suite as suites
    from engine.bench.manifest import read_manifest

    saves = saves_folder(args.saves)
    try:
        folder = folders.find(saves, args.name)
    except UsageError:
        if args.watch:
            raise
        suite = suites.load(args.name)
        if args.json:
            print(json.dumps(suites.plain(suite) | {"name": suite.name}, indent=1))
        else:
            print(about(suite))
        return 0
    if args.watch:
        from jitrl_tui.commands.bench.play import watch_stored

        return watch_stored(folder)
    manifest = read_manifest(folder)
    if args.json:
        print(json.dumps({**_state(folder, manifest), "manifest": manifest}, indent=1))
        return 0
    state = _state(folder, manifest)
    print(f"{state['name']}: {manifest.get('title', '')}")
    print(f"begun with   {manifest.get('command', '')}")
    print(f"cells        {state['finished']} of {state['cells']} finished")
    spent = manifest["spent"]
    print(f"spent        {dollars(spent['usd'])}, {spent['tokens']:,} tokens, {spent['minutes']:.1f} min")
    if state["stopped"]:
        print(f"ended early  {state['stopped']}")
    for name, cell in manifest["cells"].items():
        print(f"  {cell['state']:<9} {name}" + (f": {cell['error']}" if cell.get("error") else ""))
    return 0


def about(suite: Any) -> str:
    """Return what a suite compares, in lines."""
    from engine.llm.listed import retirement

    lines = [
        f"{suite.name}: {suite.title}",
        *([suite.about.strip()] if suite.about.strip() else []),
        f"tasks     {', '.join(suite.tasks)}",
        f"seeds     {', '.join(map(str, suite.seeds))}",
        f"episodes  {suite.episodes} of {suite.steps or 'as many as the profile says'} steps, {suite.protocol}; "
        f"memory by {suite.memory}",
        f"profile   {suite.profile}",
        "arms",
    ]
    width = max(24, *(len(arm.name) for arm in suite.arms))
    for arm in suite.arms:
        changes = [f"{name}={value}" for name, value in arm.settings.items()]
        workers = [f"{arm.workers} workers"] if arm.workers > 1 else []
        what = [arm.agent, *(arm.models or suite.models), *workers, *changes]
        lines.append(f"  {arm.name:<{width}} {', '.join(what)}")
    models = dict.fromkeys(model for arm in suite.arms for model in arm.models or suite.models)
    lines += filter(None, (retirement(model, "--models") for model in models))
    return "\n".join(lines)


def report_one(args: argparse.Namespace) -> int:
    """Write the report of a run, or of several as one."""
    from engine.bench import folder as folders
    from engine.bench import report

    found = [folders.find(saves_folder(args.saves), name) for name in args.names]
    if len({folder.resolve() for folder in found}) < len(found):
        raise UsageError(f"the same run is named twice: {', '.join(args.names)}")
    if len(found) > 1 and args.output is None and not args.show and not args.json:
        raise UsageError(
            "several runs are joined; say with --output DIR where their report goes, or use --print or --json"
        )
    short = len({folder.name for folder in found}) == len(found)
    runs = {folder.name if short else str(folder): report.load(folder) for folder in found}
    if args.episodes is not None:
        runs = {name: report.first(run, args.episodes, name) for name, run in runs.items()}
    results = report.join_runs(runs)
    if args.json:
        print(json.dumps(report.plain(results, args.per), indent=1))
        return 0
    if args.show:
        print(report.markdown(results, args.per))
        return 0
    without = "" if args.formats else report.images.missing()
    formats = args.formats or [one for one in report.FORMATS if not without or one not in report.images.FORMATS]
    for path in report.write(results, args.output or found[0] / "report", formats, args.per):
        print(path)
    if without:
        print(f"jitrl: all but the figures was written; {without}", file=sys.stderr)
    return 0


def _state(folder: Path, manifest: dict[str, Any]) -> dict[str, Any]:
    """Return how far a run is."""
    states = [cell["state"] for cell in manifest["cells"].values()]
    return {
        "name": folder.name,
        "suite": str(manifest.get("suite", "")),
        "cells": len(states),
        "finished": states.count("finished"),
        "stopped": str(manifest.get("stopped", "")),
    }
