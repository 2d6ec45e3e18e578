"""The session loop on a real shipped game with a real memory, and without a model."""

from __future__ import annotations

import pytest

from engine.errors import UsageError
from engine.memory import Memory
from engine.records import (
    Decided,
    EpisodeEnded,
    EpisodeStarted,
    Notice,
    Paused,
    SessionEnded,
    SessionStarted,
    Stepped,
)
from engine.session import recording
from engine.session import store as sessions
from engine.settings import SessionConfig, Settings
from tests.playing import only, run


def config(**changes):
    settings = Settings(**{"step_limit": 12, **changes.pop("settings", {})})
    return SessionConfig(
        **{"game": "pantry", "model": "prior/uniform", "episodes": 3, "settings": settings, **changes}
    )


def play(saves, configuration=None, saved=None, on_event=None, **options):
    """Run a session to its end and return it with its events; `on_event(session, event)` may command."""
    saved = saved or sessions.create(saves, configuration, "run")
    session, events = run(saved, saves, on_event, **options)
    return session, saved, events


def test_three_episodes_are_played_judged_remembered_and_recorded(tmp_path):
    session, saved, events = play(tmp_path, config())
    assert session.error is None
    started, ended = only(events, SessionStarted), only(events, SessionEnded)
    assert (len(started), started[0].memory_entries) == (1, 0)
    assert (ended[0].finished, ended[0].episodes) == (True, 3)
    episodes = only(events, EpisodeEnded)
    assert [e.episode for e in episodes] == [1, 2, 3]
    assert ended[0].average == sum(e.score for e in episodes) / 3
    steps = only(events, Stepped)
    for e in episodes:
        mine = [s for s in steps if s.episode == e.episode]
        assert e.score == sum(s.reward for s in mine) == mine[-1].observation.score
        assert e.entries_added == e.steps == len(mine) == len(e.rewards)
        assert e.returns[-1] == e.rewards[-1]
    assert episodes[-1].memory_entries == len(steps)
    passing = {"Thinking", "Paused", "Resumed"}
    assert [e for _, e in recording.read(saved.folder)] == [
        e for e in events if type(e).__name__ not in passing
    ]
    with Memory(tmp_path / "memory") as memory:
        (name,) = memory.scopes()
        remembered = list(memory.scope(name).episodes())
    assert [len(episode.steps) for episode in remembered] == [e.steps for e in episodes]
    assert [s.action for s in remembered[0].steps] == [s.action for s in steps if s.episode == 1]


def test_decisions_obey_algorithm_1_and_choose_among_valid_actions(tmp_path):
    _, _, events = play(tmp_path, config(settings={"beta": 3.0}))
    decisions = [event.decision for event in only(events, Decided)]
    assert any(d.update.neighbours for d in decisions)
    for d in decisions:
        assert d.action in d.valid_actions
        assert d.candidates[d.chosen].action == d.action
        assert sum(d.posterior) == pytest.approx(1)
        near = d.update.neighbours
        if near:
            assert d.update.valuation.v == pytest.approx(sum(n.g for n in near) / len(near))
            assert all(n.similarity >= 0.95 for n in near)
        for c, a, z in zip(d.candidates, d.update.advantage_normalised, d.update.z_prime, strict=True):
            assert z == pytest.approx(c.z + 3.0 * a)


def test_the_next_session_retrieves_what_the_last_one_stored(tmp_path):
    _, _, first = play(tmp_path, config(episodes=1))
    _, _, second = play(tmp_path, config(episodes=1))
    assert not only(first, Decided)[0].decision.update.neighbours
    assert only(second, SessionStarted)[0].memory_entries == 12
    decision = only(second, Decided)[0].decision
    lived = [
        e.decision.action for e in only(first, Decided) if e.decision.state.tokens == decision.state.tokens
    ]
    assert sorted(n.action for n in decision.update.neighbours if n.similarity == 1.0) == sorted(lived)


def test_a_memory_of_its_own_leaves_the_shared_one_alone(tmp_path):
    play(tmp_path, config(episodes=1))
    _, _, events = play(tmp_path, config(episodes=1, memory="own"))
    assert only(events, SessionStarted)[0].memory_entries == 0


