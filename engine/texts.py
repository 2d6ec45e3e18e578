"""Words, n-grams and shortened forms of texts, and texts in files of other formats."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Sequence

_WORD = re.compile(r"[^\W_]+(?:[.'][^\W_]+)*")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NOT_XML = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_PROSE = re.compile(r"\[SUMMARY\].*?(?=\[(?:PROGRESS|LOCATION|INVENTORY)\]|\Z)", re.S)


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, in order."""
    return _WORD.findall(text.casefold())


def bare_words(text: str) -> list[str]:
    """Return the words in lower case that stand alone between spaces. Any with punctuation are left out.

    The authors' code reads states and histories in this way. So of "lamp→hall. Take it" it keeps only "it".
    """
    return [word for word in text.lower().split() if word.isalnum()]


def without_prose(history: str) -> str:
    """Return what is compared of a history: all but its prose, [SUMMARY]; all of it if there is nothing else.

    A model words the prose anew each time, so equal histories would be different ones.
    """
    return _PROSE.sub("", history).strip() or history


def number_repeats(parts: Sequence[str]) -> tuple[str, ...]:
    """Return the parts sorted, with the second of equal ones as "part*2" and so on.

    The Jaccard similarity of such sets is that of multisets. So two ticked boxes are another state than one.
    """
    seen: Counter[str] = Counter()
    found = []
    for part in parts:
        seen[part] += 1
        found.append(part if seen[part] == 1 else f"{part}*{seen[part]}")
    return tuple(sorted(found))


def ngrams(found: list[str], n: int) -> list[str]:
    """Return every run of n words. If there are fewer than n words, return them."""
    if len(found) < n:
        return found
    return [" ".join(found[i : i + n]) for i in range(len(found) - n + 1)]


def clipped(text: str, limit: int) -> str:
    """Return a text of at most `limit` characters; a longer one is cut in the middle."""
    if len(text) <= limit:
        return text
    half = max(0, limit - 7) // 2
    return f"{text[:half]} [...] {text[len(text) - half :]}"


def tokens(text: str) -> int:
    """Return an estimate of how many tokens a text has, without any model's tokenizer.

    English has at least 4 characters per token; 3.5 is on the safe side.
    """
    return int(len(text) / 3.5)


def encodable(text: str) -> str:
    """Return a text that has a UTF-8: half a surrogate pair becomes U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def cell(value: object) -> object:
    """Return a value for CSV. A text that a spreadsheet would take for a formula begins with an apostrophe."""
    if not isinstance(value, str) or not value.startswith(_FORMULA):
        return value
    with contextlib.suppress(ValueError):
        float(value)
        return value
    return f"'{value}"


def drawable(text: str) -> str:
    """Return a text with `\ufffd` in place of characters that neither XML nor HTML can hold."""
    return _NOT_XML.sub("\ufffd", text)


def compact(text: str) -> str:
    """Return a text without empty lines."""
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())
