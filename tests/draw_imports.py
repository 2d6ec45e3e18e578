"""Draw docs/imports.svg: which folders of the code import which, as the code is.

    python -m tests.draw_imports

An arrow means "imports". Arrows that follow from others are left out: where a imports b and b imports c, a may
import c.
What nearly everything imports (errors, pages, paths, texts) is left out, too. `tests/test_docs.py` fails when the
picture is old.
"""

from __future__ import annotations

import sys
from pathlib import Path
from xml.sax.saxutils import escape

FILE = Path(__file__).resolve().parents[1] / "docs" / "imports.svg"
EVERYWHERE = {"errors", "pages", "paths", "texts", "bench"}
WIDE, HIGH, GAP_X, GAP_Y, EDGE = 138, 34, 18, 62, 16


def imports() -> dict[str, set[str]]:
    """Return the rooms that each room imports: a folder or file right below `engine`, or `jitrl_tui`."""
    import grimp

    graph = grimp.build_graph("engine", "jitrl_tui", cache_dir=None)
    found: dict[str, set[str]] = {}
    for module in sorted(graph.modules):
        room = _room(module)
        if room is None:
            continue
        found.setdefault(room, set())
        for other in graph.find_modules_directly_imported_by(module):
            target = _room(other)
            if target is not None and target != room:
                found[room].add(target)
    return found


def _room(module: str) -> str | None:
    parts = module.split(".")
    if parts[0] == "jitrl_tui":
        return "jitrl_tui"
    if len(parts) == 1 or parts[1] in EVERYWHERE:
        return None
    return parts[1]


def reduced(edges: dict[str, set[str]]) -> dict[str, set[str]]:
    """Return the edges without those that follow from others (transitive reduction). The graph has no circles."""
    below: dict[str, set[str]] = {}

    def reach(room: str, path: tuple[str, ...] = ()) -> set[str]:
        if room in path:
            raise SystemExit(f"there is a circle: {' -> '.join((*path, room))}")
        if room not in below:
            below[room] = set().union(*({other} | reach(other, (*path, room)) for other in edges[room]), set())
        return below[room]

    for room in edges:
        reach(room)
    return {
        room: {other for other in others if not any(other in below[third] for third in others)}
        for room, others in edges.items()
    }


def rows(edges: dict[str, set[str]]) -> list[list[str]]:
    """Return the rooms in rows: each one row above the highest room that it imports."""
    level: dict[str, int] = {}

    def high(room: str) -> int:
        if room not in level:
            level[room] = 1 + max((high(other) for other in edges[room]), default=-1)
        return level[room]

    found: list[list[str]] = [[] for _ in range(1 + max(map(high, edges)))]
    for room in sorted(edges):
        found[-1 - level[room]].append(room)
    return found


def svg(edges: dict[str, set[str]]) -> str:
    """Return the picture."""
    shown = reduced(edges)
    ordered = _ordered(rows(edges), shown)
    width = 2 * EDGE + max(len(row) for row in ordered) * (WIDE + GAP_X) - GAP_X
    height = 2 * EDGE + len(ordered) * (HIGH + GAP_Y) - GAP_Y
    place: dict[str, tuple[float, float]] = {}
    for at, row in enumerate(ordered):
        start = (width - len(row) * (WIDE + GAP_X) + GAP_X) / 2
        for i, room in enumerate(row):
            place[room] = (start + i * (WIDE + GAP_X), EDGE + at * (HIGH + GAP_Y))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" font-family="sans-serif" font-size="14">',
        '<defs><marker id="end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="#667"/></marker></defs>',
        f'<rect width="{width:g}" height="{height:g}" fill="#fff"/>',
    ]
    for room in sorted(shown):
        for other in sorted(shown[room]):
            x1, y1 = place[room][0] + WIDE / 2, place[room][1] + HIGH
            x2, y2 = place[other][0] + WIDE / 2, place[other][1] - 1
            middle = (y2 - y1) / 2
            lines.append(
                f'<path d="M{x1:g} {y1:g}C{x1:g} {y1 + middle:g} {x2:g} {y2 - middle:g} {x2:g} {y2:g}" fill="none" '
                'stroke="#667" marker-end="url(#end)"/>'
            )
    for room, (x, y) in sorted(place.items()):
        fill = "#dfe9fb" if room == "jitrl_tui" else "#f3f4f7"
        lines.append(
            f'<rect x="{x:g}" y="{y:g}" width="{WIDE}" height="{HIGH}" rx="5" fill="{fill}" stroke="#99a"/>'
            f'<text x="{x + WIDE / 2:g}" y="{y + HIGH / 2 + 5:g}" text-anchor="middle">{escape(room)}</text>'
        )
    return "\n".join([*lines, "</svg>"]) + "\n"


def _ordered(found: list[list[str]], shown: dict[str, set[str]]) -> list[list[str]]:
    """Return the rows with each room near the middle of what imports it, so that few arrows cross."""
    above: dict[str, float] = {}

    def wish(room: str) -> tuple[float, str]:
        users = [above[user] for user, others in shown.items() if room in others and user in above]
        return (sum(users) / len(users) if users else 0.5, room)

    ordered = []
    for row in found:
        placed = sorted(row, key=wish)
        ordered.append(placed)
        above |= {room: (i + 0.5) / len(placed) for i, room in enumerate(placed)}
    return ordered


if __name__ == "__main__":
    FILE.write_text(svg(imports()), encoding="utf-8")
    print(FILE, file=sys.stderr)
