"""Addresses, passwords, rights and databases of shared memories; `memory push` and `pull`; sessions that use one."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from engine.bench import suite as suites
from engine.bench.cell_player import open_leg
from engine.bench.plan import make_plan
from engine.errors import BadFile, MissingError, StorageError, UsageError
from engine.kinds import EnvironmentContext
from engine.memory import Memory, upkeep
from engine.memory.disk.files import JOURNAL
from engine.memory.scope import LEARNT
from engine.memory.shared import schema
from engine.memory.shared.log import Log
from engine.memory.shared.memory import SharedMemory
from engine.memory.shared.replica import Cursor
from engine.memory.shared.server import DatabaseServer, SharedConnection
from engine.records import Kept
from engine.settings import SessionConfig, Settings
from engine.settings.address import in_space, parsed_address
from engine.settings.plan import OpeningNumbers
from engine.values import learnt
from engine.values.graph import GraphEstimator
from jitrl_tui import cli
from tests.arena.running import SMALL
from tests.memory.lives import make_episode
from tests.memory.postgres import Cluster

NAME = "game/zork1-abc"
PASSWORD = "swordfish-swordfish"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    def run(*arguments: object) -> tuple[int, str, str]:
        code = cli.main([*map(str, arguments), "--saves", str(tmp_path / "saves")])
        out, err = capsys.readouterr()
        return code, out, err

    return run


def database(address: str) -> str:
    return address.partition("?")[0].rpartition("/")[2]


# ----------------------------------------------------------------------------------------- addresses


@pytest.mark.parametrize(
    "text",
    [
        f"postgresql://me:{PASSWORD}@db/jitrl", f"postgresql://db/jitrl?password={PASSWORD}",
        f"postgres://me:{PASSWORD}@db1:1,db2:2/jitrl", f"postgresql:///x?p%61ssword={PASSWORD}",
    ],
)  # fmt: skip
def test_an_address_with_a_password_is_refused_and_not_repeated(run: Run, text: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="PGPASSFILE") as caught:
        SessionConfig(game="pantry", memory=text)
    assert PASSWORD not in str(caught.value)
    for command in (["run", "pantry", "--memory", text], ["memory", "ls", "--memory", text], ["memory", "push", text],
                    ["bench", "games", "--memory", text]):  # fmt: skip
        code, out, err = run(*command)
        assert (code, out) == (2, "")
        assert err.count("\n") == 1
        assert PASSWORD not in err
    assert not [path for path in (tmp_path / "saves").rglob("*") if path.is_file()]


def test_addresses_and_spaces() -> None:
    assert parsed_address("postgresql:") == ("", "")
    assert parsed_address("postgresql:#team") == ("", "team")
    assert parsed_address("postgresql://me@db/x?sslmode=require#a%20b") == (
        "postgresql://me@db/x?sslmode=require", "a b",
    )  # fmt: skip
    assert in_space(in_space("postgresql://db/x", "run"), "cell") == "postgresql://db/x#run/cell"
    for wrong in ("postgresql:db", "mysql://db/x", "postgresql://db/x#" + "y" * 300, "postgresql://db/x#a%0ab"):
        with pytest.raises(UsageError):
            parsed_address(wrong)
    with pytest.raises(UsageError, match="memory must be"):
        SessionConfig(game="pantry", memory="mysql://db/x")


def test_spaces_do_not_mix_and_bare_addresses_use_the_variables(
    cluster: Cluster, own_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SharedMemory(own_database + "#one", tmp_path, follow=False) as one:
        one.scope(NAME).append(make_episode(random.Random(1), "a"))
    with SharedMemory(own_database + "#two", tmp_path, follow=False) as two:
        assert two.scopes() == []
        assert len(two.scope(NAME)) == 0
    monkeypatch.setenv("PGHOST", str(cluster.folder))
    monkeypatch.setenv("PGDATABASE", database(own_database))
    monkeypatch.setenv("PGUSER", "jitrl")
    with SharedMemory("postgresql:#one", tmp_path, follow=False) as bare:
        assert bare.scopes() == [NAME]


def test_a_server_that_is_not_there_is_one_sentence_and_nothing_is_written(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    address = f"postgresql:///x?host={tmp_path}"
    for command in (["run", "pantry", "--model", "prior/verbs", "--quiet"], ["memory", "ls"], ["memory", "stats"]):
        code, out, err = run(*command, "--memory", address)
        assert (code, out) == (3, "")
        assert err.count("\n") == 1
        assert "cannot open the shared memory" in err
    assert {path.name for path in (tmp_path / "saves").iterdir()} <= {"log"}


def test_without_psycopg_the_sentence_says_how_to_get_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    code, _, err = run("memory", "ls", "--memory", "postgresql://db/x")
    assert code == 3
    assert "jitrl up postgres" in err
    assert err.count("\n") == 1


def test_a_wrong_password_or_database_is_one_sentence(
    cluster: Cluster, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = address.replace(f"/{database(address)}?", "/nowhere?")
    with pytest.raises(MissingError, match=r'database "nowhere" does not exist; is the address right\?'):
        SharedMemory(wrong, tmp_path)
    rules = cluster.folder / "data" / "pg_hba.conf"
    before = rules.read_text()
    role = f"CREATE ROLE guarded LOGIN SUPERUSER PASSWORD '{PASSWORD}'"
    cluster.sql(role)
    rules.write_text("local all guarded scram-sha-256\n" + before)
    cluster.sql("SELECT pg_reload_conf()")
    guarded = address.replace("jitrl@", "guarded@")
    try:
        monkeypatch.setenv("PGPASSWORD", "wrong-wrong-wrong")
        with pytest.raises(MissingError, match=r"password authentication failed.*PGPASSFILE") as caught:
            SharedMemory(guarded, tmp_path)
        assert "wrong-wrong" not in str(caught.value)
        monkeypatch.delenv("PGPASSWORD")
        passfile = tmp_path / "pass"
        passfile.write_text(f"*:*:*:guarded:{PASSWORD}\n")
        passfile.chmod(0o600)
        monkeypatch.setenv("PGPASSFILE", str(passfile))
        with SharedMemory(guarded, tmp_path / "saves", follow=False) as memory:
            assert PASSWORD not in repr(vars(memory.server)).replace(repr(memory.server.password), "")
            memory.scope(NAME).records.add(Kept("note", f"the password is {PASSWORD}"))
            assert memory.scope(NAME).records.all()[0].text == "the password is [redacted]"
        for path in (tmp_path / "saves").rglob("*"):
            assert not path.is_file() or PASSWORD.encode() not in path.read_bytes()
    finally:
        rules.write_text(before)
        cluster.sql("SELECT pg_reload_conf()")


# ----------------------------------------------------------------------------------------- databases


def test_databases_that_are_not_ours_or_newer_are_left_alone(cluster: Cluster, tmp_path: Path) -> None:
    foreign, newer = cluster.database(), cluster.database()
    cluster.sql("CREATE SCHEMA jitrl", "CREATE TABLE jitrl.about (x int)", database=database(foreign))
    with pytest.raises(BadFile, match="no shared memory; it is left as it is"):
        SharedMemory(foreign, tmp_path)
    SharedMemory(newer, tmp_path, follow=False).close()
    cluster.sql("UPDATE jitrl.about SET version = 99", database=database(newer))
    with pytest.raises(BadFile, match=r"newer jitrl \(version 99"):
        SharedMemory(newer, tmp_path)
    latin = cluster.database("LATIN1")
    with pytest.raises(MissingError, match="has the encoding LATIN1"):
        SharedMemory(latin, tmp_path)


def test_a_server_that_is_too_old_is_refused(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "OLDEST_SERVER", 99)
    with pytest.raises(MissingError, match="needs 99 or newer"):
        SharedMemory(address, tmp_path)


def test_an_older_database_is_migrated_once(
    cluster: Cluster, own_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SharedMemory(own_database, tmp_path, follow=False) as memory:
        memory.scope(NAME).append(make_episode(random.Random(1), "a"))
    step = "ALTER TABLE jitrl.scopes ADD COLUMN more integer"
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, step))
    monkeypatch.setattr(schema, "VERSION", newer := schema.VERSION + 1)
    for _ in range(2):
        with SharedMemory(own_database, tmp_path, follow=False) as memory:
            assert len(memory.scope(NAME)) == 8
    assert cluster.sql("SELECT version FROM jitrl.about", database=database(own_database)) == [(newer,)]


def test_many_workers_may_make_the_tables_at_once(own_database: str) -> None:
    with ThreadPoolExecutor(16) as pool:
        servers = [DatabaseServer(own_database) for _ in range(16)]
        for connection in pool.map(lambda server: server.connect(SharedConnection(server)), servers):
            connection.close()
    assert len({server.identity for server in servers}) == 1


def test_readers_and_writers_have_the_rights_of_the_page(cluster: Cluster, own_database: str, tmp_path: Path) -> None:
    rng = random.Random(1)
    with SharedMemory(own_database, tmp_path / "owner", follow=False) as memory:
        memory.scope(NAME).append(make_episode(rng, "a"))
    page = (Path(__file__).resolve().parents[2] / "docs" / "scale.md").read_text()
    grants = page.partition("```sql\n")[2].partition("```")[0]
    cluster.sql("DROP ROLE IF EXISTS writer", "DROP ROLE IF EXISTS reader", "CREATE ROLE writer LOGIN",
                "CREATE ROLE reader LOGIN", grants, database=database(own_database))  # fmt: skip
    try:
        with SharedMemory(own_database.replace("jitrl@", "writer@"), tmp_path / "writer", follow=False) as memory:
            scope = memory.scope(NAME)
            assert scope.append(make_episode(rng, "b")) == 8
            assert memory.scope("game/new").append(make_episode(rng, "b")) == 8
            with pytest.raises(StorageError, match="must not write"):
                upkeep.forget(scope, upkeep.plan_forget(scope, episodes={"a"}), "op")
            scope.refresh()
            assert [each.uid for each in scope.episodes()] == ["a", "b"]
        with SharedMemory(own_database.replace("jitrl@", "reader@"), tmp_path / "reader", follow=False) as memory:
            assert len(memory.scope(NAME)) == 16
            with pytest.raises(StorageError, match="must not write"):
                memory.scope(NAME).append(make_episode(rng, "c"))
            assert memory.waiting == 0
        fresh = cluster.database().replace("jitrl@", "reader@")
        with pytest.raises(MissingError, match="let its owner run"):
            SharedMemory(fresh, tmp_path)
    finally:
        cluster.sql("DROP OWNED BY writer", "DROP OWNED BY reader", "DROP ROLE writer", "DROP ROLE reader",
                    database=database(own_database))  # fmt: skip


def test_a_damaged_row_is_left_out_and_found_by_verify(
    run: Run, cluster: Cluster, own_database: str, tmp_path: Path
) -> None:
    rng = random.Random(1)
    with SharedMemory(own_database, tmp_path / "a", follow=False) as memory:
        memory.scope(NAME).append_all([make_episode(rng, f"u{i}") for i in range(3)])
    assert run("memory", "verify", "--memory", own_database)[0] == 0
    harm = "UPDATE jitrl.log SET payload = overlay(payload placing '\\x00ff00ff' from 200) WHERE doc = 2"
    cluster.sql(harm, database=database(own_database))
    code, out, _ = run("memory", "verify", "--json", "--memory", own_database)
    assert code == 1
    (found,) = json.loads(out)
    assert (found["episodes"], found["damaged"], found["sound"]) == (2, 1, False)
    told: list[str] = []
    with SharedMemory(own_database, tmp_path / "b", follow=False, notice=told.append) as memory:
        assert [each.uid for each in memory.scope(NAME).episodes()] == ["u0", "u2"]
    assert "row 2 is damaged on the server" in told[0]


# ------------------------------------------------------------------------------------------ carrying


def test_a_memory_that_was_pushed_and_pulled_has_the_same_bytes(run: Run, address: str, tmp_path: Path) -> None:
    rng = random.Random(2)
    with Memory(tmp_path / "saves" / "memory") as memory:
        scope = memory.scope(NAME)
        scope.records.add(Kept("note", "hello", data={"n": [1, 2.5, "ö"]}))
        scope.append_all([make_episode(rng, f"u{i}", number=(0, 9)[i == 1]) for i in range(4)])
        upkeep.forget(scope, upkeep.plan_forget(scope, episodes={"u3"}, entries={0}), "op")
        upkeep.compact(scope)
        before = scope.path.read_bytes().splitlines()
        numbers = scope.about()
    assert run("memory", "push", address)[:2] == (0, f"{NAME}: 4 documents\n")
    code, _, err = run("memory", "push", address)
    assert code == 2
    assert "already" in err
    code, _, err = run("memory", "pull", address)
    assert code == 2
    assert "already" in err
    assert run("memory", "diff", tmp_path / "saves", address)[0] == 0
    (tmp_path / "saves" / "memory").rename(tmp_path / "old")
    assert run("memory", "pull", address)[0] == 0
    (path,) = (tmp_path / "saves" / "memory").glob(f"*/{JOURNAL}")
    after = path.read_bytes().splitlines()
    assert after[1:] == before[1:]
    heads = [json.loads(lines[0][18:]) for lines in (before, after)]
    for head in heads:
        assert head.pop("generation")
    assert heads[0] == heads[1]
    with Memory(tmp_path / "saves" / "memory") as memory, SharedMemory(address, tmp_path / "s", follow=False) as shared:
        assert memory.scope(NAME).about() == shared.scope(NAME).about() == numbers
        last = make_episode(rng, "next")
        memory.scope(NAME).append(last)
        shared.scope(NAME).append(last)
        assert list(memory.scope(NAME).entered()) == list(shared.scope(NAME).entered())


# ------------------------------------------------------------------------------------------ sessions


def test_sessions_learn_into_one_memory_as_they_do_on_disk(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)

    def play(saves: Path, *more: str) -> Any:
        size = ["--steps", "8", "--episodes", "2", "--quiet", "--json", "-"]
        assert cli.main(["run", "pantry", "--model", "prior/verbs", *size, "--saves", str(saves), *more]) == 0
        out, err = capsys.readouterr()
        assert PASSWORD not in out + err
        return json.loads(out)

    for number, seed in enumerate(("1", "2")):
        results = [
            play(tmp_path / f"machine{number}", "--memory", address, "--seed", seed),
            play(tmp_path / "disk", "--seed", seed),
        ]
        scores = [[(one["score"], one["steps"]) for one in result["episodes"]] for result in results]
        assert scores[0] == scores[1]
        assert results[0]["memory_entries"] == results[1]["memory_entries"]
        for result, memory in zip(results, ("server", "shared"), strict=True):
            assert result["experience"] == {
                "kind": "sequential", "workers": 1, "memory": memory, "episodes_before": 2 * number,
                "episodes_of_others": 0,
            }  # fmt: skip
    with SharedMemory(address, tmp_path / "look", follow=False) as shared, Memory(tmp_path / "disk/memory") as disk:
        (name,) = shared.scopes()
        actions = [
            [[step.action for step in episode.steps] for episode in memory.scope(name).episodes()]
            for memory in (shared, disk)
        ]
        assert actions[0] == actions[1]
        assert len(actions[0]) == 4
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or PASSWORD.encode() not in path.read_bytes()


def test_each_cell_of_a_benchmark_has_a_space_of_its_own(tmp_path: Path) -> None:
    suite = suites.parse(SMALL, "small", "small.toml")
    cells = make_plan(suite, EnvironmentContext(tmp_path), "small.toml", "postgresql:#team").cells
    found = [open_leg(cell, 0, tmp_path / "a run" / "cells" / cell.name).config.memory for cell in cells]
    assert found == [f"postgresql:#team/a run/{cell.name}" for cell in cells]


def test_what_was_learnt_is_kept_beside_the_replica(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    rng = random.Random(5)
    with SharedMemory(address, tmp_path / "s", follow=False) as shared:
        scope = shared.scope(NAME)
        scope.append_all(make_episode(rng, f"e{number}") for number in range(4))
        learnt.open_estimator(GraphEstimator, scope, Settings(), opening=OpeningNumbers(relived_s=0.0))
        (path,) = (tmp_path / "s").rglob(LEARNT)
        assert path.parent == scope.folder
        scope.append(make_episode(rng, "late"))
    known: list[int] = []
    load = learnt.load

    def loaded(*arguments: Any) -> Any:
        found = load(*arguments)
        known.append(0 if found is None else found[0])
        return found

    monkeypatch.setattr(learnt, "load", loaded)
    with SharedMemory(address, tmp_path / "s", follow=False) as shared:
        scope = shared.scope(NAME)
        learnt.open_estimator(GraphEstimator, scope, Settings())
        assert known == [sum(len(episode.steps) for episode in list(scope.episodes())[:4])]
    with SharedMemory(address, tmp_path / "another machine", follow=False) as shared:
        learnt.open_estimator(GraphEstimator, shared.scope(NAME), Settings())
        assert known[1:] == [0]


def test_who_finds_that_another_read_the_scope_anew_takes_in_what_came_after(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        SharedMemory(address, tmp_path / "one") as one,
        SharedMemory(address, tmp_path / "other", follow=False) as other,
    ):
        records, scope = one.scope("demo").records, other.scope("demo")
        replica = scope.replica
        records.add(Kept("note", "first"))
        read_anew = replica._read_anew

        def late(log: Log, before: Cursor) -> None:
            monkeypatch.undo()
            replica._replace_all(log)  # as another thread does, before there is a second record
            records.add(Kept("note", "second"))
            read_anew(log, before)

        monkeypatch.setattr(replica, "_read_anew", late)
        scope.refresh()
        assert [record.text for record in scope.records.all()] == ["first", "second"]
