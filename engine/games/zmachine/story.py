"""Reads a story file as data: header, text, dictionary, objects, and the instructions of its routines.

Nothing is executed. Formats follow the Z-Machine Standards Document 1.1 (versions 3 to 8; the packed string offsets of
versions 6 and 7 are not needed for Jericho's stories). Reading outside the file raises `BadStory`.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from engine.games.zmachine.characters import code_of, table_of, zscii

WORD = re.compile(r"[^\W\d_](?:[^\W\d_]|['-])*")
"""A word in a text, in any script."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_SYMBOLS = " \n0123456789.,!?_#'\"/\\-:()"
_ESCAPE = 6
"""In the third alphabet: the next two codes are one character of ZSCII."""
_ROUTINE_LONGEST = 20_000
HEADER = 64
"""Bytes of a story's header."""
_TABLE = 3
INDIVIDUAL = 64
"""The first number of a property that only some objects have: those below are in the objects' own tables."""
_DEEPEST = 16
"""Containers in containers that are followed."""

# Opcodes by operand count, then by number: "s" stores a result, "b" branches, "t" carries text.
_2OP = {
    1: "b", 2: "b", 3: "b", 4: "b", 5: "b", 6: "b", 7: "b", 8: "s", 9: "s", 10: "b", 15: "s", 16: "s",
    17: "s", 18: "s", 19: "s", 20: "s", 21: "s", 22: "s", 23: "s", 24: "s", 25: "s",
}  # fmt: skip
_1OP = {0: "b", 1: "sb", 2: "sb", 3: "s", 4: "s", 8: "s", 14: "s", 15: "s"}
_0OP = {2: "t", 3: "t", 5: "b", 6: "b", 13: "b", 15: "b"}
_VAR = {0: "s", 7: "s", 12: "s", 22: "s", 23: "sb", 24: "s", 31: "b"}
_EXT = {0: "s", 1: "s", 2: "s", 3: "s", 4: "s", 9: "s", 10: "s", 12: "s", 19: "s", 24: "b", 27: "b", 29: "s"}
_ENDS = {("1", 11), ("1", 12), ("0", 0), ("0", 1), ("0", 3), ("0", 7), ("0", 8), ("0", 10), ("2", 28)}
"""Instructions after which execution does not continue with the next one."""


class BadStory(ValueError):
    """The file does not have the layout of a story."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One decoded instruction.

    Attributes:
        kind: "2", "1", "0", "v" (variable) or "x" (extended), by operand count.
        number: Number of the opcode within its kind.
        operands: (is_variable, value) pairs; variable 0 is the stack, 1 to 15 are locals, the others globals.
        target: Address of a branch or jump, None if there is none (or it is a return).
        next: Address of the following instruction.
    """

    kind: str
    number: int
    operands: tuple[tuple[bool, int], ...]
    target: int | None
    next: int


