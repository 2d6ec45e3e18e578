"""Executors play cells in parallel. The local pool does it with processes of this machine."""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import threading
from collections.abc import Mapping
from typing import Any, Protocol

from engine import children, waits
from engine.bench.records import Failed, Finished, Message, Said, Stopped
from engine.bench.worker import CellJob, from_line
from engine.codec import to_plain
from engine.errors import BadFile

_LAST_WORDS = 2000
"""Number of characters of a worker's stderr that are kept for the message about its death."""


class Executor(Protocol):
    """Plays cells somewhere and tells about them. It is used from one thread.

    Attributes:
        place: What the manifest of the run says of where it is played: `on`, and `nodes` by name.
    """

    place: Mapping[str, Any]

    @property
    def free(self) -> int:
        """Number of cells that can be begun now."""
        ...

    def begin(self, job: CellJob) -> None:
        """Begin a cell."""
        ...

    def messages(self, timeout: float) -> list[Message]:
        """Return what was told since the last call; wait up to `timeout` seconds for it.

        The last message of a cell is Finished, Failed or Stopped.
        """
        ...

    def stop(self) -> None:
        """Ask all running cells to stop after their running step."""
        ...

    def close(self) -> None:
        """End whatever still runs."""
        ...


class LocalPool:
    """Plays each cell in a process of its own on this machine.

    Args:
        jobs: Number of processes at a time.
        environment: Environment variables of the processes.
    """

    def __init__(self, jobs: int, environment: Mapping[str, str] | None = None) -> None:
        self.place: Mapping[str, Any] = {"on": "local", "nodes": {}}
        self._jobs = jobs
        self._environment = children.environment_with_keys(
            {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}, variables=environment
        )
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._messages: queue.SimpleQueue[Message] = queue.SimpleQueue()

    @property
    def free(self) -> int:
        """Number of processes that can be begun now."""
        return self._jobs - len(self._running)

    def begin(self, job: CellJob) -> None:
        """Begin a process."""
        process = children.start(
            "a worker", children.python("-m", "engine.bench.worker"), self._environment, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C reaches us alone, and we ask the processes to stop
        )  # fmt: skip
        self._running[job.cell.name] = process
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps(to_plain(job)).encode() + b"\n")
            process.stdin.flush()
        threading.Thread(target=self._listen, args=(job.cell.name, process), daemon=True).start()

    def messages(self, timeout: float) -> list[Message]:
        """Return what was told; see `Executor`."""
        found: list[Message] = []
        with contextlib.suppress(queue.Empty):
            found.append(self._messages.get(timeout=timeout))
            while True:
                found.append(self._messages.get_nowait())
        for message in found:
            if isinstance(message, (Finished, Failed, Stopped)):
                self._running.pop(message.cell, None)
        return found

    def stop(self) -> None:
        """Ask all processes to stop after their running step."""
        for process in self._running.values():
            with contextlib.suppress(ProcessLookupError):
                process.terminate()

    def close(self) -> None:
        """End whatever still runs."""
        for process in self._running.values():
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.wait()
        self._running.clear()

    def _listen(self, name: str, process: subprocess.Popen[bytes]) -> None:
        """Pass on what a process tells; if it dies without a last word, tell that."""
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdin is not None
        words: list[bytes] = []
        stderr = process.stderr
        reader = threading.Thread(target=lambda: words.extend(stderr), daemon=True)
        reader.start()
        last: Message | None = None
        for line in process.stdout:
            try:
                message = from_line(line)
            except (BadFile, ValueError, KeyError):
                message = Said(name, "the worker said something that cannot be read")
            if isinstance(message, (Finished, Failed, Stopped)):
                last = message
            else:
                self._messages.put(message)
        code = process.wait()
        reader.join(timeout=waits.THREAD_END.seconds)
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()
        self._messages.put(last or Failed(name, _death(code, b"".join(words)), lost=True))


def _death(code: int, words: bytes) -> str:
    """Return how a process ended that told no end."""
    how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
    lines = words[-_LAST_WORDS:].decode("utf-8", "replace").strip().splitlines()
    return f"its worker {how}" + (f": {lines[-1]}" if lines else "")
