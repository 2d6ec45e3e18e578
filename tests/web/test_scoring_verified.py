"""Tasks of ours, played over HTTP on the running sites and judged by WebArena-Verified itself."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.paths import saves_folder
from engine.web.sites.manager import Sites
from engine.web.tasks.suites import get, load
from engine.web.tasks.verdict import EpisodeOutcome, Scorer, agent_response, verified_python
from tests.web.solving import HOW, borrow, built, solutions, trial

SAVES = saves_folder()
pytestmark = [
    pytest.mark.skipif(shutil.which("fossil") is None, reason="apt install fossil"),
    pytest.mark.skipif(verified_python(SAVES) is None, reason=HOW),
]


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sites]:
    """All sites that can be had here; the shop, the forum and the map only where their data are built already."""
    wanted = ["fossil", "encyclopedia", *(site for site in ("shop", "forum", "map") if built(site, SAVES))]
    with Sites(borrow(SAVES, tmp_path_factory.mktemp("saves") / "saves")) as sites:
        sites.up(wanted, stay=False)
        yield sites


@pytest.fixture(scope="module")
def scorer(sites: Sites) -> Iterator[Scorer]:
    with Scorer(SAVES, sites.urls()) as scorer:
        yield scorer


def test_right_solutions_score_one_and_wrong_ones_nothing(sites: Sites, scorer: Scorer) -> None:
    known = solutions()
    running = set(sites.urls())
    tried = 0
    for task in load("local"):
        # A handful of each site, the ones on two sites among them; all of them run in `make bench-web`.
        if not running.issuperset(task.sites) or (task.number % 12 and len(task.sites) == 1):
            continue
        tried += 1
        right, wrong = (trial(task, which, sites, scorer, known) for which in ("right", "wrong"))
        assert right.score == 1.0, (task.id, right.why)
        assert wrong.score == 0.0, task.id
        assert wrong.why
    assert tried >= 3


def test_nothing_done_is_wrong_not_an_error(sites: Sites, scorer: Scorer) -> None:
    untouched = EpisodeOutcome("", "", databases=sites.state())
    for task in load("local"):
        if task.sites == ("gitlab",):
            assert scorer.score(task, untouched).score == 0.0, task.id


def test_a_judge_that_died_is_started_anew(sites: Sites, scorer: Scorer) -> None:
    task = get("local-0")
    assert scorer.score(task, EpisodeOutcome("4711", "")).score == 1.0
    worker = scorer.worker
    assert worker is not None
    worker.kill()
    worker.wait()
    assert scorer.score(task, EpisodeOutcome("4711", "")).score == 1.0


def test_plain_words_are_put_into_the_form() -> None:
    assert agent_response("4711", "retrieve")["retrieved_data"] == [4711]
    assert agent_response(" Kassel ", "retrieve")["retrieved_data"] == ["Kassel"]
    assert agent_response('["a", "b"]', "retrieve")["retrieved_data"] == ["a", "b"]
    assert agent_response("done", "mutate") == {
        "task_type": "MUTATE", "status": "SUCCESS", "retrieved_data": None, "error_details": None,
    }  # fmt: skip
    given = '{"task_type": "RETRIEVE", "status": "NOT_FOUND_ERROR", "retrieved_data": null}'
    assert agent_response(given, "retrieve")["status"] == "NOT_FOUND_ERROR"


def test_the_process_ends_with_its_scorer(tmp_path: Path) -> None:
    scorer = Scorer(SAVES, {"gitlab": "http://127.0.0.1:1"})
    scorer.score(get("local-0"), EpisodeOutcome("", ""))
    worker = scorer.worker
    assert worker is not None
    scorer.close()
    scorer.close()
    assert worker.returncode == 0
