"""Compares two sessions step by step: where they do something else for the first time, and why."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from engine import explain
from engine.records import Decision, Event, SessionStarted, total_cost
from engine.session.recorded_steps import SessionReader, TakenStep

SAME, ACTION, ANSWER, ALONE = "same", "action", "answer", "alone"
"""How two sessions compare at a step: the same, another action, another answer to it, or only one has the step."""


@dataclass(frozen=True, slots=True)
class ComparedOption:
    """What a session thought of an action at a step.

    Attributes:
        action: The action.
        before: Its probability without memory.
        after: Its probability with memory.
        q: Q(s, a) as `engine.explain.shown` shows it, None if memory had no part in it.
        n: How often the action is remembered there.
        now: How often it was tried there in the running episode, as far as the estimator counts that.
    """

    action: str
    before: float
    after: float
    q: float | None = None
    n: int = 0
    now: int = 0


@dataclass(frozen=True, slots=True)
class SessionStep:
    """A step of one session.

    Attributes:
        action: What was done.
        provenance: Who decided: "agent" or "human".
        seen: What was seen before it.
        answer: What it was answered with.
        score: Score after it.
        reward: Points that it gave.
        options: What the agent thought of each candidate.
        v: V(s) as `engine.explain.shown` shows it, None if memory had no part in it.
        unit: What V and Q are measured in: "points", "novelty" or "return G"; "" without them.
    """

    action: str
    provenance: str
    seen: str
    answer: str
    score: float
    reward: float
    options: tuple[ComparedOption, ...]
    v: float | None = None
    unit: str = ""

    def option(self, action: str) -> ComparedOption | None:
        """Return what the agent thought of an action, None if it was no candidate."""
        return next((option for option in self.options if option.action == action), None)


@dataclass(frozen=True, slots=True)
class ComparedStep:
    """A step of two sessions.

    Attributes:
        episode: Number of the episode, from 1.
        step: Step within the episode, from 0.
        left: The step of the first session, None if it has none.
        right: That of the second session.
    """

    episode: int
    step: int
    left: SessionStep | None
    right: SessionStep | None

    @property
    def kind(self) -> str:
        """One of `SAME`, `ACTION`, `ANSWER` and `ALONE`."""
        if self.left is None or self.right is None:
            return ALONE
        if self.left.action != self.right.action:
            return ACTION
        return SAME if (self.left.answer, self.left.score) == (self.right.answer, self.right.score) else ANSWER


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """One of two sessions that are compared.

    Attributes:
        started: Its first event, None if the recording lacks it.
        scores: Final score by episode, of those that ended.
        tokens: Model tokens, of all episodes.
        cost_usd: What they cost, in US dollars; None if a price is not known.
    """

    started: SessionStarted | None
    scores: dict[int, float]
    tokens: int
    cost_usd: float | None

    @property
    def average(self) -> float | None:
        """Mean final score, None if no episode has ended."""
        return sum(self.scores.values()) / len(self.scores) if self.scores else None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two sessions, step by step.

    Attributes:
        left: The first session.
        right: The second session.
        rows: All steps that at least one of them has, in their order.
        others: Settings in which they differ, with both values as text; also "agent", "model" and "seed".
        first: Index of the first row that is not the same, None if there is none.
    """

    left: ComparedRun
    right: ComparedRun
    rows: tuple[ComparedStep, ...]
    others: dict[str, tuple[str, str]]
    first: int | None

    def next(self, at: int, by: int) -> int | None:
        """Return the index of the next row that differs after `at`, or before it if `by` is -1; None without one."""
        at += by
        while 0 <= at < len(self.rows):
            if self.rows[at].kind != SAME:
                return at
            at += by
        return None


def compare(left: Iterable[Event], right: Iterable[Event]) -> Comparison:
    """Compare two recordings. Steps are aligned by episode and step; those that were taken back are left out.

    Raises:
        BadFile: One of them is damaged.
    """
    one, left_steps = _read(left)
    other, right_steps = _read(right)
    rows = tuple(
        ComparedStep(episode, step, left_steps.get((episode, step)), right_steps.get((episode, step)))
        for episode, step in sorted(left_steps.keys() | right_steps.keys())
    )
    first = next((at for at, row in enumerate(rows) if row.kind != SAME), None)
    return Comparison(one, other, rows, _others(one.started, other.started), first)


