"""A recorded run whose decisions can be made again: what it would decide with other settings or another memory.

The agent is the same as in a session (`engine.agents.jitrl`), with the same draws. What the model proposed is taken
from the recording, so no model is asked, and the environment is not played: the session is replayed to the agent.
Numbers are therefore those of a run with these settings, up to the first step that such a run would take differently.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.errors import UsageError
from engine.memory.scope import Scope
from engine.memory.search import EVERYTHING, MemoryFilter
from engine.memory.view import ScopeView
from engine.records import Decision, Event
from engine.session import levers
from engine.session.recorded_agent import RecordedAgent, RecordedEstimator
from engine.session.recorded_steps import RecordedEpisode, SessionReader, changed_at
from engine.session.replay import Replay, ReplayedDecision
from engine.settings import Settings, settings_from
from engine.values import ESTIMATORS, make_estimator
from engine.values.base import failure

_PARTS = {spec.name: spec.metadata["part"] for spec in dataclasses.fields(Settings)}
_POLICY = frozenset(name for name, part in _PARTS.items() if part == "policy")
"""Settings that count after V and Q are known."""
_VALUES = frozenset(name for name, part in _PARTS.items() if part == "values")
"""Settings that count after the neighbours are known, for the estimator knn."""
CHANGEABLE = frozenset(name for name, part in _PARTS.items() if part)
"""Settings whose effect needs no model and no environment."""


@dataclass(frozen=True, slots=True)
class DecisionAgain:
    """One recorded decision, made again.

    Attributes:
        episode: Number of the episode within the session, from 1.
        recorded: What the agent decided.
        now: What it decides with the other settings or memory.
        carried_out: Whether the recorded step was taken.
    """

    episode: int
    recorded: Decision
    now: Decision
    carried_out: bool = True

    @property
    def differs(self) -> bool:
        """Whether another action is chosen."""
        return self.now.action != self.recorded.action

    @property
    def same(self) -> bool:
        """Whether all is as recorded: the candidates, their values, both policies and the choice."""
        one, other = self.recorded, self.now
        return (
            one.action == other.action
            and [c.action for c in one.candidates] == [c.action for c in other.candidates]
            and np.allclose(one.posterior, other.posterior, rtol=0.0, atol=1e-9)
            and _numbers(one) == _numbers(other)
        )


class RecordedRun:
    """A recording whose decisions can be made again.

    Args:
        events: (Unix time, event) pairs of a recording, oldest first.
        scope: The memory it was played with; None if that is not at hand.
        live: Whether the run goes on, so that its last episode sees all that is remembered now.

    Raises:
        UsageError: The agent of the recording has no update of the logits, or nothing was decided.
    """

    def __init__(
        self, events: Iterable[tuple[float, Event]], scope: Scope | None = None, *, live: bool = False
    ) -> None:
        self.scope = scope
        self.episodes: list[RecordedEpisode] = []
        self._live = live
        self._reader = SessionReader()
        self._go_on(events)
        if self._reader.started is None:
            raise UsageError("the recording does not begin with a session")
        self.started = self._reader.started
        if self.started.agent != "jitrl":
            raise UsageError(
                f"the agent {self.started.agent} adjusts no logits, so there are no settings of Algorithm 1 to change"
            )
        self.settings = settings_from(self.started.settings)
        if next(self._decisions(), None) is None:
            raise UsageError("nothing was decided in this recording")

    def further(self, events: Iterable[tuple[float, Event]]) -> RecordedRun:
        """Return the run with further events of the recording; this one stays as it is."""
        twin = copy(self)
        twin._reader, twin.episodes = self._reader.copy(), [*self.episodes]
        if twin._reader.episode is not None:
            twin.episodes[-1] = twin._reader.episode
        twin._go_on(events)
        return twin

    def _go_on(self, events: Iterable[tuple[float, Event]]) -> None:
        for at, event in events:
            self._reader.add(at, event)
            episode = self._reader.episode
            if episode is None or episode in self.episodes[-1:]:
                continue
            if self.episodes and self.episodes[-1].ended is None:
                del self.episodes[-1]  # it was begun anew
            self.episodes.append(episode)

    def __len__(self) -> int:
        """Return the number of decisions of the agent, those that were not carried out included."""
        return sum(1 for _ in self._decisions())

    def _decisions(self) -> Iterator[tuple[float, Decision]]:
        """Yield what the agent decided, and when."""
        for past in self.episodes:
            for take in past.takes:
                made = (step for step in take.steps if not step.again)
                yield from ((step.at, step.decided) for step in made if step.decided is not None)
                if take.decided is not None:
                    yield take.at, take.decided

    @property
    def plans(self) -> bool:
        """Whether the estimator follows a plan through the run, so that all earlier decisions have to be made again."""
        return ESTIMATORS.find(self.settings.estimator).replayed

    def settings_at(self, at: tuple[int, int] | None = None) -> Settings:
        """Return the settings in force at a step, by its episode and step; None for those in force at the end."""
        found = changed_at(self.episodes, at) if at is not None else None
        return levers.with_changes(self.settings, self._changed if found is None else found)

    @property
    def _changed(self) -> Mapping[str, Any]:
        """What a person had changed of the settings at the end, by name."""
        return self._reader.changed

    def needs_memory(self, changes: Mapping[str, Any]) -> bool:
        """Return whether memory has to be asked anew with these changes of settings."""
        changed = set(self.changed(changes)) - _POLICY
        then, now = self.settings, dataclasses.replace(self.settings, **changes)
        if then.estimator != "knn" or now.estimator != "knn":
            return bool(changed)
        if now.k <= then.k and now.r >= then.r and not then.keep_above:
            changed -= {"k", "r"} - set(self._changed)  # the neighbours are among the recorded ones
        return bool(changed - _VALUES)

    def changed(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return those of some changes of settings that make a difference anywhere in the run, by name.

        Raises:
            UsageError: The effect of one of them cannot be computed from a recording.
        """
        found = {
            name: value for name, value in changes.items()
            if name in self._changed or value != getattr(self.settings, name)
        }  # fmt: skip
        if out := sorted(found.keys() - CHANGEABLE):
            raise UsageError(
                f"{out[0]} cannot be changed after the run: its effect needs the model or the environment. "
                f"These can be: {', '.join(sorted(CHANGEABLE))}"
            )
        return found

    def again(
        self,
        changes: Mapping[str, Any] | None = None,
        *,
        memory_filter: MemoryFilter | None = None,
        at: tuple[int, int] | None = None,
        from_memory: bool | None = None,
        check: Callable[[], None] = lambda: None,
    ) -> Iterator[DecisionAgain]:
        """Make the decisions again, oldest first.

        Args:
            changes: Settings to decide with, by name. All others are those that were in force at each decision.
            memory_filter: Changes of memory: what it lacks, and corrections. None for memory as it was at each step.
            at: Episode and step of the only decision to yield; None for all.
            from_memory: Whether memory is asked anew; None for only if the settings or the filter demand it.
            check: Called before each decision. What it raises ends the work.

        Raises:
            UsageError: Memory has to be asked and is not at hand, or a setting cannot be changed.
        """
        for _, one in self.with_agent(
            changes or {}, memory_filter=memory_filter, at=at, from_memory=from_memory, check=check
        ):
            yield one

    def with_agent(
        self,
        changes: Mapping[str, Any],
        *,
        memory_filter: MemoryFilter | None = None,
        at: tuple[int, int] | None = None,
        from_memory: bool | None = None,
        check: Callable[[], None] = lambda: None,
    ) -> Iterator[tuple[RecordedAgent, DecisionAgain]]:
        """Yield the same, each decision with the agent that has just made it."""
        asks = from_memory
        if asks is None:
            asks = self.needs_memory(changes) or (
                memory_filter is not None and not (self.scope is None and not self.plans)
            )
        if asks and self.scope is None:
            raise UsageError(
                "the memory of this recording is not at hand, so only settings that count after retrieval can be "
                f"changed: {', '.join(sorted(_POLICY | _VALUES))}"
            )
        if self.scope is not None:
            self.scope.refresh()
        view = ScopeView(self.scope) if asks and self.scope is not None else None
        changes = self.changed(changes)
        agent = self._agent(changes, view, memory_filter)
        begun = dataclasses.replace(self.started, next_entry=self._begin())
        replay = Replay(agent, begun, view, {past.started.uid for past in self.episodes})
        whole = at is None or (asks and agent.replayed)
        # A memory that never had anything of the run has forgotten nothing of it.
        forgotten = memory_filter is None or all(self._first(past) is None for past in self.episodes)
        for past in self.episodes:
            number = past.started.episode
            if at is not None and (number > at[0] or (not whole and number != at[0])):
                continue
            for asked in replay.episode(past, forgotten=forgotten):
                here = (number, asked.recorded.step)
                wanted = asked.stands and not asked.again and (at is None or here == at)
                if not (wanted or whole):
                    continue
                check()
                if view is not None:
                    view.memory_filter = self._memory_filter(past, asked.at, memory_filter)
                agent.change(self._settings_of(asked, changes))
                now = agent.again(asked)
                if wanted:
                    yield agent, DecisionAgain(number, asked.recorded, now, asked.carried_out)
                    if at is not None:
                        return

    def _agent(
        self, changes: Mapping[str, Any], view: ScopeView | None, memory_filter: MemoryFilter | None
    ) -> RecordedAgent:
        """Return an agent that decides again; with a view, from memory as it was when the session began."""
        settings = dataclasses.replace(self.settings, **changes)
        if view is None:
            memory_filter = memory_filter or EVERYTHING
            anew = not self.plans and bool(changes.keys() - _POLICY or memory_filter is not EVERYTHING)
            return RecordedAgent(RecordedEstimator(settings, memory_filter, anew), settings)
        begin, first = self._begin(), next((at for at, _ in self._decisions()), EVERYTHING.until)
        view.memory_filter = MemoryFilter(begin, first) if memory_filter is None else dataclasses.replace(
            memory_filter, before=begin, partly=True
        )
        try:
            return RecordedAgent(make_estimator(view, settings), settings)
        except Exception as error:
            raise failure(error) from error

    def _settings_of(self, asked: ReplayedDecision, changes: Mapping[str, Any]) -> Settings:
        """Return what a decision is made again with: what was in force then, with changes."""
        waits = asked.stands and not asked.carried_out
        then = levers.with_changes(self.settings, self._changed if waits else asked.changed)
        return dataclasses.replace(then, **changes)

    def _begin(self) -> int:
        """Return the number of the first entry that was remembered after the session began."""
        if self.started.next_entry is not None:
            return self.started.next_entry
        firsts = (self._first(past) for past in self.episodes)
        return next((first for first in firsts if first is not None), self.started.memory_entries)

    def _first(self, past: RecordedEpisode) -> int | None:
        return self.scope.first_entry(past.started.uid) if self.scope is not None else None

    def _memory_filter(self, past: RecordedEpisode, at: float, changes: MemoryFilter | None) -> MemoryFilter:
        """Return the filter for a decision of that time: memory as it was then, with changes."""
        before = self._first(past)
        if before is None and not (self._live and past is self.episodes[-1]):
            before = self._begin()
            for earlier in self.episodes[: self.episodes.index(past)]:
                if (
                    self.scope is not None
                    and (episode := self.scope.episode(earlier.started.uid)) is not None
                ):
                    before = self.scope.kept(episode)[1] + len(episode.steps)
        if changes is None:
            return MemoryFilter(before=before, until=at)
        return dataclasses.replace(changes, before=before)


def _numbers(decision: Decision) -> tuple[object, ...]:
    """Return what a decision rests on, rounded so that the order of sums does not count."""
    update = decision.update
    if update is None:
        return ()
    value = update.valuation
    return (
        round(value.v, 9),
        tuple(round(q, 9) for q in value.q),
        value.n,
        value.how,
        tuple(one.entry for one in update.neighbours),
    )
