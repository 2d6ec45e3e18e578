"""What memory takes in it can read again; everything else is refused with a sentence: episodes, exports, journals."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tinydb import where

from engine import limits
from engine.errors import BadFile, JitrlError, UsageError
from engine.memory import Memory, exchange, report, upkeep
from engine.memory.disk import document as documents
from engine.memory.disk import frame, journal
from engine.memory.scope import Scope
from engine.records import Episode, Kept, State, Step
from tests.examples import most
from tests.hostile import JSON, NUMBERS, TEXTS, check_sentence, records, spoiled
from tests.memory.lives import make_episode

NAME = "game/hostile"
SLOW = settings(max_examples=most(120), deadline=None, suppress_health_check=list(HealthCheck))
PLACES = st.lists(st.integers(0, 60), min_size=1, max_size=6)


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """Yield an empty folder, in memory where that is possible."""
    where = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=where) as name:
        yield Path(name)


def used(scope: Scope) -> tuple[list[Episode], list[Kept]]:
    """Do with a scope what commands and sessions do; return what is in it."""
    episodes, kept = list(scope.episodes()), scope.records.all()
    report.summary(scope)
    report.statistics(scope)
    list(report.search(scope, ["a"], gamma=0.5))
    for episode in episodes:
        scope.neighbours(episode.final, k=3, r=0.0, gamma=0.5, history_weight=0.25)
    scope.db.search(where("number") == 1)
    exchange.export_episodes(io.StringIO(), [scope])
    return episodes, kept


def reopened(root: Path, name: str = NAME) -> tuple[list[Episode], list[Kept]]:
    """Return what a new process finds; nothing may be amiss."""
    with Memory(root, secrets=()) as memory:
        assert [error for _, error in memory.inspect() if error is not None] == []
        scope = memory.scope(name)
        found = used(scope)
        assert scope.notices == []
        assert not scope.path.exists() or upkeep.verify(scope.path).sound
        return found




@SLOW
@given(st.lists(records(Episode), min_size=1, max_size=3), records(Kept))
def test_an_episode_is_refused_or_found_as_it_was_taken(episodes, record):
    with folder() as root:
        with Memory(root, secrets=()) as memory:
            scope = memory.scope(NAME)
            for one in episodes:
                try:
                    scope.append(one)
                except JitrlError as error:
                    check_sentence(error)
            with contextlib.suppress(JitrlError):
                scope.records.add(record)
            shown = used(scope)
        assert reopened(root) == shown
        with Memory(root, secrets=()) as memory:  # written anew and carried elsewhere it is the same, too
            scope = memory.scope(NAME)
            upkeep.compact(scope)
            with (root / "out.jsonl").open("w", encoding="utf-8") as out:
                exchange.export_episodes(out, [scope])
        assert reopened(root) == shown
        with Memory(root / "there", secrets=()) as memory:
            taken = exchange.import_episodes(memory, root / "out.jsonl", "x", into=NAME)
            assert taken.problems == []
        bare = [dataclasses.replace(one, number=0, steps=()) for one in shown[0]]
        assert [dataclasses.replace(one, number=0, steps=()) for one in reopened(root / "there")[0]] == bare


def export_of(count: int) -> list[bytes]:
    out = io.StringIO()
    with folder() as root, Memory(root, secrets=()) as memory:
        scope = memory.scope(NAME)
        for number in range(count):
            scope.append(make_episode(random.Random(number), f"u{number}", 2, words=2))
        scope.records.add(Kept("reflection", "text", {"a": [1]}, uid="k"))
        exchange.export_episodes(out, [scope])
        path = scope.path
        journal = path.read_bytes()
    return [*out.getvalue().encode().splitlines(keepends=True), journal]


*EXPORT, JOURNAL = export_of(3)
REPLACED = st.sampled_from(JSON) | st.sampled_from([str(n).encode() for n in NUMBERS]) | st.sampled_from(
    [json.dumps(text).encode() for text in TEXTS]
)  # fmt: skip


@SLOW
@given(st.integers(0, 4), PLACES, REPLACED)
def test_a_spoiled_export_is_taken_or_refused_and_what_is_taken_can_be_read(line, path, value):
    lines = [*EXPORT]
    lines[line] = spoiled(lines[line], path, value).replace(b"\n", b" ") + b"\n"
    with folder() as root:
        (root / "in.jsonl").write_bytes(b"".join(lines))
        with Memory(root / "m", secrets=()) as memory:
            try:
                taken = exchange.import_episodes(memory, root / "in.jsonl", "x")
            except JitrlError as error:
                check_sentence(error)
                return
            assert taken.episodes >= 2
            assert all(0 < len(problem) < 700 for problem in taken.problems)
        for name in taken.scopes:
            episodes, kept = reopened(root / "m", name)
            assert len(episodes) + len(kept) > 0 or len(taken.scopes) > 1


@SLOW
@given(st.integers(0, 4), PLACES, REPLACED)
@example(1, [1, 0, 7], b"1000000000000000000000000000000")  # the score of an episode
def test_a_spoiled_journal_is_opened_or_refused(line, path, value):
    """Every line has its right checksums: this is somebody's work, no damage."""
    payloads = [one[frame.PREFIX :] for one in JOURNAL.splitlines()]
    payloads[line] = spoiled(payloads[line], path, value).replace(b"\n", b" ")
    with folder() as root:
        place = root / "episodes.jnl"
        place.write_bytes(b"".join(map(frame.encode, payloads)))
        with contextlib.suppress(JitrlError):
            upkeep.verify(place)
        try:
            scope = Scope(root, NAME)
        except JitrlError as error:
            check_sentence(error)
            return
        used(scope)
        try:
            scope.append(make_episode(random.Random(9), "new", 3))
            upkeep.compact(scope)
        except JitrlError as error:
            check_sentence(error)
        before = used(scope)
        scope.close()
        again = Scope(root, NAME)
        assert used(again) == before
        again.close()


