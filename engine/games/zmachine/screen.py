"""Removes the prompt, the status line and control characters from a story's output.

Jericho does so for the stories it supports. For other stories its output contains the prompt and the status line.
The interpreter draws the status line in version 3, the story itself in later versions.
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
