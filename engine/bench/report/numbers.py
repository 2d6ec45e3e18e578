"""Numbers of a table as text: the same number of digits in a column, intervals, and counts of unfinished units."""

from __future__ import annotations

from collections.abc import Sequence

from engine.bench.measures import Measure, Value
from engine.bench.report.shapes import TableCell

MISSING = "–"
"""Text of a place without a value."""
MINUS = "−"

_DIGITS = {"share": 1, "steps": 1, "tokens": 0, "calls": 1, "usd": 4, "s": 1, "ms": 1, "max": 3}
_HINTS = {"share": "%", "usd": "$", "s": "s", "ms": "ms"}


def hint(measure: Measure, percent: bool = False) -> str:
    """Return the sign of a measure's unit for headings, "" for none."""
    return "%" if percent and measure.unit == "score" else _HINTS.get(measure.unit, "")


def heading(measure: Measure, percent: bool = False) -> str:
    """Return the heading of a measure's column, with its unit."""
    unit = hint(measure, percent)
    return f"{measure.title} ({unit})" if unit else measure.title


def digits(measure: Measure, values: Sequence[Value], percent: bool = False) -> int:
    """Return the number of digits behind the point that a column needs."""
    if measure.unit != "score":
        return _DIGITS[measure.unit]
    largest = max((abs(value.mean) for value in values if value.mean is not None), default=0.0)
    return 1 if percent or largest >= 10 else 2


def number(value: float, measure: Measure, behind: int, percent: bool = False, sign: bool = False) -> str:
    """Return a value of a measure as text, without its unit.

    Args:
        behind: Number of digits behind the point.
        percent: Whether scores are shares of the highest score.
        sign: Whether positive numbers get a plus, as differences do.
    """
    scale = 100 if hint(measure, percent) == "%" else 1
    text = f"{value * scale:{'+' if sign else ''},.{behind}f}"
    if not text.strip("+-0.,"):
        text = text.lstrip("+-")
    return text.replace("-", MINUS)


def cell(
    value: Value, measure: Measure, behind: int, percent: bool = False, *, sign: bool = False, range: bool = True,
    bold: bool = False, remark: str = "", of: int = 0,
) -> TableCell:  # fmt: skip
    """Return the place of a table that shows a value.

    Args:
        sign: Whether a positive value gets a plus.
        range: Whether the interval is shown.
        bold: Whether the value is set in bold.
        remark: What a reader must know of it.
        of: Number of units that were planned.
    """
    if value.mean is None:
        return TableCell(MISSING, remark=remark, value=value, of=of)
    ends = ""
    if range and value.low is not None and value.high is not None:
        low, high = (number(end, measure, behind, percent) for end in (value.low, value.high))
        ends = f"[{low}, {high}]"
    return TableCell(number(value.mean, measure, behind, percent, sign), ends, remark, bold, value=value, of=of)
