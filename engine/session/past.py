"""What a recording says of an episode that was left before its end: what was done in it, and what it has cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from engine.errors import BadFile
from engine.records import (
    Decided,
    Decision,
    EpisodeEnded,
    EpisodeStarted,
    Event,
    ModelCalled,
    Stepped,
    TakenBack,
)
from engine.session.account import Account
from engine.session.recording import without_last_step


@dataclass(frozen=True, slots=True)
class Unfinished:
    """An episode that was left.

    Attributes:
        account: What it has cost, steps that were taken back included.
        decisions: Those that were carried out and not taken back.
        texts: What each of them was answered with.
    """

    account: Account
    decisions: tuple[Decision, ...]
    texts: tuple[str, ...]


def unfinished(past: Iterable[Event]) -> Unfinished | None:
    """Return the episode that a session's events end in, None if they end between two.

    Raises:
        BadFile: The episode lacks its beginning.
    """
    told: list[Event] = []
    for event in past:
        if isinstance(event, EpisodeStarted):
            told = [event]
        elif isinstance(event, EpisodeEnded):
            told = []
        elif isinstance(event, (ModelCalled, Decided, Stepped, TakenBack)):
            told.append(event)
    if not told:
        return None
    first = told[0]
    if not isinstance(first, EpisodeStarted):
        raise BadFile("an episode lacks its beginning")
    left: list[Event] = []
    for event in told:
        if isinstance(event, TakenBack):
            left = without_last_step(left)
        else:
            left.append(event)
    pairs, decision = [], None
    for event in left:
        if isinstance(event, Decided):
            decision = event.decision
        elif isinstance(event, Stepped) and decision is not None:
            pairs.append((decision, event.observation.text))
    account = charged(Account(first.episode, first.uid), told)
    return Unfinished(account, tuple(made for made, _ in pairs), tuple(text for _, text in pairs))


def charged(account: Account, events: Iterable[Event]) -> Account:
    """Put on an account what the events of its episode have cost; return it.

    Tokens and cost are those that were told last: earlier versions recorded no calls outside decisions.
    """
    decision: Decision | None = None
    for event in events:
        if isinstance(event, ModelCalled):
            account.called(event.call)
        elif isinstance(event, Decided):
            decision = event.decision
            if decision.provenance == "agent":  # a person's stands for the agent's that was told before it
                account.decided(decision)
        elif isinstance(event, (Stepped, TakenBack)):
            if isinstance(event, Stepped) and decision is not None:
                account.count(decision.tally)
            account.tokens, account.cost_usd = event.tokens, event.cost_usd
    return account
