"""A PostgreSQL server of this machine's package, on a socket in a temporary folder.

    with Cluster() as cluster:
        address = cluster.database()
"""

from __future__ import annotations

import contextlib
import itertools
import os
import pwd
import select
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

USER = "jitrl"


def missing() -> str:
    """Return what is missing for a server, "" for nothing."""
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "psycopg is not installed: jitrl up postgres"
    return "" if programs() is not None else "there is no PostgreSQL server here: apt install postgresql"


def programs() -> Path | None:
    """Return the folder with the server's programs, None if there is none."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: float(path.parts[4]))
    if found:
        return found[-1].parent
    known = shutil.which("postgres")
    return Path(known).resolve().parent if known else None


class Cluster:
    """A server with its data. The server ends with this process, however that ends.

    Args:
        options: Settings of the server, such as "fsync=off".
    """

    def __init__(self, *options: str) -> None:
        binaries = programs()
        assert binaries is not None
        self._binaries = binaries
        self._options = options
        self._numbers = itertools.count()
        self._server: subprocess.Popen[bytes] | None = None
        # Directly under /tmp: the path of a socket is short, and the user postgres may enter.
        self.folder = Path(tempfile.mkdtemp(prefix="jitrl-pg-", dir="/tmp"))
        self._as: dict[str, Any] = {"cwd": "/"}
        self._drop: list[str] = []
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            user = pwd.getpwnam("postgres")
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            self._as |= {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
            self._drop = ["--reuid", str(user.pw_uid), "--regid", str(user.pw_gid), "--clear-groups"]
        self._call("initdb", "-D", self.folder / "data", "-U", USER, "-A", "trust", "-E", "UTF8",
                   "--locale=C.UTF-8", "--no-sync")  # fmt: skip
        self.start()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def start(self, *options: str, port: int = 5432) -> None:
        """Start the server with further options, and wait until it takes connections."""
        self._port = str(port)
        chosen = (*self._options, *options, f"port={port}")
        settings = [part for option in chosen for part in ("-c", option)]
        command = [
            "setpriv", *self._drop, "--pdeathsig", "INT", "--", str(self._binaries / "postgres"), "-D",
            str(self.folder / "data"), "-k", str(self.folder), "-c", "listen_addresses=", *settings,
        ]  # fmt: skip
        with (self.folder / "log").open("ab") as log:
            self._server = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd="/")
        deadline = time.monotonic() + 60
        asking = [self._binaries / "pg_isready", "-q", "-h", self.folder, "-p", self._port]
        while subprocess.run(asking, check=False).returncode:
            if time.monotonic() > deadline or self._server.poll() is not None:
                raise AssertionError((self.folder / "log").read_text()[-2000:])
            time.sleep(0.03)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop the server: SIGINT asks it to, SIGQUIT does not let it put anything in order, SIGKILL nothing at all."""
        if self._server is not None:
            pid = self._server.pid
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            ends = [os.pidfd_open(int(child)) for child in children if how == signal.SIGKILL]
            self._server.send_signal(how)
            self._server.wait(60)
            self._server = None
            for end in ends:  # its children end by themselves
                assert select.select([end], [], [], 60)[0], "a child of the killed server has not ended"
                os.close(end)
            if how == signal.SIGKILL:
                (self.folder / "data" / "postmaster.pid").unlink(missing_ok=True)

    def database(self, encoding: str = "UTF8") -> str:
        """Make an empty database, and return its address."""
        name = f"t{next(self._numbers)}"
        self.sql(f"CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0")
        return f"postgresql://{USER}@/{name}?host={self.folder}"

    def sql(self, *commands: str, database: str = "postgres") -> list[Any]:
        """Run commands as the server's owner; return the rows of the last one."""
        import psycopg

        with psycopg.connect(
            host=str(self.folder), port=self._port, user=USER, dbname=database, autocommit=True
        ) as connection:
            for command in commands:
                done = connection.execute(command)
            return done.fetchall() if done.description else []

    def close(self) -> None:
        """Stop the server and remove its data."""
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _call(self, name: str, *arguments: object) -> None:
        done = subprocess.run(
            [self._binaries / name, *map(str, arguments)], capture_output=True, text=True, check=False, **self._as
        )
        if done.returncode:
            with contextlib.suppress(OSError):
                shutil.rmtree(self.folder)
            raise AssertionError(done.stderr[-2000:])