@SLOW
@given(st.binary(max_size=300) | st.lists(st.sampled_from(JSON), max_size=5).map(b"".join), st.integers(0, 2),
       st.integers(0, len(JOURNAL) - 1))  # fmt: skip
def test_any_bytes_in_a_journal_or_an_export_give_a_sentence(content, how, place):
    with folder() as root:
        path = root / "episodes.jnl"
        over = JOURNAL[:place] + content + JOURNAL[place + len(content) :]
        path.write_bytes([content, JOURNAL[:place] + content, over][how])
        for attempt in (upkeep.verify, exchange.open_source):
            with contextlib.suppress(JitrlError):
                attempt(path)
        with contextlib.suppress(JitrlError):
            scope = Scope(root, NAME)
            used(scope)
            scope.close()
        export = b"".join(EXPORT)
        place %= len(export)
        (root / "in").write_bytes([content, export[:place] + content, export[:place] + content + export[place:]][how])
        with Memory(root / "m", secrets=()) as memory, contextlib.suppress(JitrlError):
            exchange.import_episodes(memory, root / "in", "x")


@pytest.mark.parametrize("name", ["", "..", "x" * 1001, "x" * 100_000, "a\0b", "\ud800", "a\nb", "\x1b[31m"])
def test_a_scope_whose_name_could_not_be_read_again_is_refused(tmp_path, name):
    with Memory(tmp_path) as memory, pytest.raises(UsageError):
        memory.scope(name)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("field", "value"),
    [("seed", 1 << 63), ("seed", -(1 << 63) - 1), ("score", 1e101), ("max_score", float("inf")), ("number", 1 << 63),
     ("token_scheme", 1 << 70), ("started", float("nan"))],
)  # fmt: skip
def test_numbers_that_could_not_be_read_again_are_refused(tmp_path, field, value):
    scope = Scope(tmp_path, NAME)
    with pytest.raises(BadFile):
        scope.append(make_episode(random.Random(1), "u", 2, **{field: value}))
    assert not scope.path.exists()
    scope.append(make_episode(random.Random(1), "u", 2, seed=(1 << 63) - 1, number=limits.COUNT))
    with pytest.raises(BadFile):  # there is no number after this one
        scope.append(make_episode(random.Random(1), "v", 2))
    scope.close()
    again = Scope(tmp_path, NAME)
    assert [(one.uid, one.seed, one.number) for one in again.episodes()] == [("u", (1 << 63) - 1, limits.COUNT)]
    assert again.notices == []


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("uid", ""), ("uid", None), ("number", -1), ("first", 1.5), ("score", "1"), ("seed", 1 << 70), ("done", 1),
        ("agent", "a" * 2000), ("mine", float("inf")), ("states", {}), ("states/0", "text"), ("states/0/text", None),
        ("states/0/text", "x" * 70_000), ("states/0/text", "\ud800"), ("states/0/place", 3),
        ("states/0/place", "x" * 2000), ("states/0/tokens", "abc"), ("states/0/tokens", ["a", 1]),
        ("states/0/tokens", ["a"] * 5000), ("states/0/tokens", ["a" * 2000]), ("histories/0/tokens", None),
        ("valid", [["a"], 1]), ("valid", [["a", None]]), ("valid", [["a"] * 5000]), ("steps", []), ("steps", [1]),
        ("steps", [[]]), ("steps/0", {}), ("steps/0/state", 99), ("steps/0/state", -1), ("steps/0/history", True),
        ("steps/0/valid", "0"), ("steps/0/action", 1), ("steps/0/action", "\udfff"), ("steps/0/action", "a" * 2000),
        ("steps/0/reward", "1"), ("steps/0/reward", float("nan")), ("steps/0/env_reward", 1e101),
        ("steps/0/score", True), ("steps/0/changed", 1), ("steps/0/world_hash", 5), ("steps/0/provenance", "devil"),
        ("steps/0/provenance", None), ("final", [0]), ("final", [99, 0]), ("final", [0, 99]), ("final", ["0", 0]),
    ],
)  # fmt: skip
def test_a_document_that_is_no_episode_is_refused(place, value):
    document = json.loads(json.dumps(documents.to_document(make_episode(random.Random(2), "u", 3), 0)))
    documents.check(document)
    *way, last = (int(part) if part.isdecimal() else part for part in place.split("/"))
    target = document
    for part in way:
        target = target[part]
    target[last] = value
    for read in (documents.check, documents.to_episode):
        with pytest.raises(BadFile) as caught:
            read(document)
        check_sentence(str(caught.value))


