"""The window with the curves of a session: it compares sessions and writes files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.content import Content
from textual.types import CSSPathType

from engine.errors import JitrlError
from jitrl_tui.runs import curves, history
from jitrl_tui.runs.history import Past, PlayedSession
from jitrl_tui.runs.view import RunView
from jitrl_tui.screens.command_screen import CommandDialog
from jitrl_tui.screens.dialogs import PickDialog, WaitDialog
from jitrl_tui.screens.shown_run import ShownRun, Surface
from jitrl_tui.system.background import Background, Told
from jitrl_tui.widgets.clickable import KeyBar
from jitrl_tui.widgets.lines import MUTED, STRONG
from jitrl_tui.widgets.measures import CurvesPane

_EVERY_S = 1.0
"""Seconds between looks for new episodes."""


class CurvesScreen(CommandDialog[None]):
    """The curves of the session on the watch screen.

    Args:
        view: Returns the present state of the run.
        saves: The saves folder with the sessions to compare with; None for a recording elsewhere.
    """

    CSS_PATH: ClassVar[CSSPathType | None] = ["dialog.tcss", "curves.tcss"]
    screen_name = "curves"

    def __init__(self, view: Callable[[], RunView], saves: Path | None) -> None:
        super().__init__()
        self.commands = {
            "measure": lambda by: self.query_one(CurvesPane).turn(by), "whole": self._whole, "add": self._ask_session,
            "clear": self._clear, "export": self._ask_file, "help": self.show_help, "leave": lambda: self.dismiss(None),
        }  # fmt: skip
        self._view, self._saves = view, saves
        self._before: Sequence[Past] = ()
        self._added: list[Past] = []
        self._shown: tuple[object, ...] = ()
        self.work = Background(self)

    def compose(self) -> ComposeResult:
        """Lay out the one pane."""
        with self.box("learning curves"):
            yield CurvesPane("curves")
        yield KeyBar("keybar")

    def on_mount(self) -> None:
        """Show what is known, and look for sessions to compare with in a thread."""
        self._draw()
        self.set_interval(_EVERY_S, self._draw)
        started, saves = self._view().started, self._saves
        if started is not None and saves is not None:
            self.work.begin(lambda told: history.earlier(saves, started.session, started), self._found, self._failed)

    def on_unmount(self) -> None:
        """Take no result any more."""
        self.work.close()

    def _failed(self, sentence: str) -> None:
        self.notify(sentence, severity="warning", timeout=6)

    def _found(self, before: Sequence[Past]) -> None:
        self._before = before
        self._draw()

    def _own(self) -> PlayedSession | None:
        started = self._view().started
        return None if started is None else PlayedSession(started.session, Path(), started)

    def collected(self) -> list[curves.Curve]:
        """Return the curves as they are now."""
        own = self._own()
        return [] if own is None else curves.collect(own, self._view().ledger.rows, self._before, self._added)

    def _draw(self) -> None:
        """Show the curves, if anything has changed."""
        view = self._view()
        now = (id(view), len(view.ledger.rows), view.started, len(self._before), len(self._added))
        if now != self._shown:
            self._shown = now
            started = view.started
            if started is not None:
                self.query_one("#box").border_title = Content(f"learning curves: {started.environment.title}")
            self.query_one(CurvesPane).show(self.collected(), started.episodes if started else 0)

    # ----------------------------------------------------------------------------------------- keys

    def _whole(self) -> None:
        """Give the window to one measure, or show all of them where there is room."""
        pane = self.query_one(CurvesPane)
        pane.whole = not pane.whole
        pane.renew()

    def _ask_session(self) -> None:
        """Ask for another session of this game."""
        own, saves = self._own(), self._saves
        if own is None or saves is None:
            self.notify("No sessions lie beside this recording. Try: jitrl curves SESSION --with OTHER", timeout=4)
            return
        if len(self._added) == len(curves.LETTERS):
            self.notify(f"There is room for {len(curves.LETTERS)} more sessions; c clears them.", timeout=4)
            return
        taken = {own.name, *(one.name for one, _ in self._added)}
        looking = WaitDialog("Looking for sessions of this game", lambda told: _others(saves, own, taken))
        self.app.push_screen(looking, lambda found: self._ask(own, found))

    def _ask(self, own: PlayedSession, others: Sequence[PlayedSession] | None) -> None:
        if others is None:
            return
        if not others:
            self.notify("There is no other session of this game.", timeout=3)
        else:
            self.app.push_screen(ComparisonDialog(own, others), lambda name: self._chosen(name, others))

    def _chosen(self, name: str | None, others: Sequence[PlayedSession]) -> None:
        one = next((other for other in others if other.name == name), None)
        if one is not None:
            reading = WaitDialog(f"Reading {one.name}", lambda told: (one, history.rows_of(one.recording)))
            self.app.push_screen(reading, self._add)

    def _add(self, one: Past | None) -> None:
        if one is not None:
            self._added.append(one)
            self._draw()

    def _clear(self) -> None:
        """Take away the sessions that were added."""
        self._added.clear()
        self._draw()

    def _ask_file(self) -> None:
        """Ask for the name of a file."""
        own = self._own()
        if own is None or not self._view().ledger.rows:
            self.notify("Nothing to export: no episode has ended.", timeout=3)
        else:
            self.app.push_screen(CurveExportDialog(own.name), self._export)

    def _export(self, name: str | None) -> None:
        if not name:
            return
        target, found = Path(name).expanduser(), self.collected()
        own = self._own()
        title = f"Learning curves of {own.started.environment.title}" if own is not None else "Learning curves"

        def write(told: Told) -> str:
            try:
                curves.export(target, title, found)
            except JitrlError as error:
                return f"Not written: {error}"
            return f"Written: {target.absolute()}"

        def say(told: str | None) -> None:
            if told:
                self.notify(told, timeout=6)

        self.app.push_screen(WaitDialog("Writing", write), say)


class ComparisonDialog(PickDialog):
    """Asks for a session to compare with. Each row says in what it differs.

    Args:
        own: The session on show.
        others: Sessions of the same game, the latest first.
    """

    def __init__(self, own: PlayedSession, others: Sequence[PlayedSession]) -> None:
        rows = [(one.name, history.difference(one.started, own.started) or "the same settings") for one in others]
        super().__init__(
            "add a session", "It becomes a curve of its own, with its name.", "a name, an agent, a model",
            rows=[(name, Content.assemble((f"  {name}  ", STRONG), (differs, MUTED))) for name, differs in rows],
        )  # fmt: skip


class CurveExportDialog(PickDialog):
    """Asks for the name of a file. Its ending says the format."""

    def __init__(self, session: str) -> None:
        super().__init__("export", "The ending says the format; the file goes into this folder.", "a file name")
        self._names = [f"{session}-curves{ending}" for ending in curves.ENDINGS]

    def options(self, typed: str) -> list[tuple[str, Content]]:
        """Return the usual names; or the typed one, with each ending if it has none."""
        names = self._names
        if typed:
            names = [typed] if typed.lower().endswith(curves.ENDINGS) else [typed + end for end in curves.ENDINGS]
        return [(name, Content(f"  {name}")) for name in names]


class EarlierSessions:
    """Compares a run with earlier sessions.

    Args:
        run: The run.
        screen: Its screen.

    Attributes:
        scores: Mean score of each episode in earlier sessions that can be compared.
    """

    def __init__(self, run: ShownRun, screen: Surface) -> None:
        self._run, self._screen = run, screen
        self._work: Background | None = None
        self.scores: tuple[float, ...] = ()

    def open_curves(self) -> None:
        """Open the window with the curves."""
        self._screen.app.push_screen(CurvesScreen(lambda: self._run.shown, self._run.saves))

    def look(self) -> None:
        """Once the session has begun, look for earlier ones in a thread, for the pane with the learning curve."""
        started, saves = self._run.view.started, self._run.saves
        if started is None or saves is None or self._work is not None:
            return
        self._work = Background(self._screen)
        self._work.begin(
            lambda told: history.earlier(saves, started.session, started),
            self._found,
            lambda sentence: self._screen.notify(sentence, severity="warning", timeout=6),
        )

    def _found(self, found: Sequence[Past]) -> None:
        scores = history.means_of([[row.score for row in rows] for _, rows in found])
        self.scores = self._run.view.previous = tuple(scores)


def _others(saves: Path, own: PlayedSession, taken: set[str]) -> list[PlayedSession]:
    """Return the other sessions of the same game, the one that was played last first."""
    game = own.started.environment.scope
    return [
        one for one in history.played(saves) if one.started.environment.scope == game and one.name not in taken
    ]
