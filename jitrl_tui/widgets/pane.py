"""The base class of panes of the watch screen, and the record that describes a kind of pane."""

from __future__ import annotations

import textwrap
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

from textual.binding import Binding
from textual.content import Content
from textual.events import Event
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.visual import Visual

from engine.errors import UsageError
from jitrl_tui.runs.view import Choice, RunView

if TYPE_CHECKING:
    from engine.web.browser.pages import PageStore
    from jitrl_tui.runs.places import RememberedMap


@dataclass(frozen=True, slots=True)
class How:
    """How a pane is shown.

    Attributes:
        back: The displayed decision is an earlier one, not the latest.
        alone: No other pane beside the stage is visible.
        whole: The pane has the whole window.
        most: Lines that it could have if it needed them; 0 for no more than it has.
        pages: Stored pages; None if there are none.
        remembered: The map of the places that memory had before the run; None for a recording.
    """

    back: bool = False
    alone: bool = False
    whole: bool = False
    most: int = 0
    pages: PageStore | None = None
    remembered: RememberedMap | None = None


class StepClicked(Message):
    """Something in a pane was clicked, to show a decision of the run."""

    def __init__(self, episode: int, step: int) -> None:
        super().__init__()
        self.episode, self.step = episode, step


class ActionClicked(Message):
    """An action was clicked, to take it in place of the agent's."""

    def __init__(self, action: str) -> None:
        super().__init__()
        self.action = action


class Pane(ScrollView, can_focus=True):
    """A widget that shows a part of a run as lines.

    A subclass has `look` and `line`. Most derive from `LinePane` and have `look` and `build`. If one of these
    or an event handler raises an exception, the pane shows a sentence about it. The screen continues, and the
    next `look` tries again.
    """

    ALLOW_SELECT = True
    fills: ClassVar[bool] = True
    """Whether it draws for the rows that it has, as a plot does. If not, those that its lines leave empty are given to
    panes that need them."""
    BINDINGS: ClassVar = [
        Binding("j", "scroll_down", show=False),
        Binding("k", "scroll_up", show=False),
    ]

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id, classes="pane")
        self.failure = ""
        """The error in a sentence, "" if there is none."""
        self._bar_fits: tuple[Size, Size, bool] | None = None

    def set_extent(self, width: int, height: int) -> None:
        """Say how many columns and lines there are to scroll over.

        Textual lays out the whole screen when `virtual_size` changes, but only the pane's scroll bar follows from it.
        """
        extent = Size(width, height)
        if extent != self.virtual_size:
            self.set_reactive(Pane.virtual_size, extent)
            self._scroll_update(extent)

    def _scroll_update(self, virtual_size: Size) -> None:
        """Bring the scroll bar up to date. Textual would draw it anew after each layout, also if it stays the same."""
        fits = (self.virtual_size, self.container_size, self.show_vertical_scrollbar)
        if fits == self._bar_fits:
            return
        super()._scroll_update(virtual_size)
        if self.show_vertical_scrollbar:  # a bar that appears only now does not know the position
            self.vertical_scrollbar.position = self.scroll_y
        self._bar_fits = self.virtual_size, self.container_size, self.show_vertical_scrollbar

    @property
    def bare(self) -> bool:
        """Whether it has only a sentence to show. It has the rows of the sentence then, and others have the rest."""
        return False

    @property
    def allow_select(self) -> bool:
        """Whether text can be marked with the mouse."""
        return True

    def look(self, view: RunView, choice: Choice | None, how: How) -> None:
        """Read the data to show. This is called after each change, at most some times per second.

        Args:
            view: The run so far. It changes later, so copy the data that must stay the same.
            choice: The displayed decision, None before the first.
        """

    def line(self, y: int) -> Strip:
        """Return one visible line, `y` from the top of the pane."""
        raise NotImplementedError

    def plain_text(self) -> str:
        """Return everything in the pane as text."""
        return ""

    def update(self, view: RunView, choice: Choice | None, how: How) -> None:
        """Call `look`, and show a sentence if it raises an exception."""
        before, self.failure = self.failure, ""
        try:
            self.look(view, choice, how)
        except Exception as error:  # a pane of another package may raise anything
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
        """Return one visible line, or a line of the error message."""
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
        """Handle an event, and show a sentence if a handler raises an exception."""
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
        title: Title on its frame and its tab.
        make: Returns a new pane.
        about: Description of its key for the help; "" for "go to the" with its title.
        letter: A key in addition to its number, "" for none. A key that is already used has no effect.
        place: "stage": the large place of the transcript, where one pane is in front. "beside": a place of
            its own beside the stage, in normal and wide windows. "wide": a place of its own only in wide
            windows. "tab": none. Panes without a place of their own share one, with a tab for each.
        lines: Numbers of lines inside its frame beside the stage, in a normal and in a wide window; 0 for an
            equal share of the remaining lines.
        web: Whether it is only shown in web sessions.
        advice: Whether it tells what the agent would do. Where a person plays, it opens when it is asked for.
        help: Its help in Markdown, which F1 shows; those of this project are files in `jitrl_tui/help`.
        number: Its number key, which `registry.kinds` sets by the order of all panes; "" after the tenth.

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
    advice: bool = False
    help: str = ""
    number: str = ""

    def __post_init__(self) -> None:
        if not self.title.strip():
            raise UsageError(f"the pane {self.name!r} has no title")
        if self.place not in get_args(Place):
            places = ", ".join(get_args(Place))
            raise UsageError(f"there is no place {self.place!r} for a pane; choose one of: {places}")
