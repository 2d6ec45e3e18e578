"""Whatever happens to the file: what was acknowledged is there, no half episode is, and one line tells."""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.errors import BadFile, StorageError
from engine.memory import Memory
from engine.memory.disk import frame
from engine.memory.disk.database import JournalDB
from engine.memory.scope import Scope
from engine.memory.upkeep import verify
from engine.records import Episode
from tests.memory.lives import make_episode

NAME = "game/test"


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder in memory where there is one: this is about bytes, and syncing thousands of times is slow."""
    where = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=where) as name:
        yield Path(name)


@pytest.fixture
def lived(tmp_path: Path) -> list[Episode]:
    """Three short episodes, stored in `tmp_path`."""
    rng = random.Random(1)
    scope = Scope(tmp_path, NAME)
    for number in (1, 2, 3):
        scope.append(make_episode(rng, f"u{number}", 2, words=2))
    scope.close()
    return list(Scope(tmp_path, NAME).episodes())


def reopened(folder: Path) -> tuple[list[Episode], list[str]]:
    """Return what a new process would see, and what the person is told."""
    scope = Scope(folder, NAME)
    episodes = list(scope.episodes())
    assert len(scope) == sum(len(episode.steps) for episode in episodes)
    scope.close()
    return episodes, scope.notices


def test_a_tail_torn_at_any_byte_costs_nothing_that_was_acknowledged(
    tmp_path: Path, lived: list[Episode]
) -> None:
    path = tmp_path / "episodes.jnl"
    whole = path.read_bytes()
    start = whole.rindex(b"\n", 0, len(whole) - 1) + 1
    for cut in sorted({*range(start, len(whole), 13), len(whole) - 2, len(whole) - 1}):
        path.write_bytes(whole[:cut])
        episodes, notices = reopened(tmp_path)
        if cut == start:
            assert (episodes, notices) == (lived[:2], [])
            continue
        assert episodes == lived[:2]
        (aside,) = tmp_path.glob("torn-*.bin")
        assert aside.read_bytes() == whole[start:cut]
        aside.unlink()
        assert len(notices) == 1
        assert verify(path).sound
        assert reopened(tmp_path)[1] == []  # told once
        scope = Scope(tmp_path, NAME)
        scope.append(lived[2])  # sent again
        assert list(scope.episodes()) == lived


def test_a_flipped_bit_costs_the_line_it_is_in_and_is_told(tmp_path: Path, lived: list[Episode]) -> None:
    path = tmp_path / "episodes.jnl"
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    starts = [sum(map(len, lines[:n])) for n in range(len(lines))]
    rng = random.Random(2)
    for place in [*rng.sample(range(len(whole) * 8), 100), *(8 * start + 1 for start in starts)]:
        flipped = bytearray(whole)
        flipped[place // 8] ^= 1 << place % 8
        path.write_bytes(flipped)
        hit = sum(start <= place // 8 for start in starts) - 1
        if hit == 0:
            with pytest.raises(BadFile, match="jitrl memory recover"):
                Scope(tmp_path, NAME)
            assert path.read_bytes() == flipped
            continue
        of_line = place // 8 - starts[hit]
        lost = {hit, hit + 1} if of_line == len(lines[hit]) - 1 else {hit}  # without its newline, two are one
        if 8 < of_line < 17:  # in the digest, which is not looked at
            lost = set()
        episodes, notices = reopened(tmp_path)
        assert episodes == [one for n, one in enumerate(lived, 1) if n not in lost], place
        assert len(notices) == (1 if lost else 0)
        for aside in tmp_path.glob("torn-*.bin"):
            aside.unlink()


@pytest.mark.parametrize("when", ["before it was opened", "while it was open"])
def test_damage_is_left_out_told_and_kept_when_the_file_is_written_anew(
    tmp_path: Path, lived: list[Episode], when: str
) -> None:
    path = tmp_path / "episodes.jnl"
    whole = path.read_bytes()
    damaged = whole.replace(b'"u2"', b'"\x00\x00"', 1)
    scope = Scope(tmp_path, NAME)
    path.write_bytes(damaged)
    if when == "before it was opened":
        scope = Scope(tmp_path, NAME)
    episodes = list(scope.episodes())
    assert episodes == [lived[0], lived[2]]
    assert "damaged" in scope.notices[0]
    assert not verify(path).sound
    assert scope.append(make_episode(random.Random(4), "more", 3)) == 3
    scope.journal.rewrite({})
    assert [e.uid for e in scope.episodes()] == ["u1", "u3", "more"]
    (kept,) = tmp_path.glob("damaged-*.bak")
    assert kept.read_bytes().startswith(damaged)
    assert verify(path).sound
    assert reopened(tmp_path)[1] == []


@pytest.mark.parametrize(
    "content",
    [
        b'{"_default": {"1": {"a": 1}}}',  # TinyDB's own
        b"SQLite format 3\x00" + bytes(4000),
        b"one line\n",
        b"\n",
        os.urandom(5000),
        b"00000000 00000000 {}\n",
        frame.encode(b'{"format":"something-else","schema":1}'),
        frame.encode(b'["jitrl-journal"]'),
        frame.encode(b'{"format":"jitrl-journal","schema":1,"generation":"a"}')[:30],
    ],
)
def test_a_foreign_file_is_never_touched(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "episodes.jnl"
    path.write_bytes(content)
    with pytest.raises(BadFile, match="left as it is"):
        Scope(tmp_path, NAME)
    with pytest.raises(BadFile):
        JournalDB(path).insert({"a": 1})
    with pytest.raises(BadFile):
        verify(path)
    assert path.read_bytes() == content
    assert {one.name for one in tmp_path.iterdir()} <= {"episodes.jnl", "lock"}


def test_a_file_replaced_by_a_foreign_one_while_open_is_not_touched(
    tmp_path: Path, lived: list[Episode]
) -> None:
    scope = Scope(tmp_path, NAME)
    (tmp_path / "new").write_bytes(b"something else entirely\n")
    os.replace(tmp_path / "new", scope.path)
    with pytest.raises(BadFile):
        scope.append(make_episode(random.Random(1), "x"))
    assert scope.path.read_bytes() == b"something else entirely\n"


def test_an_empty_file_is_a_new_memory(tmp_path: Path) -> None:
    (tmp_path / "episodes.jnl").touch()
    scope = Scope(tmp_path, NAME)
    assert scope.append(make_episode(random.Random(1), "x")) == 8
    assert len(reopened(tmp_path)[0]) == 1


def test_a_newer_file_is_refused_untouched(tmp_path: Path, lived: list[Episode]) -> None:
    path = tmp_path / "episodes.jnl"
    first, rest = path.read_bytes().split(b"\n", 1)
    header = json.loads(frame.decode(first) or b"")
    path.write_bytes(frame.encode(json.dumps({**header, "schema": 99}).encode()) + rest)
    content = path.read_bytes()
    for attempt in (lambda: Scope(tmp_path, NAME), lambda: verify(path)):
        with pytest.raises(BadFile, match="newer jitrl"):
            attempt()
    assert path.read_bytes() == content


def test_a_journal_of_another_version_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.jnl"
    db = JournalDB(path)
    db.insert({"name": "x"})
    written = path.read_bytes()
    for schema, why in ((2, "newer"), (0, "can no longer read")):
        header = frame.decode(written.splitlines()[0])
        assert header is not None
        other = frame.encode(header.replace(b'"schema":1', b'"schema":%d' % schema))
        content = other + written.split(b"\n", 1)[1]
        (tmp_path / "other").write_bytes(content)
        (tmp_path / "other").replace(path)
        with pytest.raises(BadFile, match=why):
            JournalDB(path)
        with pytest.raises(BadFile, match=why):
            db.insert({"name": "y"})  # the program that was open meanwhile does not touch it either
        assert path.read_bytes() == content


def test_documents_that_are_no_episodes_are_left_out(tmp_path: Path, lived: list[Episode]) -> None:
    scope = Scope(tmp_path, NAME)
    good = scope.journal.document("episodes", 1)
    assert good is not None
    for wrong in (
        {"hello": "world"},
        {**good, "uid": "n1", "steps": []},
        {**good, "uid": "n2", "first": 100, "final": [99, 0]},
        {**good, "uid": "n3", "first": 100, "states": [{"text": "x", "tokens": "abc"}]},
        {**good, "uid": "n4", "first": 100, "steps": [{**good["steps"][0], "reward": "NaN"}]},
        {**good, "uid": "n5", "first": 0},
        good,
    ):
        scope.db.insert(wrong)
    episodes, notices = reopened(tmp_path)
    assert episodes[:3] == lived
    assert len(Scope(tmp_path, NAME)) == 6
    assert len(notices) == 7
    assert Scope(tmp_path, NAME).append(make_episode(random.Random(9), "fine")) == 8


def test_a_line_of_json_that_python_would_choke_on_is_left_out(tmp_path: Path, lived: list[Episode]) -> None:
    with (tmp_path / "episodes.jnl").open("ab") as file:
        file.write(frame.encode(b"[" * 100_000))
        file.write(frame.encode(b'{"table":"episodes","put":{"x":{}}}'))
        file.write(frame.encode(b'{"table":"episodes","put":[1]}'))
    episodes, notices = reopened(tmp_path)
    assert episodes == lived
    assert len(notices) == 1


# ------------------------------------------------------------------------- no room, no rights


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = shutil.which("mount")
    if os.geteuid() != 0 or mount is None:
        pytest.skip("only root may mount a small file system; the file size limit is tested instead")
    done = subprocess.run([mount, "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], capture_output=True)
    if done.returncode:
        pytest.skip("no file system can be mounted here; the file size limit is tested instead")
    yield folder
    subprocess.run(["umount", str(folder)], check=False)


def fill(scope: Scope) -> list[Episode]:
    """Append until there is no room; return what was acknowledged."""
    rng, acknowledged = random.Random(5), []
    with pytest.raises(StorageError, match="nothing stored before is lost"):  # noqa: PT012 -- sooner or later
        for number in range(10_000):
            episode = make_episode(rng, f"e{number}", rng.randrange(1, 60), number=number + 1)
            scope.append(episode)
            acknowledged.append(episode)
    return acknowledged


def test_a_full_disk_loses_nothing_and_goes_on_when_there_is_room(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(300_000))
    with Memory(small_disk / "memory") as memory:
        scope = memory.scope(NAME)
        acknowledged = fill(scope)
        assert len(acknowledged) > 10
        assert list(scope.episodes()) == acknowledged
        with Memory(small_disk / "memory") as other:
            assert list(other.scope(NAME).episodes()) == acknowledged
            assert other.scope(NAME).notices == []
        with pytest.raises(StorageError):  # a rewrite needs as much room again
            scope.db.update({"agent": "x" * 1000})
        assert list(scope.episodes()) == acknowledged
        ballast.unlink()
        more = make_episode(random.Random(6), "room again", 20, number=9999)
        assert scope.append(more) == 20
        assert list(scope.episodes()) == [*acknowledged, more]
        assert verify(scope.path).sound
    assert not list(small_disk.rglob("*.part"))


def limited(folder: str) -> None:
    """Run in a process of its own: no file may grow beyond 200 kB."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
    scope = Scope(Path(folder), NAME)
    acknowledged = fill(scope)
    assert list(scope.episodes()) == acknowledged
    print(json.dumps([episode.uid for episode in acknowledged]))


