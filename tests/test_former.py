"""What earlier versions wrote, with `done`, `won` and `died`, is read as terminated, truncated and outcome.

The recordings and the journal were made by the version before these names, with the story Feast: an episode in which
the bell pepper is cut the wrong way, one that follows the known solution, and one of two steps at a limit of two.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path

import pytest

from engine.codec import event_from_line, event_to_line, from_plain, to_plain
from engine.errors import BadFile
from engine.memory import Memory
from engine.memory.disk.files import JOURNAL
from engine.memory.exchange import import_episodes
from engine.paths import slug
from engine.records import EpisodeEnded, EpisodeStarted, Observation, Stepped
from engine.session import recording
from jitrl_tui.cli import main

RECORDINGS = Path(__file__).parent / "recordings"
BEFORE = RECORDINGS / "before-terminated.jsonl"
BEFORE_OUT_OF_STEPS = RECORDINGS / "before-terminated-out-of-steps.jsonl"
MEMORY_BEFORE = Path(__file__).parent / "memory" / "before-terminated.jnl"
SCOPE = "game/feast-5887ff8b"
OLD, NEW = {"done", "won", "died"}, {"terminated", "truncated", "outcome"}


def events(path, kind):
    return [event for _, event in recording.read(path) if isinstance(event, kind)]


def ends(record):
    return record.terminated, record.truncated, record.outcome


def test_the_episodes_of_an_old_recording_have_ended_as_they_did():
    assert [(e.steps, e.score, *ends(e)) for e in events(BEFORE, EpisodeEnded)] == [
        (3, 1.0, True, False, "lost"),
        (27, 17.0, True, False, "won"),
    ]
    assert [(e.steps, e.score, *ends(e)) for e in events(BEFORE_OUT_OF_STEPS, EpisodeEnded)] == [
        (2, 1.0, False, True, "")
    ]


def test_only_the_last_step_of_an_old_recordings_episode_is_its_end():
    steps = events(BEFORE, Stepped)
    assert [(s.episode, s.step, *ends(s.observation)) for s in steps if s.observation.over] == [
        (1, 2, True, False, "lost"),
        (2, 26, True, False, "won"),
    ]
    assert len(steps) == 30
    started = [e.observation for path in (BEFORE, BEFORE_OUT_OF_STEPS) for e in events(path, EpisodeStarted)]
    limited = [s.observation for s in events(BEFORE_OUT_OF_STEPS, Stepped)]
    assert [ends(seen) for seen in (*started, *limited)] == [(False, False, "")] * 5


def test_an_old_recording_is_written_anew_under_the_present_names(tmp_path):
    for line in BEFORE.read_text().splitlines():
        at, event = event_from_line(line)
        again = json.loads(event_to_line(event, at))
        told = again.get("observation") or again
        if again["event"] in ("EpisodeStarted", "Stepped", "EpisodeEnded"):
            assert told.keys() & (OLD | NEW) == NEW
        assert event_from_line(json.dumps(again)) == (at, event)


def test_a_replay_of_an_old_recording_says_how_episodes_ended(capsys):
    said = []
    for path in (BEFORE, BEFORE_OUT_OF_STEPS):
        assert main(["replay", str(path)]) == 0
        said += [line for line in capsys.readouterr().out.splitlines() if line.startswith("Episode")]
    assert [line for line in said if "ended" in line] == [
        "Episode 1 ended: score 1 of 17 after 3 steps (lost); 3 steps remembered.",
        "Episode 2 ended: score 17 of 17 after 27 steps (won); 27 steps remembered.",
        "Episode 1 ended: score 1 of 17 after 2 steps (out of steps); 2 steps remembered.",
    ]


def test_present_names_count_where_both_are_given():
    plain = to_plain(Observation("x", truncated=True)) | {"done": True, "won": True, "died": False}
    assert from_plain(Observation, plain) == Observation("x", truncated=True)


def test_old_names_are_checked_as_strictly_as_the_present_ones():
    with pytest.raises(BadFile, match="terminated should be bool"):
        from_plain(Observation, {"text": "x", "done": "yes"})


# ---------------------------------------------------------------------------------------------- memory


@pytest.fixture
def saves(tmp_path):
    """A saves folder with the old journal, as it was left."""
    folder = tmp_path / "memory" / slug(SCOPE)
    folder.mkdir(parents=True)
    shutil.copy(MEMORY_BEFORE, folder / JOURNAL)
    return tmp_path


def remembered(saves):
    with Memory(saves / "memory") as memory:
        return list(memory.scope(SCOPE).episodes())


def test_an_old_memory_tells_how_episodes_ended(saves):
    assert [(len(e.steps), e.score, *ends(e)) for e in remembered(saves)] == [
        (3, 1.0, True, False, "lost"),
        (27, 17.0, True, False, "won"),
        (2, 1.0, False, True, ""),
    ]


def test_what_is_shown_of_an_old_memory_has_the_present_names(saves, capsys):
    def told(*arguments):
        assert main(["--saves", str(saves), "memory", *arguments, "feast", "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    rows = told("show")
    assert [(row["terminated"], row["truncated"], row["outcome"]) for row in rows] == [
        (True, False, "lost"),
        (True, False, "won"),
        (False, True, ""),
    ]
    assert not OLD & set().union(*rows)
    (numbers,) = told("stats")
    assert (numbers["won"], numbers["lost"]) == (1, 1)
    assert "died" not in numbers


def test_an_old_memory_is_added_to_and_earlier_versions_can_read_what_was_added(saves):
    old = remembered(saves)
    cut = dataclasses.replace(old[2], uid="cut", number=0)
    with Memory(saves / "memory") as memory:
        scope = memory.scope(SCOPE)
        assert scope.append(cut) == 2
        assert scope.append(dataclasses.replace(old[0], uid="lost", number=0)) == 3
        stored = [[d[name] for name in ("done", "won", "died")] for d in map(dict, scope.db.all())]
    assert stored == [[True, False, True], [True, True, False], [False] * 3, [False] * 3, [True, False, True]]
    assert remembered(saves) == [
        *old, dataclasses.replace(cut, number=4), dataclasses.replace(old[0], uid="lost", number=5),
    ]  # fmt: skip


def test_what_the_environment_cut_off_and_what_never_ended_stay_apart_in_memory(saves):
    lived = remembered(saves)[2]
    sent = [
        dataclasses.replace(lived, uid=f"u{number}", number=number, terminated=terminated, truncated=truncated)
        for number, (terminated, truncated) in enumerate(((False, False), (False, True), (True, False)), 4)
    ]
    with Memory(saves / "memory") as memory:
        memory.scope(SCOPE).append_all(sent)
    assert remembered(saves)[3:] == sent


def test_an_outcome_that_is_none_is_not_remembered(saves):
    lived = remembered(saves)[0]
    with Memory(saves / "memory") as memory, pytest.raises(BadFile, match="'draw' is none"):
        memory.scope(SCOPE).append(dataclasses.replace(lived, uid="x", outcome="draw"))


def test_an_export_of_an_earlier_version_is_imported(saves, tmp_path):
    old = remembered(saves)
    file = tmp_path / "old.jsonl"
    with file.open("w") as lines:
        lines.write('{"format": "jitrl-episodes", "version": 1}\n')
        for episode, end in zip(old, ((True, False, True), (True, True, False), (False,) * 3), strict=True):
            plain = to_plain(episode)
            plain = {name: value for name, value in plain.items() if name not in NEW}
            lines.write(json.dumps(plain | dict(zip(("done", "won", "died"), end, strict=True))) + "\n")
    with Memory(tmp_path / "other") as memory:
        taken = import_episodes(memory, file, "old")
        found = list(memory.scope(SCOPE).episodes())
    assert (taken.episodes, taken.problems) == (3, [])
    assert [ends(e) for e in found] == [ends(e) for e in old]
