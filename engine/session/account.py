"""Accounts of episodes: each model call is charged to the episode that is running, whoever made it."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from engine.records import NO_TALLY, Decision, Event, ModelCall, ModelCalled, Tally, total_cost


@dataclass(slots=True)
class Account:
    """Cost of one episode so far, and counts of the model's answers.

    Attributes:
        episode: Number of the episode in its session, from 1.
        uid: Uid of the episode.
        step: Number of its steps so far.
        processor_s: Processor seconds of the playing.
    """

    episode: int
    uid: str
    step: int = 0
    tokens: int = 0
    cost_usd: float | None = 0.0
    tally: Tally = NO_TALLY
    processor_s: float = 0.0

    def decided(self, decision: Decision) -> None:
        """Add the cost of a decision's candidates. Its tally is added only if the decision is carried out."""
        for call in decision.calls:
            self._pay(call)

    def called(self, call: ModelCall) -> None:
        """Add the cost and the tally of a call that does not belong to a decision."""
        self._pay(call)
        self.count(tally_of(call))

    def count(self, more: Tally) -> None:
        """Add `more` to the tally."""
        self.tally = add_tallies(self.tally, more)

    def _pay(self, call: ModelCall) -> None:
        """Add the cost of a model call. Replies from the cache cost nothing."""
        self.tokens += 0 if call.cached else call.prompt_tokens + call.completion_tokens
        self.cost_usd = total_cost((self.cost_usd, call.cost_usd))


def add_tallies(one: Tally, other: Tally) -> Tally:
    """Return the sum of two tallies."""
    fields = (spec.name for spec in dataclasses.fields(Tally))
    return Tally(**{name: getattr(one, name) + getattr(other, name) for name in fields})


def tally_of(call: ModelCall) -> Tally:
    """Return the tally of one call outside decisions."""
    return Tally(calls=1, cached=int(call.cached), retries=call.retries)


def neighbours_found(tally: Tally) -> str:
    """Return how often memory had neighbours; "" if none were looked for, or in an empty memory only."""
    return f"neighbours in {tally.found} of {_decisions(tally.searched)}" if tally.searched else ""


def remarks(tally: Tally) -> tuple[str, ...]:
    """Return in words what a tally says of memory and of the model's answers, as far as there is something to say."""
    alike = f"all options rated alike in {tally.alike} of {_decisions(tally.asked)}" if tally.alike else ""
    texts = "text" if tally.unwritten == 1 else "texts"
    unwritten = f"{tally.unwritten} {texts} of the model unusable and written by rules" if tally.unwritten else ""
    return tuple(filter(None, (neighbours_found(tally), alike, unwritten)))


def _decisions(number: int) -> str:
    return f"{number:,} decision{'' if number == 1 else 's'}"


class Accounts:
    """Charges each call outside decisions to the running episode, and emits an event for it.

    Args:
        tell: Called with each event.
    """

    def __init__(self, tell: Callable[[Event], None]) -> None:
        self._tell = tell
        self._running: Account | None = None
        self._waiting: list[ModelCall] = []
        self._repeating = False

    @property
    def running(self) -> Account | None:
        """The account of the running episode; None before the first one."""
        return self._running

    @property
    def repeated(self) -> bool:
        """Whether recorded steps are being repeated, whose cost is already charged."""
        return self._repeating

    def open(self, account: Account) -> None:
        """Charge this account from now on, including calls made before the first episode."""
        self._running = account
        while self._waiting:
            self.charge(self._waiting.pop(0))

    @contextlib.contextmanager
    def repeating(self) -> Iterator[None]:
        """Mark the block as a repetition of recorded steps: calls answered from the cache are not counted again."""
        self._repeating = True
        try:
            yield
        finally:
            self._repeating = False

    def charge(self, call: ModelCall) -> None:
        """Charge a call to the running episode and emit an event for it."""
        if self._running is None:
            self._waiting.append(call)
        elif not (self._repeating and call.cached):
            self._running.called(call)
            self._tell(ModelCalled(self._running.episode, self._running.step, call))

    def missed(self) -> None:
        """Count a state or history that rules wrote because the model's text was missing."""
        if self._running is not None:
            self._running.count(Tally(unwritten=1))
