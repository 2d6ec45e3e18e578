"""What only a shared memory has: other workers, a server that goes away, addresses, rights, and copies."""

from __future__ import annotations

import dataclasses
import os
import random
import resource
import shutil
import signal
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine import waits
from engine.errors import MissingError, StorageError
from engine.memory import Memory, upkeep
from engine.memory.memory_factory import check_address
from engine.memory.shared import outbox
from engine.memory.shared.log import Log
from engine.memory.shared.memory import SharedMemory
from engine.memory.shared.replica import CURSOR
from engine.memory.shared.rows import Stored
from engine.memory.shared.server import ServerUnreachable
from engine.records import Kept
from tests.memory.lives import make_episode, make_state
from tests.memory.postgres import Cluster

NAME = "game/test"


def until(there: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not there():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.005)


def database(address: str) -> str:
    return address.partition("?")[0].rpartition("/")[2]


# -------------------------------------------------------------------------------------- other workers


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6))
def test_neighbours_are_exactly_those_of_the_embedded_store(
    common_database: str, tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    folder = tmp_path / uuid.uuid4().hex
    address = f"{common_database}#{folder.name}"
    with (
        Memory(folder / "memory") as embedded,
        SharedMemory(address, folder / "a", follow=False) as shared,
        SharedMemory(address, folder / "b", follow=False) as other,
    ):
        scopes = [shared.scope(NAME), other.scope(NAME)]
        for number in range(rng.randrange(1, 12)):
            episode = make_episode(rng, f"u{number}", rng.randrange(1, 7), words=rng.randrange(1, 6))
            embedded.scope(NAME).append(episode)
            rng.choice(scopes).append(episode)
        scopes[0].refresh()
        if rng.random() < 0.5:
            for scope in (embedded.scope(NAME), scopes[0]):
                upkeep.forget(scope, upkeep.plan_forget(scope, episodes={"u0"}, entries={3}), "op")
        scopes[1].refresh()
        for _ in range(10):
            query = make_state(rng, words=rng.randrange(1, 6))
            how = {
                "k": rng.choice([1, 3, 50]), "r": rng.choice([0.0, 0.5, 0.9]), "gamma": rng.choice([0.0, 0.5, 1.0]),
                "history_weight": rng.choice([0.0, 0.25, 1.0]), "ties": rng.choice(["newest", "return"]),
            }  # fmt: skip
            want = embedded.scope(NAME).neighbours(query, **how)
            assert scopes[0].neighbours(query, **how) == scopes[1].neighbours(query, **how) == want


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6))
def test_what_a_worker_takes_in_itself_is_what_others_read_from_the_server(
    common_database: str, tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    folder = tmp_path / uuid.uuid4().hex
    address = f"{common_database}#{folder.name}"
    with (
        SharedMemory(address, folder / "a", follow=False) as one,
        SharedMemory(address, folder / "b", follow=False) as two,
    ):
        writer, reader = one.scope(NAME), two.scope(NAME)
        writer.append(make_episode(rng, "first"))
        reader.refresh()
        for number in range(12):
            who = rng.choice([writer, writer, writer, reader])
            if rng.random() < 0.3:
                who.records.add(Kept("note", rng.choice(["ö \ud800 \x00", "b"]), data={"n": [1, 1e16, -0.0, number]}))
                continue
            batch = []
            for part in range(rng.randrange(1, 4)):
                given_number = rng.choice([0, 0, 50 + number])
                batch.append(make_episode(rng, f"{rng.choice(['u', 'ü'])}{number}{part}", number=given_number))
            who.append_all([*batch, batch[0]])
        for scope in (reader, writer):
            scope.refresh()
        lines = [scope.path.read_bytes().split(b"\n")[1:] for scope in (writer, reader)]
        assert lines[0] == lines[1]
        (numbers, columns), (others, other_columns) = writer._entries.dump(), reader._entries.dump()
        assert numbers == others
        for name, column in columns.items():
            if name != "text_offset":  # first lines may differ in length
                np.testing.assert_array_equal(column, other_columns[name])
        assert list(writer.entered()) == list(reader.entered())
        texts = [[scope.text(entry) for entry in range(scope.next_entry)] for scope in (writer, reader)]
        assert texts[0] == texts[1]


def test_an_episode_that_is_the_next_one_is_not_read_back(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(8)
    asked: list[str] = []
    news = Log.news

    def counted(self: Log, scope: str, *place: Any) -> Any:
        asked.append(scope)
        return news(self, scope, *place)

    with (
        SharedMemory(address, tmp_path / "a", follow=False) as one,
        SharedMemory(address, tmp_path / "b", follow=False) as two,
    ):
        one.scope(NAME).append(make_episode(rng, "a"))
        two.scope(NAME)
        monkeypatch.setattr(Log, "news", counted)
        assert one.scope(NAME).append(make_episode(rng, "b")) == 8
        assert asked == []
        assert two.scope(NAME).append(make_episode(rng, "c")) == 8  # it has to read "b" first
        assert asked
        assert [each.uid for each in two.scope(NAME).episodes()] == ["a", "b", "c"]


def test_what_one_worker_stores_the_others_see_by_themselves(address: str, tmp_path: Path) -> None:
    rng = random.Random(1)
    with SharedMemory(address, tmp_path / "a") as one, SharedMemory(address, tmp_path / "b") as two:
        scope, other = one.scope(NAME), two.scope(NAME)
        scope.append(make_episode(rng, "a"))
        until(lambda: len(other) == 8)
        other.append(make_episode(rng, "b"))
        other.records.add(Kept("note", "hello"))
        until(lambda: len(scope) == 16 and len(scope.records) == 1)
        upkeep.forget(other, upkeep.plan_forget(other, episodes={"a"}), "op")
        until(lambda: len(scope) == 8)


def test_workers_with_many_open_files_follow_each_other(address: str, tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        with SharedMemory(address, tmp_path / "a") as one, SharedMemory(address, tmp_path / "b") as two:
            scope, other = one.scope(NAME), two.scope(NAME)
            scope.append(make_episode(random.Random(1), "a"))
            until(lambda: len(other) == 8)
    finally:
        for descriptor in opened:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_two_workers_share_one_replica(address: str, tmp_path: Path) -> None:
    rng = random.Random(1)
    with SharedMemory(address, tmp_path) as one, SharedMemory(address, tmp_path) as two:
        scope, other = one.scope(NAME), two.scope(NAME)
        assert scope.path == other.path
        for number in range(6):
            (scope, other)[number % 2].append(make_episode(rng, f"u{number}"))
        until(lambda: len(scope) == len(other) == 48)
        until(lambda: scope.replica.cursor().seq == 6)
        assert len(scope.path.read_bytes().splitlines()) == 7


def test_a_restart_catches_up_from_where_it_was(address: str, tmp_path: Path) -> None:
    rng = random.Random(2)
    with SharedMemory(address, tmp_path / "a", follow=False) as one:
        one.scope(NAME).append(make_episode(rng, "a"))
        head = one.scope(NAME).path.read_bytes()
    with SharedMemory(address, tmp_path / "b", follow=False) as two:
        two.scope(NAME).append(make_episode(rng, "b"))
    with SharedMemory(address, tmp_path / "a", follow=False) as one:
        assert [each.uid for each in one.scope(NAME).episodes()] == ["a", "b"]
        assert one.scope(NAME).path.read_bytes().startswith(head)  # read on, not anew


def test_a_harmed_replica_is_made_anew(address: str, tmp_path: Path) -> None:
    rng = random.Random(3)
    with SharedMemory(address, tmp_path, follow=False) as one:
        one.scope(NAME).append_all([make_episode(rng, f"u{i}") for i in range(3)])
        path = one.scope(NAME).path
        want = list(one.scope(NAME).episodes())
    with Memory(tmp_path / "else") as memory:
        memory.scope(NAME).append(make_episode(rng, "x"))
        another = memory.scope(NAME).path
    for harm in (
        lambda: path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1])),
        lambda: path.write_bytes(b"something else\n"),
        lambda: path.write_bytes(path.read_bytes()[:3000] + b"################" + path.read_bytes()[3016:]),
        lambda: path.with_name(CURSOR).write_text("{"),
        lambda: shutil.copy(another, path),
        lambda: shutil.rmtree(path.parent),
    ):
        harm()
        with SharedMemory(address, tmp_path, follow=False) as one:
            assert list(one.scope(NAME).episodes()) == want


