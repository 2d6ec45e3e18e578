"""The title of a story, from the banner that it prints: the lines that end with its release and serial number."""

from __future__ import annotations

import re

from engine.games.zmachine.printed import clean

_LONGEST = 80
_RELEASE = re.compile(r"\b(?:release|revision|serial)\b\D{0,10}\d", re.IGNORECASE)


def title_in(answer: str, opening: str, serial: str) -> str:
    """Return the title of a story, "" if it prints no banner.

    Args:
        answer: The story's answer to VERSION, which is its banner where it knows that command.
        opening: What it prints at its beginning, with the banner somewhere.
        serial: Its serial number, which the banner has in stories of every language.
    """
    if serial in answer or _RELEASE.search(answer):
        return _plain(next(filter(str.strip, answer.splitlines()), ""))
    lines = opening.splitlines()
    last = next((number for number, line in enumerate(lines) if serial in line), 0)
    first = last
    while first and 0 < len(lines[first - 1].strip()) <= _LONGEST:
        first -= 1
    return _plain(lines[first]) if first < last else ""


def _plain(line: str) -> str:
    title = " ".join(clean(line).split()).partition(". ")[0].strip('"“”>*. ')
    return title if len(title) <= _LONGEST else ""
