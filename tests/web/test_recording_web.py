"""What pages looked like is kept beside the recording, without secrets, and read again without a browser."""

from __future__ import annotations

import json

import pytest

from engine.environment import VisiblePage
from engine.errors import MissingError
from engine.records import EpisodeStarted, Notice, PageShown, Stepped
from engine.redaction import hide
from engine.session import recording
from engine.session import store as sessions
from engine.session.loop import Session
from engine.settings import SessionConfig, Settings
from engine.web.browser import chromium
from engine.web.browser.pages import FOLDER, PageStore, secret_handles, snapshot_text
from engine.web.browser.snapshot import parse
from engine.web.environment import WebEnvironment
from engine.web.records import Assignment
from engine.web.tasks import miniwob

pytestmark = pytest.mark.usefixtures("shared_browser")

TEXT = """\
- 'button "a: it''s \\"b\\"" [ref=e1] [box=1,2,3,4]'
- iframe [ref=e2] [box=100,50,300,200]:
  - link "In [x]>: of \u4e2d" [ref=f1e1] [box=10,10,50,20]: "line: one"
    - /url: /a?b=c: d
  - textbox "Password" [ref=f1e2]: hunter22
- checkbox "Go" [checked] [disabled] [ref=e3]
- checkbox "Go" [checked=mixed] [ref=e4]
- text: "plain: text"
"""


def _sight(**changes):
    return VisiblePage(**({"url": "http://a/", "title": "A", "task": "t", "snapshot": "- text: x", "width": 1280,
                     "height": 720, "picture": b"\xff\xd8jpeg", "entries": ({"request": {}},)} | changes))  # fmt: skip


def test_a_page_reads_the_same_after_it_was_written_and_secrets_are_gone():
    page = parse(TEXT)
    again = parse(snapshot_text(page))
    assert [(n.role, n.name, n.ref, n.url, n.states, n.box, n.depth, n.twins) for n in again.nodes] == [
        (n.role, n.name, n.ref, n.url, n.states, n.box, n.depth, n.twins) for n in page.nodes
    ]
    assert again.nodes[2].box == (110, 60, 50, 20)
    assert "hunter22" not in snapshot_text(page)
    assert "line: one" not in snapshot_text(page, ["line: one"])
    assert secret_handles(page, ["line: one", "abc"]) == ("f1e1", "f1e2")
    assert secret_handles(page, ["plain: text"]) is None  # Nothing around it could be painted over.
    secret = 'p\u00e4ss w/rd"'
    for form in (secret, json.dumps(secret), "p%C3%A4ss%20w%2Frd%22", "x=p%C3%A4ss+w%2Frd%22&y"):
        assert "w" not in hide(form, [secret])


def test_files_are_kept_and_read_by_their_record(tmp_path):
    store = PageStore(tmp_path)
    shown, trouble = store.keep(_sight(), 2, 3)
    assert trouble == ""
    assert (shown.episode, shown.step) == (2, 3)
    assert {f.name for f in (tmp_path / FOLDER).iterdir()} == {shown.snapshot, shown.picture, shown.traffic}
    assert json.loads((tmp_path / FOLDER / shown.traffic).read_text())["log"]["entries"] == [{"request": {}}]
    fresh = PageStore(tmp_path)
    assert fresh.page(shown).nodes[0].value == "x"
    assert fresh.picture(shown) == b"\xff\xd8jpeg"
    (tmp_path / "1-1.txt").write_text("- text: mine")
    for name in ("../1-1.txt", "/etc/passwd", "", "..", "1-1.txt"):
        assert fresh.page(PageShown(1, 1, "u", snapshot=name)) is None


def test_what_cannot_be_kept_is_said_once_and_leaves_nothing_torn(tmp_path):
    (tmp_path / FOLDER).write_text("in the way")
    store = PageStore(tmp_path)
    first, second = store.keep(_sight(), 1, 0), store.keep(_sight(), 1, 1)
    assert "could not be kept" in first[1]
    assert second[1] == ""
    assert (second[0].url, second[0].snapshot, second[0].picture) == ("http://a/", "", "")
    small = PageStore(tmp_path / "other", most=20)
    (tmp_path / "other").mkdir()
    small.keep(_sight(entries=()), 1, 0)
    shown, trouble = small.keep(_sight(), 1, 1)
    assert "no more are kept" in trouble
    assert shown.snapshot == shown.picture == ""
    assert len(list((tmp_path / "other" / FOLDER).iterdir())) == 2
    # A resumed session counts what is there already.
    assert "no more are kept" in PageStore(tmp_path / "other", most=20).keep(_sight(), 1, 2)[1]


def test_a_real_page_is_seen_without_what_was_typed_in_secret(browser_path, site):
    job = Assignment("t-1", "test", "Find it", (f"{site.url}/find?token=swordfish9",), {"shop": site.url})
    environment = WebEnvironment(job, browser_path, scope="web/shop")
    try:
        environment.reset(1)
        first = environment.sight()
        environment.step("fill(<textbox[Password]>, 'swordfish9')")
        environment.step("fill(<textbox[Name]>, 'swordfish9 too')")
        environment.step("click(<button[Send]>)")
        second = environment.sight()
    finally:
        environment.close()
    assert environment.sight is not None
    assert first.picture[:2] == second.picture[:2] == b"\xff\xd8"
    assert any(n.role == "textbox" and n.box for n in parse(first.snapshot).nodes)
    assert [e["request"]["method"] for e in first.entries] == ["GET"]
    assert [e["request"]["method"] for e in second.entries] == ["POST"]
    assert "swordfish9" not in repr(second)
    assert environment.sight().picture == b""  # closed: nothing to see, and nothing raised


@pytest.fixture
def recorded(tmp_path):
    why = chromium.missing()
    if why:
        pytest.skip(why)
    try:
        miniwob.require_pages(tmp_path)
    except MissingError as error:
        pytest.skip(str(error))
    config = SessionConfig(game="web:miniwob-click-button", agent="random", model="prior/uniform", episodes=1,
                           seed=1, settings=Settings(step_limit=2))  # fmt: skip
    saved = sessions.create(tmp_path, config, "run")

    def play():
        session = Session(saved, tmp_path, lambda event: None)
        session.run()
        assert session.error is None
        return saved.folder, [event for _, event in recording.read(saved.recording)]

    play.folder = saved.folder
    return play


def test_a_session_keeps_a_page_for_each_step(recorded):
    folder, events = recorded()
    steps = [e for e in events if isinstance(e, (EpisodeStarted, Stepped))]
    pages = [e for e in events if isinstance(e, PageShown)]
    assert [p.step for p in pages] == list(range(len(steps)))
    store = PageStore(folder)
    for shown in pages:
        assert "miniwob" in shown.url
        assert shown.task
        assert any(n.role == "button" and n.box for n in store.page(shown).nodes)
        assert 1000 < len(store.picture(shown)) < 200_000
    assert (folder / FOLDER / pages[0].traffic).is_file()


def test_a_session_whose_pages_cannot_be_kept_goes_on(recorded):
    (recorded.folder / FOLDER).write_text("in the way")
    _, events = recorded()
    (notice,) = [e for e in events if isinstance(e, Notice)]
    assert "could not be kept" in notice.message
    assert len([e for e in events if isinstance(e, PageShown)]) > 1
