"""Stored sessions are deleted, renamed, and gone on with by another model."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from engine.environments import profile
from engine.errors import ModelError, UsageError
from engine.llm.priors.wordless import UniformModel
from engine.records import EpisodeEnded, EpisodeStarted, Stepped
from engine.session import edits, recording, suites
from engine.session import store as sessions
from engine.session.loop import Session
from engine.settings import SessionConfig
from jitrl_tui.cli import main
from tests.tui import stream

CONFIG = SessionConfig(
    "pantry", model="prior/verbs", episodes=6, memory="own", settings=profile("default", step_limit=4)
)


def recorded(saved: sessions.SavedSession, events) -> sessions.SavedSession:
    recorder = recording.Recorder(saved.recording)
    for at, event in stream.recorded(events):
        recorder.write(event, at)
    recorder.close()
    return saved


@pytest.fixture
def saved(tmp_path: Path) -> sessions.SavedSession:
    """A session of six episodes, in the third one."""
    events = stream.run(3, 4)
    last = max(at for at, event in enumerate(events) if isinstance(event, EpisodeEnded))
    return recorded(sessions.create(tmp_path, CONFIG, "watch"), events[:last])


def test_a_deleted_session_is_gone_and_others_stay(tmp_path, saved):
    other = sessions.create(tmp_path, CONFIG, "watch")
    edits.delete(tmp_path, saved)
    assert [path.name for path in (tmp_path / "sessions").iterdir()] == [other.name]


def test_a_renamed_session_has_the_same_recording(tmp_path, saved):
    before = saved.recording.read_bytes()
    renamed = edits.rename(tmp_path, saved, " the long one ")
    assert [session.name for session in sessions.saved_sessions(tmp_path)] == ["the long one"]
    assert sessions.load(renamed.folder) == renamed
    assert renamed.recording.read_bytes() == before
    assert not saved.folder.exists()


@pytest.mark.parametrize("name", ["", " ", "a/b", "..", ".x", "-x", "rm", "rename", "x" * 61, "a\nb", "own:x"])
def test_a_name_that_cannot_be_is_refused(tmp_path, saved, name):
    with pytest.raises(UsageError, match="a session needs a name of 1 to 60 letters"):
        edits.rename(tmp_path, saved, name)
    with pytest.raises(UsageError, match="already"):
        edits.rename(tmp_path, saved, saved.name)
    assert saved.folder.is_dir()


def test_what_is_needed_or_being_played_is_neither_deleted_nor_renamed(tmp_path, saved):
    recorder = recording.Recorder(saved.recording)
    with pytest.raises(UsageError, match="open in another window"):
        edits.delete(tmp_path, saved)
    recorder.close()
    follower = edits.go_on_with(tmp_path, saved, edits.successor(saved, model="prior/uniform"))
    for change in (lambda: edits.delete(tmp_path, saved), lambda: edits.rename(tmp_path, saved, "x")):
        with pytest.raises(UsageError, match=f"{follower.name} uses its memory"):
            change()
    edits.delete(tmp_path, follower)
    suite = suites.create(tmp_path, CONFIG, ["pantry"])
    suites._write(tmp_path, dataclasses.replace(suite, sessions=(saved.name,)))
    with pytest.raises(UsageError, match=f"part of the run {suite.name}"):
        edits.delete(tmp_path, saved)


def test_another_model_goes_on_in_a_session_of_its_own_with_the_memory(tmp_path):
    source = sessions.create(tmp_path, dataclasses.replace(CONFIG, episodes=2), "watch")
    Session(source, tmp_path, lambda event: None).run()
    source = sessions.SavedSession(source.name, source.folder, dataclasses.replace(CONFIG, episodes=5), source.kind)
    before = source.recording.read_bytes()
    changed = edits.successor(source, model="prior/uniform", profile="reference")
    assert (changed.episodes, changed.model, changed.profile) == (3, "prior/uniform", "reference")
    assert changed.settings == profile("reference", step_limit=4)
    follower = edits.go_on_with(tmp_path, source, dataclasses.replace(changed, episodes=1))
    session = Session(follower, tmp_path, lambda event: None)
    session.run()
    started, *events = [event for _, event in recording.read(follower.recording)]
    assert (started.model, started.profile, started.memory_entries) == ("prior/uniform", "reference", 8)
    assert [event.episode for event in events if isinstance(event, EpisodeStarted)] == [1]
    assert session.results[0].memory_entries == 12  # two episodes of four steps of the source, and its own
    assert source.recording.read_bytes() == before
    assert edits.successor(source).settings == source.config.settings


def test_a_session_without_a_step_leaves_nothing(tmp_path, saved):
    started = sessions.create(tmp_path, CONFIG, "watch")
    assert edits.discard_unplayed(started)
    events = stream.run(1, 2)
    first = next(at for at, event in enumerate(events) if isinstance(event, Stepped))
    assert edits.discard_unplayed(recorded(sessions.create(tmp_path, CONFIG, "watch"), events[:first]))
    assert not edits.discard_unplayed(recorded(sessions.create(tmp_path, CONFIG, "watch"), events[: first + 1]))
    assert not edits.discard_unplayed(saved)
    assert len(list(sessions.saved_sessions(tmp_path))) == 2


def test_a_server_that_is_down_leaves_no_session(tmp_path, monkeypatch, capsys):
    class Down(UniformModel):
        def propose(self, *_, **__):
            raise ModelError("the server does not answer", fatal=True)

    monkeypatch.setattr("engine.llm.open_model", lambda *_, **__: Down())
    assert main(["run", "pantry", "--model", "openai/x", "--saves", str(tmp_path), "--quiet"]) != 0
    assert list((tmp_path / "sessions").iterdir()) == []
    said = capsys.readouterr().err
    assert "the server does not answer" in said
    assert "--resume" not in said


def test_sessions_are_listed_with_their_scores_renamed_and_removed(tmp_path, saved, capsys):
    scores = [event.score for _, event in recording.read(saved.recording) if isinstance(event, EpisodeEnded)]
    places = ["--saves", str(tmp_path)]
    assert main(["sessions", *places]) == 0
    line = capsys.readouterr().out
    assert f"2/6  {scores[-1]:g}/{sum(scores) / 2:.1f}/{max(scores):g}" in line
    assert main([*places, "sessions", "rename", saved.name, "mine"]) == 0
    assert main(["sessions", "rm", "nothing", *places, "--yes"]) == 2
    assert "there is no session 'nothing'" in capsys.readouterr().err
    assert main(["sessions", "rm", "mine", *places]) == 2  # it asks, and nobody is there
    assert main(["sessions", "rm", "--yes", "mine", *places]) == 0
    assert list((tmp_path / "sessions").iterdir()) == []