def reason(row: ComparedStep) -> str:
    """Return why two sessions differ at a step, as a sentence; "" if they do not."""
    left, right = row.left, row.right
    if left is None or right is None:
        have = "B" if left is None else "A"
        return f"Only {have} has this step: the other's episode ended before it, or is not as far."
    if row.kind == SAME:
        return ""
    if row.kind == ANSWER:
        return "They did the same and were answered differently."
    who = [name for name, side in (("A", left), ("B", right)) if side.provenance == "human"]
    if who:
        return f"A person decided in {' and in '.join(who)}."
    if left.seen != right.seen:
        return "They were in different situations."
    if {option.action for option in left.options} != {option.action for option in right.options}:
        return "They weighed different actions."
    if not _alike(left, right, "before"):
        return "The model's own probabilities differ."
    if not _alike(left, right, "after"):
        return "The model's own probabilities are the same; memory changed them differently."
    return "The probabilities are the same; the draw was different."


def actions_taken(row: ComparedStep) -> list[tuple[str, ComparedOption | None, ComparedOption | None]]:
    """Return the actions that were taken at a step, the first session's first, each with what both thought of it."""
    actions = dict.fromkeys(side.action for side in (row.left, row.right) if side is not None)
    return [
        (
            action,
            row.left.option(action) if row.left is not None else None,
            row.right.option(action) if row.right is not None else None,
        )
        for action in actions
    ]


def _alike(left: SessionStep, right: SessionStep, name: str) -> bool:
    """Return whether all actions have the same probabilities, "before" memory or "after" it."""
    one, other = ({option.action: getattr(option, name) for option in side.options} for side in (left, right))
    return one.keys() == other.keys() and all(math.isclose(one[a], other[a], abs_tol=1e-9) for a in one)


def _read(events: Iterable[Event]) -> tuple[ComparedRun, dict[tuple[int, int], SessionStep]]:
    """Return a session and its steps by episode and step."""
    reader, scores, costs = SessionReader(), dict[int, float](), list[tuple[int, float | None]]()
    steps = dict[tuple[int, int], SessionStep]()
    for past in reader.episodes((0.0, event) for event in events):
        number, account = past.started.episode, past.account()
        if past.ended is not None:
            scores[number] = past.ended.score
        spent = past.ended or account
        costs.append((spent.tokens, spent.cost_usd))
        steps |= {(number, at): _side(taken) for at, taken in enumerate(past.steps)}
    tokens, dollars = sum(one for one, _ in costs), total_cost(one for _, one in costs)
    return ComparedRun(reader.started, scores, tokens, dollars), steps


def _side(taken: TakenStep) -> SessionStep:
    decision = taken.decided or taken.decision
    update = decision.update
    seen = explain.shown_values(update) if explain.knows(update) else None
    return SessionStep(
        action=taken.decision.action,
        provenance=taken.decision.provenance,
        seen=taken.before.text,
        answer=taken.after.text,
        score=taken.after.score,
        reward=taken.after.score - taken.before.score,
        options=_options(decision, seen),
        v=seen.v if seen is not None else None,
        unit=seen.unit if seen is not None else "",
    )


def _options(decision: Decision, seen: explain.Shown | None) -> tuple[ComparedOption, ...]:
    made = []
    for i, candidate in enumerate(decision.candidates):
        before, after = decision.prior[i], decision.posterior[i]
        if seen is None or decision.update is None:
            made.append(ComparedOption(candidate.action, before, after))
        else:
            made.append(
                ComparedOption(candidate.action, before, after, seen.q[i], *explain.try_counts(decision.update, i))
            )
    return tuple(made)


def _others(left: SessionStarted | None, right: SessionStarted | None) -> dict[str, tuple[str, str]]:
    """Return in what two sessions differ from their beginning on."""
    if left is None or right is None:
        return {}
    one, other = (
        {"agent": each.agent, "model": each.model, "seed": each.seed, **each.settings} for each in (left, right)
    )
    return {
        name: (str(one.get(name, "")), str(other.get(name, "")))
        for name in dict.fromkeys((*one, *other))
        if one.get(name) != other.get(name)
    }