def test_a_write_that_stops_midway_is_taken_back(tmp_path: Path) -> None:
    code = f"from tests.memory.test_faults import limited; limited({str(tmp_path)!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    episodes, notices = reopened(tmp_path)
    assert [episode.uid for episode in episodes] == json.loads(done.stdout)
    assert notices == []
    assert (tmp_path / "episodes.jnl").stat().st_size < 200_000


def unprivileged(folder: str) -> None:
    """Run in a process of its own: look at a memory that may not be written to."""
    if os.geteuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    scope = Scope(Path(folder), NAME)
    episodes = list(scope.episodes())
    near = scope.neighbours(episodes[0].steps[0].state, k=3, r=0.9, gamma=0.5)
    told = ""
    try:
        scope.append(make_episode(random.Random(1), "new"))
    except StorageError as error:
        told = str(error)
    scope.close()
    print(json.dumps([len(episodes), len(near), told, scope.notices]))


def test_a_read_only_folder_can_be_read() -> None:
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders are closed to others
        folder = Path(name)
        scope = Scope(folder, NAME)
        scope.append_all([make_episode(random.Random(number), f"u{number}") for number in range(4)])
        scope.close()
        with scope.path.open("ab") as file:
            file.write(b"half a li")  # nobody may mend this here
        content = scope.path.read_bytes()
        scope.path.chmod(0o444)
        (folder / "lock").unlink()
        folder.chmod(0o555)
        code = f"from tests.memory.test_faults import unprivileged; unprivileged({name!r})"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
        folder.chmod(0o700)
        assert done.returncode == 0, done.stderr
        episodes, near, told, notices = json.loads(done.stdout)
        assert episodes == 4
        assert near >= 1
        assert told.startswith("cannot write to ")
        assert notices == []
        assert scope.path.read_bytes() == content


