"""What jitrl keeps for itself is readable for its owner alone; what a user asks for has their usual rights."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from engine import disk
from engine.paths import ensure_folder, saves_folder
from jitrl_tui.system import crash
from tests.commands import jitrl


@pytest.fixture(autouse=True)
def usual_umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


def rights(path):
    return stat.S_IMODE(Path(path).stat().st_mode)


RUN = ("run", "pantry", "--model", "prior/verbs", "--episodes", "1", "--steps", "3")


def test_a_run_leaves_private_files_and_tightens_those_of_before(tmp_path):
    saves = tmp_path / "saves"
    assert jitrl(*RUN, "--saves", saves, "--json", tmp_path / "out.json")[0] == 0
    assert jitrl("memory", "export", tmp_path / "out.jsonl", "--saves", saves)[0] == 0
    kept = [saves, *saves.rglob("*")]
    assert {path.name for path in kept} >= {"session.json", "events.jsonl", "episodes.jnl", "cache", "memory"}
    loose = [path for path in kept if rights(path) & 0o077]
    assert loose == []
    assert (rights(tmp_path / "out.json"), rights(tmp_path / "out.jsonl")) == (0o644, 0o644)
    for path in kept[1:]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    assert jitrl(*RUN, "--saves", saves)[0] == 0
    (journal,) = saves.glob("memory/*/episodes.jnl")
    written = [saves / "memory", journal.parent, journal, saves / "sessions", saves / "cache" / "games"]
    assert len(written) >= 5
    assert [path for path in written if rights(path) & 0o077] == []


def test_a_folder_that_the_user_names_keeps_its_rights(tmp_path):
    tmp_path.chmod(0o755)
    assert saves_folder(tmp_path) == tmp_path
    assert rights(tmp_path) == 0o755
    assert rights(saves_folder(tmp_path / "new")) == 0o700
    games = tmp_path / "games"
    assert rights(ensure_folder(games, private=False)) == 0o755
    assert rights(ensure_folder(tmp_path / "a" / "b")) == 0o700
    assert rights(tmp_path / "a") == 0o700


def test_a_file_system_without_rights_is_used_as_it_is(tmp_path, monkeypatch):
    def refused(*args, **kwargs):
        raise PermissionError(1, "Operation not permitted")

    (tmp_path / "old").touch(0o644)
    monkeypatch.setattr(os, "chmod", refused)
    disk.private_folder(tmp_path)
    disk.private_file(tmp_path / "old")
    disk.write_private(tmp_path / "new", "text")
    assert (tmp_path / "new").read_text() == "text"


def test_a_private_file_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "file"
    disk.write_private(path, "before")
    with pytest.raises(UnicodeEncodeError):
        disk.write_private(path, "half \ud800")
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_database_is_private_with_all_that_belongs_to_it(tmp_path):
    path = tmp_path / "folder" / "x.sqlite"
    disk.private_database(path)
    assert (rights(path), rights(path.parent)) == (0o600, 0o700)
    beside = path.with_name("x.sqlite-wal")
    beside.touch(0o644)
    path.chmod(0o644)
    disk.private_database(path)
    assert (rights(path), rights(beside)) == (0o600, 0o600)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(disk.Unreadable):
        disk.private_database(path)


def test_a_crash_is_written_to_a_new_private_file_without_keys(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-somebody")
    monkeypatch.setattr("jitrl_tui.system.crash.time.strftime", lambda form: "20260101-000000")
    log = tmp_path / "log"
    log.mkdir()
    aim = tmp_path / "aim"
    (log / "jitrl-crash-20260101-000000.txt").symlink_to(aim)
    error = ZeroDivisionError("a-key-of-somebody at https://me:pass@host/v1")
    for _ in range(2):
        assert "The details are in" in crash.written_down(error, tmp_path)
    assert not aim.exists()
    reports = [path for path in log.iterdir() if not path.is_symlink()]
    assert len(reports) == 2
    for report in reports:
        assert rights(report) == 0o600
        assert report.read_text() == "ZeroDivisionError: [redacted] at https://host/v1\n"
    assert crash.error_text(error) == "ZeroDivisionError: [redacted] at https://host/v1"
    monkeypatch.setenv("JITRL_SAVES", str(tmp_path / "usual"))
    crash.written_down(error, None)
    assert len(list((tmp_path / "usual" / "log").iterdir())) == 1
    (tmp_path / "file").touch()
    assert crash.written_down(error, tmp_path / "file") == "The details could not be written down."
