"""Finds texts on a page that may answer a question, and rates them.

A possible answer is a short text on the page, a part of a longer text in the form asked for (a number, an amount, a
date, a name), or the number of rows with words of the question. It is rated higher the more words of the question are
in the same sentence, cell, row, column header or page title. No knowledge about sites is used.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from engine.web.drawing.lines import PageLine, PageLines
from engine.web.states.words import (
    ADDRESS,
    DATE,
    DURATION,
    MONEY,
    NAME,
    NUMBER,
    TEXT,
    expected_answer,
    may_ask,
    stem,
    stems,
    tokens,
)

MOST = 40
LONGEST = 60
"""Most characters of an answer that is a whole text of the page."""
READ = frozenset({
    "cell", "gridcell", "definition", "text", "heading", "paragraph", "strong", "emphasis", "generic", "status", "link",
    "rowheader", "listitem", "code", "term", "textbox", "spinbutton", "searchbox", "time", "option",
})  # fmt: skip
COUNTED = frozenset({"row", "listitem", "article"})
_HOW_MANY = re.compile(r"\bhow many ([^\W\d_]+)", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+(?=[A-Z0-9\"'])")
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
_COUNTS = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|"
    "eighteen|nineteen|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:-(?:one|two|three|four|five|six|"
    "seven|eight|nine))?"
)
_SPAN = r"(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?|secs?|mins?|hrs?|h|s)"
_CALLED = r"[A-Z][\w'’-]+"
_FORMS = {
    MONEY: re.compile(r"[$€£]\s?\d[\d,]*(?:\.\d+)?|\b\d[\d,]*(?:\.\d+)? ?(?:USD|EUR|GBP)\b"),
    DURATION: re.compile(
        rf"\b(?:\d+(?:\.\d+)?|{_COUNTS}|half an|an|a|several) {_SPAN}\b(?:,? (?:and )?\d+ {_SPAN}\b)*", re.IGNORECASE
    ),
    DATE: re.compile(
        rf"\b\d{{4}}-\d\d-\d\d\b|\b\d\d?[./]\d\d?[./]\d{{2,4}}\b|\b\d\d? {_MONTH}(?: \d{{4}})?\b"
        rf"|\b{_MONTH} \d\d?(?:, \d{{4}})?\b|\b1\d{{3}}\b|\b20\d\d\b"
    ),
    NUMBER: re.compile(
        rf"(?<![\w.,$€£/:-])\d+(?:,\d{{3}})*(?:\.\d+)?(?![\w/:-])(?![.,]\d)|(?<![\w-])(?:{_COUNTS})(?![\w-])"
    ),
    NAME: re.compile(
        rf"[\w.+-]+@[\w-]+(?:\.[\w-]+)+|\b[^\W_]+_\w*\w|\b{_CALLED}(?: (?:[A-Z][\w'’.-]*|\d+(?![\w.,])))*"
    ),
    ADDRESS: re.compile(rf"(?<![\w.,-])\d+[a-z]? {_CALLED}(?: {_CALLED})*"),
}
"""Patterns of answers by kind."""
_MEASURE = re.compile(
    r"(?<![\w.,$€£/:-])\d+(?:,\d{3})*(?:\.\d+)? ?(?:km|cm|mm|m|mi|miles?|ft|kg|mg|g|lbs?|ml|l|[kKMGT]B|%|°[CF])(?!\w)"
)
"""A number with its unit, which answers the same questions as a number."""
NEAR, HEADED, TITLED = 1.0, 0.8, 0.7
"""Weight of a word of the question next to the answer, in its column header, in the page's title."""
FITTING, OTHER, ECHO = 0.5, -0.25, -0.5
"""Added to the rating for the form asked for, for another form, and for text of the question itself."""
COUNTS = 0.5
"""Added to a number right before the thing that the question counts, as in "629 orders"."""
CUT, COMMON = -0.1, -0.15
"""Added to the rating of a part of a longer text if no form is asked for; times the log of a text's occurrences."""


class PossibleAnswer(NamedTuple):
    """A possible answer and its rating, about -0.5 to 1.5."""

    text: str
    fit: float


def rank_answers(lines: PageLines, intent: str, title: str = "", most: int = MOST) -> tuple[PossibleAnswer, ...]:
    """Return at most `most` possible answers, the best first; none if the task is no question.

    Args:
        lines: The page.
        intent: The task in words.
        title: The page's title.
        most: Number of answers.
    """
    if not may_ask(intent):
        return ()
    question = _Question(lines, intent, title)
    best: dict[str, float] = {}
    for text, fit in question.found():
        best[text] = max(fit, best.get(text, fit))
    often = Counter(line.text for line in lines)
    for text in best:
        best[text] += COMMON * math.log(max(1, often[text]))
    order = sorted(best, key=lambda text: -best[text])
    return tuple(PossibleAnswer(text, best[text]) for text in order[:most])


