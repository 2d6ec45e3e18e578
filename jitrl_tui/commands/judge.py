"""`jitrl models judge`: a model judges the steps of recorded episodes, and is compared with the score."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from engine.errors import UsageError
from engine.paths import cache_folder, saves_folder
from jitrl_tui.system.output import note

if TYPE_CHECKING:
    from engine.session.reward_agreement import Agreement, JudgedEpisode


def register(actions: Any, common: argparse.ArgumentParser) -> None:
    """Add the action."""
    parser = actions.add_parser(
        "judge", parents=[common], help="let a model judge recorded episodes, and compare it with the score",
        description="Let a model judge steps as with rewards=llm, in recorded episodes in which some steps gained "
                    "points and some did not, and tell how far it goes with the score. Nothing is played.",
    )  # fmt: skip
    parser.add_argument("model", metavar="MODEL", help="local/smollm2, or any name of litellm's")
    parser.add_argument("name", metavar="SESSION|RUN", help="a session or a run: name, folder or recording, or last")
    parser.add_argument("--episodes", type=int, default=10, metavar="N",
                        help="how many, evenly chosen (default: %(default)s)")  # fmt: skip
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="changes",
                        help="a setting, such as judged_steps or deadline_s; repeatable")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="an object on stdout")
    parser.set_defaults(handler=run)


def run(args: argparse.Namespace) -> int:
    """Judge the episodes; return the exit code."""
    from dataclasses import asdict

    from engine.environments import profile
    from engine.llm import open_model
    from engine.llm.listed import check_name
    from engine.session import reward_agreement
    from jitrl_tui.commands.export import recordings
    from jitrl_tui.commands.options import change

    check_name(args.model)
    if args.episodes < 1:
        raise UsageError(f"--episodes must be at least 1, not {args.episodes}")
    saves = saves_folder(args.saves)
    settings = profile("paper", **dict(change(text) for text in args.changes))
    found = reward_agreement.tellable(recordings(args.name, saves))
    if not found:
        raise UsageError(f"{args.name} has no finished episode in which some steps gained points and some did not")
    step = max(1.0, len(found) / args.episodes)
    chosen = [found[int(n * step)] for n in range(min(args.episodes, len(found)))]
    model = open_model(args.model, settings=settings, cache=cache_folder(saves))
    judged = []
    try:
        if not model.reading:
            raise UsageError(f"{args.model} writes nothing, so it cannot judge")
        for one in reward_agreement.judge_episodes(model, chosen, settings):
            judged.append(one)
            _say(one)
    except KeyboardInterrupt:
        print(f"stopped after {len(judged)} of {len(chosen)} episodes", file=sys.stderr)
    finally:
        model.close()
    whole = reward_agreement.agreement(judged)
    if args.json:
        print(json.dumps({"model": args.model, **asdict(whole), "episodes": [asdict(one) for one in judged]}, indent=1))
    else:
        print(_sentences(whole))
    return 0 if whole.judged else 1


def _say(one: JudgedEpisode) -> None:
    why = f": {one.note}" if one.note else ""
    note(f"{one.source}, episode {one.episode}: {len(one.rewards)} of {one.steps} steps{why}")


def _sentences(whole: Agreement) -> str:
    def share(value: float | None) -> str:
        return "unknown" if value is None else f"{value:.0%}"

    def number(value: float | None) -> str:
        return "unknown, one of the two is the same everywhere" if value is None else f"{value:.2f}"

    def mean(value: float | None) -> str:
        return "none" if value is None else f"{value:.2f}"

    return "\n".join([
        f"{'usable':<9} {whole.judged} of {whole.steps} steps",
        f"{'rank':<9} {number(whole.rho)} (Spearman's correlation with the change of the score; 0 by chance)",
        f"{'pairs':<9} {share(whole.right)} of {whole.pairs} pairs have the step that gained points above one of the "
        f"same episode that did not (50% by chance; {share(whole.equal)} equal, counted half)",
        f"{'means':<9} {mean(whole.gained)} for steps that gained points, {mean(whole.others)} for others",
    ])  # fmt: skip
