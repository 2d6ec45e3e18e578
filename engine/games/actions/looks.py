"""What objects are like in one state: their attributes, what they are in, and how much they contain."""

from __future__ import annotations

from collections.abc import Hashable

from engine.games.zmachine.story import INDIVIDUAL, StoryFile

Tested = tuple[frozenset[int] | None, frozenset[int] | None]
"""Numbers of the attributes and of the properties that matter, None for all of either."""
_DEEPEST = 8
"""Containers in containers that are looked into."""


class Looks:
    """Describes objects. Those that look alike have equal descriptions.

    Args:
        story: The story file.
        player: Number of the player's object, 0 if unknown.
        memory: The story's memory in this state.
    """

    def __init__(self, story: StoryFile, player: int, memory: bytes) -> None:
        self._story = story
        self._memory = memory
        self.player = player
        self.room = story.parent(memory, player) if player else 0
        self._known: dict[tuple[int, Tested | None], Hashable] = {}
        self._features: dict[int, Hashable] = {}

    def __call__(self, number: int, tested: Tested | None = None) -> Hashable:
        """Return the description of an object, of its features only those that are tested; None for all."""
        known = self._known.get((number, tested))
        if known is None:
            known = self._known[number, tested] = (
                self.features(number) if tested is None else self._tested(number, tested),
                self._around(number),
                self._inside(number),
            )
        return known

    def _tested(self, number: int, tested: Tested) -> Hashable:
        attributes, properties = tested
        at = self._story.object_at(number)
        has: Hashable = self._memory[at : at + self._story.attribute_bytes]
        if attributes is not None:
            has = frozenset(which for which in attributes if self._memory[at + which // 8] & 0x80 >> which % 8)
        numbers = self._story.numbers(self._memory, number)
        if properties is not None:
            numbers = tuple(pair for pair in numbers if pair[0] in properties or pair[0] >= INDIVIDUAL)
        return has, numbers

    def features(self, number: int) -> Hashable:
        """Return an object's attributes, and its properties that are small numbers."""
        known = self._features.get(number)
        if known is None:
            at = self._story.object_at(number)
            attributes = self._memory[at : at + self._story.attribute_bytes]
            known = self._features[number] = (attributes, self._story.numbers(self._memory, number))
        return known

    def _inside(self, number: int) -> int:
        return sum(1 for _ in self._story.children(self._memory, number)) if number else 0

    def _around(self, number: int) -> tuple[Hashable, ...]:
        """Return what an object is in, up to the player or the place."""
        found: list[Hashable] = []
        for _ in range(_DEEPEST):
            if number not in (self.player, self.room):
                number = self._story.parent(self._memory, number)
            if not 0 < number <= self._story.object_count:
                break
            if number in (self.player, self.room):
                found.append(number == self.player)
                break
            found.append(self.features(number))
        return tuple(found)
