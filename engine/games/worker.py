"""The process that holds one story: `python -m engine.games.worker FD`.

Frames go both ways over one socket: 4 bytes length, a JSON object, and bytes that may follow it. What
C code prints goes nowhere. The process ends with its parent, however that ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import socket
import struct
import sys
from typing import Any

_HEAD = struct.Struct("<II")
MEMORY_LIMIT = 4 * 2**30
"""Address space, bytes; a story that wants more is broken."""


def send(channel: socket.socket, message: dict[str, Any], blob: bytes = b"") -> None:
    """Write one frame."""
    text = json.dumps(message, ensure_ascii=False).encode()
    channel.sendall(_HEAD.pack(len(text), len(blob)) + text + blob)


def receive(channel: socket.socket) -> tuple[dict[str, Any], bytes]:
    """Read one frame.

    Raises:
        EOFError: The other side is gone.
    """
    text_size, blob_size = _HEAD.unpack(_exactly(channel, _HEAD.size))
    body = _exactly(channel, text_size + blob_size)
    return json.loads(body[:text_size]), body[text_size:]


def _exactly(channel: socket.socket, size: int) -> bytes:
    parts = []
    while size > 0:
        part = channel.recv(min(size, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def main(descriptor: int) -> None:
    """Answer requests until the parent is gone."""
    _die_with_parent()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    channel = socket.socket(fileno=descriptor)
    with contextlib.suppress(EOFError, ConnectionError):
        serve(channel)
    # Skips the C library's clean-up, which can crash on a broken story and has nothing left to save.
    os._exit(0)


def serve(channel: socket.socket) -> None:
    """Load what the first request names, then obey."""
    request, _ = receive(channel)
    try:
        from engine.codec import to_plain
        from engine.games.interpreter import Interpreter

        interpreter = Interpreter(request["story"], request["metadata"], request["digest"], request["cache"])
    except Exception as error:  # told to the parent, which knows what to say
        send(channel, {"error": f"{type(error).__name__}: {error}"})
        return
    send(channel, {"ok": True})
    while True:
        request, blob = receive(channel)
        try:
            match request["do"]:
                case "reset":
                    send(channel, {"seen": to_plain(interpreter.reset(request["seed"]))})
                case "step":
                    send(channel, {"seen": to_plain(interpreter.step(request["command"]))})
                case "valid":
                    send(channel, {"actions": interpreter.valid_actions()})
                case "save":
                    send(channel, {}, interpreter.save())
                case "restore":
                    send(channel, {"seen": to_plain(interpreter.restore(blob))})
        except Exception as error:
            send(channel, {"error": f"{type(error).__name__}: {error}"})


def _die_with_parent() -> None:
    """Ask Linux to kill this process when its parent dies; elsewhere the closed socket must do."""
    import ctypes
    import signal

    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle


if __name__ == "__main__":
    main(int(sys.argv[1]))