# ------------------------------------------------------------------------------------------ outages


def test_reading_goes_on_and_writes_wait_while_the_server_is_away(tmp_path: Path, cluster: Cluster) -> None:
    rng = random.Random(4)
    told: list[str] = []
    address = cluster.database()
    with (
        SharedMemory(address, tmp_path / "a", notice=told.append) as one,
        SharedMemory(address, tmp_path / "b") as two,
    ):
        scope, other = one.scope(NAME), two.scope(NAME)
        scope.append(make_episode(rng, "before"))
        until(lambda: len(other) == 8)
        cluster.stop(signal.SIGKILL)
        try:
            waiting = make_episode(rng, "waits")
            assert scope.append(waiting) == 0
            began = time.monotonic()
            assert scope.append(make_episode(rng, "waits too")) == 0
            # It is known that the server is away, so it is not tried again.
            assert time.monotonic() - began < waits.DATABASE_WRITE.seconds
            scope.records.add(Kept("note", "waits"))
            assert len(scope.neighbours(make_state(rng), k=3, r=0.0, gamma=0.5)) == 3
            assert not scope.refresh()
            with pytest.raises(StorageError, match="cannot be reached"):
                upkeep.compact(scope)
            assert one.waiting == 3
        finally:
            cluster.start()
        until(lambda: one.waiting == 0 and len(other) == 24 and len(other.records) == 1)
        until(lambda: len(scope) == 24)
        assert other.append(waiting) == 0
        scope.neighbours(make_state(rng), k=1, r=0.0, gamma=0.5)
    assert [text.partition(" (")[0].rpartition(" ")[2] for text in told if "cannot be reached" in text] == ["reached"]
    assert "3 waiting writes were sent" in told[-1]


