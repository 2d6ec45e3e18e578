"""What was learnt is kept beside memory: with it one decides as without, and what does not fit is not used."""

from __future__ import annotations

import dataclasses
import errno
import gc
import hashlib
import io
import json
import logging
import os
import pickle
import random
import subprocess
import sys

import numpy as np
import pytest

from engine.environments import profile
from engine.games.catalogue import open_game
from engine.memory import Memory, upkeep
from engine.memory.disk import files, frame
from engine.memory.scope import LEARNT
from engine.memory.search import Correction, MemoryFilter
from engine.memory.upkeep import copy_until, correct
from engine.memory.view import ScopeView
from engine.records import Candidate, Episode, Step
from engine.settings.plan import OpeningNumbers, PlanNumbers
from engine.values import learnt
from engine.values.base import Query
from engine.values.graph import GraphEstimator
from tests.bench.dungeons import Dungeon

NAME = "game/dungeon"
SETTINGS = profile("default")
ALWAYS, NEVER = OpeningNumbers(relived_s=0.0), OpeningNumbers(relived_s=1e6)


def lives(seed, count, steps=16):
    """Return episodes of somebody who walks at random, and then dies, gives up, or goes on to the limit."""
    dungeon, dice, told = Dungeon(seed, furnished=True, untold=seed % 2 > 0), random.Random(seed), []
    for number in range(count):
        state, lived = dungeon.reset(), []
        for _ in range(steps):
            valid = dungeon.valid()
            action = dice.choice(valid)
            after, reward = dungeon.step(action)
            lived.append(Step(state, action, reward, reward, dungeon.score, valid_actions=valid))
            state = after
            if dungeon.done:
                break
        outcome = "lost" if dungeon.died else ""
        told.append(Episode(f"{seed}-{number}", NAME, tuple(lived), state, terminated=dungeon.done, outcome=outcome))
    return told


def decisions(estimator, seed, episodes=2, steps=20):
    """Return all that an estimator says while its advice is followed in a dungeon."""
    dungeon, said = Dungeon(seed, furnished=True, untold=seed % 2 > 0), []
    for _ in range(episodes):
        state = dungeon.reset()
        estimator.begin_episode(state)
        for number in range(steps):
            valid = dungeon.valid()
            actions = estimator.also(state, valid)
            query = Query(state, (), tuple(Candidate(a, 0.0) for a in actions), valid, steps - number)
            said.append(estimator.value(query, np.random.default_rng(number)))
            action = actions[int(np.argmax(said[-1].q))]
            before = state
            state, reward = dungeon.step(action)
            step = Step(before, action, reward, reward, dungeon.score, valid_actions=valid)
            estimator.observe(step, state, terminated=dungeon.done, lost=dungeon.died)
            if dungeon.done:
                break
    return said


class Counted:
    """Counts the episodes that estimators relive while it is in force."""

    def __init__(self, monkeypatch):
        self.episodes = 0
        relive = GraphEstimator._learn_episode

        def counted(estimator, episode, first):
            self.episodes += 1
            relive(estimator, episode, first)

        monkeypatch.setattr(GraphEstimator, "_learn_episode", counted)

    def of(self, memory, *arguments, **named):
        """Open an estimator; return how many episodes it relived, and the estimator."""
        self.episodes = 0
        estimator = learnt.open_estimator(GraphEstimator, memory, *arguments, **{"opening": NEVER, **named})
        return self.episodes, estimator


@pytest.fixture
def counted(monkeypatch):
    return Counted(monkeypatch)


@pytest.fixture
def logged():
    """What is written to the log meanwhile."""
    records, handler = [], logging.Handler()
    handler.emit = records.append
    logging.getLogger("jitrl.memory").addHandler(handler)
    yield records
    logging.getLogger("jitrl.memory").removeHandler(handler)


@pytest.fixture
def memory(tmp_path):
    with Memory(tmp_path / "memory") as memory:
        yield memory


