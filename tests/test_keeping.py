"""Taking back, saving, loading and branching: the same seed and actions give the same transcript."""

from __future__ import annotations

import pytest

from engine.errors import BadFile, UsageError
from engine.memory import Memory
from engine.records import Decided, EpisodeEnded, EpisodeStarted, Notice, Paused, Stepped, TakenBack
from engine.session import branches as keeping
from engine.session import recording
from engine.session import store as sessions
from engine.settings import SessionConfig, Settings
from tests.playing import only, run

STEPS = 8


def config(**changes):
    settings = Settings(step_limit=STEPS)
    plain = {
        "game": "pantry",
        "agent": "random",
        "model": "prior/uniform",
        "episodes": 1,
        "settings": settings,
    }
    return SessionConfig(**{**plain, **changes})


def play(saves, saved, on_event=None):
    session, events = run(saved, saves, on_event)
    assert session.error is None
    return events


def transcript(events):
    return [(s.step, s.action, s.observation) for s in only(events, Stepped)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Two episodes, played through: the saves folder, the session and its events."""
    saves = tmp_path_factory.mktemp("whole")
    saved = sessions.create(saves, config(episodes=2), "play")
    return saves, saved, play(saves, saved)


@pytest.mark.parametrize("at", [(1, 0), (1, 3), (1, STEPS), (2, 5)])
def test_a_branch_goes_the_same_way_as_what_it_branched_from(whole, at):
    saves, saved, events = whole
    branch = keeping.branch(saves, saved, at)
    assert branch.name != saved.name
    assert transcript(play(saves, branch)) == transcript(events)


@pytest.mark.parametrize(("shared", "stored"), [(False, 1), (True, 2)])
def test_a_branch_may_go_another_way_and_is_remembered_apart(tmp_path, shared, stored):
    saved = sessions.create(tmp_path, config(agent="jitrl"), "play")
    play(tmp_path, saved)
    branch = keeping.branch(tmp_path, saved, (1, 3), shared=shared)

    def other(session, event):
        if isinstance(event, Decided) and event.decision.step == 3 and event.decision.provenance == "agent":
            session.control.override("look")

    events = play(tmp_path, branch, other)
    assert [s.action for s in only(events, Stepped)][3] == "look"
    with Memory(tmp_path / "memory" if shared else branch.folder / "memory") as memory:
        (name,) = memory.scopes()
        assert len(list(memory.scope(name).episodes())) == stored
    uids = [only([e for _, e in recording.read(s.folder)], EpisodeStarted)[0].uid for s in (saved, branch)]
    assert len(set(uids)) == 2


@pytest.mark.parametrize(
    ("at", "sentence"), [((3, 0), "no episode 3"), ((2, 99), "has steps 0 to 8, not 99")]
)
def test_a_branch_from_nowhere_is_refused(whole, at, sentence):
    saves, saved, _ = whole
    before = set((saves / "sessions").iterdir())
    with pytest.raises(UsageError, match=sentence):
        keeping.branch(saves, saved, at)
    assert set((saves / "sessions").iterdir()) == before


def undo_after(steps):
    """Return a person who takes back the last step once `steps` were taken, and then lets the agent go on."""
    asked = []

    def person(session, event):
        if isinstance(event, Stepped) and event.step + 1 == steps and not asked:
            asked.append(event)
            session.control.take_back()
        elif isinstance(event, Paused):
            session.control.resume()

    return person


def test_a_step_taken_back_leaves_no_trace_in_the_episode(whole, tmp_path):
    expected = transcript(whole[2])[:STEPS]
    saved = sessions.create(tmp_path, config(agent="random"), "play")
    events = play(tmp_path, saved, undo_after(4))
    (back,) = only(events, TakenBack)
    assert (back.step, back.action, back.observation) == (3, expected[3][1], expected[2][2])
    taken = transcript(events)
    assert taken[:4] == [*taken[:3], taken[4]]  # the same agent does the same again
    assert taken[:3] + taken[4:] == expected
    assert only(events, EpisodeEnded)[0].steps == STEPS
    branch = keeping.branch(tmp_path, saved, (1, 6))
    assert transcript(play(tmp_path, branch)) == expected


def test_a_session_left_after_taking_back_is_resumed_there(tmp_path, whole):
    saved = sessions.create(tmp_path, config(), "play")
    undo = undo_after(4)

    def leave(session, event):
        undo(session, event)
        if isinstance(event, TakenBack):
            session.control.stop()

    play(tmp_path, saved, leave)
    events = play(tmp_path, sessions.load(saved.folder))
    taken = transcript(events)
    assert taken[:3] + taken[4:] == transcript(whole[2])[:STEPS]
    assert not [n for n in only(events, Notice) if n.level != "info"]


def test_there_is_nothing_to_take_back_at_the_beginning(tmp_path):
    asked = []

    def person(session, event):
        if isinstance(event, Decided) and not asked:
            asked.append(event)
            session.control.take_back()
        elif isinstance(event, Paused):
            session.control.resume()

    events = play(tmp_path, sessions.create(tmp_path, config(), "play"), person)
    assert "no step to take back" in only(events, Notice)[0].message
    assert len(only(events, Stepped)) == STEPS


def test_a_save_is_loaded_again_and_again_and_replaced_by_its_name(whole):
    saves, saved, events = whole
    keeping.keep(saves, keeping.branch(saves, saved, (1, 2)), "before the pantry")
    for _ in range(2):
        again = play(saves, keeping.load(saves, " before the  pantry "))
        assert transcript(again) == transcript(events)
    keeping.keep(saves, keeping.branch(saves, saved, (2, 4)), "before the pantry")
    loaded = keeping.load(saves, "before the pantry")
    assert len(only([e for _, e in recording.read(loaded.folder)], Stepped)) == STEPS + 4
    assert [save.name for save in keeping.named_saves(saves)] == ["before the pantry"]


@pytest.mark.parametrize("name", ["", "   ", "x" * 61, "a\x1bb"])
def test_a_name_that_cannot_be_is_refused(whole, name):
    saves, saved, _ = whole
    with pytest.raises(UsageError, match="name"):
        keeping.keep(saves, saved, name)


@pytest.mark.parametrize("name", ["../../evil", "..", "a/b", "con\u00e9"])
def test_a_save_stays_in_its_folder(tmp_path, whole, name):
    _, saved, _ = whole
    if name == "..":
        with pytest.raises(UsageError):
            keeping.keep(tmp_path, saved, name)
        return
    keeping.keep(tmp_path, saved, name)
    (folder,) = (tmp_path / "named").iterdir()
    assert folder.resolve().parent == (tmp_path / "named").resolve()
    assert [save.name for save in keeping.named_saves(tmp_path)] == [name]


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("session.json", b"{"),
        ("session.json", b'{"format": 99, "kind": "play", "config": {}}'),
        ("events.jsonl", b"\x89PNG not a recording\n"),
        ("events.jsonl", b'{"event":"Stepped"}\n'),
        ("events.jsonl", None),
        ("session.json", None),
    ],
)
def test_a_damaged_or_foreign_save_is_one_sentence(tmp_path, whole, file, content):
    _, saved, _ = whole
    keeping.keep(tmp_path, saved, "hurt")
    (folder,) = (tmp_path / "named").iterdir()
    if content is None:
        (folder / file).unlink()
    else:
        (folder / file).write_bytes(content)
    with pytest.raises(BadFile) as refused:
        keeping.load(tmp_path, "hurt")
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "sessions").exists()


def test_an_unknown_save_names_those_there_are(tmp_path, whole):
    with pytest.raises(UsageError, match="none was made"):
        keeping.load(tmp_path, "x")
    keeping.keep(tmp_path, whole[1], "here")
    with pytest.raises(UsageError, match="there are: here"):
        keeping.load(tmp_path, "x")
