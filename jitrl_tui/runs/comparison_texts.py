"""Two sessions that are compared, in words: for lines, for the screen and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.session import recording
from engine.session.compare import (
    ACTION,
    ALONE,
    ANSWER,
    SAME,
    ComparedOption,
    ComparedRun,
    ComparedStep,
    Comparison,
    SessionStep,
    actions_taken,
    compare,
    reason,
)
from jitrl_tui.runs.hits import try_count
from jitrl_tui.runs.view import points, signed, signed_points
from jitrl_tui.system.output import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

SIGNS = {SAME: "=", ACTION: "≠", ANSWER: "~", ALONE: "·"}
"""A sign for each kind of row."""
MEANINGS = {
    SAME: "the same",
    ACTION: "another action",
    ANSWER: "the same action, another answer",
    ALONE: "only one of them has this step",
}


def compare_recordings(left: Path, right: Path) -> Comparison:
    """Compare two recordings: files, or folders of sessions.

    Raises:
        BadFile: One of them is no recording, or is damaged.
        UsageError: One of them is not there.
    """
    return compare(*((event for _, event in recording.read(path)) for path in (left, right)))


def place(row: ComparedStep) -> str:
    """Return where a row is, as people count: episode and step from 1."""
    return f"{row.episode}.{row.step + 1}"


def who(run: ComparedRun) -> str:
    """Return who played a session."""
    if run.started is None:
        return "unknown"
    return one_line(f"{run.started.agent} with {run.started.model}, seed {run.started.seed}")


def result_of(run: ComparedRun) -> str:
    """Return the scores of a session in a few words."""
    if run.average is None:
        return "no episode ended"
    count = len(run.scores)
    return (
        f"{count} episode{'s' if count > 1 else ''}, average {points(round(run.average, 1))}, "
        f"last {points(run.scores[max(run.scores)])}"
    )


def done(side: SessionStep | None) -> str:
    """Return what was done, with the points that it gave."""
    if side is None:
        return "-"
    gain = f" {signed_points(side.reward)}" if side.reward else ""
    person = " (a person)" if side.provenance == "human" else ""
    return one_line(side.action) + gain + person


def chance(option: ComparedOption | None, unit: str) -> str:
    """Return the probabilities of an action before and after memory, its value, and how often it was tried."""
    if option is None:
        return "no candidate"
    value = f", Q {signed(option.q)} {unit}, N {try_count(option.n, option.now)}" if option.q is not None else ""
    return f"{option.before:.0%} to {option.after:.0%}{value}"


def differ_in(comparison: Comparison) -> str:
    """Return in which settings two sessions differ, in a sentence; "" if in none."""
    parts = [f"{name} {one or 'none'} / {other or 'none'}" for name, (one, other) in comparison.others.items()]
    return one_line(f"They differ in {', '.join(parts)}.") if parts else ""


def lines(comparison: Comparison, names: Sequence[str]) -> Iterator[str]:
    """Yield a comparison as lines.

    Args:
        names: Names of the two sessions.
    """
    runs = (comparison.left, comparison.right)
    for letter, name, run in zip("AB", names, runs, strict=True):
        yield f"{letter}: {one_line(name)}: {who(run)}; {result_of(run)}"
    if text := differ_in(comparison):
        yield text
    if comparison.first is None:
        yield f"They are the same in all of their {len(comparison.rows)} steps."
        return
    yield from first_lines(comparison)
    episode = 0
    for row in comparison.rows:
        if row.episode != episode:
            episode = row.episode
            scores = (points(run.scores[episode]) if episode in run.scores else "-" for run in runs)
            yield "Episode {}: A {}, B {}".format(episode, *scores)
        sign = SIGNS[row.kind]
        same = row.kind in (SAME, ANSWER)
        yield f"{place(row)} {sign} {done(row.left) if same else f'A {done(row.left)} | B {done(row.right)}'}"


def first_lines(comparison: Comparison) -> Iterator[str]:
    """Yield where two sessions first differ and why, as lines."""
    if comparison.first is None:
        return
    row = comparison.rows[comparison.first]
    yield f"They first differ in episode {row.episode}, step {row.step + 1}. {reason(row)}"
    if row.kind == ACTION:
        units = [side.unit if side is not None else "" for side in (row.left, row.right)]
        for action, *both in actions_taken(row):
            left, right = map(chance, both, units)
            yield f"  {one_line(action)}: A {left}; B {right}"


def as_json(comparison: Comparison, names: Sequence[str]) -> dict[str, Any]:
    """Return a comparison as JSON values, described in docs/json.md."""
    first = comparison.rows[comparison.first] if comparison.first is not None else None
    return {
        "a": _run(comparison.left, names[0]),
        "b": _run(comparison.right, names[1]),
        "differ_in": {name: {"a": one, "b": other} for name, (one, other) in comparison.others.items()},
        "first": {"episode": first.episode, "step": first.step, "reason": reason(first)} if first is not None else None,
        "rows": [
            {
                "episode": row.episode,
                "step": row.step,
                "kind": row.kind,
                "a": _side(row.left),
                "b": _side(row.right),
                "weighed": [
                    {"action": action, "a": _option(left), "b": _option(right)}
                    for action, left, right in actions_taken(row)
                ]
                if row.kind == ACTION
                else [],
            }
            for row in comparison.rows
        ],
    }


def _run(run: ComparedRun, name: str) -> dict[str, Any]:
    started = run.started
    return {
        "name": name,
        "agent": started.agent if started is not None else "",
        "model": started.model if started is not None else "",
        "seed": started.seed if started is not None else 0,
        "scores": list(run.scores.values()),
        "avg": run.average,
        "tokens": run.tokens,
        "cost_usd": run.cost_usd,
    }


def _side(side: SessionStep | None) -> dict[str, Any] | None:
    if side is None:
        return None
    return {
        "action": side.action, "provenance": side.provenance, "score": side.score, "reward": side.reward, "v": side.v,
        "unit": side.unit,
    }  # fmt: skip


def _option(option: ComparedOption | None) -> dict[str, Any] | None:
    if option is None:
        return None
    return {"before": option.before, "after": option.after, "q": option.q, "n": option.n, "now": option.now}
