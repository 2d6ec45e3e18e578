"""A report as Markdown, and its numbers as CSV and as JSON values: one line per arm, column and measure."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from typing import Any

from engine.bench.report.elements import Figure, Report, Table, TableCell, TableRow, Words
from engine.texts import cell as text_cell

_SPECIAL = re.compile(
    r"[\\`*<|~]|(?<!\w)_|_(?!\w)|\](?=[(\[:])|&(?=#?\w+;)|^>|^(?:#+|[-+]|\d+[.)])(?=\s)"
)
"""What Markdown would take as a sign: anywhere, at the edge of a word, in a link, in an entity, or at the start."""


def markdown(report: Report, pictures: Mapping[str, str] | None = None) -> str:
    """Return a report as Markdown.

    Args:
        pictures: File of each figure by its name. Figures without a file are left out.
    """
    blocks = [f"# {_text(report.title)}"]
    if report.about:
        blocks.append(_text(report.about))
    for part in report.parts:
        if isinstance(part, Table):
            blocks += _table(part)
        elif isinstance(part, Words):
            blocks += [f"## {_text(part.title)}", "\n".join(f"- {_text(one)}" for one in part.sentences)]
        elif pictures and part.name in pictures:
            blocks += _figure(part, pictures[part.name])
    return "\n\n".join(blocks) + "\n"


def _figure(figure: Figure, file: str) -> list[str]:
    return [f"## {_text(figure.title)}", f"![{_text(figure.title)}]({file})", _text(figure.caption)]


def _table(table: Table) -> list[str]:
    """Return heading, caption, lines and notes of a table."""
    heads = [_text(f"{column.group} {column.title}".strip()) for column in table.columns]
    lines = [
        "| " + " | ".join([_text(table.corner) or " ", *heads]) + " |",
        "|" + "|".join(["---", *("---:" if column.number else "---" for column in table.columns)]) + "|",
    ]
    group = ""
    for row in table.rows:
        if row.group != group:
            group = row.group
            lines.append("| " + " | ".join([f"*{_text(group)}*", *(" " for _ in table.columns)]) + " |")
        lines.append("| " + " | ".join([_title(row), *map(_cell, row.cells)]) + " |")
    notes = "\n".join(f"{number}. {_text(note)}" for number, note in enumerate(table.notes, 1))
    return [one for one in (f"## {_text(table.title)}", _text(table.caption), "\n".join(lines), notes) if one]


def _title(row: TableRow) -> str:
    marks = ", ".join(map(str, row.marks))
    return _text(row.title) + (f" ({marks})" if marks else "")


def _cell(cell: TableCell) -> str:
    text = _code(cell.text) if cell.code else _text(cell.text)
    if cell.bold:
        text = f"**{text}**"
    return " ".join(filter(None, (text, _text(cell.range), f"({_text(cell.remark)})" if cell.remark else "")))


def _code(text: str) -> str:
    """Return text as code in a table, where a bar would end the place."""
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    space = " " if "`" in text else ""
    return f"{fence}{space}{_line(text)}{space}{fence}".replace("|", "\\|")


def _text(text: str) -> str:
    return _SPECIAL.sub(lambda sign: f"{sign[0][:-1]}\\{sign[0][-1]}", _line(text))


def _line(text: str) -> str:
    return " ".join(text.split())


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
