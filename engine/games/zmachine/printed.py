"""Reads what a story prints: its text without prompt and status line, its title, and its last words.

Jericho takes prompt and status line out for the stories it supports. For other stories they are in its output; the
interpreter draws the status line in version 3, the story itself in later versions.

Inform's library prints the last words of a story between asterisks: "*** You have won ***" or "*** You have died ***",
or words of the story's own. Words of its own can mean anything, so a story that says neither is taken as won only
where all points are had, and otherwise as neither won nor lost.
"""

from __future__ import annotations

import re

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_STATUS_FIRST = re.compile(r"\A>? ?[^\n]{0,90}? {3,}(?:Score|Time|Moves|Turns)\b[^\n]*(?:\n|\Z)")
"""Version 3: a prompt, the place, and far to the right the score or the time."""
_PROMPT_LAST = re.compile(r"\n\s*>[^\S\n]*(?:[^\S\n]{8,}[^\n]*)?\s*\Z")
"""Later versions: the prompt, then text that many spaces place elsewhere on the screen."""
_PROMPT_BESIDE = re.compile(r"^([^<>\n]*[.?!])>\s*\Z", re.MULTILINE)
"""A question, and the prompt on the same line."""
_PROMPT_FIRST = re.compile(r"\A\s*>[^\S\n]*\n")
"""The prompt of the command before, where it is printed late."""


def text_only(printed: str, command: str = "", prompt: str = "") -> str:
    """Return a story's output without its prompt, its status line, and the command that some stories repeat.

    Args:
        printed: The output.
        command: The command that led to it.
        prompt: What the story prints before each command, if that is not ">".
    """
    if prompt and printed.rstrip().endswith(f"\n{prompt}"):
        printed = printed.rstrip().removesuffix(prompt)
    text = _PROMPT_LAST.sub("", _PROMPT_BESIDE.sub(r"\1", _STATUS_FIRST.sub("", printed)))
    text = _PROMPT_FIRST.sub("", text.strip(" "))
    first, _, rest = text.lstrip().partition("\n")
    if command and first.strip("> ").lower() == command.lower():
        return rest.strip(" ")
    return text


def clean(text: str) -> str:
    """Return `text` without control characters (newlines stay), trimmed."""
    return _CONTROL.sub("", text.replace("\r", "\n").replace("\t", " ")).strip()


_LAST_WORDS = re.compile(r"\*{3,}\s*([^*\n]{2,80}?)\s*\*{3,}")
_WON = re.compile(
    r"\b(won|wins?|victory|victorious|triumph\w*|congratulations|succeeded)\b", re.IGNORECASE
)
_NOT = re.compile(r"\b(not|no|never|nobody|cannot|without)\b|n['’]t\b", re.IGNORECASE)
_LOST = re.compile(
    r"\b(you|i|we)(['’](ve|re|m)| have| are| am| were)?( all| both)?( been)? "
    r"(die[ds]?|dead|killed|slain|murdered|perished|drowned|starved|failed|defeated)\b"
    r"|\b(you|i|we)(['’]ve| have)? los[et]\W*$"
    r"|^(death|dead|defeat)\W*$",
    re.IGNORECASE,
)


def last_words(text: str) -> str | None:
    """Return how a story says that it has ended, as in "*** You have won ***"; None if it does not."""
    found = _LAST_WORDS.findall(text) if "***" in text else []
    return found[-1] if found else None


def says_died(text: str) -> bool:
    """Whether a text says that the player died or lost."""
    return _LOST.search(text) is not None


def outcome(words: str, score: float, maximum: float | None, *, won: bool = False, lost: bool = False) -> str:
    """Return how a story that is over has ended: "won", "lost", or "" for neither.

    Args:
        words: Its last words, "" if it had none.
        maximum: The highest score, None if unknown.
        won: Whether it is known from elsewhere that it was won.
        lost: The same for lost, as by a variable of the story that says that the player is dead.
    """
    if won or (_WON.search(words) and not _NOT.search(words)):
        return "won"
    if lost or _LOST.search(words):
        return "lost"
    return "won" if maximum and score >= maximum else ""


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
