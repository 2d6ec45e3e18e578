"""The container of all panes of the watch screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.content import Content
from textual.css.stylesheet import Stylesheet
from textual.geometry import Size

from jitrl_tui.panes.picture import PicturePane
from jitrl_tui.panes.registry import SentencePane
from jitrl_tui.panes.tabs import TabLine, stage_title
from jitrl_tui.panes.transcript import TranscriptPane
from jitrl_tui.runs.places import RememberedMap
from jitrl_tui.runs.view import Choice, RunView
from jitrl_tui.widgets.layout import Layout, layout_for, shared_rows
from jitrl_tui.widgets.lines import ACCENT
from jitrl_tui.widgets.pane import How, Pane, PaneKind

if TYPE_CHECKING:
    from engine.web.browser.pages import PageStore


LEAST_ROWS = 5
"""Rows that a pane with an equal share keeps, the frame included, however little it shows."""


class Panes(Container):
    """The stage on one side, the other panes on the other side or below. Arrangements only hide and show panes.

    Args:
        kinds: The panes, in the order of their numbers.
    """

    def __init__(self, id: str, kinds: Sequence[PaneKind]) -> None:
        super().__init__(id=id)
        self._kinds = {kind.name: kind for kind in kinds}
        self._panes: dict[str, Pane] = {}
        # On the web, the panes about the page come first.
        self._stages = sorted((kind for kind in kinds if kind.place == "stage"), key=lambda kind: not kind.web)
        self._stage = next(kind.name for kind in self._stages if not kind.web)
        self._front = next(kind.name for kind in kinds if kind.place != "stage")
        self._zoomed: str | None = None
        self._shares: list[int] = []
        self._rows: list[int] = []
        """Rows of the visible panes beside the stage: if none gives any away, and as they are shared now."""
        self._layout = Layout("", (), ())
        self._shared: tuple[Layout, str | None] | None = None
        """The layout and the zoom for which the rows were reset."""
        self._front_before = self._front
        self._web = False
        self._wanted = "auto"
        self.discreet = False
        """Whether what the agent would do, and what memory knew before the run, are shown only where asked for."""

    def follow(self, wanted: str) -> bool:
        """Take another arrangement than the usual one for the window's size; return whether it is another than before.

        Args:
            wanted: Name of a layout, or "auto".
        """
        before, self._wanted = self._wanted, wanted
        return before != wanted

    def compose(self) -> ComposeResult:
        """Make all panes, once."""
        self._panes = {name: self._opened(kind) for name, kind in self._kinds.items()}
        for name, kind in self._kinds.items():
            if kind.place == "stage":
                yield self._panes[name]
        with Vertical(id="others"):
            yield TabLine("tabs")
            for name, kind in self._kinds.items():
                if kind.place != "stage":
                    yield self._panes[name]

    def _opened(self, kind: PaneKind) -> Pane:
        """Return a pane of a kind, or a pane with the reason why it could not be made."""
        try:
            pane = kind.make()
            if not isinstance(pane, Pane):
                raise TypeError(f"{type(pane).__name__} is no Pane")
            if pane.DEFAULT_CSS != Pane.DEFAULT_CSS:  # invalid CSS would end the whole screen
                style = Stylesheet(variables=self.app.get_css_variables())
                style.add_source(pane.DEFAULT_CSS)
                style.parse()
        except Exception as error:  # a pane of another package may raise anything
            pane = SentencePane(f"The pane {kind.name!r} cannot be opened ({type(error).__name__}: {error}).")
        pane.add_class("stage" if kind.place == "stage" else "beside", update=False)
        pane.border_title = Content.assemble((kind.number, ACCENT), f" {kind.title}")
        return pane

    @property
    def transcript(self) -> TranscriptPane:
        """The transcript."""
        return self.query_one(TranscriptPane)

    @property
    def picture(self) -> PicturePane:
        """The picture of the page."""
        return self.query_one(PicturePane)

    @property
    def zoomed(self) -> bool:
        """Whether one pane has the whole space."""
        return self._zoomed is not None

    @property
    def stage(self) -> Pane:
        """The pane in front on the stage."""
        return self._panes[self._stage]

    def turn_to_web(self, window: Size) -> None:
        """Add the panes about the page to the stage, with the first of them in front."""
        if not self._web:
            self._web = True
            self.go_to(self._stages[0].name, window)

    def show(
        self,
        view: RunView,
        choice: Choice | None,
        *,
        present: RunView,
        pages: PageStore | None,
        remembered: RememberedMap | None = None,
    ) -> None:
        """Draw a view.

        Args:
            view: The run as it is shown: as it is, or as it was at an earlier decision.
            choice: The displayed decision.
            present: The run as it is. The transcript shows all of it.
            pages: Stored pages.
            remembered: The map that memory had before the run.
        """
        alone, back = not self._layout.shown, present is not view
        known = None if self.discreet else remembered
        for name, pane in self._panes.items():
            rows = None if self._zoomed else self._layout.rows(self._kinds[name])
            most = max(0, (rows or 0) - pane.gutter.height)
            how = How(back=back, alone=alone, whole=self._zoomed == name, most=most, pages=pages, remembered=known)
            pane.update(present if isinstance(pane, TranscriptPane) else view, choice, how)
        self.share_rows()

    def share_rows(self) -> None:
        """Give rows that panes beside the stage leave empty to those that have too few, so that none scrolls beside
        an empty one. Rows stay where they are until one has too few: borders that move at each step are restless.
        """
        layout, total = self._layout, self.query_one("#others").size.height - bool(self._layout.tabs)
        if self._zoomed or not layout.shown or total <= 0:
            return
        names = [*layout.shown, *([self._front] if layout.tabs else ())]
        panes = [self._panes[name] for name in names]
        full = [max(1, pane.virtual_size.height) + pane.gutter.height for pane in panes]
        fixed = [
            rows if pane.bare else layout.rows(self._kinds[name])
            for name, pane, rows in zip(names, panes, full, strict=True)
        ]
        rest, equal = max(0, total - sum(filter(None, fixed))), fixed.count(None)
        parts = iter([(rest + at) // equal for at in range(equal)])
        shares = [next(parts) if rows is None else rows for rows in fixed]
        needed = []
        for pane, share, rows, own in zip(panes, shares, full, fixed, strict=True):
            if not pane.bare and (pane.fills or not pane.virtual_size):  # it fills what it has, or has no lines yet
                needed.append(share)
            else:
                needed.append(rows if own is not None else max(rows, LEAST_ROWS))
        spare = [rows - need for rows, need in zip(self._rows, needed, strict=False)]
        given = [rows < min(share, need) for rows, share, need in zip(self._rows, shares, needed, strict=False)]
        if self._shares != shares or any(given) or min(spare) < 0 < max(spare):
            self._shares, self._rows = shares, shared_rows(shares, needed)
        for pane, rows in zip(panes, self._rows, strict=True):
            now = pane.styles.height
            if now is None or now.cells != rows:  # a style that is set costs a layout, also if it stays the same
                pane.styles.height = rows

    def on_resize(self) -> None:
        """Share the rows that there are now."""
        self.share_rows()

    def fit_to(self, window: Size) -> str:
        """Hide and show panes by the window's size, the tab in front, and the zoom; return the layout's name."""
        present = self.present
        layout = self._layout = self._arranged(window)
        if layout.tabs and self._front not in layout.tabs:
            self._front = layout.tabs[0]
        visible = {self._zoomed} if self._zoomed else {*layout.shown, self._front if layout.tabs else ""}
        if not self._zoomed and layout.name != "tiny":
            visible.add(self._stage)
        for name, pane in self._panes.items():
            pane.display = name in visible
            pane.set_class(name in layout.tabs, "-tab")
        self.set_class(layout.name in ("normal", "wide") and not layout.shown, "-one-beside")
        anew = self._shared != (layout, self._zoomed)  # a style that is set costs a layout, also if it stays the same
        self._shared = layout, self._zoomed
        for name in (*layout.shown, *layout.tabs) if anew else ():
            self._panes[name].styles.height = None if self._zoomed else layout.rows(self._kinds[name])
        self.query_one("#others").display = self._zoomed not in [kind.name for kind in self._stages]
        sharing = [kind for kind in self._stages if kind in present]
        if len(sharing) > 1:
            across = window.width if self._zoomed or layout.name == "narrow" else window.width // 2
            for kind in sharing:
                self._panes[kind.name].border_title = stage_title(sharing, self._stage, across)
        line = self.query_one(TabLine)
        line.display = bool(layout.tabs) and not self._zoomed
        if layout.tabs and anew:
            self.query_one("#others").move_child(line, before=self._panes[layout.tabs[0]])
        self._draw_tabs()
        focused = self.screen.focused
        if isinstance(focused, Pane) and not focused.display:
            self._focus(self._zoomed or self._stage)
        return layout.name

    @property
    def present(self) -> list[PaneKind]:
        """The panes of this session."""
        return [kind for kind in self._kinds.values() if self._web or not kind.web]

    def _arranged(self, window: Size) -> Layout:
        """Return the arrangement for a window. A discreet one leaves out advice that would always be visible."""
        layout = layout_for(*window, self.present, self._wanted)
        if self.discreet and layout.shown:
            layout = layout_for(*window, [kind for kind in self.present if not kind.advice], self._wanted)
        return layout

    def _draw_tabs(self) -> None:
        tabs = [self._kinds[name] for name in self._layout.tabs]
        self.query_one(TabLine).show(tabs, self._front, self.screen.focused is self._panes[self._front])

    def on_descendant_focus(self) -> None:
        """Show in the tab whether its pane has the focus."""
        self._draw_tabs()

    def go_to(self, name: str, window: Size) -> None:
        """Bring a pane to the front and give it the focus."""
        kind = self._kinds[name]
        if kind.web and not self._web:
            return
        if kind.place == "stage":
            self._stage = name
        if kind.advice and name not in self._arranged(window).tabs:
            self.discreet = False
        if name in self._arranged(window).tabs:
            self._front = name
        if self._zoomed is not None:
            self._zoomed = name
        self._panes[name].display = True
        self._focus(name)
        self.fit_to(window)
        self.call_after_refresh(self.share_rows)  # a pane that is shown for the first time has its lines only then

    def front(self, name: str) -> None:
        """Bring a pane to the front where it is one of several tabs. The focus stays."""
        self._front = name

    def advise(self, on: bool, window: Size) -> None:
        """Show what the agent would do, or keep it for when it is asked for. The focus stays where it can."""
        self.discreet = not on
        first = next(kind.name for kind in self.present if kind.advice)
        if on and first in self._arranged(window).tabs:
            self._front_before, self._front = self._front, first
        elif self._kinds[self._front].advice:
            self._front = self._front_before
        self.fit_to(window)

    def zoom(self, on: bool, window: Size) -> None:
        """Give the whole space to the pane with the focus, or share it again."""
        focused = self.screen.focused
        if on:
            self._zoomed = next((name for name, pane in self._panes.items() if pane is focused), self._front)
            self._focus(self._zoomed)
        else:
            self._zoomed = None
        self.fit_to(window)

    def _focus(self, name: str) -> None:
        # Do this at once. Otherwise a hidden pane with the focus would pass the focus to another pane.
        self.screen.set_focus(self._panes[name])

    def kind_with_focus(self) -> PaneKind | None:
        """Return the kind of the pane with the focus, None if no pane has it."""
        focused = self.screen.focused
        return next((kind for name, kind in self._kinds.items() if self._panes[name] is focused), None)

    def text_with_focus(self) -> str:
        """Return all the text of the pane with the focus, "" if no pane has it."""
        focused = self.screen.focused
        return focused.plain_text() if isinstance(focused, Pane) else ""
