"""Corrections of remembered steps by a person, and memory seen through a filter."""

from __future__ import annotations

import dataclasses
import io
import random

import pytest

from engine.errors import UsageError
from engine.memory import Memory, exchange, upkeep
from engine.memory.search import Correction, MemoryFilter, NeighbourSearch
from engine.memory.upkeep import correct
from engine.memory.view import ScopeView
from tests.memory.lives import make_episode, make_state

SEARCH = NeighbourSearch(k=5, r=0.6, gamma=0.5, history_weight=0.25)


@pytest.fixture
def memory(tmp_path):
    with Memory(tmp_path / "memory") as memory:
        yield memory


def filled(memory, count=6, seed=4):
    rng = random.Random(seed)
    scope = memory.scope("game/test")
    scope.append_all(make_episode(rng, f"e{n}") for n in range(count))
    return scope


def queries(count=30):
    rng = random.Random(8)
    return [make_state(rng) for _ in range(count)]


def test_a_corrected_return_counts_for_every_discount_and_only_for_its_step(memory):
    scope = filled(memory)
    query = queries()[0]
    hit = scope.retrieve(query, SEARCH)[0]
    before = {n.entry: n for q in queries() for n in scope.retrieve(q, SEARCH)}
    correct(scope, {hit.entry: Correction(g=7.5)})
    after = {n.entry: n for q in queries() for n in scope.retrieve(q, SEARCH)}
    assert after == before | {hit.entry: dataclasses.replace(before[hit.entry], g=7.5)}
    assert scope.retrieve(query, dataclasses.replace(SEARCH, gamma=0.9))[0].g == 7.5
    correct(scope, {hit.entry: Correction()})
    assert scope.retrieve(query, SEARCH)[0] == hit


def test_a_correction_survives_restart_verify_export_and_import_and_leaves_the_episode_as_it_was(tmp_path, memory):
    scope = filled(memory)
    entry = scope.retrieve(queries()[0], SEARCH)[0].entry
    stored = list(scope.episodes())
    correct(scope, {entry: Correction(g=-3.0, pinned=True)}, session="s")
    (record,) = scope.records.all()
    assert record.provenance == "human"
    assert record.text.startswith("edited by a person: G = -3, pinned")
    assert list(scope.episodes()) == stored
    with Memory(tmp_path / "memory") as again:
        assert again.scope("game/test").corrections() == {entry: Correction(-3.0, None, True)}
    assert upkeep.verify(scope.path).sound
    text = io.StringIO()
    exchange.export_episodes(text, [scope])
    (tmp_path / "out").write_text(text.getvalue())
    with Memory(tmp_path / "other") as other:
        exchange.import_episodes(other, tmp_path / "out", "x")
        exchange.import_episodes(other, tmp_path / "out", "x")
        assert other.scope("game/test").corrections() == {entry: Correction(-3.0, None, True)}
        assert other.scope("game/test").retrieve(queries()[0], SEARCH)[0].g == -3.0
    plan = upkeep.plan_forget(scope, episodes={scope.located(entry)[0].uid})
    upkeep.forget_all(memory, [(scope, plan)])
    assert scope.corrections() == {}
    upkeep.undo_last(memory)
    assert scope.corrections() == {entry: Correction(-3.0, None, True)}


def test_the_correction_made_last_counts_after_a_snapshot_and_in_another_process(tmp_path, memory):
    scope = filled(memory)
    correct(scope, {3: Correction(g=1.0)}, at=20.0)
    correct(scope, {3: Correction(g=2.0)}, at=10.0)
    with Memory(tmp_path / "memory") as again:
        other = again.scope("game/test")
        assert other.corrections()[3].g == 1.0
        assert other.corrections(MemoryFilter(until=15.0))[3].g == 2.0
        assert other.corrections(MemoryFilter(until=5.0)) == {}
        correct(scope, {3: Correction(g=5.0)}, at=30.0)
        assert {n.g for q in queries() for n in other.retrieve(q, SEARCH) if n.entry == 3} <= {5.0}
        other.refresh()
        assert other.corrections()[3].g == 5.0


def test_a_pinned_step_is_a_neighbour_besides_the_k_most_similar(memory):
    scope = filled(memory)
    narrow = dataclasses.replace(SEARCH, k=2)
    for query in queries():
        everything = scope.retrieve(query, dataclasses.replace(SEARCH, k=1000))
        if len(everything) > 4:
            break
    last = everything[-1]
    assert last not in scope.retrieve(query, narrow)
    correct(scope, {last.entry: Correction(pinned=True)})
    assert scope.retrieve(query, narrow) == (*everything[:2], last)
    assert last.entry not in [n.entry for n in scope.retrieve(query, dataclasses.replace(narrow, r=1.0))]


@pytest.mark.parametrize("ties", ["newest", "return"])
@pytest.mark.parametrize("keep_above", [0.0, 0.9])
def test_a_lens_shows_what_a_memory_without_these_steps_would(memory, tmp_path, ties, keep_above):
    scope = filled(memory, count=8)
    search = dataclasses.replace(SEARCH, ties=ties, keep_above=keep_above, k=3)
    gone = frozenset({0, 9, 17, 18, 30, 31, 35})
    correct(scope, {20: Correction(pinned=True, g=9.0)})
    with Memory(tmp_path / "less") as less:
        fewer = less.scope("game/test")
        fewer.append_all(list(scope.episodes())[:5])
        fewer.records.add_all(scope.records.all())
        upkeep.forget_all(less, [(fewer, upkeep.plan_forget(fewer, entries=gone))])
        view = ScopeView(scope, MemoryFilter(before=40, without=gone))
        some = 0
        for query in queries(60):
            found = view.retrieve(query, search)
            assert found == fewer.retrieve(query, search)
            some += len(found)
        assert some > 100
        assert [(n, e.steps) for n, e in view.entered()] == [(n, e.steps) for n, e in fewer.entered()]


def test_corrected_points_are_what_plans_read(memory):
    scope = filled(memory)
    correct(scope, {2: Correction(gain=4.0)})
    (_, first), *_ = ScopeView(scope).entered()
    assert first.steps[2].env_reward == 4.0
    assert next(iter(scope.episodes())).steps[2].env_reward != 4.0


def test_what_cannot_be_corrected_is_refused_and_nothing_is_stored(memory):
    scope = filled(memory)
    for entry, correction in ((999, Correction(g=1.0)), (-1, Correction()), (1, Correction(g=float("nan")))):
        with pytest.raises(UsageError):
            correct(scope, {entry: correction})
    assert len(scope.records) == 0
