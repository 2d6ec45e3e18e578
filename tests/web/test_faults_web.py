"""What goes wrong around a session on the web: it ends or goes on with a clear record, and nothing stored is lost."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import subprocess
import sys
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from engine.environments import profile
from engine.memory import Memory
from engine.records import EpisodeEnded, EpisodeStarted, Stepped
from engine.session import recording
from engine.session import store as sessions
from engine.session.loop import Session
from engine.settings import SessionConfig
from engine.web.browser.limits import BrowserLimits, _family
from engine.web.environment import WebEnvironment
from engine.web.records import Assignment, SignIn
from engine.web.tasks.miniwob import require_pages
from tests.web.pages import until

PASSWORD = "correct-horse-battery"
MARK = "JITRL_TEST_MARK"


class Site:
    """Pages that can be slow or go away. Where they are `closed` they are behind a login, which can expire."""

    def __init__(self):
        outer = self
        self.closed, self.cookie, self.logins, self.hold, self.nodes = False, "", 0, None, 0
        self.script = None

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                if outer.hold is not None:
                    outer.hold.wait(60)
                if self.path == "/slow.js":
                    outer.script.wait(60)
                known = not outer.closed or self.headers.get("Cookie") == f"s={outer.cookie}"
                if self.path != "/login" and not known:
                    self.answer(302, "", Location="/login")
                elif self.path == "/login":
                    self.answer(200, FORM)
                else:
                    lines = "".join(f"<p>Line {i} <a href=/p{i}>more {i}</a></p>" for i in range(outer.nodes))
                    self.answer(
                        200,
                        f"<title>Inside</title><a href=/a>Alpha</a> <a href=/b>Beta</a>{lines}"
                        f"{'<script src=/slow.js></script><p>Behind' if outer.script else ''}",
                    )

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                if f"p={PASSWORD}" not in body:
                    self.answer(302, "", Location="/login")
                    return
                outer.logins += 1
                outer.cookie = uuid.uuid4().hex
                self.answer(302, "", Location="/", Set_Cookie=f"s={outer.cookie}; Path=/")

            def answer(self, code, text, **headers):
                data = text.encode()
                self.send_response(code)
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                with contextlib.suppress(OSError):
                    self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def go(self):
        if self.hold is not None:
            self.hold.set()
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def site():
    made = Site()
    yield made
    with contextlib.suppress(OSError):
        made.go()


FORM = (
    "<title>Sign in</title><form method=post action=/login><label>Name <input name=n></label>"
    "<label>Password <input type=password name=p></label><button>In</button></form>"
)


class Links(WebEnvironment):
    """Offers the two links where they are: nothing ends these episodes but what is tried here."""

    def valid_actions(self):
        every = [action for action in super().valid_actions() if "send_msg" not in action]
        links = [action for action in every if "Alpha" in action or "Beta" in action]
        return tuple(links or every)


class OnSite(Session):
    """A session on that site instead of a listed task's; all else is as ever."""

    where: Site
    executable = ""
    limits = BrowserLimits(load=3.0, settle=1.0)

    def _environment(self):
        form = SignIn(f"{self.where.url}/login", {"Name": "ana", "Password": PASSWORD}, "In")
        job = Assignment("t-1", "test", "Find 'Ana'", (f"{self.where.url}/",), {"shop": self.where.url},
                         sign_in=(form,) if self.where.closed else ())  # fmt: skip
        self.where.environment = Links(job, self.executable, scope="web/shop", limits=self.limits)
        return self.where.environment


@pytest.fixture
def play(tmp_path, browser_path, site):
    def run(on_event=lambda event: None, episodes=3, limits=OnSite.limits):
        events = []
        settings = profile("default", "web", step_limit=2)
        config = SessionConfig("web:t-1", "jitrl", "prior/uniform", episodes, 1, "web", settings)
        saved = sessions.create(tmp_path, config, "run")

        def emit(event):
            events.append(event)
            on_event(event)

        session = OnSite(saved, tmp_path, emit)
        session.where, session.executable, session.limits = site, browser_path, limits
        session.run()
        assert session.error is None
        with Memory(tmp_path / "memory") as memory:
            stored = list(memory.scope("web/shop").episodes())
        ended = [e for e in events if isinstance(e, EpisodeEnded)]
        # All that was played is remembered, and the recording can be read to its end.
        assert [len(e.steps) for e in stored] == [e.steps for e in ended if e.steps]
        assert (
            sum(isinstance(e, EpisodeEnded) for _, e in recording.read(saved.recording))
            == len(ended)
            == episodes
        )
        return events, ended

    return run


def once(kind, episode, action):
    """Return a listener that does something at the first event of a kind in an episode."""
    done = []

    def listen(event):
        if isinstance(event, kind) and event.episode == episode and not done:
            done.append(True)
            action()

    return listen


@pytest.mark.usefixtures("shared_browser")
def test_a_site_that_goes_down_is_told_and_what_was_learnt_before_stays(play, site):
    events, ended = play(once(Stepped, 1, site.go), episodes=2)
    said = [e.observation.text for e in events if isinstance(e, Stepped) and e.episode == 1]
    assert not any("Error" in text and "answer" in text for text in said[:1])
    told = [
        *said[1:],
        *(e.observation.text for e in events if isinstance(e, EpisodeStarted) and e.episode == 2),
    ]
    assert any("did not load" in text or "cannot be reached" in text for text in told), told
    assert len(ended) == 2


