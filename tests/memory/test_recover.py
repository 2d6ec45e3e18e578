"""`jitrl memory recover`: what the checksums confirm comes back, whatever became of the file."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from engine.errors import BadFile, StorageError, UsageError
from engine.memory import Memory
from engine.memory.disk import frame
from engine.memory.recover import recover
from engine.memory.scope import Scope
from engine.memory.upkeep import verify
from engine.records import Episode, Kept
from jitrl_tui.cli import main
from tests.memory.lives import make_episode

NAME = "game/lost-12345678"


@pytest.fixture
def saves(tmp_path: Path) -> Path:
    """A saves folder with six episodes and two kept records."""
    with Memory(tmp_path / "saves" / "memory") as memory:
        scope = memory.scope(NAME)
        for number in range(6):
            scope.append(make_episode(random.Random(number), f"u{number}", 9, words=20))
        scope.records.add(Kept("reflection", "open the mailbox", uid="k1"))
        scope.records.add(Kept("reflection", "light the lamp", uid="k2"))
    return tmp_path / "saves"


def journal_of(saves: Path) -> Path:
    (path,) = (saves / "memory").glob("*/episodes.jnl")
    return path


def lived(path: Path) -> list[Episode]:
    """Return the episodes of a journal, as the program shows them; nothing in it may be amiss."""
    assert verify(path).sound
    scope = Scope(path.parent, NAME)
    try:
        assert scope.notices == []
        return list(scope.episodes())
    finally:
        scope.close()


def test_all_episodes_behind_a_zeroed_beginning_come_back(saves, capsys):
    path = journal_of(saves)
    before = lived(path)
    damaged = bytes(512) + path.read_bytes()[512:]
    path.write_bytes(damaged)
    for command in (["verify"], ["ls"], ["show", "lost"]):
        assert main(["memory", *command, "--saves", str(saves)]) == 1
        told = "".join(capsys.readouterr())
        assert f"`jitrl memory recover {path}`" in told
    assert main(["memory", "recover", "lost", "--saves", str(saves)]) == 1  # something is lost
    out = capsys.readouterr().out
    assert "found    5 episodes with 45 entries, 2 kept records of game/lost-12345678" in out
    assert "new      the first line" in out
    assert "in 1 place" in out
    assert lived(path) == before[1:]
    with Memory(saves / "memory") as memory:
        scope = memory.scope(NAME)
        assert [one.uid for one in scope.records.all()] == ["k1", "k2"]
        assert scope.append(make_episode(random.Random(9), "later", 3)) == 3
        assert scope.append(before[3]) == 0  # known by its uid
    (aside,) = path.parent.glob("damaged-*.bak")
    assert aside.read_bytes() == damaged


def test_another_place_leaves_the_damaged_file_alone_and_nothing_is_overwritten(saves, tmp_path):
    path = journal_of(saves)
    before = lived(path)
    damaged = b"x" * 300 + path.read_bytes()[300:]
    path.write_bytes(damaged)
    to = tmp_path / "there" / "new.jnl"
    with pytest.raises(UsageError, match="there is no"):
        recover(path, to)
    to.parent.mkdir()
    found = recover(path, to)
    assert (found.episodes, found.kept, found.header, found.aside) == (5, 2, False, "")
    assert path.read_bytes() == damaged
    assert sorted(file.name for file in path.parent.iterdir()) == ["episodes.jnl", "lock"]
    with pytest.raises(UsageError, match="is there already"):
        recover(path, to)
    to.rename(to.with_name("episodes.jnl"))
    assert lived(to.with_name("episodes.jnl")) == before[1:]


def test_a_sound_journal_is_not_replaced(saves):
    path = journal_of(saves)
    content = path.read_bytes()
    with pytest.raises(UsageError, match="is sound"):
        recover(path)
    assert path.read_bytes() == content
    assert not list(path.parent.glob("*.bak")) + list(path.parent.glob("*.part"))


@pytest.mark.parametrize("content", [b"", b"\0" * 5000, b"root:x:0:0\n" * 100, bytes(range(256)) * 50])
def test_a_file_with_nothing_of_a_memory_is_refused_and_left_alone(tmp_path, content):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(BadFile, match="nothing of a memory"):
        recover(path)
    with pytest.raises(BadFile, match="nothing of a memory"):
        recover(path, tmp_path / "new")
    assert path.read_bytes() == content
    assert not (tmp_path / "new").exists()


def test_a_newer_journal_and_a_missing_one_are_refused(tmp_path):
    newer = tmp_path / "newer.jnl"
    newer.write_bytes(
        frame.encode(b'{"format":"jitrl-journal","schema":9}') + frame.encode(b'{"table":"t","put":{"1":{}}}')
    )
    with pytest.raises(BadFile, match="newer"):
        recover(newer, tmp_path / "new")
    newer.write_bytes(
        frame.encode(b'{"format":"jitrl-journal","schema":-1}') + frame.encode(b'{"table":"t","put":{"1":{}}}')
    )
    with pytest.raises(BadFile, match="no longer"):
        recover(newer, tmp_path / "new")
    with pytest.raises(UsageError, match="there is no"):
        recover(tmp_path / "nothing.jnl", tmp_path / "new")
    with pytest.raises((UsageError, StorageError)):
        recover(tmp_path, tmp_path / "new")


@pytest.mark.parametrize("table", ["kept", "others"])
def test_a_document_that_could_not_be_written_is_left_out(saves, tmp_path, table):
    path = journal_of(saves)
    odd = f'{{"table":"{table}","put":{{"9":{{"kind":"k","text":"t","uid":"u","more":"\\ud800"}}}}}}'.encode()
    path.write_bytes(path.read_bytes() + frame.encode(odd))
    found = recover(path, tmp_path / "new.jnl")
    assert (found.episodes, found.kept, found.others) == (6, 2, 0)
    assert len(found.problems) == 1


def test_what_any_damage_leaves_whole_is_found(saves, tmp_path):
    """Zeros, cuts, repeats and flipped bits anywhere: every line that is whole comes back once, nothing else does."""
    path = journal_of(saves)
    whole = path.read_bytes()
    lines = whole.split(b"\n")[1:-1]
    known = {one.uid: one for one in lived(path)}
    rng = random.Random(4)
    for trial in range(30):
        content = bytearray(whole)
        for _ in range(rng.randrange(1, 4)):
            at, size = rng.randrange(len(content)), rng.choice([1, 40, 512, 4096])
            match rng.randrange(4):
                case 0:
                    content[at : at + size] = bytes(len(content[at : at + size]))
                case 1:
                    del content[at : at + size]
                case 2:
                    content[at:at] = content[at : at + size]
                case _:
                    content[at] ^= 1 << rng.randrange(8)
        folder = tmp_path / f"{trial}"
        folder.mkdir()
        damaged, new = folder / "damaged.jnl", folder / "episodes.jnl"
        damaged.write_bytes(content)
        intact = {line for line in bytes(content).split(b"\n") if line in lines}
        found = recover(damaged, new)
        assert found.episodes + found.kept >= len(intact)
        assert found.problems == []
        episodes = lived(new)
        assert [episode.uid for episode in episodes] == sorted({episode.uid for episode in episodes})
        assert all(episode == known[episode.uid] for episode in episodes)
        assert damaged.read_bytes() == content
