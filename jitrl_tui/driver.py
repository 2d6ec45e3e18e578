"""Textual's drivers, changed to survive a terminal or a browser that closes and input that is not UTF-8.

And the filter that takes out of all lines what a terminal would obey.
"""

from __future__ import annotations

import contextlib
import os
import sys
from codecs import getincrementaldecoder
from functools import lru_cache
from typing import IO, Any

from rich.cells import cell_len
from rich.segment import Segment
from textual._xterm_parser import XTermParser
from textual.color import Color
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.drivers.web_driver import WebDriver
from textual.events import Key, Paste
from textual.filter import LineFilter
from textual.message import Message

from engine.wait import readable
from jitrl_tui.host import Host
from jitrl_tui.system.output import unsafe


class SafeLines(LineFilter):
    """Takes unsafe characters and links out of lines; what stays keeps its place.

    Textual applies it to all that widgets draw, whoever wrote the widget, with titles and borders.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return safe segments of the same width."""
        for text, style, _ in segments:
            if not text.isprintable() or (style is not None and style.link):
                return [_safe(segment) for segment in segments]
        return segments


def _safe(segment: Segment) -> Segment:
    text, style, _ = segment
    found = unsafe(text)
    if found:
        text = text.translate({ord(c): _blank(c) for c in found})
    return Segment(text, style.update_link(None) if style is not None and style.link else style)


@lru_cache(1024)
def _blank(character: str) -> str:
    """Return blanks as wide as a character, none where it takes no cell."""
    return " " * cell_len(character)


_LEAVING = ("ctrl+c", "ctrl+q")
_MOMENT_S = 0.1
"""Seconds between two looks whether the app ends, and whether Esc was a key of its own."""


class SturdyFile:
    """A file that ignores writes after the terminal has closed.

    Otherwise a failed write ends Textual's writer thread, and the app waits for it forever.
    """

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._gone = False

    def write(self, text: str) -> int:
        """Write, unless the terminal has closed."""
        if not self._gone:
            try:
                return self._file.write(text)
            except (OSError, ValueError):
                self._gone = True
        return len(text)

    def flush(self) -> None:
        """Flush, unless the terminal has closed."""
        if not self._gone:
            try:
                self._file.flush()
            except (OSError, ValueError):
                self._gone = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def _is_typed(message: Message) -> bool:
    """Whether a message is text or a key for a screen, rather than one that leaves the app."""
    return isinstance(message, Paste) or (isinstance(message, Key) and message.key not in _LEAVING)


class SturdyDriver(LinuxDriver):
    """Ends the app properly when the terminal closes."""

    _app: Host

    def __init__(self, app: Host, **options: Any) -> None:
        super().__init__(app, **options)
        # Textual draws on stderr. With `2>file`, it would draw into the file.
        shown = sys.__stderr__ if sys.__stderr__ is not None and sys.__stderr__.isatty() else sys.__stdout__
        assert shown is not None  # without a terminal there are plain lines, and no driver
        self._file = SturdyFile(shown)  # type: ignore[assignment]  # Textual needs write and flush only

    def run_input_thread(self) -> None:
        """Pass keys to the app until it ends. If the terminal closes, end the app.

        What is typed before the first screen takes keys waits for it. In what was typed before the terminal gave keys
        one by one, Enter is a line feed.
        """
        parser = XTermParser(self._debug)
        decoder = getincrementaldecoder("utf-8")("ignore")  # what is not UTF-8 is no key
        text = self._app.graphics.typed.replace("\n", "\r")
        is_first = True
        waiting: list[Message] = []
        while not self.exit_event.is_set():
            typed = self._typed()
            if typed is None:
                self._loop.call_soon_threadsafe(self._app.hang_up)
                return
            if typed and is_first:
                is_first, typed = False, typed.replace(b"\n", b"\r")
            text += decoder.decode(typed)
            waiting += [*(parser.feed(text) if text else ()), *parser.tick()]
            text = ""
            takes_keys = self._app.takes_keys  # asked once, so that keys keep their order
            for message in waiting:
                if takes_keys or not _is_typed(message):
                    self.process_message(message)
            waiting = [] if takes_keys else [one for one in waiting if _is_typed(one)]

    def _typed(self) -> bytes | None:
        """Return what was typed, b"" if nothing was for a moment, and None if the terminal has closed."""
        try:
            if not readable(self.fileno, _MOMENT_S):
                return b""
            return os.read(self.fileno, 4096) or None
        except OSError:
            return None


class SturdyWeb(WebDriver):
    """Ends the app properly when its page or its server closes (`jitrl serve`)."""

    _app: Host

    def __init__(self, app: Host, **options: Any) -> None:
        super().__init__(app, **options)
        write = self._write

        def write_if_there(data: bytes) -> int:
            with contextlib.suppress(OSError):
                return write(data)
            return 0

        self._write = write_if_there  # type: ignore[assignment]

    def run_input_thread(self) -> None:
        """Pass keys to the app until it ends. If the server ends, end the app."""
        super().run_input_thread()
        if not self.exit_event.is_set():
            self._loop.call_soon_threadsafe(self._app.hang_up)

    def on_meta(self, packet_type: str, payload: dict[str, object]) -> None:
        """End the session in good order when the page is closed; the rest is Textual's."""
        if packet_type == "quit":
            self._loop.call_soon_threadsafe(self._app.hang_up)
        else:
            super().on_meta(packet_type, payload)


def sturdy(driver: type[Driver]) -> type[Driver]:
    """Return our driver in place of Textual's for Linux or for browsers, and any other driver unchanged."""
    return {LinuxDriver: SturdyDriver, WebDriver: SturdyWeb}.get(driver, driver)
