"""Kept records: append-only beside the episodes, clean and bounded, shared between processes, carried and forgotten."""

from __future__ import annotations

import io
import json
import random
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tinydb import where

from engine.errors import BadFile, StorageError
from engine.limits import DATA, DATA_DEPTH, TEXT
from engine.memory import Memory, upkeep
from engine.memory.disk import files
from engine.memory.disk.document import KEPT
from engine.memory.exact import snapshot
from engine.memory.scope import SNAPSHOT
from engine.records import Kept
from jitrl_tui import cli
from tests import commands
from tests.memory.lives import make_episode, make_state

NAME = "game/zork1-abc"


def lesson(number: int, **changes) -> Kept:
    return Kept("reflection", f"lesson {number}", **{"agent": "a", "session": "s", "episode": number, **changes})


def texts(scope) -> list[str]:
    return [record.text for record in scope.records.all()]


def nested(depth: int):
    return {"a": nested(depth - 1)} if depth else 1


def run(capsys, *arguments: object) -> tuple[int, str, str]:
    code = cli.main(["memory", *map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture
def saves(tmp_path: Path) -> Path:
    """A saves folder with two episodes and three records, two of them of the first episode."""
    with Memory(tmp_path / "memory") as memory:
        scope = memory.scope(NAME)
        rng = random.Random(1)
        scope.append_all([make_episode(rng, "one", 4), make_episode(rng, "two", 4)])
        scope.records.add_all([
            lesson(1, episode_uid="one", model="m", data={"score": 3.0}),
            lesson(2, episode_uid="one"),
            lesson(3, episode_uid="two"),
        ])  # fmt: skip
    return tmp_path


def test_what_is_kept_comes_back_in_order_from_another_process(tmp_path):
    with Memory(tmp_path) as memory:
        scope = memory.scope(NAME)
        assert scope.records.all() == []
        kept = [scope.records.add(lesson(n, data={"n": [n, None, {"x": 1.5}]}, at=12.0)) for n in range(3)]
        assert [one.scope for one in kept] == [NAME] * 3
        assert len({one.uid for one in kept}) == 3
        # A scope with records alone is a scope like any other.
        assert memory.scopes() == [NAME]
        assert (scope.episode_count, len(scope)) == (0, 0)
    code = (f"from engine.memory import Memory\nfrom engine.codec import to_plain\nimport json\n"
            f"found = Memory({str(tmp_path)!r}).scope({NAME!r}).records.all()\n"
            f"print(json.dumps(to_plain(found)))")  # fmt: skip
    said = commands.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert [Kept(**one) for one in json.loads(said.stdout)] == kept


def test_it_is_a_table_of_the_scopes_tinydb(saves):
    with Memory(saves / "memory") as memory:
        table = memory.scope(NAME).db.table(KEPT)
        found = table.search(where("episode_uid") == "one")
        assert [one["text"] for one in found] == ["lesson 1", "lesson 2"]
        assert [episode["uid"] for episode in memory.scope(NAME).db.all()] == ["one", "two"]


def test_secrets_do_not_come_in_and_texts_are_bounded(tmp_path):
    secret = "hunter2hunter2"
    with Memory(tmp_path, secrets=[secret]) as memory:
        records = memory.scope(NAME).records
        kept = records.add(Kept("k", f"say {secret}\x1b[31m", {f"key {secret}": [f"in {secret}", {"deep": secret}]}))
        assert secret not in json.dumps([kept.text, kept.data])
        assert kept.text == "say [redacted]\N{REPLACEMENT CHARACTER}[31m"
        long = records.add(Kept("k", "x" * (TEXT + 5), {"y": "y" * (TEXT + 5)}))
        assert (len(long.text), len(long.data["y"])) == (TEXT + 1, TEXT + 1)
        assert records.all() == [kept, long]
    assert secret.encode() not in b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    "record",
    [
        Kept("", "no kind"),
        Kept("k\n", "no printable kind"),
        Kept("k", "nan", {"x": float("nan")}),
        Kept("k", "no JSON", {"x": {1, 2}}),
        Kept("k", "a list", [1]),  # type: ignore[arg-type]
        Kept("k", "too deep", nested(DATA_DEPTH + 1)),
        Kept("k", "far too deep", nested(900)),
        Kept("k", "too much", {str(n): "x" * 60_000 for n in range(DATA // 60_000 + 1)}),
        Kept("k", "from nowhere", provenance="heaven"),
        Kept("k", "never", at=float("inf")),
    ],
    ids=lambda record: record.text,
)
def test_what_cannot_be_stored_is_refused_and_nothing_is_written(tmp_path, record):
    with Memory(tmp_path) as memory:
        scope = memory.scope(NAME)
        with pytest.raises(BadFile):
            scope.records.add(record)
        assert not scope.path.exists()


def test_a_failing_disk_leaves_what_was_there(tmp_path, monkeypatch):
    with Memory(tmp_path) as memory:
        records = memory.scope(NAME).records
        records.add(lesson(1))

        def full(*_):
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(files, "write_all", full)
            with pytest.raises(StorageError, match="No space left"):
                records.add(lesson(2))
        assert texts(memory.scope(NAME)) == ["lesson 1"]
        records.add(lesson(3))
        assert texts(memory.scope(NAME)) == ["lesson 1", "lesson 3"]


def test_a_crash_at_any_byte_of_a_record_loses_that_record_alone(saves):
    path = next((saves / "memory").glob("*/episodes.jnl"))
    whole = path.read_bytes()
    last = whole[:-1].rfind(b"\n") + 1
    for cut in range(last, len(whole), 7):
        path.write_bytes(whole[:cut])
        with Memory(saves / "memory") as memory:
            scope = memory.scope(NAME)
            assert texts(scope) == ["lesson 1", "lesson 2"]
            assert scope.episode_count == 2
            scope.records.add(lesson(4))
            assert texts(scope) == ["lesson 1", "lesson 2", "lesson 4"]


def test_a_foreign_document_is_left_out_and_told(tmp_path):
    told: list[str] = []
    with Memory(tmp_path, notice=told.append) as memory:
        scope = memory.scope(NAME)
        scope.records.add(lesson(1))
        no_uid = {"kind": "k", "text": "x"}
        for document in ({"kind": "k"}, {"kind": "k", "text": 3}, no_uid, no_uid | {"uid": "\x1b"}):
            scope.db.table(KEPT).insert(document)
        assert texts(scope) == ["lesson 1"]
        assert len(told) == 4
        assert upkeep.verify(scope.path).kept == 1
        assert upkeep.verify(scope.path).unreadable == 4


def test_a_large_memory_still_opens_from_its_snapshot_with_all_records(tmp_path):
    rng = random.Random(2)
    with Memory(tmp_path) as memory:
        scope = memory.scope(NAME)
        scope.records.add_all([lesson(1), lesson(2)])
        upkeep.forget_all(memory, [(scope, upkeep.plan_forget(scope, kept={"2"}))])
        scope.append_all(make_episode(rng, f"e{n}", 700) for n in range(8))
        scope.records.add(lesson(3))
    with Memory(tmp_path) as memory:
        scope = memory.scope(NAME)
        assert scope.restored == 5600
        assert snapshot.load(scope.folder / SNAPSHOT) is not None
        assert texts(scope) == ["lesson 1", "lesson 3"]
        scope.records.add(lesson(4))  # an id is never given twice
        assert [doc_id for doc_id, _ in scope.records.entered()] == [1, 3, 4]
        upkeep.compact(scope)
        assert texts(scope) == ["lesson 1", "lesson 3", "lesson 4"]
        assert scope.neighbours(make_state(rng), k=1, r=0.0, gamma=0.5)


# ------------------------------------------------------------------------------------- the command line


def test_lists_show_what_is_kept(saves, capsys):
    (item,) = json.loads(run(capsys, "ls", "--json", "--saves", saves)[1])
    assert item["kept"] == 3
    assert run(capsys, "ls", "--saves", saves)[1].rstrip().endswith("3 kept")
    assert json.loads(run(capsys, "stats", "--json", "--saves", saves)[1])[0]["kept_by"] == {"a reflection": 3}
    out = run(capsys, "show", "zork1", "--saves", saves)[1]
    assert "kept 1  reflection  a with m  episode 1 of s  agent  game/zork1-abc\n  lesson 1\n" in out
    shown = json.loads(run(capsys, "show", "zork1", "--kept", "--json", "--saves", saves)[1])
    assert [(one["kept"], one["text"]) for one in shown] == [(1, "lesson 1"), (2, "lesson 2"), (3, "lesson 3")]
    assert 'data    {"score": 3.0}' in run(capsys, "show", "zork1", "--kept", "1", "--saves", saves)[1]
    code, _, err = run(capsys, "show", "zork1", "--kept", "9", "--saves", saves)
    assert (code, err.count("\n")) == (2, 1)
    (hit,) = json.loads(run(capsys, "search", "LESSON 2", "--json", "--saves", saves)[1])
    assert (hit["kept"], hit["agent"]) == (2, "a")
    assert "3 kept" in run(capsys, "verify", "--saves", saves)[1]


def test_forgetting_takes_records_out_and_undo_puts_them_back(saves, capsys):
    def left() -> tuple[list[str], list[int]]:
        with Memory(saves / "memory") as memory:
            scope = memory.scope(NAME)
            return texts(scope), [episode.number for episode in scope.episodes()]

    whole = left()
    code, out, err = run(capsys, "forget", "zork1", "--kept", "1", "--saves", saves)
    assert (code, out) == (0, f"{NAME}: 0 entries, among them 0 whole episodes and 1 kept record\n")
    assert "forgot 0 entries and 1 kept record" in err
    assert left() == (["lesson 2", "lesson 3"], [1, 2])
    assert "put back 0 entries and 1 kept record" in run(capsys, "forget", "--undo", "--saves", saves)[2]
    assert left() == whole
    # What was kept of an episode goes with it.
    assert run(capsys, "forget", "zork1", "--episode", "1", "--saves", saves)[0] == 0
    assert left() == (["lesson 3"], [2])
    assert run(capsys, "forget", "--undo", "--saves", saves)[0] == 0
    assert (sorted(left()[0]), left()[1]) == (whole[0], [1, 2])
    assert run(capsys, "forget", "zork1", "--kept", "all", "--saves", saves)[0] == 0
    assert left() == ([], [1, 2])
    assert run(capsys, "compact", "--purge", "--saves", saves)[0] == 0
    assert b"lesson" not in b"".join(path.read_bytes() for path in saves.rglob("*") if path.is_file())


def test_exports_carry_records_and_imports_mark_them(saves, tmp_path, capsys):
    file, there = tmp_path / "out.jsonl", tmp_path / "there"
    assert "wrote 2 episodes and 3 kept records" in run(capsys, "export", file, "--saves", saves)[2]
    code, _, err = run(capsys, "import", file, "--as", "friend", "--saves", there)
    assert code == 0
    assert "took 2 episodes with 8 entries and 3 kept records; 0 known already, 0 refused" in err
    with Memory(saves / "memory") as one, Memory(there / "memory") as other:
        mine, theirs = (memory.scope(NAME).records.all() for memory in (one, other))
    assert theirs == [replace(record, provenance="imported:friend") for record in mine]
    assert "5 known already" in run(capsys, "import", file, "--as", "friend", "--saves", there)[2]
    assert run(capsys, "forget", "--provenance", "imported:friend", "--saves", there)[0] == 0
    with Memory(there / "memory") as memory:
        assert texts(memory.scope(NAME)) == []
    merged = run(capsys, "merge", saves, "--saves", tmp_path / "third")[2]
    assert "2 episodes with 8 entries and 3 kept records" in merged


def test_a_line_of_an_export_that_is_no_record_is_refused_and_told(saves, tmp_path, capsys):
    file = tmp_path / "out.jsonl"
    bad = [{"kept": {"kind": "k"}}, {"kept": 3}, {"kept": {"kind": "", "text": "x", "scope": NAME}}]
    file.write_text("\n".join(map(json.dumps, [{"format": "jitrl-episodes", "version": 2}, *bad])) + "\n")
    code, _, err = run(capsys, "import", file, "--saves", tmp_path / "there")
    assert code == 1
    assert "took 0 episodes with 0 entries; 0 known already, 3 refused" in err


def test_a_version_that_knows_no_records_reads_the_journal_and_refuses_only_their_lines(saves):
    # What such a version does: it looks at the table of episodes, and reads each line of an export as one.
    from engine.codec import from_plain
    from engine.memory import exchange
    from engine.records import Episode

    with Memory(saves / "memory") as memory:
        out = io.StringIO()
        exchange.export_episodes(out, [memory.scope(NAME)])
    head, *lines = out.getvalue().splitlines()
    assert json.loads(head) == {"format": "jitrl-episodes", "version": 2}
    read = []
    for line in lines:
        try:
            read.append(from_plain(Episode, json.loads(line)).uid)
        except BadFile:
            read.append("refused")
    assert read == ["one", "two", "refused", "refused", "refused"]
