"""A report as one HTML page. It needs no other file and no network."""

from __future__ import annotations

import itertools
from html import escape

from engine.bench.report import images
from engine.bench.report.elements import Column, Figure, Report, Table, TableCell, TableRow, Words
from engine.errors import MissingError

_STYLE = f"""
:root{{color-scheme:light dark;{images.colours()}}}
@media (prefers-color-scheme:dark){{:root{{{images.colours(dark=True)}}}}}
*{{box-sizing:border-box}}
body{{margin:0 auto;max-width:1240px;padding:24px 16px 60px;
background:var(--ground);color:var(--ink);
font:15px/1.5 system-ui,sans-serif}}
h1{{font-size:26px;line-height:1.25;margin:8px 0}}h2{{font-size:18px;margin:36px 0 6px}}
p{{margin:6px 0;max-width:80ch}}.soft,figcaption{{color:var(--soft)}}
.scroll{{overflow-x:auto}}
table{{border-collapse:collapse;font-size:14px;margin:10px 0;font-variant-numeric:tabular-nums}}
th,td{{padding:5px 7px;text-align:left;vertical-align:top;border-bottom:1px solid var(--rule)}}
thead th{{border-bottom-color:var(--soft);white-space:nowrap}}
thead tr.groups th{{border-bottom-color:var(--rule);text-align:center}}
thead tr+tr th{{font-size:13px}}
th.n,td.n{{text-align:right}}tbody th{{font-weight:500;white-space:nowrap}}
td small{{display:block;color:var(--soft);font-size:11px;white-space:nowrap}}
tr.group th{{color:var(--soft);font-style:italic;padding-top:12px}}
thead button{{all:unset;cursor:pointer}}thead button:focus-visible{{outline:2px solid var(--soft)}}
thead button::before{{display:inline-block;margin-right:.3em;color:var(--soft)}}
[aria-sort=ascending] button::before{{content:"\\25b4"}}[aria-sort=descending] button::before{{content:"\\25be"}}
code{{font:13px ui-monospace,monospace;overflow-wrap:anywhere}}td.wide{{min-width:16em}}
ol,ul{{padding-left:22px;max-width:90ch}}figure{{margin:10px 0}}
.figure{{max-width:100%;height:auto;stroke-linejoin:round;stroke-linecap:butt}}
@media print{{:root{{{images.colours()}}}body{{max-width:none;padding:0;font-size:11px}}.scroll{{overflow:visible}}
th,td{{padding:3px 6px}}section,figure,tr{{break-inside:avoid}}h2{{break-after:avoid}}}}
"""

_SCRIPT = """
for (const table of document.querySelectorAll("table")) {
  const heads = table.querySelectorAll("thead th[data-at]");
  for (const head of heads) head.querySelector("button").onclick = () => {
    const up = head.getAttribute("aria-sort") === "descending" ? 1 : -1, at = Number(head.dataset.at);
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up > 0 ? "ascending" : "descending");
    const value = row => {
      const place = row.cells[at], number = place.dataset.value;
      return number === undefined ? place.textContent : number === "" ? NaN : Number(number);
    };
    const order = (one, other) => {
      const a = value(one), b = value(other);
      if (typeof a === "string") return -up * a.localeCompare(b);
      return isNaN(a) || isNaN(b) ? isNaN(a) - isNaN(b) : up * (a - b);
    };
    for (const body of table.tBodies) {
      const rows = [...body.rows].filter(row => row.className !== "group");
      body.append(...rows.sort(order));
    }
  };
}
"""


def page(report: Report) -> str:
    """Return a report as an HTML page."""
    parts = [f"<h1>{escape(report.title)}</h1>"]
    if report.about:
        parts.append(f"<p>{escape(report.about)}</p>")
    parts += map(_part, report.parts)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        f"<title>{escape(report.title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(parts)
        + f"\n<script>{_SCRIPT}</script>\n</body>\n</html>\n"
    )


def _part(part: Table | Figure | Words) -> str:
    """Return one section."""
    lines = ["<section>", f"<h2>{escape(part.title)}</h2>"]
    if isinstance(part, Table):
        lines += _table(part)
    elif isinstance(part, Figure):
        try:
            drawn = images.inline(part)
            lines += ["<figure>", drawn, f"<figcaption>{escape(part.caption)}</figcaption>", "</figure>"]
        except MissingError as error:
            lines.append(f'<p class="soft">{escape(str(error))}</p>')
    else:
        lines += ["<ul>", *(f"<li>{escape(one)}</li>" for one in part.sentences), "</ul>"]
    return "\n".join([*lines, "</section>"])


def _table(table: Table) -> list[str]:
    lines = [f'<p class="soft">{escape(table.caption)}</p>'] if table.caption else []
    lines += ['<div class="scroll"><table>', *_heads(table)]
    for group, rows in itertools.groupby(table.rows, key=lambda row: row.group):
        lines.append("<tbody>")
        if group:
            lines.append(f'<tr class="group"><th colspan="{1 + len(table.columns)}">{escape(group)}</th></tr>')
        lines += [_row(row, table.columns) for row in rows]
        lines.append("</tbody>")
    lines.append("</table></div>")
    if table.notes:
        lines += ["<ol>", *(f"<li>{escape(note)}</li>" for note in table.notes), "</ol>"]
    return lines


def _heads(table: Table) -> list[str]:
    """Return the headings: a line of groups if there are groups, and a line of columns with buttons to sort."""
    if not any(column.group or column.title for column in table.columns):
        return []
    lines = ["<thead>"]
    if any(column.group for column in table.columns):
        groups = [
            f'<th colspan="{len(list(columns))}" scope="colgroup">{escape(group)}</th>'
            for group, columns in itertools.groupby(table.columns, key=lambda column: column.group)
        ]
        lines.append(f'<tr class="groups"><td></td>{"".join(groups)}</tr>')
    heads = [_head(table.corner, 0, False)]
    heads += [_head(column.title, at, column.number) for at, column in enumerate(table.columns, 1)]
    return [*lines, f"<tr>{''.join(heads)}</tr>", "</thead>"]


def _head(title: str, at: int, number: bool) -> str:
    kind = ' class="n"' if number else ""
    return f'<th{kind} data-at="{at}" scope="col"><button type="button">{escape(title)}</button></th>'


def _row(row: TableRow, columns: tuple[Column, ...]) -> str:
    marks = f"<sup>{', '.join(map(str, row.marks))}</sup>" if row.marks else ""
    cells = "".join(_cell(cell, column) for cell, column in zip(row.cells, columns, strict=True))
    return f'<tr><th scope="row">{escape(row.title)}{marks}</th>{cells}</tr>'


def _cell(cell: TableCell, column: Column) -> str:
    text = escape(cell.text)
    text = f"<code>{text}</code>" if cell.code else f"<b>{text}</b>" if cell.bold else text
    rest = "".join(f"<small>{escape(one)}</small>" for one in (cell.range, cell.remark) if one)
    kinds = [kind for kind, wanted in (("n", column.number), ("wide", column.wide)) if wanted]
    attributes = f' class="{" ".join(kinds)}"' if kinds else ""
    if column.number:
        attributes += f' data-value="{_value(cell)}"'
    return f"<td{attributes}>{text}{rest}</td>"


def _value(cell: TableCell) -> str:
    """Return the number that a place is sorted by, "" for none."""
    if cell.value is not None:
        return "" if cell.value.mean is None else f"{cell.value.mean:.10g}"
    try:
        return f"{float(cell.text.replace(',', '').replace('−', '-')):.10g}"
    except ValueError:
        return ""
