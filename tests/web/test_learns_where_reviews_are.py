"""The paper's case (Table 5): the model looks for customer reviews under Catalogue, and they are under Marketing.

A real dashboard, browser, evaluator, session and memory; the model is a server with the same wrong idea every time.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from engine.environments import profile
from engine.paths import saves_folder
from engine.records import Decided, EpisodeEnded
from engine.session import store as sessions
from engine.session.loop import Session
from engine.settings import SessionConfig
from engine.web.sites.django_sites import Shop
from engine.web.sites.manager import Sites
from engine.web.tasks.verdict import verified_python
from tests.llm import server as fake
from tests.llm.server import Server
from tests.web.solving import HOW, borrow, built

SAVES = saves_folder()
CATALOGUE, MARKETING = "click(<button[Catalogue]>)", "click(<button[Marketing]>)"
DONE = "send_msg_to_user('done')"

pytestmark = pytest.mark.skipif(
    bool(Shop().missing(SAVES)) or not built("shop", SAVES) or verified_python(SAVES) is None,
    reason=HOW,
)


def intuition(handler, body):
    """Propose Catalogue before Marketing on the first page, and then whatever the opened menu has to go on with."""
    page = body["messages"][1]["content"].rpartition("**CURRENT STATE:**")[2]
    if "/dashboard/catalogue/" in page.split("Title:")[0] or "/dashboard/reviews/" in page.split("Title:")[0]:
        options = [(DONE, 90), ("go_back()", 10)]
    elif "<link[Products]>" in page:
        options = [("click(<link[Products]>)", 90), ("click(<link[Categories]>)", 10)]
    elif "<link[Reviews]>" in page:
        options = [("click(<link[Reviews]>)", 90), ("click(<link[Ranges]>)", 10)]
    else:
        options = [(CATALOGUE, 90), (MARKETING, 70)]
    form = {"reasoning": "so", "best_action": 1}
    for i, (action, confidence) in enumerate(options, 1):
        form |= {
            f"option{i}": action,
            f"option{i}_reasoning": "it sounds right",
            f"confidence{i}": confidence,
        }
    fake.reply(json.dumps(form))(handler, body)


def test_memory_of_a_failure_and_a_success_moves_the_logits_as_in_table_5(
    tmp_path_factory, monkeypatch, browser_path
):
    saves = borrow(SAVES, tmp_path_factory.mktemp("saves") / "saves")
    events = []
    with Sites(saves) as sites, Server().running() as server:
        (status,) = sites.up(("shop",), stay=False)
        assert status.state == "up", status.note
        server.default = intuition
        monkeypatch.setenv("OPENAI_API_BASE", server.base)
        settings = profile("default", "web", rewards="score", candidates=2, lam=0.0)
        config = SessionConfig("web:local-40", "jitrl", "openai/test", 4, 1, "web", settings)
        session = Session(sessions.create(saves, config, "run"), saves, events.append)
        session.run()
    assert session.error is None
    first = {
        e.episode: e.decision for e in reversed(events) if isinstance(e, Decided) and e.decision.step == 0
    }
    scores = {e.episode: e.score for e in events if isinstance(e, EpisodeEnded)}
    assert (first[1].action, scores[1]) == (CATALOGUE, 0.0)
    # After one failure what was not tried looks better; it is right, and stays.
    assert [(first[n].action, scores[n]) for n in (2, 3, 4)] == [(MARKETING, 1.0)] * 3
    now = first[3]
    z = {c.action: (c.z, after) for c, after in zip(now.candidates, now.update.z_prime, strict=True)}
    assert (z[CATALOGUE][0], z[MARKETING][0]) == (0.9, 0.7)  # the model's own opinion, in every episode
    assert z[CATALOGUE][1] < 0.9
    assert z[MARKETING][1] > 0.7
    assert z[MARKETING][1] > z[CATALOGUE][1]
    assert now.update.without_memory == CATALOGUE
    # The numbers are Algorithm 1's: returns with a discount of .1 from step rewards (0, 0, -3) and (1, 1, 3).
    failed, done = 0.01 * -3, 1 + 0.1 + 0.01 * 3
    v = (failed + done) / 2
    advantage = np.array([failed - v, done - v])
    expected = np.array([0.9, 0.7]) + advantage / np.abs(advantage).max()
    assert [z[CATALOGUE][1], z[MARKETING][1]] == pytest.approx(list(expected), abs=1e-6)
