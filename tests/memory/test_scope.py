"""A scope remembers, retrieves like brute force, persists, and shows what others write."""

from __future__ import annotations

import dataclasses
import os
import random
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.errors import BadFile, StorageError, UsageError
from engine.limits import TEXT, TOKENS
from engine.memory import Memory
from engine.memory.scope import SNAPSHOT, Scope
from engine.records import Episode, State
from tests.memory.lives import brute_force, make_episode, make_state

NAME = "game/test"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "memory") as memory:
        yield memory


def found(scope: Scope, query: State, **how: float) -> list[tuple[object, ...]]:
    return [
        (n.similarity, n.entry, n.action, n.g, n.episode, n.step, n.state)
        for n in scope.neighbours(query, **how)  # type: ignore[arg-type]
    ]


def test_the_most_similar_ones_are_found_without_a_threshold(memory: Memory) -> None:
    rng = random.Random(4)
    scope = memory.scope(NAME)
    lived = [make_episode(rng, f"u{number}", number=number) for number in range(1, 9)]
    scope.append_all(lived)
    for query in [*(make_state(rng) for _ in range(30)), State("", ("unheard", "of"))]:
        want = brute_force(lived, query, k=7, r=0.0, weight=0.25, gamma=0.5)
        hits = scope.neighbours(query, k=7, r=0.0, gamma=0.5, history_weight=0.25)
        assert [(n.similarity, n.entry) for n in hits] == [one[:2] for one in want]


def test_an_entry_leads_to_its_step(memory: Memory) -> None:
    rng = random.Random(6)
    scope = memory.scope(NAME)
    sent = [make_episode(rng, f"u{i}", 5) for i in range(3)]
    scope.append_all(sent)
    everything = [step for episode in sent for step in episode.steps]
    assert [scope.entry(i) for i in range(15)] == everything
    assert scope.entry(15) is None
    assert scope.entry(-1) is None


def test_overlong_and_unfit_texts_are_clipped_not_refused(memory: Memory) -> None:
    scope = memory.scope(NAME)
    episode = make_episode(random.Random(1), "a", 1)
    state = State(
        "x" * (TEXT * 2), tuple(f"t{i}" for i in range(TOKENS * 2)), "bell \x07 and \udc80", ("h",)
    )
    step = dataclasses.replace(
        episode.steps[0], state=state, action="\x1b[31mred", valid_actions=("y" * 5000,)
    )
    assert scope.append(dataclasses.replace(episode, steps=(step,))) == 1
    (back,) = scope.episodes()
    kept = back.steps[0]
    assert len(kept.state.text) == TEXT + 1
    assert len(kept.state.tokens) == TOKENS
    assert kept.state.history == "bell � and �"
    assert kept.action == "�[31mred"


def test_files_are_private_and_stay_in_their_folder(memory: Memory, tmp_path: Path) -> None:
    for name in (
        "game/../../../etc/passwd",
        "/etc/passwd",
        "../x",
        "web/https://a.b/c?d#e",
        "spiel/Zürich ☕",
        ".",
    ):
        if name == ".":
            with pytest.raises(UsageError):
                memory.scope(name)
            continue
        memory.scope(name).append(make_episode(random.Random(1), "a"))
    assert {path.parent.parent for path in tmp_path.rglob("episodes.jnl")} == {tmp_path / "memory"}
    assert len(memory.scopes()) == 5
    for path in (tmp_path / "memory").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_links_are_not_followed(memory: Memory, tmp_path: Path) -> None:
    scope = memory.scope(NAME)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(b"precious")
    scope.path.symlink_to(elsewhere)
    with pytest.raises((StorageError, BadFile)):
        scope.append(make_episode(random.Random(1), "a"))
    assert elsewhere.read_bytes() == b"precious"


# ---------------------------------------------------------------------------------------- snapshots


def with_snapshot(folder: Path, rng: random.Random, called: str = "u") -> list[Episode]:
    lived = [make_episode(rng, f"{called}{number}", 60, number=number) for number in range(1, 25)]
    with Memory(folder) as memory:
        memory.scope(NAME).append_all(lived)
    return lived


def test_a_snapshot_saves_the_reading_and_changes_nothing(tmp_path: Path) -> None:
    rng = random.Random(9)
    lived = with_snapshot(tmp_path, rng)
    with Memory(tmp_path) as memory:
        scope = memory.scope(NAME)
        assert (scope.folder / SNAPSHOT).exists()
        assert scope.restored == len(scope) == 24 * 60
        lived.append(make_episode(rng, "late", 9, number=40))
        scope.append(lived[-1])
        for _ in range(40):
            query = make_state(rng)
            want = brute_force(lived, query, k=10, r=0.8, weight=0.25, gamma=0.5)
            assert found(scope, query, k=10, r=0.8, gamma=0.5, history_weight=0.25) == want
        assert list(scope.episodes()) == lived
        assert scope.append(lived[3]) == 0


def test_a_bad_snapshot_is_ignored(tmp_path: Path) -> None:
    rng = random.Random(10)
    lived = with_snapshot(tmp_path, rng)
    (path,) = tmp_path.glob(f"*/{SNAPSHOT}")
    whole = path.read_bytes()
    ways = [b"", whole[:-1], whole[:100], b"garbage" * 100, whole + b"x"]
    for place in rng.sample(range(len(whole)), 8):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << rng.randrange(8)
        ways.append(bytes(flipped))
    query = lived[0].steps[0].state
    want = brute_force(lived, query, k=10, r=0.8, weight=0.0, gamma=0.5)
    for content in ways:
        path.write_bytes(content)
        scope = Scope(path.parent, NAME)
        assert scope.restored in (0, len(scope))
        assert found(scope, query, k=10, r=0.8, gamma=0.5) == want
        scope.close()
        path.write_bytes(whole)


def test_a_snapshot_of_another_journal_is_ignored(tmp_path: Path) -> None:
    with_snapshot(tmp_path / "a", random.Random(11))
    with_snapshot(tmp_path / "b", random.Random(11), "v")  # every line is where it is in the other one
    (one,), (other,) = (list((tmp_path / name).glob(f"*/{SNAPSHOT}")) for name in "ab")
    os.replace(one, other)
    with Memory(tmp_path / "b") as memory:
        assert memory.scope(NAME).restored == 0
        assert len(memory.scope(NAME)) == 24 * 60
        assert memory.scope(NAME).knows("v7")


def test_a_journal_shorter_than_its_snapshot_says_is_read_anew(tmp_path: Path) -> None:
    rng = random.Random(12)
    lived = with_snapshot(tmp_path, rng)
    with Memory(tmp_path) as memory:
        path = memory.scope(NAME).path
    os.truncate(path, path.stat().st_size - 1)
    late = make_episode(rng, "late", 9, number=40)
    with Memory(tmp_path) as memory:
        assert memory.scope(NAME).restored == 0
        memory.scope(NAME).append(late)
    with Memory(tmp_path) as memory:
        assert list(memory.scope(NAME).episodes()) == [*lived[:-1], late]


def test_importing_memory_is_light() -> None:
    code = "import engine.memory, sys; print([m for m in ('numpy', 'tinydb', 'litellm') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
