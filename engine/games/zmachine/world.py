"""Decides whether two states of a story are the same world state.

The world state is the object table (places and attributes of objects) and facts: memory cells that Jericho knows to
matter in a story, and global variables that the story's objects set. Changes without a command's doing are ignored.
Jericho knows them for the stories it supports. For other stories, and for the variables, they are found by passing
time (`engine.games.zmachine.survey`).
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from engine.games.zmachine.counts import StoryCounts
from engine.games.zmachine.machine import Machine
from engine.games.zmachine.printed import last_words
from engine.games.zmachine.story import StoryFile
from engine.games.zmachine.variables import global_value

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_FIELDS = [
    ("num", "<i4"), ("name", "S64"), ("parent", "<i4"), ("sibling", "<i4"), ("child", "<i4"),
    ("attr", "V4"), ("properties", "V16"),
]  # fmt: skip
"""Memory layout of Jericho's ZObject."""


class World:
    """Reads the objects and facts of one machine.

    Args:
        machine: The interpreter.
        story: The story file.
        facts: Numbers of the global variables that belong to the world state (`engine.games.actions.handlers`).
        settings: Addresses of the properties that do.
    """

    def __init__(
        self, machine: Machine, story: StoryFile, facts: Iterable[int] = (), settings: Iterable[int] = ()
    ) -> None:
        import numpy as np

        self._machine = machine
        self._lib = machine.env.frotz_lib
        self.story = story
        start, end = _table(story)
        self._table = machine.memory[start:end]
        at = story.globals_at
        words = [*settings, *(at + 2 * number for number in sorted(facts))]  # the variables last, as `Trial` has it
        cells = [word + half for word in words for half in (0, 1)]
        self._facts = np.array(cells, dtype=np.intp)
        self._bytes = np.frombuffer(machine.memory, dtype=np.uint8)
        self._special: Any = None
        size = self._lib.get_special_ram_size()
        if size:
            self._special = (ctypes.c_ubyte * size)()

    def objects(self) -> bytes:
        """Return the raw object table, noise included. Cheap; equal bytes mean equal objects, not the reverse."""
        return bytes(self._table)

    def things(self) -> str:
        """Return a hash of the objects without noise."""
        raise NotImplementedError

    def facts(self) -> bytes:
        """Return the memory cells that belong to the world state."""
        facts: bytes = self._bytes[self._facts].tobytes()
        if self._special is None:
            return facts
        self._lib.get_special_ram(self._special)
        return bytes(self._special) + facts

    def score(self) -> int:
        """Return the score."""
        return self._machine.score

    def end(self, printed: bytes) -> str:
        """Return how the last command ended the story, as its last words or otherwise; "" if it did not.

        Args:
            printed: What it printed.
        """
        if not self._machine.ended:
            return ""
        return "won" if self._machine.won else last_words(self._machine.characters.decode(printed)) or "over"

    def digest(self) -> str:
        """Return a hash of the world state: objects and facts."""
        return hashlib.md5(self.things().encode() + self.facts(), usedforsecurity=False).hexdigest()


