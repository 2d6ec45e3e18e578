"""Screens that the home screen opens, and that go back to it when they are left."""

from __future__ import annotations

from jitrl_tui.screens.bench import BenchScreen
from jitrl_tui.screens.race import RaceScreen
from jitrl_tui.screens.run_base import KEPT


class StoredBenchScreen(BenchScreen):
    """A run of a benchmark that is not being played. Leaving it goes back to the screen below."""

    def leave_properly(self) -> None:
        """Go back."""
        self.source.stop()
        self.dismiss()


class OpenedRaceScreen(RaceScreen):
    """A race that was begun or opened on the home screen. Leaving it goes back there."""

    def action_leave(self) -> None:
        """Go back, after a question if the race is being run."""
        self.ending.ask(f"The race stops here. {KEPT}", "leave", self.app.go_home)
