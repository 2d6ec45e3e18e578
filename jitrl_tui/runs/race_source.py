"""Races that are shown: one that is being run, and a recorded one.

Their items are `RacerEvent`, or a whole `RaceView` that replaces the present one.
"""

from __future__ import annotations

from pathlib import Path

from engine.records import Notice
from engine.session import race as races
from engine.session.race import Race, RacerEvent, SavedRace
from jitrl_tui.runs.race_view import RaceView
from jitrl_tui.runs.replay import RecordingPlayer
from jitrl_tui.runs.source import Source


class LiveRace(Source):
    """A race that is run in threads of its own.

    Args:
        race: The race on disk. It goes on where it was left.
        saves: The saves folder.
        paused: Whether it waits at the first step.
    """

    live = True

    def __init__(self, race: SavedRace, saves: Path, *, paused: bool = False) -> None:
        super().__init__("race", saves)
        self._race = Race(race, saves, self.put, paused=paused)

    def pause(self) -> None:
        """Wait before the next step."""
        self._race.lockstep.pause()

    def resume(self) -> None:
        """Go on."""
        self._race.lockstep.resume()

    def step_once(self) -> None:
        """Let all take one step, then wait."""
        self._race.lockstep.step_once()

    def set_delay(self, seconds: float) -> None:
        """Show decisions this long before they are carried out."""
        self._race.lockstep.set_delay(seconds)

    def stop(self) -> None:
        """Stop the race. What was played is kept."""
        self._race.stop()

    def step_back(self) -> None:
        """Do nothing: what was done cannot be undone."""

    def work(self) -> None:
        """Run the race. The exit code is 1 if a racer failed."""
        self._race.run()
        self.exit_code = 1 if self._race.errors else 0

    def failed(self) -> None:
        """Tell of a failure of the race itself, beside that of a racer."""
        self.put(RacerEvent(0, Notice("error", self.failure)))


class RecordedRace(RecordingPlayer):
    """Plays a recorded race back, a step of all racers at a time.

    Args:
        race: The race on disk.
        delay: Seconds between steps.
        paused: Whether it waits at the first step.
    """

    def __init__(self, race: SavedRace, *, delay: float = 1.0, paused: bool = False) -> None:
        super().__init__("race", RaceView(race), delay, paused)
        self._race = race

    def load(self) -> None:
        """Read the recordings."""
        self._moments.append(0)
        for moment in races.moments(self._race):
            for told in moment:
                self.add(told)
            self._moments.append(len(self._items))
