"""Judges the episodes of a task, and compares answers by meaning with a model call if asked for (`fuzzy=model`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from engine.errors import JitrlError, ModelError
from engine.llm.model import Model, Question
from engine.llm.reading import parse
from engine.web.drawing.text import fence
from engine.web.prompts import PAGES
from engine.web.records import Look
from engine.web.tasks.classic import Judge, targets
from engine.web.tasks.suites import WebTask, render
from engine.web.tasks.verdict import EpisodeOutcome, Scorer

if TYPE_CHECKING:
    from engine.web.sites.manager import BorrowedSites

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
        prompt = PAGES.render("same", question=intent, reference=reference, answer=fence(answer))
        for _ in range(2):
            found = parse.json_object(model.complete(Question("rewards", prompt.chat(), SCHEMA)).text) or {}
            if isinstance(found.get("same"), bool):
                return bool(found["same"])
        raise ModelError("the model did not say whether the answer means the same as the reference")

    return same


class TaskJudge:
    """Judges episodes with the evaluator of the suite, and resets local sites before each episode."""

    def __init__(self, task: WebTask, scorer: Scorer, lent: BorrowedSites | None = None) -> None:
        self._task = task
        self._scorer = scorer
        self._lent = lent

    @property
    def wants_answer(self) -> bool:
        """Whether an answer is required. WebArena-Verified requires one, the classic checks do not."""
        return not isinstance(self._task.raw["eval"], Mapping)

    def begin(self) -> None:
        """Reset the local sites of the task."""
        if self._lent is not None:
            self._lent.reset()

    def judge_with(self, model: Model) -> None:
        """Use `model` to compare answers by meaning where a comparison of texts is not enough."""
        self._scorer.compare_by(by_model(model))

    def looks(self, url: str) -> tuple[Look, ...]:
        """Return the pages that the classic program checks read; () for other tasks, or if a check is unsupported."""
        if not isinstance(self._task.raw["eval"], Mapping):
            return ()
        wanted = targets(self._task.raw, url)
        if any(target.unsupported for target in wanted):
            return ()
        return tuple(
            Look("" if t.url == "last" else render(t.url, self._scorer.urls), t.locator, t.prepare)
            for t in wanted
        )

    def judge(
        self, answer: str, url: str, entries: Sequence[Mapping[str, Any]], texts: Sequence[str]
    ) -> tuple[float | None, str]:
        """Judge an episode.

        Args:
            answer: The agent's last message to the user, "" if none.
            url: URL of the page the episode ended on.
            entries: HAR entries of the episode in order, with posted data.
            texts: The text found for each of `looks`; "" if none was found.

        Returns:
            The score from 0 to 1, None if it cannot be decided; and a sentence on why it is not 1.
        """
        try:
            verdict = self._scorer.score(self._task, self._outcome(answer, url, entries, texts))
        except JitrlError as error:
            return None, str(error)
        return verdict.score, verdict.why

    def _outcome(
        self, answer: str, url: str, entries: Sequence[Mapping[str, Any]], texts: Sequence[str]
    ) -> EpisodeOutcome:
        return EpisodeOutcome(answer, url, list(entries), texts, self._lent.databases if self._lent is not None else {})

    def close(self) -> None:
        """End the evaluator."""
        self._scorer.close()
