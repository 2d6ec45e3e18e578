"""What may reach the screen: the last step of every widget's lines before they are drawn."""

from __future__ import annotations

from functools import lru_cache

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from jitrl_tui.output import unsafe


class SafeLines(LineFilter):
    """Takes unsafe characters and links out of lines; what stays keeps its place.

    Textual applies it to all that widgets draw, whoever wrote the widget, with titles and borders.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return safe segments of the same width."""
        for text, style, _ in segments:
            if not text.isprintable() or (style is not None and style.link):
                return [_safe(segment) for segment in segments]
        return segments


def _safe(segment: Segment) -> Segment:
    text, style, _ = segment
    found = unsafe(text)
    if found:
        text = text.translate({ord(c): _blank(c) for c in found})
    return Segment(text, style.update_link(None) if style is not None and style.link else style)


@lru_cache(1024)
def _blank(character: str) -> str:
    """Return blanks as wide as a character, none where it takes no cell."""
    return " " * cell_len(character)
