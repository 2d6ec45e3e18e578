"""Compares words of tasks and pages: stems of content words, and the kind of answer that a question wants."""

from __future__ import annotations

import re

_WORD = re.compile(r"\d+(?:[.,:/]\d+)*|[^\W\d_]+(?:'[a-z]+)?")
STOP = frozenset({
    "a", "an", "the", "this", "that", "these", "those", "it", "its", "i", "my", "me", "you", "your", "we",
    "our", "us", "he", "she", "his", "her", "they", "their", "of", "in", "on", "at", "to", "for", "from", "by",
    "with", "within", "into", "as", "and", "or", "but", "not", "no", "so", "if", "then", "than", "is", "are",
    "was", "were", "be", "been", "being", "do", "does", "did", "done", "have", "has", "had", "can", "could",
    "will", "would", "should", "may", "might", "must", "please", "there", "here", "also", "both", "all", "any",
    "some", "each", "every", "who", "whom", "whose", "which", "what", "when", "where", "how", "why", "many",
    "much", "long", "according", "give", "tell", "find", "show", "open", "set", "change", "put", "make", "let",
    "get", "go", "click", "press", "select", "enter", "type", "fill", "choose", "use", "using", "s", "t",
})  # fmt: skip
"""Words that do not tell what a task is about."""
_PLACE = re.compile(r"\b([^\W\d_]+) (?:in|near) [A-Z][\w'-]*(?: [A-Z][\w'-]*)*")
_ENDINGS = ("ations", "ation", "ings", "ing", "ers", "er", "ors", "or", "ed", "es", "s", "ly", "e")
SHORTEST = 3
"""Least number of letters that remain when an ending is removed."""

MONEY, NUMBER, DATE, DURATION, ADDRESS, NAME, TEXT = "money", "number", "date", "duration", "address", "name", "text"
_KINDS = (
    (MONEY, r"\b(price|cost|costs|total|how much|amount|pay|paid|fee|revenue|refund)\b"),
    (DURATION, r"\bhow long\b"),
    (DATE, r"\b(when|what date|which date|what day|which day|what year|which year|date of)\b"),
    (ADDRESS, r"\b(?<!mail )(?<!\bIP )address\b|\bstreet\b"),
    (NUMBER, r"\b(how many|how (?:far|high|tall|deep|big|large|heavy|old|often)|number|count|percentage|"
             r"rating|quantity|population|age|size)\b"),
    (NAME, r"\b(who|whom|whose|name|names|which (?:person|customer|user|author|city|town|country|product|brand))\b"),
)  # fmt: skip
_ASKS = re.compile(
    r"\?|^\W*(who|whom|whose|which|what|when|where|how|why|tell|list|give|name|count|compare|get|identify|summarize)\b",
    re.IGNORECASE,
)
_MAY_ASK = re.compile(r"^\W*(show me|find|present|calculate|determine|extract|look up)\b", re.IGNORECASE)


def stem(word: str) -> str:
    """Return a word in lower case without its ending. The rules are crude, but the same for tasks and pages."""
    word = word.casefold().removesuffix("'s")
    if word.endswith(("ies", "ied")) and len(word) > SHORTEST + 1:
        return word[:-3] + "i"
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST:
            word = word.removesuffix(ending)
            break
    return word[:-1] + "i" if word.endswith("y") and len(word) > SHORTEST else word


def stems(text: str) -> list[str]:
    """Return the stems of the content words of a text, in order, with repetitions."""
    return [stem(word) for word in _WORD.findall(text) if word.casefold() not in STOP]


def tokens(text: str) -> list[str]:
    """Return the stems of all words of a text, in order."""
    return [stem(word) for word in _WORD.findall(text)]


def label_stems(label: str) -> set[str]:
    """Return the stems of a label's content words, or those of all its words if it has no other, as "From" and "To"."""
    return set(stems(label) or tokens(label))


def asks(intent: str) -> bool:
    """Whether the task asks for an answer."""
    return bool(_ASKS.search(intent))


def may_ask(intent: str) -> bool:
    """Whether the task may ask for an answer: "Show me the name of ..." wants a page or an answer."""
    return asks(intent) or bool(_MAY_ASK.search(intent))


def expected_answer(intent: str) -> str:
    """Return the kind of answer that a question wants: money, number, date, duration, address, name or text."""
    low = intent.casefold()
    return next((kind for kind, pattern in _KINDS if re.search(pattern, low)), TEXT)


def topics(intent: str) -> tuple[str, ...]:
    """Return what one would type into a search box: up to four runs of content words, the longest first.

    Then come up to two words with the place that follows them, as in "cafes in Kestrel Bay".
    """
    runs: list[list[str]] = [[]]
    end = 0
    for found in _WORD.finditer(intent):
        apart = bool(intent[end : found.start()].strip())
        end = found.end()
        if found.group().casefold() in STOP:
            runs.append([])
            continue
        if apart:
            runs.append([])
        runs[-1].append(found.group())
    kept = dict.fromkeys(" ".join(run) for run in runs if run and len(" ".join(run)) >= SHORTEST)
    longest = sorted(kept, key=lambda run: -len(run))[:4]
    places = [found[0] for found in _PLACE.finditer(intent) if found[1].casefold() not in STOP]
    return tuple(dict.fromkeys((*longest, *places[:2])))