def test_what_a_killed_rewrite_left_is_removed_by_the_next_writer(tmp_path: Path, lived: list[Episode]) -> None:
    if (pid := os.fork()) == 0:
        os.replace = lambda *_, **__: os._exit(9)  # type: ignore[assignment]
        try:
            Scope(tmp_path, NAME).journal.rewrite({})
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9
    before = set(tmp_path.iterdir())
    scope = Scope(tmp_path, NAME)
    scope.append(make_episode(random.Random(4), "u4"))
    gone = before - set(tmp_path.iterdir())
    assert gone == {path for path in before if path.name.endswith(".part")} != set()
    assert [episode.uid for episode in scope.episodes()] == ["u1", "u2", "u3", "u4"]


def test_a_memory_whose_file_was_removed_is_empty_and_goes_on(tmp_path: Path, lived: list[Episode]) -> None:
    scope = Scope(tmp_path, NAME)
    state = lived[0].steps[0].state
    assert scope.neighbours(state, k=9, r=0.0, gamma=0.5)
    scope.path.unlink()
    scope.refresh()
    assert (len(scope), list(scope.episodes()), scope.neighbours(state, k=9, r=0.0, gamma=0.5)) == (0, [], ())
    scope.append(make_episode(random.Random(4), "u4"))
    assert [episode.uid for episode in scope.episodes()] == ["u4"]


