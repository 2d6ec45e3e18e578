"""Things that go wrong with a shared memory: clocks, certificates, other databases, other versions."""

from __future__ import annotations

import random
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine import waits
from engine.errors import BadFile, MissingError
from engine.games.catalogue import find_game, read_story
from engine.memory import exchange
from engine.memory.search import Correction
from engine.memory.shared import outbox, schema
from engine.memory.shared.memory import SharedMemory
from engine.memory.upkeep import correct
from tests.memory.lives import make_episode
from tests.memory.postgres import Cluster

NAME = "game/test"


def database(address: str) -> str:
    return address.partition("?")[0].rpartition("/")[2]


def uids(memory: SharedMemory) -> list[str]:
    return [each.uid for each in memory.scope(NAME).episodes()]


def test_a_clock_that_runs_backwards_changes_no_order(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [2e9]

    def earlier() -> float:
        now[0] -= 1000.0
        return now[0]

    monkeypatch.setattr(time, "time", earlier)
    rng = random.Random(1)
    with (
        SharedMemory(address, tmp_path / "a", follow=False) as one,
        SharedMemory(address, tmp_path / "b", follow=False) as two,
    ):
        for number in range(6):
            scope = (one, two)[number % 2].scope(NAME)
            scope.append(make_episode(rng, f"u{number}", started=time.time()))
            correct(scope, {0: Correction(g=float(number))})
        one.scope(NAME).refresh()
        assert one.scope(NAME).corrections()[0].g == two.scope(NAME).corrections()[0].g == 5.0
        with SharedMemory(address, tmp_path / "c", follow=False) as fresh:
            assert uids(one) == uids(two) == uids(fresh) == [f"u{number}" for number in range(6)]
            assert [each.number for each in fresh.scope(NAME).episodes()] == [1, 2, 3, 4, 5, 6]
            assert fresh.scope(NAME).corrections()[0].g == 5.0


def test_two_databases_with_one_scope_keep_apart_and_can_be_merged(cluster: Cluster, tmp_path: Path) -> None:
    rng = random.Random(2)
    lived = [make_episode(rng, f"u{number}") for number in range(5)]
    here, there = cluster.database(), cluster.database()
    with SharedMemory(here, tmp_path, follow=False) as one, SharedMemory(there, tmp_path, follow=False) as two:
        one.scope(NAME).append_all(lived[:3])
        two.scope(NAME).append_all(lived[2:])
        assert one.folder != two.folder
        exchange.merge(two, exchange.source_of(one), name="one")
        assert uids(one) == ["u0", "u1", "u2"]
        assert uids(two) == ["u2", "u3", "u4", "u0", "u1"]
        exchange.merge(two, exchange.source_of(one), name="one")
        assert len(uids(two)) == 5
        assert two.scope(NAME).append(lived[0]) == 0


def test_a_worker_of_an_older_version_goes_on_from_its_replica_until_it_is_updated(
    cluster: Cluster, own_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "DATABASE_WRITE", waits.Wait("", 60.0, ""))  # busy here
    rng = random.Random(3)
    told: list[str] = []
    name = database(own_database)
    with SharedMemory(own_database, tmp_path, follow=False, notice=told.append) as memory:
        scope = memory.scope(NAME)
        scope.append(make_episode(rng, "a"))
        cluster.sql("UPDATE jitrl.about SET version = 99", database=name)
        cluster.sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
        assert scope.append(make_episode(rng, "b")) == 0
        assert len(scope) == 8
        assert len(told) == 1
        assert "was made by a newer jitrl (version 99" in told[0]
        assert "episodes wait in" in told[0]
    with pytest.raises(BadFile, match="Update jitrl to use it"):
        SharedMemory(own_database, tmp_path)
    cluster.sql(f"UPDATE jitrl.about SET version = {schema.VERSION}", database=name)
    with SharedMemory(own_database, tmp_path, follow=False) as updated:
        assert uids(updated) == ["a", "b"]


def test_a_game_file_of_another_version_has_another_scope(tmp_path: Path) -> None:
    known = find_game("pantry")
    changed = bytearray(known.path.read_bytes())
    changed[3] ^= 1  # the number of the release
    path = tmp_path / known.path.name
    path.write_bytes(changed)
    found = read_story(path)
    assert (found.name, found.scope != known.scope) == (known.name, True)


@pytest.fixture
def secure(cluster: Cluster, tmp_path: Path) -> Iterator[str]:
    """Lets the server encrypt, and returns the address of a database over TCP."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl here to make a certificate with")
    data = cluster.folder / "data"
    for folder in (tmp_path / "wrong", tmp_path / "right"):
        folder.mkdir()
        subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", folder / "key"]
        subprocess.run(
            ["openssl", "req", "-x509", "-days", "2", *subject, *key, "-out", folder / "crt"],
            check=True, capture_output=True,
        )  # fmt: skip
    owner = data.stat()
    for name in ("key", "crt"):
        path = data / f"server.{name}"
        shutil.copy(tmp_path / "right" / name, path)
        shutil.chown(path, owner.st_uid, owner.st_gid)
        path.chmod(0o600)
    name = database(cluster.database())
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    cluster.stop()
    cluster.start("ssl=on", "listen_addresses=127.0.0.1", port=port)
    yield f"postgresql://jitrl@localhost:{port}/{name}?hostaddr=127.0.0.1"
    cluster.stop()
    cluster.start()


def test_tls_is_verified_against_the_root_that_the_variables_name(
    secure: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGSSLMODE", "verify-full")
    monkeypatch.setenv("PGSSLROOTCERT", str(tmp_path / "right" / "crt"))
    told: list[str] = []
    with SharedMemory(secure, tmp_path / "saves", notice=told.append) as memory:
        assert memory.scope(NAME).append(make_episode(random.Random(1), "a")) == 8
        with memory.log._line.use() as connection:
            query = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
            assert connection.execute(query).fetchone() == (True,)
    assert told == []
    refused = {
        "certificate verify failed": (secure, tmp_path / "wrong" / "crt"),
        "does not match host name": (secure.replace("@localhost", "@elsewhere"), tmp_path / "right" / "crt"),
        "does not exist": (secure, tmp_path / "none"),
    }
    for reason, (address, root) in refused.items():
        monkeypatch.setenv("PGSSLROOTCERT", str(root))
        for saves in ("fresh", "saves"):
            with pytest.raises(MissingError, match=reason) as caught:
                SharedMemory(address, tmp_path / saves)
            assert "\n" not in str(caught.value)
    assert not (tmp_path / "fresh").exists()
