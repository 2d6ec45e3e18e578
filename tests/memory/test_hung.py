"""A database that takes connections and then says nothing. The run beside it goes on."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine import waits
from engine.memory.shared.memory import SharedMemory
from engine.memory.shared.server import DatabaseServer, ServerUnreachable, SharedConnection
from tests import commands
from tests.memory.lives import make_episode
from tests.memory.postgres import Cluster
from tests.proxy import Proxy

NAME = "game/test"
LONG_S = 60.0
"""Nobody waits so long for a server that hangs, on the slowest machine."""


@pytest.fixture
def proxy(cluster: Cluster) -> Iterator[Proxy]:
    with Proxy(f"{cluster.folder}/.s.PGSQL.5432") as proxy:
        yield proxy


@pytest.fixture
def through(own_database: str, proxy: Proxy) -> str:
    """The address of an empty database behind the proxy."""
    return f"postgresql://jitrl@127.0.0.1:{proxy.port}/{own_database.partition('?')[0].rpartition('/')[2]}"


def within(do: Callable[[], object]) -> None:
    """Do something that a hung server must not hold up."""
    thread = threading.Thread(target=do, daemon=True)
    thread.start()
    thread.join(LONG_S)
    assert not thread.is_alive(), "it waits for ever"


@pytest.mark.parametrize("follow", [False, True])
def test_a_write_goes_to_the_disk_and_is_sent_by_the_next(
    through: str, proxy: Proxy, tmp_path: Path, follow: bool
) -> None:
    rng, told = random.Random(1), list[str]()
    memory = SharedMemory(through, tmp_path, follow=follow, notice=told.append)
    scope = memory.scope(NAME)
    assert scope.append(make_episode(rng, "a")) == 8
    proxy.hold()
    within(lambda: scope.append_all([make_episode(rng, "b")]))
    within(lambda: scope.append_all([make_episode(rng, "c")]))
    within(scope.refresh)
    within(memory.close)
    assert [one for one in told if "does not answer" in one and "episodes wait in" in one] == told[:1]
    assert len(scope) == 8
    proxy.release()
    with SharedMemory(through, tmp_path, follow=False) as later:
        assert sorted(one.uid for one in later.scope(NAME).episodes()) == ["a", "b", "c"]


def test_a_statement_of_any_kind_ends(through: str, proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.memory.shared.server.DATABASE_ANSWER", waits.Wait("", 0.5, ""))
    line = SharedConnection(DatabaseServer(through))
    with line.use() as connection:
        process = connection.info.backend_pid
    proxy.hold()

    def ask() -> None:
        with pytest.raises(ServerUnreachable, match="does not answer"), line.use() as connection:
            connection.execute("SELECT 1")

    within(ask)
    proxy.release()
    with line.use() as connection:
        assert connection.info.backend_pid != process
    line.close()


@pytest.mark.parametrize("interrupted", [False, True])
def test_a_run_goes_on_and_can_be_interrupted(
    through: str, proxy: Proxy, cluster: Cluster, tmp_path: Path, interrupted: bool
) -> None:
    arguments = ["--model", "prior/verbs", "--steps", "5", "--quiet", "--memory", through, "--saves", str(tmp_path)]
    episodes = 1000 if interrupted else 8
    with commands.Popen(
        [commands.JITRL, "run", "pantry", "--episodes", str(episodes), *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    ) as run:  # fmt: skip
        try:
            while not rows(cluster, through) and run.poll() is None:
                time.sleep(0.02)
            proxy.hold()
            if interrupted:
                run.send_signal(signal.SIGINT)
            told, _ = run.communicate(timeout=LONG_S)
        finally:
            run.kill()
    assert run.returncode == (130 if interrupted else 0), told
    if not interrupted:
        assert "episodes wait in" in told
        assert rows(cluster, through) < episodes
        proxy.release()
        with SharedMemory(through, tmp_path, follow=False) as later:
            assert [len([*later.scope(name).episodes()]) for name, _ in later.inspect()] == [episodes]


LOOKUP = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>
#include <unistd.h>
int getaddrinfo(const char *name, const char *port, const struct addrinfo *hints, struct addrinfo **found) {
    if (name && !strcmp(name, "hangs.invalid")) { write(1, "asked\\n", 6); sleep(600); }
    return ((__typeof__(&getaddrinfo))dlsym(RTLD_NEXT, "getaddrinfo"))(name, port, hints, found);
}
"""


def test_a_name_that_nobody_looks_up_is_interrupted(tmp_path: Path) -> None:
    source, library = tmp_path / "lookup.c", tmp_path / "lookup.so"
    source.write_text(LOOKUP)
    subprocess.run(["gcc", "-shared", "-fPIC", "-w", "-o", library, source, "-ldl"], check=True, timeout=LONG_S)
    with subprocess.Popen(
        [commands.JITRL, "run", "pantry", "--model", "prior/verbs", "--saves", str(tmp_path), "--memory",
         "postgresql://hangs.invalid/jitrl"],
        stdout=subprocess.PIPE, env={**os.environ, "LD_PRELOAD": str(library)},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # a shell's background ignores it
    ) as run:  # fmt: skip
        try:
            assert run.stdout is not None
            assert run.stdout.readline() == b"asked\n"
            run.send_signal(signal.SIGINT)
            assert run.wait(LONG_S) == 130
        finally:
            run.kill()


def rows(cluster: Cluster, address: str) -> int:
    """Return how many rows the database has."""
    name = address.rpartition("/")[2]
    with contextlib.suppress(Exception):  # the tables are not there yet
        return int(cluster.sql("SELECT count(*) FROM jitrl.log", database=name)[0][0])
    return 0
