"""What a story draws around its text, taken away; and pages that wait for a key, turned.

Jericho does both for the stories it lists. For all others its output holds the prompt and the status line,
which the interpreter draws in version 3 and the story itself in later ones.
"""

from __future__ import annotations

import re

from engine.games.zmachine.machine import Machine

_STATUS_FIRST = re.compile(r"\A>? ?[^\n]{0,90}? {3,}(?:Score|Time|Moves|Turns)\b[^\n]*(?:\n|\Z)")
"""Version 3: a prompt, the place, far to the right the score or the time."""
_PROMPT_LAST = re.compile(r"\n\s*>[^\S\n]*(?:[^\S\n]{8,}[^\n]*)?\s*\Z")
"""Later versions: the prompt, then whatever is put elsewhere on the screen by way of many spaces."""
_MOST_PAGES = 12


def text_only(printed: str) -> str:
    """Return what a story tells, without its prompt and its status line."""
    return _PROMPT_LAST.sub("", _STATUS_FIRST.sub("", printed)).strip(" ")


def turn_pages(machine: Machine, printed: str) -> str:
    """Press Enter as long as the story waits for a key; return all that was printed."""
    pages = [printed]
    while machine.wants_key and not machine.halted and len(pages) <= _MOST_PAGES:
        pages.append(machine.step(""))
    return "\n".join(pages)
