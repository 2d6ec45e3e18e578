"""Playback of recordings on the watch screen, without environment or model, with seeking."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable
from pathlib import Path

from engine.records import Decided, EpisodeStarted, Event, Notice, Paused, Resumed, Stepped, Thinking
from jitrl_tui.source import RecordingPlayer
from jitrl_tui.view import RunView


class ReplaySource(RecordingPlayer):
    """Plays events back in its own thread, with seeking.

    A position is the number of events already shown. `moments` are the positions to stop at: after each
    decision, and the end.

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
        super().__init__("replay", delay, paused)
        self.path = path
        self._from_episode = from_episode
        self._read = read
        self._events: list[Event] = []
        self._moments: list[int] = []
        self._stops: frozenset[int] = frozenset()
        self._episodes: list[int] = []
        self._checkpoints: dict[int, RunView] = {}
        self._position = 0
        self._single = False

    # ------------------------------------------------------------------------------------- commands

    def step_once(self) -> None:
        """Go to the next decision and pause."""
        self._change(_playing=False, _single=True)

    def fast_forward(self, episodes: int) -> None:
        """Jump to the end of this episode (0), or of the episode that is `episodes` further on."""
        with self._changed:
            here = bisect.bisect_right(self._episodes, self._position) - 1
            wanted = here + max(1, episodes)
            self._target = self._episodes[wanted] if wanted < len(self._episodes) else len(self._events)
            self._changed.notify()

    def seek(self, moments: int) -> None:
        """Go `moments` decisions forward, or back if negative."""
        with self._changed:
            if not self._moments:
                return
            position = self._position if self._target is None else self._target
            if moments > 0:
                index = bisect.bisect_right(self._moments, position) + moments - 1
            else:
                index = bisect.bisect_left(self._moments, position) + moments
            self._target = self._moments[min(max(index, 0), len(self._moments) - 1)]
            self._changed.notify()

    def seek_step(self, episode: int, step: int) -> None:
        """Go to the decision of a step, the first one of the agent."""
        with self._changed:
            for at, event in enumerate(self._events, 1):
                if isinstance(event, Decided) and (event.episode, event.decision.step) == (episode, step):
                    self._target = at
                    self._changed.notify()
                    return

    def seek_to(self, share: float) -> None:
        """Go to the decision nearest to a share of the recording, from 0 to 1."""
        with self._changed:
            if not self._moments:
                return
            index = round(min(max(share, 0.0), 1.0) * (len(self._moments) - 1))
            self._target = self._moments[index]
            self._changed.notify()

    def seek_episode(self, by: int) -> None:
        """Go to the first decision of the episode that is `by` episodes away (0 for this one)."""
        with self._changed:
            if not self._episodes:
                return
            index = bisect.bisect_right(self._episodes, self._position - 1) - 1 + by
            start = self._episodes[min(max(index, 0), len(self._episodes) - 1)]
            at = bisect.bisect_right(self._moments, start)
            self._target = self._moments[min(at, len(self._moments) - 1)]
            self._changed.notify()

    @property
    def progress(self) -> tuple[int, int]:
        """Number of moments reached, and number of all moments."""
        return bisect.bisect_right(self._moments, self._position), len(self._moments)

    # --------------------------------------------------------------------------------------- thread

    def work(self) -> None:
        """Load the recording and play it."""
        self.put(Thinking("loading the recording"))
        self._load()
        if self._events:
            self._play()
        else:
            self.put(Notice("error", "The recording is empty; there is nothing to replay."))

    def _load(self) -> None:
        wanted: int | None = None
        for _, event in self._read():
            if self._stopped:
                return
            if event is None or isinstance(event, (Paused, Resumed)):
                continue
            if isinstance(event, EpisodeStarted):
                self._episodes.append(len(self._events))
                if self._from_episode and event.uid == self._from_episode:
                    wanted = len(self._events)
            self._events.append(event)
            if isinstance(event, Decided):
                self._moments.append(len(self._events))
        if not self._moments or self._moments[-1] != len(self._events):
            self._moments.append(len(self._events))
        self._stops = frozenset(self._moments)
        if wanted is not None:
            self._target = self._moments[min(bisect.bisect_right(self._moments, wanted), len(self._moments) - 1)]

    def _play(self) -> None:
        told = None
        while True:
            with self._changed:
                if self._stopped:
                    return
                target, self._target = self._target, None
                if target is None:
                    at_moment = self._position in self._stops
                    at_end = self._position >= len(self._events)
                    waiting = at_end or (at_moment and not self._playing and not self._single)
                    if waiting:
                        reason = "end of the recording" if at_end else ""
                        if told != (self._position, reason):
                            told = (self._position, reason)
                            self.put(Paused(reason))
                        self._changed.wait()
                        continue
                    if told is not None:
                        told = None
                        self.put(Resumed())
                    if at_moment and self._single:
                        self._single = False
                    elif at_moment and self._delay > 0 and self._changed.wait(self._delay / 2):
                        continue
            if target is not None:
                told = None
                self.put(self._view_at(target))
                continue
            event = self._events[self._position]
            if isinstance(event, EpisodeStarted):
                self._checkpoint()
            self._position += 1
            self.put(event)
            if isinstance(event, Stepped) and self._playing and self._delay > 0:
                with self._changed:
                    self._changed.wait(self._delay / 2)

    def _view_at(self, position: int) -> RunView:
        """Return the view after the first `position` events, computed from the nearest earlier checkpoint."""
        start = max((at for at in self._checkpoints if at <= position), default=0)
        view = self._checkpoints[start].copy() if start in self._checkpoints else RunView()
        for at in range(start, position):
            if isinstance(self._events[at], EpisodeStarted) and at not in self._checkpoints:
                self._checkpoints[at] = view.copy()
            view.fold(self._events[at])
        self._position = position
        return view

    def _checkpoint(self) -> None:
        if self._position not in self._checkpoints:
            self._view_at(self._position)
