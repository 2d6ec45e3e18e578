"""What persons say that actions are worth: the points they gave to remembered steps in place of the environment's.

A person is taken at his word. An action that was given more points at a place than it had is worth at least as many
there, one that was given fewer is worth no more than these, however often something else came of it. Where both was
said of the same action at the same place, the mean of the two counts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from engine.values.text import Key


class Edits:
    """The points that persons gave, by place and action."""

    def __init__(self) -> None:
        self._raised: dict[Key, float] = {}
        self._lowered: dict[Key, float] = {}
        self._heeded = True

    def __contains__(self, key: Key) -> bool:
        return self._heeded and (key in self._raised or key in self._lowered)

    def __bool__(self) -> bool:
        return self._heeded and bool(self._raised or self._lowered)

    @contextlib.contextmanager
    def ignored(self) -> Iterator[None]:
        """Have it be in the block as if no person had said anything."""
        self._heeded = False
        try:
            yield
        finally:
            self._heeded = True

    def add(self, key: Key, points: float, given: float) -> None:
        """Take note that a step that had so many points was given others."""
        if given > points:
            self._raised[key] = max(given, self._raised.get(key, given))
        elif given < points:
            self._lowered[key] = min(given, self._lowered.get(key, given))

    def worth(self, key: Key, points: float) -> float:
        """Return the points of an action at a place; `points` is what it has without the edits."""
        said = []
        if key not in self:
            return points
        if key in self._raised:
            said.append(max(points, self._raised[key]))
        if key in self._lowered:
            said.append(min(points, self._lowered[key]))
        return sum(said) / len(said)
