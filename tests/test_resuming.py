"""A session that was left and resumed decides as the same session that nobody left."""

from __future__ import annotations

import dataclasses
import random
import shutil
from collections import Counter

import pytest

from engine.codec import event_to_line
from engine.environments import profile
from engine.memory import Memory
from engine.memory.upkeep import forget_all, plan_forget
from engine.records import Decided, EpisodeEnded, Notice, SessionEnded, SessionStarted, Stepped, Valuation
from engine.registry import Registry
from engine.session import branches, recording
from engine.session import store as sessions
from engine.session.control import TakeBack
from engine.session.loop import Session
from engine.session.shared import experience
from engine.session.whatif import open_recording
from engine.settings import SessionConfig
from engine.values import EstimatorKind
from engine.values.base import Estimator
from tests.killed import Person, Trial, decided, differences, moments
from tests.playing import only

PERSON = {"overrules": [(2, 3)], "backs": [(1, 4), (3, 6)]}


@pytest.mark.parametrize(
    ("trial", "kills"),
    [
        (Trial(episodes=3, steps=12, script=PERSON), 1),
        (Trial(episodes=2, steps=12, changes={"estimator": "knn"}), 1),
    ],
    ids=["graph", "knn"],
)
def test_a_session_killed_at_random_moments_decides_as_one_that_nobody_killed(tmp_path, trial, kills):
    whole, number = trial.whole(tmp_path / "whole")
    killed, came = trial.killed(tmp_path / "killed", moments(random.Random(9), kills, number))
    assert came >= 1
    assert len(whole) > trial.episodes * 5
    assert differences(whole, killed) == []


# ------------------------------------------------------------------------------- within this process


def config(**changes):
    settings = profile("default", step_limit=10)
    return SessionConfig(**{"game": "pantry", "model": "prior/verbs", "episodes": 3, "settings": settings, **changes})


def play(saves, saved, until=None):
    """Play a session to its end, or until an episode and a number of steps in it; return its live events."""
    events = []

    def emit(event):
        events.append(event)
        if isinstance(event, Stepped) and (event.episode, event.step + 1) == until:
            session.control.stop()

    session = Session(sessions.load(saved.folder), saves, emit)
    session.run()
    assert session.error is None
    return events


def numbers(found):
    """Return decisions without the numbers that steps and episodes have in memory."""
    for decision in found.values():
        for part in decision.get("parts", ()):
            for neighbour in part["neighbours"]:
                del neighbour["entry"], neighbour["episode"]
        decision.pop("memory_entries", None)
    return found


def test_a_branch_left_and_resumed_decides_as_one_that_was_not(tmp_path):
    source = sessions.create(tmp_path / "source", config(), "run")
    play(tmp_path / "source", source)
    found = []
    for name, until in (("whole", None), ("left", (3, 4))):
        shutil.copytree(tmp_path / "source", tmp_path / name)
        kept = sessions.load(tmp_path / name / "sessions" / source.name)
        branch = branches.branch(tmp_path / name, kept, (2, 5))
        play(tmp_path / name, branch, until)
        if until is not None:
            play(tmp_path / name, branch)
        found.append(decided(branch))
    assert differences(*found) == []


def test_what_another_session_remembers_meanwhile_counts_from_the_next_episode_on(tmp_path):
    """And it counts in the same way for who leaves the session again later, and resumes it."""
    found, ends = [], []
    for name, leaves in (("whole", []), ("left", [(2, 7)]), ("left twice", [(2, 7), (3, 5)])):
        saves = tmp_path / name
        saved = sessions.create(saves, config(), "run")
        for number, until in enumerate(leaves):
            play(saves, saved, until)
            if number == 0:
                play(saves, sessions.create(saves, config(seed=9, episodes=2), "run"))
        ends.append(only(play(saves, saved), SessionEnded)[-1].others)
        found.append(numbers(decided(saved)))
    whole, left, twice = found
    assert {at[0] for at in differences(whole, left)} == {3}
    assert differences(left, twice) == []
    assert ends == [0, 2, 2]
    assert [experience(1, others) for others in ends[:2]] == ["sequential", "asynchronous, workers as they come"]


