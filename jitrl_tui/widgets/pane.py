"""What a pane of the watch screen is: a widget that looks at a run, and the record by which it is known."""

from __future__ import annotations

import textwrap
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

from textual.binding import Binding
from textual.content import Content
from textual.events import Event
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.visual import Visual

from engine.errors import UsageError
from jitrl_tui.view import Choice, RunView

if TYPE_CHECKING:
    from engine.web.browser.pages import PageStore


@dataclass(frozen=True, slots=True)
class How:
    """How a pane is shown.

    Attributes:
        back: The decision on show is looked back at; it is not the latest.
        alone: No other pane beside the stage is in sight.
        whole: The pane has the whole window.
        pages: Where what pages looked like is kept; None where there are none.
    """

    back: bool = False
    alone: bool = False
    whole: bool = False
    pages: PageStore | None = None


class Pane(ScrollView, can_focus=True):
    """A widget that looks at a run, and draws lines.

    A subclass has `look` and `line`; most are a `LinePane` and have `look` and `build`. An exception in one of these,
    or in a handler of an event, becomes a sentence in the pane's place. The screen goes on, and the next look tries
    again.
    """

    ALLOW_SELECT = True
    BINDINGS: ClassVar = [
        Binding("j", "scroll_down", show=False),
        Binding("k", "scroll_up", show=False),
    ]

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id, classes="pane")
        self.failure = ""
        """What went wrong, in a sentence; "" if nothing did."""

    @property
    def allow_select(self) -> bool:
        """Text here can be marked with the mouse."""
        return True

    def look(self, view: RunView, choice: Choice | None, how: How) -> None:
        """Take in what is to be shown. Called after every change, some times a second at most.

        Args:
            view: The run so far. It goes on changing: what has to stay is copied.
            choice: The decision on show, None before the first.
        """

    def line(self, y: int) -> Strip:
        """Return one visible line, `y` from the top of the pane."""
        raise NotImplementedError

    def plain_text(self) -> str:
        """Return everything in the pane as text."""
        return ""

    def update(self, view: RunView, choice: Choice | None, how: How) -> None:
        """Look, and say what goes wrong in the pane's place."""
        before, self.failure = self.failure, ""
        try:
            self.look(view, choice, how)
        except Exception as error:  # whatever a pane of somebody else raises
            self.fail(error)
        if before and not self.failure:
            self.refresh()

    def fail(self, error: Exception) -> None:
        """Show a sentence about an exception in place of the pane's lines."""
        frames = traceback.extract_tb(error.__traceback__)
        where = f", {frames[-1].filename.rpartition('/')[2]} line {frames[-1].lineno}" if frames else ""
        self.failure = f"This pane failed ({type(error).__name__}: {error}{where})."
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Return one visible line of what is to be seen."""
        if not self.failure:
            try:
                return self.line(y)
            except Exception as error:  # see `update`
                self.fail(error)
        width = self.size.width
        sentence = textwrap.wrap(self.failure, max(1, width))
        content = Content.styled(sentence[y] if y < len(sentence) else "", "$text-error")
        return Visual.to_strips(self, content, width, 1, self.visual_style)[0]

    async def on_event(self, event: Event) -> None:
        """Handle an event, and say what goes wrong in the pane's place."""
        try:
            await super().on_event(event)
        except Exception as error:  # see `update`
            self.fail(error)


Place = Literal["stage", "beside", "wide", "tab"]


@dataclass(frozen=True, slots=True)
class PaneKind:
    """A kind of pane.

    Attributes:
        name: Its name in entry points and actions.
        title: What stands on its frame and its tab.
        make: Returns a new one.
        about: What its key does, for the help; "" is "go to the" with its title.
        letter: A key in addition to its number, "" for none; one that is taken does nothing.
        place: "stage": the large place of the transcript; one pane is in front. "beside": a place of its own beside
            the stage, in normal and wide windows. "wide": a place of its own in wide windows only. "tab": none. Panes
            without a place of their own share one, with a tab for each.
        lines: Lines inside its frame where it has a place of its own beside the stage, in a normal and in a wide
            window; 0 is an equal share of what the others leave.
        web: It is about the page of a web session. In games it is not there.
        number: Its number key. `registry.kinds` fills it in from the order of all panes, "" where there are more than
            ten.

    Raises:
        UsageError: There is no such place, or no title.
    """

    name: str
    title: str
    make: Callable[[], Pane]
    about: str = ""
    letter: str = ""
    place: Place = "tab"
    lines: tuple[int, int] = (0, 7)
    web: bool = False
    number: str = ""

    def __post_init__(self) -> None:
        if not self.title.strip():
            raise UsageError(f"the pane {self.name!r} has no title")
        if self.place not in get_args(Place):
            places = ", ".join(get_args(Place))
            raise UsageError(f"there is no place {self.place!r} for a pane; choose one of: {places}")
