"""The page of a web session: drawn in text, and as the tree of its elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from engine.records import PageShown
from jitrl_tui.runs.view import Choice, RunView
from jitrl_tui.widgets.lines import ACCENT, FAINT, HUMAN, MUTED, NAME, STRONG, LinePane, fit, wrap
from jitrl_tui.widgets.pane import ActionClicked, How, PaneKind

if TYPE_CHECKING:
    from engine.web.browser.pages import PageStore
    from engine.web.browser.snapshot import Page
    from engine.web.drawing.canvas import CanvasRun
    from engine.web.drawing.wireframe import Wireframe

_STYLES = {"line": FAINT, "edge": HUMAN, "heading": STRONG, "link": NAME, "button": "", "field": "",
           "number": ACCENT, "text": MUTED, "blank": ""}  # fmt: skip
MOST_LINES = 3000


class OfPage(LinePane):
    """A pane about one page."""

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self._shown: PageShown | None = None
        self._page: Page | None = None
        self._action = ""
        self._top: int | None = None

    def look(self, view: RunView, choice: Choice | None, how: How) -> None:
        """Show the page of a decision, or the latest page."""
        if view.pages:
            decided = choice if how.back or view.pending else None
            action = decided.decision.action if decided is not None else ""
            self._look_at(view.page_at(choice if how.back else None), how.pages, action)

    def _look_at(self, shown: PageShown | None, store: PageStore | None, action: str) -> None:
        """Show a page and mark the element of an action."""
        if (shown, action) == (self._shown, self._action):
            return
        if action and action != self._action:
            self._top = 0
        if shown != self._shown:
            self._page = store.page(shown) if shown is not None and store is not None else None
            self._top = 0
        self._shown, self._action = shown, action
        self.renew()

    def rebuild(self) -> None:
        """Build the lines, and scroll to the top if the page has changed."""
        super().rebuild()
        if self._top is not None and not self._stale:
            top, self._top = self._top, None
            self.scroll_to(y=top, animate=False, force=True)

    def _missing(self, width: int) -> list[Content]:
        return [
            Content.styled(line, MUTED) for line in wrap("What this page looked like was not kept.", width)
        ]


class PagePane(OfPage):
    """The page drawn in text."""

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self._drawn: Wireframe | None = None

    def build(self, width: int, height: int) -> Sequence[Content]:
        """Return the page drawn for this width."""
        from engine.web.drawing.wireframe import draw

        shown = self._shown
        if self._page is None or shown is None:
            self._drawn = None
            return self._missing(width)
        self._drawn = drawn = draw(self._page, width, height, (shown.width, shown.height))
        marked = {i for i, item in enumerate(drawn.items) if f"<{item.node.label}>" in self._action}
        if self._top is not None:
            self._top = drawn.window[0]
            at = next(
                (y for y, row in enumerate(drawn.rows) if any(r.item in marked for r in row)), self._top
            )
            if not self._top <= at < self._top + height:
                self._top = max(0, at - height // 2)
        return [self._line(row, marked) for row in drawn.rows]

    def _line(self, row: Sequence[CanvasRun], marked: set[int]) -> Content:
        parts = []
        for run in row:
            style = _STYLES[run.kind]
            if run.item in marked:
                style = f"{style} reverse".strip()
            parts.append((run.text.replace("\n", " "), style))
        return Content.assemble(*parts)

    def on_click(self, event: object) -> None:
        """Choose the clicked element."""
        x = getattr(event, "x", -1) - self.gutter.left
        y = round(self.scroll_y) + getattr(event, "y", 0) - self.gutter.top
        item = self._drawn.at(x, y) if self._drawn is not None and x >= 0 else None
        if item is not None and item.action and self.text_selection is None:
            self.post_message(ActionClicked(item.action))


class TreePane(OfPage):
    """The elements of the page, numbered as in the drawing."""

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self._instead = ""
        """Text of the latest observation, shown if the page was not stored."""

    def look(self, view: RunView, choice: Choice | None, how: How) -> None:
        """Show the elements of the page, or the text of the observation."""
        instead = view.seen.description if view.seen is not None and not how.back else ""
        if instead != self._instead:
            self._instead, self._stale = instead, True
        super().look(view, choice, how)

    def build(self, width: int, height: int) -> Sequence[Content]:
        """Return a line for each element."""
        from engine.web.drawing.items import items_of
        from engine.web.drawing.text import node_lines

        if self._page is None:
            rest = [Content(line) for line in wrap(self._instead, width)]
            return [*self._missing(width), Content(""), *rest[:MOST_LINES]]
        numbers = {id(item.node): item.number for item in items_of(self._page)}
        lines: list[Content] = []
        for at, text in node_lines(self._page):
            if at >= MOST_LINES:
                break
            node = self._page.nodes[at]
            number = numbers.get(id(node), 0)
            marked = bool(number) and f"<{node.label}>" in self._action
            if marked and self._top is not None and len(lines) >= height:
                self._top = len(lines) - height // 2
            style = "reverse" if marked else "" if number else MUTED
            tag = f"{number or '':>3} "
            lines.append(
                Content.assemble((tag, ACCENT), (fit(text, max(1, width - 4)).rstrip(), style))
            )
        if len(self._page.nodes) > MOST_LINES:
            lines.append(Content.styled(f"… {len(self._page.nodes) - MOST_LINES:,} more", MUTED))
        return lines


PAGE = PaneKind("page", "wireframe", lambda: PagePane("page"),
                "on the web: the page drawn in text; a click on an element overrules with it", "v", "stage",
                web=True)  # fmt: skip
TREE = PaneKind("tree", "tree", lambda: TreePane("tree"), "on the web: the page's elements as a tree", "a", "stage",
                web=True)  # fmt: skip