class SupportedWorld(World):
    """The world of a story that Jericho supports: its C code removes the moves of wandering objects.

    Jericho reads at most 255 objects. Those beyond are compared as in a story that it does not support.

    Args:
        machine: The interpreter.
        story: The story file.
        facts: Numbers of the global variables that belong to the world state.
        noisy: (address, bits) in the object table that change by themselves.
        settings: Addresses of the properties that belong to the world state.
    """

    def __init__(
        self,
        machine: Machine,
        story: StoryFile,
        facts: Iterable[int] = (),
        noisy: Iterable[tuple[int, int]] = (),
        settings: Iterable[int] = (),
    ) -> None:
        import numpy as np

        super().__init__(machine, story, facts, settings)
        count = self._lib.get_num_world_objs()
        beyond = min(count, story.object_count) * story.object_size
        self._masks = _masks(story, noisy)[beyond:]
        self._cells = np.frombuffer(self._table, dtype=np.uint8)[beyond:]
        layout = np.dtype(_FIELDS)
        self._buffer = ctypes.create_string_buffer((count + 1) * layout.itemsize)
        self._objects = np.frombuffer(memoryview(self._buffer).cast("B"), dtype=layout)
        pointer = self._lib.get_world_objects.argtypes[0]
        self._pointer = ctypes.cast(self._buffer, pointer)
        self._of = b""
        self._digest = ""
        self._wanderers: tuple[int, ...] = ()

    def things(self) -> str:
        """Return a hash of the objects as Jericho cleaned them."""
        self._read()
        return self._digest

    def wanderers(self) -> tuple[int, ...]:
        """Return the numbers of the objects that have wandered from where they would be."""
        self._read()
        return self._wanderers

    def _read(self) -> None:
        """Let Jericho clean the objects if they changed. This is slow, because it decodes every name."""
        raw = self.objects()
        if raw == self._of:
            return
        self._lib.get_world_objects(self._pointer, 1)
        digest = hashlib.md5(usedforsecurity=False)
        for field in ("num", "parent", "attr", "properties"):
            digest.update(self._objects[field].tobytes())
        if len(self._cells):
            digest.update((self._cells & self._masks).tobytes())
        self._digest = digest.hexdigest()
        parents = self.story.parents(raw)
        cleaned = self._objects["parent"][1 : len(parents) + 1].tolist()
        pairs = zip(parents, cleaned, strict=False)
        self._wanderers = tuple(number for number, (now, clean) in enumerate(pairs, 1) if now != clean)
        self._of = raw


class PlainWorld(World):
    """The world of a story that Jericho does not support: the object table without noise found by a survey.

    Args:
        machine: The interpreter.
        story: The story file.
        facts: Numbers of the global variables that belong to the world state.
        noisy: (address, bits) in the object table that change by themselves.
        counts: What is known of score and end.
        settings: Addresses of the properties that belong to the world state.
    """

    def __init__(
        self,
        machine: Machine,
        story: StoryFile,
        facts: Iterable[int] = (),
        noisy: Iterable[tuple[int, int]] = (),
        counts: StoryCounts = StoryCounts(),  # noqa: B008 - frozen
        settings: Iterable[int] = (),
    ) -> None:
        import numpy as np

        super().__init__(machine, story, facts, settings)
        self._counts = counts
        self._masks = _masks(story, noisy)
        self._cells = np.frombuffer(self._table, dtype=np.uint8)

    def score(self) -> int:
        """Return the score, 0 if it is not known where the story keeps it."""
        score = self._counts.score
        return 0 if score is None else global_value(self._machine, self.story, score)

    def end(self, printed: bytes) -> str:
        """Return the last words of a story that has ended, "over" if it has none; "" if it goes on."""
        words = last_words(self._machine.characters.decode(printed))
        if not self._counts.over(self._machine, self.story, words):
            return ""
        return words or f"over {self._counts.ended(self._machine, self.story)}"

    def things(self) -> str:
        """Return a hash of parents and attributes."""
        return hashlib.md5((self._cells & self._masks).tobytes(), usedforsecurity=False).hexdigest()


def _masks(story: StoryFile, noisy: Iterable[tuple[int, int]]) -> NDArray[np.uint8]:
    """Return the bits of the object table that belong to the world: attributes and parents, without noise."""
    import numpy as np

    start, end = _table(story)
    masks = np.full(end - start, 0xFF, dtype=np.uint8)
    links = story.object_size - 2 - story.attribute_bytes
    for number in range(1, story.object_count + 1):
        at = story.object_at(number) - start + story.attribute_bytes
        masks[at + links // 3 : at + story.object_size - story.attribute_bytes] = 0  # siblings, children
    for address, bits in noisy:
        if start <= address < end:
            masks[address - start] &= ~bits & 0xFF
    return masks


def _table(story: StoryFile) -> tuple[int, int]:
    return story.object_at(1), story.object_at(story.object_count + 1)
