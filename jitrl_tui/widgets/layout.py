"""Arrangements of the panes, chosen by the size of the window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jitrl_tui.widgets.pane import PaneKind

LEAST_WIDTH, LEAST_HEIGHT = 60, 18
_LEAST = {"narrow": (LEAST_WIDTH, LEAST_HEIGHT), "side": (100, LEAST_HEIGHT), "normal": (100, 28), "wide": (140, 38)}
"""Smallest window of each arrangement: columns, rows."""
_VAST = (180, 55)
"""Columns and rows from which on panes that else share a place have one of their own each."""
_MOST_OPEN = 2
"""Largest number of such panes; more of them share a place in any window."""
_FRAME = 2
"""Number of rows of a frame. Panes with tabs have no frame."""
_OWN = {"normal": ("beside",), "wide": ("beside", "wide")}
"""Places whose panes are always visible, by arrangement."""


@dataclass(frozen=True, slots=True)
class Layout:
    """One arrangement of the panes beside the stage.

    Attributes:
        name: "tiny", "narrow" (one below the other), "side" (two columns, one pane on the right),
            "normal" (candidates and why always, the rest by tab) or "wide" (everything).
        shown: Panes that are always visible.
        tabs: Panes that share one place.
    """

    name: str
    shown: tuple[str, ...]
    tabs: tuple[str, ...]

    def rows(self, kind: PaneKind) -> int | None:
        """Return the rows of a pane beside the stage, None for an equal share of the remaining rows."""
        if self.name not in _OWN:
            return None
        lines = kind.lines[self.name == "wide"]
        return lines + (0 if kind.name in self.tabs else _FRAME) if lines else None


def shared_rows(shares: Sequence[int], needed: Sequence[int]) -> list[int]:
    """Return the rows of panes. Rows that some leave empty go to those that need more than their share.

    The smallest lack is filled first. The rows come from where the most are empty.

    Args:
        shares: Rows of each pane if none gives any away.
        needed: Rows that each pane can fill.
    """
    rows = list(shares)
    for taker in sorted(range(len(rows)), key=lambda at: needed[at] - shares[at]):
        while rows[taker] < needed[taker]:
            giver = max(range(len(rows)), key=lambda at: rows[at] - needed[at])
            if rows[giver] <= needed[giver]:
                return rows
            rows[giver] -= 1
            rows[taker] += 1
    return rows


def layout_for(width: int, height: int, kinds: Sequence[PaneKind], wanted: str = "auto") -> Layout:
    """Return the arrangement of panes for a window of this size.

    Args:
        wanted: Name of the arrangement that is taken if the window has room for it; "auto" for the usual one.
    """
    columns, rows = _LEAST.get(wanted, (width + 1, 0))
    name = wanted if width >= columns and height >= rows else _name(width, height)
    if name == "tiny":
        return Layout(name, (), ())
    beside = [kind for kind in kinds if kind.place != "stage"]
    shown = tuple(kind.name for kind in beside if kind.place in _OWN.get(name, ()))
    tabs = tuple(kind.name for kind in beside if kind.name not in shown)
    vast = name == "wide" and width >= _VAST[0] and height >= _VAST[1] and len(tabs) <= _MOST_OPEN
    if len(tabs) == 1 or vast:  # a single pane needs no tab
        shown, tabs = shown + tabs, ()
    return Layout(name, shown, tabs)


def _name(width: int, height: int) -> str:
    if width < LEAST_WIDTH or height < LEAST_HEIGHT:
        return "tiny"
    if width < 100:
        return "narrow"
    if height < 28:
        return "side"
    if width < 140 or height < 38:
        return "normal"
    return "wide"
