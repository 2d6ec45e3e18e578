"""The forum: its data, its tasks, and a real server of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from engine.paths import saves_folder
from engine.web.browser.snapshot import parse
from engine.web.environment_factory import open_web
from engine.web.sites.django_sites import Forum
from engine.web.sites.forum_data import AGENT, forum_content
from engine.web.sites.manager import Sites
from engine.web.tasks import state
from engine.web.tasks.suites import load
from engine.web.tasks.verdict import Scorer, verified_python
from tests.web.site_client import SiteClient
from tests.web.solving import HOW, borrow, built, solutions, trial

SAVES = saves_folder()
needs_forum = pytest.mark.skipif(
    bool(Forum().missing(SAVES)) or not built("forum", SAVES) or verified_python(SAVES) is None, reason=HOW
)


@pytest.fixture(scope="module")
def forum(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sites]:
    with Sites(borrow(SAVES, tmp_path_factory.mktemp("saves") / "saves")) as sites:
        (status,) = sites.up(("forum",), stay=False)
        assert status.state == "up", status.note
        yield sites


def test_the_forum_is_large_and_always_the_same() -> None:
    made = forum_content()
    posts = [post for topic in made.topics for post in topic.posts]
    assert len(made.people) == len({person.user for person in made.people}) == 300
    assert len(made.forums) >= 12
    assert len({topic.title for topic in made.topics}) == len(made.topics) >= 1500
    assert len(posts) - len(made.topics) >= 8000
    assert sum(len(post.likes) for post in posts) > 10_000
    assert all(post.user not in post.likes for post in posts)
    forum_content.cache_clear()
    assert forum_content() == made


def test_the_tasks_are_those_that_the_data_give() -> None:
    """After a change of the data: python -m tests.web.write_forum_tasks."""
    from tests.web.write_forum_tasks import files  # makes the whole forum

    for path, text in files().items():
        assert path.read_text() == text
    mine = [task for task in load("local") if task.sites == ("reddit",)]
    assert len(mine) >= 40
    assert {task.kind for task in mine} == {"retrieve", "navigate", "mutate"}


def test_a_state_is_right_wrong_or_cannot_be_told(tmp_path: Path) -> None:
    file = tmp_path / "site.sqlite3"
    with closing(sqlite3.connect(file)) as database:
        database.execute("CREATE TABLE soup (name)")
        database.execute("INSERT INTO soup VALUES ('pea')")
        database.commit()
    wanted = {"evaluator": state.NAME, "site": "reddit", "query": "SELECT name FROM soup", "expected": [["pea"]]}
    assert state.check([wanted], {"reddit": file}) == (1.0, "")
    assert state.check([], {}) == (1.0, "")
    score, why = state.check([wanted | {"expected": [["leek"]]}], {"reddit": file})
    assert score == 0.0
    assert "[['pea']], not [['leek']]" in why
    assert state.check([wanted], {})[0] is None
    assert state.check([wanted | {"query": "SELECT x FROM nothing"}], {"reddit": file})[0] is None
    assert state.check([wanted | {"query": "DELETE FROM soup RETURNING name"}], {"reddit": file})[0] is None


def test_characters_of_picture_fonts_are_no_part_of_names() -> None:
    page = parse('- link "\uf086 share (2)" [ref=e1]:\n  - text: \uf086\n  - text: share\n- link "All \uf078" [ref=e2]')
    assert [node.label for node in page.nodes if node.ref] == ["link[share]", "link[All]"]
    assert [node.value for node in page.nodes if node.role == "text"] == ["share"]


@needs_forum
def test_right_solutions_score_one_and_wrong_ones_nothing(forum: Sites) -> None:
    """One task of each kind; `python -m tests.bench.soak_sites --sites forum` plays all."""
    known, kinds = solutions(), set()
    with Scorer(SAVES, forum.urls()) as scorer:
        for task in load("local"):
            if task.sites != ("reddit",) or task.kind in kinds:
                continue
            kinds.add(task.kind)
            right, wrong = (trial(task, which, forum, scorer, known) for which in ("right", "wrong"))
            assert right.score == 1.0, (task.id, right.why)
            assert wrong.score == 0.0, task.id
    assert kinds == {"retrieve", "navigate", "mutate"}


@needs_forum
def test_search_finds_a_topic_and_links_without_a_text_have_a_name(forum: Sites) -> None:
    client, base = SiteClient(), forum.urls()["reddit"]
    form = client.get(base + Forum.logins["reddit"].path)
    assert all(f">{label}:</label>" in form for label in Forum.logins["reddit"].labels)  # as the browser fills them in
    client.login(base, Forum.logins["reddit"])
    topic = forum_content().topics[700]
    found = client.get(f"{base}/search/?q={topic.title.replace(' ', '+')}")
    assert f"/topic/{topic.id}/{topic.slug}/" in found
    assert AGENT in found
    assert "ariaLabel" in found


@needs_forum
def test_a_browser_is_signed_in_and_the_link_of_a_forum_in_a_list_of_topics_leads_there(
    forum: Sites, browser_path: str
) -> None:
    """Spirit's own script opens the topic instead."""
    with closing(open_web("web:local-119", forum.saves, {})) as environment:
        assert f"<link[{AGENT}]>" in environment.reset(1).description
        assert "/category/23/railways/" in environment.step("click(<link[Railways]>)").description