@pytest.fixture
def scope(memory):
    """A memory of eight episodes; what was learnt from them is kept."""
    scope = memory.scope(NAME)
    scope.append_all(lives(1, 8))
    learnt.open_estimator(GraphEstimator, scope, SETTINGS, opening=ALWAYS)
    assert (scope.folder / LEARNT).exists()
    return scope


@pytest.mark.parametrize("seed", range(2))
def test_one_decides_as_who_relived_all(memory, counted, seed):
    """Kept after some episodes, kept again after more, and opened with some more."""
    scope, lived, dice = memory.scope(NAME), lives(seed, 12), random.Random(seed)
    for since, until in ((0, a := dice.randrange(1, 7)), (a, b := dice.randrange(7, 10)), (b, 12)):
        scope.append_all(lived[since:until])
        relived, kept = counted.of(scope, SETTINGS, opening=ALWAYS)
        assert relived == until - since
        assert gc.isenabled()
    relived, reopened = counted.of(scope, SETTINGS)
    anew = GraphEstimator(scope.entered(), SETTINGS)
    assert relived == 0
    expected = decisions(anew, seed)
    assert decisions(kept, seed) == expected
    assert decisions(reopened, seed) == expected


def test_it_may_be_kept_by_a_process_that_hashes_otherwise(memory, counted):
    scope = memory.scope(NAME)
    scope.append_all(lives(3, 8))
    expected = decisions(GraphEstimator(scope.entered(), SETTINGS), 3)
    code = (
        "import sys; from pathlib import Path; from engine.memory import Memory\n"
        "from engine.values import learnt\n"
        "from engine.values.graph import GraphEstimator\n"
        "from tests.values.test_opening import ALWAYS, NAME, SETTINGS\n"
        "learnt.open_estimator(GraphEstimator, Memory(Path(sys.argv[1])).scope(NAME), SETTINGS, opening=ALWAYS)"
    )
    other = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code, memory.folder], check=True, env=other)
    relived, kept = counted.of(scope, SETTINGS)
    assert relived == 0
    assert decisions(kept, 3) == expected


def test_a_shipped_game_goes_on_alike(memory, counted):
    environment = open_game("pantry")
    scope = memory.scope(environment.info.scope)

    def play(estimator, uid, steps=15):
        seen, abstractor = environment.reset(1), environment.abstractor()
        state, lived, said = abstractor.begin(seen), [], []
        estimator.begin_episode(state)
        while not seen.over and len(lived) < steps:
            valid = environment.valid_actions()
            actions = estimator.also(state, valid)
            query = Query(state, (), tuple(Candidate(a, 0.0) for a in actions), valid, steps - len(lived))
            said.append(estimator.value(query, np.random.default_rng(0)))
            action, before, score = actions[int(np.argmax(said[-1].q))], state, seen.score
            seen = environment.step(action)
            state, gain = abstractor.advance(action, seen), seen.score - score
            lived.append(Step(before, action, gain, gain, seen.score, valid_actions=valid))
            estimator.observe(lived[-1], state, terminated=seen.terminated, lost=seen.outcome == "lost")
        return said, Episode(uid, "", tuple(lived), state, terminated=seen.terminated, outcome=seen.outcome)

    try:
        for number in range(3):
            relived, kept = counted.of(scope, SETTINGS, opening=ALWAYS)
            assert relived == min(1, number)
            said, episode = play(kept, f"e{number}")
            assert play(GraphEstimator(scope.entered(), SETTINGS), "again")[0] == said
            scope.append(episode)
    finally:
        environment.close()


