"""The transcript. It wraps text anew for each width, keeps its position, and is fast with thousands of paragraphs."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.binding import Binding
from textual.cache import LRUCache
from textual.geometry import Region
from textual.selection import Selection
from textual.strip import Strip

from jitrl_tui.runs.view import PARAGRAPHS, Choice, Paragraph, RunView
from jitrl_tui.widgets.lines import wrap
from jitrl_tui.widgets.pane import How, Pane, PaneKind, StepClicked

PROSE = 100
"""Largest number of cells in a line of prose. Longer lines are hard to read."""


class TranscriptPane(Pane):
    """The output of the environment and the actions, newest at the end."""

    COMPONENT_CLASSES: ClassVar = {
        "transcript--text",
        "transcript--episode",
        "transcript--command",
        "transcript--human",
        "transcript--gain",
        "transcript--loss",
        "transcript--end",
        "transcript--notice",
        "transcript--here",
    }
    BINDINGS: ClassVar = [Binding("G,end", "scroll_end", show=False)]

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self._paragraphs: list[Paragraph] = []
        self._lines: list[str] = []
        self._starts: list[int] = []
        self._seen = 0
        self._wrapped_at = 0
        self._follow = True
        self._unread = 0
        self._here: tuple[int, int] | None = None
        self._cache: LRUCache[int, Strip] = LRUCache(512)

    @property
    def following(self) -> bool:
        """Whether it scrolls so that the newest line stays visible."""
        return self._follow

    # --------------------------------------------------------------------------------------- content

    def look(self, view: RunView, choice: Choice | None, how: How) -> None:
        """Add the paragraphs written since the last call."""
        new = view.written - self._seen
        if new < 0 or self._seen == 0 or new >= len(view.paragraphs):
            self._replace(list(view.paragraphs))
        elif new:
            fresh = [view.paragraphs[i] for i in range(len(view.paragraphs) - new, len(view.paragraphs))]
            self._append(fresh)
        self._seen = view.written

    def restart(self, view: RunView) -> None:
        """Show another run, or the same run at another moment, and scroll to the end."""
        self._follow = True
        self._replace(list(view.paragraphs))
        self._seen = view.written

    @property
    def paragraphs(self) -> list[Paragraph]:
        """A copy of the displayed paragraphs, oldest first."""
        return list(self._paragraphs)

    def go_to_paragraph(self, index: int, *, last: bool = False) -> None:
        """Scroll to a paragraph and stop following the newest line.

        Args:
            last: Whether nothing that comes after it is to be in sight.
        """
        if 0 <= index < len(self._starts):
            self._follow = False
            height = self.scrollable_content_region.height
            end = self._starts[index + 1] if index + 1 < len(self._starts) else len(self._lines)
            top = max(0, end - height if last else self._starts[index] - height // 3)
            self.scroll_to(y=top, animate=False, force=True)
            self._tell_unread()

    def mark_step(self, where: tuple[int, int] | None) -> None:
        """Mark the command of (episode, step) and scroll so that it comes last; None to mark none."""
        if where == self._here:
            return
        self._here = where
        self._cache.clear()
        if where is None:
            self._go_end()
        else:
            for index in range(len(self._paragraphs) - 1, -1, -1):
                p = self._paragraphs[index]
                if p.kind == "command" and (p.episode, p.step) == where:
                    self.go_to_paragraph(index, last=True)
                    break
        self.refresh()

    def _replace(self, paragraphs: list[Paragraph]) -> None:
        self._paragraphs = paragraphs
        self._wrap_all()
        if self._follow:
            self._go_end()

    def _append(self, fresh: Sequence[Paragraph]) -> None:
        first = len(self._lines)
        for paragraph in fresh:
            self._add_lines(paragraph)
        self._paragraphs.extend(fresh)
        # A quarter is dropped at a time, so that dropping is rare.
        if len(self._paragraphs) > PARAGRAPHS + PARAGRAPHS // 4:
            self._drop(len(self._paragraphs) - PARAGRAPHS)
            first = 0
        self.set_extent(self._wrapped_at, len(self._lines))
        if self._follow:
            self._unread = 0
            self._go_end()
        else:
            self._unread += len(self._lines) - first if first else 0
        self.refresh()
        self._tell_unread()

    def _drop(self, count: int) -> None:
        lines = self._starts[count]
        del self._paragraphs[:count]
        del self._lines[:lines]
        self._starts = [start - lines for start in self._starts[count:]]
        self._cache.clear()
        self.set_reactive(TranscriptPane.scroll_y, max(0.0, self.scroll_y - lines))
        self.set_reactive(TranscriptPane.scroll_target_y, max(0.0, self.scroll_target_y - lines))

    def _wrap_all(self) -> None:
        self._wrapped_at = self.scrollable_content_region.width or self.size.width
        self._lines, self._starts = [], []
        self._cache.clear()
        for paragraph in self._paragraphs:
            self._add_lines(paragraph)
        self.set_extent(self._wrapped_at, len(self._lines))
        self.refresh()

    def _add_lines(self, paragraph: Paragraph) -> None:
        """Add the wrapped lines of a paragraph, with a blank line before it if needed."""
        self._starts.append(len(self._lines))
        if paragraph.kind in ("episode", "command", "end") and self._lines:
            self._lines.append("")
        width = max(1, min(self._wrapped_at, PROSE))
        if paragraph.kind == "episode":
            rule = f"━━ {paragraph.text} "
            self._lines.append((rule + "━" * max(0, width - len(rule)))[:width])
            return
        prefix = {"command": "> ", "gain": "▲ ", "loss": "▼ ", "notice": "! ", "end": "■ "}.get(
            paragraph.kind, "  "
        )
        text = paragraph.text + (f"   ({paragraph.by})" if paragraph.by else "")
        wrapped = wrap(text, width - 2)
        self._lines.append(prefix + wrapped[0])
        self._lines.extend("  " + line if line else "" for line in wrapped[1:])

    # ---------------------------------------------------------------------------------------- drawing

    def line(self, y: int) -> Strip:
        """Return one visible line."""
        at, width = round(self.scroll_y) + y, self.size.width
        selection = self.text_selection
        if selection is None and at in self._cache:
            return self._cache[at]
        base = self.visual_style.rich_style
        if at >= len(self._lines):
            return Strip.blank(width, base)
        line = self._lines[at]
        paragraph = self._paragraphs[bisect_right(self._starts, at) - 1]
        style = self._style_of(paragraph)
        segments = [Segment(line, base + style)]
        if selection is not None and (span := selection.get_span(at)) is not None:
            start, end = span
            end = len(line) if end == -1 else end
            marked = self.screen.get_component_rich_style("screen--selection")
            segments = [
                Segment(line[:start], base + style),
                Segment(line[start:end], base + style + marked),
                Segment(line[end:], base + style),
            ]
        strip = Strip(segments).crop_extend(0, width, base).apply_offsets(0, at)
        if selection is None:
            self._cache[at] = strip
        return strip

    def _style_of(self, paragraph: Paragraph) -> RichStyle:
        kind = "human" if paragraph.human else paragraph.kind
        style = self.get_component_rich_style(f"transcript--{kind}", partial=True)
        if self._here == (paragraph.episode, paragraph.step) and paragraph.kind == "command":
            style += self.get_component_rich_style("transcript--here", partial=True)
        return style

    def notify_style_update(self) -> None:
        """Draw everything anew, because colours changed."""
        super().notify_style_update()
        self._cache.clear()

    # ------------------------------------------------------------------------------------ place

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Follow the newest line only while it is visible."""
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) == round(new_value):
            return
        # Scrolling down does not stop following, because new lines may have been added in the meantime.
        if self.is_vertical_scroll_end:
            self._follow, self._unread = True, 0
        elif new_value < old_value:
            self._follow = False
        self._tell_unread()

    def on_resize(self) -> None:
        """Wrap all text anew, and keep the first visible paragraph at the top."""
        width = self.scrollable_content_region.width
        if width <= 0:
            return
        if width == self._wrapped_at:
            if self._follow:
                self._go_end()
            return
        follow, top = self._follow, round(self.scroll_y)
        index = max(0, bisect_right(self._starts, top) - 1)
        into = top - self._starts[index] if self._starts else 0
        self._wrap_all()
        if follow:
            self._go_end()
        elif self._starts:
            self.scroll_to(y=self._starts[index] + into, animate=False, force=True)
            self._follow = False
        self.refresh(Region(0, 0, *self.size))

    def _go_end(self) -> None:
        self.scroll_end(animate=False, immediate=True, force=True, x_axis=False)
        self._follow = True

    def _tell_unread(self) -> None:
        note = f" {self._unread} new lines below, End to follow " if self._unread and not self._follow else ""
        if not note and not self._follow:
            note = " End to follow "
        if self.border_subtitle != note:
            self.border_subtitle = note

    # -------------------------------------------------------------------------------------- mouse, copy

    def on_click(self, event: object) -> None:
        """Ask for the decision of a clicked command."""
        y = round(self.scroll_y) + getattr(event, "y", 0) - self.gutter.top
        if self.text_selection is None and 0 <= y < len(self._lines):
            p = self._paragraphs[bisect_right(self._starts, y) - 1]
            if p.kind == "command":
                self.post_message(StepClicked(p.episode, p.step))

    def selection_updated(self, selection: Selection | None) -> None:
        """Draw with the marked text."""
        self._cache.clear()
        self.refresh()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the marked text."""
        return selection.extract("\n".join(self._lines)), "\n"

    def plain_text(self) -> str:
        """Return the whole transcript as text."""
        return "\n".join(self._lines)


KIND = PaneKind("transcript", "transcript", lambda: TranscriptPane("transcript"), letter="t", place="stage")
