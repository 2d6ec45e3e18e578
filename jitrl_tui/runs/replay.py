"""Playback of recordings, without environment or model, with seeking."""

from __future__ import annotations

import bisect
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from engine.records import Decided, EpisodeStarted, Event, Notice, Paused, Resumed, Stepped, Thinking
from jitrl_tui.runs.source import Source
from jitrl_tui.runs.tape import APART, MadeOfEvents, Tape
from jitrl_tui.runs.view import RunView


class RecordingPlayer(Source):
    """Plays what is recorded back in its own thread, with seeking.

    A position is the number of items already shown. A subclass loads the items.

    Args:
        name: Name of the thread.
        empty: The view before the first item.
        delay: Seconds between steps.
        paused: Whether it waits at the first step.
    """

    def __init__(self, name: str, empty: MadeOfEvents, delay: float, paused: bool) -> None:
        super().__init__(name)
        self._delay, self._playing, self._stopped, self._single = delay, not paused, False, False
        self._empty, self._tape = empty, Tape[Any]()
        self._items = self._tape.events
        self._moments: list[int] = []
        """The positions to stop at."""
        self._position = 0
        self._target: int | None = None
        self._at_moment = 1.0
        """Share of the delay that is waited at a moment."""
        self._changed = threading.Condition()

    @abstractmethod
    def load(self) -> None:
        """Read the items and the moments."""

    def add(self, item: Any) -> None:
        """Take in an item that was read."""
        self._tape.add(item, None if self._items else self._empty)

    def view_at(self, position: int) -> Any:
        """Return the view after the first `position` items."""
        return self._tape.after(position) if self._items else self._empty

    def tell(self, event: Paused | Resumed) -> None:
        """Tell that the playback waits, or goes on."""

    def rests(self, item: Any) -> bool:
        """Return whether half of the delay is waited after an item, and not all of it at the moment before it."""
        return False

    # ------------------------------------------------------------------------------------- commands

    def _change(self, **fields: Any) -> None:
        """Change fields, and tell the thread."""
        with self._changed:
            vars(self).update(fields)
            self._changed.notify()

    def pause(self) -> None:
        """Pause at the next step."""
        self._change(_playing=False)

    def resume(self) -> None:
        """Continue."""
        self._change(_playing=True)

    def set_delay(self, seconds: float) -> None:
        """Leave this much time between steps."""
        self._change(_delay=seconds)

    def stop(self) -> None:
        """End the playback."""
        self._change(_stopped=True)

    def step_once(self) -> None:
        """Go to the next moment and pause."""
        self._change(_playing=False, _single=True)

    def step_back(self) -> None:
        """Go to the moment before and pause."""
        self.pause()
        self.seek(-1)

    def seek(self, moments: int) -> None:
        """Go `moments` moments forward, or back if negative."""
        with self._changed:
            position = self._position if self._target is None else self._target
            if moments > 0:
                index = bisect.bisect_right(self._moments, position) + moments - 1
            else:
                index = bisect.bisect_left(self._moments, position) + moments
            self._go_to_moment(index)

    def seek_to(self, share: float) -> None:
        """Go to the moment nearest to a share of the recording, from 0 to 1."""
        with self._changed:
            self._go_to_moment(round(min(max(share, 0.0), 1.0) * (len(self._moments) - 1)))

    def _go_to_moment(self, index: int) -> None:
        """Go to a moment by its number, or to the nearest one; it is called under the lock."""
        if self._moments:
            self._target = self._moments[min(max(index, 0), len(self._moments) - 1)]
            self._changed.notify()

    @property
    def progress(self) -> tuple[int, int]:
        """Number of moments reached, and number of all moments."""
        return bisect.bisect_right(self._moments, self._position), len(self._moments)

    # --------------------------------------------------------------------------------------- thread

    def work(self) -> None:
        """Load the recording and play it."""
        self.load()
        if not self._items:
            return
        stops, told = frozenset(self._moments), None
        while True:
            with self._changed:
                if self._stopped:
                    return
                target, self._target = self._target, None
                if target is None:
                    at_moment = self._position in stops
                    at_end = self._position >= len(self._items)
                    if at_end or (at_moment and not self._playing and not self._single):
                        reason = "end of the recording" if at_end else ""
                        if told != (self._position, reason):
                            told = (self._position, reason)
                            self.tell(Paused(reason))
                        self._changed.wait()
                        continue
                    if told is not None:
                        told = None
                        self.tell(Resumed())
                    if at_moment and self._single:
                        self._single = False
                    elif at_moment and self._delay > 0 and self._changed.wait(self._delay * self._at_moment):
                        continue
            if target is not None:
                told = None
                view = self.view_at(target)
                self._position = target
                self.put(view)
                continue
            item = self._items[self._position]
            self._position += 1
            self.put(item)
            if self._position % APART == 0:
                self.view_at(self._position)  # so that the way back from here is short
            if self._playing and self._delay > 0 and self.rests(item):
                with self._changed:
                    self._changed.wait(self._delay / 2)


