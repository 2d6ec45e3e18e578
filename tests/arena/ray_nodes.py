"""A Ray cluster of several nodes on this machine, for tests and benches. Nodes can be killed."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from engine.bench.on_ray import guard
from engine.bench.on_ray.library import private_token, ray_library

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
    with private_token(), guard.guarded(place):
        os.environ["RAY_TMPDIR"] = str(place)
        nodes = Nodes(place / "ray")
        try:
            yield nodes
        finally:
            del os.environ["RAY_TMPDIR"]
            nodes.cluster.shutdown()
