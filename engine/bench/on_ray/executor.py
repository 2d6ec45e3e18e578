"""Plays cells as tasks of Ray."""

from __future__ import annotations

import contextlib
import json
import secrets
import socket
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine import waits
from engine.bench.on_ray import hold, work
from engine.bench.on_ray.nodes import (
    BROWSER,
    CORES,
    MEMORY,
    MODEL,
    FoundNodes,
    alive,
    distinct,
    missing_needs,
    needs,
)
from engine.bench.records import Cell, Failed, Finished, Message, Said, Stopped
from engine.bench.worker import CellJob, from_line
from engine.codec import to_plain
from engine.llm.calls.pace import PACE
from engine.paths import cache_folder

HEAD_S = waits.RAY_HEAD.seconds
"""Seconds without an answer of the head node after which the run ends. After 60 s, Ray would end our process."""
_LOOK_S = 2.0
"""Seconds between looks at the head node."""
_SCARCE_S = 10.0
"""Seconds between looks whether the nodes that are left can play the cells that are begun."""
_GONE_S = waits.RAY_NODE_GONE.seconds
"""Seconds after which the cells of a node that the head node has given up are lost. Ray tells at once of a node that
died, but only after minutes of one whose network is cut."""
_MOST_CELLS = 100_000
"""Cells that can wait at the desk at the same time."""
_LONGEST = 300
"""Characters of a message of Ray that are shown."""
_DEATHS = {
    "WorkerCrashedError": "its worker died",
    "NodeDiedError": "its node died",
    "OutOfMemoryError": "its worker was ended because the memory of its node was full",
    "OwnerDiedError": "its node died",
    "ObjectLostError": "its node died",
}
"""What errors of Ray mean for a cell."""


class RayExecutor:
    """Plays each cell as a task of Ray. See `engine.bench.executor.Executor`.

    Ray does not retry a task: it cannot know what a worker had written. The runner begins the cell again.

    Args:
        ray: The module `ray`, connected to a cluster.
        on: Where it is, as the user named it.
        found: What the nodes have.
        saves: The saves folder.
        jobs: Number of cells at a time; None for as many as the nodes have cores.
    """

    def __init__(self, ray: Any, on: str, found: FoundNodes, saves: Path, jobs: int | None) -> None:
        self.jobs = jobs or max(1, found.cores)
        machines = {name: dict(machine) for name, machine in found.machines.items()}
        self.place: Mapping[str, Any] = {"on": on, "nodes": machines}
        self._ray = ray
        self._running: dict[Any, Cell] = {}
        self._nodes: dict[Any, str] = {}
        """By task that has begun, Ray's name of its node."""
        self._machine, self._same = work.machine_id(), work.fingerprint()
        self._desk = _desk(ray, cache_folder(saves) / PACE)
        self._play = ray.remote(work.play)
        self._scarce_at = time.monotonic()
        self._warned_of_lack = False
        self._head = _Head(ray)

    @property
    def free(self) -> int:
        """Number of cells that can be begun now. One that finds no free node waits in Ray."""
        return self.jobs - len(self._running)

    def begin(self, job: CellJob) -> None:
        """Begin a cell."""
        token = secrets.token_hex(16)
        hold.assign(Path(job.folder), token)
        wanted = needs(job.cell)
        task = self._play.options(
            name=f"cell {job.cell.name}",
            num_cpus=wanted[CORES],
            memory=wanted[MEMORY],
            resources={name: wanted[name] for name in (BROWSER, MODEL) if name in wanted},
            max_retries=0,
            num_returns="streaming",
        ).remote(self._desk, json.dumps(to_plain(job)), token, self._machine, self._same)
        self._running[task] = job.cell

    def messages(self, timeout: float) -> list[Message]:
        """Return what was told; see `Executor`."""
        if not self._running:
            time.sleep(timeout)
            return []
        if self._head.lost:
            return self._without_head()
        self._ray.wait(list(self._running), num_returns=1, timeout=timeout, fetch_local=False)
        ready, _ = self._ray.wait(list(self._running), num_returns=len(self._running), timeout=0, fetch_local=False)
        found: list[Message] = []
        for task in ready:
            new = self._next(task, self._running[task].name)
            found += new
            if any(isinstance(message, (Finished, Failed, Stopped)) for message in new):
                self._forget(task)
        return [*found, *self._gone(), *self._scarce()]

    def stop(self) -> None:
        """Ask all cells to stop after their running step."""
        self._desk.stop.remote()

    def close(self) -> None:
        """End whatever still runs."""
        for task in self._running:
            self._ray.cancel(task, force=True)
        self._running.clear()
        if not self._head.lost:
            self._ray.kill(self._desk)
        self._head.close()

    def _next(self, task: Any, name: str) -> list[Message]:
        """Return what a cell tells next; if it ends without a last word, tell that."""
        try:
            lines: list[str] = self._ray.get(next(task))
            if task not in self._nodes:
                self._nodes[task] = lines.pop()
        except StopIteration:
            return [Failed(name, "its worker ended without a word", lost=True)]
        except self._ray.exceptions.RayTaskError as error:
            last = str(error.cause).strip() or type(error.cause).__name__
            return [Failed(name, f"its worker failed: {last.splitlines()[-1][:_LONGEST]}", lost=True)]
        except self._ray.exceptions.RayError as error:
            return [Failed(name, _death(error), lost=True)]
        return [from_line(line) for line in lines]

    def _forget(self, task: Any) -> None:
        del self._running[task]
        self._nodes.pop(task, None)

    def _gone(self) -> list[Message]:
        """Tell of the cells on nodes that the head node has given up, though Ray still waits for them."""
        lost = [task for task, node in self._nodes.items() if self._head.gone(node)]
        found: list[Message] = [Failed(self._running[task].name, _DEATHS["NodeDiedError"], lost=True) for task in lost]
        for task in lost:
            self._ray.cancel(task, force=True)
            self._forget(task)
        return found

    def _scarce(self) -> list[Message]:
        """Tell if no node is left that could play a cell that was begun. It goes on when there is one again."""
        if time.monotonic() - self._scarce_at < _SCARCE_S:
            return []
        self._scarce_at = time.monotonic()
        there = self._head.nodes
        lack = [cell for cell in self._running.values() if missing_needs(there, distinct([cell]))]
        warned, self._warned_of_lack = self._warned_of_lack, bool(lack)
        if not lack or warned:
            return []
        return [
            Said(lack[0].name, f"no node has what it needs any more ({missing_needs(there, distinct(lack))}); it waits")
        ]

    def _without_head(self) -> list[Message]:
        """End all cells, because the head node is gone."""
        why = f"the head node of the Ray cluster has not answered for {HEAD_S:.0f} s"
        found: list[Message] = [Failed(cell.name, why, everywhere=True) for cell in self._running.values()]
        for task in self._running:
            self._ray.cancel(task, force=True)
        self._running.clear()
        return found


