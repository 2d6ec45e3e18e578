"""The curves of sessions: what is measured in each episode, and files of it (SVG, PNG, CSV)."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import FailingAs, StorageError, UsageError
from engine.texts import cell
from jitrl_tui.runs.episode_costs import EpisodeCost
from jitrl_tui.runs.history import PlayedSession, SessionCosts, difference, likeness, means_of
from jitrl_tui.system.output import one_line

if TYPE_CHECKING:
    from engine.bench.report.elements import Figure, Line

WINDOW = 10
"""Number of episodes in a running mean, of more than `MOST_MEANS` * `WINDOW` episodes more."""
MOST_MEANS = 40
"""Number of windows in a long run."""
MOST_DRAWN = 500
"""Most points of a line in a file. Longer lines are drawn through the means of neighbouring episodes."""
LETTERS = "ABC"
"""Marks of sessions that were added to the curves. There is room for no more of them."""
ENDINGS = (".svg", ".png", ".csv")
"""What can be exported."""


@dataclass(frozen=True, slots=True)
class CurveMeasure:
    """A number of each episode.

    Attributes:
        name: Its name in files.
        title: Heading, with the unit.
        value: Returns it for an episode, None if it is not known.
        decimals: Decimals with which it is shown.
    """

    name: str
    title: str
    value: Callable[[EpisodeCost], float | None]
    decimals: int


def _mean_ms(seconds: float, count: int) -> float:
    return 1000.0 * seconds / count if count else 0.0


UNKNOWN = "unknown"
"""Stands in place of a number that is not known."""
MEASURES = (
    CurveMeasure("score", "score", lambda row: row.score, 1),
    CurveMeasure("tokens", "tokens", lambda row: float(row.tokens), 0),
    CurveMeasure("cost_usd", "cost, $", lambda row: row.cost_usd, 4),
    CurveMeasure("latency_ms", "a model call, ms", lambda row: _mean_ms(row.latency_s, row.calls), 0),
    CurveMeasure("memory_entries", "steps remembered", lambda row: float(row.memory_entries), 0),
    CurveMeasure("retrieval_ms", "retrievals, ms", lambda row: 1000.0 * row.retrieval_s, 1),
)
"""What the curves show, of each episode."""


@dataclass(frozen=True, slots=True)
class Curve:
    """The episodes of one session, or of several that can be compared.

    Attributes:
        letter: What marks it in plots of characters: "" for the session itself.
        name: Name in legends.
        about: Agent, model, profile and settings in words, or in what they differ from those of the first curve.
        sessions: Names of the sessions with their finished episodes.
    """

    letter: str
    name: str
    about: str
    sessions: tuple[tuple[str, tuple[EpisodeCost, ...]], ...]

    def values(self, measure: CurveMeasure) -> list[float]:
        """Return a measure for each episode: its mean over the sessions that have played the episode.

        Empty if it is not known of each.
        """
        values = [[measure.value(row) for row in rows] for _, rows in self.sessions]
        return [] if any(None in each for each in values) else means_of(values)  # type: ignore[arg-type]

    @property
    def max_score(self) -> float | None:
        """Highest score there is, None if it is not known."""
        return next((rows[-1].max_score for _, rows in self.sessions if rows), None)


def collect(
    own: PlayedSession, rows: Sequence[EpisodeCost], before: Sequence[SessionCosts], added: Sequence[SessionCosts]
) -> list[Curve]:
    """Return the curves of a session: its own, the mean of those before it, and those that were asked for.

    Args:
        own: The session.
        rows: Its finished episodes.
        before: Earlier sessions that can be compared (`history.earlier`).
        added: Any other sessions. Their curves say in what they differ.
    """
    about = one_line(str(likeness(own.started)))
    curves = [Curve("", one_line(own.name), about, ((one_line(own.name), tuple(rows)),))]
    if before:
        name = "1 earlier session like it" if len(before) == 1 else f"mean of {len(before)} earlier sessions like it"
        curves.append(Curve("E", name, about, tuple((one_line(one.name), found) for one, found in before)))
    for letter, (one, found) in zip(LETTERS, added, strict=False):
        differs = one_line(difference(one.started, own.started)) or "the same agent, model, profile and settings"
        name = one_line(one.name)
        curves.append(Curve(letter, name, differs, ((name, found),)))
    return curves


def window_of(curves: Sequence[Curve]) -> int:
    """Return the number of episodes in the running mean of these curves."""
    longest = max((len(rows) for curve in curves for _, rows in curve.sessions), default=0)
    return max(WINDOW, longest // MOST_MEANS)


def running_mean(values: Sequence[float], window: int) -> list[float]:
    """Return for each value the mean of it and of the `window` - 1 values before it, or of all there are."""
    total, means = 0.0, []
    for at, value in enumerate(values):
        total += value - (values[at - window] if at >= window else 0.0)
        means.append(total / min(at + 1, window))
    return means


def thin_out(values: Sequence[float], most: int) -> list[tuple[float, float]]:
    """Return at most `most` points (index, value). If there are more values, each point is the mean of several."""
    if len(values) <= most:
        return [(float(at), value) for at, value in enumerate(values)]
    points = []
    for part in range(most):
        first, end = part * len(values) // most, (part + 1) * len(values) // most
        points.append(((first + end - 1) / 2, sum(values[first:end]) / (end - first)))
    return points


def figure(title: str, curves: Sequence[Curve]) -> Figure:
    """Return a figure with a panel for each measure. The score is shown as it is, and as a running mean."""
    from engine.bench.report.elements import Figure, Line, Panel

    panels, window = [], window_of(curves)
    for measure in MEASURES:
        lines = []
        for number, curve in enumerate(curves):
            values = curve.values(measure)
            if not values:
                continue
            if measure.name == "score":
                if number == 0:
                    lines.append(_line("each episode", 6, thin_out(values, MOST_DRAWN)))
                values = running_mean(values, window)
            label = curve.name if curve.letter == "E" else f"{curve.name} ({curve.about})"
            lines.append(_line(label, number, thin_out(values, MOST_DRAWN)))
        top = next((curve.max_score for curve in curves if curve.max_score is not None), None)
        if measure.name == "score" and top is not None and lines:
            right = max(line.x[-1] for line in lines)
            lines.append(Line("maximum", 5, (1.0, max(right, 2.0)), (top, top)))
        heading = f"score, mean of {window} episodes" if measure.name == "score" else measure.title
        panels.append(Panel(heading, "episode", measure.title, tuple(lines)))
    caption = "; ".join(f"{curve.name}: {curve.about}" for curve in curves)
    return Figure("curves", title, caption, tuple(panels))


def _line(label: str, colour: int, points: Sequence[tuple[float, float]]) -> Line:
    from engine.bench.report.elements import Line

    return Line(label, colour, tuple(at + 1 for at, _ in points), tuple(value for _, value in points))


def table(curves: Sequence[Curve]) -> str:
    """Return CSV with one line for each episode of each session."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = [spec.name for spec in dataclasses.fields(EpisodeCost)]
    writer.writerow(["curve", "session", *names])
    for curve in curves:
        for session, rows in curve.sessions:
            for row in rows:
                values = [getattr(row, name) for name in names]
                writer.writerow(map(cell, [curve.name, session, *("" if value is None else value for value in values)]))
    return out.getvalue()


def export(target: Path, title: str, curves: Sequence[Curve]) -> None:
    """Write the curves to a file, in the format of its ending.

    Raises:
        UsageError: The ending is none of `ENDINGS`.
        MissingError: matplotlib is not installed.
        StorageError: The file cannot be written.
    """
    ending = target.suffix.lower()
    if ending == ".csv":
        data = table(curves).encode()
    elif ending in ENDINGS:
        from engine.bench.report.images import draw

        data = draw(figure(title, curves), ending[1:])
    else:
        raise UsageError(f"{target.name} has none of the endings {', '.join(ENDINGS)}, which say what is written")
    with FailingAs(StorageError, f"cannot write {target}"):
        target.write_bytes(data)
