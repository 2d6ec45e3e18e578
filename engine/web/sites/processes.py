"""Starts and stops server processes, and makes sure that none is left running by accident.

A server is started by a keeper process (`keeper.py`) that reads from a pipe. When this process dies, the pipe
closes and the keeper ends the server. After `release` the server keeps running. Records of servers contain the
start time of the process, so that a later process with the same id is never signalled.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from dataclasses import asdict, dataclass
from pathlib import Path

from engine import children, system, waits
from engine.errors import GameError
from engine.web.sites.site import VERSION, ServerCommand

START_TIMEOUT_S = waits.SITE_START.seconds
STOP_TIMEOUT_S = waits.SITE_STOP.seconds
_LOOK_S = 0.05


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A running server, as stored in its record.

    Attributes:
        name: Name of the site.
        pid: Process id.
        started: Start time of the process as the system counts it. It identifies the process if ids are reused.
        boot: Id of the boot that `started` refers to.
        port: Port on 127.0.0.1.
        version: Version of the data that it serves.
    """

    name: str
    pid: int
    started: int
    boot: str
    port: int
    version: int = 1

    @property
    def url(self) -> str:
        """Base URL without a trailing slash."""
        return f"http://127.0.0.1:{self.port}"


def boot_id() -> str:
    """Return the id of the machine's current boot; "" without `/proc`, where start times are Unix times."""
    return (system.PROC / "sys/kernel/random/boot_id").read_text().strip() if system.HAS_PROC else ""


def alive(server: RunningServer) -> bool:
    """Whether this process, and not a later one with the same id, is running."""
    return server.boot == boot_id() and system.start_time(server.pid) == server.started


def free_port(wanted: int) -> int:
    """Return the port `wanted` if it is free on the loopback, else another free port.

    Raises:
        GameError: No port is free.
    """
    for port in (wanted, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise GameError("no port of 127.0.0.1 is free")


def listens(server: RunningServer) -> bool:
    """Whether this process has the port. Two that start at the same time may have chosen the same one.

    Without `/proc`, this is whether the process runs: one that does not get its port ends.
    """
    if not system.HAS_PROC:
        return alive(server)
    sockets = (line.split() for line in (system.PROC / "net/tcp").read_text().splitlines()[1:])
    ours = {
        f"socket:[{each[9]}]"
        for each in sockets
        if each[3] == "0A" and each[1].endswith(f":{server.port:04X}")
    }
    with contextlib.suppress(OSError):
        return any(os.readlink(entry) in ours for entry in (system.PROC / str(server.pid) / "fd").iterdir())
    return False


def healthy(url: str, timeout_s: float = waits.SITE_ANSWER.seconds) -> bool:
    """Whether `url` answers with status 200."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=timeout_s) as reply:
            return bool(reply.status == 200)
    except urllib.error.HTTPError as error:
        error.close()
        return False
    except (OSError, ValueError):
        return False


class Started:
    """A server that ends with this process until `release` is called."""

    def __init__(self, server: RunningServer, keeper: subprocess.Popen[bytes]) -> None:
        self.server = server
        self._keeper = keeper

    def release(self) -> None:
        """Keep the server running after this process ends."""
        assert self._keeper.stdin is not None
        self._keeper.stdin.write(b"release\n")
        self._keeper.stdin.close()
        self._keeper.wait(STOP_TIMEOUT_S)

    def stop(self) -> None:
        """Stop the server; calling this twice is safe."""
        assert self._keeper.stdin is not None
        if not self._keeper.stdin.closed:
            self._keeper.stdin.close()
        try:
            self._keeper.wait(STOP_TIMEOUT_S * 2)
        except subprocess.TimeoutExpired:
            self._keeper.kill()
            stop(self.server)


def start(
    name: str, command: ServerCommand, port: int, health: str, log: Path, folder: Path
) -> Started:
    """Start a server and wait until it answers.

    Args:
        name: Name of the site.
        command: The command; it must listen on 127.0.0.1:`port`.
        port: From 1 to 65535.
        health: Path of a page that answers with status 200 when the site is up.
        log: File for the server's output.
        folder: Where it runs, and its home.

    Raises:
        GameError: The server ended, or did not answer within START_TIMEOUT_S.
    """
    keeper_file = Path(__file__).with_name("keeper.py")
    with log.open("wb") as output:
        keeper = children.start(
            f"the {name} site", children.python("-I", "-S", str(keeper_file), *command.argv),
            children.environment({"HOME": str(folder), **command.env}, ["SSL_CERT_FILE"]),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=output, cwd=folder, start_new_session=True,
        )  # fmt: skip
    assert keeper.stdout is not None
    first = keeper.stdout.readline().split()
    pid = int(first[0]) if first else 0
    began = system.start_time(pid) if pid else None
    if began is None:
        keeper.kill()
        keeper.wait()
        raise GameError(f"the {name} site did not start: {tail(log)}")
    started = Started(RunningServer(name, pid, began, boot_id(), port, VERSION), keeper)
    try:
        _wait_until_healthy(started.server, health, log)
    except BaseException:
        started.stop()
        raise
    return started


def _wait_until_healthy(server: RunningServer, health: str, log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while not (listens(server) and healthy(server.url + health)):
        if not alive(server):
            raise GameError(f"the {server.name} site ended while starting: {tail(log)}")
        if time.monotonic() > deadline:
            raise GameError(
                f"the {server.name} site did not answer within {START_TIMEOUT_S:.0f} s: {tail(log)}"
            )
        time.sleep(_LOOK_S)


def stop(server: RunningServer) -> bool:
    """Stop a server by its process id: SIGTERM first, SIGKILL after STOP_TIMEOUT_S.

    Returns:
        Whether it was running. A later process with the same id is not signalled.
    """
    if not alive(server):
        return False
    for sign in (signal.SIGTERM, signal.SIGKILL):
        # The server leads its own session, so child processes for single requests are signalled, too.
        try:
            os.killpg(server.pid, sign)
        except ProcessLookupError:
            break
        deadline = time.monotonic() + STOP_TIMEOUT_S
        while (runs := alive(server)) and time.monotonic() < deadline:
            time.sleep(_LOOK_S)
        if not runs:
            break
    return True


def tail(log: Path, size: int = 300) -> str:
    """Return the last `size` characters of a log in one line."""
    try:
        text = log.read_text(errors="replace")
    except OSError:
        return "there was no output"
    return " ".join(text.split())[-size:] or "there was no output"


def write_record(path: Path, server: RunningServer) -> None:
    """Store the record of a server in a file."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(asdict(server)))
    os.replace(part, path)


def read_record(path: Path) -> RunningServer | None:
    """Read the record of a server; None if there is none or it cannot be read."""
    try:
        server = RunningServer(**json.loads(path.read_text()))
    except (OSError, ValueError, TypeError):
        return None
    return server if isinstance(server.pid, int) and server.pid > 1 else None
