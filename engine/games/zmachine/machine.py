"""Direct access to Jericho's interpreter: snapshots of its memory, and single commands.

Jericho's own `get_state`, `set_state` and `step` copy through numpy and compute more than a search over thousands of
commands needs. This module uses the library's symbols for memory, stack and registers instead.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from engine.codec import from_plain, to_plain
from engine.games.zmachine.characters import Characters
from engine.records import Observation

_READ_KEY = 0xF6
KEYS = {
    "enter": "", "space": " ", "escape": "\\[", "up": "\\^", "down": "\\.", "left": "\\<", "right": "\\>",
    "delete": "\\?",
}  # fmt: skip
"""Keys without a character, and what stands for them in a line for the interpreter."""
PROBE = "(probe "
"""Begins the note of a command that is only run to look."""
_NUMBERS = struct.Struct("<iiiiiqiiii")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A complete state of the interpreter, with the random generator and the last text.

    Attributes:
        random: Value, interval and counter of the random generator.
        status: Score and moves as Jericho read them from the status line of a generated story.
    """

    memory: bytes
    stack: bytes
    pc: int
    sp: int
    fp: int
    frames: int
    opcode: int
    random: tuple[int, int, int]
    text: bytes
    status: tuple[int, int] = (0, 0)

    def pack(self) -> bytes:
        """Return the snapshot as bytes."""
        head = _NUMBERS.pack(self.pc, self.sp, self.fp, self.frames, self.opcode, *self.random, *self.status)
        parts = (self.memory, self.stack, self.text)
        return head + b"".join(struct.pack("<I", len(part)) + part for part in parts)

    @classmethod
    def unpack(cls, data: bytes) -> Snapshot:
        """Return the snapshot that `pack` encoded.

        Raises:
            ValueError: The bytes are damaged.
        """
        try:
            *numbers, a, interval, counter, score, moves = _NUMBERS.unpack_from(data)
            at = _NUMBERS.size
            parts = []
            for _ in range(3):
                (size,) = struct.unpack_from("<I", data, at)
                parts.append(data[at + 4 : at + 4 + size])
                at += 4 + size
        except struct.error:
            raise ValueError("this save is damaged") from None
        if at != len(data):
            raise ValueError("this save is damaged")
        pc, sp, fp, frames, opcode = numbers
        memory, stack, text = parts
        random = (a, interval, counter)
        return cls(memory, stack, pc, sp, fp, frames, opcode, random, text, (score, moves))


