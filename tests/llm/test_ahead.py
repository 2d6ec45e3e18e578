"""Looking ahead while a person reads, on a real shipped game with the embedded model."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest

from engine.games.catalogue import open_game
from engine.games.states.state import situation
from engine.llm import open_model
from engine.records import ActionRequest, Decided, Paused, Stepped
from engine.session import store as sessions
from engine.session.lookahead import Lookahead, open_ahead
from engine.session.loop import Session
from engine.settings import SessionConfig, Settings

pytestmark = pytest.mark.model


class Noting:
    """Notes what it is to take in; waits there until it is let go or told to stop."""

    prepares = True

    def __init__(self) -> None:
        self.asked: list[ActionRequest] = []
        self.arrived = threading.Semaphore(0)
        self.go = threading.Event()
        self.left = threading.Event()

    def prepare(self, request, stopped) -> None:
        self.asked.append(request)
        self.arrived.release()
        while not self.go.wait(0.01):
            if stopped():
                self.left.set()
                return


@pytest.fixture
def game():
    environment = open_game("pantry")
    yield environment
    environment.close()


def played(game, actions):
    seen = game.reset(1)
    for action in actions:
        seen = game.step(action)
    return seen


def looking(model) -> Lookahead:
    ahead = open_ahead(lambda: open_game("pantry"), model, 1)
    assert ahead is not None
    return ahead


def test_what_is_taken_in_is_what_will_be_asked(game):
    model = Noting()
    model.go.set()
    ahead = looking(model)
    first = played(game, [])
    valid = game.valid_actions()
    trails = [(valid[0],), (valid[0], valid[1]), (valid[1],), (valid[1], valid[0])]
    for trail in trails:
        with ahead.beyond(trail) as decided:
            assert model.arrived.acquire(timeout=60)
            decided(True)
    ahead.close()
    assert first.text
    for trail, request in zip(trails, model.asked, strict=True):
        assert request.current_state == situation(played(game, trail))
        assert request.valid_actions == game.valid_actions()


def test_who_decides_otherwise_is_not_kept_waiting(game):
    model = Noting()
    ahead = looking(model)
    game.reset(1)
    valid = game.valid_actions()
    with ahead.beyond([valid[0]]) as decided:
        assert model.arrived.acquire(timeout=60)
        decided(False)
    assert model.left.wait(60)
    model.go.set()
    with ahead.beyond([valid[1]]):
        assert model.arrived.acquire(timeout=60)
    ahead.close()
    ahead.close()
    assert model.asked[1].current_state == situation(played(game, [valid[1]]))
    with ahead.beyond([valid[0]]):
        pass  # nothing happens any more


def test_a_copy_that_breaks_costs_nothing_but_speed():
    def broken():
        raise RuntimeError("no")

    ahead = open_ahead(broken, Noting(), 1)
    with ahead.beyond(["north"]):
        ahead._thread.join(60)
    assert not ahead._thread.is_alive()
    with ahead.beyond(["south"]):
        pass
    ahead.close()


def test_models_that_take_in_nothing_have_no_copy(prefixes: Path):
    for name in ("prior/uniform", "openai/test"):
        model = open_model(name, settings=Settings(), cache=None)
        assert open_ahead(lambda: pytest.fail("opened"), model, 1) is None
        model.close()
    mixed = open_model("local/smollm2+prior/verbs", settings=Settings(threads=1), cache=prefixes)
    assert mixed.prepares
    mixed.close()


def test_a_prepared_decision_computes_little_and_is_the_same(prefixes: Path):
    model = open_model("local/smollm2", settings=Settings(threads=1), cache=prefixes, keep=False)
    here, there = (
        ActionRequest("", "", "", state, ("north", "take lamp"), 2)
        for state in ("A hall with a lamp and three open doors.", "You stand in a garden, and it is raining.")
    )
    runtime = model._engine.runtime
    fed: list[int] = []
    decode = runtime._decode
    runtime._decode = lambda rows, check: fed.append(len(rows)) or decode(rows, check)

    def propose(request: ActionRequest):
        fed.clear()
        return model.propose(request, np.random.default_rng(1)).candidates, sum(fed)

    plain, many = propose(here)
    propose(there)
    model.prepare(here, lambda: False)
    ahead, few = propose(here)
    assert ahead == plain
    assert few < many / 2
    fed.clear()
    model.prepare(there, lambda: True)
    assert fed == []
    assert propose(here)[0] == plain
    model.close()


def test_a_session_watched_step_by_step_is_the_session_played_at_once(prefixes: Path, tmp_path: Path):
    saves = tmp_path
    for kept in prefixes.glob("*/"):
        shutil.copytree(kept, saves / "cache" / kept.name, copy_function=os.link)
    settings = Settings(step_limit=2, threads=1)
    config = SessionConfig(game="pantry", episodes=1, settings=settings, memory="own")
    stories, prepared = [], []
    for slow in (True, False):
        events = []
        running: list[Session] = []

        def emit(event, events=events, slow=slow, running=running) -> None:
            events.append(event)
            if slow and isinstance(event, Paused):
                running[0].control.step_once()

        session = Session(sessions.create(saves, config, "run"), saves, emit)
        running.append(session)
        if slow:
            session.control.pause()
        session.run()
        assert session.error is None
        prepared.append(session._ahead._thread is not None)
        stories.append([
            (e.decision.action, e.decision.update.z_prime) if isinstance(e, Decided) else e.observation.text
            for e in events if (isinstance(e, Decided) and e.decision.by == "agent") or isinstance(e, Stepped)
        ])  # fmt: skip
    assert stories[0] == stories[1]
    assert prepared == [True, False]
