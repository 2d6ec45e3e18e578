"""A child process that answers each line of JSON with one. Requests have deadlines, and the process is always ended."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from engine import children
from engine.errors import GameError
from engine.wait import readable

_LONGEST_REASON = 300
_REPORT_EVERY_S = 10.0


class WorkerLost(GameError):
    """The process ended, or did not answer in time and was ended."""


class WorkerFailed(GameError):
    """The process answered that the request failed. It is still running."""


class LineWorker:
    """A process of its own, in a process group of its own, so that Ctrl-C does not reach it.

    A reply is a JSON object; one with the key "failed" says what went wrong.

    Args:
        who: What the process is called in messages.
        command: Program and arguments.
        environment: Its environment variables (`engine.children.environment`).
        grace: Seconds that it may take to end by itself when its input is closed.

    Attributes:
        on_wait: Called with a sentence every `_REPORT_EVERY_S` seconds until a reply is there.

    Raises:
        GameError: The process cannot be started.
    """

    def __init__(
        self,
        who: str,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        grace: float = 5.0,
    ) -> None:
        self._who = who
        self._grace = grace
        self._rest = b""
        self.on_wait: Callable[[str], None] = lambda text: None
        self._process = children.start(
            f"{who}'s process", command, environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip

    @property
    def pid(self) -> int:
        """Process id, which is also the id of its process group."""
        return self._process.pid

    def ask(self, seconds: float, /, **request: object) -> dict[str, Any]:
        """Return the reply to a request.

        Raises:
            WorkerLost: There was no reply in time, and the process was ended.
            WorkerFailed: The request failed.
        """
        assert self._process.stdin is not None
        try:
            with contextlib.suppress(BrokenPipeError):  # it ended, and may have said why before
                self._process.stdin.write(json.dumps(request).encode() + b"\n")
                self._process.stdin.flush()
            line = self._line(seconds)
        except (OSError, ValueError):
            line = b""
        if line is None:
            self.end()
            raise WorkerLost(f"{self._who} did not answer within {seconds:.0f} s")
        if not line:
            self.end()
            raise WorkerLost(f"{self._who}'s process ended")
        reply: dict[str, Any] = json.loads(line)
        if "failed" in reply:
            raise WorkerFailed(f"{self._who} failed: {' '.join(str(reply['failed']).split())[:_LONGEST_REASON]}")
        return reply

    def _line(self, seconds: float) -> bytes | None:
        """Return one line, b"" at the end of the process's output, None after the deadline."""
        assert self._process.stdout is not None
        out, began = self._process.stdout.fileno(), time.monotonic()
        end, reported = began + seconds, 0.0
        pieces = [self._rest]
        while b"\n" not in pieces[-1]:
            left = end - time.monotonic()
            if left <= 0:
                return None
            if not readable(out, min(left, _REPORT_EVERY_S)):
                waited = time.monotonic() - began
                if waited < seconds and waited - reported >= _REPORT_EVERY_S:
                    reported = waited
                    self.on_wait(f"{self._who} has not answered for {waited:.0f} s")
                continue
            piece = os.read(out, 1 << 16)
            if not piece:
                return b""
            pieces.append(piece)
        line, _, self._rest = b"".join(pieces).partition(b"\n")
        return line

    def end(self) -> None:
        """End the process and its children; calling this twice is safe."""
        process = self._process
        with contextlib.suppress(OSError):
            if process.stdin is not None:
                process.stdin.close()
        try:
            process.wait(self._grace)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        if process.stdout is not None:
            process.stdout.close()
