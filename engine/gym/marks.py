"""Converts text with terminal colours to plain text with the same information."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from engine.texts import encodable

_ESCAPE = re.compile(r"\x1b\[([0-9;:]*)m|\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b.?", re.S)
_COLOURS = ("", "red", "green", "yellow", "blue", "magenta", "cyan", "")
"""Names of the colours. Black and white have none, because they are the usual colours of text."""


def plain(text: str) -> str:
    """Return a text without control characters, with marks in place of colours.

    Text with a background colour is put in brackets, and other coloured text has the name of its colour: a
    red S is `<red S>`, and an S on a red background is `[S]`. Some environments show the agent's position
    only by a colour.
    """
    lines = "".join(_marked(encodable(text).replace("\r\n", "\n").replace("\r", "\n").expandtabs(8))).split("\n")
    return "\n".join(line.rstrip() for line in lines).rstrip("\n")


def _marked(text: str) -> Iterator[str]:
    at, colour, lit = 0, "", False
    for escape in _ESCAPE.finditer(text):
        yield _mark(text[at : escape.start()], colour, lit)
        at = escape.end()
        if escape.group(1) is not None:
            colour, lit = _drawn(escape.group(1), colour, lit)
    yield _mark(text[at:], colour, lit)


def _mark(text: str, colour: str, lit: bool) -> str:
    kept = "".join(c for c in text if c == "\n" or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co"))
    parts = []
    for line in kept.split("\n"):
        named = f"{colour} {line}" if colour and line.strip() else line
        if lit and line:
            parts.append(f"[{named}]")
        else:
            parts.append(f"<{named}>" if named is not line else line)
    return "\n".join(parts)


def _drawn(codes: str, colour: str, lit: bool) -> tuple[str, bool]:
    """Return the colour, and whether there is a background colour, after a sequence of SGR codes."""
    numbers = iter([int(code) if code else 0 for code in re.split("[;:]", codes)])
    for code in numbers:
        if code == 0:
            colour, lit = "", False
        elif code in (7, 27):
            lit = code == 7
        elif 30 <= code <= 37 or 90 <= code <= 97:
            colour = _COLOURS[code % 10]
        elif 40 <= code <= 47 or 100 <= code <= 107:
            lit = code != 40
        elif code in (38, 48):
            for _ in range({5: 1, 2: 3}.get(next(numbers, 0), 0)):
                next(numbers, 0)
            colour, lit = ("coloured", lit) if code == 38 else (colour, True)
        elif code == 39:
            colour = ""
        elif code == 49:
            lit = False
    return colour, lit
