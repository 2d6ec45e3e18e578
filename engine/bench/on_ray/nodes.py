"""Looks at the nodes of a cluster before anything is played there."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine import waits
from engine.bench.on_ray import work
from engine.bench.on_ray.needs import CORES, Needs, distinct, fits, shown
from engine.bench.plan import BenchPlan
from engine.errors import FailingAs, MissingError, StorageError, UsageError
from engine.paths import ensure_folder

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


def lacking(there: Sequence[Mapping[str, Any]], wanted: Sequence[Needs]) -> str:
    """Return the first needs that no node can meet, in words; "" if there is a node for each cell."""
    for each in wanted:
        if not any(fits(each, node["Resources"]) for node in there):
            return shown(each)
    return ""


def checked(ray: Any, plan: BenchPlan, saves: Path) -> FoundNodes:
    """Return what the cluster has, after each node that could play was asked what it sees.

    Raises:
        MissingError: No node has what a cell needs, or a node does not answer or cannot play a task.
        UsageError: A node has other versions, other code or another story than this machine.
        StorageError: A node does not see the saves folder, or files are not locked across machines.
    """
    wanted = distinct(plan.cells)
    there = alive(ray)
    if lack := lacking(there, wanted):
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
