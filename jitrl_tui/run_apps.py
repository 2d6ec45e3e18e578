"""The apps around the bench screen and the race screen, and the functions that open them for the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.binding import Binding

from engine import waits
from engine.errors import UsageError
from engine.session.race import SavedRace
from jitrl_tui.app import JitrlApp
from jitrl_tui.plain.terminal import wants_plain
from jitrl_tui.runs.race_source import LiveRace, RecordedRace
from jitrl_tui.screens.bench import BenchScreen
from jitrl_tui.screens.race import RaceScreen

if TYPE_CHECKING:
    from jitrl_tui.runs.bench_source import BenchSource

INTERRUPTED = 130
"""Exit code of a run that was left before its end."""


class RunApp(JitrlApp):
    """The app around the screen of one thing that runs: a race, a benchmark.

    Args:
        screen: Its screen.
    """

    def __init__(self, screen: RaceScreen | BenchScreen) -> None:
        self._run = screen
        super().__init__(lambda: screen)

    def action_leave(self) -> None:
        """End what runs properly, then the app, from any screen and without a question."""
        self._run.leave_properly()

    def leave_now(self) -> None:
        """Leave without waiting for anything."""
        failure = self._run.source.failure
        self.exit(self.exit_code, message=Text(f"jitrl: {failure}") if failure else None)

    @property
    def exit_code(self) -> int:
        """The exit code of what ran."""
        return self._run.source.exit_code

    def _fatal_error(self) -> None:
        self._run.source.stop()
        super()._fatal_error()

    def show(self) -> int:
        """Show it until it is left, and return the exit code. The source is started by the screen.

        If the screen is left before the source's thread has ended, the thread goes on: the caller ends its workers.
        """
        result = self.run()
        if self.return_code:
            self._run.source.wait(waits.SCREEN_FAILED.seconds)  # the screen failed: give it time to store its data
        return result if isinstance(result, int) else self.return_code or 0


class BenchApp(RunApp):
    """The app of one benchmark. Keys that leave ask first; a closed terminal and signals do not.

    Args:
        source: The benchmark.

    Attributes:
        bench: Its screen.
    """

    BINDINGS: ClassVar = [Binding("ctrl+q", "ask_to_leave", "leave", show=False, priority=True)]

    def __init__(self, source: BenchSource) -> None:
        self.bench = BenchScreen(source)
        super().__init__(self.bench)

    @property
    def last_source(self) -> BenchSource:
        """The benchmark, also while a recording is shown over it."""
        return self.bench.source

    @last_source.setter
    def last_source(self, source: object) -> None:
        """Recordings set it when they are opened."""

    @property
    def exit_code(self) -> int:
        """The exit code of the run, if it has ended."""
        return super().exit_code if self.bench.source.wait(0) else INTERRUPTED

    def action_ask_to_leave(self) -> None:
        """Leave, after a question if the run goes on."""
        self.bench.ask_leave()

    def action_help_quit(self) -> None:
        """Leave on Ctrl-C, unless text is marked."""
        self.bench.ask_leave()

    async def action_quit(self) -> None:
        """Leave when the command palette asks for it."""
        self.bench.ask_leave()


def run_bench_app(source: BenchSource) -> int:
    """Show a benchmark until it is left, and return the exit code.

    Raises:
        UsageError: The terminal cannot draw.
    """
    if wants_plain():
        raise UsageError("--watch needs a terminal that can draw; leave it out to have lines")
    return BenchApp(source).show()


def run_race_app(source: LiveRace | RecordedRace, race: SavedRace, saves: Path, *, delay: float) -> int:
    """Show a race until it is left, and return the exit code."""
    return RunApp(RaceScreen(source, race, saves, delay=delay)).show()
