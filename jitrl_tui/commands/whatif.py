"""`jitrl whatif RECORDING`: what a recorded run would have chosen with other settings, without a model."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from engine.paths import saves_folder
from jitrl_tui.system.output import note

if TYPE_CHECKING:
    from engine.session.recorded import DecisionAgain
    from engine.session.whatif import WhatIfOutcome


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "whatif", parents=[common], help="what a recorded run would have chosen with other settings",
        description="Makes every decision of a recorded run again with other settings. No model is asked and nothing "
        "is played: what the model proposed and what was seen are taken from the recording, and memory is seen as it "
        "was at each step. Without --set, it checks that every decision comes out as it was recorded.",
    )  # fmt: skip
    parser.add_argument(
        "recording", metavar="SESSION", help="a session's name, last, its folder, or an events.jsonl"
    )
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="changes",
                        help="a setting, for instance --set beta=0.5; repeatable")  # fmt: skip
    parser.add_argument("--limit", type=int, default=20, metavar="N", help="choices at most (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="data on stdout, with all choices that would differ")
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    """Print what would differ; return the exit code."""
    from engine.session import whatif
    from engine.session.store import recording_path
    from jitrl_tui.commands.options import change

    saves = saves_folder(args.saves)
    path = recording_path(saves, args.recording)
    with whatif.open_recording(path, saves) as run_again:
        changes = dict(change(text) for text in args.changes)
        asks = True if not args.changes and run_again.scope is not None else None
        outcome = whatif.what_if(run_again, changes, from_memory=asks, progress=_progress)
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr)
    if args.json:
        print(json.dumps(_plain(outcome), indent=1))
    else:
        _tell(outcome, args.limit)
    return 0


def _progress(done: int, total: int) -> None:
    if sys.stderr.isatty() and done % 20 == 0:
        print(f"\r{done} of {total} decisions", end="", file=sys.stderr, flush=True)


def _tell(outcome: WhatIfOutcome, limit: int) -> None:
    for name, (before, after) in outcome.changed.items():
        print(f"{name}: {before} -> {after}")
    print(outcome.sentence + (f"; in {outcome.moved} others the probabilities would" if outcome.moved else ""))
    print(outcome.without)
    if outcome.unlike:
        print(
            f"jitrl: {outcome.unlike} of {outcome.decisions} decisions cannot be made again as they were recorded: "
            "memory or jitrl has changed since, and the numbers for them are approximate",
            file=sys.stderr,
        )
    for one in outcome.differing[: max(0, limit)]:
        was, now = one.recorded, one.now
        print(
            f"episode {one.episode:>3} step {was.step + 1:>3}  {was.action!r} ({_share(one, was.action):.0%} now)"
            f"  ->  {now.action!r} ({now.posterior[now.chosen]:.0%})"
        )
    if len(outcome.differing) > max(0, limit):
        note(f"... and {len(outcome.differing) - max(0, limit)} more; --limit N shows more")


def _share(one: DecisionAgain, action: str) -> float:
    """Return the new probability of an action, 0.0 if it is no candidate."""
    found = [p for c, p in zip(one.now.candidates, one.now.posterior, strict=True) if c.action == action]
    return found[0] if found else 0.0


def _plain(outcome: WhatIfOutcome) -> dict[str, Any]:
    return {
        "changed": {name: {"from": one, "to": other} for name, (one, other) in outcome.changed.items()},
        "decisions": outcome.decisions,
        "differ": len(outcome.differing),
        "moved": outcome.moved,
        "without_memory": outcome.without_memory,
        "not_reproduced": outcome.unlike,
        "choices": [
            {
                "episode": one.episode,
                "step": one.recorded.step,
                "recorded": one.recorded.action,
                "now": one.now.action,
                "recorded_probability": _share(one, one.recorded.action),
                "now_probability": one.now.posterior[one.now.chosen],
            }
            for one in outcome.differing
        ],
    }