def test_of_a_session_that_is_told_again_memory_tells_the_episodes_that_lack_a_step(scope, counted):
    told = list(scope.entered())
    (before, _), (late, lacking) = told[-2:]
    relived, estimator = counted.of(ScopeView(scope, MemoryFilter(before, partly=True)), SETTINGS)
    assert relived == len(told) - 2
    known = estimator._sources.remembered
    upkeep.forget(scope, upkeep.plan_forget(scope, entries=[late]), "op")
    relived, estimator = counted.of(ScopeView(scope, MemoryFilter(before, partly=True)), SETTINGS)
    assert relived == len(told) - 1
    assert estimator._sources.remembered == known + len(lacking.steps) - 1


# ------------------------------------------------------------------------------------------ what does not fit


def _with_other(numbers=None, **changes):
    return lambda scope: (scope, dataclasses.replace(SETTINGS, **changes), numbers)


def _forgotten(scope):
    upkeep.forget(scope, upkeep.plan_forget(scope, entries=[3]), "op")
    return scope, SETTINGS


def _forgotten_by_another_version(scope):
    """Whoever forgets deletes the file; here it comes back."""
    kept = (scope.folder / LEARNT).read_bytes()
    _forgotten(scope)
    assert not (scope.folder / LEARNT).exists()
    (scope.folder / LEARNT).write_bytes(kept)
    return scope, SETTINGS


def _undone(scope):
    _forgotten(scope)
    learnt.open_estimator(GraphEstimator, scope, SETTINGS, opening=ALWAYS)
    kept = (scope.folder / LEARNT).read_bytes()
    upkeep.undo(scope, "op")
    (scope.folder / LEARNT).write_bytes(kept)
    return scope, SETTINGS


def _corrected(scope):
    correct(scope, {5: Correction(gain=7.0)})
    return scope, SETTINGS


def _corrected_in_thought(scope):
    return ScopeView(scope, MemoryFilter(corrections={5: Correction(gain=7.0)})), SETTINGS


def _hidden(scope):
    return ScopeView(scope, MemoryFilter(without=frozenset({2}))), SETTINGS


def _seen_before(scope):
    return ScopeView(scope, MemoryFilter(before=scope.next_entry - 1)), SETTINGS


def _compacted(scope):
    upkeep.compact(scope)
    return scope, SETTINGS


