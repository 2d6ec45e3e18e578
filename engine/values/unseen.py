"""What is done and does not show, but in what can be done then: a case that was opened, of which the game says no more.

States tell what is seen and carried. Where an action changes neither, and other things are possible after it than
before, something changed that no description tells. One of these things stands for it from then on: where it is
possible, `can:` and its name is a token like those of what is seen. So it is known what else needs it, and what brings
it about.
"""

from __future__ import annotations

from collections.abc import Container

from engine.values.conditions import Tokens, objects, words_of
from engine.values.situations import Situation

CAN = "can:"
"""Class of the tokens that stand for what does not show."""


class Unseen:
    """By place, actions that tell what does not show."""

    def __init__(self) -> None:
        self._telling: dict[str, set[str]] = {}

    def learn(
        self,
        now: Situation,
        action: str,
        before: tuple[str, ...],
        then: Situation,
        after: tuple[str, ...],
        *,
        moves: Container[str] = (),
        portable: Tokens | set[str] = frozenset(),
    ) -> None:
        """Learn from a step.

        Args:
            before: What was possible before it.
            after: What was possible after it.
            moves: Actions that lead from place to place.
            portable: Words of things that were ever in hand: they tell nothing of a place.
        """
        if then != now or not before or not after:
            return
        telling = self._telling.get(now.place, set[str]())
        appeared, vanished = set(after).difference(before), set(before).difference(after)
        if not telling.isdisjoint(appeared | vanished):
            return  # that is known to show it
        standing = words_of(now.see) - words_of(now.have) - portable
        for changed in (appeared, vanished - {action}):
            # What is done to what stands here tells of it; time alone makes waiting worth something, or not.
            told = [
                other
                for other in changed
                if other in moves or (objects(other) and objects(other) <= standing)
            ]
            if told:
                self._telling.setdefault(now.place, set()).add(min(told))
                return

    def add(self, now: Situation, possible: tuple[str, ...]) -> Situation:
        """Return the situation with what does not show, as far as it is known."""
        telling = self._telling.get(now.place)
        if not telling:
            return now
        told = frozenset(CAN + action for action in telling.intersection(possible))
        return now._replace(see=now.see | told) if told else now

    def told(self, now: Situation) -> Tokens:
        """Return what does not show of a situation."""
        return frozenset(token for token in now.see if token.startswith(CAN))
