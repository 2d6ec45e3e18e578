"""A race: agents take their steps at the same time, and each does what it would do alone."""

from __future__ import annotations

import threading

import pytest

from engine.environments import profile
from engine.errors import BadFile, ModelError, UsageError
from engine.records import Decided, EpisodeEnded, Notice, Stepped
from engine.session import race as races
from engine.session import recording
from engine.session import store as sessions
from engine.session.control import StopRequested
from engine.session.lockstep import Lockstep
from engine.session.loop import Session
from engine.settings import SessionConfig
from tests.killed import decided, differences

STEPS, EPISODES = 6, 2
ARMS = {"graph": {"estimator": "graph"}, "knn": {"estimator": "knn"}, "static": {}}


def config(arm, **changes):
    settings = profile("default", step_limit=STEPS, **ARMS[arm])
    agent = "static" if arm == "static" else "jitrl"
    return SessionConfig(**{
        "game": "pantry", "agent": agent, "model": "prior/verbs", "episodes": EPISODES, "settings": settings,
        "memory": "own", **changes,
    })  # fmt: skip


def race(saves, names, *, until=None, **changes):
    """Run a race; return it with what was told."""
    saved = races.create(saves, [(name, config(name, **changes)) for name in names])
    return saved, go_on(saves, saved, until=until)


def go_on(saves, saved, *, until=None):
    told, lock = [], threading.Lock()

    def emit(one):
        with lock:
            told.append(one)
        if until is not None and isinstance(one.event, Stepped) and (one.event.episode, one.event.step) >= until:
            running.stop()

    running = races.Race(saved, saves, emit)
    running.run()
    return told


@pytest.fixture(scope="module")
def raced(tmp_path_factory):
    saves = tmp_path_factory.mktemp("race")
    return saves, *race(saves, ["graph", "knn", "static"])


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """What each agent decides if it plays alone."""
    saves = tmp_path_factory.mktemp("alone")
    found = {}
    for name in ARMS:
        saved = sessions.create(saves, config(name), "run")
        Session(saved, saves, lambda event: None).run()
        found[name] = decided(saved)
    return found


def test_each_racer_decides_as_it_does_alone(raced, alone):
    _, saved, _ = raced
    for racer in saved.racers:
        assert differences(alone[racer.name], decided(racer.session)) == []


def test_the_order_of_the_racers_does_not_matter(tmp_path, alone):
    saved, _ = race(tmp_path, ["static", "graph"])
    for racer in saved.racers:
        assert differences(alone[racer.name], decided(racer.session)) == []


def test_nobody_takes_a_step_before_all_have_taken_the_one_before(raced):
    _, _, told = raced
    decided_at, taken = {}, {}
    for one in told:
        if isinstance(one.event, Decided):
            decided_at[one.racer] = one.event.episode, one.event.decision.step
        elif isinstance(one.event, Stepped):
            at = one.event.episode, one.event.step
            taken[one.racer] = at
            assert min(decided_at.values()) >= at
    assert set(taken.values()) == {(EPISODES, STEPS - 1)}


def test_a_race_that_was_left_goes_on_as_if_it_had_not_been_left(tmp_path, alone):
    saved, _ = race(tmp_path, ["knn", "static"], until=(1, 4))
    ends = [event for racer in saved.racers for _, event in recording.read(racer.session.folder)]
    assert not [event for event in ends if isinstance(event, EpisodeEnded)]
    go_on(tmp_path, races.load(tmp_path, saved.name))
    for racer in saved.racers:
        assert differences(alone[racer.name], decided(racer.session)) == []


def test_an_error_of_one_racer_is_told_and_the_others_go_on(tmp_path, monkeypatch):
    from engine.agents.static import StaticAgent

    decide = StaticAgent.decide

    def broken(agent, turn, rng):
        if (turn.episode, turn.step) == (1, 3):
            raise ModelError("the model is gone")
        return decide(agent, turn, rng)

    monkeypatch.setattr(StaticAgent, "decide", broken)
    saved = races.create(tmp_path, [("knn", config("knn")), ("static", config("static"))])
    told = []
    running = races.Race(saved, tmp_path, told.append)
    running.run()
    assert running.errors == {1: "the model is gone"}
    assert [one.racer for one in told if isinstance(one.event, Notice) and one.event.level == "error"] == [1]
    ended = [(one.racer, one.event.episode) for one in told if isinstance(one.event, EpisodeEnded)]
    assert ended == [(0, 1), (0, 2)]