def test_a_folder_that_vanishes_is_an_error_not_a_crash(tmp_path: Path) -> None:
    scope = Scope(tmp_path / "a", NAME) if (tmp_path / "a").mkdir() is None else None
    assert scope is not None
    scope.append(make_episode(random.Random(1), "x"))
    shutil.rmtree(tmp_path / "a")
    with pytest.raises(StorageError):
        scope.append(make_episode(random.Random(1), "y"))


def test_an_append_returns_only_when_the_disk_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[tuple[int, int]] = []
    real = os.fsync

    def fsync(fd: int) -> None:
        real(fd)
        synced.append((os.fstat(fd).st_ino, os.fstat(fd).st_size))

    monkeypatch.setattr(os, "fsync", fsync)
    scope = Scope(tmp_path, NAME)
    for number in range(3):
        scope.append(make_episode(random.Random(number), f"u{number}"))
        assert synced[-1] == (scope.path.stat().st_ino, scope.path.stat().st_size)
    # The folders may be as new as the file: their names are on the disk, too.
    assert {above.stat().st_ino for above in list(tmp_path.parents)[:2]} <= {inode for inode, _ in synced}
    scope.journal.rewrite({})
    assert (scope.path.stat().st_ino, scope.path.stat().st_size) in synced
    assert synced[-1][0] == tmp_path.stat().st_ino  # the new name, too
