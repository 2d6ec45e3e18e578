"""Tests for models that are to write or judge in text adventures; see `engine.llm.reading.writer_check`."""

from __future__ import annotations

import contextlib

from engine import texts
from engine.errors import ModelError
from engine.evaluator import SCHEMA
from engine.games.states.summaries import read_history, read_state
from engine.llm.prompts import TEXT
from engine.llm.reading.writer_check import WritingTest, ranks

_ROOM = (
    "Step 0: Cellar\nYou are in a damp cellar. A wooden ladder leads up. On a dusty shelf lie a tin box and a "
    "rusty key."
)
_NOUNS = ("cellar", "ladder", "shelf", "box", "key")
_STEPS = (
    "Step 0: Cellar\nA wooden ladder leads up. A steel door bars the way east. You are carrying a rusty key.\n"
    "-> Action: unlock door with key\n-> Reward: +10 (score 10)\n\n"
    "Step 1: The door is open now. Behind it something glitters.\n"
    "-> Action: sing (nothing in the world changed)\n-> Reward: +0 (score 10)\n\n"
    "Step 2: Nobody hears you.\n-> Action: east\n-> Reward: +25 (score 35)\n\n"
)
_END = "End (won): Treasury\nThis is what you came for. You have won."


def _sees(text: str) -> bool:
    nouns = " ".join(read_state(text))
    return 2 * sum(noun in nouns for noun in _NOUNS) > len(_NOUNS)


def _gives_away(text: str) -> bool:
    with contextlib.suppress(ModelError):
        return bool(read_history(text, ""))
    return False


def _nouns(text: str) -> frozenset[str]:
    return frozenset(word for noun in read_state(text) for word in texts.words(noun))


def _facts(text: str) -> frozenset[str]:
    return frozenset(texts.words(texts.without_prose(read_history(text, ""))))


def _judges(text: str) -> bool:
    return ranks(text, best=2, worst=1, steps=3)


TESTS = {
    "state": WritingTest(TEXT, "state", {"trajectory": _ROOM}, _sees, compared=_nouns),
    "history": WritingTest(TEXT, "history", {"trajectory": _STEPS + _END}, _gives_away, compared=_facts),
    "rewards": WritingTest(
        TEXT, "rewards",
        {"trajectory": _STEPS + _END, "total": "3", "final_score": "35", "steps": "0, 1, 2"}, _judges, SCHEMA,
    ),
}  # fmt: skip
"""The tests, by the setting for which a model has to write or judge."""