def test_an_episode_is_stored_within_the_limits_and_without_signs_that_steer_a_terminal():
    episode = make_episode(random.Random(2), "u", 3)
    state = State("x\x1b" * 40_000, ("a\x9b",) * 5000, "h\x07", ("t" * 2000,), "p\x1b" * 2000)
    odd = Step(state, "say \x1b[31m" + "x" * 2000, 1.0, 0.0, 0.0, "imported:a\x1b", ("v\x1b",) * 5000, True, "w\x1b")
    names = {"agent": "a\x1b", "model": "m" * 2000, "session": "s\x1b"}
    hostile = dataclasses.replace(episode, steps=(odd, *episode.steps), **names)
    found = documents.to_episode(json.loads(json.dumps(documents.to_document(hostile, 0))))
    told = json.dumps(documents.to_document(found, 0))
    assert "\\u001b" not in told
    assert "\\u009b" not in told
    assert "\\u0007" not in told
    assert found.steps[1:] == episode.steps
    step = found.steps[0]
    assert (step.action, step.provenance) == ("say \ufffd[31m" + "x" * 991 + "…", "imported:a\ufffd")
    assert (len(step.state.text), len(step.state.tokens), len(step.valid_actions)) == (limits.TEXT + 1, 4096, 4096)
    assert (len(found.model), len(step.state.history_tokens[0]), len(step.state.place)) == (1001, 1001, 1001)


def test_a_line_without_an_end_is_no_journal(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "LINE", 2 << 20)
    path = tmp_path / "episodes.jnl"
    path.write_bytes(JOURNAL)
    with path.open("r+b") as file:
        file.truncate(1 << 30)  # a hole of 1 GB: no newline in it
    with pytest.raises(BadFile, match="a line of more than 2 MB"):
        Scope(tmp_path, NAME)
    with pytest.raises(BadFile, match="jitrl memory recover"):
        upkeep.verify(path)


@pytest.mark.parametrize("generation", ["../../x", "/", "\0", 5, None, "x" * 300])
def test_a_generation_that_would_name_other_files_makes_no_header(tmp_path, generation):
    head, *lines = JOURNAL.splitlines()
    header = {**json.loads(head[frame.PREFIX :]), "generation": generation}
    lines.insert(1, b"damaged")  # so that the file would be kept under a name made of its generation
    (tmp_path / "episodes.jnl").write_bytes(frame.encode(json.dumps(header).encode()) + b"\n".join(lines) + b"\n")
    with pytest.raises(BadFile, match="first line"):
        Scope(tmp_path, NAME)


def test_an_undo_file_that_is_none_is_refused(tmp_path):
    with Memory(tmp_path) as memory:
        scope = memory.scope(NAME)
        scope.append_all([make_episode(random.Random(n), f"u{n}", 2) for n in range(2)])
        upkeep.forget_all(memory, [(scope, upkeep.plan_forget(scope, episodes={"1"}))])
        undo = scope.folder / upkeep.UNDO
        head, item, *_ = undo.read_bytes().split(b"\n")
        for value in (b"5", b'{"id":1}', b'{"id":"x","document":{}}', b'{"id":1,"document":5}', b"[" * 5000):
            undo.write_bytes(head + b"\n" + frame.encode(value))
            with pytest.raises(BadFile, match="is damaged"):
                upkeep.undo_last(memory)
        undo.write_bytes(head + b"\n" + item + b"\n")
        assert upkeep.undo_last(memory) == (2, 0)
