"""Pages that want to hang, flood or fill whoever reads them, served on loopback."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from engine.web.browser.limits import BrowserLimits
from engine.web.environment import WebEnvironment
from engine.web.records import Assignment

_TEXT = "<p>Words of a page</p><a href=/>Home</a><button onclick=\"document.body.append('pressed')\">Press</button>"
ALERTS = f"<title>A</title>{_TEXT}<script>for (;;) alert('again')</script>"
PAGES = {
    "plain": f"<title>Plain</title>{_TEXT}",
    "title": f"<title>t</title>{_TEXT}<script>document.title = 'T'.repeat(20e6)</script>",
    "address": f"<title>a</title>{_TEXT}<script>history.pushState(0, '', '?q=' + 'u'.repeat(1.9e6))</script>",
    "target": f"<title>l</title>{_TEXT}<a id=a>Long</a><script>a.href = '/?' + 'h'.repeat(1.9e6)</script>",
    "text": f"<title>x</title>{_TEXT}<p id=p></p><script>p.textContent = 'word '.repeat(4e6)</script>",
    "name": f"<title>n</title>{_TEXT}<button id=b></button><script>b.ariaLabel = 'n'.repeat(20e6)</script>",
    "nodes": f"<title>d</title>{_TEXT}<script>for (let i = 0; i < 1e5; i++) document.body.append("
             "Object.assign(document.createElement('button'), {textContent: 'b' + i}))</script>",
    "frames": "<title>f</title><script>for (let i = 0; i < 300; i++) document.body.append("
              f"document.createElement('iframe'))</script><body>{_TEXT}",
    "requests": f"<title>r</title>{_TEXT}<script>setInterval(() => {{ for (let i = 0; i < 50; i++) "
                "fetch('/plain?' + Math.random()).catch(() => 0) }, 20)</script>",
    "sent": f"<title>s</title>{_TEXT}<script>const u = 'u'.repeat(1.5e6); for (let i = 0; i < 40; i++) "
            "fetch('/plain?' + i + u, {method: 'POST', body: u}).catch(() => 0)</script>",
    "buffers": f"<title>b</title>{_TEXT}<script>const a = []; setInterval(() => {{ for (let i = 0; i < 10; i++) "
               "{ const b = new Uint8Array(50 << 20); b.fill(1); a.push(b) } }, 10)</script>",
    "heap": f"<title>h</title>{_TEXT}<script>const a = []; setInterval(() => {{ for (let i = 0; i < 1e6; i++) "
            "a.push({x: i, y: [i]}) }, 5)</script>",
    "arrays": f"<title>h</title>{_TEXT}<script>const a = []; setInterval(() => {{ for (let i = 0; i < 9; i++) "
              "a.push(new Array(4e6).fill(i)) }, 5)</script>",
    "alerts": ALERTS,
    "later-alerts": f"<title>A</title>{_TEXT}<script>setInterval(() => alert('again'), 1)</script>",
    "loop": f"<title>L</title>{_TEXT}<script>for (;;);</script>",
    "hung": f"<title>H</title>{_TEXT}<script>const r = new XMLHttpRequest(); r.open('GET', '/drips', false); "
            "r.send()</script>",
    "later-loop": f"<title>L</title>{_TEXT}<script>setTimeout(() => {{ for (;;); }}, 300)</script>",
    "popups": f"<title>P</title>{_TEXT}<script>setInterval(() => window.open('/plain'), 5)</script>",
    "own-popups": f"<title>P</title>{_TEXT}<script>for (let i = 0; i < 9; i++) open('/own-popups?' + i)</script>",
    "downloads": f"<title>D</title>{_TEXT}<script>setInterval(() => {{ const a = document.createElement('a'); "
                 "a.href = '/file'; a.download = 'f'; a.click() }, 5)</script>",
    "redirects": "<title>R</title><script>location = '/redirects?' + Math.random()</script>" + _TEXT,
    "refreshes": "<title>R</title><meta http-equiv=refresh content=0>" + _TEXT,
    "leaving": f"<title>B</title>{_TEXT}<script>onbeforeunload = e => {{ e.preventDefault(); return 'no' }}</script>",
    "logs": f"<title>C</title>{_TEXT}<script>setInterval(() => {{ for (let i = 0; i < 500; i++) "
            "console.log('l'.repeat(1e4)) }, 5)</script>",
}  # fmt: skip
ERRORS = ("empty-500", "empty-404", "no-content", "closed", "endless", "drips", "bomb")
"""Paths that answer without a page."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # the body does not wait until the head has been taken

    def do_GET(self) -> None:
        name = self.path.strip("/").partition("?")[0] or "plain"
        if name in PAGES:
            self._answer(200, PAGES[name].encode())
        elif name == "endless":
            self._answer(302, b"", Location=f"/endless?{id(self)}")
        elif name == "drips":
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            with contextlib.suppress(OSError):
                while not self.server.over.wait(0.2):
                    self.wfile.write(b"<p>drop</p>")
                    self.wfile.flush()
            self.close_connection = True
        elif name == "bomb":
            self._answer(200, b"<title>bomb</title>" + b"<div>" * 200_000)
        elif name == "closed":
            self.close_connection = True
        elif name == "file":
            self._answer(200, b"x", Content_Type="application/octet-stream")
        else:
            self._answer({"empty-500": 500, "no-content": 204}.get(name, 404), b"")

    do_POST = do_GET

    def _answer(self, code: int, data: bytes, **headers: str) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        if length:
            self.rfile.read(length)
        self.send_response(code)
        for name, value in {"Content_Type": "text/html", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def serving() -> Iterator[str]:
    """Serve the pages; yield the base URL."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.over = threading.Event()
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.over.set()
        server.shutdown()
        server.server_close()


def opened(browser: str, base: str, page: str, limits: BrowserLimits | None = None) -> WebEnvironment:
    """Return an environment that begins on one of the pages."""
    job = Assignment(f"t-{page}", "test", "Press the button", (f"{base}/{page}",), {"shop": base})
    return WebEnvironment(job, browser, scope="web/t", limits=limits)
