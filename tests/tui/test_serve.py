"""The app in a browser: who is let in, what the page reaches, and two visitors with one memory."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import pyte
import pytest
from PIL import Image

from engine.memory import Memory
from engine.web.browser import chromium
from jitrl_tui import cli
from tests.commands import Popen

ROOT = Path(__file__).parents[2]
TOKEN = "0123456789abcdefghij"


def children(pid):
    """Return the processes that a process has started and that still run."""
    found = []
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(child) for child in file.read_text().split()]
    return found


@contextlib.contextmanager
def served(saves, *command):
    """Run `jitrl serve`; yield the address that it prints, and the process."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "dumb", "JITRL_SERVE_TOKEN": TOKEN}
    process = Popen(
        [sys.executable, "-m", "jitrl_tui.cli", "--saves", str(saves), "serve", "--visitors", "2", *command],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True, env=environment,
    )  # fmt: skip
    try:
        yield process.stdout.readline().strip(), process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(60)
        finally:
            process.kill()
            process.stdout.close()


@pytest.fixture(scope="module")
def saves(tmp_path_factory):
    return tmp_path_factory.mktemp("saves")


@pytest.fixture(scope="module")
def server(saves):
    """The address and the process of a server whose visitors watch a game."""
    pytest.importorskip("textual_serve", reason="the extra `serve` is not installed")
    with served(saves, "watch", "pantry", "--model", "prior/verbs", "--steps", "4", "--episodes", "3") as running:
        yield running


def gone(pids, seconds=60.0):
    """Wait until processes have ended."""
    end = time.monotonic() + seconds
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert time.monotonic() < end, "a visitor has left, and their process has not"
        time.sleep(0.05)


def test_a_browser_shows_the_app_and_reaches_nothing_but_the_server(server):
    if why := chromium.missing():
        pytest.skip(why)
    from playwright.sync_api import sync_playwright

    url, process = server
    reached, frames = [], []
    sandbox = chromium.may_use_sandbox()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium.require_browser(), chromium_sandbox=sandbox
        )
        page = browser.new_page(viewport={"width": 600, "height": 400})
        page.on("request", lambda request: reached.append(request.url))

        def opened(socket):
            reached.append(socket.url)
            socket.on("framereceived", lambda frame: frames.append(frame))

        page.on("websocket", opened)
        page.goto(url)
        page.wait_for_selector("body.-first-byte")
        end = time.monotonic() + 60
        while not any(b"episode 1/3" in frame for frame in frames if isinstance(frame, bytes)):
            assert time.monotonic() < end
            page.wait_for_timeout(20)
        colours = Image.open(io.BytesIO(page.screenshot())).convert("RGB").getcolors(100_000)
        visitor = children(process.pid)
        page.wait_for_function("document.activeElement.className.includes('xterm')")
        page.keyboard.press("q")
        page.keyboard.press("q")
        page.wait_for_selector("text=This has ended")
        browser.close()
    assert len(visitor) == 1
    gone(visitor)
    assert len(colours) > 20, "nothing was drawn"
    assert {urlsplit(address).netloc for address in reached} == {urlsplit(url).netloc}
    assert any("RobotoMono" in address for address in reached)


def test_who_lacks_the_token_is_refused_two_visitors_share_a_memory_and_no_process_is_left(server, saves):
    url, process = server
    asyncio.run(_visit(url, process.pid))
    with Memory(saves / "memory") as memory:
        (scope,) = memory.scopes()
        episodes = list(memory.scope(scope).episodes())
    assert len({episode.uid for episode in episodes}) == len(episodes) >= 2
    assert cli.main(["--saves", str(saves), "memory", "verify"]) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--host", "0.0.0.0"], "--yes"),
        (["--host", "192.0.2.1", "--yes"], "cannot listen at 192.0.2.1"),
        (["--token", "0123456789abcdef"], "--token-file"),
        (["--token-file", "/dev/zero"], "cannot be read"),
        (["--token-file", "/no/such/file"], "cannot be read"),
        (["--port", "99999"], "99999"),
        (["run", "pantry"], "choose one of: watch, play"),
    ],
)
def test_a_wrong_request_is_refused_in_a_sentence(words, said, tmp_path, capsys):
    assert cli.main(["--saves", str(tmp_path), "serve", *words]) == 2
    assert said in capsys.readouterr().err


def test_without_the_extra_the_command_says_how_to_get_it(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "textual_serve.server", None)
    monkeypatch.delitem(sys.modules, "jitrl_tui.served.server", raising=False)
    assert cli.main(["--saves", str(tmp_path), "serve"]) == 3
    assert "jitrl up serve" in capsys.readouterr().err


async def _visit(url, pid):
    from aiohttp import ClientSession, WSServerHandshakeError

    root, token = url.rstrip("/").rsplit("/", 1)
    async with ClientSession() as client:

        async def status(address):
            async with client.get(address) as answer:
                return answer.status

        assert await status(url) == 200
        assert await status(url.rstrip("/")) == 200
        assert token == TOKEN
        assert all(token not in Path(f"/proc/{each}/cmdline").read_text() for each in (pid, *children(pid)))
        wrong = token[:-1] + ("0" if token[-1] != "0" else "1")
        for path in ("", "ws", "static/js/textual.js", f"{wrong}/", f"{wrong}/ws", f"?token={token}", f"x/{token}/"):
            assert await status(f"{root}/{path}") == 403, path
        for path in ("ws", f"{wrong}/ws"):
            with pytest.raises(WSServerHandshakeError) as refused:
                await client.ws_connect(f"{root}/{path}?width=80&height=24")
            assert refused.value.status == 403
        address = f"{url}ws?width=100&height=30"
        async with client.ws_connect(address) as first, client.ws_connect(address) as second:
            visitors = Visitor(first), Visitor(second)
            await asyncio.gather(*(visitor.sees("The Pantry") for visitor in visitors))
            assert len(children(pid)) == 2
            with pytest.raises(WSServerHandshakeError) as full:
                await client.ws_connect(address)
            assert full.value.status == 503
            await asyncio.gather(*(visitor.forward() for visitor in visitors))
            processes = children(pid)
            assert all(TOKEN not in Path(f"/proc/{each}/environ").read_text() for each in processes)
            await first.close()
            async with asyncio.timeout(60):
                while len(children(pid)) == 2:  # one has left
                    await asyncio.sleep(0.05)
            os.kill(pid, signal.SIGKILL)
            await asyncio.to_thread(gone, processes)


class Visitor:
    """A browser's terminal."""

    def __init__(self, socket):
        self.socket = socket
        self.screen = pyte.Screen(100, 30)
        self.stream = pyte.ByteStream(self.screen)

    async def sees(self, text, seconds=60.0):
        """Wait until the terminal shows a text."""
        async with asyncio.timeout(seconds):
            while text not in "\n".join(self.screen.display):
                message = await self.socket.receive()
                shown = "\n".join(self.screen.display)
                assert isinstance(message.data, (bytes, str)), f"closed, and {text!r} was not shown:\n{shown}"
                if isinstance(message.data, bytes):
                    self.stream.feed(message.data)

    async def forward(self):
        """Play to the end of the first episode."""
        await self.socket.send_json(["stdin", "f"])
        await self.sees("to the end of this episode")
        await self.socket.send_json(["stdin", "\r"])
        await self.sees("Episode 1 ended")
