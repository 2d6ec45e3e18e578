"""What AWM, ReasoningBank and MemRL take from what they have kept, and when they learn at all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from engine.agents.awm import WorkflowAgent
from engine.agents.base import AgentContext, Turn
from engine.agents.memrl import MemrlAgent, scaled_return, values
from engine.agents.reasoningbank import ReasoningBankAgent
from engine.errors import UsageError
from engine.records import Episode, Kept, ModelCalled, Observation, State, Stepped
from engine.session import store as sessions
from engine.settings import Settings
from jitrl_tui.cli import main
from tests.agents.context import Notes, context
from tests.agents.methods import GAIN, asked, play, records, serve
from tests.llm.scripted import Scripted
from tests.llm.server import Server

HALL, CELLAR, ATTIC = (State(f"[{text}]", tuple(text.split())) for text in ("hall door", "cellar box", "attic"))


@pytest.fixture
def server(monkeypatch) -> Iterator[Server]:
    yield from serve(monkeypatch)


def turn(state: State, present: str = "") -> Turn:
    return Turn(0, 9, Observation("x"), state, ("wait",), present)


def made(agent: type, *kept: Kept, begin: State = HALL, **settings: object):
    """Return an agent that has these records, at the beginning of an episode."""
    found: AgentContext = context(None, SimpleNamespace(name="game/x"), Settings(**settings))
    assert isinstance(found.kept, Notes)
    found.kept.kept.extend(kept)
    one = agent(found)
    one.begin_episode(begin)
    return one


def texts(agent, state: State, present: str = "") -> list[str]:
    return [item.text for basis in agent.recall(turn(state, present)).parts for item in basis.items]


# ------------------------------------------------------------------------------------------------ AWM


def workflow(uid: str, goal: str, *steps: str) -> Kept:
    return Kept("workflow", "", {"workflows": [{"goal": goal, "steps": list(steps)}]}, uid=uid)


def test_the_workflows_that_fit_the_situation_come_first_and_others_not_at_all():
    agent = made(
        WorkflowAgent,
        workflow("1", "open the box", "take box", "open box"),
        workflow("2", "pass the door", "open door"),
        workflow("3", "fly", "flap wings"),
    )
    assert [text.splitlines()[0] for text in texts(agent, CELLAR, "A box. You can open it.")] == [
        "Goal: open the box", "Goal: pass the door"]  # fmt: skip
    assert [text.splitlines()[0] for text in texts(agent, HALL)] == ["Goal: pass the door"]
    assert texts(agent, ATTIC) == []


def test_a_workflow_replaces_an_older_one_with_the_same_goal():
    agent = made(WorkflowAgent, workflow("1", "Pass the door", "wait"), workflow("2", "pass the DOOR", "open door"))
    assert texts(agent, HALL) == ["Goal: pass the DOOR\n1. open door"]


def test_only_what_led_to_points_is_shown_and_an_episode_without_points_is_not_asked_about(server, tmp_path):
    question = "Extract at most 3 workflows"
    played = play(tmp_path, "awm", episodes=1)
    assert (asked(server, question), played.only(ModelCalled), records(tmp_path)) == ([], [], [])
    server.default = Scripted([GAIN])
    play(tmp_path / "other", "awm", episodes=1)
    (text,) = asked(server, question)
    shown = text.partition("**SUCCESSFUL STEPS:**")[2]
    assert [line for line in shown.splitlines() if line.startswith("> ")] == ["> take pork chop (+1)"]


def test_offline_it_uses_the_workflows_of_a_file_and_learns_none(server, tmp_path):
    reply = {"workflows": [{"goal": "go to the kitchen", "steps": ["go east"]}]}
    server.default = Scripted([{"if": "Extract at most", "reply": json.dumps(reply)}, GAIN])
    play(tmp_path / "one", "awm", episodes=1)
    (kept,) = records(tmp_path / "one")
    file = tmp_path / "workflows.jsonl"
    assert main(["--saves", str(tmp_path / "one"), "memory", "export", str(file)]) == 0
    before = len(asked(server, "Extract at most"))
    played = play(tmp_path / "two", "awm", episodes=2, workflow_file=str(file))
    assert played.session.error is None
    for episode in (1, 2):
        (item,) = played.decisions(episode)[0].bases[0].items
        assert (item.text, item.uid) == ("Goal: go to the kitchen\n1. go east", kept.uid)
    assert len(asked(server, "Extract at most")) == before
    assert records(tmp_path / "two") == []


def test_a_file_without_workflows_for_what_is_played_is_refused(server, tmp_path):
    file = tmp_path / "none.jsonl"
    file.write_text('{"format": "jitrl-episodes", "version": 2}\n')
    played = play(tmp_path, "awm", episodes=1, workflow_file=str(file))
    assert isinstance(played.session.error, UsageError)
    assert str(played.session.error).startswith(f"{file} has no workflows for game/")


# -------------------------------------------------------------------------------------- ReasoningBank


def strategies(uid: str, *states: State) -> Kept:
    items = [{"title": f"of {uid}", "description": "", "content": "Do it."}]
    return Kept("strategies", "", {"items": items, "keys": [list(one.tokens) for one in states]}, uid=uid)


def test_the_strategies_are_those_of_the_most_similar_episode_the_newest_of_equals():
    kept = strategies("1", HALL, ATTIC), strategies("2", HALL), strategies("3", CELLAR)
    agent = made(ReasoningBankAgent, *kept)
    for state, uid in ((HALL, "2"), (CELLAR, "3"), (ATTIC, "1")):
        assert texts(agent, state) == [f"of {uid}\nDo it."]
    assert len(texts(made(ReasoningBankAgent, *kept, strategy_records=2), HALL)) == 2


def test_successes_and_failures_are_asked_about_differently(server, tmp_path):
    reply = {"strategies": [{"title": "Look", "description": "Always.", "content": "See."}] * 5}
    server.default = Scripted([{"if": "Write at most 3", "reply": json.dumps(reply)}, {**GAIN, "times": 1}])
    play(tmp_path, "reasoningbank", episodes=2)
    first, second = asked(server, "Write at most 3 strategies")
    assert "The episode below went well" in first
    assert "The episode below did not go well" in second
    kept = records(tmp_path)
    assert [(one.data["success"], len(one.data["items"])) for one in kept] == [(True, 3), (False, 3)]


# ---------------------------------------------------------------------------------------------- MemRL


def experience(uid: str, state: State, q: dict[str, float] | None = None) -> Kept:
    return Kept("experience", f"of {uid}", {"keys": [list(state.tokens)], "q": q or {}}, uid=uid)


def test_similarity_chooses_the_pool_and_q_chooses_from_it():
    kept = [
        experience("1", HALL), experience("2", HALL), experience("3", HALL),
        experience("4", CELLAR, {"1": 0.9, "2": 0.8, "4": 1.0}),
    ]  # fmt: skip
    near = experience("5", State("[hall]", ("hall",)), {"5": 1.0})  # half as similar, with the best value
    assert texts(made(MemrlAgent, *kept), HALL) == ["of 1", "of 2", "of 3"]
    assert texts(made(MemrlAgent, *kept), CELLAR) == ["of 1", "of 2", "of 3"]  # one choice for the whole episode
    assert texts(made(MemrlAgent, *kept, near, experiences=2), HALL) == ["of 1", "of 2"]
    by_value = {"experiences": 2, "q_weight": 0.9}
    assert texts(made(MemrlAgent, *kept, near, **by_value), HALL) == ["of 5", "of 1"]
    assert texts(made(MemrlAgent, *kept, near, **by_value, experience_pool=2), HALL) == ["of 1", "of 2"]
    assert texts(made(MemrlAgent, *kept, near, experiences=9, experience_similarity=0.6), HALL) == [
        "of 1", "of 2", "of 3"]  # fmt: skip
    assert texts(made(MemrlAgent, *kept, begin=ATTIC), ATTIC) == []


def test_the_latest_value_of_an_experience_counts():
    kept = [experience("1", HALL), experience("2", HALL, {"1": 0.5}), experience("3", HALL, {"1": 0.2, "gone": 1.0})]
    assert values(kept, -0.1) == {"1": 0.2, "2": -0.1, "3": -0.1}


@pytest.mark.parametrize(
    ("score", "outcome", "before", "r"),
    [(5, "", [], 1.0), (0, "", [], 0.0), (10, "", [5, 5], 0.5), (0, "", [4], -1.0), (-3, "lost", [3], -1.0),
     (3, "", [3], 0.0), (1, "won", [1], 1.0)],
)  # fmt: skip
def test_an_episode_is_worth_how_far_its_score_is_from_the_mean(score, outcome, before, r):
    assert scaled_return(Episode("u", "s", (), HALL, score=score, outcome=outcome), before) == pytest.approx(r)


def test_an_episode_that_goes_worse_lowers_q_of_what_was_retrieved_also_after_a_break(server, tmp_path):
    def rules():
        return Scripted([{"if": "It counts as a", "reply": '{"lesson": "Eat."}'}, {**GAIN, "times": 1}])

    def stop(session, event):
        if isinstance(event, Stepped) and (event.episode, event.step) == (2, 3):
            session.control.stop()

    found = {}
    for name, on_event in (("whole", None), ("broken", stop)):
        server.default = rules()
        played = play(tmp_path / name, "memrl", episodes=3, on_event=on_event)
        if on_event is not None:
            played = play(tmp_path / name, "memrl", saved=sessions.load(played.saved.folder))
        first, second, _ = records(tmp_path / name)
        assert (first.data["q"], first.data["success"], second.data["success"]) == ({}, True, False)
        assert second.data["q"] == {first.uid: pytest.approx(0.3 * -1.0)}
        weights = {item.origin.partition(",")[0]: item.weight for item in played.decisions(3)[0].bases[0].items}
        assert weights == {"episode 1": pytest.approx(-0.3), "episode 2": 0.0}
        found[name] = (first.text, second.text)
    assert found["whole"] == found["broken"]
    assert found["whole"][0] == "Success (score 1): Eat.\nDone: take pork chop (+1)"
