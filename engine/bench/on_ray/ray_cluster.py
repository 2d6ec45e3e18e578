"""Starts Ray on this machine or joins a cluster, checks its nodes, and gives the executor that plays there."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import socket
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from engine import extras, waits
from engine.bench.on_ray import AUTO, OWN, nodes, ray_address
from engine.bench.on_ray.executor import RayExecutor
from engine.bench.on_ray.guard import guard_folder
from engine.bench.on_ray.nodes import BROWSER, MODEL
from engine.bench.plan import BenchPlan
from engine.errors import MissingError, StorageError, UsageError
from engine.wait import readable

_STORE = 100_000_000
"""Bytes of Ray's object store. Only messages go through it."""
_ANSWER_S = waits.RAY_ANSWER.seconds
_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"
"""How HTTP/2 begins, which Ray speaks. A server that expects TLS answers it, too."""
_LONGEST = 40
"""Characters of the path of Ray's folder; the paths of its sockets would be too long for the system otherwise."""


@contextlib.contextmanager
def connect_ray(on: str, jobs: int) -> Iterator[Any]:
    """Start Ray on this machine, or join a cluster; yield the module `ray`.

    Args:
        on: `ray`, `ray:auto` or `ray://HOST:PORT`.
        jobs: Number of cores of a Ray that is started here. So many browsers and local models are allowed, too.

    Raises:
        UsageError: It is no address, or the cluster has other versions of Ray or Python.
        MissingError: Ray is not installed, cannot be started, or there is no such cluster.
    """
    address = ray_address(on)
    ray = ray_library(joins=address != OWN)
    with _own(ray, jobs) if address == OWN else _joined(ray, address):
        yield ray


@contextlib.contextmanager
def open_executor(on: str, plan: BenchPlan, saves: Path, jobs: int | None) -> Iterator[RayExecutor]:
    """Yield an executor that plays cells on Ray. Nodes that cannot play the plan are refused.

    Args:
        on: As of `connect_ray`.
        plan: What is to be played.
        saves: The saves folder.
        jobs: Number of cells at a time; None for as many as the cluster has cores.

    Raises:
        UsageError: As of `connect_ray`, or a node has other versions than this machine.
        MissingError: As of `connect_ray`, or no node has what a cell needs.
        StorageError: A node does not see the saves folder.
    """
    with connect_ray(on, jobs or 1) as ray:
        executor = RayExecutor(ray, on, nodes.check_nodes(ray, plan, saves), saves, jobs)
        try:
            yield executor
        finally:
            executor.close()


@contextlib.contextmanager
def _own(ray: Any, jobs: int) -> Iterator[None]:
    """Start Ray on this machine with a token that only its processes know, and end it.

    Ray begins in the root folder, because its workers import modules from the folder in which it begins.
    """
    place = _private_folder()
    with private_token(), guard_folder(place):
        try:
            with _stderr_closed(), contextlib.chdir("/"):
                ray.init(
                    address="local",
                    num_cpus=jobs,
                    resources={BROWSER: jobs, MODEL: jobs},
                    object_store_memory=_STORE,
                    include_dashboard=False,
                    log_to_driver=False,
                    logging_level="CRITICAL",
                    _temp_dir=str(place / "ray"),
                )
        except Exception as error:  # Ray raises the base class where its processes do not start in time
            ray.shutdown()
            raise MissingError(f"Ray cannot be started on this machine: {_first(error)}") from None
        try:
            yield
        finally:
            ray.shutdown()


@contextlib.contextmanager
def _joined(ray: Any, address: str) -> Iterator[None]:
    """Connect to a cluster that this machine belongs to."""
    try:
        if address != AUTO:  # Ray would try for a long time.
            _greet(address)
        with _stderr_closed(), contextlib.chdir("/"):
            ray.init(address=address, log_to_driver=False, logging_level="CRITICAL")
    except (RuntimeError, OSError, ValueError) as error:
        if "ersion" in str(error):
            raise UsageError(f"the Ray cluster has other versions than this machine: {_first(error)}") from None
        raise MissingError(_no_cluster(address, error)) from None
    try:
        yield
    finally:
        ray.shutdown()


