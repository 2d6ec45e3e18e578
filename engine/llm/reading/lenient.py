"""JSON that is nearly JSON, read in one pass: time and memory grow with the length of the text, whatever it holds.

A model's reply may be cut off, broken, or made to hurt. So there is no recursion and no second try from an earlier
place: tokens are read from left to right, and values are put where they belong as they come. Between two
tokens Python has its turn, so signals are answered while a text is read.
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
"""How many characters are looked at."""

DEEPEST = 64
"""How many objects and lists may lie in one another."""

LONGEST_NUMBER = 300
"""How many characters a number may have; a longer one is read as None. Shorter whole numbers fit a float."""

_CLOCK = 4096  # so many tokens between two looks at the clock


class Over(Exception):
    """The time for reading is over."""


def objects(text: str, until: float = math.inf) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a text in their order, mended where that is safe.

    Objects in objects are part of these. What only looks like the start of an object is passed over, and what follows
    is looked at from the place where that showed.

    Mended are: fences and prose around it, trailing commas, single quotes or none around keys, Python's literals,
    comments, raw line breaks in strings, escapes that JSON does not know, and an end that was cut off.
    Every string that comes out can be encoded: half a surrogate pair becomes U+FFFD.

    Raises:
        Over: It is later than `until`, a time of `time.monotonic()`.
    """
    reader = _Reader(text[:LONGEST_REPLY], until)
    while (found := reader.next()) is not None:
        yield found


_OPEN, _CLOSE, _COMMA, _COLON, _STRING, _SINGLE, _BARE, _COMMENT, _CUT, _FENCE, _END, _OTHER = range(1, 13)

# Nothing is kept for trying it again, and something always matches. A single quote ends a string only where a value may
# end. What is repeated and possessive has to stay as simple as it is: Python before 3.11.5 gets more wrong (gh-106052).
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

# Where an object may start: not at a brace after which nothing fits, as in a long row of them.
_START = re.compile(r"\{(?!\s*+[{\[\]:`])")

_NUMBER = re.compile(r"[-+]?(?:([0-9]++)|(?=\.?[0-9])[0-9]*+(?:\.[0-9]*+)?(?:[eE][-+]?[0-9]++)?)")
_WORDS: dict[str, Any] = {
    "true": True, "false": False, "null": None, "True": True, "False": False, "None": None,
    "NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf,
}  # fmt: skip

_SCALARS = (_STRING, _SINGLE, _BARE)

# What may come next.
_KEY, _AFTER_KEY, _VALUE, _ITEM, _AFTER = range(5)


class _Reader:
    """Goes through a text from one object to the next."""

    def __init__(self, text: str, until: float) -> None:
        self._text = text
        self._until = until
        self._at = 0
        self._tokens = 0
        # So many characters may be looked at twice, see _pass_over.
        self._spare = len(text)

    def next(self) -> dict[str, Any] | None:
        """Return the next object; None if there is none."""
        while (start := _START.search(self._text, self._at)) is not None:
            if (found := self._object(start.end())) is not None:
                return found
        return None

    def _object(self, start: int) -> dict[str, Any] | None:
        """Return the object whose brace ends at `start`, None if it is none; go behind what was read."""
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
        """Return whether an object ends at a token though it was not closed: it was cut off, or its fence ends."""
        if kind == _CUT:
            return end == len(self._text) and expected in (_KEY, _VALUE, _ITEM)
        return kind in (_FENCE, _END) or (kind == _OTHER and end == len(self._text))

    def _pass_over(self, start: int, end: int) -> None:
        """Go on at a token that fits nowhere: it may hold the start of an object, as "said {" does.

        Looking into such tokens may cost as much as reading the text once; then they are passed over as a whole.
        """
        self._spare -= end - start
        self._at = start if self._spare >= 0 else end

    def _tick(self) -> None:
        if self._tokens % _CLOCK == 0 and time.monotonic() > self._until:
            raise Over
        self._tokens += 1


class _Nest:
    """An object while it is read, and what is open in it."""

    __slots__ = ("_above", "_loose", "_top", "closed", "key", "root")

    def __init__(self) -> None:
        self.root: dict[str, Any] = {}
        self.key = ""
        self.closed = False
        self._top: dict[str, Any] | list[Any] = self.root
        self._above: list[dict[str, Any] | list[Any]] = []
        self._loose = False

    def inside(self) -> int:
        """Return what may come after an opening bracket or a comma."""
        return _KEY if isinstance(self._top, dict) else _ITEM

    def add(self, kind: int, part: str) -> None:
        """Put a string, a number or a word where it belongs."""
        self._loose = kind == _BARE and part not in _WORDS
        self._put(_bare(part) if kind == _BARE else _written(kind, part))

    def open(self, bracket: str) -> bool:
        """Begin an object or a list; return False if that would be too deep."""
        if len(self._above) >= DEEPEST:
            return False
        new: dict[str, Any] | list[Any] = {} if bracket == "{" else []
        self._put(new)
        self._above.append(self._top)
        self._top = new
        return True

    def close(self, bracket: str) -> bool:
        """End the innermost object or list; return False if the bracket is not its own."""
        if (bracket == "}") is not isinstance(self._top, dict):
            return False
        self._loose = False
        if self._above:
            self._top = self._above.pop()
        else:
            self.closed = True
        return True

    def drop_loose(self) -> None:
        """Take the last value away unless it had an end: half a number is another number."""
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
    """Return the string that a token stands for."""
    if kind == _BARE:
        return encodable(part)
    body = part[1:-1]
    if "\\" in body:
        body = _DECODE('"' + _ESCAPE.sub(_known, body) + '"')
    return encodable(body)


def _known(escape: re.Match[str]) -> str:
    """Return an escape as JSON knows it."""
    if escape[1]:
        return escape[0]
    if escape[0] == '"':
        return '\\"'
    return "\\\\" + escape[2] if escape[2].isalnum() else escape[2]


def _bare(word: str) -> Any:
    """Return the value of what stands there without quotes: a literal, a number, or else a string."""
    if word in _WORDS:
        return _WORDS[word]
    number = _NUMBER.fullmatch(word)
    if number is None:
        return encodable(word)
    if len(word) > LONGEST_NUMBER:
        return None
    return int(word) if number[1] else float(word)
