"""Settings that a person changes while a session runs: followed, recorded, and known to all that reads a recording."""

import dataclasses
import json
import re
import shutil

import pytest

from engine.errors import BadFile
from engine.records import Decided, Paused, SettingsChanged, Stepped, Thinking
from engine.session import branches, inspect_log, levers, recording, transcript, whatif
from engine.session import store as sessions
from engine.session.candidates import candidate_rows
from engine.settings import SessionConfig, Settings
from tests.playing import only, run

KNN = Settings(estimator="knn", step_limit=9, r=0.2, beta=2.0, k=8, selection="sample")
GRAPH = Settings(estimator="graph", step_limit=9, beta=2.0)
HERE = (2, 4)
"""Episode and step at which the settings are changed."""


def changing(changes, *, waits):
    """Return an `on_event` that changes settings at the decision of `HERE`, once: while it waits, or as it is told."""
    done = []

    def command(session, event):
        if isinstance(event, Decided) and (event.episode, event.decision.step) == HERE and not done:
            done.append(event)
            if waits:
                session.control.pause()
            else:
                session.control.change(changes)
        if isinstance(event, Paused) and event.question and len(done) == 1:
            done.append(event)
            session.control.change(changes)
        elif isinstance(event, Decided) and len(done) == 2:
            done.append(event)
            session.control.resume()

    return command


def played(tmp_path, settings, changes, *, waits=True, episodes=3):
    config = SessionConfig("pantry", model="prior/verbs", episodes=episodes, settings=settings)
    saved = sessions.create(tmp_path, config, "run")
    session, events = run(saved, tmp_path, changing(changes, waits=waits))
    assert session.error is None
    return saved, events


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    """The saves folder of a session of two episodes in which beta was changed."""
    saves = tmp_path_factory.mktemp("changed")
    played(saves, KNN, {"beta": 0.5}, episodes=2)
    return saves


def copied(changed, saves):
    """Return that session in another saves folder."""
    shutil.copytree(changed, saves, dirs_exist_ok=True)
    return sessions.load(next((saves / "sessions").iterdir()))


def place(event):
    return event.episode, event.decision.step


@pytest.mark.parametrize(
    ("settings", "changes"), [(KNN, {"beta": 0.0}), (KNN, {"k": 1, "r": 0.9, "alpha": 50.0}), (GRAPH, {"beta": 0.0})]
)
def test_the_decision_that_waits_and_all_later_ones_are_made_with_the_changed_settings(tmp_path, settings, changes):
    saved, events = played(tmp_path, settings, changes)
    here = [event.decision for event in only(events, Decided) if place(event) == HERE]
    before, after = here[0], here[-1]
    assert [c.action for c in before.candidates[:3]] == [c.action for c in after.candidates[:3]]
    (told,) = only(events, SettingsChanged)
    assert (told.episode, told.step, told.settings) == (*HERE, changes)
    for decision in [after, *(event.decision for event in only(events, Decided) if place(event) > HERE)]:
        if "beta" in changes:
            assert decision.update.beta == 0.0
            assert decision.posterior == decision.prior
        else:
            assert len(decision.update.neighbours) <= 1
            assert all(near.similarity >= 0.9 for near in decision.update.neighbours)
    rows = list(candidate_rows(saved.folder))
    told_then = " ".join(f"{name}={value}" for name, value in sorted(changes.items()))
    assert {row.turned for row in rows if (row.episode, row.step) >= HERE} == {told_then}
    assert {row.turned for row in rows if (row.episode, row.step) < HERE} == {""}
    inspect_log.save(saved.folder, tmp_path / "log.json")
    samples = json.loads((tmp_path / "log.json").read_text())["samples"]
    logged = {one["epoch"]: one["metadata"].get("settings_changed") for one in samples}
    assert logged == {1: None, 2: [{"step": HERE[1], "settings": changes}], 3: None}
    with whatif.open_recording(saved.folder, tmp_path) as again:
        outcome = whatif.what_if(again, from_memory=True)
        assert (outcome.differing, outcome.moved, outcome.unlike) == ((), 0, 0)
        for beta in (3.0, 2.0):  # 2 is what the session began with
            assert all(one.now.update.beta == beta for one in again.again({"beta": beta}))
        assert again.settings_at(HERE) == again.settings_at() == dataclasses.replace(settings, **changes)
        assert again.settings_at((HERE[0], HERE[1] - 1)) == settings


def test_a_change_while_the_session_runs_counts_from_the_next_decision(tmp_path):
    _, events = played(tmp_path, KNN, {"beta": 0.5}, waits=False, episodes=2)
    betas = {place(event): event.decision.update.beta for event in only(events, Decided)}
    assert all(beta == (0.5 if at > HERE else 2.0) for at, beta in betas.items())
    assert only(events, SettingsChanged)[0].step == HERE[1] + 1
    said = "You changed settings here: beta 2 "
    for form in ("txt", "md", "html", "json"):
        assert said in transcript.transcript_text(transcript.transcript(events), form)


def test_a_change_while_a_decision_is_made_again_counts_for_that_decision(tmp_path):
    pressed = []

    def command(session, event):
        if isinstance(event, Decided) and (event.episode, event.decision.step) == HERE and not pressed:
            pressed.append(1.0)
            session.control.pause()
        elif isinstance(event, (Paused, Thinking)) and pressed and len(pressed) < 4:
            session.control.change({"beta": pressed[-1]})
            pressed.append(pressed[-1] / 2)
        elif isinstance(event, Paused) and len(pressed) == 4:
            pressed.append(0.0)
            session.control.resume()

    config = SessionConfig("pantry", model="prior/verbs", episodes=2, settings=KNN)
    _, events = run(sessions.create(tmp_path, config, "run"), tmp_path, command)
    assert [e.decision.update.beta for e in only(events, Decided) if place(e) == HERE] == [2.0, 1.0, 0.5, 0.25]


