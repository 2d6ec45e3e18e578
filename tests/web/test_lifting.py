"""Memory of other tasks, told in terms of the task at hand."""

from __future__ import annotations

import ast
import re
import string

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.agents import AGENTS
from engine.agents.base import Turn
from engine.environments import profile, scope_rules
from engine.memory import Memory
from engine.records import Candidate, Episode, Observation, Proposal, State, Step
from engine.values.knn import KnnEstimator
from engine.web.states.state import WebAbstractor
from engine.web.states.transfer import LiftedMemory, lift_action, task_of
from engine.web.states.words import STOP
from tests.agents.context import context
from tests.bench.web_other_tasks import ARMS, tried
from tests.examples import most

ASKED = "What is the population of Quarrow?"
NOW = "What is the population of Glenmoor?"
NAMES = st.text(string.ascii_lowercase, min_size=3, max_size=8).map(lambda w: f"X{w}q")


@pytest.mark.parametrize(
    ("action", "theirs", "ours", "told"),
    [
        ("click(<link[Quarrow]>)", ASKED, NOW, "click(<link[Glenmoor]>)"),
        ("fill(<searchbox[Find]>, 'quarrow')", ASKED, NOW, "fill(<searchbox[Find]>, 'Glenmoor')"),
        ("click(<button[Search]>)", ASKED, NOW, "click(<button[Search]>)"),
        ("scroll(0, 600)", ASKED, NOW, "scroll(0, 600)"),
        # An answer belongs to its question; that all is done can be said of any task.
        ("send_msg_to_user('44,100')", ASKED, NOW, None),
        ("send_msg_to_user('done')", ASKED, NOW, "send_msg_to_user('done')"),
        ("report_infeasible('no such city')", ASKED, NOW, None),
        ("goto('http://site/wiki/Quarrow')", ASKED, NOW, None),
        # Names of several words; one that is in both tasks stays.
        ("click(<link[Crash on save]>)", "Close the ticket Crash on save", "Close the ticket Slow page",
         "click(<link[Slow page]>)"),
        ("click(<link[Ticket list]>)", "Close the ticket Crash on save", "Close the ticket Slow page",
         "click(<link[Ticket list]>)"),
        # Half of a phrase has no counterpart of its own.
        ("click(<button[Save]>)", "Close the ticket Crash on save", "Close the ticket Slow page", None),
        # Nothing stands in its place here.
        ("click(<link[Orders]>)", "List the orders of Ana", "List Ana", None),
        # Other words around, but one name in each.
        ("click(<link[Quarrow]>)", ASKED, "How long is the river Glenmoor?", "click(<link[Glenmoor]>)"),
        # What stands in both places is exchanged, not taken as it is.
        ("fill(<textbox[From]>, 'Oslo')", "Fly from Oslo to Rome", "Fly from Bern to Oslo",
         "fill(<textbox[From]>, 'Bern')"),
        ("click(<link[4]>)", "Choose the 04/12/2016", "Choose the 07/12/2016", None),
    ],
)  # fmt: skip
def test_an_action_in_terms_of_another_task(action, theirs, ours, told):
    assert lift_action(action, theirs, ours) == told


@given(
    NAMES,
    NAMES,
    st.sampled_from(["click(<link[{}]>)", "fill(<textbox[To]>, '{}')", "click(<link[See {} now]>)"]),
)
def test_there_and_back_is_where_one_was(one, other, shape):
    tasks = f"Open the page {one} of it", f"Open the page {other} of it"
    there = lift_action(shape.format(one), *tasks)
    assert there == shape.format(other)
    assert lift_action(there, *reversed(tasks)) == shape.format(one)


WORD = re.compile(r"[^\W_]+(?:[.'][^\W_]+)*")


def words(text):
    return {word.casefold() for word in WORD.findall(text)} - STOP


@settings(max_examples=most(50))
@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=30))
def test_whatever_the_texts_no_word_of_the_other_task_alone_is_left(theirs, ours, name):
    action = f"fill(<textbox[Name]>, {name!r})"
    assert lift_action(action, ours, ours) == action
    told = lift_action(action, theirs, ours)
    if told is not None and "[redacted]" not in action:
        assert not words(ast.literal_eval(told.partition(", ")[2][:-1])) & (words(theirs) - words(ours))