class _Head:
    """Looks in a thread at the head node: whether it answers, and which nodes there are.

    All that Ray asks the head node waits for a minute if that is gone. So nothing is asked in the runner's thread.
    """

    def __init__(self, ray: Any) -> None:
        host, _, port = str(ray.get_runtime_context().gcs_address).rpartition(":")
        self.nodes = alive(ray)
        self._seen_at: dict[str, float] = {}
        """By node, when it was last alive."""
        self._address = (host.strip("[]"), int(port))
        self._ray = ray
        self._seen = time.monotonic()
        self._closed = threading.Event()
        threading.Thread(target=self._watch, name="head of ray", daemon=True).start()

    @property
    def lost(self) -> bool:
        """Whether it has not answered for `HEAD_S` seconds."""
        return time.monotonic() - self._seen > HEAD_S

    def gone(self, node: str) -> bool:
        """Whether the head node answers, and has given up this node for `_GONE_S` seconds."""
        return self._seen - self._seen_at.setdefault(node, self._seen) > _GONE_S

    def close(self) -> None:
        self._closed.set()

    def _watch(self) -> None:
        while not self._closed.wait(_LOOK_S):
            with contextlib.suppress(OSError, self._ray.exceptions.RayError):
                socket.create_connection(self._address, timeout=_LOOK_S).close()
                self.nodes = alive(self._ray)
                self._seen = time.monotonic()
                self._seen_at.update((node["NodeID"], self._seen) for node in self.nodes)


def _desk(ray: Any, pace: Path) -> Any:
    """Start the desk on this node."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=True)
    return (
        ray.remote(work.Desk)
        .options(
            num_cpus=0, max_restarts=-1, max_task_retries=-1, max_concurrency=_MOST_CELLS, scheduling_strategy=here
        )
        .remote(str(pace))
    )


def _death(error: Exception) -> str:
    """Return how a cell's worker ended."""
    return _DEATHS.get(type(error).__name__) or f"its worker was lost: {str(error).splitlines()[0][:_LONGEST]}"
