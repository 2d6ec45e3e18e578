"""Looks at the nodes of a cluster before anything is played there, and says what a cell needs of its node."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine import waits
from engine.bench.on_ray import work
from engine.bench.plan import BenchPlan
from engine.bench.records import Cell
from engine.environments import kind_of
from engine.errors import FailingAs, MissingError, StorageError, UsageError
from engine.paths import ensure_folder

CORES, MEMORY, BROWSER, MODEL = "CPU", "memory", "browser", "local_model"
"""Names of resources. The last two are our own: nodes are started with them."""
_GIB = 1 << 30
_CELL_GIB, _BROWSER_GIB, _MODEL_GIB = 0.5, 1.0, 2.0
"""Memory that is set aside for a cell, and what a browser and a model in the worker need beside it."""

Needs = Mapping[str, float]


def needs(cell: Cell) -> Needs:
    """Return the resources of a cell by name: cores, bytes of memory, browsers, models that run in the worker."""
    browser = any(kind_of(leg.task).browser for leg in cell.legs)
    model = "local/" in cell.model or "local:" in cell.model
    found = {CORES: 1.0, MEMORY: _GIB * (_CELL_GIB + _BROWSER_GIB * browser + _MODEL_GIB * model)}
    if browser:
        found[BROWSER] = 1.0
    if model:
        found[MODEL] = 1.0
    return found


def distinct(cells: Iterable[Cell]) -> list[Needs]:
    """Return the needs of all cells without repetitions."""
    return list({tuple(sorted(each.items())): each for each in map(needs, cells)}.values())


def fits(wanted: Needs, there: Mapping[str, float]) -> bool:
    """Whether a node with these resources can play such a cell when it plays nothing else."""
    return all(there.get(name, 0.0) >= amount for name, amount in wanted.items())


def needs_text(wanted: Needs) -> str:
    """Return needs for people."""
    parts = [f"{amount / _GIB:g} GiB of memory" if name == MEMORY else f"{amount:g} {name}"
             for name, amount in wanted.items()]  # fmt: skip
    return ", ".join(parts)


ANSWER_S = waits.RAY_NODE.seconds
"""Seconds that a node has to answer. It may have to import everything from a slow disk first."""


@dataclass(frozen=True, slots=True)
class FoundNodes:
    """What was found in a cluster.

    Attributes:
        cores: Cores of the nodes that can play.
        machines: Descriptions of these nodes by name.
    """

    cores: int
    machines: Mapping[str, Mapping[str, Any]]


def alive(ray: Any) -> list[dict[str, Any]]:
    """Return the nodes of the cluster that are alive, as Ray describes them."""
    return [node for node in ray.nodes() if node["Alive"]]


def missing_needs(there: Sequence[Mapping[str, Any]], wanted: Sequence[Needs]) -> str:
    """Return the first needs that no node can meet, in words; "" if there is a node for each cell."""
    for each in wanted:
        if not any(fits(each, node["Resources"]) for node in there):
            return needs_text(each)
    return ""


def check_nodes(ray: Any, plan: BenchPlan, saves: Path) -> FoundNodes:
    """Return what the cluster has, after each node that could play was asked what it sees.

    Raises:
        MissingError: No node has what a cell needs, or a node does not answer or cannot play a task.
        UsageError: A node has other versions, other code or another story than this machine.
        StorageError: A node does not see the saves folder, or files are not locked across machines.
    """
    wanted = distinct(plan.cells)
    there = alive(ray)
    if lack := missing_needs(there, wanted):
        raise MissingError(
            f"no node of the Ray cluster has what a cell needs ({lack}); start a node with it, for instance: "
            """ray start --address=HEAD:6379 --resources='{"browser": 2}'"""
        )
    playing = [node for node in there if any(fits(each, node["Resources"]) for each in wanted)]
    tasks = (*plan.tasks, *plan.train)
    names = [task.name for task in tasks]
    tried = list({(task.kind.name, task.group): task.name for task in tasks}.values())
    mine = work.identity()
    stories = work.digests(names, saves, plan.games)
    with _probe(saves) as (probe, text):
        asked = {
            node["NodeID"]: _looker(ray, node["NodeID"]).remote(str(probe), str(saves), plan.games, names, tried)
            for node in playing
        }
        answers = {node["NodeID"]: _answer(ray, asked[node["NodeID"]], node) for node in playing}
    for answer in answers.values():
        _compare(answer, mine, stories, text, saves)
    return FoundNodes(
        int(sum(node["Resources"].get(CORES, 0.0) for node in playing)),
        {answer["host"]: answer["machine"] for answer in answers.values()},
    )


@contextlib.contextmanager
def _probe(saves: Path) -> Iterator[tuple[Path, str]]:
    """Yield a file in the saves folder that this process has locked, and what is in it."""
    text = secrets.token_hex(16)
    path = ensure_folder(saves / "bench") / f".probe-{text[:8]}"
    with FailingAs(StorageError, f"cannot write to {path.parent}"):
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with FailingAs(StorageError, f"cannot use {path.parent}"):
            os.write(fd, text.encode())
            os.fsync(fd)
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield path, text
    finally:
        path.unlink(missing_ok=True)
        os.close(fd)


def _looker(ray: Any, node: str) -> Any:
    """Return the remote function `work.look`, bound to a node."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return ray.remote(work.look).options(
        num_cpus=0, max_retries=0, scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False)
    )


def _answer(ray: Any, asked: Any, node: Mapping[str, Any]) -> dict[str, Any]:
    name = node["NodeManagerHostname"]
    try:
        answer: dict[str, Any] = ray.get(asked, timeout=ANSWER_S)
    except ray.exceptions.GetTimeoutError:
        raise MissingError(f"the node {name} did not answer within {ANSWER_S:.0f} s") from None
    except ray.exceptions.RayTaskError as error:
        cause = str(error.cause).splitlines()[0] if str(error.cause) else type(error.cause).__name__
        raise UsageError(f"the node {name} has no jitrl, or another version of it ({cause[:200]})") from None
    except ray.exceptions.RayError as error:
        raise MissingError(f"the node {name} cannot be used: {str(error).splitlines()[0][:200]}") from None
    return answer


def _compare(
    answer: Mapping[str, Any], mine: Mapping[str, Any], stories: Mapping[str, str], text: str, saves: Path
) -> None:
    """Refuse a node that would play something else than this machine, or somewhere else."""
    name = answer["host"]
    for what, ours in mine["versions"].items():
        if (theirs := answer["versions"].get(what, "none")) != ours:
            raise UsageError(f"the node {name} has {what} {theirs}, and this machine has {ours}; install the same")
    differ = [folder for folder, digest in mine["code"].items() if answer["code"].get(folder) != digest]
    if differ:
        raise UsageError(f"the node {name} has another version of jitrl (engine/{differ[0]} differs); install the same")
    if answer["probe"] != text:
        raise StorageError(
            f"the node {name} does not see the saves folder {saves}; choose one that all nodes see, with --saves DIR"
        )
    if not answer["locked"]:
        raise StorageError(
            f"a lock of this machine in {saves} is not seen by the node {name}; choose a file system with locks "
            "between machines (NFS 4, for instance) with --saves DIR"
        )
    if answer["cannot"]:
        raise MissingError(f"the node {name} cannot play {answer['cannot']}")
    for task, digest in stories.items():
        if answer["stories"].get(task, digest) != digest:
            raise UsageError(f"the node {name} has another version of the story of {task}; copy ours there")
