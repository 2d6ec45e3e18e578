"""What a recording says of its episodes: what was decided and done in them, with which settings, and at what cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

from engine.errors import BadFile
from engine.records import (
    Decided,
    Decision,
    EpisodeEnded,
    EpisodeStarted,
    Event,
    ModelCalled,
    Observation,
    SessionEnded,
    SessionStarted,
    SettingsChanged,
    Stepped,
    TakenBack,
)
from engine.session.account import Account


@dataclass(frozen=True, slots=True)
class TakenStep:
    """A step that was taken.

    Attributes:
        decision: What was carried out.
        decided: What the agent had decided; None if it was not asked.
        before: What was seen before it.
        after: What was seen after it.
        at: Unix time at which the agent decided.
        changed: What a person had changed of the settings by then, by name.
        again: Whether it was taken again, as a later one was taken back.
    """

    decision: Decision
    decided: Decision | None
    before: Observation
    after: Observation
    at: float = 0.0
    changed: Mapping[str, Any] = field(default_factory=dict)
    again: bool = False


@dataclass(slots=True)
class Take:
    """An episode from its beginning to its end, or to where its last step was taken back.

    Attributes:
        steps: Its steps.
        decision: What was to be carried out after them and was not, None if there is nothing.
        decided: What the agent had decided then.
        at: Unix time at which it did.
        changed: What a person had changed of the settings by then, by name.
    """

    steps: list[TakenStep] = field(default_factory=list)
    decision: Decision | None = None
    decided: Decision | None = None
    at: float = 0.0
    changed: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class RecordedEpisode:
    """An episode of a recording.

    Attributes:
        started: Its beginning.
        takes: One more than there are steps that were taken back, in their order.
        events: The events that tell what it has cost.
        ended: Its end; None if the recording lacks that.
        began_at: Unix time of its beginning.
        ended_at: Unix time of its end.
        changes: What a person changed of the settings in it, and between the episode before and it.
    """

    started: EpisodeStarted
    takes: list[Take] = field(default_factory=lambda: [Take()])
    events: list[Event] = field(default_factory=list)
    ended: EpisodeEnded | None = None
    began_at: float = 0.0
    ended_at: float = 0.0
    changes: list[SettingsChanged] = field(default_factory=list)

    @property
    def steps(self) -> list[TakenStep]:
        """Its steps, without those that were taken back."""
        return self.takes[-1].steps

    def copy(self) -> RecordedEpisode:
        """Return an independent copy, which can go on."""
        takes = [replace(take, steps=[*take.steps]) for take in self.takes]
        return replace(self, takes=takes, events=[*self.events], changes=[*self.changes])

    def account(self) -> Account:
        """Return what it has cost, steps that were taken back included."""
        return charge(Account(self.started.episode, self.started.uid), self.events)


class SessionReader:
    """Makes episodes of the events of a session.

    Attributes:
        started: How the session began; None before it is read.
        first: Unix time of the first event.
        last: Unix time of the last event so far.
        changed: What a person has changed of the settings so far, by name.
        finished: Whether all of its episodes were played.
        episode: The episode that has not ended; None if there is none.
    """

    def __init__(self) -> None:
        self.started: SessionStarted | None = None
        self.first = self.last = 0.0
        self.changed: Mapping[str, Any] = {}
        self.finished = False
        self.episode: RecordedEpisode | None = None
        self._changes: list[SettingsChanged] = []
        """Those since the last episode ended."""

    def copy(self) -> SessionReader:
        """Return an independent copy, which can go on."""
        twin = copy(self)
        twin.episode, twin._changes = self.episode and self.episode.copy(), [*self._changes]
        return twin

    def episodes(self, events: Iterable[tuple[float, Event]]) -> Iterator[RecordedEpisode]:
        """Yield the episodes of events, oldest first; all but the last one have their end.

        Args:
            events: (Unix time, event), as `engine.session.recording.read` gives them.

        Raises:
            BadFile: One lacks its beginning.
        """
        for at, event in events:
            episode = self.episode
            self.add(at, event)
            if episode is not None and episode.ended is not None:
                yield episode
        if self.episode is not None:
            yield self.episode

    def add(self, at: float, event: Event) -> None:
        """Take in the next event.

        Raises:
            BadFile: Its episode lacks its beginning.
        """
        self.first, self.last = self.first or at, at
        episode = self.episode
        if isinstance(event, EpisodeStarted):
            self.episode = RecordedEpisode(event, began_at=at, changes=self._changes)
            self._changes = []
        elif isinstance(event, SettingsChanged):
            self.changed = event.settings
            (self._changes if episode is None else episode.changes).append(event)
        elif isinstance(event, SessionStarted):
            self.started = event
        elif isinstance(event, SessionEnded):
            self.finished = event.finished
        elif episode is None:
            if isinstance(event, (Decided, Stepped, TakenBack, EpisodeEnded)):
                raise BadFile("an episode lacks its beginning")
        elif isinstance(event, EpisodeEnded):
            episode.ended, episode.ended_at = event, at
            self.episode = None
        elif isinstance(event, (ModelCalled, Decided, Stepped, TakenBack)):
            episode.events.append(event)
            self._go_on(episode, at, event)

    def _go_on(self, episode: RecordedEpisode, at: float, event: Event) -> None:
        """Put what happened next in its place in the episode."""
        take = episode.takes[-1]
        if isinstance(event, TakenBack):
            episode.takes.append(Take([replace(step, again=True) for step in take.steps[:-1]]))
        elif isinstance(event, Decided):
            if event.decision.by == "agent" or take.decision is None:
                take.at, take.changed = at, self.changed
            # Who left the session before the step decided once more; what a person decides comes after the agent's.
            take.decision = event.decision
            if event.decision.by == "agent":
                take.decided = event.decision
        elif isinstance(event, Stepped) and event.observation.broken:
            take.decision = take.decided = None  # The environment did not take it, so it is no step.
        elif isinstance(event, Stepped) and take.decision is not None:
            before = take.steps[-1].after if take.steps else episode.started.observation
            take.steps.append(
                TakenStep(take.decision, take.decided, before, event.observation, take.at, take.changed)
            )
            take.decision = take.decided = None


def episodes(events: Iterable[tuple[float, Event]]) -> Iterator[RecordedEpisode]:
    """Yield the episodes of a session's events, as `SessionReader` does."""
    return SessionReader().episodes(events)