def test_what_a_frozen_session_has_tried_is_known_when_it_is_resumed(tmp_path):
    """It goes into no memory, so only the recording tells of it."""
    found, settings = [], profile("default", step_limit=10)
    for name, until in (("whole", None), ("left", (3, 4))):
        play(tmp_path / name, sessions.create(tmp_path / name, config(settings=settings, episodes=1), "run"))
        saved = sessions.create(tmp_path / name, config(settings=settings, seed=5, frozen=True), "run")
        play(tmp_path / name, saved, until)
        if until is not None:
            play(tmp_path / name, saved)
        found.append({at: one["parts"][0]["valuation"]["n"] for at, one in decided(saved).items() if "end" not in at})
    assert max(max(n) for n in found[0].values()) > 2
    assert differences(*found) == []


class Diary(Estimator):
    """Writes down what it is told. A decision that it makes and one that it is told of are the same to it."""

    def __init__(self, memory, settings, told):
        self._told = told
        told.append(("made", [first for first, _ in memory.entered()]))

    def neighbours(self, state):
        return ()

    def value(self, query, rng):
        self.decided(query, rng)
        nothing = (0,) * len(query.candidates)
        return Valuation(0.0, (0.0,) * len(nothing), nothing, ("optimistic",) * len(nothing))

    def decided(self, query, rng):
        actions = [one.action for one in query.candidates]
        self._told.append(("decided", query.state, actions, query.steps_left, query.outlook, rng.random()))

    def begin_episode(self, state):
        self._told.append(("began", state))

    def take_back(self):
        del self._told[max(n for n, one in enumerate(self._told) if one[0] == "began") :]

    def observe(self, step, then, *, terminated, lost):
        self._told.append(("observed", step, then, terminated, lost))

    def remembered(self, episode, first):
        self._told.append(("remembered", [step.action for step in episode.steps], first))

    def stored_elsewhere(self, episode, first):
        self._told.append(("stored", [step.action for step in episode.steps], first))


def test_a_replay_tells_an_estimator_what_the_session_told_it(tmp_path, monkeypatch):
    """Steps that were overruled and taken back, and an episode of another session, included."""
    told, find = [], Registry.find
    diary = EstimatorKind("diary", "", lambda *memory: Diary(*memory, told[-1]), replayed=True)
    monkeypatch.setattr(
        Registry, "find", lambda registry, name: diary if name == "diary" else find(registry, name)
    )

    def person(saves, saved, until=None):
        """Play as `play` does, with an overruled and a taken back step in episodes 1 and 3; return what was told."""
        control = Person({(1, 2), (3, 1)}, {(1, 4), (3, 3)})

        def emit(event):
            control.see(event)
            if isinstance(event, Stepped) and (event.episode, event.step + 1) == until:
                control.stop()

        told.append([])
        session = Session(sessions.load(saved.folder), saves, emit, control=control)
        session.run()
        assert session.error is None
        return told[-1]

    diaries = []
    for name, leaves in (("whole", []), ("left", [(3, 5)])):
        settings = profile("default", step_limit=8, estimator="diary")
        saved = sessions.create(tmp_path / name, config(settings=settings), "run")
        other = sessions.create(tmp_path / name, config(settings=settings, seed=9, episodes=1), "run")
        for one, until in ((saved, (2, 1)), (other, None), *((saved, left) for left in leaves)):
            person(tmp_path / name, one, until)
        diaries.append(person(tmp_path / name, saved))
    whole, left = diaries
    assert {entry[0] for entry in whole} == {"made", "began", "decided", "observed", "remembered", "stored"}
    assert left == whole