@pytest.mark.usefixtures("shared_browser")
def test_a_site_that_does_not_answer_in_time_is_told_and_the_episode_goes_on(play, site):
    def listen(event):
        if isinstance(event, Stepped):
            if event.step == 0:
                site.hold = threading.Event()
                driver = site.environment.driver
                driver.limits = dataclasses.replace(driver.limits, load=0.5, settle=0.2, snapshot=0.5)
            elif "still loading" in event.observation.text:
                site.hold.set()

    events, ended = play(listen, episodes=1, limits=dataclasses.replace(OnSite.limits, action=2.0))
    assert len(ended) == 1
    assert any("still loading" in e.observation.text for e in events if isinstance(e, Stepped))


@pytest.mark.usefixtures("shared_browser")
def test_a_login_that_expires_shows_the_form_and_the_next_episode_is_signed_in_again(play, site, tmp_path):
    site.closed = True

    def expire():
        site.cookie = "gone"

    events, _ = play(once(Stepped, 1, expire), episodes=2)
    assert site.logins == 2
    places = [e.observation.place for e in events if isinstance(e, Stepped) and e.episode == 1]
    assert "shop/login" in places
    second = [e for e in events if isinstance(e, EpisodeStarted)][1]
    assert "Inside" in second.observation.description
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert PASSWORD.encode() not in kept


@pytest.mark.usefixtures("shared_browser")
def test_a_killed_browser_ends_the_episode_and_the_session_goes_on_with_another(play, site):
    marks = []

    def kill():
        marks.append(site.environment.driver._process._mark)
        for pid in _family(marks[0]):
            with contextlib.suppress(OSError):
                if b"--type" not in Path(f"/proc/{pid}/cmdline").read_bytes():
                    os.kill(pid, signal.SIGKILL)

    events, ended = play(once(Stepped, 1, kill), episodes=2)
    assert until(lambda: not _family(marks[0]))
    last = [e for e in events if isinstance(e, Stepped) and e.episode == 1][-1]
    assert (last.observation.terminated, last.observation.truncated, last.observation.failed) == (False, True, True)
    assert "browser is gone" in last.observation.text
    assert last.observation.outcome == ""  # nobody found that the task was not done
    assert ended[1].steps >= 1
    assert "Inside" in [e for e in events if isinstance(e, EpisodeStarted)][1].observation.description


@pytest.mark.usefixtures("shared_browser")
@pytest.mark.soak
def test_a_page_of_five_thousand_nodes_is_played_on(play, site):
    site.nodes = 1700
    events, ended = play(episodes=1)
    assert len(ended) == 1
    assert any(
        "more elements are not shown" in e.observation.description for e in events if isinstance(e, Stepped)
    )


@pytest.mark.usefixtures("shared_browser")
@pytest.mark.soak
def test_a_site_that_takes_ten_seconds_is_waited_for(play, site):
    def slow():
        site.hold = threading.Event()
        threading.Timer(10.0, site.hold.set).start()

    events, _ = play(once(Stepped, 1, slow), episodes=1, limits=BrowserLimits())
    assert not any("still loading" in e.observation.text for e in events if isinstance(e, Stepped))


@pytest.mark.usefixtures("shared_browser")
@pytest.mark.soak
def test_a_page_with_a_script_that_takes_five_seconds_is_read_whole(play, site):
    def slow():
        site.script = threading.Event()
        threading.Timer(5.0, site.script.set).start()

    events, _ = play(once(Stepped, 1, slow), episodes=1, limits=BrowserLimits())
    seen = [e.observation for e in events if isinstance(e, Stepped)]
    assert any("Behind" in each.description for each in seen)
    assert not any("cannot be read" in each.text for each in seen)


def test_a_session_that_is_killed_leaves_no_browser_behind_and_goes_on_later(tmp_path, browser_path):
    try:
        require_pages()
    except Exception as error:
        pytest.skip(str(error))
    mark = uuid.uuid4().hex
    command = [sys.executable, "-m", "jitrl_tui.cli", "--saves", str(tmp_path), "run", "web:miniwob-enter-text",
               "--model", "prior/uniform", "--episodes", "50"]  # fmt: skip
    process = subprocess.Popen(command, env={**os.environ, MARK: mark}, stderr=subprocess.PIPE, text=True)
    lines = [process.stderr.readline() for _ in range(3)]
    assert lines[-1].startswith("episode 3/50"), lines
    assert with_mark(mark)
    process.kill()
    process.wait(60)
    assert until(lambda: not with_mark(mark))
    (saved,) = sessions.saved_sessions(tmp_path)
    with Memory(tmp_path / "memory") as memory:
        played = memory.scope("web/miniwob").episode_count
    assert played >= 3
    go_on = [*command[:5], "run", "web:miniwob-enter-text", "--resume", saved.name]
    process = subprocess.Popen(go_on, stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if line.startswith(f"episode {played + 1}/"):
            break
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"--resume {saved.name}" in rest
    with Memory(tmp_path / "memory") as memory:
        assert memory.scope("web/miniwob").episode_count >= played + 1


def with_mark(mark):
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if f"{MARK}={mark}".encode() in (entry / "environ").read_bytes():
                    found.append((entry.name, (entry / "cmdline").read_bytes()[:80]))
    return found
