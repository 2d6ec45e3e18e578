"""What runs on the nodes: one cell at a time in a process of Ray, a look at a node, and the desk that all share."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import json
import os
import platform
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from engine import waits
from engine.bench.on_ray import hold
from engine.bench.records import Began, Failed, Message, Said, Stopped
from engine.bench.worker import CellJob, to_line
from engine.codec import from_plain
from engine.errors import JitrlError
from engine.paths import CACHE, cache_folder

TELL_S = 0.25
"""Seconds for which messages are collected before they are sent. The last ones are sent at once."""
_ANSWER_S = waits.RAY_DESK.seconds
"""Seconds after which the desk answers a cell's question whether to stop. Then the cell asks again."""
_WAITING = "the worker that had it before is still writing; waiting for it"
_BOOT = Path("/proc/sys/kernel/random/boot_id")


def machine_id() -> str:
    """Return a text that differs from machine to machine. Containers of one machine have the same."""
    try:
        return _BOOT.read_text(encoding="ascii").strip()
    except OSError:
        return platform.node()


class Desk:
    """An actor beside the command that plays the run: says when to stop, and assigns times of model calls.

    Args:
        pace: The file with which sessions of the desk's machine share their pace.
    """

    def __init__(self, pace: str) -> None:
        from engine.llm.calls.pace import Pace

        self._pace = Pace(Path(pace), 0.0)
        self._stop = asyncio.Event()

    async def stop(self) -> None:
        """Ask all cells to stop after their running step."""
        self._stop.set()

    async def stopping(self, seconds: float) -> bool:
        """Return whether the cells are to stop: True at once when they are, False after so many seconds."""
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._stop.wait(), seconds)
        return self._stop.is_set()

    async def move(self, name: str, gap: float, wait: float) -> float:
        """Reserve the next slot of a model's calls; see `engine.llm.calls.pace`."""
        return self._pace.move(name, gap, wait)


def play(desk: Any, line: str, token: str, machine: str, same: str) -> Iterator[list[str]]:
    """Play a cell in this process; yield Ray's name of its node in a list, then what it tells, as lists of lines.

    Args:
        desk: The run's desk.
        line: The job as JSON.
        token: The worker's token, see `hold`.
        machine: `machine_id` of the machine whose caches are in the saves folder.
        same: `fingerprint` of the machine that plays the run. Nodes that join later were not looked at.
    """
    import ray

    from engine.bench import cell_player
    from engine.llm.calls import pace
    from engine.session.control import Control

    yield [ray.get_runtime_context().get_node_id()]
    job = from_plain(CellJob, json.loads(line))
    if same != fingerprint():
        why = f"the node {platform.node()} has other versions of jitrl, Python or packages than this machine"
        yield [to_line(Failed(job.cell.name, why))]
        return
    folder, saves = Path(job.folder), Path(job.saves)
    if machine != machine_id() and not os.environ.get(CACHE):
        # SQLite files of two machines must not be the same.
        os.environ[CACHE] = str(cache_folder(saves) / "nodes" / platform.node())
    pace.share(lambda name, gap, wait: _moved(desk, name, gap, wait))
    control = Control()
    asked = threading.Event()
    outbox: queue.SimpleQueue[str | Exception | None] = queue.SimpleQueue()

    def stop() -> None:
        asked.set()
        control.stop()

    def send(message: Message) -> None:
        if isinstance(message, Began):
            message = Began(message.cell, platform.node())
        if not hold.is_assigned(folder, token):
            stop()
        outbox.put(to_line(message))

    def run() -> None:
        try:
            with hold.hold_cell(folder, token, asked.is_set, lambda: send(Said(job.cell.name, _WAITING))) as free:
                if free:
                    cell_player.play(job.cell, folder, saves, send, control)
                else:
                    outbox.put(to_line(Stopped(job.cell.name)))
        except hold.Superseded:
            outbox.put(to_line(Failed(job.cell.name, "the cell was given to another worker", lost=True)))
        except JitrlError as error:
            outbox.put(to_line(Failed(job.cell.name, str(error), error.exit_code)))
        except Exception as error:
            outbox.put(error)
        outbox.put(None)

    # Ray gives the cores of a task to others while its main thread waits for something of Ray, so only others do that.
    threading.Thread(target=run, name="cell", daemon=True).start()
    done = threading.Event()
    threading.Thread(target=_listen, args=(desk, stop, done), name="desk", daemon=True).start()
    try:
        yield from _batches(outbox)
    finally:
        done.set()


