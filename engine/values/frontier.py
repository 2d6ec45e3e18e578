"""The nearest thing never done in exactly the situation it was possible in.

Plans look for what promises most by everything known. Where they find nothing, this still does: every situation that
was lived through, and what each action led to from there, is a graph, and a breadth-first search in it finds the
shortest way to a situation in which something was never tried. It assumes nothing but that the same happens again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator

from engine.values.situations import Situation


class Frontier:
    """All situations lived through and where actions led."""

    def __init__(self) -> None:
        self._possible: dict[Situation, tuple[str, ...]] = {}
        self._led: dict[Situation, dict[str, Situation | None]] = {}

    def see(self, now: Situation, possible: tuple[str, ...]) -> None:
        """Remember what can be done in a situation."""
        self._possible[now] = possible

    def add(self, now: Situation, action: str, then: Situation, *, terminated: bool) -> None:
        """Remember where an action led last."""
        self._led.setdefault(now, {})[action] = None if terminated else then

    def toward(
        self,
        now: Situation,
        steps: int,
        promise: Callable[[Situation, str], float],
        deadly: Callable[[Situation, str], bool],
    ) -> tuple[str, ...]:
        """Return the shortest known way to something untried, and that thing; () if there is none in so many steps.

        Args:
            promise: How good it is to try an action in a situation; 0 or less: not at all.
            deadly: Whether an action is too dangerous to be taken on the way.
        """
        before: dict[Situation, tuple[Situation, str] | None] = {now: None}
        queue = deque([(now, 0)])
        while queue:
            at, length = queue.popleft()
            led = self._led.get(at, {})
            untried = [action for action in self._possible.get(at, ()) if action not in led]
            best = max(untried, key=lambda action: promise(at, action), default="")
            if best and promise(at, best) > 0:
                return (*_path(before, at), best)
            if length + 2 > steps:
                continue
            for action, then in led.items():
                if then is not None and then not in before and not deadly(at, action):
                    before[then] = (at, action)
                    queue.append((then, length + 1))
        return ()

    def along(self, now: Situation, actions: Iterable[str]) -> Iterator[Situation]:
        """Yield the situation that each of these actions is taken in, as far as it is known where they lead."""
        at: Situation | None = now
        for action in actions:
            if at is None:
                return
            yield at
            at = self._led.get(at, {}).get(action)


def _path(before: dict[Situation, tuple[Situation, str] | None], at: Situation) -> tuple[str, ...]:
    actions: list[str] = []
    step = before[at]
    while step is not None:
        actions.append(step[1])
        step = before[step[0]]
    return tuple(reversed(actions))
