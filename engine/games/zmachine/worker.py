"""The process that holds one story: a fork (`engine.forks`), or `python -P -m engine.games.zmachine.worker FD NOTE`.

Frames go both ways over one socket: two lengths, a JSON object, and bytes that may follow it. What C code
prints goes nowhere, and the working folder is one that is removed already, so a story can leave no file.

The process ends with its parent, however that ends: its socket closes, and it looks for its parent now and
then. (Linux could kill it along with its parent, but with the thread that started it, too.) One command may
use so much processor time; then the kernel ends the process, which no hanging C code can prevent. Which
command that was stands in the note, a few bytes of memory shared with the parent.

Before the story is opened, the process gives up what a story has no need of (`engine.confine`): it can read that
story and the code it runs, write to the cache, and reach nothing else.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import mmap
import os
import resource
import signal
import socket
import struct
import sys
import time
from pathlib import Path
from typing import Any

from engine.confine import Confinement, confine, lower
from engine.wait import readable

_HEAD = struct.Struct("<II")
MEMORY_LIMIT = 2**30
"""Address space, bytes; a story that wants more is broken."""
FILE_LIMIT = 2**29
"""Size of a file of the cache, bytes."""
OPEN_LIMIT = 64
"""Files open at once."""
SEARCH_SECONDS = 10.0
"""Processor time for one part of a search for valid actions. The reply to each part is a sign of life."""
LARGEST_FRAME = 2**26
"""Bytes. A save has some thousands."""
NOTE_SIZE = 256
_LOOK_FOR_PARENT_S = 5.0
_CHUNK = 25
"""Commands that are tried between two looks at the time."""


def send(channel: socket.socket, message: dict[str, Any], blob: bytes = b"") -> None:
    """Write one frame."""
    # A path may have bytes that are no text; JSON has an escape for each.
    text = json.dumps(message, ensure_ascii=False).encode("utf-8", "backslashreplace")
    channel.sendall(_HEAD.pack(len(text), len(blob)) + text + blob)


def receive(channel: socket.socket) -> tuple[dict[str, Any], bytes]:
    """Read one frame.

    Raises:
        EOFError: The other side is gone.
        ValueError: This is no frame, or a larger one than any that is sent.
    """
    text_size, blob_size = _HEAD.unpack(_exactly(channel, _HEAD.size))
    if text_size + blob_size > LARGEST_FRAME:
        raise ValueError(f"a frame of {text_size + blob_size} bytes")
    body = _exactly(channel, text_size + blob_size)
    return json.loads(body[:text_size]), body[text_size:]


def read_note(note: mmap.mmap) -> str:
    """Return the command that was last begun, as the worker noted it."""
    return note[:NOTE_SIZE].split(b"\0", 1)[0].decode("utf-8", "replace")


def _exactly(channel: socket.socket, size: int) -> bytes:
    parts = []
    while size > 0:
        part = channel.recv(min(size, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


class _Guard:
    """Notes each command before it is run and limits the time it may take."""

    def __init__(self, descriptor: int) -> None:
        self._note = mmap.mmap(descriptor, NOTE_SIZE)
        self.seconds = 0.0
        """Processor time for one command; 0 for no limit."""

    def __call__(self, command: bytes) -> None:
        noted = command[: NOTE_SIZE - 1] + b"\0"
        self._note[: len(noted)] = noted
        signal.setitimer(signal.ITIMER_VIRTUAL, self.seconds)

    def rest(self) -> None:
        """No command is running."""
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


class _Orphaned(Exception):
    """The parent is gone."""


class _Server:
    """Obeys one parent."""

    def __init__(self, channel: socket.socket, guard: _Guard) -> None:
        self._channel = channel
        self._guard = guard
        self._parent = os.getppid()
        self._interpreter: Any = None

    def serve(self) -> None:
        """Load what the first request names, then obey until the parent is gone."""
        request, _ = receive(self._channel)
        self._guard.seconds = request["command_s"]
        try:
            from engine.games.zmachine.interpreter import Interpreter

            library = prepare()
            confined = _give_up(request)
            self._interpreter = Interpreter(
                request["story"],
                request["metadata"],
                request["digest"],
                request["cache"],
                frozenset(request["poison"]),
                self._guard,
                library,
            )
        except Exception as error:  # told to the parent, which knows what to say
            send(self._channel, {"error": f"{type(error).__name__}: {error}"})
            return
        story = self._interpreter
        about = {"scored": story.scored, "title": story.title, "fallback": story.fallback}
        send(self._channel, {**about, "confined": dataclasses.asdict(confined)})
        while True:
            self._guard.rest()
            self._wait()
            request, blob = receive(self._channel)
            try:
                reply, answer = self._obey(request, blob)
            except ValueError as error:
                reply, answer = {"refused": str(error)}, b""
            except Exception as error:
                reply, answer = {"error": f"{type(error).__name__}: {error}"}, b""
            send(self._channel, reply, answer)

    def _obey(self, request: dict[str, Any], blob: bytes) -> tuple[dict[str, Any], bytes]:
        from engine.codec import to_plain

        interpreter = self._interpreter
        match request["do"]:
            case "reset":
                return {"seen": to_plain(interpreter.reset(request["seed"]))}, b""
            case "step":
                return {"seen": to_plain(interpreter.step(request["command"]))}, b""
            case "valid":
                return self._valid(request["limit"]), b""
            case "save":
                return {}, interpreter.save()
            case "restore":
                return {"seen": to_plain(interpreter.restore(blob))}, b""
        raise ValueError(f"nobody knows how to {request['do']}")

    def _valid(self, limit: int | None) -> dict[str, Any]:
        """Find valid actions, or a part of them if that takes long."""
        begun = time.process_time()
        while True:
            found, done = self._interpreter.valid_actions(_CHUNK, limit=limit)
            if done or time.process_time() - begun >= SEARCH_SECONDS:
                return {"actions": found, "done": done}
            self._check_parent()

    def _wait(self) -> None:
        """Wait for a request."""
        # Its number is the parent's, however many files that has open.
        while not readable(self._channel, _LOOK_FOR_PARENT_S):
            self._check_parent()

    def _check_parent(self) -> None:
        if os.getppid() != self._parent:
            raise _Orphaned


def _give_up(request: dict[str, Any]) -> Confinement:
    """Keep only the rights that playing the requested story takes. All imports from outside the project come before."""
    import jericho
    import numpy

    cache = request["cache"]
    lower(resource.RLIMIT_FSIZE, FILE_LIMIT if cache else 0)
    lower(resource.RLIMIT_NOFILE, OPEN_LIMIT)
    lower(resource.RLIMIT_NPROC, 0)
    # Some modules are imported only when they are needed: of Python, and of these packages.
    code = [os.__file__, numpy.__file__, jericho.__file__]
    folders = [*map(os.path.dirname, code), str(Path(__file__).resolve().parents[2])]
    files = [request["story"], request["metadata"]]
    return confine([*folders, *filter(None, files)], [cache] if cache else [])


@functools.cache
def prepare() -> Any:
    """Import all that a story needs, and return Jericho's interpreter, loaded for one story."""
    from engine import codec
    from engine.games import generated
    from engine.games.zmachine import interpreter, loader

    del codec, generated, interpreter
    return loader.load_library()


def main(descriptor: int, note: int) -> None:
    """Answer requests until the parent is gone."""
    lower(resource.RLIMIT_AS, MEMORY_LIMIT)
    lower(resource.RLIMIT_CORE, 0)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    channel = socket.socket(fileno=descriptor)
    with contextlib.suppress(EOFError, ConnectionError, _Orphaned):
        _Server(channel, _Guard(note)).serve()
    # Skips the C library's clean-up, which can crash on a broken story and has nothing left to save.
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
