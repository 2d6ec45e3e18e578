"""The title of a story, from the banner that it prints: the lines that end with its release and serial number."""

from __future__ import annotations

_LINES = 8
"""Lines of a banner: title, headline, author, copyright, release."""
_LONGEST = 80


def title_in(text: str, serial: str) -> str:
    """Return the title of the story in what it printed, "" if there is no banner.

    Args:
        text: The story's beginning, or its answer to VERSION.
        serial: Its serial number, which the banner prints in stories of every language.
    """
    lines = [" ".join(line.split()) for line in text.splitlines()]
    last = next((number for number, line in enumerate(lines) if serial in line), 0) if serial.isalnum() else 0
    first = last
    while first > max(0, last - _LINES) and lines[first - 1] and len(lines[first - 1]) <= _LONGEST:
        first -= 1
    return lines[first].strip('"“”>* ') if first < last else ""
