"""Recorded runs told to their agent again: the same numbers as when they were played, and as if played otherwise."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from types import SimpleNamespace

import pytest

from engine.errors import UsageError
from engine.memory import Memory, upkeep
from engine.memory.search import Correction, MemoryFilter
from engine.memory.upkeep import correct
from engine.memory.view import ScopeView
from engine.records import Decided, EpisodeEnded, Stepped
from engine.session import recording, whatif
from engine.session import store as sessions
from engine.session.recorded import RecordedRun
from engine.session.replay import Replay
from engine.settings import SessionConfig, Settings
from jitrl_tui.cli import main
from tests.playing import only, run, taking_back

KNN = Settings(step_limit=12, beta=3.0, relax=0.1, history_weight=0.25)
GRAPH = Settings(step_limit=15, estimator="graph", selection="greedy")


def played(saves, settings, episodes=2, model="prior/uniform"):
    config = SessionConfig("pantry", model=model, episodes=episodes, settings=settings)
    saved = sessions.create(saves, config, "run")
    run(saved, saves)
    return saved


@pytest.fixture(scope="module")
def knn(tmp_path_factory):
    saves = tmp_path_factory.mktemp("knn")
    return saves, played(saves, KNN)


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    saves = tmp_path_factory.mktemp("graph")
    return saves, played(saves, GRAPH)


@pytest.mark.parametrize("which", ["knn", "graph"])
def test_with_unchanged_settings_every_recorded_decision_comes_out_exactly(which, request):
    saves, saved = request.getfixturevalue(which)
    with whatif.open_recording(saved.folder, saves) as recorded:
        assert len(recorded) >= 24
        for from_memory in (True, False):
            outcome = whatif.what_if(recorded, from_memory=from_memory)
            assert outcome.decisions == len(recorded)
            assert (outcome.differing, outcome.moved, outcome.unlike or 0) == ((), 0, 0)


def test_of_a_recording_that_grows_only_what_is_new_is_read(knn, tmp_path, monkeypatch):
    saves, saved = knn
    lines = saved.recording.read_bytes().splitlines(keepends=True)
    file, seen = tmp_path / recording.FILE_NAME, []
    read = recording.EventReader.read
    monkeypatch.setattr(recording.EventReader, "read", lambda self, line: (seen.append(line), read(self, line))[1])
    growing, runs = whatif.OpenRun(file, saves, live=True), []
    for end in (len(lines) // 3, len(lines) // 2, len(lines)):
        file.write_bytes(b"".join(lines[:end]) + lines[end - 1][:9])  # and the beginning of a line
        runs.append(growing.run())
    assert growing.run() is runs[-1]
    assert seen == lines
    whole = RecordedRun(recording.read(saved.recording))
    assert len(runs[0]) < len(runs[1]) < len(runs[2]) == len(whole)  # those that were given stay as they were
    assert runs[2].episodes == whole.episodes
    file.unlink()
    file.write_bytes(b"".join(lines[: len(lines) // 2]))
    assert len(growing.run()) == len(runs[1])


def test_points_that_a_person_gave_are_replayed_at_their_own_step(tmp_path):
    saved, told = played(tmp_path, GRAPH, episodes=1), []
    agent = SimpleNamespace(
        begin_episode=lambda *_: None,
        observe=lambda step, *_, **__: told.append(step.env_reward),
        end_episode=lambda *_: None,
    )
    with whatif.open_recording(saved.folder, tmp_path) as recorded:
        (past,), scope = recorded.episodes, recorded.scope
        first = scope.first_entry(past.started.uid)
        expected = [step.env_reward for step in scope.episode(past.started.uid).steps]
        correct(scope, {first + 2: Correction(gain=7.0)})
        started = dataclasses.replace(recorded.started, next_entry=first)
        list(Replay(agent, started, ScopeView(scope), {past.started.uid}).episode(past))
    expected[2] = 7.0
    assert len(expected) > 3
    assert told == expected


@pytest.mark.parametrize("settings", [KNN, GRAPH])
def test_what_was_decided_before_a_step_that_was_taken_back_is_made_again_too(tmp_path, settings):
    config = SessionConfig("pantry", model="prior/uniform", episodes=2, settings=settings)
    saved = sessions.create(tmp_path, config, "run")
    _, events = run(saved, tmp_path, taking_back(5))
    carried_out = {(event.episode, event.step) for event in events if isinstance(event, Stepped)}
    with whatif.open_recording(saved.folder, tmp_path) as again:
        made = list(again.again(from_memory=True))
        assert [(one.episode, one.recorded.step) for one in made] == sorted(carried_out)
        assert all(one.same for one in made)


def test_decisions_that_were_taken_back_are_not_counted_behind_a_step(tmp_path):
    config = SessionConfig("pantry", model="prior/uniform", episodes=2, settings=KNN)
    saved = sessions.create(tmp_path, config, "watch")

    def command(session, event):
        if isinstance(event, Decided) and (event.episode, event.decision.step) == (2, 2):
            session.control.take_back()  # the decision of step 2 stands no more, and that of step 1 is made again
            session.control.end_episode(2)

    _, events = run(saved, tmp_path, command)
    assert [event.steps for event in only(events, EpisodeEnded)][1] == 1
    with sessions.open_memory(tmp_path, saved) as memory:
        (scope,) = memory.scopes()
        counts = whatif.hit_counts(tmp_path, memory, scope)
    last = {event.decision.step: event.decision for event in only(events, Decided) if event.episode == 2}
    behind = Counter(n.entry for step in range(2) for n in last[step].update.neighbours if n.entry >= 0)
    assert last[2].update.neighbours
    assert counts.hits == behind


@pytest.mark.parametrize(
    ("settings", "changes"),
    [
        (KNN, {"beta": 0.5}),
        (KNN, {"k": 2, "r": 0.5, "gamma": 0.9, "history_weight": 0.0}),
        (KNN, {"lam": 0.1, "alpha": 20.0, "selection": "greedy"}),
        (GRAPH, {"curiosity": 0.2, "beta": 0.3, "selection": "sample"}),
    ],
)
def test_the_first_choice_that_would_differ_is_the_one_at_which_a_run_with_these_settings_departs(
    tmp_path, settings, changes, request
):
    saves, saved = request.getfixturevalue("knn" if settings is KNN else "graph")
    other = dataclasses.replace(settings, **changes)
    elsewhere = played(tmp_path, other)
    as_played = [e.decision for _, e in recording.read(elsewhere.folder) if isinstance(e, Decided)]
    with whatif.open_recording(saved.folder, saves) as recorded:
        again = list(recorded.again(changes))
    first = next(n for n, one in enumerate(again) if one.differs)
    assert 0 < first < len(again) - 1
    for n in range(first + 1):
        assert dataclasses.replace(again[n], recorded=as_played[n]).same, n
    assert again[first].now.action == as_played[first].action


def test_a_changed_memory_gives_the_numbers_of_a_memory_that_was_changed(tmp_path, knn):
    saves, saved = knn
    with whatif.open_recording(saved.folder, saves) as recorded:
        last = [one for one in recorded.again() if one.recorded.update.neighbours][-1]
        at = (last.episode, last.recorded.step)
        hits = last.recorded.update.neighbours
        tried = whatif.trial(recorded, at, memory_filter=MemoryFilter(without=frozenset({hits[0].entry})))
    # The same without a filter: forget the step in a copy of the memory.
    with Memory(saves / "memory") as memory, Memory(tmp_path / "copy") as copy:
        scope = memory.scope(memory.scopes()[0])
        own = copy.scope(scope.name)
        own.append_all(scope.episodes())
        upkeep.forget_all(copy, [(own, upkeep.plan_forget(own, entries={hits[0].entry}))])
        run_of = RecordedRun(recording.read(saved.folder), own)
        other = whatif.trial(run_of, at, memory_filter=MemoryFilter())
    assert tried.now.update.neighbours == other.now.update.neighbours
    assert tried.now.posterior == other.now.posterior
    assert hits[0].entry not in [one.entry for one in tried.now.update.neighbours]


def test_influence_is_the_difference_that_each_hit_makes(knn):
    saves, saved = knn
    with whatif.open_recording(saved.folder, saves) as recorded:
        last = [one for one in recorded.again() if one.recorded.update.neighbours][-1]
        at = (last.episode, last.recorded.step)
        ranked = whatif.influence(recorded, at)
        base = whatif.trial(recorded, at, memory_filter=MemoryFilter()).now
        assert {one.entry for one in ranked} == {n.entry for n in base.update.neighbours}
        for one in ranked:
            other = whatif.trial(recorded, at, memory_filter=MemoryFilter(without=frozenset({one.entry}))).now
            assert one.v == base.update.valuation.v - other.update.valuation.v
            assert one.decides == (base.action != other.action)
        assert [one.decides for one in ranked] == sorted((one.decides for one in ranked), reverse=True)


def test_without_its_memory_a_recording_still_tells_what_needs_none(tmp_path, knn):
    saves, saved = knn
    alone = tmp_path / "events.jsonl"
    alone.write_bytes(saved.recording.read_bytes())
    with whatif.open_recording(alone, tmp_path) as recorded, whatif.open_recording(saved.folder, saves) as whole:
        assert recorded.scope is None
        one, other = (list(r.again({"beta": 0.1, "k": 2})) for r in (recorded, whole))
        assert [a.now for a in one] == [a.now for a in other]
        with pytest.raises(UsageError, match="not at hand"):
            whatif.what_if(recorded, {"gamma": 0.9})


def test_a_setting_whose_effect_needs_the_model_is_refused(knn):
    saves, saved = knn
    with whatif.open_recording(saved.folder, saves) as recorded, pytest.raises(UsageError, match="candidates"):
        whatif.what_if(recorded, {"candidates": 5})


def test_another_agents_recording_is_refused(tmp_path):
    config = SessionConfig("pantry", agent="static", model="prior/uniform", episodes=1, settings=KNN)
    saved = sessions.create(tmp_path, config, "run")
    run(saved, tmp_path)
    with pytest.raises(UsageError, match="static adjusts no logits"), whatif.open_recording(saved.folder, tmp_path):
        pass


def test_the_command_prints_what_would_differ(knn, capsys):
    saves, saved = knn
    assert main(["--saves", str(saves), "whatif", saved.name, "--set", "beta=0", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["changed"] == {"beta": {"from": 3.0, "to": 0.0}}
    assert 0 < told["differ"] == len(told["choices"]) < told["decisions"]
    assert main(["--saves", str(saves), "whatif", saved.name]) == 0
    assert f"0 of {told['decisions']} choices would differ" in capsys.readouterr().out
    assert main(["--saves", str(saves), "whatif", saved.name, "--set", "nonsense=1"]) == 2


@pytest.mark.parametrize("settings", [KNN, GRAPH])
def test_a_step_forgotten_while_a_decision_waits_is_not_behind_it_any_more_and_no_model_is_asked(tmp_path, settings):
    config = SessionConfig("pantry", model="prior/uniform", episodes=2, settings=settings)
    saved = sessions.create(tmp_path, config, "run")
    gone: list[int] = []
    told: list[Decided] = []

    def command(session, event):
        if not isinstance(event, Decided):
            return
        told.append(event)
        update = event.decision.update
        if gone or event.episode < 2 or not update.neighbours:
            return
        gone.append(update.neighbours[0].entry)
        with Memory(tmp_path / "memory") as memory:
            (name,) = memory.scopes()
            whatif.keep(memory.scope(name), memory, MemoryFilter(without=frozenset(gone)))
        session.control.reread()

    session, _ = run(saved, tmp_path, command)
    assert session.error is None
    at = next(n for n, event in enumerate(told) if "You changed memory" in event.decision.why)
    before, after = told[at - 1].decision, told[at].decision
    proposed = [[(c.action, c.z) for c in one.candidates[:3]] for one in (before, after)]
    assert (before.step, proposed[0]) == (after.step, proposed[1])
    assert gone[0] in [one.entry for one in before.update.neighbours]
    for event in told[at:]:
        assert gone[0] not in [one.entry for one in event.decision.update.neighbours]
    with whatif.open_recording(saved.folder, tmp_path) as recorded:
        here = (told[at].episode, after.step)
        assert whatif.trial(recorded, here, memory_filter=MemoryFilter()).now.posterior == after.posterior
