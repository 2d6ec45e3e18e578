"""The steps that all methods share: what is asked, what is drawn, what is told when the model says nothing."""

from __future__ import annotations

import numpy as np
import pytest

from engine.agents import AGENTS
from engine.agents.base import Turn
from engine.agents.jitrl import JitrlAgent
from engine.agents.static import Recalled, StaticAgent, tally
from engine.errors import ModelError
from engine.memory import Memory
from engine.records import Basis, BasisItem, Candidate, Episode, ModelCall, Observation, Proposal, State, Step
from engine.settings import Settings
from engine.values import make_estimator
from tests.agents.context import context

VALID = ("go north", "go south", "take lamp", "wait")
BASIS = Basis("lesson", "Lessons", (BasisItem("Take the lamp.", "episode 1"),))


class Asked:
    """A prior that keeps what it was asked; options with logits drawn from the generator it gets."""

    def __init__(self, best: str = "") -> None:
        self.requests = []
        self._best = best

    def propose(self, request, rng):
        self.requests.append(request)
        z = rng.normal(size=3)
        return Proposal(tuple(Candidate(a, float(v)) for a, v in zip(VALID, z, strict=False)), best=self._best)


class Silent:
    def propose(self, request, rng):
        raise ModelError("the line is dead")


def turn() -> Turn:
    return Turn(3, 9, Observation("x"), State("[Hall: lamp]", ("lamp",), "so far"), VALID, "a hall", "before")


@pytest.fixture
def scope(tmp_path):
    with Memory(tmp_path) as memory:
        yield memory.scope("game/x")


@pytest.mark.parametrize(
    "changes",
    [{"selection": "sample"}, {"selection": "greedy"}, {"unremembered": "best_action", "selection": "sample"}],
)
@pytest.mark.parametrize("seed", range(8))
def test_static_decides_as_jitrl_does_before_anything_is_remembered(scope, changes, seed):
    settings = Settings(estimator="knn", **changes)
    made = {
        name: AGENTS.find(name).make(context(Asked("take lamp"), scope, settings)).decide(
            turn(), np.random.default_rng(seed)
        )
        for name in ("static", "jitrl")
    }  # fmt: skip
    static, jitrl = made["static"], made["jitrl"]
    for field in ("candidates", "prior", "posterior", "chosen", "action", "tally", "note"):
        assert getattr(static, field) == getattr(jitrl, field), field
    assert (static.parts, static.update) == ((), None)
    assert static.prior == static.posterior
    assert (len(jitrl.parts), jitrl.changed) == (1, jitrl.action != jitrl.update.without_memory)
    if "unremembered" in changes:
        assert static.action == "take lamp"


class Recalling(StaticAgent):
    def recall(self, turn):
        return Recalled("Take the lamp.", (BASIS,))


class RecallingToo(JitrlAgent):
    recall = Recalling.recall


def test_what_is_recalled_goes_into_the_request_and_into_the_decision(scope):
    settings = Settings(estimator="knn")
    for prior, agent, parts in (
        (asked := Asked(), StaticAgent(asked, settings), ()),
        (asked := Asked(), Recalling(asked, settings), (BASIS,)),
        (asked := Asked(), JitrlAgent(asked, make_estimator(scope, settings), settings), ()),
        (asked := Asked(), RecallingToo(asked, make_estimator(scope, settings), settings), (BASIS,)),
    ):
        decision = agent.decide(turn(), np.random.default_rng(1))
        (request,) = prior.requests
        assert request.memory_text == ("Take the lamp." if parts else "")
        assert (request.summary, request.recent_history, request.current_state) == ("so far", "before", "a hall")
        assert decision.bases == parts


def test_a_model_that_says_nothing_leaves_the_draw_and_it_is_said(scope):
    decision = StaticAgent(Silent(), Settings()).decide(turn(), np.random.default_rng(1))
    assert decision.action in VALID
    assert {c.source for c in decision.candidates} == {"random"}
    assert decision.note == "the line is dead: drew from the valid actions"
    assert (decision.tally.asked, decision.tally.missing, decision.tally.random) == (1, 1, 1)
    assert decision.why == f"The model had nothing to offer here: '{decision.action}' was drawn from the valid actions."
    taught = AGENTS.find("jitrl").make(context(Silent(), scope, Settings(estimator="knn")))
    note = taught.decide(turn(), np.random.default_rng(1)).note
    assert note == "the line is dead and memory is empty here: drew from the valid actions"


@pytest.mark.parametrize(
    ("logits", "best", "taken", "own", "other"),
    [
        ((0.9, 0.1), "", "go north", 1, 0),
        ((0.9, 0.1), "", "go south", 0, 1),
        ((0.9, 0.1), "go south", "go south", 1, 0),
        ((0.9, 0.1), "go south", "go north", 0, 1),
        ((0.9, 0.1), "wait", "go north", 1, 0),  # it named what it did not propose
        ((0.5, 0.5), "", "go south", 1, 0),  # rated alike: either is its first choice
        ((0.9, 0.1), "", "take lamp", 0, 1),  # memory's
        ((), "", "take lamp", 0, 0),  # no usable answer
    ],
)
def test_it_is_counted_whether_the_models_own_first_choice_is_taken(logits, best, taken, own, other):
    said = tuple(Candidate(action, z, "llm") for action, z in zip(VALID, logits, strict=False))
    proposal = Proposal(said, (ModelCall("actions", "m", "", ""),), best=best)
    counts = tally(proposal, said, taken, knows=False)
    assert (counts.own, counts.other) == (own, other)


def test_jitrl_in_the_prompt_counts_its_neighbours_as_jitrl_does(scope):
    def counted(name: str):
        made = AGENTS.find(name).make(context(Asked(), scope, Settings(estimator="knn")))
        made.begin_episode(turn().state)
        return made.decide(turn(), np.random.default_rng(1)).tally

    both = ("jitrl", "jitrl-prompt")
    assert [(counted(name).searched, counted(name).found) for name in both] == [(0, 0)] * 2
    elsewhere = State("[Attic: box]", ("box",), "so far")
    scope.append(Episode("e", "game/x", (Step(elsewhere, "wait", 0.0),), elsewhere))
    assert [(counted(name).searched, counted(name).found) for name in both] == [(1, 0)] * 2
    scope.append(Episode("f", "game/x", (Step(turn().state, "take lamp", 1.0),), elsewhere))
    assert [(counted(name).searched, counted(name).found) for name in both] == [(1, 1)] * 2
