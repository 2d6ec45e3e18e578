"""Words of texts, as they are compared and shown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

_WORD = re.compile(r"[^\W_]+(?:[.'][^\W_]+)*")


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, in their order."""
    return _WORD.findall(text.casefold())


def counted(parts: Sequence[str]) -> tuple[str, ...]:
    """Return the parts sorted, the second of a kind as "part*2" and so on.

    The Jaccard similarity of such sets is that of the multisets: two boxes ticked are another state than one of them.
    """
    seen: Counter[str] = Counter()
    found = []
    for part in parts:
        seen[part] += 1
        found.append(part if seen[part] == 1 else f"{part}*{seen[part]}")
    return tuple(sorted(found))


def ngrams(text: str, n: int) -> list[str]:
    """Return every run of n words of a text; of a text with fewer words, each word."""
    found = words(text)
    if len(found) < n:
        return found
    return [" ".join(found[i : i + n]) for i in range(len(found) - n + 1)]


def clipped(text: str, limit: int) -> str:
    """Return a text of at most `limit` characters; from the middle of a longer one something is left out."""
    if len(text) <= limit:
        return text
    half = max(0, limit - 7) // 2
    return f"{text[:half]} [...] {text[len(text) - half :]}"


def compact(text: str) -> str:
    """Return a text without empty lines."""
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())
