"""What an episode costs: every call of the model, whoever asked, on the account of the episode that is running."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from engine.records import NO_TALLY, Decision, Event, ModelCall, ModelCalled, Tally


@dataclass(slots=True)
class Account:
    """What one episode has cost so far, and what became of the model's answers.

    Attributes:
        episode: Number of the episode in its session, from 1.
        uid: Of the episode.
        step: Steps of it that were taken so far.
    """

    episode: int
    uid: str
    step: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    tally: Tally = NO_TALLY

    def decided(self, decision: Decision) -> None:
        """Count what the candidates of a decision cost, carried out or not; its tally counts when it is."""
        for call in decision.calls:
            self._pay(call)

    def called(self, call: ModelCall) -> None:
        """Count a call that belongs to no decision's candidates."""
        self._pay(call)
        self.count(tally_of(call))

    def count(self, more: Tally) -> None:
        """Add to the tally."""
        self.tally = added(self.tally, more)

    def _pay(self, call: ModelCall) -> None:
        """Count what a model call cost; what came from the cache cost nothing now."""
        self.tokens += 0 if call.cached else call.prompt_tokens + call.completion_tokens
        self.cost_usd += call.cost_usd


def added(one: Tally, other: Tally) -> Tally:
    """Return the sum of two tallies."""
    fields = (spec.name for spec in dataclasses.fields(Tally))
    return Tally(**{name: getattr(one, name) + getattr(other, name) for name in fields})


def tally_of(call: ModelCall) -> Tally:
    """Return what a call outside decisions adds to a tally."""
    return Tally(calls=1, cached=int(call.cached), retries=call.retries)


class Accounts:
    """Takes every call outside decisions, puts it on the account of the running episode and tells it.

    Args:
        tell: Takes the events.
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
        """Whether steps are being taken again whose cost is on the account already."""
        return self._repeating

    def open(self, account: Account) -> None:
        """From now on this account is charged, also for calls that were made before any episode."""
        self._running = account
        while self._waiting:
            self.charge(self._waiting.pop(0))

    @contextlib.contextmanager
    def repeating(self) -> Iterator[None]:
        """Within, steps are taken again: calls that are answered from the cache were counted when they were made."""
        self._repeating = True
        try:
            yield
        finally:
            self._repeating = False

    def charge(self, call: ModelCall) -> None:
        """Count and tell a call."""
        if self._running is None:
            self._waiting.append(call)
        elif not (self._repeating and call.cached):
            self._running.called(call)
            self._tell(ModelCalled(self._running.episode, self._running.step, call))

    def missed(self) -> None:
        """Count a state or a history that rules wrote in the model's place."""
        if self._running is not None:
            self._running.count(Tally(unwritten=1))
