"""The index agrees with brute force on whatever can be thought of."""

from __future__ import annotations

import random
import tracemalloc

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine.memory.exact.entries import Entries
from engine.memory.exact.index import TokenSets
from engine.memory.exact.retrieval import nearest
from tests.examples import most
from tests.memory.lives import jaccard

# Few tokens make many near-equal sets. Tokens that come in order get numbers in order, so that token n and
# token n + 64 share a bit of the sketch: there it is blind, and only counting helps.
FEW = st.integers(0, 9).map(lambda i: f"t{i}")
BLIND = st.integers(0, 3).map(lambda i: f"t{64 * i}")
MANY = st.integers(0, 300).map(lambda i: f"t{i}")
SETS = st.one_of(
    st.lists(FEW, max_size=10),
    st.lists(BLIND, max_size=4),
    st.lists(MANY, max_size=60),
    st.integers(0, 300).flatmap(lambda n: st.just([f"t{i}" for i in range(n)])),  # subsets of one another
)
LEVELS = st.one_of(
    st.sampled_from([1.0, 0.95, 14 / 15, 0.9, 0.8, 0.75, 0.5, 1 / 3, 0.1, 1e-9]), st.floats(1e-6, 1.0)
)


def numbered(sets: list[list[str]], searchable: bool) -> tuple[TokenSets, list[int]]:
    index = TokenSets(searchable=searchable)
    index.add([f"t{i}" for i in range(301)])
    return index, [index.add(tokens) for tokens in sets]


@settings(max_examples=most(300), deadline=None)
@given(st.lists(SETS, min_size=1, max_size=40), SETS, LEVELS, st.booleans(), st.booleans())
def test_similar_is_brute_force(
    sets: list[list[str]], query: list[str], t: float, searchable: bool, strange: bool
) -> None:
    index, numbers = numbered(sets, searchable)
    if strange:
        query = [*query, "never", "seen"]
    want = {n: jaccard(query, tokens) for n, tokens in zip(numbers, sets, strict=True)}
    want[0] = jaccard(query, [f"t{i}" for i in range(301)])
    assert dict(enumerate(index.compare_all(index.query(query)).tolist())) == want
    found, similarity = index.similar(index.query(query), t)
    assert len(set(found.tolist())) == len(found)
    got = dict(zip(found.tolist(), similarity.tolist(), strict=True))
    assert got == {n: s for n, s in want.items() if s >= t}


@settings(max_examples=most(200), deadline=None)
@given(st.lists(st.lists(FEW, max_size=10), min_size=1, max_size=30), st.lists(FEW, max_size=10), LEVELS)
def test_where_no_two_tokens_share_a_bit_the_bounds_are_exact(
    sets: list[list[str]], query: list[str], t: float
) -> None:
    index, query = TokenSets(), [*query, "never", "seen"]
    numbers = np.array([index.add(tokens) for tokens in sets], np.int32)
    asked = index.query(query)
    apart = index.least_differences(asked, numbers)
    assert apart.tolist() == [len(set(query) ^ set(tokens)) for tokens in sets]
    assert index.bound(asked, numbers, apart) == pytest.approx([jaccard(query, tokens) for tokens in sets])
    differing = dict(zip(numbers.tolist(), apart.tolist(), strict=True))
    found, least = index.candidates(asked, t)
    assert least.tolist() == [differing[number] for number in found.tolist()]


@settings(max_examples=most(200), deadline=None)
@given(st.lists(SETS, min_size=1, max_size=30), SETS)
def test_equal_sets_get_equal_numbers(sets: list[list[str]], other: list[str]) -> None:
    index, numbers = numbered(sets, True)
    for a, one in zip(numbers, sets, strict=True):
        assert index.add(list(reversed(one))) == a
        for b, two in zip(numbers, sets, strict=True):
            assert (a == b) == (set(one) == set(two))
    if not any(set(other) == set(one) for one in sets) and len(set(other)) < 301:
        assert index.add(other) == max(numbers) + 1


