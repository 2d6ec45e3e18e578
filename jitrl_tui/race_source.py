"""Races that are shown: one that is being run, and a recorded one.

Their items are `RacerEvent`, or a whole `RaceView` that replaces the present one.
"""

from __future__ import annotations

from pathlib import Path

from engine.records import Notice
from engine.session import race as races
from engine.session.race import Race, RacerEvent, SavedRace
from jitrl_tui.race_view import RaceView
from jitrl_tui.source import RecordingPlayer, Source


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
        lockstep = self._race.lockstep
        self.pause, self.resume, self.step_once = lockstep.pause, lockstep.resume, lockstep.step_once
        self.set_delay = lockstep.set_delay
        self.stop = self._race.stop

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
    """Plays a recorded race back in its own thread, a step at a time.

    Args:
        race: The race on disk.
        delay: Seconds between steps.
        paused: Whether it waits at the first step.
    """

    def __init__(self, race: SavedRace, *, delay: float = 1.0, paused: bool = False) -> None:
        super().__init__("race", delay, paused)
        self._race = race
        self._moments: list[list[RacerEvent]] = []
        self._shown = 0

    def step_once(self) -> None:
        """Show the next step, then wait."""
        self._step(1)

    def step_back(self) -> None:
        """Show the step before, then wait."""
        self._step(-1)

    def _step(self, by: int) -> None:
        with self._changed:
            self._playing = False
            at = self._shown if self._target is None else self._target
            self._target = min(max(at + by, 1), len(self._moments))
            self._changed.notify()

    def work(self) -> None:
        """Load the recordings and play them."""
        self._moments = list(races.moments(self._race))
        while True:
            with self._changed:
                if self._stopped:
                    return
                if self._target is None:
                    if not self._playing or self._shown >= len(self._moments):
                        self._changed.wait()
                        continue
                    if self._shown and self._delay > 0 and self._changed.wait(self._delay):
                        continue
                wanted, self._target = self._target, None
            if wanted is None or wanted == self._shown + 1:
                for told in self._moments[self._shown]:
                    self.put(told)
                self._shown += 1
            elif wanted != self._shown:
                self._show(wanted)

    def _show(self, count: int) -> None:
        """Show the race after so many steps."""
        view = RaceView(self._race)
        for moment in self._moments[:count]:
            for told in moment:
                view.fold(told)
        self._shown = count
        self.put(view)
