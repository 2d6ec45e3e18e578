"""The numbers of a report as CSV: one line per arm, column and measure."""

from __future__ import annotations

import csv
import io

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
    for table in report.tables:
        for row in table.rows if table.ours else ():
            for column, cell in zip(table.columns, row.cells, strict=True):
                if column.measure and cell.value is not None:
                    value = cell.value
                    numbers = ("" if one is None else f"{one:.10g}" for one in (value.mean, value.low, value.high))
                    of = max(cell.of, value.n)
                    names = map(text_cell, (table.name, row.arm, row.model, row.part, column.place, column.measure))
                    writer.writerow((*names, *numbers, value.n, of))
    return file.getvalue()