def _listen(desk: Any, stop: Callable[[], None], done: threading.Event) -> None:
    """Call `stop` when the desk says so, or when there is no desk any more."""
    import ray

    while not done.is_set():
        answer = desk.stopping.remote(_ANSWER_S)
        while not done.is_set() and not ray.wait([answer], timeout=TELL_S)[0]:
            pass
        try:
            if not done.is_set() and ray.get(answer):
                return stop()
        except ray.exceptions.RayError:
            return stop()


def _batches(outbox: queue.SimpleQueue[str | Exception | None]) -> Iterator[list[str]]:
    """Yield what is told, until None."""
    while True:
        batch: list[str] = []
        end = time.monotonic() + TELL_S
        while (left := end - time.monotonic()) > 0:
            try:
                line = outbox.get(timeout=left)
            except queue.Empty:
                break
            if isinstance(line, Exception):
                raise line
            if line is None:
                yield batch
                return
            batch.append(line)
        if batch:
            yield batch


def _moved(desk: Any, name: str, gap: float, wait: float) -> float:
    import ray

    try:
        return float(ray.get(desk.move.remote(name, gap, wait), timeout=waits.RAY_PACE.seconds))
    except ray.exceptions.RayError as error:
        raise OSError(str(error)) from None


def look(probe: str, saves: str, games: str | None, tasks: Sequence[str], tried: Sequence[str]) -> dict[str, Any]:
    """Return what a node has, for comparison with the machine of the command.

    Args:
        probe: A file in the saves folder whose lock the command holds.
        saves: The saves folder.
        games: Additional folder with stories.
        tasks: Names of the tasks whose stories are compared.
        tried: Those of which it is found out whether they can be played here.
    """
    return {
        "host": platform.node(),
        **identity(),
        "probe": _read(Path(probe)),
        "locked": hold.is_locked(Path(probe)),
        "stories": digests(tasks, Path(saves), games),
        "cannot": cannot(tried, Path(saves), games),
    }


def identity() -> dict[str, Any]:
    """Return versions, digests of the code, and a description of this machine."""
    from engine.bench.manifest import machine
    from engine.session.manifest import code, versions

    return {"versions": versions(), "code": code(), "machine": machine()}


@functools.cache
def fingerprint() -> str:
    """Return a digest of versions and code. It takes some milliseconds once in a process."""
    mine = identity()
    return hashlib.sha256(json.dumps([mine["versions"], mine["code"]], sort_keys=True).encode()).hexdigest()


def digests(tasks: Sequence[str], saves: Path, games: str | None) -> dict[str, str]:
    """Return the digest of what each task plays, without those that have none or that are not found."""
    from engine.environments import kind_of
    from engine.kinds import EnvironmentContext

    found: dict[str, str] = {}
    for task in tasks:
        try:
            digest = kind_of(task).digest(task, EnvironmentContext(saves, games))
        except JitrlError:
            continue
        if digest:
            found[task] = digest
    return found


def cannot(tasks: Sequence[str], saves: Path, games: str | None) -> str:
    """Return why a task cannot be played on this node, "" if all can."""
    from engine.environments import kind_of
    from engine.kinds import EnvironmentContext

    for task in tasks:
        try:
            kind_of(task).ready(task, EnvironmentContext(saves, games))
        except JitrlError as error:
            return f"{task}: {error}"
    return ""


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""
