"""WebArena's program checks look at the real pages once the episode is over, in tabs of their own."""

from __future__ import annotations

import pytest

from engine.web.environment import WebEnvironment
from engine.web.records import Assignment
from engine.web.tasks.judge import TaskJudge
from engine.web.tasks.suites import WebTask
from engine.web.tasks.verdict import Scorer


@pytest.fixture
def played(browser_path, shared_browser, site, tmp_path):
    """Play a task with these program checks to its end; return the environment and its last observation."""
    made = []

    def play(*checks, actions=(), end="send_msg_to_user('done')", **evaluation):
        items = [
            {"url": url, "locator": locator, "required_contents": needs, **more}
            for url, locator, needs, more in checks
        ]
        raw = {"eval": {"eval_types": ["program_html"], "reference_answers": None, "program_html": items, **evaluation},
               "intent": "Go"}  # fmt: skip
        task = WebTask("webarena-0", "webarena", 0, ("shopping",), "Go", ("__SHOPPING__/",), raw=raw)
        urls = {"shopping": site.url}
        job = Assignment("webarena-0", "webarena", "Go", (f"{site.url}/",), urls)
        judge = TaskJudge(task, Scorer(tmp_path, urls))
        env = WebEnvironment(job, browser_path, scope="web/shopping", judge=judge)
        made.append(env)
        env.reset(1)
        for action in actions:
            assert "Error" not in env.step(action).text
        return env, env.step(end)

    yield play
    for env in made:
        env.close()


H1 = "document.querySelector('h1').textContent"


def test_other_pages_are_opened_and_the_last_one_is_read_as_it_stands(played, site):
    env, seen = played(
        ("__SHOPPING__/", H1, {"exact_match": "home"}, {}),
        ("last", "document.querySelector('input').value", {"exact_match": "Ana"}, {}),
        ("last", "", {"must_include": ["Sort by |OR| Order by"]}, {}),
        (
            "__SHOPPING__/find",
            "document.title",
            {"must_include": ["ready"]},
            {"prep_actions": ["nothing.here()", "document.title = 'Ready'"]},
        ),
        actions=("click(<link[Find]>)", "fill(<textbox[Name]>, 'Ana')"),
    )
    assert (seen.outcome, seen.score) == ("won", 1.0), seen.text
    assert seen.place == "shopping/find"
    assert [e["request"]["url"] for e in env.entries].count(f"{site.url}/") == 1  # looking leaves no traffic
    assert env.sight().title == "Find"


def test_what_the_sites_show_counts_although_nobody_said_that_it_was_done(played):
    check = ("last", "document.querySelector('input').value", {"exact_match": "Ana"}, {})
    env, _ = played(check, end="click(<link[Find]>)")
    for done, action in ((False, "noop()"), (True, "fill(<textbox[Name]>, 'Ana')")):
        env.step(action)
        seen = env.conclude()
        assert (seen.terminated, seen.outcome, seen.score) == (done, "won" if done else "", float(done))
        assert not seen.truncated


@pytest.mark.parametrize(
    "check",
    [
        ("__SHOPPING__/", "document.querySelector('h9').textContent", {"exact_match": "Home"}, {}),
        ("http://127.0.0.1:9/", "", {"must_include": ["a"]}, {}),
    ],
)
def test_what_is_not_there_or_may_not_be_reached_is_not_done(played, check):
    _, seen = played(check)
    assert (seen.terminated, seen.truncated, seen.outcome) == (True, False, "lost")
    assert "program_html failed" in seen.text


def test_a_check_by_the_sites_own_interface_leaves_the_episode_without_a_verdict(played):
    _, seen = played(("__SHOPPING__/x", "func:shopping_get_x('B0')", {"must_include": ["5"]}, {}))
    assert (seen.terminated, seen.truncated, seen.outcome) == (False, True, "")
    assert "could not be judged" in seen.text
