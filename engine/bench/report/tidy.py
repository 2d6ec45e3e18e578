"""The numbers of a report as CSV and as JSON values: one line per arm, column and measure."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

from engine.bench.report.shapes import Report
from engine.texts import cell as text_cell

HEAD = ("table", "arm", "model", "part", "column", "measure", "value", "low", "high", "n", "of")


def tidy(report: Report) -> str:
    """Return the numbers of this run in the tables of a report as CSV.

    The columns are: the table; arm and model; the part of the arm that a row shows, for instance a size of memory; the
    game or site; the measure; its mean and the ends of its interval; the number of units that were averaged, and that
    were planned. Shares are between 0 and 1. Numbers that do not exist are empty.
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(HEAD)
    for line in lines(report):
        cells = (f"{one:.10g}" if isinstance(one, float) else "" if one is None else one for one in line)
        writer.writerow(map(text_cell, cells))
    return file.getvalue()


def plain(report: Report) -> dict[str, Any]:
    """Return the same as JSON values, with the title of the report."""
    return {"title": report.title, "values": [dict(zip(HEAD, line, strict=True)) for line in lines(report)]}


def lines(report: Report) -> Iterator[tuple[str | float | None, ...]]:
    """Yield the numbers of this run in the tables of a report, with the columns of `HEAD`."""
    for table in report.tables:
        for row in table.rows if table.ours else ():
            for column, cell in zip(table.columns, row.cells, strict=True):
                if column.measure and cell.value is not None:
                    value, which = cell.value, (row.arm, row.model, row.part, column.place, column.measure)
                    yield (table.name, *which, value.mean, value.low, value.high, value.n, max(cell.of, value.n))
