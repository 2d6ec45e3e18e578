"""What each rule of `prior/verbs` on web pages is worth: the prior as it is against the same without one rule.

    python -m tests.bench.web_prior web:miniwob --rules DUE,WAY --every 2 --seeds 1,2 --json prior.json
    python -m tests.bench.web_prior --show prior.json

A rule is switched off by setting its number in `engine.web.prior` to 0. All variants play the same tasks as `static`
does, one episode for each seed, with the same draws. As long as a variant takes the action that another one takes, both
are played once: an episode with the same seed and actions goes the same way. Intervals are 95 % bootstrap intervals
over tasks, of differences paired by task.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import zlib
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from engine.environments import profile
from engine.errors import JitrlError, UsageError
from engine.llm.priors.wordless import gumbel_top
from engine.paths import saves_folder
from engine.records import ActionRequest
from engine.session.replay import draws
from engine.web import prior
from engine.web.environment import WebEnvironment
from engine.web.environment_factory import open_web, ready
from tests.bench.web_experiment import _shown

WHOLE, NONE = "as it is", "none of them"


def variants_of(rules: str) -> dict[str, tuple[str, ...]]:
    """Return the variants, each with the rules that it is without.

    Raises:
        UsageError: The prior has no such number.
    """
    each = tuple(filter(None, rules.split(",")))
    for rule in each:
        if not isinstance(getattr(prior, rule, None), float):
            raise UsageError(f"engine.web.prior has no number called {rule!r}")
    return {WHOLE: (), **{rule: (rule,) for rule in each}, NONE: each}


def main() -> int:
    """Play and print the table; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="tasks or suites")
    parser.add_argument("--rules", default="", help="numbers of `engine.web.prior`, with commas between them")
    parser.add_argument("--every", type=int, default=1, help="take only every so many of the tasks")
    parser.add_argument("--seeds", default="1,2")
    parser.add_argument("--saves")
    parser.add_argument("--json", type=Path, help="written after every task; the same command goes on with it")
    parser.add_argument("--show", type=Path, help="play nothing, print the table of this file")
    args = parser.parse_args()
    if args.show:
        print(table(json.loads(args.show.read_text())))
        return 0
    saves, variants = saves_folder(args.saves), variants_of(args.rules)
    names = [each for name in args.names for each in ready(name, saves, os.environ)][:: args.every]
    results = json.loads(args.json.read_text()) if args.json and args.json.is_file() else []
    for seed in map(int, args.seeds.split(",")):
        for number, name in enumerate(names, 1):
            if any(r["task"] == name and r["seed"] == seed for r in results):
                continue
            environment = open_web(name, saves, os.environ)
            try:
                found = play(environment, seed * 10_000 + zlib.crc32(name.encode()) % 10_000, variants)
            except JitrlError as error:
                print(f"{name}: {error}", file=sys.stderr, flush=True)
                continue
            finally:
                environment.close()
            results.append({"task": name, "seed": seed, **found})
            odd = {v: s for v, s in found["scores"].items() if s != found["scores"][WHOLE]}
            told = f"{found['scores'][WHOLE]:.2f}, otherwise {odd}, {found['episodes']} episodes"
            print(f"seed {seed}, {number}/{len(names)} {name} {told}", file=sys.stderr, flush=True)
            if args.json:
                args.json.write_text(json.dumps(results, indent=1))
    print(table(results))
    return 0


def play(environment: WebEnvironment, seed: int, variants: dict[str, tuple[str, ...]]) -> dict[str, Any]:
    """Return the score and actions of every variant, and how many episodes that took."""
    scores: dict[str, float] = {}
    ways: dict[str, list[str]] = {}
    waiting: list[tuple[list[str], dict[str, tuple[str, ...]]]] = [([], variants)]
    episodes = 0
    while waiting:
        begun, playing = waiting.pop()
        episodes += 1
        way, playing, score, others = episode(environment, seed, begun, playing)
        waiting += others
        for variant in playing:
            scores[variant], ways[variant] = score, way
    return {"scores": {v: scores[v] for v in variants}, "ways": ways, "episodes": episodes}


def episode(
    environment: WebEnvironment, seed: int, begun: list[str], variants: dict[str, tuple[str, ...]]
) -> tuple[
    list[str], dict[str, tuple[str, ...]], float, list[tuple[list[str], dict[str, tuple[str, ...]]]]
]:
    """Play an episode that begins with known actions.

    Returns:
        All actions, the variants that take all of them, the score, and the ways on which other variants go on.
    """
    settings = profile("default", "web")
    seen = environment.reset(seed)
    abstractor = environment.abstractor()
    abstractor.begin(seen)
    way: list[str] = []
    others: list[tuple[list[str], dict[str, tuple[str, ...]]]] = []
    while not seen.over and len(way) < settings.step_limit and (valid := environment.valid_actions()):
        if len(way) < len(begun):
            action = begun[len(way)]
        else:
            recent = abstractor.recent(settings.recent_steps)
            asked = ActionRequest("", "", recent, abstractor.situation(seen), valid, settings.candidates)
            taken = chosen(asked, seed, environment.info.task, len(way), variants)
            action, *further = taken
            others += [([*way, each], taken[each]) for each in further]
            variants = taken[action]
        seen = environment.step(action)
        abstractor.advance(action, seen)
        way.append(action)
    return way, variants, environment.conclude().score, others


def chosen(
    request: ActionRequest, seed: int, task: str, step: int, variants: dict[str, tuple[str, ...]]
) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return which variants take which action with these draws, that of the first variant first."""
    taken: dict[str, dict[str, tuple[str, ...]]] = {}
    for variant, rules in variants.items():
        with contextlib.ExitStack() as off:
            for rule in rules:
                off.enter_context(mock.patch.object(prior, rule, 0.0))
            z = np.array(prior.logits(request))
        proposing, _, _ = draws(seed, task, 1, step).spawn(3)
        drawn = gumbel_top(z, request.candidates, proposing)
        action = request.valid_actions[max(drawn, key=lambda index: z[index])]
        taken.setdefault(action, {})[variant] = rules
    return taken


def table(results: list[dict[str, Any]]) -> str:
    """Return what the rules are worth, in percentage points: the prior as it is minus the prior without the rule."""
    rng = np.random.default_rng(0)
    tasks, variants = list(dict.fromkeys(r["task"] for r in results)), results[0]["scores"]
    means = {
        v: [float(np.mean([r["scores"][v] for r in results if r["task"] == t])) for t in tasks] for v in variants
    }
    rows = ["| switched off | success % | worth of it | episodes that differ: better, worse with it | other ways |",
            "|---|---|---|---|---|"]  # fmt: skip
    for variant in variants:
        worth = _shown([a - b for a, b in zip(means[WHOLE], means[variant], strict=True)], rng)
        better = sum(r["scores"][WHOLE] > r["scores"][variant] for r in results)
        worse = sum(r["scores"][WHOLE] < r["scores"][variant] for r in results)
        ways = sum(r["ways"][WHOLE] != r["ways"][variant] for r in results)
        rows.append(f"| {variant} | {_shown(means[variant], rng)} | {worth} | {better}, {worse} | {ways} |")
    return f"{len(tasks)} tasks, {len(results)} episodes of each variant\n\n" + "\n".join(rows)


if __name__ == "__main__":
    sys.exit(main())
