"""Hints about the next action in two stages. No model is asked: they come from the pending decision."""

from __future__ import annotations

from engine.records import Decision
from jitrl_tui.runs.view import Choice
from jitrl_tui.system.output import one_line

NOTHING_YET = "There is no hint yet: the agent has not decided."


class Hints:
    """Hints for one decision after the other."""

    def __init__(self) -> None:
        self._of: Choice | None = None
        self._given = 0

    def next(self, choice: Choice | None, pending: bool) -> str:
        """Return a hint in a sentence: first only how the best-known action begins, then all of it.

        Args:
            choice: The latest decision.
            pending: Whether it has not been carried out yet.
        """
        if choice is None or not pending:
            return NOTHING_YET
        if choice is not self._of:
            self._of, self._given = choice, 0
        action, source = best(choice.decision)
        if not source:
            return "There is no hint: neither the agent nor memory knows anything here."
        action = one_line(action)
        first, _, rest = action.partition(" ")
        self._given = min(self._given + 1, 2)
        shown = action if self._given == 2 else f"{first} …" if rest else f"{first[:1]}…, one word"
        return f"Hint {self._given} of 2, from {source}: {shown}"


def best(decision: Decision) -> tuple[str, str]:
    """Return the most probable action of a decision, and where it comes from; "" as source if it is a mere draw."""
    if not decision.candidates:
        return decision.action, ""
    at = max(range(len(decision.candidates)), key=lambda i: decision.posterior[i])
    candidate, update = decision.candidates[at], decision.update
    if update is not None and update.valuation.how[at] == "known":
        return candidate.action, "memory"
    if candidate.source == "random" or len(set(decision.posterior)) == 1 < len(decision.candidates):
        return candidate.action, ""
    return candidate.action, "the agent"
