"""A short test of whether a model can write and judge, with questions of our own. Results are stored for a month.

The paper's method asks a model for step rewards, summaries of states, and histories. If a model cannot answer
these, rules would replace it at every step. So it is tested once, before anything is played.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from engine.disk import cache_json, cached_json
from engine.errors import ModelError
from engine.llm.model import Model, Question
from engine.llm.prompts import Folder
from engine.llm.reading import parse

FILE = "writing.json"
KEPT_S = 30 * 86400.0
TRIES = 2
FAILED = "{} did not pass the short writing test"


@dataclass(frozen=True, slots=True)
class WritingTest:
    """A question with a check of its answer.

    Attributes:
        prompts: Folder of the prompt.
        purpose: Purpose of such calls, which is also the name of the prompt.
        blanks: Values of the fields of the prompt.
        passes: Returns whether an answer is usable.
        schema: JSON schema of an answer, None for plain text.
        compared: Returns the words of a usable answer that memory compares; None where it compares none.
    """

    prompts: Folder
    purpose: str
    blanks: Mapping[str, str]
    passes: Callable[[str], bool]
    schema: Mapping[str, Any] | None = None
    compared: Callable[[str], frozenset[str]] | None = None


@dataclass(frozen=True, slots=True)
class Repeated:
    """How alike the answers to one question are that was asked several times.

    Attributes:
        asked: Number of answers asked for.
        usable: Number of usable ones.
        similarity: Jaccard similarity of the words that memory compares, the least of all pairs, 0 to 1; None if fewer
            than two answers were usable.
    """

    asked: int
    usable: int
    similarity: float | None

    @property
    def same(self) -> bool:
        """Whether all were usable and equal for memory."""
        return self.usable == self.asked and self.similarity == 1.0


def ask_repeatedly(model: Model, test: WritingTest, temperature: float) -> Repeated:
    """Ask the question of a test `TRIES` times anew, and compare the answers as memory does.

    Args:
        test: One with `compared`.
        temperature: That of such calls in a session.

    Raises:
        MissingError: The network or a key is missing.
    """
    assert test.compared is not None
    messages = test.prompts.render(test.purpose, **test.blanks).chat()
    question = Question(test.purpose, messages, test.schema, usable=test.passes, fresh=True, temperature=temperature)
    found: list[frozenset[str]] = []
    for _ in range(TRIES):
        with contextlib.suppress(ModelError):
            said = model.complete(question).text
            if test.passes(said):
                found.append(test.compared(said))
    pairs = [len(a & b) / (len(a | b) or 1) if a != b else 1.0 for a, b in combinations(found, 2)]
    return Repeated(TRIES, len(found), min(pairs, default=None))


def why_not(
    model: Model, test: WritingTest, cache: Path | None, clock: Callable[[], float] = time.time
) -> str:
    """Return why the answers of `model` to this kind of question are unusable, "" if they are usable.

    The model is asked at most twice, and not again for a month. If it did not answer at all, this is not
    stored, and it is tested again the next time.

    Args:
        cache: Folder for the result, None to store nothing.

    Raises:
        MissingError: The network or a key is missing.
    """
    key = f"{model.name} {test.purpose} {test.prompts.digest(test.purpose)}"
    known = cached_json(cache / FILE) if cache is not None else {}
    entry = known.get(key)
    if isinstance(entry, dict) and clock() - float(entry.get("at", 0.0)) < KEPT_S:
        return "" if entry.get("can") else FAILED.format(model.name)
    answered, problem = _tested(model, test)
    if cache is not None and answered:
        cache_json(cache / FILE, {**known, key: {"can": not problem, "at": clock()}})
    return problem


def _tested(model: Model, test: WritingTest) -> tuple[bool, str]:
    """Return whether there was an answer, and why none was usable, "" if one was."""
    answered, problem = False, ""
    messages = test.prompts.render(test.purpose, **test.blanks).chat()
    for tries in range(TRIES):
        try:
            question = Question(
                test.purpose, messages, test.schema, usable=test.passes, fresh=tries > 0
            )
            reply = model.complete(question)
        except ModelError as error:
            problem = f"{model.name} did not answer the short writing test: {error}"
            continue
        if test.passes(reply.text):
            return True, ""
        answered, problem = True, FAILED.format(model.name)
    return answered, problem


def ranks(text: str, *, best: int, worst: int, steps: int) -> bool:
    """Return whether a judgement has a score for each step, and a higher one for step `best` than for step `worst`."""
    scores = {t: score for t, _, score, _ in parse.scores(text)}
    return all(t in scores for t in range(steps)) and scores[best] > scores[worst]