def test_a_worker_begins_from_its_replica_while_the_server_is_away(tmp_path: Path, cluster: Cluster) -> None:
    rng = random.Random(9)
    address = cluster.database()
    told: list[str] = []
    with SharedMemory(address, tmp_path / "a", follow=False) as one:
        one.scope(NAME).append(make_episode(rng, "before"))
        name = database(address)
    cluster.stop()
    try:
        with SharedMemory(address, tmp_path / "a", notice=told.append) as one:
            scope = one.scope(NAME)
            assert one.scopes() == [NAME]
            assert len(scope.neighbours(make_state(rng), k=3, r=0.0, gamma=0.5)) == 3
            assert scope.append(make_episode(rng, "waits")) == 0
            assert (len(told), one.waiting) == (1, 1)
            assert told[0].startswith("cannot open the shared memory at ")
            assert "Reading goes on here; episodes wait in" in told[0]
            with pytest.raises(ServerUnreachable, match="has no replica of game/another"):
                one.scope("game/another")
            cluster.start()
            until(lambda: one.waiting == 0 and len(scope) == 16)
            cluster.stop()
        check_address(address, tmp_path / "a")
        for elsewhere in (address, address.replace(name, "another")):  # no replica, or none of that database
            with pytest.raises(MissingError, match="cannot open"):
                SharedMemory(elsewhere, tmp_path / ("b" if elsewhere == address else "a"))
        assert not (tmp_path / "b").exists()
    finally:
        cluster.start()
    cluster.sql(f"DROP DATABASE {name}")
    with pytest.raises(MissingError, match="does not exist"):
        SharedMemory(address, tmp_path / "a")  # a server that refuses is not away


