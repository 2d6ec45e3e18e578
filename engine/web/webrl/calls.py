"""The answers of WebRL's checkpoints: comments, and one call with constant arguments.

    # Element: the 'Orders' link
    do(action="Click", element="4")

The call is parsed into names and texts. Nothing that a model wrote is evaluated.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass

from engine.errors import UsageError

END = "<|eot_id|>"
"""Ends an answer."""
LONGEST = 8000
"""Most characters of an answer."""
CALLS: Mapping[str, tuple[str, ...]] = {
    "do": ("action", "argument", "element"), "exit": ("message",), "quote": ("content",),
    "go_backward": (), "go_forward": (),
}  # fmt: skip
"""The names of calls with those of their arguments."""
_BEGIN = re.compile(rf"(?:(?<=\n)|(?<!\w))({'|'.join(CALLS)})\s*\(")


@dataclass(frozen=True, slots=True)
class WebCall:
    """A call: its name and its arguments, without those that are None."""

    name: str
    given: Mapping[str, str]

    def need(self, argument: str) -> str:
        """Return an argument.

        Raises:
            UsageError: It is missing.
        """
        if argument not in self.given:
            action = self.given.get("action")
            raise UsageError(f"{f'the action {action!r}' if action else self.name} needs {argument}=\"...\"")
        return self.given[argument]


def parse(answer: str) -> WebCall:
    """Return the call of an answer. Of several, it is the last one, as published.

    Raises:
        UsageError: There is none. The sentence says why.
    """
    text = answer.split(END)[0].strip()
    if len(text) > LONGEST:
        raise UsageError(f"the answer has more than {LONGEST} characters")
    found = list(_BEGIN.finditer(text))
    if not found:
        raise UsageError(f'the answer has no call such as do(action="Click", element="3"): {text[:80]!r}')
    # A call at the start of a line comes before one in a comment or in the text of another call.
    starts = [one.start() for one in found if _starts_line(text, one.start())]
    others = [one.start() for one in found if one.start() not in starts]
    for start in (*reversed(starts), *others):
        for end in (len(text), text.find("\n", start)):
            call = _call(text[start:end]) if end > start else None
            if call is not None:
                return _checked(call)
    raise UsageError(f"the call cannot be read: {text[found[-1].start() :][:80]!r}")


def _starts_line(text: str, at: int) -> bool:
    return not text[:at].rpartition("\n")[2].strip()


def _call(text: str) -> ast.Call | None:
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    return tree if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) else None


def _checked(call: ast.Call) -> WebCall:
    assert isinstance(call.func, ast.Name)
    name = call.func.id
    wanted = CALLS[name]
    if len(call.args) > len(wanted):
        raise UsageError(f"{name} takes at most {len(wanted)} arguments, not {len(call.args)}")
    pairs: list[tuple[str | None, ast.expr]] = [*zip(wanted, call.args, strict=False)]
    pairs += [(one.arg, one.value) for one in call.keywords]
    given: dict[str, str] = {}
    for argument, value in pairs:
        if argument not in wanted:
            raise UsageError(f"{name} takes no argument {argument!r}")
        if not isinstance(value, ast.Constant) or not isinstance(value.value, (str, int, float, type(None))):
            raise UsageError(f"{argument} of {name} is neither a text nor a number")
        if value.value is not None:
            given[argument] = str(value.value)
    return WebCall(name, given)
