"""All panes of the watch screen, and how they share its space."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.geometry import Size

from jitrl_tui.screens.layout import PANES, STAGE, TITLES, layout_for
from jitrl_tui.view import Choice, RunView
from jitrl_tui.widgets.candidates import CandidatesPane
from jitrl_tui.widgets.curve import CurvePane
from jitrl_tui.widgets.lines import LinePane
from jitrl_tui.widgets.memory import MemoryPane
from jitrl_tui.widgets.page import PagePane, TreePane, stage_title
from jitrl_tui.widgets.picture import PicturePane
from jitrl_tui.widgets.tabs import TabLine
from jitrl_tui.widgets.transcript import Transcript
from jitrl_tui.widgets.why import WhyPane

if TYPE_CHECKING:
    from engine.web.browser.pages import PageStore


class Panes(Container):
    """Transcript on one side, everything else on the other or below. Arrangements only hide and show."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self._front = "candidates"
        self._zoomed: str | None = None
        self._layout_name = ""
        self._tabs: list[tuple[str, str, str]] = []
        self._stage = "transcript"
        self._web = False

    def compose(self) -> ComposeResult:
        """Make every pane once."""
        yield Transcript("transcript")
        yield PagePane("page")
        yield TreePane("tree")
        yield PicturePane("picture")
        with Vertical(id="others"):
            yield CandidatesPane("candidates")
            yield WhyPane("why")
            yield TabLine("tabs")
            yield MemoryPane("memory")
            yield CurvePane("curve")

    @property
    def transcript(self) -> Transcript:
        """The transcript."""
        return self.query_one(Transcript)

    @property
    def picture(self) -> PicturePane:
        """The picture of the page."""
        return self.query_one(PicturePane)

    @property
    def zoomed(self) -> bool:
        """Whether one pane has the whole space."""
        return self._zoomed is not None

    @property
    def stage(self) -> str:
        """The pane in the transcript's place."""
        return self._stage

    def turn_to_web(self, window: Size) -> None:
        """Share the transcript's place with the page and its tree, the page in front."""
        if not self._web:
            self._web = True
            self.go_to("page", window)

    def show(self, view: RunView, choice: Choice | None) -> None:
        """Draw a view, and the decision that is looked at."""
        self.transcript.show(view)
        self.query_one(CandidatesPane).look_at(choice, self._layout_name in ("narrow", "side"))
        self.query_one(WhyPane).look_at(choice)
        self.query_one(MemoryPane).look_at(choice, view.memory_entries, self._zoomed == "memory")
        self.query_one(CurvePane).look_at(view)

    def show_page(self, view: RunView, looked: Choice | None, store: PageStore | None, window: Size) -> None:
        """Draw the page that a decision was made on, or the latest; nothing in games."""
        if not view.pages:
            return
        self.turn_to_web(window)
        choice = looked or (view.choice if view.pending else None)
        action = choice.decision.action if choice is not None else ""
        shown = view.page_at(looked)
        self.query_one(PagePane).look_at(shown, store, action)
        self.query_one(PicturePane).look_at(shown, store, action)
        text = view.seen.description if view.seen is not None and looked is None else ""
        self.query_one(TreePane).look_at(shown, store, action, text)

    def fit_to(self, window: Size) -> str:
        """Hide and show panes for a window's size, the tab in front and the zoom; return the layout's name."""
        layout = layout_for(*window)
        self._layout_name = layout.name
        if layout.tabs and self._front not in layout.tabs:
            self._front = layout.tabs[0]
        visible = {self._zoomed} if self._zoomed else {*layout.shown, self._front if layout.tabs else ""}
        if "transcript" in visible:
            visible = visible - {"transcript"} | {self._stage}
        for name in dict.fromkeys((*PANES, *STAGE)):
            self.query_one(f"#{name}").display = name in visible
        self.query_one("#others").display = self._zoomed not in STAGE
        if self._web:
            across = window.width if self._zoomed or layout.name == "narrow" else window.width // 2
            for name in STAGE:
                self.query_one(f"#{name}").border_title = stage_title(self._stage, across)
        self._tabs = [(name, *TITLES[name]) for name in layout.tabs]
        self._draw_tabs()
        focused = self.screen.focused
        if focused is not None and focused.id in (*PANES, *STAGE) and not focused.display:
            self._focus(self._zoomed or self._stage)
        return layout.name

    def _draw_tabs(self) -> None:
        focused = self.screen.focused
        self.query_one(TabLine).show(
            self._tabs, self._front, focused is not None and focused.id == self._front
        )

    def on_descendant_focus(self) -> None:
        """The tab in front shows whether it has the focus."""
        self._draw_tabs()

    def go_to(self, name: str, window: Size) -> None:
        """Bring a pane to the front and give it the focus."""
        if name in STAGE:
            if not self._web and name != "transcript":
                return
            self._stage = name
        if name in layout_for(*window).tabs:
            self._front = name
        if self._zoomed is not None:
            self._zoomed = name
        self.query_one(f"#{name}").display = True
        self._focus(name)
        self.fit_to(window)

    def zoom(self, on: bool, window: Size) -> None:
        """Give all the space to the pane with the focus, or share it again."""
        focused = self.screen.focused
        if on:
            self._zoomed = (
                focused.id if focused is not None and focused.id in (*PANES, *STAGE) else self._front
            )
            self._focus(self._zoomed)
        else:
            self._zoomed = None
        self.fit_to(window)

    def _focus(self, name: str) -> None:
        # At once, not later: a pane that hides with the focus would send it elsewhere in between.
        self.screen.set_focus(self.query_one(f"#{name}"))

    def text_with_focus(self) -> str:
        """Return all the text of the pane with the focus, "" if it is none."""
        focused = self.screen.focused
        return focused.plain_text() if isinstance(focused, (LinePane, Transcript)) else ""