class ReplaySource(RecordingPlayer):
    """Plays the events of a session back. Moments are after each decision, and the end.

    Args:
        read: Returns the recorded (time, event) pairs, oldest first. Called in the thread.
        delay: Seconds between steps.
        paused: Whether to wait at the first decision.
        path: The recording that `read` reads, None if it is none on the disk.
        from_episode: Uid of the episode to begin with, "" for the first one.
    """

    def __init__(
        self,
        read: Callable[[], Iterable[tuple[float, Event | None]]],
        *,
        delay: float = 1.0,
        paused: bool = False,
        path: Path | None = None,
        from_episode: str = "",
    ) -> None:
        super().__init__("replay", RunView(), delay, paused)
        self.path = path
        self._from_episode = from_episode
        self._read = read
        self._at_moment = 0.5
        self._episodes: list[int] = []

    def fast_forward(self, episodes: int) -> None:
        """Jump to the end of this episode (0), or of the episode that is `episodes` further on."""
        with self._changed:
            here = bisect.bisect_right(self._episodes, self._position) - 1
            wanted = here + max(1, episodes)
            self._target = self._episodes[wanted] if wanted < len(self._episodes) else len(self._items)
            self._changed.notify()

    def seek_step(self, episode: int, step: int) -> None:
        """Go to the decision of a step, the first one of the agent."""
        with self._changed:
            for at, event in enumerate(self._items, 1):
                if isinstance(event, Decided) and (event.episode, event.decision.step) == (episode, step):
                    self._target = at
                    self._changed.notify()
                    return

    def seek_episode(self, by: int) -> None:
        """Go to the first decision of the episode that is `by` episodes away (0 for this one)."""
        with self._changed:
            if self._episodes:
                index = bisect.bisect_right(self._episodes, self._position - 1) - 1 + by
                start = self._episodes[min(max(index, 0), len(self._episodes) - 1)]
                self._go_to_moment(bisect.bisect_right(self._moments, start))

    def load(self) -> None:
        """Read the recording."""
        self.put(Thinking("loading the recording"))
        wanted: int | None = None
        for _, event in self._read():
            if self._stopped:
                return
            if event is None or isinstance(event, (Paused, Resumed)):
                continue
            if isinstance(event, EpisodeStarted):
                self._episodes.append(len(self._items))
                if self._from_episode and event.uid == self._from_episode:
                    wanted = len(self._items)
            self.add(event)
            if isinstance(event, Decided):
                self._moments.append(len(self._items))
        if not self._items:
            self.put(Notice("error", "The recording is empty; there is nothing to replay."))
        if not self._moments or self._moments[-1] != len(self._items):
            self._moments.append(len(self._items))
        if wanted is not None:
            with self._changed:
                self._go_to_moment(bisect.bisect_right(self._moments, wanted))

    def tell(self, event: Paused | Resumed) -> None:
        """Tell that the playback waits, or goes on."""
        self.put(event)

    def rests(self, item: Event) -> bool:
        """Return whether it is a step, whose answer is read for half of the delay."""
        return isinstance(item, Stepped)