class StoryFile:
    """A story's bytes, and methods to read them.

    Raises:
        BadStory: The bytes have no story header of a supported version.
    """

    def __init__(self, data: bytes) -> None:
        if len(data) < 64 or not 3 <= data[0] <= 8 or data[0] == 6:
            raise BadStory("no header of a story")
        self.data = data
        self.version = data[0]
        self.objects_at = self.word(0x0A)
        self.globals_at = self.word(0x0C)
        self.static_at = self.word(0x0E)
        self.dictionary_at = self.word(0x08)
        self.serial = data[0x12:0x18].decode("ascii", "replace")
        self._abbreviations = self.word(0x18)
        self._characters = table_of(data)[1]
        self._alphabets = self._read_alphabets()
        v3 = self.version == 3
        self._entry, self._link = (9, 1) if v3 else (14, 2)
        self._tree_at, self._first_object = (4, self.objects_at + 62) if v3 else (6, self.objects_at + 126)
        self.attribute_bytes = self._tree_at
        self._places: dict[int, tuple[tuple[int, int], ...]] = {}

    # --------------------------------------------------------------------------------------- numbers

    def byte(self, at: int) -> int:
        """Return the byte at an address."""
        if not 0 <= at < len(self.data):
            raise BadStory(f"address {at} is outside the file")
        return self.data[at]

    def word(self, at: int) -> int:
        """Return the 16-bit word at an address."""
        if not 0 <= at < len(self.data) - 1:
            raise BadStory(f"address {at} is outside the file")
        return self.data[at] << 8 | self.data[at + 1]

    def unpack(self, packed: int) -> int:
        """Return the address of a packed routine address."""
        if self.version == 7:
            return packed * 4 + self.word(0x28) * 8
        return packed * (2 if self.version == 3 else 8 if self.version == 8 else 4)

    # ------------------------------------------------------------------------------------------ text

    def text(self, at: int) -> tuple[str, int]:
        """Return the text at an address, and the address after it."""
        codes, end = self._codes(at)
        return self._decode(codes, abbreviate=True), end

    def _read_alphabets(self) -> tuple[str, str, str]:
        """Return the three alphabets of 26 letters: the story's own ones, where its header names them, or the usual."""
        at = self.word(0x34) if self.version >= 5 else 0
        if not at:
            return _LETTERS, _LETTERS.upper(), _SYMBOLS
        own = "".join(zscii(self.byte(at + number), self._characters) for number in range(78))
        return own[:26], own[26:52], " \n" + own[54:]

    def _codes(self, at: int) -> tuple[list[int], int]:
        codes: list[int] = []
        while True:
            word = self.word(at)
            at += 2
            codes += ((word >> 10) & 31, (word >> 5) & 31, word & 31)
            if word & 0x8000:
                return codes, at

    def _decode(self, codes: list[int], *, abbreviate: bool) -> str:
        found: list[str] = []
        shift = 0
        at = 0
        while at < len(codes):
            code = codes[at]
            at += 1
            if code in (4, 5):
                shift = code - 3
                continue
            if 1 <= code <= 3:
                if abbreviate and at < len(codes):
                    entry = self.word(self._abbreviations + 2 * (32 * (code - 1) + codes[at]))
                    found.append(self._decode(self._codes(2 * entry)[0], abbreviate=False))
                    at += 1
            elif code == 0:
                found.append(" ")
            elif shift == 2 and code == _ESCAPE:
                if at + 1 < len(codes):
                    found.append(zscii(codes[at] << 5 | codes[at + 1], self._characters))
                at += 2
            else:
                found.append(self._alphabets[shift][code - 6])
            shift = 0
        return "".join(found)

    # ------------------------------------------------------------------------------------ dictionary

    @functools.cached_property
    def word_length(self) -> int:
        """Number of codes to which the dictionary truncates words. A letter without an accent takes one of them."""
        return 6 if self.version == 3 else 9

    def cut(self, word: str) -> str:
        """Return a word as the dictionary has it, if it has it: truncated, in small letters."""
        if word.isascii() and word.isalpha() and self._alphabets[0] == _LETTERS:
            return word.lower()[: self.word_length]
        codes: list[int] = []
        for c in word.lower():
            codes += self._encoded(c)
        return self._word(codes[: self.word_length])

    @functools.cached_property
    def dictionary(self) -> dict[str, tuple[int, bytes]]:
        """Address and data bytes of each word."""
        return {self._word(codes): entry for codes, entry in self._entries}

    @functools.cached_property
    def _entries(self) -> list[tuple[list[int], tuple[int, bytes]]]:
        """The codes of each word of the dictionary, without those that fill it up, and its address and data bytes."""
        at = self.dictionary_at
        at += 1 + self.byte(at)
        size, count = self.byte(at), self.word(at + 1)
        if size < 5 or count > 20_000:
            raise BadStory("no dictionary")
        text_bytes = 4 if self.version == 3 else 6
        found: list[tuple[list[int], tuple[int, bytes]]] = []
        for number in range(count):
            start = at + 3 + number * size
            self.byte(start + size - 1)
            codes = [
                (self.word(start + offset) >> shift) & 31
                for offset in range(0, text_bytes, 2)
                for shift in (10, 5, 0)
            ]
            found.append((codes, (start, self.data[start + text_bytes : start + size])))
        return found

    def _encoded(self, c: str) -> list[int]:
        """Return the codes of one character of a word."""
        for number, alphabet in enumerate(self._alphabets):
            place = alphabet.find(c, 2 if number == 2 else 0)
            if place >= 0:
                return [place + 6] if number == 0 else [3 + number, place + 6]
        code = code_of(c, self._characters)
        return [5, _ESCAPE, code >> 5, code & 31]

    def _word(self, codes: list[int]) -> str:
        """Return a word of the dictionary as text. Typed, it has the same codes.

        Where it is truncated within a character, that is any character which begins with the same codes.
        """
        for begun in (2, 3):
            if codes[-begun:-begun + 2 or None] == [5, _ESCAPE] and len(codes) == self.word_length:
                known = codes[1 - begun:][1:]
                c = next((c for c in self._usual if self._encoded(c)[2 : 2 + len(known)] == known), "")
                return self._decode(codes[:-begun], abbreviate=False) + c
        return self._decode(codes, abbreviate=False)

    @functools.cached_property
    def _usual(self) -> list[str]:
        """The characters that no alphabet has, first those that most words of the dictionary have."""
        counts = Counter(c for codes, _ in self._entries for c in self._decode(codes, abbreviate=False))
        known = [c for c in dict.fromkeys([*counts, *self._characters]) if self._encoded(c)[:2] == [5, _ESCAPE]]
        return sorted((c for c in known if c == c.lower()), key=lambda c: -counts[c])

    # --------------------------------------------------------------------------------------- objects

    @functools.cached_property
    def object_count(self) -> int:
        """Number of objects: their table ends where the first property table begins."""
        end = len(self.data)
        count = 0
        while (at := self._first_object + count * self._entry) + self._entry <= end:
            properties = self.word(at + self._entry - 2)
            if properties <= at:
                break
            end = min(end, properties)
            count += 1
        return count

    def object_at(self, number: int) -> int:
        """Return the address of an object's entry, which begins with its attributes."""
        return self._first_object + (number - 1) * self._entry

    @property
    def object_size(self) -> int:
        """Bytes of an object's entry."""
        return self._entry

    def parent(self, memory: bytes | memoryview, number: int) -> int:
        """Return an object's parent in `memory`, 0 for none."""
        return self._tree(memory, number, 0)

    def parents(self, table: bytes) -> list[int]:
        """Return the parent of every object, from object 1 on, given the bytes of all entries."""
        at, size = self._tree_at, self._entry
        if self._link == 1:
            return list(table[at::size])
        return [high << 8 | low for high, low in zip(table[at::size], table[at + 1 :: size], strict=False)]

    def is_in(self, memory: bytes | memoryview, number: int, holder: int) -> bool:
        """Whether an object is in another one in `memory`, directly or in something that is. A loop is left."""
        for _ in range(_DEEPEST):
            if not 0 < number <= self.object_count:
                return False
            number = self.parent(memory, number)
            if number == holder:
                return True
        return False

    def children(self, memory: bytes | memoryview, number: int) -> Iterator[int]:
        """Yield an object's children in `memory`. A loop in the tree is not followed forever."""
        child = self._tree(memory, number, 2)
        for _ in range(self.object_count):
            if not 0 < child <= self.object_count:
                return
            yield child
            child = self._tree(memory, child, 1)

    def _tree(self, memory: bytes | memoryview, number: int, which: int) -> int:
        at = self.object_at(number) + self._tree_at + which * self._link
        return memory[at] if self._link == 1 else memory[at] << 8 | memory[at + 1]

    def changed(self, memory: bytes | memoryview, holder: int) -> tuple[str, ...]:
        """Return the names of what is in `holder` and no longer as at the beginning, with the changed attributes."""
        found: list[str] = []
        for thing in self.children(memory, holder):
            at = self.object_at(thing)
            name = self.name(thing).strip().lower()
            for byte in range(self.attribute_bytes if name else 0):
                changed = memory[at + byte] ^ self.data[at + byte]
                found += [f"{name}={8 * byte + bit}" for bit in range(8) if changed & 0x80 >> bit]
        return tuple(sorted(found))

    @functools.cache  # noqa: B019 - one story lives as long as its worker
    def name(self, number: int) -> str:
        """Return an object's short name as stored; the story may print another."""
        at = self.word(self.object_at(number) + self._entry - 2)
        return self.text(at + 1)[0] if self.byte(at) else ""

    @functools.cache  # noqa: B019
    def properties(self, number: int) -> dict[int, tuple[int, int]]:
        """Return address and size of each of an object's properties."""
        at = self.word(self.object_at(number) + self._entry - 2)
        at += 1 + 2 * self.byte(at)
        found: dict[int, tuple[int, int]] = {}
        while head := self.byte(at):
            if self.version == 3:
                which, size, at = head & 31, (head >> 5) + 1, at + 1
            elif head & 0x80:
                which, size, at = head & 63, self.byte(at + 1) & 63 or 64, at + 2
            else:
                which, size, at = head & 63, 2 if head & 0x40 else 1, at + 1
            found[which] = (at, size)
            at += size
            if len(found) > 64:
                raise BadStory(f"properties of object {number} do not end")
        return found

    # -------------------------------------------------------------------------------------- routines

    @functools.cache  # noqa: B019
    def numbers(self, memory: bytes | memoryview, number: int) -> tuple[tuple[int, int], ...]:
        """Return which of an object's properties hold small numbers in `memory`, such as a size, and these.

        Of Inform's individual properties all values count: verbs may call the routines in them.
        """
        return tuple(
            (which, memory[at] << 8 | memory[at + 1])
            for which, at in self.single(number)
            if not memory[at] or which >= INDIVIDUAL
        )

    def single(self, number: int) -> tuple[tuple[int, int], ...]:
        """Return number and address of an object's properties of one word, and of each word of individual ones."""
        places = self._places.get(number)
        if places is None:
            try:
                found = [(which, at) for which, (at, size) in self.properties(number).items() if size == 2]
                found += self._individual(number)
            except BadStory:
                found = []
            places = self._places[number] = tuple(found)
        return places

    def _individual(self, number: int) -> list[tuple[int, int]]:
        """Return number and address of each word in an object's individual properties; [] if it has none.

        Inform keeps the address of their table in property 3: for each a number, a size and the values, then zero.
        """
        at, size = self.properties(number).get(_TABLE, (0, 0))
        found: list[tuple[int, int]] = []
        at = self.word(at) if self.version > 3 and size == 2 else 0
        while at and (which := self.word(at) & 0x7FFF):
            size = self.byte(at + 2)
            if which < INDIVIDUAL or not size or size % 2 or at + 3 + size > self.static_at:
                return []
            found += [(which, at + 3 + offset) for offset in range(0, size, 2)]
            at += 3 + size
        return found

    def routine(self, at: int) -> tuple[Instruction, ...]:
        """Return the instructions of the routine at an address.

        Raises:
            BadStory: There is no routine.
        """
        local_count = self.byte(at)
        if local_count > 15:
            raise BadStory(f"no routine at {at}")
        start = pc = at + 1 + (2 * local_count if self.version <= 4 else 0)
        furthest = pc
        found = []
        while True:
            instruction = self._instruction(pc)
            found.append(instruction)
            if instruction.target is not None and instruction.target > furthest:
                furthest = instruction.target
            pc = instruction.next
            if (instruction.kind, instruction.number) in _ENDS and pc > furthest:
                return tuple(found)
            if pc - start > _ROUTINE_LONGEST:
                raise BadStory(f"the routine at {at} does not end")

    def _instruction(self, pc: int) -> Instruction:
        opcode = self.byte(pc)
        pc += 1
        operands: list[tuple[bool, int]] = []
        types: list[int]
        if opcode == 0xBE and self.version >= 5:
            kind, number = "x", self.byte(pc)
            if number > 29:
                raise BadStory(f"no instruction at {pc}")
            types, pc = self._types(pc + 1, 1)
        elif opcode >= 0xC0:
            kind, number = ("v" if opcode & 0x20 else "2"), opcode & 31
            types, pc = self._types(pc, 2 if opcode in (0xEC, 0xFA) else 1)
        elif opcode >= 0x80:
            short = (opcode >> 4) & 3
            kind, number, types = ("0", opcode & 15, []) if short == 3 else ("1", opcode & 15, [short])
        else:
            kind, number = "2", opcode & 31
            types = [2 if opcode & 0x40 else 1, 2 if opcode & 0x20 else 1]
        if (kind == "2" and not 1 <= number <= 28) or (kind == "0" and number == 14):
            raise BadStory(f"no instruction at {pc}")
        for type_ in types:
            if type_ == 0:
                operands.append((False, self.word(pc)))
                pc += 2
            else:
                operands.append((type_ == 2, self.byte(pc)))
                pc += 1
        return self._tail(kind, number, tuple(operands), pc)

    def _types(self, at: int, count: int) -> tuple[list[int], int]:
        found = [(self.byte(at + i) >> shift) & 3 for i in range(count) for shift in (6, 4, 2, 0)]
        return (found[: found.index(3)] if 3 in found else found), at + count

    def _tail(self, kind: str, number: int, operands: tuple[tuple[bool, int], ...], pc: int) -> Instruction:
        """Decode what follows the operands: result variable, branch, text."""
        tail = {"2": _2OP, "1": _1OP, "0": _0OP, "v": _VAR, "x": _EXT}[kind].get(number, "")
        if self.version >= 5:  # later versions gave some numbers another meaning
            tail = {("1", 15): "", ("0", 9): "s", ("v", 4): "s"}.get((kind, number), tail)
        if self.version >= 4 and kind == "0" and number in (5, 6):
            tail = "s"
        if "t" in tail:
            pc = self._codes(pc)[1]
        if "s" in tail:
            pc += 1
        target = None
        if "b" in tail:
            head = self.byte(pc)
            pc += 1
            offset = head & 63
            if not head & 0x40:
                offset = offset << 8 | self.byte(pc)
                offset -= 0x4000 if offset & 0x2000 else 0
                pc += 1
            if offset not in (0, 1):
                target = pc + offset - 2
        elif kind == "1" and number == 12 and operands:
            offset = operands[0][1]
            target = pc + (offset - 0x10000 if offset & 0x8000 else offset) - 2
        return Instruction(kind, number, operands, target, pc)