def test_moments_tell_a_race_again_step_by_step(raced):
    _, saved, told = raced
    again = list(races.moments(saved))
    steps = [{(one.event.episode, one.event.step) for one in each if isinstance(one.event, Stepped)} for each in again]
    assert steps == [set(), *({(e, s)} for e in range(1, EPISODES + 1) for s in range(STEPS))]
    for who in range(len(saved.racers)):
        live = [one.event for one in told if one.racer == who and isinstance(one.event, Stepped)]
        assert [o.event for each in again for o in each if o.racer == who and isinstance(o.event, Stepped)] == live


@pytest.mark.parametrize(
    ("arms", "sentence"),
    [
        ([("a", config("knn"))], "a race has 2 to 4 racers, not 1"),
        ([(str(n), config("knn")) for n in range(5)], "not 5"),
        ([("a", config("knn")), ("a", config("graph"))], "two racers are named 'a'"),
        ([("a", config("knn")), ("b", config("knn", seed=2))], "the same game with the same seed"),
    ],
)
def test_a_race_that_cannot_be_is_refused(tmp_path, arms, sentence):
    with pytest.raises(UsageError, match=sentence):
        races.create(tmp_path, arms)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "content",
    ["{", "[]", '{"format": 9, "racers": []}', '{"format": 1, "racers": [{"name": "a", "session": "../x"}]}',
     '{"format": 1, "racers": []}', '{"format": 1, "racers": 3}'],
)  # fmt: skip
def test_a_damaged_race_is_one_sentence(tmp_path, content):
    (tmp_path / "races").mkdir()
    (tmp_path / "races" / "x.json").write_text(content)
    with pytest.raises(BadFile) as refused:
        races.load(tmp_path, "x")
    assert "\n" not in str(refused.value)
    with pytest.raises(UsageError, match="there are: x"):
        races.load(tmp_path, "y")


# ---------------------------------------------------------------------------------------- the gate


def walk(lockstep, who, moments, passed, check=lambda: None):
    def go():
        for at in moments:
            try:
                lockstep.gate(who, at, check)
            except StopRequested:
                break
            passed.append((who, at))
        lockstep.leave(who)

    thread = threading.Thread(target=go, daemon=True)
    thread.start()
    return thread


def ended(*threads):
    for thread in threads:
        thread.join(60)
    return not any(thread.is_alive() for thread in threads)


def test_a_racer_whose_episode_ends_early_waits_for_the_others():
    lockstep, passed = Lockstep(2), []
    short = walk(lockstep, 0, [(1, 0), (2, 0)], passed)
    long = walk(lockstep, 1, [(1, 0), (1, 1), (1, 2), (2, 0)], passed)
    assert ended(short, long)
    assert passed.index((0, (2, 0))) > passed.index((1, (1, 2)))


def test_paused_racers_take_one_step_at_a_time_and_end_if_they_are_stopped():
    lockstep, passed, stopped = Lockstep(2, paused=True), [], threading.Event()

    def check():
        if stopped.is_set():
            raise StopRequested

    moments = [(1, step) for step in range(50)]
    threads = [walk(lockstep, who, moments, passed, check) for who in (0, 1)]
    for count in (1, 2):
        lockstep.step_once()
        for _ in range(6000):
            if len(passed) == 2 * count:
                break
            threading.Event().wait(0.01)
        threading.Event().wait(0.05)
        assert len(passed) == 2 * count
    assert {at for _, at in passed} == {(1, 0), (1, 1)}
    stopped.set()
    lockstep.wake()
    assert ended(*threads)
    assert len(passed) == 4