def changed_at(played: Iterable[RecordedEpisode], at: tuple[int, int]) -> Mapping[str, Any] | None:
    """Return what a person had changed of the settings when a step was decided last; None if it never was.

    Args:
        played: Episodes of a session.
        at: Number of the episode, and the step.
    """
    found: Mapping[str, Any] | None = None
    for take in (take for past in played if past.started.episode == at[0] for take in past.takes):
        made = [(step.decision, step.changed) for step in take.steps if step.decided is not None and not step.again]
        made += [(take.decision, take.changed)] if take.decision is not None else []
        found = next((changed for decision, changed in made if decision.step == at[1]), found)
    return found


def effective(events: Iterable[tuple[float, Event]]) -> list[tuple[float, Event]]:
    """Return a session's events without steps that were taken back, and without its end."""
    kept: list[tuple[float, Event]] = []
    for at, event in events:
        if isinstance(event, TakenBack):  # the last step goes, the decision for it, and any later one
            while kept and not isinstance(kept.pop()[1], Stepped):
                pass
            while kept and isinstance(kept[-1][1], Decided):
                kept.pop()
        elif not isinstance(event, SessionEnded):
            kept.append((at, event))
    return kept


def charge(account: Account, events: Iterable[Event]) -> Account:
    """Put on an account what the events of its episode have cost; return it.

    Tokens and cost are those that were told last: earlier versions recorded no calls outside decisions.
    """
    decision: Decision | None = None
    for event in events:
        if isinstance(event, ModelCalled):
            account.called(event.call)
        elif isinstance(event, Decided):
            before, decision = decision, event.decision
            again = before is not None and (before.step, before.calls) == (decision.step, decision.calls)
            if decision.by == "agent" and not again:
                # A person's stands for the agent's that was told before it, and so does what is decided again with the
                # same calls because a person changed memory.
                account.decided(decision)
        elif isinstance(event, (Stepped, TakenBack)):
            if isinstance(event, Stepped) and decision is not None:
                account.count(decision.tally)
            account.tokens, account.cost_usd = event.tokens, event.cost_usd
    return account
