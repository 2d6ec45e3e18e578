"""`jitrl compare A B`: two sessions side by side, step by step."""

from __future__ import annotations

import argparse
import json
from typing import Any

from engine.paths import saves_folder
from jitrl_tui.system.output import clean


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
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
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    """Show the comparison on the screen, or print it; return the exit code."""
    from engine.session.store import recorded
    from jitrl_tui.plain.terminal import wants_plain
    from jitrl_tui.runs import comparison_texts

    saves = saves_folder(args.saves)
    paths = recorded(saves, args.a), recorded(saves, args.b)
    names = [path.name if path.is_dir() else path.parent.name for path in paths]
    comparison = comparison_texts.compared(*paths)
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