def test_a_session_that_is_resumed_and_a_branch_go_on_with_the_changes(changed, tmp_path):
    saved = copied(changed, tmp_path)
    longer = dataclasses.replace(saved, config=dataclasses.replace(saved.config, episodes=3))
    _, events = run(longer, tmp_path)
    assert {event.decision.update.beta for event in only(events, Decided) if event.episode == 3} == {0.5}
    for at, beta in ((HERE, 0.5), ((2, 2), 2.0), ((2, 6), 0.5), ((1, 9), 2.0)):  # the last one is an episode's end
        branch = branches.branch(tmp_path, saved, at, episodes=2)
        _, events = run(branch, tmp_path)
        assert {e.decision.update.beta for e in only(events, Decided) if place(e) >= at} == {beta}
    other = branches.branch(tmp_path, saved, HERE, episodes=2, settings=dataclasses.replace(KNN, beta=0.5, k=1))
    told = [event for _, event in recording.read(other.recording)]
    assert levers.in_force(told) == {"beta": 0.5, "k": 1}
    assert sum(isinstance(event, Stepped) for event in told) == 9 + HERE[1]


@pytest.mark.parametrize(
    ("settings", "changes"),
    [
        (GRAPH, {"curiosity": 9.0, "prior_weight": 0.0, "selection": "first"}),
        (KNN, {"gamma": 0.9, "history_weight": 0.9}),
    ],
)
def test_a_branch_with_other_settings_is_made_again_with_those_in_force_at_each_step(tmp_path, settings, changes):
    saved, _ = played(tmp_path, settings, {"beta": 0.5})
    other = dataclasses.replace(settings, beta=0.5, **changes)
    branch = branches.branch(tmp_path, saved, HERE, settings=other)
    run(branch, tmp_path)
    with whatif.open_recording(branch.folder, tmp_path) as again:
        assert again.settings_at() == other
        assert again.settings_at((1, 0)) == settings
        outcome = whatif.what_if(again, from_memory=True)
        assert (outcome.differing, outcome.moved, outcome.unlike) == ((), 0, 0)
        undone = whatif.what_if(again, {name: getattr(settings, name) for name in changes}, from_memory=True)
        assert undone.differing or undone.moved
    before = branches.branch(tmp_path, branch, (1, 3))
    assert before.config.settings == settings


def test_a_value_that_is_not_allowed_changes_nothing(tmp_path):
    _, events = played(tmp_path, KNN, {"r": 7.0}, waits=False, episodes=2)
    assert not only(events, SettingsChanged)
    assert any("r" in text and "7" in text for text in (getattr(event, "message", "") for event in events))


def test_a_setting_that_a_running_session_does_not_follow_is_not_said_to_be_changed(tmp_path):
    _, events = played(tmp_path, GRAPH, {"beta": 0.5, "curiosity": 9.0}, waits=False, episodes=2)
    assert [event.settings for event in only(events, SettingsChanged)] == [{"beta": 0.5}]


def test_only_what_an_estimator_asks_at_each_decision_can_be_changed(tmp_path):
    assert levers.levers(KNN) == ("beta", "k", "lam", "alpha", "r")
    assert levers.levers(GRAPH) == ("beta",)
    assert levers.apply_changes(GRAPH, {"beta": 1.0, "k": 3, "step_limit": 5}) == dataclasses.replace(GRAPH, beta=1.0)


@pytest.mark.parametrize(
    ("nonsense", "said"),
    [
        ({"beta": "lots"}, "beta must be a number, not 'lots'"),
        ({"beta": [1, {}]}, "beta must be a number"),
        ({"k": 2.5}, "k must be a whole number, not 2.5"),
    ],
)
def test_a_recording_with_a_change_to_what_cannot_be_is_refused_with_its_line(changed, tmp_path, nonsense, said):
    saved = copied(changed, tmp_path)
    lines = edited(saved.recording, nonsense)
    with pytest.raises(BadFile, match=rf"line \d+: {re.escape(said)}"):
        list(recording.read(saved.recording))
    longer = dataclasses.replace(saved, config=dataclasses.replace(saved.config, episodes=3))
    session, _ = run(longer, tmp_path)
    assert said in str(session.error)
    assert saved.recording.read_text(encoding="utf-8") == lines


def test_a_change_of_a_setting_that_this_version_does_not_know_is_passed_over(changed, tmp_path):
    saved = copied(changed, tmp_path)
    edited(saved.recording, {"beta": 0.5, "spare": 3})
    branch = branches.branch(tmp_path, saved, (2, 2), episodes=2)
    assert levers.in_force(event for _, event in recording.read(branch.recording)) == {}
    branch = branches.branch(tmp_path, saved, (2, 6), episodes=2)
    session, events = run(branch, tmp_path)
    assert session.error is None
    assert {e.decision.update.beta for e in only(events, Decided) if place(e) >= (2, 6)} == {0.5}


def edited(path, settings):
    """Put other settings into the changes of a recording; return its new text."""
    events = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for event in events:
        if event["event"] == "SettingsChanged":
            event["settings"] = settings
    lines = "".join(json.dumps(event) + "\n" for event in events)
    path.write_text(lines, encoding="utf-8")
    return lines
