"""`jitrl run web:SUITE`: the tasks of a suite one after the other, each for consecutive episodes (Sec. 5, metrics)."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jitrl_tui.commands.run import play, result_of, write

if TYPE_CHECKING:
    from engine.settings import SessionConfig

EPISODES = 5
"""Attempts at each task, as in the paper."""


def run_suite(
    config: SessionConfig,
    names: Sequence[str],
    saves: Path,
    episodes: int | None,
    target: Path | None,
    *,
    quiet: bool,
    show: bool,
) -> int:
    """Play every task; return the exit code. A task that fails is told, and the next one begins.

    All tasks share one memory: with `--fresh` that of the first one's session, empty at first.
    """
    from engine import sessions

    owner, results, code = "", [], 0
    for number, name in enumerate(names, 1):
        memory = f"own:{owner}" if owner and config.memory == "own" else config.memory
        mine = dataclasses.replace(config, game=name, episodes=episodes or EPISODES, memory=memory)
        saved = sessions.create(saves, mine, "run")
        owner = owner or saved.name
        if not quiet:
            print(f"task {number}/{len(names)}: {name}", file=sys.stderr)
        session, progress, interrupted = play(saved, saves, quiet=quiet)
        result = result_of(session, mine, progress)
        if session.error is not None:
            print(f"jitrl: {name}: {session.error}", file=sys.stderr)
            result["error"], code = str(session.error), session.error.exit_code
        results.append(result)
        write(summary(config, results), target, show=False)  # what was played is kept whatever comes
        if interrupted:
            print(f"stopped; finish this task with: jitrl run {name} --resume {saved.name}", file=sys.stderr)
            code = 130
            break
    done = summary(config, results)
    if show:
        write(done, None, show=True)
    if not quiet and done["avg"] is not None:
        print(f"{len(results)} tasks: success {100 * done['avg']:.1f} % on average, "
              f"{100 * done['final']:.1f} % at last", file=sys.stderr)  # fmt: skip
    return code


def summary(config: SessionConfig, results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the whole result: Avg over all episodes, Final over each task's last one, by task."""
    played = [result for result in results if result["episodes"]]
    scores = [episode["score"] for result in played for episode in result["episodes"]]
    last = [result["final"] for result in played]
    return {
        "suite": config.game,
        "agent": config.agent,
        "model": config.model,
        "seed": config.seed,
        "profile": config.profile,
        "avg": sum(scores) / len(scores) if scores else None,
        "final": sum(last) / len(last) if last else None,
        "tasks": list(results),
    }