def test_the_same_seed_gives_the_same_session_and_another_seed_another(tmp_path):
    def actions(seed, name):
        _, _, events = play(tmp_path / name, config(seed=seed, episodes=2))
        return [s.action for s in only(events, Stepped)]

    assert actions(5, "a") == actions(5, "b") != actions(6, "c")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What is told of a session that nobody stops."""
    return play(tmp_path_factory.mktemp("whole"), config(episodes=2))[2]


@pytest.mark.parametrize("after", [3, 12, 17])
def test_a_session_stopped_anywhere_goes_on_as_if_it_had_not_been(tmp_path, whole, after):
    count = 0

    def stop(session, event):
        nonlocal count
        count += isinstance(event, Stepped)
        if count == after:
            session.control.stop()

    session, saved, events = play(tmp_path / "parts", config(episodes=2), on_event=stop)
    assert session.error is None
    assert not only(events, SessionEnded)[0].finished
    assert sessions.load(saved.folder).config == saved.config
    _, _, rest = play(tmp_path / "parts", saved=sessions.load(saved.folder))
    assert only(rest, SessionStarted)[0].resumed
    assert [s.observation for s in only(rest, Stepped)] == [s.observation for s in only(whole, Stepped)]
    assert [e.rewards for e in only(rest, EpisodeEnded)] == [e.rewards for e in only(whole, EpisodeEnded)]
    assert only(rest, SessionEnded)[0].finished
    recorded = [e for _, e in recording.read(saved.folder)]
    assert [s.action for s in only(recorded, Stepped)] == [s.action for s in only(whole, Stepped)]
    with Memory(tmp_path / "parts" / "memory") as memory:
        assert len(memory.scope(memory.scopes()[0])) == len(only(whole, Stepped))


def test_an_override_is_done_shown_and_remembered_as_the_humans(tmp_path):
    def overrule(session, event):
        if isinstance(event, Paused):
            session.control.override("close plain door")
            session.control.resume()

    from engine.session.control import Control

    control = Control(paused=True)
    _, _, events = play(tmp_path, config(episodes=1), on_event=overrule, control=control)
    agent, human = (event.decision for event in only(events, Decided)[:2])
    assert (agent.provenance, human.provenance, human.action) == ("agent", "human", "close plain door")
    assert agent.step == human.step == 0
    first = only(events, Stepped)[0]
    assert (first.action, first.provenance) == ("close plain door", "human")
    _, _, later = play(tmp_path, config(episodes=1))
    retrieved = {(n.action, n.step): n.provenance for n in only(later, Decided)[0].decision.update.neighbours}
    assert retrieved[("close plain door", 0)] == "human"
    assert set(retrieved.values()) == {"human", "agent"} or len(retrieved) == 1


def test_static_remembers_nothing_and_is_what_jitrl_is_before_it_knows_anything(tmp_path):
    _, _, static = play(tmp_path / "s", config(agent="static", episodes=1))
    _, _, jitrl = play(tmp_path / "j", config(episodes=1))
    assert only(static, EpisodeEnded)[0].memory_entries == 0
    blank = [d.decision for d in only(jitrl, Decided) if not d.decision.update.neighbours]
    assert only(static, Decided)[0].decision.action == blank[0].action
    assert all(d.decision.parts == () for d in only(static, Decided))
    assert len(only(static, EpisodeStarted)) == 1


@pytest.mark.parametrize(
    ("changes", "sentence"), [({"game": "nogame"}, "no game"), ({"agent": "genius"}, "no agent")]
)
def test_what_cannot_be_opened_ends_the_session_with_a_sentence(tmp_path, changes, sentence):
    session, saved, events = play(tmp_path, config(**changes))
    assert saved.recording.read_bytes() == b""  # nothing that would have to be resumed
    assert isinstance(session.error, UsageError)
    assert sentence in str(session.error)
    assert [n.level for n in only(events, Notice)] == ["error"]
    assert isinstance(events[-1], SessionEnded)


def test_an_agent_is_told_how_much_of_the_run_is_left(tmp_path, monkeypatch):
    from engine.agents.jitrl import JitrlAgent

    decide, told = JitrlAgent.decide, []

    def heard(self, turn, rng):
        told.append((turn.episode, turn.episodes))
        return decide(self, turn, rng)

    monkeypatch.setattr(JitrlAgent, "decide", heard)
    play(tmp_path, config(episodes=2))
    assert sorted(set(told)) == [(1, 2), (2, 2)]
