"""A report as Markdown."""

from __future__ import annotations

import re
from collections.abc import Mapping

from engine.bench.report.shapes import Figure, Report, Table, TableCell, TableRow, Words

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
