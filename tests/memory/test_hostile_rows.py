"""Whoever may write to a shared memory may write anything. Only the row or the scope that is bad is lost."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from engine.errors import BadFile
from engine.memory.shared.memory import SharedMemory
from tests.hostile import check_sentence
from tests.memory.lives import make_episode
from tests.memory.postgres import Cluster
from tests.memory.spoiling import BAD, ROWS, SCOPES, spoil

GOOD = "game/good"


@pytest.mark.parametrize("what", [*ROWS, *SCOPES])
def test_what_is_bad_is_refused_and_the_rest_is_read(
    cluster: Cluster, address: str, tmp_path: Path, what: str
) -> None:
    rng, told = random.Random(1), list[str]()
    follower = SharedMemory(address, tmp_path / "follower", follow=False, notice=told.append)
    followed = follower.scope(BAD)
    with SharedMemory(address, tmp_path / "writer", follow=False) as memory:
        for name in (BAD, GOOD):
            memory.scope(name).append_all([make_episode(rng, f"{name}-{number}") for number in range(3)])
    spoil(cluster, address, what)
    with SharedMemory(address, tmp_path / "reader", follow=False, notice=told.append) as memory:
        assert len([*memory.scope(GOOD).episodes()]) == 3
        shown = dict(memory.inspect())
        assert shown.pop(GOOD) is None
        if what in ROWS:
            assert [*shown.values()] == [None]
            assert len([*memory.scope(BAD).episodes()]) == 2
            assert followed.refresh()
            assert len([*followed.episodes()]) == 2
            assert len(told) == 2
            assert all(sentence.startswith("row 2 is damaged on the server") for sentence in told)
        else:
            with pytest.raises(BadFile, match=f"{BAD} is damaged in the shared memory") as caught:
                memory.scope(BAD)
            check_sentence(caught.value)
    follower.close()
    assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) < 1 << 20
