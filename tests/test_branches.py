"""A branch decides as its session did: it remembers what was in memory at that step, and writes into its own memory."""

from __future__ import annotations

import dataclasses
import shutil

import pytest

from engine.codec import event_to_line
from engine.environments import profile
from engine.memory import Memory
from engine.records import EpisodeStarted, Kept, SessionStarted, Stepped
from engine.session import branches, recording, suites
from engine.session import store as sessions
from engine.session.loop import Session
from engine.settings import SessionConfig
from jitrl_tui.cli import main
from tests.killed import decided, differences

STEPS = 8
SESSION = "source"
MEANWHILE = (2, 3)
"""Episode and step after which another session stores an episode."""


def config(estimator, **changes):
    settings = profile("default", step_limit=STEPS, estimator=estimator)
    return SessionConfig(**{"game": "pantry", "model": "prior/verbs", "episodes": 3, "settings": settings, **changes})


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def stored(folder):
    """Return what a memory of one scope holds: (entry of step 0, episode) pairs, and kept records."""
    with Memory(folder) as memory:
        scope = memory.scope(memory.scopes()[0])
        return list(scope.entered()), scope.records.all()


def play(saves, saved, emit=lambda event: None):
    session = Session(sessions.load(saved.folder), saves, emit)
    session.run()
    assert session.error is None


def made(saves, estimator):
    """Return a session of three episodes. Others were stored before it, in its second episode, and after it."""
    others = [
        sessions.create(saves, config(estimator, seed=seed, episodes=1), "run") for seed in (7, 8, 9)
    ]
    saved = sessions.create_in(saves / "sessions" / SESSION, config(estimator), "run")
    play(saves, others[0])

    def meanwhile(event):
        if isinstance(event, Stepped) and (event.episode, event.step) == MEANWHILE:
            play(saves, others[1])

    play(saves, saved, meanwhile)
    play(saves, others[2])
    return saves, saved


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    saves = tmp_path_factory.mktemp("graph")
    return made(saves, "graph")


@pytest.fixture(scope="module")
def knn(tmp_path_factory):
    saves = tmp_path_factory.mktemp("knn")
    return made(saves, "knn")


@pytest.fixture(params=["graph", "knn"])
def source(request):
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("at", [(1, 4), (2, 6), (2, STEPS)])
def test_a_branch_decides_as_its_session_and_leaves_the_shared_memory_as_it_is(source, at):
    saves, saved = source
    before = contents(saves / "memory")
    branch = branches.branch(saves, saved, at)
    play(saves, branch)
    assert contents(saves / "memory") == before
    expected, found = decided(saved), decided(branch)
    if at <= MEANWHILE:  # the branch does not know what another session stored after it
        expected, found = (
            {key: one for key, one in all_.items() if len(key) == 4 and (key[0], key[2]) <= MEANWHILE}
            for all_ in (expected, found)
        )
    assert len(expected) > STEPS
    assert differences(expected, found) == []


def test_a_branch_left_and_resumed_decides_as_its_session(source):
    saves, saved = source
    branch = branches.branch(saves, saved, (2, 6))
    session = None

    def leave(event):
        if isinstance(event, Stepped) and (event.episode, event.step) == (3, 2):
            session.control.stop()

    session = Session(branch, saves, leave)
    session.run()
    play(saves, branch)
    assert differences(decided(saved), decided(branch)) == []


def test_the_episode_of_a_branch_is_stored_once_and_later_ones_are_missing(knn):
    saves, saved = knn
    branch = branches.branch(saves, saved, (2, 6), episodes=2)
    whole, _ = stored(saves / "memory")
    copied, _ = stored(branch.folder / "memory")
    assert [(first, one.uid) for first, one in copied] == [(first, one.uid) for first, one in whole[:3]]
    play(saves, branch)
    after, _ = stored(branch.folder / "memory")
    (own,) = after[3:]
    uids = {event.episode: event.uid for _, event in recording.read(branch.folder) if isinstance(event, EpisodeStarted)}
    assert own[1].uid == uids[2]
    assert own[1].uid not in {one.uid for _, one in whole}
    assert own[1].session == branch.name


def test_a_branch_after_the_last_step_of_an_episode_goes_on_with_the_next(knn):
    saves, saved = knn
    branch = branches.branch(saves, saved, (2, STEPS), episodes=2)
    before = contents(branch.folder / "memory")
    play(saves, branch)
    assert contents(branch.folder / "memory") == before
    assert [event.episode for event in suites.finished_episodes(branch)] == [1, 2]


