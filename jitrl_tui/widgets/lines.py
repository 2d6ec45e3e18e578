"""The base class of panes that build a list of lines after each change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.cells import cell_len
from textual.binding import Binding
from textual.content import Content
from textual.events import Click
from textual.selection import Selection
from textual.strip import Strip
from textual.style import Style
from textual.visual import Visual

from jitrl_tui.runs.view import Choice, RunView
from jitrl_tui.system.output import clean, one_line
from jitrl_tui.widgets.pane import How, Pane

MUTED = "$quiet"
FAINT = "$faint"
STRONG = "bold"
GOOD = "bold $text-success"
BAD = "bold $text-error"
ACCENT = "bold $text-accent"
NAME = "$text-primary"
HUMAN = "bold $text-warning"


def fit(text: str, width: int) -> str:
    """Return `text` on one line, cut or padded to exactly `width` cells, with an ellipsis where it was cut."""
    text = one_line(text)
    if text.isascii():
        return text.ljust(width) if len(text) <= width else text[: max(0, width - 1)] + "…"
    used = cell_len(text)
    if used <= width:
        return text + " " * (width - used)
    kept, used = [], 0
    for character in text:
        size = cell_len(character)
        if used + size > width - 1:
            break
        kept.append(character)
        used += size
    return "".join(kept) + "…" + " " * max(0, width - used - 1)


def wrap(text: str, width: int) -> list[str]:
    """Return `text` as lines of at most `width` cells, broken at spaces where there are any."""
    width = max(1, width)
    lines: list[str] = []
    for line in clean(text).split("\n"):
        if line.isascii():
            _wrap_ascii(line, width, lines)
        else:
            _wrap_cells(line, width, lines)
    return lines


def _wrap_ascii(line: str, width: int, lines: list[str]) -> None:
    start = 0
    while len(line) - start > width:
        cut = line.rfind(" ", start + 1, start + width + 1)
        if cut <= start:
            lines.append(line[start : start + width])
            start += width
        else:
            lines.append(line[start:cut].rstrip())
            start = cut + 1
    lines.append(line[start:].rstrip())


def _wrap_cells(line: str, width: int, lines: list[str]) -> None:
    while cell_len(line) > width:
        used = space = end = 0
        for end, character in enumerate(line):
            used += cell_len(character)
            if used > width:
                break
            if character == " ":
                space = end
        else:
            break
        cut = space if space > 0 else max(1, end)
        lines.append(line[:cut].rstrip())
        line = line[cut:].lstrip(" ") if space > 0 else line[cut:]
    lines.append(line.rstrip())


class LinePane(Pane):
    """A scrolling, selectable pane whose lines come from `build`."""

    BINDINGS: ClassVar = [Binding("G", "scroll_end", show=False)]

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id)
        self._strips: list[Strip] = []
        self._text: list[str] = []
        self._built: tuple[int, int] = (0, 0)
        self._stale = True
        self._colours: tuple[str, Style] | None = None

    def build(self, width: int, height: int) -> Sequence[Content]:
        """Return the lines for what is to be shown, none wider than `width`."""
        return []

    def renew(self) -> None:
        """Build the lines anew, now or when the pane is next visible. `look` calls this if something has changed."""
        self._stale = True
        self.rebuild()

    def update(self, view: RunView, choice: Choice | None, how: How) -> None:
        """Call `look`, and build the lines if that was postponed."""
        super().update(view, choice, how)
        if not self.failure:
            self.rebuild()

    def rebuild(self) -> None:
        """Build the lines if they are stale and the pane is on screen."""
        # The size of the last layout, which a pane that is shown again mostly keeps: then it is drawn only once.
        width, height = self.outer_size.region.shrink(self.styles.gutter).shrink(self.scrollbar_gutter).size
        if width <= 0 or height <= 0 or not self.display or (not self._stale and self._built == (width, height)):
            return
        self._stale, self._built = False, (width, height)
        try:
            lines = self.build(width, height)
            self._text = [line.plain for line in lines]
            self._render_strips(lines, width)
        except Exception as error:  # a pane of another package may raise anything
            self._stale = True
            self.fail(error)
            return
        self.failure = ""
        self.set_extent(width, len(self._strips))
        self.redraw()

    def redraw(self) -> None:
        """Draw the present lines."""
        self.refresh()

    def _render_strips(self, lines: Sequence[Content], width: int) -> None:
        content = Content("\n").join(lines) if lines else Content("")
        self._strips = Visual.to_strips(self, content, width, None, self.visual_style)

    def on_resize(self) -> None:
        """Build anew for the new width. A sentence about a failure stays until the next `look`."""
        if not self.failure:
            self.rebuild()

    def on_show(self) -> None:
        """Build the lines if that was postponed."""
        self.on_resize()

    def notify_style_update(self) -> None:
        """Draw everything anew if colours of the lines changed. Those of the frame change with the focus, too."""
        super().notify_style_update()
        if self.is_mounted and (colours := (self.app.theme, self.visual_style)) != self._colours:
            self._colours, self._stale = colours, True
            self.call_after_refresh(self.rebuild)

    def line(self, y: int) -> Strip:
        """Return one visible line."""
        width = self.size.width
        at = round(self.scroll_y) + y
        style = self.visual_style.rich_style
        if at >= len(self._strips):
            return Strip.blank(width, style)
        return self._strips[at].crop_extend(0, width, style)

    def selection_updated(self, selection: Selection | None) -> None:
        """Draw with the marked text."""
        self._stale = True
        self.rebuild()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the marked text."""
        return selection.extract("\n".join(line.rstrip() for line in self._text)), "\n"

    def clicked(self, event: Click) -> tuple[int, int] | None:
        """Return the column and the number of the clicked line; None if text was marked, or no line is there."""
        at = event.get_content_offset(self)
        y = -1 if at is None else at.y + round(self.scroll_y)
        if at is None or self.text_selection is not None or not 0 <= y < len(self._text):
            return None
        return at.x, y

    def plain_text(self) -> str:
        """Return everything in the pane as text."""
        return "\n".join(line.rstrip() for line in self._text)


class Lines(LinePane):
    """A pane of lines that stay.

    Args:
        make: Returns the lines for a width.
    """

    def __init__(self, id: str, make: Callable[[int], Sequence[Content]]) -> None:
        super().__init__(id)
        self._make = make

    def build(self, width: int, height: int) -> Sequence[Content]:
        """Return the lines."""
        return self._make(width)
