"""Rewrites remembered actions of other tasks for the current task, by replacing words of the other task.

    remembered with      What is the population of Quarrow?      click(<link[Quarrow]>)
    the task now         What is the population of Glenmoor?     click(<link[Glenmoor]>)

The paper compares actions literally. Then a success with the first task would raise the value of `Quarrow` in the
second. Here, a name from the other task is treated as a variable of the action (lifting, as in relational
reinforcement learning: Dzeroski, De Raedt, Driessens 2001). The two tasks are aligned word by word, and each phrase
    of
the other task is replaced by its counterpart. An action with a word that has no counterpart is left out. Answers to
the other task's question are left out, too. Actions without words of the other task, and actions from this same
task, are unchanged.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterable, Mapping

from engine.errors import UsageError
from engine.memory.search import NeighbourSearch, Retriever
from engine.records import Neighbour, State
from engine.redaction import REDACTED
from engine.web.actions import ENDING, Call, Target, parse
from engine.web.choices import DONE, values_of
from engine.web.states.words import STOP

_WORD = re.compile(r"[^\W_]+(?:[.'][^\W_]+)*")
_SECRET = REDACTED.strip("[]")
_NUMBER = re.compile(r"\d[\d.,:/-]*")
LONGEST = 200
"""Number of words of a task that are aligned."""
MOST = 1000
"""Most neighbours that are requested to find enough actions that can be rewritten."""


class LiftedMemory:
    """A retriever that rewrites the actions of another retriever's neighbours for the current task."""

    def __init__(self, memory: Retriever) -> None:
        self._memory = memory

    def retrieve(self, state: State, search: NeighbourSearch) -> tuple[Neighbour, ...]:
        """Return the k most similar remembered steps with actions that can be rewritten for this task.

        The arguments are those of `engine.memory.scope.Scope.neighbours`.
        """
        k, keep_above = search.k, search.keep_above
        asked = 4 * k
        while True:
            found = self._memory.retrieve(state, dataclasses.replace(search, k=asked))
            rewritten = _rewritten(found, task_of(state.text))
            if len(rewritten) >= k or len(found) < asked or asked >= MOST:
                kept = sum(each.similarity >= keep_above for each in rewritten) if keep_above > 0 else 0
                return rewritten[: max(k, kept)]
            asked = min(MOST, 4 * asked)


def task_of(text: str) -> str:
    """Return the task from the text of a web state, `[page: actions] task`."""
    return text.rpartition("] ")[2]


def lift_action(action: str, theirs: str, ours: str) -> str | None:
    """Return an action of the task `theirs` rewritten for the task `ours`, None if that is not possible."""
    if theirs == ours or REDACTED in action:  # The page will refuse a redacted value, as it should.
        return action
    try:
        call = parse(action)
    except UsageError:
        return action
    if call.name in ENDING:
        return action if call.arguments == (DONE,) else None
    kept, counterparts = align(theirs, ours)
    foreign = _content(theirs) - _content(ours)
    if call.name == "goto":  # Names inside a URL are not replaced.
        return None if _content(str(call.arguments[0])) & foreign else action
    target = call.target
    if target is not None and target.name:
        name = _replaced(target.name, counterparts, kept, foreign)
        if name is None:
            return None
        target = target if name == target.name else Target(target.role, name)
    replaced = [_replaced(str(each), counterparts, kept, foreign) for each in call.arguments]
    if any(each is None for each in replaced):
        return None
    same = [each == str(given) for each, given in zip(replaced, call.arguments, strict=True)]
    arguments = tuple(g if s else t for g, t, s in zip(call.arguments, replaced, same, strict=True))
    return Call(call.name, target, arguments).text


