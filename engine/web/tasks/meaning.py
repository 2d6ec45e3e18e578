"""Compares an answer with a reference by meaning with a model call; used only if asked for (`fuzzy=model`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.errors import ModelError
from engine.llm.model import Model, Question
from engine.llm.reading import parse
from engine.web.drawing.text import fenced
from engine.web.prompts import PAGES
from engine.web.tasks.classic import Judge

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"reasoning": {"type": "string"}, "same": {"type": "boolean"}},
    "required": ["reasoning", "same"],
    "additionalProperties": False,
}


def by_model(model: Model) -> Judge:
    """Return a function that asks `model` whether an answer means the same as a reference.

    The function raises ModelError if the model gives no verdict.
    """

    def same(intent: str, reference: str, answer: str) -> bool:
        prompt = PAGES.render("same", question=intent, reference=reference, answer=fenced(answer))
        for _ in range(2):
            found = parse.json_object(model.complete(Question("rewards", prompt.chat(), SCHEMA)).text) or {}
            if isinstance(found.get("same"), bool):
                return bool(found["same"])
        raise ModelError("the model did not say whether the answer means the same as the reference")

    return same
