"""Task suites load offline, ours follow WebArena-Verified's schema, and placeholders become URLs."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from engine.errors import MissingError, UsageError
from engine.paths import saves_folder
from engine.web.environment_factory import original
from engine.web.sites import install
from engine.web.sites.manager import SITES
from engine.web.tasks import suites as tasks
from tests.web.solving import HOW, solutions


@pytest.mark.parametrize("suite", list(tasks.FILES))
def test_published_suites_load_whole(suite: str) -> None:
    saves = saves_folder()
    if not tasks.find(suite, saves):
        pytest.skip(f"{tasks.FILES[suite][1]} is not here; {HOW}")
    loaded = tasks.load(suite, saves)
    assert len(loaded) == {"webarena": 812, "webarena-lite": 165, "webarena-verified": 812}[suite]
    assert len({task.id for task in loaded}) == len(loaded)
    assert {site for task in loaded for site in task.sites} <= set(tasks.VARIABLES)
    assert all(task.intent and task.start_urls for task in loaded)
    assert max(len(task.start_urls) for task in loaded) > 1  # Some begin with several tabs.
    if suite == "webarena-verified":
        # Counted by hand in the published file.
        assert Counter(task.kind for task in loaded) == {"mutate": 374, "retrieve": 325, "navigate": 113}


def test_a_task_of_webarena_lite_names_the_task_it_was_taken_over_from(tmp_path: Path, monkeypatch) -> None:
    file = tmp_path / tasks.FILES["webarena-lite"][0]
    file.parent.mkdir(parents=True)
    plain = {"sites": ["map"], "intent": "Go", "start_url": "__MAP__", "intent_template_id": 1, "eval": {}}
    file.write_text(json.dumps([plain | {"task_id": n, "old_task_id": 800 - n} for n in range(165)]))
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    assert original("web:webarena-lite-7", tmp_path) == "web:webarena-793"
    assert original("web:webarena-7", tmp_path) == ""


def test_each_local_task_has_a_right_and_a_wrong_solution() -> None:
    loaded = tasks.load("local")
    assert len({task.id for task in loaded}) == len(loaded)
    assert set(solutions()) == {task.number for task in loaded}
    assert all(item["right"] and item["right"] != item["wrong"] for item in solutions().values())
    for task in loaded:
        # The classic checks of WebArena do not say what kind of task it is.
        assert task.kind in {"retrieve", "mutate", "navigate"} or "eval_types" in task.raw["eval"]
        values = task.raw["instantiation_dict"].values()
        assert all(str(value) in task.intent for value in values)


def test_the_extras_are_what_is_installed_for_the_sites() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    assert tuple(extras["sites"]) == install.packages([*SITES.values()])
    assert tuple(extras["verified"]) == install.VERIFIED


def test_a_package_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    with pytest.raises(MissingError, match="browsergym-webarenalite"):
        tasks.load("webarena-lite", tmp_path)
    with pytest.raises(UsageError, match="webvoyager"):
        tasks.load("webvoyager", tmp_path)


def test_placeholders_become_the_users_urls() -> None:
    urls = tasks.user_sites({"WA_SHOPPING": "http://shop.test:7770/", "WA_MAP": "todo", "WA_GITLAB": ""})
    assert urls == {"shopping": "http://shop.test:7770"}
    assert tasks.render("__SHOPPING__/basket/", urls) == "http://shop.test:7770/basket/"
    # A name that begins like another one is not mistaken for it.
    assert (
        tasks.render("__SHOPPING_ADMIN__/x", {"shopping_admin": "http://a", "shopping": "http://b"})
        == "http://a/x"
    )
    with pytest.raises(MissingError, match="WA_GITLAB"):
        tasks.render("__GITLAB__", urls)
