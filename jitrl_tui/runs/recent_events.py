"""The latest events of a run that is followed, to show it as it was at an earlier decision."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Generic, Protocol, Self, TypeVar

from engine.records import Decided, Event

APART = 200
"""Events between two views that are kept."""


class MadeOfEvents(Protocol):
    """What a view must have to be kept on a tape."""

    def copy(self) -> Self:
        """Return an independent copy."""
        ...

    def fold_all(self, events: Iterable[Event]) -> None:
        """Take in many events."""
        ...


View = TypeVar("View", bound=MadeOfEvents)


class Tape(Generic[View]):
    """The events of the latest decisions, and a view before some of them.

    Args:
        decisions: How many decisions back it goes, at least.
    """

    def __init__(self, decisions: int) -> None:
        self._decisions = decisions
        self._events: deque[Event] = deque()
        self._end = 0
        """Number of all events so far."""
        self._views: deque[tuple[int, View]] = deque()
        """Views, each with the number of events before it."""
        self._decided: deque[int] = deque(maxlen=decisions)
        """Numbers of the latest events that are decisions."""

    def add(self, event: Event, before: View) -> None:
        """Take in an event.

        Args:
            before: The view before it.
        """
        if not self._views or self._end - self._views[-1][0] >= APART:
            self._views.append((self._end, before.copy()))
        if isinstance(event, Decided):
            self._decided.append(self._end)
        self._events.append(event)
        self._end += 1
        while len(self._views) > 1 and len(self._decided) == self._decisions and self._views[1][0] <= self._decided[0]:
            dropped, _ = self._views.popleft()
            for _ in range(self._views[0][0] - dropped):
                self._events.popleft()

    def at(self, episode: int, step: int) -> View | None:
        """Return the view just after the last decision of a step; None if that is too far back."""
        place, first = (episode, step), self._end - len(self._events)
        for at in range(len(self._events) - 1, -1, -1):
            event = self._events[at]
            if isinstance(event, Decided) and (event.episode, event.decision.step) == place:
                start, view = next((n, v.copy()) for n, v in reversed(self._views) if n <= first + at)
                view.fold_all(self._events[number] for number in range(start - first, at + 1))
                return view
        return None