def _edited(scope):
    """One digit of the first episode's line, as a disk might change it."""
    place = scope.journal.position.places["episodes"][1]
    with scope.path.open("r+b") as file:
        file.seek(place.offset + place.length // 2)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 1]))
    return scope, SETTINGS


@pytest.mark.parametrize(
    "changed",
    [
        _with_other(gamma=0.9),
        _with_other(PlanNumbers(kept=3)),
        _forgotten,
        _forgotten_by_another_version,
        _undone,
        _corrected,
        _corrected_in_thought,
        _hidden,
        _seen_before,
        _compacted,
        _edited,
    ],
)
def test_what_does_not_fit_is_learnt_anew(scope, counted, changed):
    arguments = changed(scope)
    relived, estimator = counted.of(*arguments)
    assert relived >= 7
    memory, settings, numbers = (*arguments, None)[:3]
    view = memory if isinstance(memory, ScopeView) else ScopeView(memory)
    anew = GraphEstimator(view.entered(), settings, numbers)
    assert decisions(estimator, 1, 1, 8) == decisions(anew, 1, 1, 8)


@pytest.mark.parametrize(
    "arguments",
    [
        _with_other(curiosity=0.2, prior_weight=3.0, beta=1.0),
        lambda scope: (ScopeView(scope), SETTINGS),
        lambda scope: (ScopeView(scope, MemoryFilter(before=scope.next_entry)), SETTINGS),
    ],
)
def test_what_changes_nothing_of_it_fits(scope, counted, arguments):
    """Other settings of decisions, and the whole memory under another name."""
    assert counted.of(*arguments(scope))[0] == 0


def test_a_resumed_session_uses_it_and_keeps_nothing(scope, counted):
    """It learns from what was there when it began; the rest of its life it is told."""
    before, kept = scope.next_entry, (scope.folder / LEARNT).read_bytes()
    scope.append_all(lives(1, 10))
    assert counted.of(ScopeView(scope, MemoryFilter(before, partly=True)), SETTINGS, opening=ALWAYS)[0] == 0
    assert counted.of(ScopeView(scope), SETTINGS)[0] == 2
    assert (scope.folder / LEARNT).read_bytes() == kept


def test_another_program_learns_anew(scope, counted, monkeypatch):
    monkeypatch.setattr(learnt, "code_digest", lambda place: f"other {place.name}")
    assert counted.of(scope, SETTINGS)[0] == 8
    monkeypatch.setattr(learnt, "code_digest", lambda place: "")  # its sources cannot be read
    assert counted.of(scope, SETTINGS, opening=ALWAYS)[0] == 8
    assert counted.of(scope, SETTINGS)[0] == 8


def test_that_of_another_scope_does_not_fit(scope, memory, counted, tmp_path):
    other = memory.scope("game/other")
    other.append_all(lives(1, 8))
    (other.folder / LEARNT).write_bytes((scope.folder / LEARNT).read_bytes())
    assert counted.of(other, SETTINGS)[0] == 8
    copy_until(scope, tmp_path / "cut", scope.next_entry, lambda record: True)
    with Memory(tmp_path / "cut") as cut:
        assert not (cut.scope(NAME).folder / LEARNT).exists()


def test_one_that_is_torn_after_a_crash_of_the_journal(scope, counted):
    """The journal's last line was not whole, so its episode is not there, and what was learnt does not fit."""
    size = scope.path.stat().st_size
    scope.close()
    os.truncate(scope.path, size - 10)
    with Memory(scope.folder.parent) as memory:
        assert memory.scope(NAME).episode_count == 7
        assert counted.of(memory.scope(NAME), SETTINGS)[0] == 7


# ---------------------------------------------------------------------------------- damaged and hostile files


def remade(scope, body):
    """Write a file with another pickle and all that is right about it."""
    path = scope.folder / LEARNT
    head = json.loads(frame.decode(path.read_bytes().split(b"\n", 1)[0]))
    head |= {"length": len(body), "sha256": hashlib.sha256(body).hexdigest()}
    path.write_bytes(frame.encode(json.dumps(head).encode()) + body)


def test_a_damaged_file_is_refused_with_one_line(scope, counted, logged):
    path, dice = scope.folder / LEARNT, random.Random(4)
    whole = path.read_bytes()
    ways = [b"", whole[:-1], whole[:200], whole[: len(whole) // 2], b"garbage" * 1000, whole + b"x"]
    for at in (*dice.sample(range(len(whole)), 6), 30, 100):
        ways.append(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
    for content in ways:
        path.write_bytes(content)
        logged.clear()
        assert counted.of(scope, SETTINGS)[0] == 8
        assert [record.levelno for record in logged] == [logging.WARNING]
        assert "damaged" in logged[0].getMessage()
    path.write_bytes(whole)
    assert counted.of(scope, SETTINGS)[0] == 0


class Hostile:
    """What runs a function when it is read."""

    def __init__(self, function, *arguments):
        self._does = function, arguments

    def __reduce__(self):
        return self._does


@pytest.mark.parametrize(
    "evil",
    [
        Hostile(os.system, "touch ran"),
        Hostile(eval, "open('ran', 'w')"),
        Hostile(getattr, {}, "clear"),
        Hostile(logging.FileHandler, "ran"),  # a class, but none of these modules
        Hostile(learnt.open_estimator, None, None),  # of an admitted module, but a function
        Hostile(learnt.Path, "ran"),  # imported by an admitted module, but not its own
        {"_model": 1},
        [],
        None,
    ],
)
def test_a_hostile_file_runs_nothing(scope, counted, logged, tmp_path, monkeypatch, evil):
    monkeypatch.chdir(tmp_path)
    remade(scope, pickle.dumps(evil))
    assert counted.of(scope, SETTINGS)[0] == 8
    assert not (tmp_path / "ran").exists()
    assert len(logged) == 1


def test_what_reads_pickles_is_not_admitted():
    reader = learnt._Unpickler(io.BytesIO(), ["engine.values"])
    assert reader.find_class("engine.values.counts", "TryCount") is not None
    with pytest.raises(pickle.UnpicklingError):
        reader.find_class(learnt.__name__, "_Unpickler")


@pytest.mark.parametrize(
    "evil",
    [
        b"cengine.values.learnt\nPath\n(S'x'\ntR.",
        b"cengine.values.learnt\nos.system\n(S'touch ran'\ntR.",
        b"cengine.values.graph\nnp.os.system\n(S'touch ran'\ntR.",
        b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x09touch ran\x85R.",
        b"cos\nsystem\n.",
        b"\x80\x05.",
        b"(" * 100_000,
    ],
)
def test_a_pickle_by_hand_runs_nothing(scope, counted, logged, tmp_path, monkeypatch, evil):
    monkeypatch.chdir(tmp_path)
    remade(scope, evil)
    assert counted.of(scope, SETTINGS)[0] == 8
    assert not (tmp_path / "ran").exists()
    assert len(logged) == 1


def test_a_link_or_a_pipe_is_not_read(scope, counted, tmp_path):
    path = scope.folder / LEARNT
    os.rename(path, tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert counted.of(scope, SETTINGS)[0] == 8
    path.unlink()
    os.mkfifo(path)
    assert counted.of(scope, SETTINGS)[0] == 8


# ------------------------------------------------------------------------------------------------- writing


def test_a_small_memory_keeps_nothing(memory):
    scope = memory.scope(NAME)
    learnt.open_estimator(GraphEstimator, scope, SETTINGS, opening=ALWAYS)
    scope.append_all(lives(1, 2))
    learnt.open_estimator(GraphEstimator, scope, SETTINGS, opening=NEVER)
    assert not list(scope.folder.glob(f"{LEARNT}*"))


def test_a_full_disk_costs_nothing(scope, counted, monkeypatch):
    def full(fd, lines):
        os.write(fd, b"some of it")
        raise OSError(errno.ENOSPC, "no space left on device")

    kept = (scope.folder / LEARNT).read_bytes()
    scope.append_all(lives(1, 9))
    monkeypatch.setattr(files, "write_lines", full)
    assert counted.of(scope, SETTINGS, opening=ALWAYS)[0] == 1
    assert (scope.folder / LEARNT).read_bytes() == kept
    assert not list(scope.folder.glob(f"{LEARNT}.*"))


def test_what_a_killed_process_left_is_cleared_away(scope):
    (scope.folder / f"{LEARNT}.1.part").write_bytes(b"half of it")
    scope.append_all(lives(1, 9))
    learnt.open_estimator(GraphEstimator, scope, SETTINGS, opening=ALWAYS)
    assert [path.name for path in scope.folder.glob(f"{LEARNT}*")] == [LEARNT]
    assert (scope.folder / LEARNT).stat().st_mode & 0o777 == 0o600


def test_what_was_stored_meanwhile_was_not_learnt(scope, counted, monkeypatch):
    """An episode that comes while the others are relived: nothing is kept then, and all is learnt next time."""
    kept = (scope.folder / LEARNT).read_bytes()
    scope.append_all(lives(1, 9))
    marked, late = learnt.mark_of, lives(2, 1)

    def meanwhile(*arguments):
        found = marked(*arguments)
        if late:
            scope.append(late.pop())
        return found

    monkeypatch.setattr(learnt, "mark_of", meanwhile)
    counted.of(scope, SETTINGS, opening=ALWAYS)
    assert (scope.folder / LEARNT).read_bytes() == kept
    monkeypatch.undo()
    assert learnt.open_estimator(GraphEstimator, scope, SETTINGS, opening=NEVER).model is not None