class _Question:
    """A question on one page."""

    def __init__(self, lines: PageLines, intent: str, title: str) -> None:
        self._lines = lines
        self._kind = expected_answer(intent)
        self._words = frozenset(stems(intent))
        self._all = frozenset(tokens(intent))
        count = Counter(word for line in lines for word in set(stems(line.text)) & self._words)
        # A word that occurs all over the page says little about where the answer is.
        self._weight = {w: 1.0 / (1.0 + math.log(max(1, count[w]))) for w in self._words}
        self._total = sum(self._weight.values()) or 1.0
        heads = [line.text for line in lines if line.role == "heading" and "level=1" in line.states]
        self._title = frozenset(stems(" ".join([title, *heads]))) & self._words
        self._groups: dict[int, list[str]] = {}
        asked = _HOW_MANY.search(intent)
        self._thing = stem(asked[1].lower()) if asked else ""

    def found(self) -> Iterator[tuple[str, float]]:
        """Yield answers with their rating, some of them several times."""
        for index, line in enumerate(self._lines):
            if line.role in READ and line.text:
                head = self._lines.header(index)
                beside = self._lines.beside(index)
                for text, kind, near in self._parts(line):
                    counts = COUNTS * self._is_count(text, line.text)
                    yield text, self._fit(text, kind, f"{near} {beside}", index, head) + counts
            elif self._thing:  # A button may say how many there are.
                for number in dict.fromkeys(match.group() for match in _FORMS[NUMBER].finditer(line.text)):
                    if self._is_count(number, line.text):
                        yield number, self._fit(number, NUMBER, line.text, index, "") + COUNTS
        if self._kind == NUMBER:
            yield from self._counts()

    def _is_count(self, number: str, text: str) -> bool:
        """Return whether a number stands in a text right before the thing that the question counts."""
        found = re.search(rf"(?<![\w.,]){re.escape(number)} ([^\W\d_]+)", text) if self._thing else None
        return found is not None and stem(found[1].lower()) == self._thing

    def _parts(self, line: PageLine) -> Iterator[tuple[str, str, str]]:
        """Yield (text, kind, rest of its sentence) for the parts of a line that may be an answer."""
        whole = " ".join((line.value or line.name).split())
        if 0 < len(whole) <= LONGEST and any(c.isalnum() for c in whole):
            named = self._kind == NAME and line.role == "link"  # What a link leads to is called by its text.
            form = self._kind if named or self._kind == TEXT else _form(whole, self._kind)
            yield whole, form, line.name if line.value else ""
        for sentence in _SENTENCE.split(whole[:2000]):
            label, colon, rest = sentence.partition(": ")
            if colon and 0 < len(rest) <= LONGEST:
                rest = rest.rstrip(".")
                yield rest, TEXT if self._kind == TEXT else _form(rest, self._kind), label
            if self._kind == NUMBER:
                for match in _MEASURE.finditer(sentence):
                    yield match.group(), NUMBER, f"{sentence[: match.start()]} {sentence[match.end() :]}"
            for kind in dict.fromkeys([self._kind, NUMBER, NAME]):
                for match in _FORMS[kind].finditer(sentence) if kind in _FORMS else ():
                    text = match.group().rstrip(".")
                    first = kind == NAME and match.start() == 0 and text[0].isupper() and " " not in text
                    if text != whole and not first:  # The first word of a sentence is capitalised in any case.
                        yield text, kind, f"{sentence[: match.start()]} {sentence[match.end() :]}"

    def _fit(self, text: str, kind: str, near: str, index: int, head: str) -> float:
        own = self._group(index)
        close = frozenset(stems(near)) & self._words
        mine = set(stems(text))
        row = {word for word in own if own.count(word) > (word in mine)} & self._words
        value = dict.fromkeys(self._title, TITLED)
        value.update(dict.fromkeys(frozenset(stems(head)) & self._words, HEADED))
        value.update(dict.fromkeys(close | row, NEAR))
        covered = sum(self._weight[word] * share for word, share in value.items()) / self._total
        form = (
            (0.0 if kind == TEXT else CUT) if self._kind == TEXT else FITTING if kind == self._kind else OTHER
        )
        echo = ECHO if set(tokens(text)) <= self._all else 0.0
        return covered + form + echo

    def _group(self, index: int) -> list[str]:
        group = self._lines.group(index)
        if group < 0:
            return []
        if group not in self._groups:
            # The name of a row repeats its cells, so only the lines inside are used.
            inner = " ".join(self._lines[i].text for i in self._lines.inside(group))
            self._groups[group] = stems((inner or self._lines[group].text)[:1000])
        return self._groups[group]

    def _counts(self) -> Iterator[tuple[str, float]]:
        """Yield numbers of rows that have words of the question, one or several, and of all entries of lists."""
        rows = [
            frozenset(stems(self._lines.said(i)[:1000])) & self._words
            for i, line in enumerate(self._lines)
            if line.role in COUNTED
            and not any(self._lines[j].role == "columnheader" for j in self._lines.inside(i))
        ]
        for wanted in {*rows, *(frozenset({word}) for row in rows for word in row)}:
            if wanted:
                covered = sum(self._weight[word] for word in wanted) / self._total
                yield str(sum(wanted <= row for row in rows)), covered + FITTING
        entries = Counter(
            (above, line.role)
            for i, (above, line) in enumerate(zip(self._lines.parents, self._lines, strict=True))
            if any(self._lines.inside(i)) and line.role in (*COUNTED, "generic")
        )
        yield from ((str(number), FITTING) for number in entries.values() if number > 1)


def _form(text: str, wanted: str) -> str:
    """Return the kind of a whole text: the wanted one if it fits."""
    for kind in dict.fromkeys([wanted, MONEY, DATE, NUMBER, DURATION, NAME]):
        if kind in _FORMS and _FORMS[kind].fullmatch(text):
            return kind
    return TEXT
