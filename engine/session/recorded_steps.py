"""What a recording says of its episodes: what was decided and done in them, and what they have cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from engine.errors import BadFile
from engine.records import (
    Decided,
    Decision,
    EpisodeEnded,
    EpisodeStarted,
    Event,
    ModelCalled,
    Observation,
    Stepped,
    TakenBack,
)
from engine.session.account import Account


@dataclass(frozen=True, slots=True)
class TakenStep:
    """A step that was taken.

    Attributes:
        decision: What was carried out.
        decided: What the agent had decided; None where it did not decide, as the step was taken again after a later
            one was taken back.
        before: What was seen before it.
        after: What was seen after it.
    """

    decision: Decision
    decided: Decision | None
    before: Observation
    after: Observation


@dataclass(slots=True)
class Take:
    """An episode from its beginning to its end, or to where its last step was taken back.

    Attributes:
        steps: Its steps.
        decision: What was to be carried out after them and was not, None if there is nothing.
        decided: What the agent had decided then.
    """

    steps: list[TakenStep] = field(default_factory=list)
    decision: Decision | None = None
    decided: Decision | None = None


@dataclass(slots=True)
class Past:
    """An episode of a recording.

    Attributes:
        started: Its beginning.
        takes: One more than there are steps that were taken back, in their order.
        told: The events that tell what it has cost.
        ended: Its end; None if the recording lacks that.
    """

    started: EpisodeStarted
    takes: list[Take]
    told: list[Event]
    ended: EpisodeEnded | None = None

    def account(self) -> Account:
        """Return what it has cost, steps that were taken back included."""
        return charged(Account(self.started.episode, self.started.uid), self.told)


def episodes(past: Iterable[Event]) -> Iterator[Past]:
    """Yield the episodes of a session's events, oldest first; all but the last one have their end.

    Raises:
        BadFile: One lacks its beginning.
    """
    episode: Past | None = None
    for event in past:
        if isinstance(event, EpisodeStarted):
            episode = Past(event, [Take()], [])
        elif episode is None:
            if isinstance(event, (Decided, Stepped, TakenBack, EpisodeEnded)):
                raise BadFile("an episode lacks its beginning")
        elif isinstance(event, EpisodeEnded):
            episode.ended = event
            yield episode
            episode = None
        elif isinstance(event, (ModelCalled, Decided, Stepped, TakenBack)):
            episode.told.append(event)
            _go_on(episode, event)
    if episode is not None:
        yield episode


def _go_on(episode: Past, event: Event) -> None:
    """Put what happened next in its place in the episode."""
    take = episode.takes[-1]
    if isinstance(event, TakenBack):
        again = [replace(step, decided=None) for step in take.steps[:-1]]
        episode.takes.append(Take(again))
    elif isinstance(event, Decided):
        # Who left the session before the step decided once more; what a person decides comes after the agent's.
        take.decision = event.decision
        if event.decision.by == "agent":
            take.decided = event.decision
    elif isinstance(event, Stepped) and event.observation.broken:
        take.decision = take.decided = None  # The environment did not take it, so it is no step.
    elif isinstance(event, Stepped) and take.decision is not None:
        before = take.steps[-1].after if take.steps else episode.started.observation
        take.steps.append(TakenStep(take.decision, take.decided, before, event.observation))
        take.decision = take.decided = None


def charged(account: Account, events: Iterable[Event]) -> Account:
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
