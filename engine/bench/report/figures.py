"""The figures of a report: learning curves, and the values of a setting."""

from __future__ import annotations

import statistics as plain
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from engine.bench.measures import Measure, Value, curve, mean, values
from engine.bench.report import growth, images, words
from engine.bench.report.elements import Figure, Line, Panel
from engine.bench.report.results import ArmRow, Results, TaskColumn
from engine.bench.samples import NONE, PER
from engine.errors import UsageError
from engine.limits import is_number

APART = 5
"""How many times the end of the shortest curve another one goes on before the axis becomes logarithmic."""
NARROW = 0.02
"""Share of the horizontal axis below which a curve is too narrow to see."""


def figure(results: Results, measures: Sequence[Measure], per: str = "") -> Figure | None:
    """Return the figure that the suite asks for: "curves" (the default), "values", "memory" or "none".

    Args:
        per: What the user wants curves to be drawn against, one of `samples.PER`; "" for what the suite says.
    """
    if per:
        return curves(results, per)
    wished = results.wishes.get("figure") or ("values" if results.plan.get("swept") else "curves")
    if wished == "values":
        return swept(results, measures)
    if wished == "memory":
        return growth.figure(results)
    return None if wished == "none" else curves(results, str(results.wishes.get("per") or "episode"))


def curves(results: Results, per: str = "episode") -> Figure | None:
    """Return the mean score by episode, a panel for each column and model; None if no unit is finished.

    Args:
        per: What the horizontal axis counts, one of `samples.PER`.

    Raises:
        UsageError: It cannot count this.
    """
    if per not in PER:
        raise UsageError(f"curves cannot be drawn per {per!r}; choose among: {', '.join(PER)}")
    trained = any(results.before(cell) != NONE for cell in results.cells)
    counted = PER[per] if trained or per != "episode" else "episode"
    panels = []
    scale = 100 if results.percent else 1
    for place in results.columns:
        for model in results.models or ("",):
            lines = []
            for arm in results.arms:
                mine = arm.model in (model, "")
                found = curve(results.finished(arm, place), results.percent, per) if mine else None
                if found is not None:
                    y, low, high = (
                        None if row is None else tuple(scale * one for one in row)
                        for row in (found.mean, found.low, found.high)
                    )
                    lines.append(Line(arm.name, results.names.index(arm.name), found.x, y or (), low, high))
            if lines:
                title = _title(results, place, model)
                short = all(len(line.x) <= 10 for line in lines)
                axis = "score (%)" if results.percent else "score"
                panels.append(_seen(Panel(title, counted, axis, tuple(lines), points=short, log=_apart(lines))))
    if not panels:
        return None
    caption = "Mean score by episode. Bands are 95 % intervals."
    if counted != "episode":
        caption = (
            f"Mean score by {counted} used, training included. A point is an episode, placed at the mean over units. "
            "Bands are 95 % intervals. A curve that would be too narrow to see is a dot: its mean."
        )
    return Figure("curves", "Learning curves", caption, tuple(panels), timed=per == "hour")


def _apart(lines: Sequence[Line]) -> bool:
    """Return whether places differ so much that only a logarithmic axis shows all lines."""
    ends = [end for line in lines for end in (line.x[0], line.x[-1])]
    return min(ends) > 0 and max(ends) > APART * max(1.0, min(line.x[-1] for line in lines))


def _seen(panel: Panel) -> Panel:
    """Return a panel whose lines can be seen: one that is too narrow is a dot with its mean."""
    lines = [
        replace(line, x=(line.x[-1],), y=(plain.fmean(line.y),), low=None, high=None)
        if panel.log and images.share(panel, line) < NARROW else line
        for line in panel.lines
    ]  # fmt: skip
    return replace(panel, lines=tuple(lines))


def swept(results: Results, measures: Sequence[Measure]) -> Figure | None:
    """Return measures against the values of the setting that the suite varies, a panel for each column.

    Returns:
        None if the suite varies none, or no arm has a value of it.
    """
    setting = str(results.plan.get("swept") or "")
    known = {arm: value for arm in results.arms if (value := _setting(results, arm, setting)) is not None}
    numeric = all(is_number(value) for value in known.values())
    ticks = () if numeric else tuple(dict.fromkeys(map(str, known.values())))
    at = {arm: float(value) if numeric else float(ticks.index(str(value))) for arm, value in known.items()}
    panels = []
    for place in results.columns:
        for model in results.models or ("",):
            arms = sorted((arm for arm in at if arm.model == model), key=lambda arm: at[arm])
            lines = []
            for colour, measure in enumerate(measures):
                found = [
                    (at[arm], mean(values(measure, results.finished(arm, place), results.percent))) for arm in arms
                ]
                points = [(x, value) for x, value in found if value.mean is not None]
                if points:
                    lines.append(_line(measure, colour, points, results.percent))
            if lines:
                units = dict.fromkeys(words.hint(one, results.percent) or one.unit for one in measures)
                title = _title(results, place, model)
                panels.append(Panel(title, setting, ", ".join(units), tuple(lines), ticks, points=True))
    caption = f"Measures against the values of {setting}. Bands are 95 % intervals."
    return Figure("values", f"Values of {setting}", caption, tuple(panels)) if panels else None


def _line(measure: Measure, colour: int, points: list[tuple[float, Value]], percent: bool) -> Line:
    scale = 100 if words.hint(measure, percent) == "%" else 1
    y = tuple(scale * (value.mean or 0.0) for _, value in points)
    low = tuple(scale * value.low for _, value in points if value.low is not None)
    high = tuple(scale * value.high for _, value in points if value.high is not None)
    banded = len(low) == len(high) == len(points)
    x = tuple(place for place, _ in points)
    return Line(measure.title, colour, x, y, low if banded else None, high if banded else None)


def _setting(results: Results, arm: ArmRow, setting: str) -> Any:
    """Return the value that the suite gives an arm's setting; None if it gives none."""
    given: Mapping[str, Any] = next((one for one in results.plan.get("arms") or () if one.get("name") == arm.name), {})
    settings = given.get("settings")
    return settings.get(setting) if isinstance(settings, Mapping) else None


def _title(results: Results, place: TaskColumn, model: str) -> str:
    return f"{place.name}, {model}" if len(results.models) > 1 else place.name
