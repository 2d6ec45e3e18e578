"""Several processes on one memory: every write is kept, readers see whole episodes only, in order."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.errors import StorageError
from engine.memory import Memory
from engine.memory.disk import files
from engine.memory.disk.database import JournalDB
from engine.memory.disk.files import locked
from engine.memory.upkeep import verify
from tests.commands import Popen, run
from tests.memory.crowd import NAME, STEPS


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a process of `tests.memory.crowd`. Those that still run when the test ends are killed."""
    processes: list[subprocess.Popen[str]] = []

    def started(*arguments: object) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.memory.crowd", *map(str, arguments)]
        processes.append(Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return processes[-1]

    yield started
    for process in processes:
        process.kill()
        process.communicate()


def finished(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return out


@pytest.mark.parametrize("compacting", ["no", "yes"])
def test_four_writers_and_two_readers(
    tmp_path: Path, start: Callable[..., subprocess.Popen[str]], compacting: str
) -> None:
    writers = [start("write", tmp_path, f"w{i}", 8, compacting) for i in range(4)]
    readers = [start("watch", tmp_path, 32) for _ in range(2)]
    for writer in writers:
        finished(writer)
    for reader in readers:
        told = json.loads(finished(reader))
        assert (told["wrong"], told["notices"]) == ([], [])
        assert told["looks"] > 0
    with Memory(tmp_path) as memory:
        scope = memory.scope(NAME)
        assert len(scope) == 32 * STEPS
        assert {episode.uid for episode in scope.episodes()} == {
            f"w{i}-{n}" for i in range(4) for n in range(8)
        }
        assert verify(scope.path).sound


def test_updates_do_not_overwrite_each_other(
    tmp_path: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    db = JournalDB(tmp_path / "a.jnl")
    db.insert({"n": 0})
    for process in [start("count", tmp_path / "a.jnl", 25) for _ in range(3)]:
        finished(process)
    assert db.get(doc_id=1) == {"n": 75}


def test_killed_writers_lose_nothing() -> None:
    done = run(
        [sys.executable, "-m", "tests.memory.killing", "8"], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    counts = re.search(r"(\d+) survived, 0 lost \((\d+) episodes acknowledged", done.stdout)
    assert counts is not None
    assert int(counts[1]) == 8
    assert int(counts[2]) > 3  # else nothing was tried


def test_a_lock_that_nobody_gives_back_is_an_error_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = JournalDB(tmp_path / "a.jnl")
    db.insert({"n": 0})
    with locked(tmp_path / "lock"):
        monkeypatch.setattr(files, "LOCK_WAIT_S", 0.05)
        with pytest.raises(StorageError, match="another program has been writing"):
            db.insert({"n": 1})
        assert len(db) == 1  # reading needs no lock
    assert db.insert({"n": 1}) == 2
