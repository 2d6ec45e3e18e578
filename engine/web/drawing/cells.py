"""Widths of text in terminal cells: wide characters take two cells, combining characters none."""

from __future__ import annotations

import unicodedata


def width_of(text: str) -> int:
    """Return how many cells `text` takes."""
    if text.isascii():
        return len(text) if text.isprintable() else sum(c.isprintable() for c in text)
    return sum(_cells(character) for character in text)


def _cells(character: str) -> int:
    if not character.isprintable() or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def cut(text: str, width: int) -> str:
    """Return `text` in at most `width` cells, with an ellipsis if it was cut."""
    if width_of(text) <= width:
        return text
    kept, used = "", 0
    for character in text:
        size = _cells(character)
        if used + size > width - 1:
            break
        kept, used = kept + character, used + size
    return kept + "…" if width > 0 else ""


def filled(text: str, width: int) -> str:
    """Return `text` cut or padded to exactly `width` cells."""
    text = cut(text, width)
    return text + " " * (width - width_of(text))


def wrapped(text: str, width: int) -> list[str]:
    """Return `text` as lines of at most `width` cells. Words longer than that are not split."""
    lines: list[str] = []
    for word in text.split():
        if lines and width_of(lines[-1]) + 1 + width_of(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines
