"""Removes the prompt and the status line from a story's output, and pages through screens that wait for a key.

Jericho does both for the stories it supports. For other stories its output contains the prompt and the status line.
The interpreter draws the status line in version 3, the story itself in later versions.
"""

from __future__ import annotations

import re

from engine.games.zmachine.machine import Machine

_STATUS_FIRST = re.compile(r"\A>? ?[^\n]{0,90}? {3,}(?:Score|Time|Moves|Turns)\b[^\n]*(?:\n|\Z)")
"""Version 3: a prompt, the place, and far to the right the score or the time."""
_PROMPT_LAST = re.compile(r"\n\s*>[^\S\n]*(?:[^\S\n]{8,}[^\n]*)?\s*\Z")
"""Later versions: the prompt, then text that many spaces place elsewhere on the screen."""
_PROMPT_BESIDE = re.compile(r"^([^<>\n]*[.?!])>\s*\Z", re.MULTILINE)
"""A question, and the prompt on the same line."""
_PROMPT_FIRST = re.compile(r"\A\s*>[^\S\n]*\n")
"""The prompt of the command before, where it is printed late."""
_MOST_PAGES = 12


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


def turn_pages(machine: Machine, printed: str) -> str:
    """Press Enter while the story waits for a key; return all that was printed."""
    pages = [printed]
    while machine.wants_key and not machine.halted and len(pages) <= _MOST_PAGES:
        pages.append(machine.step(""))
    return "\n".join(pages)