@pytest.mark.parametrize("changes", [{}, {"estimator": "knn"}], ids=["graph", "knn"])
def test_steps_taken_back_leave_no_trace_in_what_is_learnt(tmp_path, changes):
    """The session decides as if they had not been taken, and its decisions and those of a branch can be made again."""
    found = []
    for name, backs in (("without", []), ("with", [(1, 4), (1, 5), (2, 2), (2, 7), (3, 9)])):
        settings = profile("default", step_limit=10, **changes)
        saved = sessions.create(tmp_path / name, config(settings=settings, episodes=3), "run")
        control = Person({(2, 5)}, set(backs))
        session = Session(sessions.load(saved.folder), tmp_path / name, control.see, control=control)
        session.run()
        assert session.error is None
        made = decided(saved)
        assert max((key[1] for key in made if "end" not in key), default=0) == len(backs)
        found.append({key[::2]: one for key, one in made.items() if "end" not in key})
        scores = [made[episode, "end"]["score"] for episode in (1, 2, 3)]
        branch = branches.branch(tmp_path / name, saved, (3, 5))
        for one in (saved, branch):
            with open_recording(one.folder, tmp_path / name) as run:
                again = list(run.again(from_memory=True))
            assert len(again) == sum(len(past.steps) for past in run.episodes)
            assert [one.recorded.step for one in again if not one.same] == []
        found[-1]["scores"] = scores
    assert differences(*found) == []


def test_what_was_forgotten_meanwhile_is_not_learnt_again(tmp_path):
    saved = sessions.create(tmp_path, config(episodes=2), "run")
    (first,) = only(play(tmp_path, saved, (2, 1)), EpisodeEnded)
    assert first.entries_added
    with Memory(tmp_path / "memory") as memory:
        scope = memory.scope(memory.scopes()[0])
        (uid,) = (episode.uid for episode in scope.episodes())
        forget_all(memory, [(scope, plan_forget(scope, episodes={uid}))])
    events = play(tmp_path, saved)
    at = {(event.episode, event.decision.step): event.decision for event in only(events, Decided)}
    decision = at[2, 1]
    assert not decision.update.neighbours
    assert set(decision.update.valuation.n) == {0}


def test_what_is_left_of_an_episode_with_a_forgotten_step_is_learnt_once(tmp_path):
    saved = sessions.create(tmp_path, config(episodes=2), "run")
    play(tmp_path, saved, (2, 1))
    with Memory(tmp_path / "memory") as memory:
        scope = memory.scope(memory.scopes()[0])
        forget_all(memory, [(scope, plan_forget(scope, entries={3}))])
        (left,) = scope.episodes()
    taken = Counter((step.state.place, step.action) for step in left.steps if step.state.tokens)
    assert taken.total() == 9
    most = 0
    for event in play(tmp_path, saved):
        if isinstance(event, Decided) and event.episode == 2:
            decision = event.decision
            for candidate, n in zip(decision.candidates, decision.update.valuation.n, strict=True):
                most = max(most, n)
                assert n <= taken[decision.state.place, candidate.action]
            taken[decision.state.place, decision.action] += 1
    assert most > 0


def test_a_recording_that_does_not_tell_what_memory_had_is_resumed(tmp_path):
    saved = sessions.create(tmp_path, config(), "run")
    play(tmp_path, saved, (2, 7))
    lines = []
    for at, event in recording.read(saved.recording):
        if isinstance(event, SessionStarted):
            event = dataclasses.replace(event, next_entry=None)
        lines.append(event_to_line(event, at) + "\n")
    saved.recording.write_text("".join(lines), encoding="utf-8")
    events = play(tmp_path, saved)
    assert [event.episode for event in only(events, EpisodeEnded)] == [1, 2, 3]


def test_where_nothing_can_be_taken_back_the_decision_stands(tmp_path):
    class Hasty(Person):
        def gate(self, episode, tell, hold=""):
            if not asked:
                asked.append(episode)
                raise TakeBack
            return super().gate(episode, tell, hold)

    asked, events = [], []
    person = Hasty(set(), set())

    def emit(event):
        events.append(event)
        person.see(event)

    Session(sessions.create(tmp_path, config(episodes=1), "run"), tmp_path, emit, control=person).run()
    assert "no step to take back" in only(events, Notice)[0].message
    steps = [event.decision.step for event in only(events, Decided)]
    assert steps == list(range(len(steps)))
