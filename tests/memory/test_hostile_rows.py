"""Whoever may write to a shared memory may write anything. Only the row or the scope that is bad is lost."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from engine.errors import BadFile
from engine.memory.shared.memory import SharedMemory
from tests.hostile import check_sentence
from tests.memory import spoiling
from tests.memory.lives import make_episode
from tests.memory.postgres import Cluster
from tests.memory.spoiling import ROWS, SCOPES, spoil

GOOD = "game/good"


def test_what_is_bad_is_refused_and_the_rest_is_read(
    cluster: Cluster, own_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spoiling, "LARGE_MB", 65)
    rng, told = random.Random(1), list[str]()
    rows, scopes = ({f"game/{what}": what for what in ways} for ways in (ROWS, SCOPES))
    follower = SharedMemory(own_database, tmp_path / "follower", follow=False, notice=told.append)
    followed = {name: follower.scope(name) for name in rows}
    with SharedMemory(own_database, tmp_path / "writer", follow=False) as memory:
        for name in (*rows, *scopes, GOOD):
            memory.scope(name).append_all([make_episode(rng, f"{name}-{number}", 2) for number in range(3)])
    for name, what in (rows | scopes).items():
        spoil(cluster, own_database, what, name)
    with SharedMemory(own_database, tmp_path / "reader", follow=False, notice=told.append) as memory:
        shown = dict(memory.inspect())
        assert shown.keys() == {*rows, *scopes, GOOD}
        assert {shown[name] for name in (*rows, GOOD)} == {None}
        assert len([*memory.scope(GOOD).episodes()]) == 3
        for name in rows:
            told.clear()
            assert len([*memory.scope(name).episodes()]) == 2, name
            assert followed[name].refresh()
            assert len([*followed[name].episodes()]) == 2, name
            assert len(told) == 2, name
            assert all(sentence.startswith("row 2 is damaged on the server") for sentence in told), name
        for name in scopes:
            with pytest.raises(BadFile, match=f"{name} is damaged in the shared memory") as caught:
                memory.scope(name)
            check_sentence(caught.value)
    follower.close()
    assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) < 1 << 20
