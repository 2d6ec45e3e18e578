"""How a story ended: won, lost, or in a way of its own.

Inform's library prints the last words of a story between asterisks: "*** You have won ***" or "*** You have died ***",
or words of the story's own. Words of its own can mean anything, so a story that says neither is taken as won only
where all points are had, and otherwise as neither won nor lost.
"""

from __future__ import annotations

import re

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


def died(text: str) -> bool:
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