@settings(max_examples=most(60), deadline=None)
@given(st.lists(SETS, min_size=1, max_size=30), st.lists(SETS, max_size=10), SETS, LEVELS)
def test_a_restored_index_goes_on_as_the_first_would(
    sets: list[list[str]], later: list[list[str]], query: list[str], t: float
) -> None:
    first, _ = numbered(sets, True)
    again = TokenSets()
    again.restore("x", first.dump("x"))
    assert [again.add(tokens) for tokens in later] == [first.add(tokens) for tokens in later]
    for a, b in zip(first.similar(first.query(query), t), again.similar(again.query(query), t), strict=True):
        assert sorted(a.tolist()) == sorted(b.tolist())


def test_where_sketches_are_blind_only_sets_with_a_rare_token_of_the_query_are_counted() -> None:
    index = TokenSets()
    index.add([f"t{i}" for i in range(257)])
    # Tokens 64 apart cancel each other out in a sketch.
    usual = [index.add(["t0", "t64", f"t{i}", f"t{i + 64}"]) for i in range(1, 64)]
    rare = [index.add(["t0", "t128"]), index.add(["t64", "t192"])]
    found, _ = index.candidates(index.query(["t0", "t64", "t128", "t192"]), 0.75)
    assert set(rare) <= set(found.tolist())
    assert not set(usual) & set(found.tolist())
    found, _ = index.candidates(index.query(["t0", "t128", "never", "seen"]), 0.5)
    assert rare[0] in found
    assert not set(usual) & set(found.tolist())


def document(uid: int, first: int, rows: list[tuple[list[str], list[str]]]) -> dict[str, object]:
    return {
        "uid": str(uid), "scope": "s", "number": uid, "first": first,
        "states": [{"text": "", "tokens": tokens} for tokens, _ in rows],
        "histories": [{"text": "", "tokens": tokens} for _, tokens in rows],
        "valid": [[]],
        "steps": [{"state": i, "history": i, "valid": 0, "action": "a", "reward": float(i)} for i in range(len(rows))],
        "final": [0, 0],
    }  # fmt: skip


@settings(max_examples=most(150), deadline=None)
@example([[(["a", "b"], []), (["a", "b", "c"], []), (["a"], [])]], ["a", "b"], [], 1, 0.1, 0.0, 0.6)
@given(
    st.lists(
        st.lists(st.tuples(SETS, st.lists(FEW, max_size=5)), min_size=1, max_size=25), min_size=1, max_size=4
    ),
    SETS,
    st.lists(FEW, max_size=5),
    st.sampled_from([1, 2, 3, 10, 1000]),
    st.one_of(LEVELS, st.just(0.0)),
    st.one_of(st.sampled_from([0.0, 0.25, 0.3, 0.5, 0.7, 1.0]), st.floats(0, 1)),
    st.one_of(st.just(0.0), LEVELS),
)
def test_retrieval_is_brute_force(
    episodes: list[list[tuple[list[str], list[str]]]],
    state: list[str],
    history: list[str],
    k: int,
    r: float,
    weight: float,
    keep_above: float,
) -> None:
    entries, lived = Entries(), []
    for uid, rows in enumerate(episodes):
        entries.add(uid, document(uid, len(lived), rows), 0, b"")
        lived += rows
    scored = []
    for row, (tokens, past) in enumerate(lived):
        similarity = jaccard(state, tokens)
        if weight:
            similarity = (1 - weight) * similarity + weight * jaccard(history, past)
        if similarity >= r:
            scored.append((row, similarity))
    scored.sort(key=lambda hit: (-hit[1], -hit[0]))
    found = nearest(entries, tuple(state), tuple(history), k=k, r=r, weight=weight, keep_above=keep_above)
    close = [hit for hit in scored if keep_above > 0.0 and hit[1] >= keep_above]
    assert found == scored[: max(k, len(close))]