def test_an_answer_that_is_lost_after_the_commit_stores_nothing_twice(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append, lost = Log.append, [3]

    def losing(self: Log, *arguments: Any) -> Stored:
        stored = append(self, *arguments)
        if lost[0]:
            lost[0] -= 1
            raise ServerUnreachable("the answer is lost")
        return stored

    monkeypatch.setattr(Log, "append", losing)
    monkeypatch.setattr(outbox, "patiently", lambda do, seconds, again: do(seconds))
    with SharedMemory(address, tmp_path, follow=False) as memory:
        scope = memory.scope(NAME)
        for number in range(4):
            scope.append(make_episode(random.Random(number), f"u{number}"))
        assert (memory.waiting, lost) == (0, [0])
        scope.refresh()
        assert [(each.number, each.uid) for each in scope.episodes()] == [(1, "u0"), (2, "u1"), (3, "u2"), (4, "u3")]


def test_what_a_server_with_a_full_disk_refuses_waits_until_there_is_room(
    own_database: str, tmp_path: Path, cluster: Cluster
) -> None:
    told: list[str] = []
    full = (
        "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$"
    )
    with SharedMemory(own_database, tmp_path, follow=False, notice=told.append) as memory:
        scope = memory.scope(NAME)
        scope.append(make_episode(random.Random(1), "before"))
        trigger = "CREATE TRIGGER full_disk BEFORE INSERT ON jitrl.log EXECUTE FUNCTION full_disk()"
        cluster.sql(full, trigger, database=database(own_database))
        assert scope.append(make_episode(random.Random(2), "waits")) == 0
        assert "is full (could not extend file: No space left on device)" in told[0]
        cluster.sql("DROP TRIGGER full_disk ON jitrl.log", database=database(own_database))
        assert scope.append(make_episode(random.Random(3), "after")) == 8
        assert [each.uid for each in scope.episodes()] == ["before", "waits", "after"]


def test_what_a_killed_worker_left_waiting_is_sent_by_the_next(address: str, tmp_path: Path, cluster: Cluster) -> None:
    rng = random.Random(5)
    memory = SharedMemory(address, tmp_path, follow=False)
    memory.scope(NAME)
    cluster.stop()
    try:
        memory.scope(NAME).append(make_episode(rng, "left"))
    finally:
        cluster.start()
    with SharedMemory(address, tmp_path, follow=False) as again:
        assert [each.uid for each in again.scope(NAME).episodes()] == ["left"]
        assert again.waiting == 0
    memory.close()


def test_another_database_under_the_same_address_gets_nothing(
    own_database: str, tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "DATABASE_WRITE", dataclasses.replace(outbox.DATABASE_WRITE, seconds=60.0))  # busy here
    rng = random.Random(6)
    told: list[str] = []
    with SharedMemory(own_database, tmp_path, follow=False, notice=told.append) as memory:
        scope = memory.scope(NAME)
        scope.append(make_episode(rng, "a"))
        name = database(own_database)
        cluster.sql(f"DROP DATABASE {name} WITH (FORCE)", f"CREATE DATABASE {name}")
        with SharedMemory(own_database, tmp_path / "b", follow=False) as other:
            other.scope(NAME).append(make_episode(rng, "b"))
            assert scope.append(make_episode(rng, "c")) == 0
            assert memory.waiting == 1
            assert "another database than before" in told[0]
            other.scope(NAME).refresh()
            assert [each.uid for each in other.scope(NAME).episodes()] == ["b"]
    with SharedMemory(own_database, tmp_path, follow=False) as memory:
        assert [each.uid for each in memory.scope(NAME).episodes()] == ["b"]


def test_a_database_put_back_from_an_older_copy_is_read_anew(
    own_database: str, tmp_path: Path, cluster: Cluster
) -> None:
    rng = random.Random(7)
    with SharedMemory(own_database, tmp_path / "a", follow=False) as memory:
        memory.scope(NAME).append_all([make_episode(rng, "a"), make_episode(rng, "b")])
    name = database(own_database)
    cluster.sql("DELETE FROM jitrl.log WHERE seq = 2", "UPDATE jitrl.scopes SET seq = 1", database=name)
    with SharedMemory(own_database, tmp_path / "b", follow=False) as memory:
        memory.scope(NAME).append(make_episode(rng, "c"))
    with SharedMemory(own_database, tmp_path / "a", follow=False) as memory:
        assert [each.uid for each in memory.scope(NAME).episodes()] == ["a", "c"]
