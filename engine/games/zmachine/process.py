"""The parent's side of a worker process: starts it, sends requests with a timeout, and kills it."""

from __future__ import annotations

import contextlib
import mmap
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import weakref
from typing import Any

from engine import children, forks, waits
from engine.games.zmachine.worker import NOTE_SIZE, read_note, receive, send

_LAST_BREATH_S = waits.STORY_EXIT.seconds


class StoryWorkerLost(Exception):
    """The worker crashed, hung, or did not answer in time.

    Attributes:
        command: The command it was running, "" if the story was not loaded yet.
        by: The reason: "silence" (no answer in time), "hung" (a command used up its processor time), "killed" (from
            outside), "crash", or "start" (the process could not be started).
    """

    def __init__(self, message: str, command: str = "", by: str = "crash") -> None:
        super().__init__(message)
        self.command = command
        self.by = by


class WorkerProcess:
    """One worker process, the socket to it, and shared memory in which it notes the command it is running.

    Raises:
        WorkerLost: The system has no process, memory or file descriptors left for it.
    """

    def __init__(self) -> None:
        try:
            self._begin()
        except children.NotStarted as error:
            raise StoryWorkerLost(str(error), by="start") from None
        except OSError as error:
            raise StoryWorkerLost(f"the game's process cannot be started: {error.strerror}", by="start") from None

    def _begin(self) -> None:
        ours, theirs = socket.socketpair()
        note = os.memfd_create("jitrl-note") if hasattr(os, "memfd_create") else _unnamed_file()
        folder = tempfile.mkdtemp(prefix="jitrl-game-")
        try:
            os.ftruncate(note, NOTE_SIZE)
            self._note = mmap.mmap(note, NOTE_SIZE)
            self._process = forks.start(
                "the game's process",
                "engine.games.zmachine.worker",
                # one thread for numpy
                children.environment({"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}, own=True),
                folder,
                [theirs.fileno(), note],
                waits.STORY_LOAD.seconds,
            )
        finally:
            theirs.close()
            os.close(note)
            # The process keeps it as working directory. No other process can put files into a deleted folder.
            shutil.rmtree(folder, ignore_errors=True)
        self._channel = ours
        self._ended = weakref.finalize(self, _end, self._process, ours)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def ask(self, request: dict[str, Any], seconds: float, blob: bytes = b"") -> tuple[dict[str, Any], bytes]:
        """Send a request and return the answer: its fields, and a block of bytes.

        Args:
            request: Its fields.
            seconds: Timeout.
            blob: A block of bytes that is sent with the request.

        Raises:
            WorkerLost: There is no answer. The process has been killed.
        """
        try:
            self._channel.settimeout(seconds)
            send(self._channel, request, blob)
            return receive(self._channel)
        except TimeoutError:
            reason, by = f"did not answer within {seconds:g} s", "silence"
        except (EOFError, OSError, ValueError, RecursionError):
            reason, by = "crashed", "crash"
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_LAST_BREATH_S)  # its own exit status tells the reason; SIGKILL would hide it
        died_of = self._process.poll()
        self.end()
        if died_of == -signal.SIGVTALRM:
            reason, by = "hung", "hung"
        elif died_of == -signal.SIGKILL:
            reason, by = "was killed from outside", "killed"
        raise StoryWorkerLost(f"the game {reason}", read_note(self._note), by)

    def end(self) -> None:
        """Kill the process; calling this twice is safe."""
        self._ended()


def _end(process: subprocess.Popen[bytes] | forks.Fork, channel: socket.socket) -> None:
    channel.close()
    process.kill()
    process.wait()


def _unnamed_file() -> int:
    descriptor, name = tempfile.mkstemp(prefix="jitrl-note-")
    os.unlink(name)
    return descriptor
