"""Runs on Ray for tests and benches, and a cluster of several nodes on this machine whose nodes can be killed."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from engine.bench import folder as folders
from engine.bench import plan as plans
from engine.bench import suite as suites
from engine.bench.on_ray import guard
from engine.bench.on_ray import nodes as looking
from engine.bench.on_ray.executor import RayExecutor
from engine.bench.on_ray.ray_cluster import private_token, ray_library
from engine.bench.progress import RunLimits
from engine.bench.runner import Runner
from engine.kinds import EnvironmentContext

STORE = 80_000_000


class Nodes:
    """The nodes of a cluster. The head plays no cells.

    Args:
        folder: Folder of Ray, with a short path.
    """

    def __init__(self, folder: Path) -> None:
        from ray.cluster_utils import Cluster

        self.folder = folder
        self.cluster = Cluster(
            initialize_head=True,
            head_node_args={"num_cpus": 0, "object_store_memory": STORE, "include_dashboard": False,
                            "temp_dir": str(folder)},
        )  # fmt: skip
        self.on = f"ray://{self.cluster.address}"

    def add(self, cores: int = 1, **resources: float):
        """Start a node and return it."""
        return self.cluster.add_node(num_cpus=cores, object_store_memory=STORE, resources=resources)

    def kill(self, node) -> None:
        """Kill a node without a warning."""
        self.cluster.remove_node(node, allow_graceful=False)

    def kill_head(self) -> None:
        """Kill the head node without a warning."""
        self.cluster.head_node.kill_all_processes(check_alive=False, allow_graceful=False, wait=True)


@contextlib.contextmanager
def cluster() -> Iterator[Nodes]:
    """Yield a cluster with a head node. Nothing of it is left in the end."""
    ray_library()
    place = Path(tempfile.mkdtemp(prefix="jitrl-ray-", dir="/tmp"))
    with private_token(), guard.guard_folder(place):
        os.environ["RAY_TMPDIR"] = str(place)
        nodes = Nodes(place / "ray")
        try:
            yield nodes
        finally:
            del os.environ["RAY_TMPDIR"]
            nodes.cluster.shutdown()


def planned(text: str, saves: Path, name: str = "run"):
    """Return the plan of a suite, and the folder of a new run of it."""
    plan = plans.make_plan(suites.parse(text, "small", "small.toml"), EnvironmentContext(saves), "small.toml")
    return plan, folders.create(saves, plan, name, "jitrl bench run small")


def runner(ray, plan, folder: Path, saves: Path, tell=lambda message: None, jobs: int = 2) -> Runner:
    """Return a runner that plays on the Ray to which this process is connected."""
    executor = RayExecutor(ray, "ray", looking.check_nodes(ray, plan, saves), saves, jobs)
    return Runner(folder, plan.cells, executor, RunLimits(), tell, saves)


def folder_of(ray) -> Path:
    """Return the folder of the Ray to which this process is connected."""
    return Path(ray._private.worker._global_node.get_temp_dir_path())


def workers(ray, cell: str) -> list[int]:
    """Return the processes of this Ray that play a cell."""
    return [pid for pid in guard.processes_using(folder_of(ray)) if f"cell {cell}".encode() in _command(pid)]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
