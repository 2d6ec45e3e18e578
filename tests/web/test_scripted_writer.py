"""The scripted model that writes on web pages, asked through the real prompts over HTTP."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

from engine.environments import profile
from engine.records import ActionRequest, State, Step, Trajectory
from engine.web.browser.snapshot import parse
from engine.web.choices import possible_actions
from engine.web.drawing.text import fence, outline
from engine.web.evaluator import WebEvaluator
from engine.web.prior import logits
from tests.bench.web_writer import WebWriter

TIMES = 30
"""Answers that are counted. The draws are from a fixed seed, so the counts are always the same."""
INTENT = 'Lend the book "Emma" at the branch Harbour.'
SHELF = """- link "Books" [ref=e1]
- link "Loans" [ref=e2]
- heading "New loan" [level=1] [ref=e3]
- textbox "Book" [ref=e4]: Persuasion
- combobox "Branch" [ref=e5]:
  - option "North" [selected]
  - option "Harbour"
- button "Lend" [ref=e6]
- button "Lend" [ref=e7]
"""


def request(recent: str = "") -> ActionRequest:
    page = parse(SHELF, "http://x/", "Library")
    text = f"Task: {INTENT}\n" + fence(f"URL: {page.url}\nTitle: {page.title}\n{outline(page)}")
    return ActionRequest("", "", recent, text, possible_actions(page, INTENT, back=False), 3)


@pytest.fixture
def writer(server):
    server.default = WebWriter(7)
    return server.default


def test_it_proposes_what_the_page_offers_as_often_as_the_prior_says(writer, server, model):
    asked = request()
    given = model.propose(asked, np.random.default_rng(0))
    assert not given.note
    assert len({candidate.action for candidate in given.candidates}) == 3
    firsts = Counter()
    for _ in range(TIMES):
        told = json.loads(writer.answer(server.requests[0]))
        assert {told[f"option{i}"] for i in (1, 2, 3)} <= set(asked.valid_actions)
        firsts[told["option1"]] += 1
    odds = np.exp(np.array(logits(asked)) - max(logits(asked)))
    for action, share in zip(asked.valid_actions, odds / odds.sum(), strict=True):
        assert firsts[action] / TIMES == pytest.approx(share, abs=0.2), action


def test_what_was_done_before_is_read_from_the_prompt(writer, server, model):
    fill = "fill(<textbox[Book]>, 'Emma')"
    before, after = (
        Counter(
            candidate.action
            for _ in range(10)
            for candidate in model.propose(request(recent), np.random.default_rng(0)).candidates
        )
        for recent in ("", f"{fill}\n  -> Library http://x/")
    )
    assert before[fill] > 7 > after[fill]


def test_the_same_questions_in_the_same_order_get_the_same_answers(writer, server, model):
    def answers():
        return [
            tuple(c.action for c in model.propose(request(), np.random.default_rng(0)).candidates) for _ in range(4)
        ]

    first = answers()
    assert len(set(first)) > 1  # The n-th answer has draws of its own.
    server.default = WebWriter(7)
    assert answers() == first
    server.default = WebWriter(8)
    assert answers() != first


@pytest.mark.parametrize(
    ("outcome", "rewards"), [("won", (-1.0, 1.0, 3.0)), ("lost", (-1.0, 0.0, -3.0)), ("", (-1.0, 0.0, 0.0))]
)
def test_it_judges_by_the_verdict_that_it_is_told(writer, server, model, outcome, rewards):
    steps = tuple(
        Step(State(f"[library: {n}] {INTENT}", ("x",)), action, 0.0, changed=changed)
        for n, (action, changed) in enumerate(
            [("click(<link[Books]>)", False), ("click(<link[Loans]>)", True), ("send_msg_to_user('done')", True)]
        )
    )
    final = State("[library: end]", ("x",))
    seen = Trajectory(steps, final, ("a", "b", "c", "d"), terminated=bool(outcome), outcome=outcome)
    judged = WebEvaluator(profile("default", "web", rewards="hybrid"), model).rewards(seen)
    assert not judged.note
    written = json.loads(writer.answer(server.requests[-1]))["step_analysis"]
    assert [row["score"] for row in written] == list(rewards)
