"""A site that was reset is the site of before, and a session has its sites for itself."""

from __future__ import annotations

import hashlib
from contextlib import closing
from pathlib import Path

import pytest

from engine.errors import UsageError
from engine.paths import saves_folder
from engine.records import Observation
from engine.web.environment import WebEnvironment
from engine.web.environment_factory import open_web
from engine.web.sites.manager import SITES, Sites
from engine.web.sites.site import VERSION, restore
from engine.web.tasks.suites import get
from engine.web.tasks.verdict import verified_python
from tests.web.restoring import differences
from tests.web.site_client import SiteClient
from tests.web.solving import HOW, borrow, built, play, solutions

SAVES = saves_folder()


@pytest.fixture
def sites(tmp_path: Path, request: pytest.FixtureRequest):
    name = request.param
    if SITES[name].missing(SAVES) or not built(name, SAVES):
        pytest.skip(HOW)
    with Sites(borrow(SAVES, tmp_path / "saves")) as sites:
        (status,) = sites.up((name,), stay=False)
        assert status.state == "up", status.note
        yield sites


def written(folder: Path) -> dict[str, str]:
    """Return the hash of every file in a folder."""
    files = (path for path in folder.rglob("*") if path.is_file() and "venv" not in path.parts)
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def elsewhere(web: Path) -> dict[str, str]:
    """Return the hash of every file that no site may write."""
    return {
        path: digest
        for path, digest in written(web).items()
        if "/live" not in path and not path.startswith("run")
    }


@pytest.mark.parametrize(
    ("sites", "tasks", "pages"),
    [
        ("shop", (32, 46), ("/search/?q=backpack", "/catalogue/eider-backpack-133_28/", "/catalogue/")),
        ("fossil", (11, 19), ("/larder/rptview?rn=1", "/larder/wiki?name=Setup", "/larder/timeline")),
        ("forum", (128, 133), ("/", "/category/25/weather/", "/topic/active/")),
    ],
    indirect=["sites"],
)
def test_what_an_agent_has_written_is_gone_after_a_reset(
    sites: Sites, tasks: tuple[int, ...], pages: tuple[str, ...]
) -> None:
    """`make soak` sends all forms of all sites."""
    (name,) = (status.name for status in sites.status() if status.state == "up")
    places = sites.saves / "web" / "sites" / name
    before = elsewhere(sites.saves / "web")
    used, fresh = sites.lend((name,), "one"), sites.lend((name,), "another")
    try:
        ((host, other),) = fresh.moved.items()
        used.reset()
        for number in tasks:
            play(get(f"local-{number}", sites.saves), solutions()[number]["right"], sites.urls())
        assert differences(SiteClient(), f"http://{host}", SiteClient(), f"http://{other}", pages) != []
        used.reset()
        assert written(places / "live") == written(places / f"pristine-{VERSION}")
        assert differences(SiteClient(), f"http://{host}", SiteClient(), f"http://{other}", pages) == []
        assert elsewhere(sites.saves / "web") == before
    finally:
        fresh.close()
        used.close()
    assert not list(places.glob("live-*"))


def test_restoring_makes_a_folder_the_same_as_another(tmp_path: Path) -> None:
    original, live = tmp_path / "original", tmp_path / "live"
    (original / "index").mkdir(parents=True)
    (original / "site.db").write_bytes(b"before")
    (original / "index" / "1.toc").write_bytes(b"one")
    restore(original, live)
    (live / "site.db").write_bytes(b"after")
    (live / "site.db-journal").write_bytes(b"half a change")
    (live / "index" / "1.toc").unlink()
    (live / "index" / "2.toc").write_bytes(b"two")
    (live / "uploads" / "deep").mkdir(parents=True)
    (live / "uploads" / "deep" / "file").write_bytes(b"x")
    (live / "link").symlink_to(original, target_is_directory=True)
    restore(original, live)
    assert written(live) == written(original) == {
        "site.db": hashlib.sha256(b"before").hexdigest(), "index/1.toc": hashlib.sha256(b"one").hexdigest(),
    }  # fmt: skip
    assert sorted(path.name for path in live.iterdir()) == ["index", "site.db"]


@pytest.mark.parametrize("sites", ["fossil"], indirect=True)
def test_two_sessions_have_a_site_each_and_nobody_else_changes_it(sites: Sites) -> None:
    one, two = sites.lend(("fossil",), "web:local-1"), sites.lend(("fossil",), "web:local-2")
    try:
        base = sites.urls()["gitlab"]
        assert one.moved == {}
        ((seen, real),) = two.moved.items()
        assert base == f"http://{seen}" != f"http://{real}"
        clients = [SiteClient(), SiteClient()]
        for client, url in zip(clients, (base, f"http://{real}"), strict=True):
            client.login(url, SITES["fossil"].logins["gitlab"])
            client.get(f"{url}/larder/tktnew")
            client.submit({"title": f"Soup of {url}"}, form="tktnew", button="preview")
            client.submit({}, form="tktnew", button="submit")
        two.reset()
        assert f"Soup of {base}" in clients[0].get(f"{base}/larder/rptview?rn=1")
        assert "Soup of" not in clients[1].get(f"http://{real}/larder/rptview?rn=1")
        for forbidden in (sites.reset, sites.down):
            with pytest.raises(
                UsageError, match=r"the site fossil belongs to web:local-1 in process \d+ now"
            ):
                forbidden()
        assert f"Soup of {base}" in clients[0].get(f"{base}/larder/rptview?rn=1")
    finally:
        two.close()
        one.close()
    sites.reset()
    assert sites.down() == ("fossil",)


@pytest.mark.parametrize("sites", ["fossil"], indirect=True)
def test_a_second_session_leaves_the_site_of_the_first_alone(sites: Sites, browser_path: str) -> None:
    """Both see the same addresses, so a run in parallel is told the same as one after the other."""
    if verified_python(SAVES) is None:
        pytest.skip(HOW)

    def done(environment: WebEnvironment, action: str) -> Observation:
        seen = environment.step(action)
        assert "Error" not in seen.text, seen.text
        return seen

    with closing(open_web("web:local-11", sites.saves, {})) as first:
        begun = first.reset(1)
        done(first, f"goto('{sites.urls()['gitlab']}/larder/tktnew')")
        done(first, "fill(<textbox[]#1>, 'Slow search page')")
        with closing(open_web("web:local-11", sites.saves, {})) as second:
            assert second.reset(1).place == begun.place
            assert second.info == first.info
            for button in ("Preview", "Submit"):
                done(first, f"click(<button[{button}]>)")
            tickets = f"goto('{sites.urls()['gitlab']}/larder/rptview?rn=1')"
            assert "Slow search page" in done(first, tickets).description
            page = done(second, tickets).description.partition("BEGIN PAGE")[2]  # What comes before is the task.
            assert "Crash on save" in page
            assert "Slow search page" not in page
