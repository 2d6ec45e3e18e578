"""The tables of a report as LaTeX, for a document that uses the packages array and booktabs."""

from __future__ import annotations

import itertools
import re

from engine.bench.report.elements import Column, Report, Table, TableCell, TableRow

HEAD = r"""% Tables for \input{...} in a document with \usepackage{array,booktabs} and \usepackage[T1]{fontenc}.
"""
_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_", "%": r"\%",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "[": "{[}", "]": "{]}", "|": r"\textbar{}", '"': r"\textquotedbl{}", "−": r"$-$", "–": "--", "—": "---",
    "…": r"\dots{}", "×": r"$\times$",
    "α": r"$\alpha$", "β": r"$\beta$", "γ": r"$\gamma$", "λ": r"$\lambda$", "’": "'", "“": "``", "”": "''",
}  # fmt: skip
"""Characters that LaTeX takes as commands, or does not have. After a line's end it takes a bracket as an argument."""


def latex(report: Report) -> str:
    """Return the tables of a report as LaTeX."""
    return HEAD + "".join(map(_table, report.tables))


def escaped(text: str) -> str:
    """Return text that LaTeX sets as it is. Letters that its usual fonts lack become their number in Unicode."""
    return "".join(_SPECIAL.get(one) or (one if _printable(one) else f"[U+{ord(one):04X}]") for one in _line(text))


def _printable(one: str) -> bool:
    """Return whether a font of the encoding T1 has a character."""
    return " " <= one <= "~" or "\u00a1" <= one <= "\u017e"


def _line(text: str) -> str:
    return " ".join(text.split())


def _table(table: Table) -> str:
    """Return one table with its caption and notes."""
    label = re.sub(r"[^a-z0-9]+", "-", table.name.casefold()).strip("-")
    lines = [
        "",
        r"\begin{table}[htbp]",
        r"\centering",
        r"\small",
        rf"\caption{{{escaped(_sentence(table.title))} {escaped(table.caption)}}}".replace(" }", "}"),
        rf"\label{{tab:{label}}}",
        rf"\begin{{tabular}}{{l{''.join(map(_kind, table.columns))}}}",
        r"\toprule",
        *_heads(table),
    ]
    group = ""
    for row in table.rows:
        if row.group != group:
            group = row.group
            rule = r"\midrule " if row is not table.rows[0] else ""
            lines.append(rf"{rule}\multicolumn{{{1 + len(table.columns)}}}{{l}}{{\textit{{{escaped(group)}}}}} \\")
        lines.append(" & ".join([_title(row), *map(_cell, row.cells)]) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    for number, note in enumerate(table.notes, 1):
        lines.append(rf"\par\footnotesize\textsuperscript{{{number}}}~{escaped(note)}")
    return "\n".join([*lines, r"\end{table}", ""])


def _heads(table: Table) -> list[str]:
    """Return the lines of the headings: groups over columns if there are groups, and the columns."""
    if not any(column.group or column.title for column in table.columns):
        return []
    titles = " & ".join([escaped(table.corner), *(escaped(column.title) for column in table.columns)]) + r" \\"
    if not any(column.group for column in table.columns):
        return [titles, r"\midrule"]
    groups, rules, at = [""], [], 2
    for group, columns in itertools.groupby(table.columns, key=lambda column: column.group):
        size = len(list(columns))
        groups.append(rf"\multicolumn{{{size}}}{{c}}{{{escaped(group)}}}")
        if group:
            rules.append(rf"\cmidrule(lr){{{at}-{at + size - 1}}}")
        at += size
    return [" & ".join(groups) + r" \\", "".join(rules), titles, r"\midrule"]


def _kind(column: Column) -> str:
    return r">{\raggedright\arraybackslash}p{0.36\linewidth}" if column.wide else "r" if column.number else "l"


def _title(row: TableRow) -> str:
    marks = ",".join(map(str, row.marks))
    return escaped(row.title) + (rf"\textsuperscript{{{marks}}}" if marks else "")


def _cell(cell: TableCell) -> str:
    text = escaped(cell.text)
    text = rf"\texttt{{{text.replace('-', '-{}')}}}" if cell.code else rf"\textbf{{{text}}}" if cell.bold else text
    rest = " ".join(filter(None, (escaped(cell.range), f"({escaped(cell.remark)})" if cell.remark else "")))
    return text + (rf" {{\scriptsize {rest}}}" if rest else "")


def _sentence(text: str) -> str:
    return text if not text or text[-1] in ".!?" else f"{text}."
