"""The abstracted state of a page: kind of page, actions on it, task (App. E).

`tokens` are the words of the task, each combined with the site and page pattern. So states of different kinds of
pages have no tokens in common, and on the same kind of page the Jaccard similarity is that of the tasks.
`history_tokens` are the words of the effective local history, with the number of their occurrences. In this way the
paper's two stages become one similarity, (1 - w) J(task) + w J(history).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from engine import texts
from engine.errors import UsageError
from engine.records import Observation, State
from engine.web.actions import parse
from engine.web.states.history import TakenAction, effective

if TYPE_CHECKING:
    from engine.environment import Writing
    from engine.web.states.extraction import Extraction

RECENT_TEXT = 300


def words(text: str) -> tuple[str, ...]:
    """Return the distinct words of a text in lower case, sorted."""
    return tuple(sorted(set(texts.words(text))))


def task_tokens(place: str, intent: str) -> tuple[str, ...]:
    """Return the task's words, each combined with the page pattern."""
    return tuple(f"{place} {word}" for word in words(intent) or ("",))


class WebAbstractor:
    """Makes states of pages. Implements `engine.environment.Abstractor`.

    Args:
        intent: Returns the current task in words; it may change at each reset.
        query: Returns the query of the current URL as `key=value` texts.
        picture: Returns the page as JPEG that may be shown to a model, b"" if there is none.
    """

    def __init__(
        self,
        intent: Callable[[], str],
        query: Callable[[], tuple[str, ...]],
        picture: Callable[[], bytes] = bytes,
    ) -> None:
        self._intent = intent
        self._query = query
        self._picture = picture
        self._taken: list[TakenAction] = []
        self._lines: list[str] = []
        self._place = ""
        self._queries = True
        self._extraction: Extraction | None = None

    def written(self, writing: Writing) -> WebAbstractor:
        """Drop queries, and let a model extract the effective history with the paper's prompt, if settings say so."""
        self._queries = writing.settings.page_query == "kept"
        history = writing.settings.history
        if history != "rules":
            from engine.web.states.extraction import Extraction

            self._extraction = Extraction(writing, self._picture if history == "vision" else None)
        return self

    def begin(self, observation: Observation) -> State:
        """Start a new episode and return the state of its first observation."""
        self._taken, self._lines = [], []
        seen = self._page(observation)
        self._place = seen.place
        return self._state(seen)

    def advance(self, action: str, observation: Observation) -> State:
        """Return the state after `action` led to `observation`."""
        self._taken.append(TakenAction(action, self._place, observation.changed))
        seen = self._page(observation)
        self._place = seen.place
        reward = f" (reward {observation.score:+g})" if observation.over else ""
        self._lines.append(f"{action}\n  -> {' '.join(observation.text.split())[:RECENT_TEXT]}{reward}")
        return self._state(seen)

    def recent(self, steps: int) -> str:
        """Return the last `steps` actions with their results, oldest first."""
        return "\n\n".join(self._lines[-steps:]) if steps > 0 else ""

    def situation(self, observation: Observation) -> str:
        """Return the page as text. The result of the last action is not repeated: `recent` has it."""
        return observation.description or observation.text

    def _page(self, observation: Observation) -> Observation:
        """Return the observation, with the page pattern that the settings ask for."""
        pattern = observation.place if self._queries else observation.place.partition("?")[0]
        return replace(observation, place=pattern)

    def _state(self, observation: Observation) -> State:
        intent, place = self._intent(), observation.place
        taken = tuple(self._taken)
        kept = effective(taken, place)
        if self._extraction is not None:
            kept = self._extraction.effective(taken, observation, kept)
        local = (*(self._query() if self._queries else ()), *kept)
        done = "; ".join(local) or "nothing yet"
        steps = [step.action for step in self._taken]
        summary = f"[SUMMARY] {intent} [PROGRESS] {'; '.join(steps[-8:]) or 'just begun'} [LOCATION] {place}"
        return State(
            text=f"[{place}: {done}] {intent}",
            tokens=task_tokens(place, intent),
            history=summary,
            history_tokens=texts.number_repeats([word for each in local for word in texts.words(_spoken(each))]),
            place=place,
        )


def _spoken(action: str) -> str:
    """Return the words of an action that identify a local state: function, element and text."""
    try:
        call = parse(action)
    except UsageError:
        return action
    target = ""
    if call.target is not None:
        twin = f" {call.target.role}{call.target.ordinal}" if call.target.ordinal else ""
        target = f"{call.target.role} {call.target.name}{twin}"
    return f"{call.name} {target} {' '.join(map(str, call.arguments))}"
