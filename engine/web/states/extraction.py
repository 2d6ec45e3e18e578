"""Lets a language model extract the effective local history (App. F), instead of rules.

The model gets the actions taken on this page and the page as text. In the paper's way it also gets screenshots of the
page at the start of the visit and now. It names the actions that define the page. Only actions that were really taken
are used. If the answer names none, the history made by rules is used.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from engine.environment import Writing
from engine.errors import JitrlError, ModelError
from engine.llm.model import Question
from engine.records import Observation
from engine.web.drawing.text import CLOSE, OPEN, fence
from engine.web.prompts import PAGES
from engine.web.states.history import TakenAction, visit_of

_ANSWER = re.compile(r"(?:final answer|output)\**\s*(?::|--?)\**\s*(.*)", re.IGNORECASE | re.DOTALL)
_ARROW = re.compile(r"\s*(?:->|→|\n)\s*")
NOTHING = "no action"
PAGE = 6000
LARGEST_PICTURE = 500_000
"""Largest JPEG that is sent, in bytes. A usual screenshot has about a tenth of that."""
SEEN_TWICE = "**SCREENSHOTS:** the first is the page as it was come to, the second the final page."
SEEN_ONCE = "**SCREENSHOT:** the final page."


class Extraction:
    """Asks a model which actions of a page visit define the page.

    Args:
        writing: Model, settings, and callbacks for costs, failures and notices.
        picture: Returns the page as JPEG with secrets hidden, b"" if that is not possible. None to use no pictures.
    """

    def __init__(self, writing: Writing, picture: Callable[[], bytes] | None = None) -> None:
        self._writing = writing
        self._picture = picture
        self._come_to = b""
        """Screenshot of the page at the start of this visit."""
        self._reported: set[str] = set()

    def effective(
        self, taken: tuple[TakenAction, ...], observation: Observation, by_rule: tuple[str, ...]
    ) -> tuple[str, ...]:
        """Return the actions that define the page, oldest first; `by_rule` if the model fails."""
        visit = [step.action for step in visit_of(taken, observation.place)]
        now = self._look()
        if not visit:
            self._come_to = now
            return ()
        pictures = tuple(filter(None, dict.fromkeys((self._come_to, now)))) if now else ()
        # The first line, which has the task, is left out: the kind of page does not depend on the task.
        page = observation.description.partition("\n")[2].removeprefix(f"{OPEN}\n").removesuffix(f"\n{CLOSE}")[:PAGE]
        prompt = PAGES.render(
            "history",
            actions=fence(" -> ".join(visit)),
            page=fence(page),
            screenshots=("", SEEN_ONCE, SEEN_TWICE)[len(pictures)],
        )
        try:
            temperature = self._writing.settings.summary_temperature
            reply = self._writing.write(Question("history", prompt.chat(), pictures=pictures, temperature=temperature))
            return read(reply.text, visit)
        except JitrlError as error:
            self._writing.missed()
            self._tell(f"the history on this page is written by rules for now: {error}")
            return by_rule

    def _look(self) -> bytes:
        """Return a screenshot of the page, b"" if there is none or it may not be sent."""
        if self._picture is None:
            return b""
        picture = self._picture()
        if 0 < len(picture) <= LARGEST_PICTURE:
            return picture
        self._tell("a page could not be shown to the model as a picture; the model gets its text alone")
        return b""

    def _tell(self, sentence: str) -> None:
        if sentence not in self._reported:
            self._reported.add(sentence)
            self._writing.notice(sentence)


def read(text: str, visit: list[str]) -> tuple[str, ...]:
    """Return the taken actions that a model named, without duplicates, ordered by when each was last taken.

    Raises:
        ModelError: It named none, and did not say that there is none.
    """
    found = _ANSWER.findall(text)
    answer = found[-1] if found else text.strip().splitlines()[-1] if text.strip() else ""
    named = {part.strip(" `*[].\"'") for part in _ARROW.split(answer)}
    named |= {part.strip(" `*") for part in _ARROW.split(answer)}
    kept = dict.fromkeys(action for action in reversed(visit) if action in named)
    if not kept and NOTHING not in answer.casefold():
        raise ModelError("the model named no action that was taken on the page")
    return tuple(reversed(kept))
