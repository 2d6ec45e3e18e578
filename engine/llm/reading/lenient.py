"""A lenient JSON parser that reads a text in one pass. Time and memory are linear in its length for any content.

A model's reply may be cut off, broken, or malicious. So the parser uses no recursion and no backtracking: it
reads tokens from left to right and adds each value to the innermost open object or list. Python can handle
signals between two tokens.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Iterator
from typing import Any

from engine.texts import encodable

LONGEST_REPLY = 1_000_000
"""Number of characters that are read; the rest is ignored."""

DEEPEST = 64
"""Largest nesting depth of objects and lists."""

LONGEST_NUMBER = 300
"""Largest length of a number; a longer one is read as None. Integers of this length can be converted to a float."""

_CLOCK = 4096  # tokens between two checks of the time limit


class ReadingTimeout(Exception):
    """The time limit for reading was reached."""


def objects(text: str, until: float = math.inf) -> Iterator[dict[str, Any]]:
    """Yield the outermost JSON objects of a text in order, with errors repaired where that is safe.

    A brace that does not start an object is skipped, and reading continues at the token that does not fit.

    These are accepted: fences and prose around objects, trailing commas, keys with single quotes or none,
    Python's literals, comments, raw line breaks in strings, unknown escapes, and a missing end. All returned
    strings can be
    encoded: half of a surrogate pair becomes U+FFFD.

    Args:
        until: Time limit on the clock of `time.monotonic()`.

    Raises:
        Over: The time limit was reached.
    """
    reader = _Reader(text[:LONGEST_REPLY], until)
    while (found := reader.next()) is not None:
        yield found


_OPEN, _CLOSE, _COMMA, _COLON, _STRING, _SINGLE, _BARE, _COMMENT, _CUT, _FENCE, _END, _OTHER = range(1, 13)

# The pattern does not backtrack, and one alternative always matches. A single quote ends a string only where
# a value may end. Keep the possessive repetitions simple: Python before 3.11.5 gets complex ones wrong
# (gh-106052).
_TOKEN = re.compile(r"""\s*+(?:
    ([{\[])
  | ([}\]])
  | (,)
  | (:)
  | ("[^"\\]*+(?:\\.[^"\\]*+)*+")
  | ('[^\n]*?'(?<!\\')(?=\s*+[,:}\]/`]))
  | ([^\s"'`{}\[\],:/\\]++)
  | (//[^\n]*+|/\*.*?(?:\*/|\Z))
  | (".*+|'[^\n]*+)
  | (```)
  | (\Z)
  | (.)
)""", re.VERBOSE | re.DOTALL)  # fmt: skip

# The start of an object. A brace followed by a token that cannot follow it, as in a long row of braces, is no
# start.
_START = re.compile(r"\{(?!\s*+[{\[\]:`])")

_NUMBER = re.compile(r"[-+]?(?:([0-9]++)|(?=\.?[0-9])[0-9]*+(?:\.[0-9]*+)?(?:[eE][-+]?[0-9]++)?)")
_WORDS: dict[str, Any] = {
    "true": True, "false": False, "null": None, "True": True, "False": False, "None": None,
    "NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf,
}  # fmt: skip

_SCALARS = (_STRING, _SINGLE, _BARE)

# What the parser expects next.
_KEY, _AFTER_KEY, _VALUE, _ITEM, _AFTER = range(5)


class _Reader:
    """Reads the objects of a text one after another."""

    def __init__(self, text: str, until: float) -> None:
        self._text = text
        self._until = until
        self._at = 0
        self._tokens = 0
        # The number of characters that may be read twice, see _pass_over.
        self._spare = len(text)

    def next(self) -> dict[str, Any] | None:
        """Return the next object, None if there is none."""
        while (start := _START.search(self._text, self._at)) is not None:
            if (found := self._object(start.end())) is not None:
                return found
        return None

    def _object(self, start: int) -> dict[str, Any] | None:
        """Return the object whose opening brace ends at `start`, None if it is not one; move behind what was read."""
        nest, expected = _Nest(), _KEY
        for found in _TOKEN.finditer(self._text, start):
            kind = found.lastindex or _OTHER
            self._tick()
            if kind == _COMMENT:
                continue
            if kind == _COMMA and expected in (_KEY, _ITEM, _AFTER):
                expected = nest.inside()
            elif kind == _COLON and expected == _AFTER_KEY:
                expected = _VALUE
            elif kind in _SCALARS and expected == _KEY:
                nest.key, expected = _written(kind, found[kind]), _AFTER_KEY
            elif kind in _SCALARS and expected in (_VALUE, _ITEM):
                nest.add(kind, found[kind])
                expected = _AFTER
            elif kind == _OPEN and expected in (_VALUE, _ITEM) and nest.open(found[kind]):
                expected = nest.inside()
            elif kind == _CLOSE and expected in (_KEY, _ITEM, _AFTER) and nest.close(found[kind]):
                expected = _AFTER
                if nest.closed:
                    self._at = found.end()
                    return nest.root
            elif self._is_end(kind, found.end(), expected):
                if kind != _FENCE and expected == _AFTER:
                    nest.drop_loose()
                self._at = found.end()
                return nest.root
            else:
                break
        self._pass_over(found.start(kind), found.end())
        return None

    def _is_end(self, kind: int, end: int, expected: int) -> bool:
        """Return whether an object ends at this token without a closing brace: it was cut off, or its fence ends."""
        if kind == _CUT:
            return end == len(self._text) and expected in (_KEY, _VALUE, _ITEM)
        return kind in (_FENCE, _END) or (kind == _OTHER and end == len(self._text))

    def _pass_over(self, start: int, end: int) -> None:
        """Continue at a token that does not fit. It may contain the start of an object, like the string "said {".

        In total, as many characters as the text has may be read twice in this way. After that, such tokens
        are skipped.
        """
        self._spare -= end - start
        self._at = start if self._spare >= 0 else end

    def _tick(self) -> None:
        if self._tokens % _CLOCK == 0 and time.monotonic() > self._until:
            raise ReadingTimeout
        self._tokens += 1


class _Nest:
    """An object that is being read, with its open objects and lists."""

    __slots__ = ("_above", "_loose", "_top", "closed", "key", "root")

    def __init__(self) -> None:
        self.root: dict[str, Any] = {}
        self.key = ""
        self.closed = False
        self._top: dict[str, Any] | list[Any] = self.root
        self._above: list[dict[str, Any] | list[Any]] = []
        self._loose = False

    def inside(self) -> int:
        """Return what is expected after an opening bracket or a comma."""
        return _KEY if isinstance(self._top, dict) else _ITEM

    def add(self, kind: int, part: str) -> None:
        """Add a string, a number or a word to the innermost object or list."""
        self._loose = kind == _BARE and part not in _WORDS
        self._put(_bare(part) if kind == _BARE else _written(kind, part))

    def open(self, bracket: str) -> bool:
        """Begin an object or a list; return False if it would be too deep."""
        if len(self._above) >= DEEPEST:
            return False
        new: dict[str, Any] | list[Any] = {} if bracket == "{" else []
        self._put(new)
        self._above.append(self._top)
        self._top = new
        return True

    def close(self, bracket: str) -> bool:
        """End the innermost object or list; return False if the bracket does not match."""
        if (bracket == "}") is not isinstance(self._top, dict):
            return False
        self._loose = False
        if self._above:
            self._top = self._above.pop()
        else:
            self.closed = True
        return True

    def drop_loose(self) -> None:
        """Remove the last value if it may have been cut off, because part of a number is a different number."""
        if self._loose:
            if isinstance(self._top, dict):
                self._top.pop(self.key, None)
            else:
                self._top.pop()

    def _put(self, value: Any) -> None:
        if isinstance(self._top, dict):
            self._top[self.key] = value
        else:
            self._top.append(value)


_DECODE = json.JSONDecoder(strict=False).decode
_ESCAPE = re.compile(r'\\(?:(["\\/bfnrt]|u[0-9a-fA-F]{4})|(.))|"', re.DOTALL)


def _written(kind: int, part: str) -> str:
    """Return the string value of a token."""
    if kind == _BARE:
        return encodable(part)
    body = part[1:-1]
    if "\\" in body:
        body = _DECODE('"' + _ESCAPE.sub(_known, body) + '"')
    return encodable(body)


def _known(escape: re.Match[str]) -> str:
    """Return an escape sequence in a form that JSON accepts."""
    if escape[1]:
        return escape[0]
    if escape[0] == '"':
        return '\\"'
    return "\\\\" + escape[2] if escape[2].isalnum() else escape[2]


def _bare(word: str) -> Any:
    """Return the value of a word without quotes: a literal, a number, or otherwise a string."""
    if word in _WORDS:
        return _WORDS[word]
    number = _NUMBER.fullmatch(word)
    if number is None:
        return encodable(word)
    if len(word) > LONGEST_NUMBER:
        return None
    return int(word) if number[1] else float(word)