class Machine:
    """One open story.

    Args:
        env: A `jericho.FrotzEnv` that has been reset. While this object is in use it must not be reset, closed or
            stepped by other code.
        characters: The story's characters.
        guard: Called with each command before it is run.
        shunned: Probes that crashed the interpreter before; they are not run and print nothing.

    Attributes:
        probe: Said before each command in the guard's note while commands are only run to look, "" otherwise.
        screens: What keys do on the last screens that waited for one; see `engine.games.zmachine.keys`.
    """

    def __init__(
        self,
        env: Any,
        characters: Characters,
        guard: Callable[[bytes], None] | None = None,
        shunned: frozenset[str] = frozenset(),
    ) -> None:
        lib = env.frotz_lib
        self.env = env
        self.characters = characters
        self.probe = ""
        self.screens: dict[Snapshot, Any] = {}
        self._shunned = shunned
        self._operations = lib.operations
        self._begin = lib.operations.begin
        self._lib = lib
        self._size: int = lib.getRAMSize()
        self._memory_at = ctypes.c_void_p.in_dll(lib, "zmp").value or 0
        self.memory = memoryview((ctypes.c_ubyte * self._size).from_address(self._memory_at)).cast("B")
        self._stack_size: int = lib.getStackSize()
        self._stack_at = ctypes.addressof(ctypes.c_char.in_dll(lib, "stack"))
        self._status = [ctypes.c_int.in_dll(lib, name) for name in ("tw_score", "move_count")]
        self._given_up = ctypes.c_int.in_dll(lib, "emulator_halted")
        # Bound once: looking an attribute up on the library takes half the time of a call.
        self._guard = guard
        self._step, self._halted = lib.step, lib.halted
        self._set_random, self._random = lib.setRng, (lib.getRngA, lib.getRngInterval, lib.getRngCounter)
        self._set_pc, self._set_sp, self._set_fp = lib.setPC, lib.setSP, lib.setFP
        self._set_frames, self._set_opcode = lib.setFrameCount, lib.set_opcode
        self._victory, self._over, self._score = lib.victory, lib.game_over, lib.get_score

    def take(self) -> Snapshot:
        """Return the current state."""
        lib = self._lib
        return Snapshot(
            ctypes.string_at(self._memory_at, self._size),
            ctypes.string_at(self._stack_at, self._stack_size),
            lib.getPC(),
            lib.getSP(),
            lib.getFP(),
            lib.getFrameCount(),
            lib.get_opcode(),
            self.random(),
            lib.get_narrative_text(),
            (self._status[0].value, self._status[1].value),
        )

    def put(self, saved: Snapshot) -> None:
        """Restore a state of this story.

        Raises:
            ValueError: The snapshot is of another story.
        """
        if len(saved.memory) != self._size or len(saved.stack) != self._stack_size:
            raise ValueError("this save is damaged or belongs to another story")
        self.rewind(saved)
        self._lib.set_narrative_text(saved.text)

    def rewind(self, saved: Snapshot) -> None:
        """Restore a state except its last text. This also works after the interpreter has halted."""
        ctypes.memmove(self._memory_at, saved.memory, self._size)
        ctypes.memmove(self._stack_at, saved.stack, self._stack_size)
        self._set_random(*saved.random)
        self._set_pc(saved.pc)
        self._set_sp(saved.sp)
        self._set_fp(saved.fp)
        self._set_opcode(saved.opcode)
        self._set_frames(saved.frames)
        self._status[0].value, self._status[1].value = saved.status
        self._given_up.value = 0

    def step(self, command: str) -> str:
        """Run one command and return what is printed."""
        return self.characters.decode(self.run(command))

    @property
    def text(self) -> str:
        """What was printed last."""
        return self.characters.decode(self.printed)

    @property
    def printed(self) -> bytes:
        """The same as the interpreter's bytes."""
        text: bytes = self._lib.get_narrative_text()
        return text

    def run(self, command: str) -> bytes:
        """Run one command and return what is printed, as the interpreter's bytes.

        Where the story waits for a key, only the first one is given: the rest would be left over and answer what the
        story asks later.
        """
        if self.probe and self.probe + command in self._shunned:
            return b""
        if self._guard is not None:
            self._guard((self.probe + command).encode())
        if self._lib.get_opcode() == _READ_KEY and not command.startswith("\\"):
            command = command[:1]
        self._begin()
        text: bytes = self._step(self.characters.encode(command) + b"\n")
        return text

    def press(self, key: str) -> str:
        """Press a key of `KEYS`, or one with a character, and return what is printed."""
        return self.answer(KEYS.get(key, key))

    def answer(self, line: str) -> str:
        """Give the story what is no command, and return what is printed.

        What would save, restore or restart the story or end the interpreter halts it instead.
        """
        self._operations.contained = True
        try:
            return self.step(line)
        finally:
            self._operations.contained = False

    @contextlib.contextmanager
    def probing(self, mark: str) -> Iterator[None]:
        """Run commands only to look, and put the situation back. One that crashed with this mark before is not run."""
        saved, before = self.take(), self.probe
        self.probe = f"{PROBE}{mark}) "
        try:
            yield
        finally:
            self.probe = before
            self.put(saved)
            if self._guard is not None and not before:
                self._guard(b"")  # whatever breaks next, it is not this

    @property
    def stand(self) -> tuple[int, int, int]:
        """Where in the story's code, and how deep, input is waited for."""
        return self._lib.getPC(), self._lib.getSP(), self._lib.getFrameCount()

    def move(self, number: int, to: int) -> None:
        """Move an object, with its contents, into another object."""
        self._lib.teleport_obj(number, to)

    @property
    def won(self) -> bool:
        """Whether Jericho recognises the last text as that of a victory."""
        return bool(self._victory() > 0)

    def random(self) -> tuple[int, int, int]:
        """Return the random generator's state: value, interval and counter."""
        value, interval, counter = self._random
        return int(value()), interval(), counter()

    @property
    def wants_key(self) -> bool:
        """Whether the story waits for a single key instead of a command."""
        return bool(self._lib.get_opcode() == _READ_KEY)

    @property
    def halted(self) -> bool:
        """Whether the interpreter stopped with an error."""
        return bool(self._halted() > 0)

    @property
    def failed(self) -> bool:
        """Whether Jericho recognises the last text as that of another end than a victory."""
        return bool(self._over() > 0)

    @property
    def ended(self) -> bool:
        """Whether the last command ended the story in any way: victory, defeat, or an error of the interpreter."""
        return bool(self._halted() > 0 or self._over() > 0 or self._victory() > 0)

    @property
    def score(self) -> int:
        """The score, as Jericho reads it."""
        return int(self._score())


_HEAD = struct.Struct("<4s16siI")
_FORMAT = b"JZS2"


def pack_save(digest: str, turns: int, screens: int, last: Observation | None, situation: Snapshot) -> bytes:
    """Return a save of the story with this digest (hexadecimal).

    Args:
        digest: The story's digest.
        turns: Commands taken in this episode.
        screens: Steps in a row that ended on a screen that waits for a key.
        last: What was seen last.
        situation: The interpreter's situation.
    """
    seen = json.dumps({**to_plain(last), "screens": screens}).encode()
    return _HEAD.pack(_FORMAT, bytes.fromhex(digest), turns, len(seen)) + seen + situation.pack()


def unpack_save(saved: bytes, digest: str) -> tuple[int, int, Observation, Snapshot]:
    """Return turns, screens, what was seen last, and the situation.

    Raises:
        ValueError: The save is damaged, or belongs to another story.
    """
    try:
        mark, of, turns, size = _HEAD.unpack_from(saved)
    except struct.error:
        raise ValueError("this save is damaged") from None
    if mark != _FORMAT or of != bytes.fromhex(digest):
        raise ValueError("this save belongs to another story or version")
    seen = json.loads(saved[_HEAD.size : _HEAD.size + size])
    screens = seen.pop("screens", 0)  # earlier versions did not save it
    return turns, screens, from_plain(Observation, seen), Snapshot.unpack(saved[_HEAD.size + size :])