@functools.lru_cache(maxsize=1024)
def align(theirs: str, ours: str) -> tuple[frozenset[str], Mapping[str, str]]:
    """Align two tasks.

    Returns:
        The words that are at the same position in both, and the counterparts in `ours` by phrase of `theirs`. Phrases
        are in lower case, without stop words at their ends; counterparts are as written.
    """
    a, b = (list(_WORD.finditer(task))[:LONGEST] for task in (theirs, ours))
    low_a, low_b = [m.group().casefold() for m in a], [m.group().casefold() for m in b]
    pairs = _pairs(low_a, low_b)
    kept = {low_a[i] for i, _ in pairs}
    counterparts: dict[str, str] = {}
    i = j = 0
    for i_end, j_end in [*pairs, (len(a), len(b))]:
        start, end = _trimmed(low_a, i, i_end)
        first, last = _trimmed(low_b, j, j_end)
        if start < end and first < last:
            phrase = theirs[a[start].start() : a[end - 1].end()].casefold()
            if _SECRET not in phrase:
                counterparts.setdefault(phrase, ours[b[first].start() : b[last - 1].end()])
        i, j = i_end + 1, j_end + 1
    for phrase, counterpart in _only_values(theirs, ours):
        counterparts.setdefault(phrase.casefold(), counterpart)
    return frozenset(kept), counterparts


def _pairs(a: list[str], b: list[str]) -> list[tuple[int, int]]:
    """Return the positions of equal words in an alignment of least edit distance."""
    cost = [[i + j if not i * j else 0 for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i, one in enumerate(a, 1):
        above, row = cost[i - 1], cost[i]
        for j, other in enumerate(b, 1):
            row[j] = min(above[j - 1] + (one != other), above[j] + 1, row[j - 1] + 1)
    found = []
    i, j = len(a), len(b)
    while i and j:
        if cost[i][j] == cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]):
            i, j = i - 1, j - 1
            if a[i] == b[j]:
                found.append((i, j))
        elif cost[i][j] == cost[i - 1][j] + 1:
            i -= 1
        else:
            j -= 1
    return found[::-1]


def _only_values(theirs: str, ours: str) -> tuple[tuple[str, str], ...]:
    """Return a pair of values, if each task has exactly one name, quoted text or number that the other lacks."""
    those, here = set(values_of(theirs)), set(values_of(ours))
    those, here = those - here, here - those
    if len(those) != 1 or len(here) != 1:
        return ()
    pair = (those.pop(), here.pop())
    numbers = {bool(_NUMBER.fullmatch(value)) for value in pair}
    return (pair,) if len(numbers) == 1 and _SECRET not in pair[0].casefold() else ()


def _rewritten(found: Iterable[Neighbour], ours: str) -> tuple[Neighbour, ...]:
    rewritten = []
    for neighbour in found:
        action = lift_action(neighbour.action, task_of(neighbour.state), ours)
        if action is not None:
            changed = action != neighbour.action
            rewritten.append(
                dataclasses.replace(neighbour, action=action, taken=neighbour.action)
                if changed
                else neighbour
            )
    return tuple(rewritten)


def _replaced(
    text: str, counterparts: Mapping[str, str], kept: frozenset[str], foreign: frozenset[str]
) -> str | None:
    """Return a text with phrases of the other task replaced, None if another word of that task remains.

    A phrase is not replaced if all its words are also at the same position in both tasks.
    """
    usable = {p: c for p, c in counterparts.items() if not _content(p) <= kept}
    if not usable:
        return None if _content(text) & foreign else text
    longest = sorted(usable, key=len, reverse=True)
    pattern = re.compile(rf"(?<![^\W_])(?:{'|'.join(map(re.escape, longest))})(?![^\W_])", re.IGNORECASE)
    if any(_content(piece) & foreign for piece in pattern.split(text)):
        return None
    return pattern.sub(lambda match: usable[match.group().casefold()], text)


def _trimmed(words: list[str], start: int, end: int) -> tuple[int, int]:
    """Return a span (start, end) of words without the stop words at its ends."""
    while start < end and words[start] in STOP:
        start += 1
    while start < end and words[end - 1] in STOP:
        end -= 1
    return start, end


def _content(text: str) -> frozenset[str]:
    """Return the words of a text without stop words, in lower case. Numbers lose leading zeros: 04 equals 4."""
    words = (word.casefold() for word in _WORD.findall(text))
    return frozenset(w.lstrip("0") or "0" if w.isdigit() else w for w in words if w not in STOP)