def test_records_that_were_kept_later_are_missing_in_a_branch(knn, tmp_path):
    saves, saved = knn
    shutil.copytree(saves, tmp_path / "saves")
    saves, saved = tmp_path / "saves", sessions.load(tmp_path / "saves" / "sessions" / SESSION)
    times = {(e.episode, e.step): at for at, e in recording.read(saved.folder) if isinstance(e, Stepped)}
    now = times[2, 4]
    with Memory(saves / "memory") as memory:
        scope = memory.scope(memory.scopes()[0])
        for text, session, episode, at in (
            ("another's before", "other", 9, now - 1),
            ("another's after", "other", 1, now + 1),
            ("own of episode 1", SESSION, 1, now + 1),  # written when the clock went wrong
            ("own of episode 2", SESSION, 2, now + 1),
        ):
            scope.records.add(Kept("note", text, session=session, episode=episode, at=at, agent="a"))
    branch = branches.branch(saves, saved, (2, 5))
    assert [record.text for record in stored(branch.folder / "memory")[1]] == ["another's before", "own of episode 1"]


def test_a_branch_of_a_recording_that_does_not_tell_what_memory_had(graph, tmp_path):
    saves, saved = graph
    shutil.copytree(saves, tmp_path / "saves")
    saved = sessions.load(tmp_path / "saves" / "sessions" / SESSION)
    lines = []
    for at, event in recording.read(saved.recording):
        if isinstance(event, SessionStarted):
            event = dataclasses.replace(event, next_entry=None)
        lines.append(event_to_line(event, at) + "\n")
    saved.recording.write_text("".join(lines), encoding="utf-8")
    branch = branches.branch(tmp_path / "saves", saved, (2, 6))
    play(tmp_path / "saves", branch)
    assert differences(decided(saved), decided(branch)) == []


def command(saves, capsys, *words):
    """Run `jitrl sessions`; return its exit code, and what it wrote on stdout and stderr."""
    code = main(["sessions", "--saves", str(saves), *words])
    return code, *capsys.readouterr()


def test_without_a_terminal_a_branch_is_played_only_with_yes_and_says_what_it_would_do(knn, capsys):
    saves, _ = knn
    before = set((saves / "sessions").iterdir())
    code, out, said = command(saves, capsys, "--branch", "2:6", SESSION)
    assert (code, out) == (2, "")
    assert "after step 6 of episode 2 of source, in a new session with a memory of its own" in said
    assert "play to the end of that episode; here is no terminal" in said
    _, _, said = command(saves, capsys, "--branch", "2:6", SESSION, "--into-memory", "--episodes", "3")
    assert "which would learn from it, and play to the end of that episode and 2 more episodes;" in said
    assert set((saves / "sessions").iterdir()) == before


@pytest.mark.parametrize(("more", "episodes"), [((), 1), (("--episodes", "2"), 2)])
def test_with_yes_a_branch_is_played_to_the_end_of_its_episode_or_of_as_many_as_asked(knn, capsys, more, episodes):
    saves, _ = knn
    known = {one.name for one in sessions.saved_sessions(saves)}
    before = contents(saves / "memory")
    code, _, said = command(saves, capsys, "--branch", "1:6", SESSION, "--yes", *more)
    (branch,) = (one for one in sessions.saved_sessions(saves) if one.name not in known)
    assert (code, said) == (0, f"branch: {branch.name}\n")
    assert [event.episode for event in suites.finished_episodes(branch)] == list(range(1, episodes + 1))
    assert contents(saves / "memory") == before


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--branch", "1:99", SESSION, "--yes"), "has steps 0 to 8, not 99"),
        (("--branch", "1:2", SESSION, "--yes", "--episodes", "0"), "--episodes must be at least 1"),
        (("--branch", "1:2", "--yes"), "--branch needs the name of a session"),
        (("--branch", "x", SESSION, "--yes"), "--branch takes STEP or EPISODE:STEP"),
        ((SESSION, "--yes"), "are for a branch"),
    ],
)
def test_a_branch_that_cannot_be_is_refused_in_a_sentence(knn, capsys, words, sentence):
    saves, _ = knn
    before = set((saves / "sessions").iterdir())
    code, _, said = command(saves, capsys, *words)
    assert code == 2
    assert sentence in said
    assert set((saves / "sessions").iterdir()) == before


def test_a_branch_knows_where_it_begins_and_can_use_the_memory_of_its_session(knn, tmp_path):
    saves, saved = knn
    assert sessions.load(branches.branch(saves, saved, (2, 6)).folder).origin == sessions.Origin(SESSION, 2, 6)
    assert branches.branch(saves, saved, (2, 6), shared=True).config.memory == "shared"
    fresh = sessions.create(tmp_path, config("knn", memory="own", episodes=1), "run")
    play(tmp_path, fresh)
    branch = branches.branch(tmp_path, fresh, (1, 3), shared=True)
    assert sessions.memory_folder(tmp_path, branch) == fresh.folder / "memory"
