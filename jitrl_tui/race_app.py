"""The app around the race screen, and the function that opens it for the command line."""

from __future__ import annotations

from pathlib import Path

from rich.text import Text

from engine import waits
from engine.session.race import SavedRace
from jitrl_tui.app import JitrlApp
from jitrl_tui.runs.race_source import LiveRace, RecordedRace
from jitrl_tui.screens.race import RaceScreen


class RaceApp(JitrlApp):
    """The app of one race.

    Args:
        screen: Its screen.
    """

    def __init__(self, screen: RaceScreen) -> None:
        self._race = screen
        super().__init__(lambda: screen)

    def action_leave(self) -> None:
        """End the sessions properly, then the app, from any screen and without a question."""
        self._race.leave_properly()

    def leave_now(self) -> None:
        """Leave without waiting for anything."""
        source = self._race.source
        self.exit(source.exit_code, message=Text(f"jitrl: {source.failure}") if source.failure else None)

    def _fatal_error(self) -> None:
        self._race.source.stop()
        super()._fatal_error()


def run_race_app(source: LiveRace | RecordedRace, race: SavedRace, saves: Path, *, delay: float) -> int:
    """Show a race until it is left, and return the exit code. The source is started here."""
    app = RaceApp(RaceScreen(source, race, saves, delay=delay))
    result = app.run()
    if app.return_code:
        source.wait(waits.SCREEN_FAILED.seconds)  # the screen failed: give the sessions time to store their data
    return result if isinstance(result, int) else app.return_code or 0