def _greet(address: str) -> None:
    """Make sure that something at an address answers: Ray waits for minutes for what takes connections only.

    Raises:
        OSError: It cannot be reached, or says nothing.
    """
    host, _, port = address.rpartition(":")
    with socket.create_connection((host.strip("[]"), int(port)), timeout=_ANSWER_S) as line:
        line.sendall(_GREETING)
        if not readable(line, _ANSWER_S):
            raise OSError(f"it did not answer within {_ANSWER_S:.0f} s")


def _no_cluster(address: str, error: Exception) -> str:
    where = "this machine belongs to no Ray cluster" if address == AUTO else f"cannot join the Ray cluster at {address}"
    return (
        f"{where} ({_first(error)}); the machine must belong to it (`ray start --address=HEAD:6379`), and have its "
        "token (RAY_AUTH_TOKEN, or ~/.ray/auth_token)"
    )


@contextlib.contextmanager
def _stderr_closed() -> Iterator[None]:
    """Discard what Ray's libraries write to stderr while it begins; what goes wrong is raised, and told once."""
    with contextlib.ExitStack() as stack:
        kept, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
        stack.callback(os.close, nothing)
        stack.callback(os.close, kept)
        stack.callback(os.dup2, kept, 2)
        os.dup2(nothing, 2)
        yield


def _first(error: Exception) -> str:
    """Return the first line of an error's message."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)[:300]


def _private_folder() -> Path:
    """Return a new folder of mode 0700 whose path is short. Ray gives its own folder to everybody.

    Raises:
        StorageError: There is none.
    """
    for parent in (tempfile.gettempdir(), "/tmp", "/var/tmp"):
        if len(parent) + len("/jitrl-ray-12345678/ray") <= _LONGEST and os.access(parent, os.W_OK):
            return Path(tempfile.mkdtemp(prefix="jitrl-ray-", dir=parent))
    raise StorageError(f"Ray needs a folder for temporary files whose path has at most {_LONGEST - 23} characters")


_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",  # Nothing is reported to anybody.
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",  # Under `uv run`, Ray would pack and send the working folder.
}
"""Variables that Ray reads while it is imported. What the user has set stays."""
_JOINING = {"RAY_NUM_REDIS_GET_RETRIES": "1"}
"""More of them: how often Ray tries to reach a head node. It tries a process that is no head node for 40 s."""


def ray_library(*, joins: bool = False) -> Any:
    """Return the module `ray`.

    Args:
        joins: Whether it will join a cluster. Then it does not try for minutes.

    Raises:
        MissingError: It is not installed.
    """
    for name, value in {**_ENVIRONMENT, **(_JOINING if joins else {})}.items():
        os.environ.setdefault(name, value)
    ray, worker = (extras.load("ray", module) for module in ("ray", "ray._private.worker"))
    # Ray prints the deaths of workers to stdout, where our data go. The executor tells them as messages.
    worker._worker_logs_enabled = False
    logging.getLogger("ray").setLevel(logging.CRITICAL)
    return ray


@contextlib.contextmanager
def private_token() -> Iterator[None]:
    """Make a new token that all processes of a Ray begun here must have; others are refused.

    It is only in their environment, so it is in no file and not in `ps`.
    """
    token = secrets.token_hex(32)
    ours = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token}
    before = {name: os.environ.get(name) for name in ours}
    os.environ.update(ours)
    _reread()
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        _reread()


def _reread() -> None:
    """Let Ray read its variables again. It reads them once, when it is imported."""
    core: Any = import_module("ray._raylet")
    core.Config.initialize("")
    core.AuthenticationTokenLoader.instance().reset_cache()
