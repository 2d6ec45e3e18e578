"""What has happened in a run, to show it as it was earlier: of a live run the latest decisions, of a recording all."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable
from itertools import islice
from typing import Any, Generic, Protocol, Self, TypeVar

from engine.records import Decided

APART = 200
"""Events between two views that are kept."""


class MadeOfEvents(Protocol):
    """What a view must have to be kept on a tape."""

    def copy(self) -> Self:
        """Return an independent copy."""
        ...

    def fold_all(self, events: Iterable[Any]) -> None:
        """Take in many events."""
        ...


View = TypeVar("View", bound=MadeOfEvents)


class Tape(Generic[View]):
    """Events, and a view before some of them, from which the view at any place is made.

    Args:
        decisions: How many decisions back it goes, at least; None to keep all events.

    Attributes:
        events: Those that are kept, oldest first.
    """

    def __init__(self, decisions: int | None = None) -> None:
        self._decisions = decisions
        self.events: list[Any] | deque[Any] = [] if decisions is None else deque()
        self._end = 0
        """Number of all events so far."""
        self._views: deque[tuple[int, View]] = deque()
        """Views, each with the number of events before it, in their order."""
        self._decided: deque[int] = deque(maxlen=decisions)
        """Numbers of the latest events that are decisions."""

    def add(self, event: Any, before: View | None = None) -> None:
        """Take in an event.

        Args:
            before: The view before it, where there is one; it is needed for the first event.
        """
        if before is not None and (not self._views or self._end - self._views[-1][0] >= APART):
            self._views.append((self._end, before.copy()))
        self.events.append(event)
        self._end += 1
        if not isinstance(self.events, deque):
            return
        if isinstance(event, Decided):
            self._decided.append(self._end - 1)
        while len(self._views) > 1 and len(self._decided) == self._decisions and self._views[1][0] <= self._decided[0]:
            dropped, _ = self._views.popleft()
            for _ in range(self._views[0][0] - dropped):
                self.events.popleft()

    def after(self, count: int) -> View:
        """Return the view after the first `count` events. Views on the way to it are kept, to be faster next time."""
        at = bisect_right(self._views, count, key=lambda kept: kept[0]) - 1
        start, view = self._views[at][0], self._views[at][1].copy()
        first = self._end - len(self.events)
        while start < count:
            end = min(count, start + APART)
            view.fold_all(islice(self.events, start - first, end - first))
            start = end
            if start - self._views[at][0] >= APART and (at + 1 == len(self._views) or start < self._views[at + 1][0]):
                at += 1
                self._views.insert(at, (start, view.copy()))
        return view

    def at(self, episode: int, step: int) -> View | None:
        """Return the view just after the last decision of a step; None if that is too far back."""
        for back, event in enumerate(reversed(self.events)):
            if isinstance(event, Decided) and (event.episode, event.decision.step) == (episode, step):
                return self.after(self._end - back)
        return None