def test_what_was_redacted_never_gets_a_text_of_this_task():
    action = "fill(<textbox[Password]>, '[redacted]')"
    assert lift_action(action, "Log in with [redacted]", "Log in with hunter2") == action
    assert lift_action("click(<link[My redacted]>)", "Log in with [redacted]", "Log in with hunter2") is None


def state(intent, place="wiki/SLUG"):
    return WebAbstractor(lambda: intent, lambda: ()).begin(Observation("x", place=place))


def remembered(scope, number, intent, action, reward):
    step = Step(state(intent), action, reward)
    scope.append(Episode(f"e{number}", "web/wiki", (step,), State("end", ("end",))))


def test_more_is_looked_through_until_there_are_enough_that_can_be_told(tmp_path):
    with Memory(tmp_path) as memory:
        scope = memory.scope("web/wiki")
        for number in range(6):
            remembered(scope, number, ASKED, "click(<link[Quarrow]>)", 3.0)
        for number in range(6, 60):  # Newer, as similar, and of no use here.
            remembered(scope, number, ASKED, f"send_msg_to_user('{number}')", -3.0)
        found = KnnEstimator(LiftedMemory(scope), profile("default", "web", r=0.5, k=4)).neighbours(state(NOW))
    assert [(n.action, n.taken, n.g) for n in found] == [
        ("click(<link[Glenmoor]>)", "click(<link[Quarrow]>)", 3.0)
    ] * 4
    assert all(task_of(n.state) == ASKED for n in found)


def test_with_memories_of_this_task_alone_nothing_is_another(tmp_path):
    rng = np.random.default_rng(3)
    actions = (
        "click(<link[Quarrow]>)",
        "send_msg_to_user('7')",
        "goto('http://a/Quarrow')",
        "scroll(0, 600)",
    )
    with Memory(tmp_path) as memory:
        scope = memory.scope("web/wiki")
        for number in range(30):
            remembered(scope, number, ASKED, str(rng.choice(actions)), float(rng.integers(-3, 4)))
        settings = profile("default", "web", other_tasks="literal")
        plain, told = KnnEstimator(scope, settings), KnnEstimator(LiftedMemory(scope), settings)
        assert told.neighbours(state(ASKED)) == plain.neighbours(state(ASKED)) != ()


class Undecided:
    """A prior that has no opinion between what the page offers."""

    def propose(self, request, rng):
        return Proposal(tuple(Candidate(a, 0.0, "model") for a in request.valid_actions))


@pytest.mark.parametrize(("how", "z"), [("literal", (1.0, 0.0)), ("lifted", (0.0, 1.0))])
def test_a_success_of_another_task_speaks_for_the_like_of_it_or_for_itself(tmp_path, how, z):
    valid = ("click(<link[Quarrow]>)", "click(<link[Glenmoor]>)")
    settings = profile("default", "web", other_tasks=how, lam=0.0)
    now = state("What is the mayor and population of Glenmoor?")
    theirs = "What is the mayor and population of Quarrow?"
    with Memory(tmp_path, rules=scope_rules) as memory:
        scope = memory.scope("web/wiki")
        remembered(scope, 1, theirs, "click(<link[Quarrow]>)", 3.0)
        agent = AGENTS.find("jitrl").make(context(Undecided(), scope, settings))
        decision = agent.decide(
            Turn(1, 9, Observation("x"), now, valid, "", lambda action: action if action in valid else None),
            np.random.default_rng(1),
        )
    raised = tuple(round(each - min(decision.update.z_prime), 6) for each in decision.update.z_prime)
    assert raised == z
    assert decision.action == valid[z.index(1.0)]
    elsewhere = "tried in 1 of 1 similar visit (1 for another task, as 'click(<link[Quarrow]>)')"
    assert (elsewhere in decision.why) == (how == "lifted")


def test_the_papers_profile_takes_them_word_for_word():
    assert profile("paper").other_tasks == profile("default").other_tasks == "literal"


def test_on_a_made_up_site_other_tasks_harm_word_for_word_and_help_lifted(tmp_path):
    static, literal, told = (
        np.mean([tried(tmp_path / f"{arm}{seed}", arm, 4.0, seed) for seed in range(2)], axis=0)
        for arm in ARMS
    )
    assert literal[0] < static[0] - 0.2  # "Quarrow" is remembered as good where "Glenmoor" is asked for.
    assert told[0] > literal[0] + 0.2
    assert told[1] > static[1] + 0.05
    assert told[1] > literal[1] + 0.2
