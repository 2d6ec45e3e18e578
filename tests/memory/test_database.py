"""TinyDB on a journal does what TinyDB does, on a file that several share."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from tinydb import Query, TinyDB, where
from tinydb.operations import add, delete, increment
from tinydb.storages import MemoryStorage
from tinydb.table import Document

from engine.errors import BadFile, StorageError
from engine.memory.disk import files
from engine.memory.disk.database import JournalDB
from engine.memory.disk.journal import Journal

KEYS = "abc"


def step(rng: random.Random, db: Any) -> Any:
    """Do one random thing and return what came of it."""
    doc = {rng.choice(KEYS): rng.randrange(4), "n": rng.randrange(9), "deep": {"list": [rng.randrange(3)]}}
    cond = where(rng.choice(KEYS)) == rng.randrange(4)
    table = rng.choice([db, db.table("other")])
    match rng.randrange(15):
        case 0 | 1 | 2:
            return table.insert(doc)
        case 3:
            return table.insert_multiple([doc, {"x": 'é\n"{'}, {}])
        case 4:
            return table.update({"u": rng.randrange(3)}, cond)
        case 5:
            return table.update(increment("n"), where("n").exists())
        case 6:
            return table.update(delete("u"), where("u").exists())
        case 7:
            return table.upsert(doc, cond)
        case 8:
            return table.remove(cond)
        case 9:
            ids = [d.doc_id for d in table][:2]
            return table.remove(doc_ids=[*ids, 10_000]) if ids else None
        case 10:
            return sorted(d.doc_id for d in table.search(Query().deep.list.any([1]) & (where("n") > 2)))
        case 11:
            return table.update_multiple([({"m": 1}, where("n") == 1), (add("n", 2), where("n") == 2)])
        case 12:
            return table.get(cond), table.contains(cond), table.count(cond), table.get(doc_id=3)
        case 13:
            return table.truncate() if rng.random() < 0.2 else len(table)
        case _:
            return (
                db.drop_table("other")
                if rng.random() < 0.3
                else sorted(n for n in db.tables() if len(db.table(n)))
            )


def contents(db: Any) -> Any:
    return {name: {d.doc_id: dict(d) for d in db.table(name)} for name in ("_default", "other")}


@pytest.mark.parametrize("seed", range(5))
def test_the_documented_api_behaves_as_on_tinydb_itself(tmp_path: Path, seed: int) -> None:
    ours, theirs = JournalDB(tmp_path / "a.jnl"), TinyDB(storage=MemoryStorage)
    other = JournalDB(tmp_path / "a.jnl")  # a second one on the same file sees the same
    one, two = random.Random(seed), random.Random(seed)
    for number in range(60):
        # Ids are never given twice here; TinyDB gives those of removed documents again.
        for name in ("_default", "other"):
            theirs.table(name)._next_id = ours.journal.next_id(name)
        got, want = step(one, ours), step(two, theirs)
        assert got == want, number
        assert contents(ours) == contents(theirs)
        assert contents(other) == contents(theirs)
    assert contents(JournalDB(tmp_path / "a.jnl")) == contents(theirs)


def test_documents_may_bring_their_ids(tmp_path: Path) -> None:
    db = JournalDB(tmp_path / "a.jnl")
    assert db.insert(Document({"a": 1}, doc_id=7)) == 7
    with pytest.raises(ValueError, match="already exists"):
        db.insert(Document({"a": 1}, doc_id=7))
    assert db.insert({"a": 2}) == 8
    assert db.upsert(Document({"a": 3}, doc_id=7)) == [7]
    assert [dict(d) for d in db] == [{"a": 3}, {"a": 2}]


def test_a_name_or_an_id_beyond_the_limits_is_refused(tmp_path: Path) -> None:
    db = JournalDB(tmp_path / "a.jnl")
    with pytest.raises(BadFile, match="cannot be stored"):
        db.table("t" * 2000).insert({"a": 1})
    with pytest.raises(BadFile, match="cannot be stored"):
        db.insert(Document({"a": 1}, doc_id=1 << 70))
    assert list(db) == []


def test_inserting_appends_and_touches_nothing_before(tmp_path: Path) -> None:
    db = JournalDB(tmp_path / "a.jnl")
    db.insert({"a": 1})
    before = (tmp_path / "a.jnl").read_bytes()
    db.insert_multiple([{"b": 1}, {"b": 2}])
    after = (tmp_path / "a.jnl").read_bytes()
    assert after.startswith(before)
    assert after[len(before) :].count(b"\n") == 2  # each wholly or not at all: a line each


def test_an_update_that_fails_changes_nothing(tmp_path: Path) -> None:
    db = JournalDB(tmp_path / "a.jnl")
    db.insert_multiple([{"n": 1}, {"n": 2}, {"n": "three"}])
    before = (tmp_path / "a.jnl").read_bytes()
    with pytest.raises(TypeError):
        db.update(increment("n"))
    with pytest.raises(ValueError, match="Mapping"):
        db.insert_multiple([{"n": 4}, "no mapping"])  # type: ignore[list-item]
    assert (tmp_path / "a.jnl").read_bytes() == before
    assert [d["n"] for d in db] == [1, 2, "three"]


def test_an_update_writes_what_is_another_value_and_nothing_else(tmp_path: Path) -> None:
    db = JournalDB(tmp_path / "a.jnl")
    db.insert_multiple([{"n": 1}, {"n": 2}])
    before = (tmp_path / "a.jnl").read_bytes()
    db.update({"n": 1}, where("n") == 1)
    assert (tmp_path / "a.jnl").read_bytes() == before
    db.update({"n": True}, doc_ids=[1])  # which equals 1
    assert [d["n"] is True for d in JournalDB(tmp_path / "a.jnl")] == [True, False]


def test_nobody_else_writes_during_an_update(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db, other = JournalDB(tmp_path / "a.jnl"), JournalDB(tmp_path / "a.jnl")
    db.insert({"n": 1})
    monkeypatch.setattr(files, "LOCK_WAIT_S", 0.05)

    def meanwhile(document: Any) -> None:
        with pytest.raises(StorageError, match="another program has been writing"):
            other.insert({"n": 5})
        document["n"] += 1

    db.update(meanwhile, where("n") == 1)
    assert [d["n"] for d in other] == [2]


def test_stock_tinydb_works_on_the_storage(tmp_path: Path) -> None:
    with TinyDB(tmp_path / "a.jnl", storage=Journal) as db:
        db.insert({"a": 1})
        db.table("t").insert({"b": 2})
        db.update({"a": 5}, where("a") == 1)
    with JournalDB(tmp_path / "a.jnl") as db:
        assert [dict(d) for d in db] == [{"a": 5}]
        assert [dict(d) for d in db.table("t")] == [{"b": 2}]
        db.drop_tables()
        assert db.tables() == set()
