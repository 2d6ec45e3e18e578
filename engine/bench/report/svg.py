"""Figures as SVG, drawn without any other package."""

from __future__ import annotations

import math

from engine.bench.report import axes
from engine.bench.report.shapes import Figure, Line, Panel
from engine.texts import xml

WIDE, HIGH = 320, 250
"""Size of a panel with its axes, in pixels."""
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 30, 44
"""Room around the axes of a panel."""
MOST = 3
"""Most panels beside each other."""
ENTRY, LETTER = 24, 7.0
"""Width of a legend's entry without its text, and of a letter."""

STYLE = "\n".join(
    [
        ".figure{font:12px system-ui,sans-serif}.figure text{fill:var(--ink)}.figure .soft{fill:var(--soft)}",
        ".figure .head{font-weight:600;font-size:13px}.figure .grid{stroke:var(--rule)}",
        ".figure .axis{stroke:var(--soft)}",
        ".figure .line{fill:none;stroke-width:2;stroke-linejoin:round}.figure .band{opacity:.13;stroke:none}",
        *(f".figure .c{i}{{stroke:var(--c{i})}}.figure .f{i}{{fill:var(--c{i})}}" for i in range(len(axes.LIGHT))),
    ]
)
"""Style of figures in a page. The page sets the colours, see `variables`."""


def variables(dark: bool = False) -> str:
    """Return the colours of a page as properties of CSS."""
    ink, soft, rule, ground = ("#e8e8ea", "#a3a3ad", "#3a3a42", "#17171b") if dark else (
        "#1d1d22", "#63636e", "#dedee4", "#ffffff")  # fmt: skip
    colours = "".join(f"--c{i}:{one};" for i, one in enumerate(axes.DARK if dark else axes.LIGHT))
    return f"--ink:{ink};--soft:{soft};--rule:{rule};--ground:{ground};{colours}"


def svg(figure: Figure, alone: bool = True) -> str:
    """Return a figure as SVG.

    Args:
        alone: Whether it is a file of its own. In a page, the style and the colours are those of the page.
    """
    columns = min(MOST, max(1, len(figure.panels)))
    rows = -(-len(figure.panels) // columns)
    width, entries = columns * WIDE, _entries(figure, columns * WIDE)
    height = rows * HIGH + (18 * (1 + max((row for _, _, row, _ in entries), default=0)) + 8)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="figure" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-label="{xml(figure.title)}">'
    ]
    if alone:
        lines.append(f"<style>svg{{{variables()}}}\n{STYLE}</style>")
        lines.append(f'<rect width="{width}" height="{height}" fill="var(--ground)"/>')
    for number, panel in enumerate(figure.panels):
        x, y = number % columns * WIDE, number // columns * HIGH
        lines.append(f'<g transform="translate({x} {y})">')
        lines += _panel(panel)
        lines.append("</g>")
    for label, number, row, start in entries:
        down = rows * HIGH + 18 * row + 10
        lines.append(f'<path class="line c{axes.colour(number)}"{_dashed(number)} d="M{start:.1f} {down}h18"/>')
        lines.append(f'<text x="{start + 23:.1f}" y="{down + 4}">{xml(label)}</text>')
    return "\n".join([*lines, "</svg>"]) + "\n"


def _entries(figure: Figure, width: int) -> list[tuple[str, int, int, float]]:
    """Return the entries of the legend: text, number of the colour, row, and where it begins in the row."""
    found: list[tuple[str, int, int, float]] = []
    row, x = 0, float(LEFT)
    for label, number in figure.legend:
        size = ENTRY + LETTER * len(label) + 14
        if x > LEFT and x + size > width:
            row, x = row + 1, float(LEFT)
        found.append((label, number, row, x))
        x += size
    return found


def _panel(panel: Panel) -> list[str]:
    """Return the elements of one panel, whose corner is at 0, 0."""
    left, right, bottom, top = axes.span(panel)
    inner, depth = WIDE - LEFT - RIGHT, HIGH - TOP - BOTTOM

    def across(x: float) -> float:
        if panel.log:
            return LEFT + math.log(x / left) / math.log(right / left) * inner
        return LEFT + (x - left) / (right - left) * inner

    def down(y: float) -> float:
        return TOP + (top - y) / (top - bottom) * depth

    lines = [f'<text class="head" x="{LEFT}" y="{TOP - 12}">{xml(panel.title)}</text>']
    for value in axes.ticks(bottom, top, 4):
        y = down(value)
        lines.append(f'<path class="grid" d="M{LEFT} {y:.1f}h{inner}"/>')
        lines.append(f'<text class="soft" x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_number(value)}</text>')
    marks = [(float(i), text) for i, text in enumerate(panel.ticks)] or [
        (value, axes.short(value).replace("-", "−"))
        for value in (axes.powers if panel.log else axes.ticks)(left, right)
    ]
    base = TOP + depth
    for value, text in marks:
        lines.append(_middle(across(value), base + 16, text))
    lines.append(f'<path class="axis" d="M{LEFT} {base}h{inner}"/>')
    lines.append(_middle(LEFT + inner / 2, base + 33, panel.x))
    lines.append(
        f'<text class="soft" transform="translate(13 {TOP + depth / 2:g}) rotate(-90)" text-anchor="middle">'
        f"{xml(panel.y)}</text>"
    )
    drawn = [(line, [(across(x), down(y)) for x, y in zip(line.x, line.y, strict=True)]) for line in panel.lines]
    for line, _ in drawn:
        if line.low is not None and line.high is not None:
            upper = [(across(x), down(y)) for x, y in zip(line.x, line.high, strict=True)]
            lower = [(across(x), down(y)) for x, y in zip(line.x, line.low, strict=True)]
            path = _path([*upper, *reversed(lower)])
            lines.append(f'<path class="band f{axes.colour(line.colour)}" d="{path}Z"/>')
    for line, points in drawn:
        lines += _line(line, points, panel.points or len(points) == 1)
    return lines


def _middle(x: float, y: float, text: str) -> str:
    return f'<text class="soft" x="{x:.1f}" y="{y}" text-anchor="middle">{xml(text)}</text>'


def _line(line: Line, points: list[tuple[float, float]], marked: bool) -> list[str]:
    """Return a line with its name, which browsers show under the pointer."""
    number, title = axes.colour(line.colour), f"<title>{xml(line.label)}</title>"
    found = [f'<path class="line c{number}"{_dashed(line.colour)} d="{_path(points)}">{title}</path>']
    if marked:
        found += [f'<circle class="f{number}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in points]
    return found


def _path(points: list[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _dashed(number: int) -> str:
    dashes = axes.dash(number)
    return f' stroke-dasharray="{" ".join(map(str, dashes))}"' if dashes else ""


def _number(value: float) -> str:
    return f"{value:,.6g}".replace("-", "−") if abs(value) < 1e6 else f"{value:.3g}"
