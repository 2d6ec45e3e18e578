"""How a model is asked for actions on web pages (App. F, WebArena).

The current state of a page is a text that begins with a line "Task: ..." and holds the page between two
markers; see `engine.web.environment`.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.errors import UsageError
from engine.evaluator import SCHEMA
from engine.llm.questions import AnswerForm, TextAsking
from engine.llm.reading.writer_check import WritingTest, ranks
from engine.records import ActionRequest
from engine.web.actions import DESCRIPTION, parse
from engine.web.drawing.text import GOAL, TITLE
from engine.web.prompts import PAGES

_RECENT = 6


class PageAsking(TextAsking):
    """How a model is asked on web pages. Actions are calls on elements, and not all of them can be listed."""

    def blanks(self, request: ActionRequest) -> dict[str, str]:
        """Return page and task as separate fields, so that the user's task is separate from the site's text."""
        present = request.current_state
        first, _, rest = present.partition("\n")
        return {
            "current_state": rest if first.startswith(GOAL) else present,
            "task_goal": _line(present, GOAL),
            "action_space_description": DESCRIPTION,
        }

    def scored_after(self, name: str) -> str:
        """Return the only prompt for web pages."""
        return "actions_transcript"

    def transcript(self, request: ActionRequest) -> str:
        """Return the task, the last actions, and the title of the page."""
        lines = [line for line in request.recent_history.splitlines() if line.strip()]
        done = [line.strip() for line in lines if not line.startswith("  ->")]
        lines = [f"{GOAL}{_line(request.current_state, GOAL)}"]
        lines += [f"> {action}" for action in done[-_RECENT:]]
        lines += [f"Page: {_line(request.current_state, TITLE)}"]
        return "\n".join(lines)

    def allowed(self, valid: Sequence[str]) -> str:
        """Return a sentence about the form of actions."""
        return "Every option must be one of the available actions, on an element the page shows"

    def accepted(self, text: str) -> str | None:
        """Return an action in its plain form, None if it is not one. Its element is not looked up here."""
        try:
            return parse(text.strip().strip("`")).text
        except UsageError:
            return None

    def odds(self, request: ActionRequest) -> Sequence[float]:
        """Return log-odds of each action from the words of the task and the usual purpose of elements."""
        from engine.web.prior import logits

        return logits(request)


PAGE_ASKING = PageAsking(
    PAGES,
    AnswerForm(
        first={"reasoning": "Your overall reasoning about the current state"},
        reason="option{}_reasoning",
        reason_shown="Why this action",
        option_shown="click(<link[Name]>)",
        listed=False,
    ),
    ("memory_text", "recent_history", "summary"),
    # The profile transforms a model's confidences to the same scale, on which experience outweighs the prior.
    shares=True,
)


def _line(text: str, start: str) -> str:
    return next((line.removeprefix(start) for line in text.splitlines() if line.startswith(start)), "")


_STEPS = (
    "Step 0: [shop/SLUG: nothing yet] Put the blue kettle into the basket\n-> Action: click(<link[Terms]>)\n"
    "-> Result: Terms and conditions\n\n"
    "Step 1: [shop/SLUG: nothing yet] Put the blue kettle into the basket\n-> Action: click(<button[Add to basket]>)\n"
    "-> Result: The blue kettle is in your basket\n\nEnd: [basket: nothing yet]"
)


def _judges(text: str) -> bool:
    return ranks(text, best=1, worst=0, steps=2)


TESTS = {
    "rewards": WritingTest(
        PAGES, "rewards",
        {"trajectory": _STEPS, "total": "2", "verdict": "the task was DONE", "steps": "0, 1"}, _judges, SCHEMA,
    ),
}  # fmt: skip
"""The tests, by the setting for which a model has to write or judge."""
