"""What every memory does, wherever it lies: the same tests on the embedded store and on PostgreSQL."""

from __future__ import annotations

import dataclasses
import io
import itertools
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.errors import BadFile, UsageError
from engine.limits import TEXT
from engine.memory import Memory, exchange, report, upkeep
from engine.memory.shared.memory import SharedMemory
from engine.records import Episode, Kept, State, Step
from tests.memory.lives import brute_force, make_episode, make_state

NAME = "game/test"
Open = Callable[..., Memory]


@pytest.fixture(params=["embedded", "postgres"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Opens the memory of this test: each call gives another worker's view of it, on another machine if that can be."""
    made: list[Memory] = []
    machines = itertools.count()
    address = request.getfixturevalue("address") if request.param == "postgres" else ""

    def open_one(**options: object) -> Memory:
        if address:
            memory: Memory = SharedMemory(address, tmp_path / f"machine{next(machines)}", **options)  # type: ignore[arg-type]
        else:
            memory = Memory(tmp_path / "memory", **options)  # type: ignore[arg-type]
        made.append(memory)
        return memory

    yield open_one
    for memory in made:
        memory.close()


def test_episodes_come_back_whole_and_numbered_for_everybody(opened: Open) -> None:
    rng = random.Random(1)
    one, other = opened().scope(NAME), opened().scope(NAME)
    sent = [make_episode(rng, f"u{i}", outcome=("", "won", "lost")[i % 3], token_scheme=i) for i in range(4)]
    assert [one.append(sent[0]), one.append(sent[1])] == [8, 8]
    other.refresh()
    assert [other.append(sent[2]), other.append(sent[3])] == [8, 8]
    one.refresh()
    want = [dataclasses.replace(each, number=i + 1) for i, each in enumerate(sent)]
    assert list(one.episodes()) == list(other.episodes()) == want
    assert [first for first, _ in one.entered()] == [0, 8, 16, 24]
    third = opened()
    assert third.scopes() == [NAME]
    assert list(third.scope(NAME).episodes()) == want
    assert third.scope(NAME).next_entry == 32


def test_what_was_stored_since_an_entry_is_told_in_the_order_of_commits(opened: Open) -> None:
    rng = random.Random(2)
    one, other = opened().scope(NAME), opened().scope(NAME)
    assert one.stored_since(0) == []
    for scope, uid in ((one, "a"), (other, "b"), (one, "c")):
        scope.refresh()
        scope.append(make_episode(rng, uid))
    other.refresh()
    for scope in (one, other):
        assert scope.stored_since(0) == [(0, "a"), (8, "b"), (16, "c")]
        assert scope.stored_since(8) == [(8, "b"), (16, "c")]
        assert scope.stored_since(9) == [(16, "c")]
        assert scope.stored_since(24) == []
        assert scope.seen_until() == 24


def test_a_uid_is_stored_once_whoever_sends_it(opened: Open) -> None:
    one, other = opened().scope(NAME), opened().scope(NAME)
    episode = make_episode(random.Random(3), "same")
    assert one.append(episode) == 8
    assert (other.append(episode), one.append(episode)) == (0, 0)
    twice = [make_episode(random.Random(4), "b"), make_episode(random.Random(5), "b"), episode]
    assert other.append_all(twice) == 8
    one.refresh()
    assert len(one) == len(other) == 16
    assert [each.uid for each in other.episodes()] == ["same", "b"]


def test_given_numbers_are_kept_and_none_is_given_twice(opened: Open) -> None:
    rng = random.Random(8)
    scope = opened().scope(NAME)
    scope.append(make_episode(rng, "a", number=7))
    scope.append(make_episode(rng, "b"))
    scope.db.remove(doc_ids=[2])
    scope.append(make_episode(rng, "c"))
    assert [(e.uid, e.number) for e in scope.episodes()] == [("a", 7), ("c", 9)]
    assert scope.entry(8) is None
    assert scope.entry(16) is not None
    assert scope.doc_ids() == [1, 3]


def test_scopes_do_not_mix(opened: Open) -> None:
    rng = random.Random(6)
    memory = opened()
    memory.scope("game/a").append(make_episode(rng, "u"))
    memory.scope("game/b").append(make_episode(rng, "u", steps=3))
    memory.scope("game/empty")
    again = opened()
    assert again.scopes() == ["game/a", "game/b"]
    assert [len(again.scope(name)) for name in again.scopes()] == [8, 3]
    assert [error for _, error in again.inspect()] == [None, None]
    with pytest.raises(UsageError, match="cannot be the name of a scope"):
        memory.scope("a\nb")


def test_what_is_no_episode_is_refused_and_changes_nothing(opened: Open) -> None:
    scope = opened().scope(NAME)
    good = make_episode(random.Random(1), "good")
    for change in (
        {"uid": ""}, {"steps": ()}, {"score": float("nan")}, {"wall_s": float("inf")}, {"outcome": "maybe"},
        {"number": -1}, {"seed": 1 << 70}, {"uid": "a\x1b[2J"},
    ):  # fmt: skip
        with pytest.raises(BadFile):
            scope.append_all([good, dataclasses.replace(good, **{"uid": "bad", **change})])  # type: ignore[arg-type]
    step = good.steps[0]
    for wrong in ({"reward": float("nan")}, {"provenance": "aliens"}):
        with pytest.raises(BadFile):
            scope.append(Episode("bad", NAME, (dataclasses.replace(step, **wrong),), step.state))  # type: ignore[arg-type]
    assert len(scope) == 0
    assert opened().scopes() == []


def test_overlong_texts_are_clipped(opened: Open) -> None:
    scope = opened().scope(NAME)
    episode = make_episode(random.Random(1), "long", steps=1)
    state = dataclasses.replace(episode.steps[0].state, text="x" * (TEXT + 10))
    scope.append(dataclasses.replace(episode, steps=(dataclasses.replace(episode.steps[0], state=state),)))
    (back,) = opened().scope(NAME).episodes()
    assert back.steps[0].state.text == "x" * TEXT + "…"


def test_secrets_are_taken_out_before_anything_is_stored(opened: Open) -> None:
    secret = "hunter2-hunter2"
    memory = opened(secrets=[secret])
    scope = memory.scope(NAME)
    episode = make_episode(random.Random(1), "s", steps=1)
    state = State(f"you read {secret}", ("you", "read", secret))
    step = dataclasses.replace(episode.steps[0], state=state, action=f"say {secret}")
    scope.append(dataclasses.replace(episode, steps=(step,)))
    scope.records.add(Kept("note", f"the word is {secret}"))
    other = opened().scope(NAME)
    (back,) = other.episodes()
    assert back.steps[0].state.text == "you read [redacted]"
    assert secret not in str(back)
    assert other.records.all()[0].text == "the word is [redacted]"
    assert secret.encode() not in other.path.read_bytes()


def test_neighbours_are_those_of_brute_force(opened: Open) -> None:
    rng = random.Random(2)
    scope, other = opened().scope(NAME), opened().scope(NAME)
    lived = [make_episode(rng, f"u{n}", rng.randrange(1, 9), number=n) for n in range(1, 20)]
    for number, episode in enumerate(lived):
        (scope, other)[number % 2].append(episode)
    scope.refresh()
    for _ in range(60):
        query, k, r = make_state(rng), rng.choice([1, 3, 10, 500]), rng.choice([0.0, 0.3, 0.8, 0.95, 1.0])
        w, gamma = rng.choice([0, 0.25, 0.7, 1]), rng.choice([0.0, 0.5, 0.9, 1.0])
        want = brute_force(lived, query, k=k, r=r, weight=w, gamma=gamma)
        found = scope.neighbours(query, k=k, r=r, gamma=gamma, history_weight=w)
        assert [(n.similarity, n.entry, n.action, n.g, n.episode, n.step, n.state) for n in found] == want


def test_the_newest_of_equals_comes_first_whatever_the_clock_says(opened: Open) -> None:
    scope, other = opened().scope(NAME), opened().scope(NAME)
    state = make_state(random.Random(1))
    for number in range(4):
        episode = make_episode(random.Random(number), f"u{number}", 1, started=2e9 - 86400.0 * number)
        step = dataclasses.replace(episode.steps[0], state=state)
        (scope, other)[number % 2].append(dataclasses.replace(episode, steps=(step,)))
    scope.refresh()
    assert [n.episode for n in scope.neighbours(state, k=3, r=0.95, gamma=0.5)] == [4, 3, 2]


def test_forgetting_and_its_undo_are_seen_by_everybody(opened: Open) -> None:
    rng = random.Random(5)
    memory = opened()
    scope, other = memory.scope(NAME), opened().scope(NAME)
    scope.append_all([make_episode(rng, f"u{i}", 4) for i in range(4)])
    scope.records.add(Kept("note", "of u1", episode_uid="u1"))
    scope.records.add(Kept("note", "of u2", episode_uid="u2"))
    other.refresh()
    before = list(other.episodes())
    plan = upkeep.plan_forget(scope, episodes={"u1"}, entries={8, 9})
    assert upkeep.forget_all(memory, [(scope, plan)]) == (6, 1)
    other.refresh()
    assert [each.uid for each in other.episodes()] == ["u0", "u2", "u3"]
    assert [step.provenance for step in list(other.episodes())[1].steps] == ["forgotten"] * 2 + ["agent"] * 2
    assert [one.text for one in other.records.all()] == ["of u2"]
    assert len(other) == len(scope) == 10
    assert upkeep.undo_last(memory) == (6, 1)
    other.refresh()
    assert list(other.episodes()) == before
    assert sorted(one.text for one in other.records.all()) == ["of u1", "of u2"]
    with pytest.raises(UsageError, match="nothing was forgotten"):
        upkeep.undo_last(memory)
    assert other.append(make_episode(rng, "next", 2)) == 2
    scope.refresh()
    assert scope.next_entry == 18
    assert scope.episode("next") is not None
    assert scope.episode("next").number == 5  # type: ignore[union-attr]


def test_provenance_is_kept_and_can_be_forgotten(opened: Open) -> None:
    rng = random.Random(7)
    memory = opened()
    scope = memory.scope(NAME)
    episode = make_episode(rng, "mixed", 4)
    steps = (*episode.steps[:3], dataclasses.replace(episode.steps[3], provenance="human"))
    scope.append(dataclasses.replace(episode, steps=steps))
    assert report.statistics(scope)["provenance"] == {"agent": 3, "human": 1}
    upkeep.forget_all(memory, [(scope, upkeep.plan_forget(scope, provenance="human"))])
    assert report.statistics(opened().scope(NAME))["provenance"] == {"agent": 3}


def test_kept_records_come_back_once_in_order(opened: Open) -> None:
    one, other = opened().scope(NAME), opened().scope(NAME)
    one.records.add(Kept("note", "first", data={"n": 1}))
    one.records.add_all([Kept("note", "second"), Kept("note", "first", data={"n": 1})])
    other.refresh()
    assert [record.text for record in other.records.all()] == ["first", "second"]
    assert other.records.all()[0].data == {"n": 1}
    assert other.records.all()[0].scope == NAME
    known = other.records.add(Kept("note", "second"))
    assert known.uid == other.records.all()[1].uid
    other.records.add(Kept("note", "second", episode_uid="of another episode"))
    assert len(other.records) == 3


def test_what_is_exported_can_be_imported_and_merged(opened: Open, tmp_path: Path) -> None:
    rng = random.Random(9)
    memory = opened()
    memory.scope(NAME).append_all([make_episode(rng, f"u{i}") for i in range(3)])
    memory.scope(NAME).records.add(Kept("note", "hello"))
    text = io.StringIO()
    assert exchange.export_episodes(text, [memory.scope(NAME)]) == (3, 1)
    path = tmp_path / "export.jsonl"
    path.write_text(text.getvalue())
    taken = exchange.import_episodes(memory, path, "x", into="game/other")
    assert (taken.episodes, taken.kept, taken.problems) == (3, 1, [])
    assert {s.provenance for e in memory.scope("game/other").episodes() for s in e.steps} == {"imported:x"}
    again = exchange.merge(memory, exchange.source_of(opened()))
    assert (again.episodes, again.known) == (0, 8)
    found = exchange.compare(exchange.source_of(memory), exchange.open_source(path), lambda text: None)
    assert [(one.scope, one.same, one.changed) for one in found] == [("game/other", 0, ()), (NAME, 3, ())]


def test_a_comparison_says_of_which_actions_two_memories_tell_different_things(tmp_path: Path) -> None:
    def step(action: str, reward: float, score: float) -> Step:
        return Step(State("[Cave]", ("cave",), place="Cave"), action, reward, reward, score)

    def life(uid: str, *steps: Step) -> Episode:
        return dataclasses.replace(make_episode(random.Random(1), uid), steps=steps, score=steps[-1].score)

    for name, episodes in {
        "a": [life("1", step("dig", 0, 0), step("go", 4, 4)), life("2", step("dig", 0, 0), step("wait", 0, 0))],
        "b": [life("3", step("dig", 0, 0), step("go", 4, 4)), life("4", step("sing", 1, 1))],
    }.items():
        with Memory(tmp_path / name) as memory:
            memory.scope(NAME).append_all(episodes)
    (found,) = exchange.compare(
        exchange.open_source(tmp_path / "a"), exchange.open_source(tmp_path / "b"), lambda text: None
    )
    assert [(one.action, one.a, one.b, one.count_a, one.count_b) for one in found.values] == [
        ("dig", 2.0, 4.0, 2, 1), ("sing", None, 1.0, 0, 1), ("wait", 0.0, None, 1, 0),
    ]  # fmt: skip


def test_it_is_a_tinydb_database(opened: Open) -> None:
    from tinydb import where

    rng = random.Random(10)
    scope, other = opened().scope(NAME), opened().scope(NAME)
    scope.append_all([make_episode(rng, f"u{i}", agent=("jitrl", "static")[i % 2]) for i in range(4)])
    other.refresh()
    assert [one["uid"] for one in other.db.search(where("agent") == "static")] == ["u1", "u3"]
    other.db.update({"model": "another"}, doc_ids=[2])
    other.db.table("mine").insert({"a": 1})
    other.db.table("mine").insert({"b": 2})
    scope.refresh()
    assert [each.model for each in scope.episodes()] == ["m", "another", "m", "m"]
    assert scope.db.table("mine").all() == [{"a": 1}, {"b": 2}]
    scope.db.drop_table("mine")
    other.refresh()
    assert other.db.tables() == {"episodes"}


def test_it_can_be_verified_and_compacted(opened: Open) -> None:
    rng = random.Random(11)
    scope = opened().scope(NAME)
    scope.append_all([make_episode(rng, f"u{i}", 3) for i in range(3)])
    scope.records.add(Kept("note", "hello"))
    before = list(scope.episodes())
    for _ in range(2):
        checked = upkeep.verify(scope.path)
        assert (checked.episodes, checked.entries, checked.kept, checked.sound) == (3, 9, 1, True)
        upkeep.compact(scope)
    assert list(scope.episodes()) == list(opened().scope(NAME).episodes()) == before


def test_a_journal_of_an_earlier_version_can_be_read(opened: Open) -> None:
    old = Path(__file__).with_name("before-terminated.jnl")
    memory = opened()
    taken = exchange.merge(memory, exchange.open_source(old))
    assert taken.episodes
    assert not taken.problems
    lines = [json.loads(line[18:]) for line in old.read_bytes().splitlines()]
    uids = [one["uid"] for line in lines if line.get("table") == "episodes" for one in line["put"].values()]
    found = [e.uid for name in opened().scopes() for e in memory.scope(name).episodes()]
    assert sorted(found) == sorted(uids)
