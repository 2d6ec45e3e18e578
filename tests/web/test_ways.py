"""Each local task can be done with actions that the agent is offered, within the step limit.

`tests/bench/web_paths.json` has a way for each task; `python -m tests.bench.web_recall` goes all of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from engine.environments import profile
from engine.paths import saves_folder
from engine.web.actions import GRAMMAR, parse
from engine.web.environment_factory import open_web
from engine.web.sites.manager import SITES, Sites
from engine.web.tasks.suites import get, load, render
from engine.web.tasks.verdict import verified_python
from tests.bench.web_recall import COMPUTED, PATHS, go
from tests.web.solving import HOW, borrow, built

SAVES = saves_folder()
WAYS = json.loads(PATHS.read_text())
LISTED = GRAMMAR.keys() - {"goto", "noop", "report_infeasible", "keyboard_type", "keyboard_press", "new_tab"}
"""The actions that pages offer."""
PLAYED = {
    "fossil": ("429",),
    "map": ("226",),
    "encyclopedia": ("52",),
    "forum": ("147",),
    "shop": ("358", "314"),
}
"""Long ways, ways through forms, and ways with dates, by site."""


def test_every_local_task_has_a_way_of_listed_actions_within_the_step_limit() -> None:
    most = min(profile(name, "web").step_limit for name in ("default", "paper"))
    assert most == 10  # the paper's
    tasks = {str(task.number) for task in load("local")}
    assert WAYS.keys() == tasks
    assert {number: len(way) for number, way in WAYS.items() if len(way) > most} == {}
    assert {number for number, way in WAYS.items() if any(parse(action).name not in LISTED for action in way)} == set()
    assert tasks >= COMPUTED


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sites]:
    with Sites(borrow(SAVES, tmp_path_factory.mktemp("saves") / "saves")) as sites:
        yield sites


@pytest.mark.parametrize(("site", "number"), [(site, number) for site, played in PLAYED.items() for number in played])
def test_ways_are_offered_step_by_step_and_do_the_task(
    site: str, number: str, started: Sites, browser_path: str, shared_browser: None
) -> None:
    if missing := SITES[site].missing(SAVES):
        pytest.skip(missing)
    task = get(f"local-{number}", SAVES)
    if (site in ("shop", "forum") and not built(site, SAVES)) or (
        isinstance(task.raw["eval"], list) and verified_python(SAVES) is None
    ):
        pytest.skip(HOW)
    (status,) = started.up((site,), stay=False)
    assert status.state == "up", status.note
    environment = open_web(f"web:{task.id}", started.saves, {})
    try:
        found = go(environment, [render(action, started.urls()) for action in WAYS[number]])
    finally:
        environment.close()
    assert (found["missed"], found["score"]) == ([], 1.0)
