"""Bars made of characters. They differ in shape, not only in colour."""

from __future__ import annotations

from jitrl_tui.runs.view import percents

_EIGHTHS = " ▏▎▍▌▋▊▉"


def thick(share: float, width: int) -> tuple[str, str]:
    """Return a thick bar for `share` (0 to 1) and the empty rest, together `width` cells."""
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    full, part = divmod(eighths, 8)
    bar = "█" * full + (_EIGHTHS[part] if part else "")
    if share > 0 and not bar:
        bar = _EIGHTHS[1]
    return bar, "·" * (width - len(bar))


def thin(share: float, width: int) -> tuple[str, str]:
    """Return a thin bar for the previous `share` (0 to 1) and the empty rest, together `width` cells."""
    halves = round(min(max(share, 0.0), 1.0) * width * 2)
    full, part = divmod(halves, 2)
    bar = "━" * full + ("╸" if part else "")
    if share > 0 and not bar:
        bar = "╸"
    return bar, "·" * (width - len(bar))


def changed(before: float, after: float, width: int) -> tuple[str, str, str]:
    """Return the common part of two shares, the gain (▓) or loss (░), and the empty rest, together `width` cells."""
    full = round(min(max(after, 0.0), 1.0) * width)
    old = round(min(max(before, 0.0), 1.0) * width)
    if full >= old:
        kept, moved = "█" * old, "▓" * (full - old)
    else:
        kept, moved = "█" * full, "░" * (old - full)
    if after > 0 and not kept and not moved:
        kept = _EIGHTHS[1]
    return kept, moved, "·" * (width - len(kept) - len(moved))


def moved(before: float, after: float, low: float, high: float, width: int, cap: float | None = None) -> str:
    """Return a track of `width` cells from `low` to `high`: ◇ at `before`, ◆ at `after`, a line between them.

    `┤` marks the cap, beyond which `after` cannot be; where it is reached, ◆ stands there.
    """
    span = high - low
    ends = [round((x - low) / span * (width - 1)) if span > 0 else 0 for x in (before, after)]
    cells = ["·"] * width
    if cap is not None and span > 0:
        cells[round((cap - low) / span * (width - 1))] = "┤"
    for at in range(min(ends), max(ends) + 1):
        cells[at] = "━"
    cells[ends[0]] = "◇"
    cells[ends[1]] = "◆"
    return "".join(cells)


def arrow(before: float, after: float) -> str:
    """Return an arrow for the change of a probability in whole percents."""
    moved = percents(before, after)
    return "▲" if moved > 0 else "▼" if moved < 0 else "="
