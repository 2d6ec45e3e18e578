"""The run on a watch screen, for the services that act on it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from jitrl_tui.runs.replay import ReplaySource
from jitrl_tui.runs.source import Source
from jitrl_tui.runs.tape import Tape
from jitrl_tui.runs.view import DECISIONS, Choice, RunView

if TYPE_CHECKING:
    from textual.notifications import SeverityLevel

    from engine.session.branches import Keeper
    from engine.web.browser.pages import PageStore
    from jitrl_tui.host import Host
    from jitrl_tui.runs.session_files import SessionFiles
    from jitrl_tui.screens.run_base import Ending


class Surface(Protocol):
    """What a service needs of the screen that owns it.

    Attributes:
        app: Shows windows over the screen.
        ending: Ends the run before the screen is left.
    """

    app: Host
    ending: Ending

    def notify(
        self, message: str, *, title: str = "", severity: SeverityLevel = "information",
        timeout: float | None = None, markup: bool = True,
    ) -> None:  # fmt: skip
        """Show a message for a few seconds."""
        ...

    def redraw(self) -> None:
        """Draw everything, because something has changed."""
        ...


class Service:
    """Does one thing with a run for the screen that owns it.

    Args:
        run: The run.
        screen: Its screen.
    """

    def __init__(self, run: ShownRun, screen: Surface) -> None:
        self._run, self._screen = run, screen

    def _warn(self, sentence: str) -> None:
        """Say why something cannot be done."""
        self._screen.notify(sentence, severity="warning")


class ShownRun:
    """A run as it is, and as it is displayed.

    Args:
        source: The run: it gives events and takes commands.
        redraw: Called when another decision is displayed.
        keeper: Saves and branches; None for a recording.
        recorded: For a recording: the saves folder, and its file or folder; None if it is not among sessions.
        pages: Stored pages; None if there are none.
        files: What lies beside the session on disk; None if there is nothing.
        person_plays: Whether a person plays.

    Attributes:
        view: The run as it is.
        back: The run as it was at an earlier decision that was selected; None while the present is displayed.
    """

    def __init__(
        self,
        source: Source,
        redraw: Callable[[], None],
        *,
        keeper: Keeper | None = None,
        recorded: tuple[Path, Path] | None = None,
        pages: PageStore | None = None,
        files: SessionFiles | None = None,
        person_plays: bool = False,
    ) -> None:
        self.source, self.keeper, self.recorded = source, keeper, recorded
        self.pages, self.files, self.person_plays = pages, files, person_plays
        self.view = RunView(tape=Tape(DECISIONS) if source.live else None)
        self.back: RunView | None = None
        self._redraw = redraw

    @property
    def shown(self) -> RunView:
        """The run as it is displayed."""
        return self.view if self.back is None else self.back

    @property
    def choice(self) -> Choice | None:
        """The displayed choice as it was made: an earlier one that was selected, or the latest."""
        return self.shown.choice

    @property
    def over(self) -> bool:
        """Whether the session has ended."""
        return self.view.activity == "ended"

    @property
    def plays(self) -> bool:
        """Whether the run is live, and goes on."""
        return self.source.live and not self.over

    @property
    def saves(self) -> Path | None:
        """The saves folder with the sessions beside this one, None if there is none."""
        if self.keeper is not None:
            return self.keeper.saves
        return self.recorded[0] if self.recorded is not None else None

    @property
    def place(self) -> tuple[Path, Path, bool] | None:
        """The folder of the recording, the saves folder, and whether the run goes on; None if it is not on the disk."""
        if self.keeper is not None:
            return self.keeper.session.folder, self.keeper.saves, True
        if isinstance(self.source, ReplaySource) and self.source.path is not None:
            folder = self.source.path if self.source.path.is_dir() else self.source.path.parent
            return folder, folder.parent.parent, False
        return None

    def hold(self) -> None:
        """Pause a run that goes on, so that its decision stays while a person tries something out."""
        if self.source.live and self.view.activity not in ("paused", "ended"):
            self.source.pause()

    def look_at(self, choice: Choice) -> bool:
        """Display an earlier choice; return whether it is still known."""
        then = self.view.at(choice)
        if then is not None:
            self.back = then
            self._redraw()
        return then is not None

    def present(self) -> None:
        """Display the present again."""
        if self.back is not None:
            self.back = None
            self._redraw()
