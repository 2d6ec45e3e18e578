"""What is derived from texts is kept within limits, however long a run is."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.games.actions import cache
from engine.values import text
from engine.values.counts import Memo


def test_each_cache_of_words_has_a_limit():
    kept = [each for each in vars(text).values() if hasattr(each, "cache_parameters")]
    assert len(kept) > 5
    assert all(0 < (each.cache_parameters()["maxsize"] or 0) <= 1 << 15 for each in kept)


def test_valid_actions_that_are_read_from_the_disk_count_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cache, "_IN_MEMORY", 5)
    writer = cache.ActionCache(tmp_path)
    for number in range(20):
        writer.put(str(number), ("look",))
    reader = cache.ActionCache(tmp_path)
    assert all(reader.get(str(number)) == ("look",) for number in range(20))
    assert len(reader._memory) <= 5
    for each in (writer, reader):
        each.close()


def test_answers_that_hold_no_longer_are_forgotten_and_others_within_a_limit():
    memo: Memo[int, int] = Memo(10)
    for version in range(40):
        for place in ("hall", "cellar"):
            assert memo.find(place, version, 1, lambda version=version: version) == version
    assert len(memo) == 2
    assert memo.find("hall", 39, 1, lambda: -1) == 39
    for number in range(40):
        memo.find("hall", 40, number, lambda: 0)
        assert len(memo) <= 10
