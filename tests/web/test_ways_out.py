"""Ways out of a page that are no HTTP requests, and frames that are sent elsewhere."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from engine.web.browser.limits import BrowserLimits
from engine.web.browsergym import adapter as browsergym
from engine.web.environment import WebEnvironment
from engine.web.environment_factory import open_web
from engine.web.records import Assignment
from tests.web.pages import until

CALL = """<title>Call</title><h1>Call</h1><p id="said">calling</p><script>
async function call(view, name) {
  const peer = new view.RTCPeerConnection({iceServers: [
    {urls: 'stun:127.0.0.1:@UDP'}, {urls: ['turn:127.0.0.1:@UDP?transport=udp', 'turn:127.0.0.1:@TCP?transport=tcp',
     'turns:127.0.0.1:@TCP?transport=tcp'], username: 'leak', credential: 'cookie'}]});
  peer.createDataChannel('x');
  await peer.setLocalDescription(await peer.createOffer());
}
const frame = document.createElement('iframe');
document.body.append(frame);
Promise.allSettled([(async () => call(window))(), (async () => call(frame.contentWindow))(),
  (async () => { const t = new WebTransport('https://127.0.0.1:@UDP/x'); await t.ready; })()
]).then(all => { said.textContent = 'called: ' + all.map(each => each.status + ' ' + each.reason).join('; '); });
</script>"""
FRAMES = """<title>Frames</title><h1>Frames</h1><button onclick="this.textContent='pressed'">press</button>
<iframe src="/redirect"></iframe><iframe src="/inner"></iframe>"""
INNER = "<title>Inner</title><p>inner text</p>"
POPUP = """<title>Popup</title><h1>Opener</h1><a href="/redirect" target="_blank">Redirected tab</a>
<a href="/redirect">Leave</a>"""


SILENT = """<title>Silent</title><h1>Silent</h1><button onclick="this.textContent='pressed'">press</button>
<iframe src="/redirect-on"></iframe><iframe src="/silent"></iframe><iframe src="/inner"></iframe>"""


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/silent":
            self.server.hold.wait(300)
            return
        if self.path.startswith("/redirect"):
            self.send_response(302)
            self.send_header("Location", "/silent" if self.path == "/redirect-on" else self.server.away)
            self.end_headers()
            return
        data = self.server.pages[self.path].encode() if self.path in self.server.pages else b""
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


class Listener:
    """A port that is no part of the task: counts what reaches it, by UDP or by TCP."""

    def __init__(self, kind):
        self.socket = socket.socket(socket.AF_INET, kind)
        self.socket.bind(("127.0.0.1", 0))
        if kind is socket.SOCK_STREAM:
            self.socket.listen()
        self.socket.settimeout(0.1)
        self.port = self.socket.getsockname()[1]
        self.got = 0
        self._stop = threading.Event()
        self._kind = kind
        self._thread = threading.Thread(target=self._count, daemon=True)
        self._thread.start()

    def _count(self):
        while not self._stop.is_set():
            with contextlib.suppress(TimeoutError):
                if self._kind is socket.SOCK_STREAM:
                    self.socket.accept()[0].close()
                else:
                    self.socket.recvfrom(2000)
                self.got += 1

    def close(self):
        self._stop.set()
        self._thread.join()
        self.socket.close()


@pytest.fixture(scope="module")
def site():
    listeners = Listener(socket.SOCK_DGRAM), Listener(socket.SOCK_STREAM)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    call = CALL.replace("@UDP", str(listeners[0].port)).replace("@TCP", str(listeners[1].port))
    server.pages = {"/call": call, "/frames": FRAMES, "/inner": INNER, "/popup": POPUP, "/silent-frames": SILENT}
    server.hold = threading.Event()
    server.away = f"http://127.0.0.1:{listeners[1].port}/away"
    server.udp, server.tcp = listeners
    server.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield server
    server.hold.set()
    server.shutdown()
    server.server_close()
    for each in listeners:
        each.close()


@contextlib.contextmanager
def opened(browser_path, site, page):
    env = WebEnvironment(
        Assignment("t", "test", "x", (f"{site.url}{page}",), {"shop": site.url}), browser_path, scope="web/t"
    )
    try:
        yield env, env.reset(1)
    finally:
        env.close()


@pytest.mark.parametrize("without", ["NO_WEBRTC", "WITHOUT_WEBRTC"])
def test_webrtc_and_webtransport_send_nothing(browser_path, site, without, monkeypatch, request):
    # The arguments and the script each do it without the other.
    if without == "NO_WEBRTC":
        monkeypatch.setattr("engine.web.browser.process.NO_WEBRTC", ())
    else:
        monkeypatch.setattr("engine.web.browser.driver.WITHOUT_WEBRTC", "")
        request.getfixturevalue("strict_browser")
    with opened(browser_path, site, "/call") as (env, seen):
        for _ in range(20):
            if "called" in seen.description:
                break
            seen = env.step("noop()")
        assert "called" in seen.description
        assert ("not a constructor" in seen.description) == (without != "WITHOUT_WEBRTC")
        until(lambda: site.udp.got + site.tcp.got, 2.0)
    assert (site.udp.got, site.tcp.got) == (0, 0)


def test_browsergyms_browser_sends_nothing_by_webrtc_either(browser_path, site, tmp_path):
    if browsergym.find_python(Path("saves"), os.environ) is None:
        pytest.skip("BrowserGym is not here (JITRL_BROWSERGYM names a Python that has it)")
    env = open_web(f"web:browsergym-openended {site.url}/call Call", tmp_path, os.environ)
    try:
        seen = env.reset(1)
        for _ in range(10):
            if "called" in seen.description:
                break
            seen = env.step("noop()")
        assert "called: fulfilled" in seen.description
        until(lambda: site.udp.got + site.tcp.got, 2.0)
    finally:
        env.close()
    assert (site.udp.got, site.tcp.got) == (0, 0)


@pytest.mark.usefixtures("strict_browser")
def test_a_frame_that_is_redirected_elsewhere_is_blocked_and_the_page_stays(browser_path, site):
    with opened(browser_path, site, "/frames") as (env, seen):
        for _ in range(2):
            assert "heading[Frames]" in seen.description
            assert "inner text" in seen.description
            seen = env.step("noop()")
        seen = env.step("click(<button[press]>)")
        assert "button[pressed]" in seen.description
    assert site.tcp.got == 0


@pytest.mark.usefixtures("strict_browser")
def test_a_frame_that_waits_for_a_server_is_left_out_and_costs_its_limit_once(browser_path, site):
    with opened(browser_path, site, "/silent-frames") as (env, seen):
        assert "2 frame(s) did not answer and were emptied" in seen.text
        began = time.monotonic()
        seen = env.step("click(<button[press]>)")
        assert time.monotonic() - began < BrowserLimits().snapshot
        assert "emptied" not in seen.text
        assert "button[pressed]" in seen.description
        assert "inner text" in seen.description


@pytest.mark.usefixtures("strict_browser")
def test_a_tab_that_is_redirected_elsewhere_is_blocked_and_one_that_was_there_left(browser_path, site):
    with opened(browser_path, site, "/popup") as (env, _):
        seen = env.step("click(<link[Redirected tab]>)")
        for _ in range(20):  # The browser tells of a tab that could not load some time after the click.
            if "heading[Opener]" not in seen.description:
                break
            seen = env.step("noop()")
        assert "heading[Opener]" not in seen.description
        seen = env.step("tab_focus(0)")
        assert "heading[Opener]" in seen.description
        seen = env.step("click(<link[Leave]>)")
        assert "URL: about:blank" in seen.description
        assert "refused" in seen.text
    assert site.tcp.got == 0
