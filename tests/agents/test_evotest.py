"""EvoTest: which configuration is rewritten, what is kept of it, and that nothing a model wrote leaves its ranges."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest

from engine.agents.base import Turn
from engine.agents.evotest import ConfigNode, EvoTestAgent, choose_node
from engine.jitrl import softmax
from engine.records import Candidate, Episode, Kept, Observation, Proposal, State, Step
from engine.settings import Settings
from tests.agents.context import context
from tests.agents.methods import GAIN, asked, play, prompts, records, serve
from tests.llm.scripted import Scripted
from tests.llm.server import Server

HALL, CELLAR = State("[hall door]", ("hall", "door")), State("[cellar]", ("cellar",))
PLAIN = {"guide": "", "routines": [], "temperature": 1.0, "examples": 3}


@pytest.fixture
def server(monkeypatch) -> Iterator[Server]:
    yield from serve(monkeypatch)


class Two:
    """A prior with two candidates."""

    def propose(self, request, rng):
        return Proposal((Candidate("wait", 1.0), Candidate("open door", 0.0)))


def agent(*kept: Kept, reply: str = "", **settings: object) -> EvoTestAgent:
    """Return an agent that has these records, in its first episode."""
    found = context(Two(), SimpleNamespace(name="game/x"), Settings(**settings), reply)
    found.kept.kept.extend(kept)
    made = EvoTestAgent(found)
    made.begin_episode(HALL)
    return made


def lived(uid: str, following: dict, **data: object) -> Kept:
    data = {"lived": PLAIN, "score": 0.0, "next": following, **data}
    return Kept("configuration", "", data, uid=uid, episode_uid=uid)


def turn(state: State = HALL, present: str = "") -> Turn:
    return Turn(0, 9, Observation("x"), state, ("wait", "open door"), present)


def test_the_bound_is_score_plus_what_was_tried_little():
    nodes = [ConfigNode("a", "", 0.5), ConfigNode("b", "a", 0.4), ConfigNode("c", "a", 0.1)]
    # By hand: N = 3, a has two children and depth 0, b and c have none and depth 1.
    log = math.log(3)
    bounds = {"a": 0.5 + math.sqrt(log / 3), "b": 0.4 + 0.8 * math.sqrt(log), "c": 0.1 + 0.8 * math.sqrt(log)}
    assert choose_node(nodes, 1.0, 0.8) == max(bounds, key=bounds.__getitem__) == "b"
    assert choose_node(nodes, 0.0, 0.8) == "a"
    assert choose_node([ConfigNode("a", "", 0.5), ConfigNode("b", "", 0.5)], 0.0, 0.8) == "b"  # the newest of equals
    assert choose_node([ConfigNode("a", "b", 0.0), ConfigNode("b", "a", 0.0)], 1.0, 0.8) == "b"  # a circle ends


def test_a_configuration_is_held_to_the_ranges():
    wild = {"guide": "x " * 5000, "routines": [{"when": "door", "do": "Open it."}] * 50 + [{"when": ""}, 3],
            "temperature": 99, "examples": 1e9}  # fmt: skip
    basis = agent(lived("a", wild), routines=2, lesson_tokens=20).recall(turn(present="A door."))
    assert basis.temperature == 2.0
    assert [item.text for item in basis.parts[0].items][1:] == [
        "Open it.", "Open it.", "The model's logits are divided by 2."]  # fmt: skip
    assert "logits" not in basis.text
    assert len(basis.parts[0].items[0].text) <= 70
    for odd in ({"temperature": "hot"}, {"temperature": None, "examples": -4}, {"routines": {"when": "door"}}):
        assert agent(lived("a", {"guide": "Go.", **odd})).recall(turn()).temperature == 1.0


def test_a_temperature_flattens_the_policy_and_leaves_the_logits():
    made = agent(lived("a", {"guide": "Go.", "temperature": 2.0}))
    decision = made.decide(turn(), np.random.default_rng(1))
    assert [c.z for c in decision.candidates] == [1.0, 0.0]
    assert decision.prior == pytest.approx(tuple(softmax([1.0, 0.0])))
    assert decision.posterior == pytest.approx(tuple(softmax([0.5, 0.0])))


def test_a_routine_is_shown_while_its_words_are_on_display_and_is_never_run():
    code = "__import__('os').abort()"
    routines = [{"when": "Red Door", "do": code}, {"when": ".*", "do": "No."}]
    made = agent(lived("a", {"guide": "Go.", "routines": routines}))
    assert code not in made.recall(turn(present="A blue door.")).text
    shown = made.recall(turn(present="Here is a red door.")).text
    assert shown.endswith(f"FOR THIS SITUATION:\n- {code}")
    assert "No." not in shown  # words, not regular expressions


def test_actions_that_gained_points_are_shown_in_similar_states_each_once():
    gain = {"tokens": ["hall", "door"], "state": "[hall door]", "action": "open door", "gain": 2.0}
    other = {"tokens": ["cellar"], "state": "[cellar]", "action": "dig", "gain": 1.0}
    made = agent(lived("a", PLAIN, gains=[gain, other]), lived("b", PLAIN, gains=[gain]))
    (item,) = made.recall(turn()).parts[0].items
    assert (item.text, item.uid) == ("[hall door]: open door (+2)", "b")
    assert [one.text for one in made.recall(turn(CELLAR)).parts[0].items] == ["[cellar]: dig (+1)"]
    assert agent(lived("a", {**PLAIN, "examples": 0}, gains=[gain])).recall(turn()).text == ""


def test_an_episode_that_led_nowhere_is_kept_as_a_failure_and_a_win_changes_nothing():
    steps = tuple(Step(HALL, f"wait {n}", 0.0) for n in range(12))
    made = agent(reply='{"guide": "Move."}', stuck_steps=10)
    made.learn(Episode("e", "game/x", steps, HALL))
    (record,) = made.context.kept.records()
    assert record.data["failure"] == [f"wait {n}" for n in range(2, 12)]
    assert (record.data["next"]["guide"], record.data["parent_of_next"]) == ("Move.", "e")
    made = agent(lived("a", {**PLAIN, "guide": "Wins."}, parent_of_next="z"), reply='{"guide": "Move."}')
    made.learn(Episode("w", "game/x", steps, HALL, outcome="won"))
    won = made.context.kept.records()[-1]
    assert (won.data["next"]["guide"], won.data["parent"], won.data["parent_of_next"]) == ("Wins.", "z", "z")


def test_the_evolver_reads_the_configuration_and_transcript_that_ucb_chooses(server, tmp_path):
    replies = [{"guide": f"Guide number {n}.", "routines": [], "temperature": 1, "examples": 2} for n in (1, 2, 3)]
    rules = [{"if": "Write the new configuration", "times": 1, "reply": json.dumps(one)} for one in replies]
    server.default = Scripted([*rules, {**GAIN, "times": 1}])
    play(tmp_path, "evotest", episodes=3, ucb=0.0)
    questions = asked(server, "Write the new configuration")
    # Only the first episode gained a point, so without exploration it is rewritten each time.
    assert all("> take pork chop (+1)" in text for text in questions)
    assert all("Guide: none yet" in text for text in questions)
    kept = records(tmp_path)
    assert {one.data["parent_of_next"] for one in kept} == {kept[0].episode_uid}
    assert "the best score of all episodes is 1" in questions[2]
    assert [f"rewritten {n} times" in text for n, text in enumerate(questions)] == [True] * 3
    assert "take pork chop (+1)" in prompts(server)[-1]
