"""Real pictures in a real terminal: laid over the pane, taken away for a window, put back, gone with the tab."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import termios
import time

import pytest

from engine.session.recording import Recorder
from engine.web.browser.pages import PageStore
from tests import commands
from tests.journeys.terminal import OUTER
from tests.tui.test_pictures import jpeg, page_picture, read_sixel
from tests.tui.test_web_watch import web_events

ANSWERS = {
    "kitty": b"\x1b_Gi=4207;OK\x1b\\\x1b[?62;c",
    "sixel": b"\x1b[?62;4;22c",
}
PICTURE = {
    "kitty": re.compile(rb"\x1b7\x1b\[(\d+);(\d+)H(\x1b_Ga=T,.*?m=0;[^\x1b]*\x1b\\)\x1b8", re.DOTALL),
    "sixel": re.compile(rb"\x1b7\x1b\[(\d+);(\d+)H(\x1bP0;1q[^\x1b]*\x1b\\)\x1b8", re.DOTALL),
}
GONE = b"\x1b_Ga=d,d=I,i=4207,q=2\x1b\\"


class Raw:
    """`jitrl ARGS` in a terminal whose cells are 10 by 20 pixels, and which answers as it is told."""

    def __init__(self, protocol, *args, columns=140, rows=45):
        self.seen, self.at, self._answer, self._answered = b"", 0, ANSWERS[protocol], 0
        env = {k: v for k, v in os.environ.items() if not k.startswith(OUTER)}
        env |= {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
        self._fd, theirs = pty.openpty()
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, columns * 10, rows * 20))
        self._process = commands.Popen(
            [commands.JITRL, *args], stdin=theirs, stdout=theirs, stderr=theirs, env=env, start_new_session=True
        )
        os.close(theirs)

    def send(self, keys):
        self.at = len(self.seen)  # What is waited for comes after this.
        os.write(self._fd, keys.encode())

    def wait_for(self, found, seconds=120):
        end = time.monotonic() + seconds
        while not (result := found(self.seen[self.at :])):
            assert time.monotonic() < end, f"waited in vain; the last bytes: {self.seen[-300:]!r}"
            if select.select([self._fd], [], [], 0.2)[0]:
                self.seen += os.read(self._fd, 262144)
                while self.seen.count(b"\x1b[c") > self._answered:
                    self._answered += 1
                    os.write(self._fd, self._answer)
        return result

    def close(self):
        self._process.kill()
        self._process.wait(60)
        os.close(self._fd)


@pytest.fixture
def recorded(tmp_path):
    recorder = Recorder(tmp_path / "events.jsonl")
    for at, event in enumerate(web_events(PageStore(tmp_path), jpeg(page_picture()))):
        recorder.write(event, float(at))
    recorder.close()
    return tmp_path / "events.jsonl"


@pytest.mark.parametrize("protocol", ["kitty", "sixel"])
def test_the_real_picture_comes_goes_and_comes_back(recorded, protocol):
    terminal = Raw(protocol, "replay", str(recorded), "--speed", "0")
    try:
        terminal.wait_for(lambda seen: b"Session over" in seen or b"at the end" in seen)
        assert not PICTURE[protocol].search(terminal.seen)
        terminal.send("8")
        found = terminal.wait_for(PICTURE[protocol].search)
        assert 2 <= int(found.group(1)) <= 6
        assert 2 <= int(found.group(2)) <= 4
        if protocol == "sixel":
            pixels = read_sixel(found.group(3).decode())
            assert abs(int(pixels[5, 100, 0]) - 200) < 12  # the red bar on top of the page
            assert abs(int(pixels[-9, -9, 2]) - 180) < 12  # the blue box at its lower right
            assert pixels.shape[1] % 10 == pixels.shape[0] % 20 == 0
        else:
            assert re.search(rb"c=(\d+),r=(\d+),C=1,q=2", found.group(3))
        terminal.send("\x1b[D")
        terminal.wait_for(lambda seen: b"Page 3  http" in seen)  # what stands below it goes along
        terminal.send("?")
        terminal.wait_for(
            lambda seen: b"what the screen shows" in seen and (protocol == "sixel" or GONE in seen)
        )
        terminal.send("\x1b")
        terminal.wait_for(PICTURE[protocol].search)
        terminal.send("6")
        terminal.wait_for(lambda seen: b"Quayside" in seen and (protocol == "sixel" or GONE in seen))
        last = [found.end() for found in PICTURE[protocol].finditer(terminal.seen)][-1]
        assert last < terminal.seen.rfind(b"Quayside")  # what the drawing of the page begins with
        terminal.send("q")
        terminal.wait_for(lambda seen: b"\x1b[?1049l" in seen)
    finally:
        terminal.close()
