"""How the panes share the window, by its size alone."""

from __future__ import annotations

from dataclasses import dataclass

PANES = ("transcript", "candidates", "why", "memory", "curve")
TITLES = {"candidates": ("2", "candidates"), "why": ("3", "why"), "memory": ("4", "memory"),
          "curve": ("5", "learning curve")}  # fmt: skip
STAGE = ("page", "tree", "picture", "transcript")
"""Panes that share the transcript's place on the web."""
LEAST_WIDTH, LEAST_HEIGHT = 60, 18


@dataclass(frozen=True, slots=True)
class Layout:
    """One arrangement.

    Attributes:
        name: "tiny", "narrow" (one below the other), "side" (two columns, one pane on the right),
            "normal" (candidates and why always, the rest by tab) or "wide" (everything).
        shown: Panes always in sight.
        tabs: Panes that share one place.
    """

    name: str
    shown: tuple[str, ...]
    tabs: tuple[str, ...]


_LAYOUTS = {
    "tiny": Layout("tiny", (), ()),
    "narrow": Layout("narrow", ("transcript",), ("candidates", "why", "memory", "curve")),
    "side": Layout("side", ("transcript",), ("candidates", "why", "memory", "curve")),
    "normal": Layout("normal", ("transcript", "candidates", "why"), ("memory", "curve")),
    "wide": Layout("wide", PANES, ()),
}


def layout_for(width: int, height: int) -> Layout:
    """Return the arrangement for a window of this size."""
    if width < LEAST_WIDTH or height < LEAST_HEIGHT:
        return _LAYOUTS["tiny"]
    if width < 100:
        return _LAYOUTS["narrow"]
    if height < 28:
        return _LAYOUTS["side"]
    if width < 140 or height < 38:
        return _LAYOUTS["normal"]
    return _LAYOUTS["wide"]
