"""Whether a model can write and judge: a short test with questions of our own, remembered for a month.

The paper's method asks a model for step rewards, for summaries of states and for histories. A model that cannot
answer such questions would be replaced by rules at every step, so it is asked once, before anything is played.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.disk import private_folder, read_text, write_private
from engine.errors import ModelError
from engine.llm.model import Model
from engine.llm.prompts import Folder
from engine.llm.reading import parse

FILE = "writing.json"
KEPT_S = 30 * 86400.0
TRIES = 2
FAILED = "{} did not pass the short writing test"


@dataclass(frozen=True, slots=True)
class WritingTest:
    """A question of our own, and what a usable answer to it is.

    Attributes:
        prompts: Where the prompt lies.
        purpose: What calls of this kind are for; the prompt's name, too.
        blanks: What the prompt's blanks are filled with.
        passes: Says whether an answer can be used.
        schema: JSON schema of an answer, None for words.
    """

    prompts: Folder
    purpose: str
    blanks: Mapping[str, str]
    passes: Callable[[str], bool]
    schema: Mapping[str, Any] | None = None


def why_not(
    model: Model, test: WritingTest, cache: Path | None, clock: Callable[[], float] = time.time
) -> str:
    """Return why `model` does not answer questions of this kind usably, "" if it does.

    It is asked at most twice, once a month. That a model did not answer at all is not kept: it may be able to the next
    time.

    Args:
        cache: Folder in which the result is kept, None for nowhere.

    Raises:
        MissingError: The network or a key is missing.
    """
    key = f"{model.name} {test.purpose} {test.prompts.digest(test.purpose)}"
    known = _load(cache)
    entry = known.get(key)
    if isinstance(entry, dict) and clock() - float(entry.get("at", 0.0)) < KEPT_S:
        return "" if entry.get("can") else FAILED.format(model.name)
    answered, problem = _tested(model, test)
    if cache is not None and answered:
        _save(cache, {**known, key: {"can": not problem, "at": clock()}})
    return problem


def _tested(model: Model, test: WritingTest) -> tuple[bool, str]:
    """Return whether there was an answer, and why none could be used, "" if one could."""
    answered, problem = False, ""
    messages = test.prompts.render(test.purpose, **test.blanks).chat()
    for tries in range(TRIES):
        try:
            reply = model.complete(
                test.purpose, messages, test.schema, usable=test.passes, fresh=tries > 0
            )
        except ModelError as error:
            problem = f"{model.name} did not answer the short writing test: {error}"
            continue
        if test.passes(reply.text):
            return True, ""
        answered, problem = True, FAILED.format(model.name)
    return answered, problem


def ranks(text: str, *, best: int, worst: int, steps: int) -> bool:
    """Return whether a judgement has a score for every step, and for the useful one a higher than for the useless."""
    scores = {t: score for t, _, score, _ in parse.scores(text)}
    return all(t in scores for t in range(steps)) and scores[best] > scores[worst]


def _load(cache: Path | None) -> dict[str, Any]:
    if cache is not None:
        with contextlib.suppress(OSError, ValueError):
            known = json.loads(read_text(cache / FILE))
            if isinstance(known, dict):
                return known
    return {}


def _save(cache: Path, known: Mapping[str, Any]) -> None:
    """Keep what is known, at best: where it cannot be written, the test is made again."""
    with contextlib.suppress(OSError):
        private_folder(cache)
        write_private(cache / FILE, json.dumps(known, indent=1))
