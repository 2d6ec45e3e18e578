"""An estimator that fails costs a step its memory. It ends no session; work in the background ends with a sentence."""

from __future__ import annotations

import json
import logging

import pytest

from engine.errors import EstimatorError
from engine.memory import Memory, upkeep
from engine.memory.search import MemoryFilter
from engine.records import Decided, EpisodeEnded, Notice, Paused, Stepped
from engine.session import store as sessions
from engine.session import whatif
from engine.settings import SessionConfig, Settings
from engine.values import learnt
from engine.values.graph import GraphEstimator
from jitrl_tui.cli import main
from tests.playing import only, run

SETTINGS = Settings(step_limit=6, estimator="graph")


def play(saves, episodes=2, saved=None, **options):
    config = SessionConfig("pantry", model="prior/uniform", episodes=episodes, settings=SETTINGS)
    saved = saved or sessions.create(saves, config, "run")
    session, events = run(saved, saves, **options)
    assert session.error is None
    return saved, events


def unvalued(events):
    assert len(only(events, EpisodeEnded)) == 2
    return sum(ended.tally.unvalued for ended in only(events, EpisodeEnded))


def failing(monkeypatch, name, times):
    """Have a method of the estimator fail at some of its calls."""
    called, method = [], getattr(GraphEstimator, name)

    def fails(*arguments, **named):
        called.append(name)
        if len(called) in times:
            raise KeyError("place:pantry")
        return method(*arguments, **named)

    monkeypatch.setattr(GraphEstimator, name, fails)


@pytest.fixture
def logged():
    """What estimators write to the log meanwhile."""
    records, handler = [], logging.Handler()
    handler.emit = records.append
    logging.getLogger("jitrl.values").addHandler(handler)
    yield records
    logging.getLogger("jitrl.values").removeHandler(handler)


@pytest.mark.parametrize("name", ["value", "also", "observe", "remembered", "begin_episode"])
def test_a_step_is_decided_without_an_estimator_that_fails_and_the_next_one_with_it(
    tmp_path, monkeypatch, logged, name
):
    failing(monkeypatch, name, {1 if name == "remembered" else 2})
    _, events = play(tmp_path)
    assert unvalued(events) == 1
    (decision,) = (e.decision for e in only(events, Decided) if e.decision.tally.unvalued)
    assert "KeyError: 'place:pantry'" in decision.why
    assert "KeyError: 'place:pantry'" in decision.note
    assert set(decision.update.valuation.how) == {"prior"}
    (notice,) = (e for e in only(events, Notice) if e.level == "warning")
    assert notice.kind == "EstimatorError"
    assert "`jitrl memory forget --undo`" in notice.message
    assert [record.exc_info[0] for record in logged] == [KeyError]


def test_a_memory_that_no_estimator_opens_is_played_without_until_the_last_change_is_undone(
    tmp_path, monkeypatch, capsys
):
    play(tmp_path)
    with Memory(tmp_path / "memory") as memory:
        (name,) = memory.scopes()
        scope = memory.scope(name)
        upkeep.forget_all(memory, [(scope, upkeep.plan_forget(scope, entries=[3]))])
    opened = learnt.open_estimator

    def refuses(kind, memory, *arguments, **named):
        if memory.entry(3) is None:
            raise KeyError("place:pantry")
        return opened(kind, memory, *arguments, **named)

    monkeypatch.setattr(learnt, "open_estimator", refuses)
    arguments = ["pantry", "--model", "prior/uniform", "--steps", "3", "--episodes", "2", "--quiet"]
    assert main(["run", *arguments, "--saves", str(tmp_path), "--json", str(tmp_path / "out.json")]) == 0
    assert "deciding without memory" in capsys.readouterr().err
    answers = json.loads((tmp_path / "out.json").read_text())["answers"]
    assert answers["unvalued"] == 6
    assert main(["memory", "forget", "--undo", "--saves", str(tmp_path)]) == 0
    _, events = play(tmp_path)
    assert unvalued(events) == 0


def test_a_trial_and_influence_end_with_one_sentence_and_nothing_is_stored(tmp_path, monkeypatch):
    saved, _ = play(tmp_path)
    with whatif.open_recording(saved.folder, tmp_path) as recorded:
        entries = len(recorded.scope)
        made = [(one.recorded, n.entry) for one in recorded.again(from_memory=True)
                for n in one.now.update.neighbours if one.episode == 2 and n.entry >= 0]  # fmt: skip
        at, hit = (2, made[-1][0].step), made[-1][1]
        relive = GraphEstimator._learn_episode

        def fails(estimator, episode, first):
            if any(step.provenance == "forgotten" for step in episode.steps):
                raise KeyError("place:pantry")
            relive(estimator, episode, first)

        monkeypatch.setattr(GraphEstimator, "_learn_episode", fails)
        for work in (
            lambda: whatif.trial(recorded, at, memory_filter=MemoryFilter(without=frozenset({hit}))),
            lambda: whatif.influence(recorded, at),
        ):
            with pytest.raises(EstimatorError, match="KeyError: 'place:pantry'"):
                work()
        failing(monkeypatch, "value", {1})
        with pytest.raises(EstimatorError, match="KeyError: 'place:pantry'"):
            whatif.what_if(recorded, from_memory=True)
        assert len(recorded.scope) == entries


def test_a_waiting_decision_stands_if_it_cannot_be_made_again_from_the_changed_memory(tmp_path, monkeypatch):
    asked = []

    def on_event(session, event):
        if isinstance(event, Decided) and (event.episode, event.decision.step) == (2, 2) and not asked:
            asked.append(event.decision)
            session.control.pause()
        if isinstance(event, Paused) and len(asked) == 1:
            asked.append(event)
            failing(monkeypatch, "_learn_episode", set(range(100)))
            failing(monkeypatch, "decided", set(range(100)))
            failing(monkeypatch, "value", {1})
            session.control.reread()
            session.control.resume()

    _, events = play(tmp_path, on_event=on_event)
    assert len(asked) == 2
    (told,) = (e.message for e in only(events, Notice) if "could not be made again" in e.message)
    assert "KeyError: 'place:pantry'" in told
    assert "`jitrl memory forget --undo`" in told
    taken = [e for e in only(events, Stepped) if (e.episode, e.step) == (2, 2)]
    assert [step.action for step in taken] == [asked[0].action]
