from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.llm.local.trie import build

TAILS = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=6), min_size=1, max_size=12)


@given(TAILS)
def test_every_tail_can_be_read_along_its_path(tails):
    trie = build(tails)
    for index, (tail, path) in enumerate(zip(tails, trie.paths, strict=True)):
        assert path[0] == -1
        assert len(path) == len(tail)
        for depth, node in enumerate(path[1:]):
            assert trie.nodes[node].token == tail[depth]
            assert trie.nodes[node].depth == depth
            assert index in trie.nodes[node].tails


@given(TAILS)
def test_shared_beginnings_are_fed_once_and_parents_first(tails):
    trie = build(tails)
    beginnings = {tuple(tail[:d]) for tail in tails for d in range(1, len(tail))}
    assert len(trie.nodes) == len(beginnings)
    for path in trie.paths:
        assert list(path) == sorted(path)


def test_a_tail_needs_a_token():
    with pytest.raises(ValueError, match="at least one"):
        build([[1], []])
