"""What a hostile page tries: to reach what is no part of the task, to read files, to speak as the user."""

from __future__ import annotations

import dataclasses
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from engine.web.environment import WebEnvironment
from engine.web.records import Assignment
from tests.web.pages import until

PAGE = """<title>Trap</title><h1>Trap</h1>
<a href="/redirect">Redirect</a> <a href="http://OTHER/link">Link</a> <a href="file:///etc/passwd">File</a>
<a href="http://OTHER/new" target="_blank">New tab</a> <a href="/frame">Frame</a> <a href="/refresh">Refresh</a>
<form action="http://OTHER/form" method="post"><input name="a" value="b"><button>Post</button></form>
<form action="/bounce" method="post"><button>Bounce</button></form>
<button onclick="window.open('http://OTHER/window')">window</button>
<button onclick="attempt()">all</button>
<script>new Image().src = 'http://OTHER/image';
function attempt() {
  navigator.sendBeacon('http://OTHER/beacon', 'x');
  new WebSocket('ws://OTHER/socket');
  new EventSource('http://OTHER/events');
  navigator.serviceWorker.register('/worker.js').catch(() => 0);
  for (const [rel, href] of [['prefetch', 'prefetch'], ['preconnect', '']])
    document.head.append(Object.assign(document.createElement('link'), {rel, href: 'http://OTHER/' + href}));
  const fetched = [fetch('http://OTHER/fetch', {method: 'POST', mode: 'no-cors'}),
    fetch('/redirect', {mode: 'no-cors'})];
  Promise.allSettled(fetched).then(() => { document.title = 'all tried'; });
}</script>"""
TRIES = (
    "click(<link[Redirect]>)", "click(<link[Link]>)", "click(<link[File]>)", "click(<link[New tab]>)",
    "click(<link[Refresh]>)", "click(<button[Post]>)", "click(<button[Bounce]>)", "click(<button[window]>)",
    "click(<button[all]>)", "goto('http://OTHER/typed')", "goto('view-source:file:///etc/passwd')",
    "goto('file:///etc/passwd')", "goto('chrome://settings')", "goto('javascript:fetch(1)')",
)  # fmt: skip
LATER = ("New tab", "Refresh", "window", "all")
"""What goes on after the action."""


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        other = self.server.other
        if other is None:  # this is the other one
            self.server.asked.append(self.path)
            self.answer("reached")
        elif self.path in ("/redirect", "/bounce"):
            self.send_response(302 if self.command == "GET" else 307)
            self.send_header("Location", f"http://{other}{self.path}")
            self.end_headers()
        elif self.path == "/frame":
            self.answer(f"<title>F</title><iframe src='http://{other}/iframe'></iframe>"
                        "<iframe src='file:///etc/passwd'></iframe><iframe src='/redirect'></iframe>")  # fmt: skip
        elif self.path == "/refresh":
            self.answer(f"<title>R</title><meta http-equiv=refresh content='0;url=http://{other}/refreshed'>")
        else:
            self.answer(PAGE.replace("OTHER", other))

    do_POST = do_GET

    def answer(self, text):
        data = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


pytestmark = pytest.mark.usefixtures("strict_browser")


@pytest.fixture(scope="module")
def servers():
    """The task's server, and another one that counts what reaches it, on another port of the same host."""
    made = [ThreadingHTTPServer(("127.0.0.1", 0), Handler) for _ in range(2)]
    mine, other = made
    mine.other, other.other, other.asked = f"127.0.0.1:{other.server_address[1]}", None, []
    for server in made:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield mine, other
    for server in made:
        server.shutdown()
        server.server_close()


def test_nothing_but_the_tasks_host_and_port_is_reached_whatever_a_page_tries(browser_path, servers):
    mine, other = servers
    url = f"http://127.0.0.1:{mine.server_address[1]}"
    env = WebEnvironment(
        Assignment("t", "test", "x", (f"{url}/",), {"shop": url}), browser_path, scope="web/t"
    )
    try:
        first = env.reset(1)
        assert env.driver.gate.blocked >= 1  # the image
        for action in (each.replace("OTHER", mine.other) for each in TRIES):
            if env.page.url != f"{url}/":
                first = env.step(f"goto('{url}/')")
            assert first.place == "shop"
            seen = env.step(action)
            shown = seen.description
            if action.startswith("goto"):
                assert (seen.place, "outside of the task's sites" in seen.text) == ("shop", True), action
            elif any(f"[{name}]" in action for name in LATER):
                shown += env.step("noop()").description
            assert "root:" not in shown, action
            assert "reached" not in shown, action
            assert "[all]" not in action or until(lambda: env.driver.evaluate("() => document.title") == "all tried")
        # Frames of elsewhere never load, and reading the page waits for them.
        if env.page.url != f"{url}/":
            env.step(f"goto('{url}/')")
        env.driver.limits = dataclasses.replace(env.driver.limits, settle=1.0, snapshot=1.0)
        seen = env.step("click(<link[Frame]>)")
        assert "root:" not in seen.description
        assert "reached" not in seen.description
        assert other.asked == []
        # The other server does answer those who may ask.
        open_to = WebEnvironment(
            Assignment("t", "test", "x", (f"{url}/",), {"shop": url}, hosts=(mine.other,)),
            browser_path,
            scope="web/t",
        )
        open_to.reset(1)
        assert "reached" in open_to.step("click(<link[Redirect]>)").description
        open_to.close()
        assert "/redirect" in other.asked
    finally:
        env.close()