@settings(max_examples=most(60), deadline=None)
@given(
    st.lists(st.lists(st.floats(-10, 10), min_size=1, max_size=9), min_size=1, max_size=6),
    st.sampled_from([0.0, 0.1, 0.5, 0.99, 1.0]),
)
def test_returns_are_those_of_equation_3(rewards: list[list[float]], gamma: float) -> None:
    entries, want, first = Entries(), [], 0
    for uid, lived in enumerate(rewards):
        made = document(uid, first, [(["a"], [])] * len(lived))
        for step, reward in zip(made["steps"], lived, strict=True):  # type: ignore[call-overload]
            step["reward"] = reward
        entries.add(uid, made, 0, b"")
        first += len(lived)
        want += [sum(gamma ** (u - t) * lived[u] for u in range(t, len(lived))) for t in range(len(lived))]
        if uid % 2:  # asked in between, so that some are computed later than others
            entries.returns(gamma)
    assert entries.returns(gamma).tolist() == pytest.approx(want, abs=1e-9)


def test_many_sets_with_the_same_sketch_are_still_told_apart() -> None:
    index = TokenSets()
    index.add([f"t{i}" for i in range(64 * 40)])
    columns = [[f"t{64 * row + bit}" for row in range(40)] for bit in range(64)]
    sets = [[column[row] for column in columns] for row in range(40)]  # 40 disjoint sets, one sketch
    numbers = [index.add(tokens) for tokens in sets]
    for number, tokens in zip(numbers, sets, strict=True):
        found, similarity = index.similar(index.query(tokens), 0.2)
        assert (found.tolist(), similarity.tolist()) == ([number], [1.0])
    assert np.count_nonzero(index.compare_all(index.query(sets[0]))) == 2


@pytest.mark.parametrize("seed", range(2))
def test_among_hundreds_of_alike_states_the_right_ones_are_counted(seed: int) -> None:
    rng = random.Random(seed)
    base = [f"t{i}" for i in range(40)]

    def near() -> tuple[list[str], list[str]]:
        tokens = rng.sample(base, 40 - rng.randrange(5)) + [
            f"x{rng.randrange(30)}" for _ in range(rng.randrange(4))
        ]
        return tokens, [f"h{rng.randrange(8)}" for _ in range(rng.randrange(6))]

    entries, lived = Entries(), []
    for uid in range(20):
        rows = [near() for _ in range(30)]
        entries.add(uid, document(uid, len(lived), rows), 0, b"")
        lived += rows
    for _ in range(40):
        (state, history), k = near(), rng.choice([1, 2, 5, 10])
        r, weight = rng.choice([0.0, 0.5, 0.8, 0.85, 0.95]), rng.choice([0.0, 0.25, 0.7])
        scored = []
        for row, (tokens, past) in enumerate(lived):
            similarity = jaccard(state, tokens)
            if weight:
                similarity = (1 - weight) * similarity + weight * jaccard(history, past)
            if similarity >= r:
                scored.append((row, similarity))
        scored.sort(key=lambda hit: (-hit[1], -hit[0]))
        assert nearest(entries, tuple(state), tuple(history), k=k, r=r, weight=weight) == scored[:k]


def _taken() -> int:
    """Return the traced bytes that were taken here and in the memory, whatever other threads do."""
    ours = [tracemalloc.Filter(True, pattern) for pattern in ("*/engine/memory/*", __file__)]
    return sum(trace.size for trace in tracemalloc.take_snapshot().filter_traces(ours).traces)


def test_the_bytes_told_are_those_taken() -> None:
    tracemalloc.start()
    try:
        index = TokenSets()
        for n in range(5_000):
            index.add([f"place {n // 150}", f"thing {n % 150}"])
        assert index.nbytes() == pytest.approx(_taken(), rel=0.2)
        index.dump("x")  # packs what tells equal sets
        assert index.nbytes() == pytest.approx(_taken(), rel=0.05)
    finally:
        tracemalloc.stop()
