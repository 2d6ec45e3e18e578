"""Tests for models that are to judge steps on web pages; see `engine.llm.reading.writing`.

There is no test for states, which web pages do not have, nor for histories, which are checked against the
actions.
"""

from __future__ import annotations

from engine.evaluator import SCHEMA
from engine.llm.reading.writing import WritingTest, ranks
from engine.web.prompts import PAGES

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
