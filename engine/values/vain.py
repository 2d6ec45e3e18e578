"""What was done in vain so far: possible, so it changed something, but nothing came of it that shows.

What comes of most actions shows at once, and the same comes of them again. A blow at a troll that misses shows nothing,
and the next may fell him. So what showed nothing is worth another try: as much as trying it for the first time, times
how often something came at last of actions of its class that had shown nothing, and less with each time in vain.
"""

from __future__ import annotations

from collections import Counter

_CAME, _TIMES = 0.5, 2.0
"""Times that something is taken to have come at last of a class of actions, and of how many, before any was counted."""
_PATIENCE = 2.0
"""Further tries in vain after which an action promises half of what it did after the first."""

_Key = tuple[str, str]
"""Place and action."""


class Vain:
    """Counts of what showed nothing, by place and action, and of what came of doing it again, by class."""

    def __init__(self) -> None:
        self._vain: Counter[_Key] = Counter()
        self._showed: set[_Key] = set()
        self._times: Counter[str] = Counter()
        self._came: Counter[str] = Counter()

    def add(self, kind: str, key: _Key, *, showed: bool, died: bool) -> None:
        """Count a try.

        Args:
            kind: The class of the action.
            showed: Whether anything came of it that shows, dying apart.
        """
        again = self.holds(key)
        if again:
            self._times[kind] += 1
            self._came[kind] += showed and not died
        if showed and not died:
            self._showed.add(key)
        elif not died or again:
            self._vain[key] += 1

    def holds(self, key: _Key) -> bool:
        """Return whether an action was tried at a place, and nothing ever came of it that shows, dying apart."""
        return self._vain[key] > 0 and key not in self._showed

    def hope(self, kind: str, key: _Key) -> float:
        """Return how likely something comes at last of an action that showed nothing so far."""
        rate = (self._came[kind] + _CAME) / (self._times[kind] + _TIMES)
        return rate * _PATIENCE / (_PATIENCE + self._vain[key] - 1.0)
