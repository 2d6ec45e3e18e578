"""Detects which picture protocol the terminal supports, by asking it once before the screen starts.

A terminal ignores questions that it does not know, but answers the last one: its kind ("DA1", supported since
1978). So there is no need to wait for missing answers. Only a terminal that answers nothing costs the whole
timeout, once.

Sources: kitty's graphics protocol; DEC's DA1 (4 is sixel); xterm's control sequences for cells, colours and limits.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import select
import struct
import termios
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

DEADLINE = 0.6
"""Timeout for the answers in seconds. A local terminal takes some milliseconds."""
VARIABLE = "JITRL_PICTURES"
_MUTE = ("", "dumb", "linux", "ansi", "cons25", "cygwin", "emacs")
"""Values of TERM of terminals that show no pictures, or print unknown sequences as text."""
_MULTIPLEXERS = ("screen", "tmux")
_USUAL_CELL = (10, 20)

_KITTY = b"\x1b_Gi=4207,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\"
_WIPE = b"\r\x1b[K"
"""Clears the line, in case the terminal printed a part of a question that it did not understand."""
_CELL = b"\x1b[16t"
_KIND = b"\x1b[c"
_LIMITS = b"\x1b[?1;1;0S\x1b[?2;1;0S"  # colours, largest picture

_KITTY_IS = re.compile(rb"\x1b_G[^\x1b]*i=4207[^\x1b]*;OK\x1b\\")
_CELL_IS = re.compile(rb"\x1b\[6;(\d{1,4});(\d{1,4})t")
_KIND_IS = re.compile(rb"\x1b\[\?([\d;]*)c")
_COLOURS_ARE = re.compile(rb"\x1b\[\?1;0;(\d{1,6})S")
_ANSWERS = re.compile(rb"\x1b_G[^\x1b]*\x1b\\|\x1b\[[?\d;]*[cSt]")
_LARGEST_IS = re.compile(rb"\x1b\[\?2;0;(\d{1,6});(\d{1,6})S")


@dataclass(frozen=True, slots=True)
class Graphics:
    """What a terminal can show.

    Attributes:
        protocol: "kitty", "sixel", "iterm", or "blocks" for half-blocks, which every terminal supports.
        cell: Width and height of a cell in pixels, (0, 0) if unknown.
        colours: Number of colour registers for sixel.
        largest: Largest width and height of a sixel picture in pixels, 0 for no limit.
        typed: What a person typed while the terminal was asked.
    """

    protocol: str = "blocks"
    cell: tuple[int, int] = (0, 0)
    colours: int = 256
    largest: tuple[int, int] = (0, 0)
    typed: str = ""


def detect(environment: Mapping[str, str], deadline: float = DEADLINE) -> Graphics:
    """Return what the controlling terminal can show. Never raises; waits at most `deadline` seconds.

    If JITRL_PICTURES names a protocol, the terminal is not asked.
    """
    wanted = environment.get(VARIABLE, "").strip().lower()
    if wanted and wanted not in ("kitty", "sixel", "iterm"):
        return Graphics()
    term = environment.get("TERM", "").lower()
    if not wanted and (term in _MUTE or term.startswith("vt")):
        return Graphics()
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError:
        return Graphics(wanted, _USUAL_CELL) if wanted else Graphics()
    try:
        if wanted:
            return Graphics(wanted, _pixels(terminal) or _USUAL_CELL)
        nested = term.startswith(_MULTIPLEXERS) or "TMUX" in environment or "STY" in environment
        return _asked(terminal, environment, deadline, nested=nested)
    except (OSError, termios.error):
        return Graphics()
    finally:
        os.close(terminal)


def _asked(terminal: int, environment: Mapping[str, str], deadline: float, *, nested: bool) -> Graphics:
    end = time.monotonic() + deadline
    cell = _pixels(terminal)
    # tmux would take kitty's sequence for a window title, and does not pass it to the outer terminal.
    question = (b"" if nested else _KITTY + _WIPE) + (b"" if cell else _CELL) + _KIND
    answer = _answer(terminal, question, end)
    found = _CELL_IS.search(answer)
    if cell is None and found and all(map(int, found.groups())):
        cell = (int(found.group(2)), int(found.group(1)))
    known = Graphics(cell=cell or (0, 0), typed=_ANSWERS.sub(b"", answer).decode("utf-8", "ignore"))
    if _KITTY_IS.search(answer):
        return replace(known, protocol="kitty")
    kind = _KIND_IS.search(answer)
    # Sixel pictures are measured in pixels. Without the size of a cell, one could cover its surroundings.
    if kind and b"4" in kind.group(1).split(b";")[1:] and cell:
        limits = _answer(terminal, _LIMITS + _KIND, end)
        known = replace(known, typed=known.typed + _ANSWERS.sub(b"", limits).decode("utf-8", "ignore"))
        colours, largest = _COLOURS_ARE.search(limits), _LARGEST_IS.search(limits)
        return replace(
            known,
            protocol="sixel",
            colours=min(256, max(2, int(colours.group(1)))) if colours else 256,
            largest=(int(largest.group(1)), int(largest.group(2))) if largest else (0, 0),
        )
    if not nested and (
        environment.get("TERM_PROGRAM") in ("iTerm.app", "WezTerm")
        or environment.get("LC_TERMINAL") == "iTerm2"
    ):
        return replace(known, protocol="iterm")
    return known


def _pixels(terminal: int) -> tuple[int, int] | None:
    """Return the width and height of a cell in pixels as the kernel knows them, None if it does not."""
    with contextlib.suppress(OSError):
        rows, columns, width, height = struct.unpack(
            "HHHH", fcntl.ioctl(terminal, termios.TIOCGWINSZ, b"\0" * 8)
        )
        if rows and columns and width >= columns and height >= rows:
            return width // columns, height // rows
    return None


def _answer(terminal: int, question: bytes, end: float) -> bytes:
    """Ask the terminal and return its answers up to its kind, which is asked last; b"" if there are none."""
    before = termios.tcgetattr(terminal)
    quiet = termios.tcgetattr(terminal)
    quiet[3] &= ~(termios.ICANON | termios.ECHO)
    quiet[6][termios.VMIN], quiet[6][termios.VTIME] = 0, 0
    answer = b""
    termios.tcsetattr(terminal, termios.TCSANOW, quiet)
    try:
        os.write(terminal, question)
        while not _KIND_IS.search(answer) and len(answer) < 4096:
            left = end - time.monotonic()
            if left <= 0 or not select.select([terminal], [], [], left)[0]:
                break
            piece = os.read(terminal, 1024)
            if not piece:
                break
            answer += piece
    finally:
        termios.tcsetattr(terminal, termios.TCSANOW, before)
    return answer
