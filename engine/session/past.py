"""Reads the unfinished episode at the end of a recording: its decisions and its cost."""

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
    """An unfinished episode.

    Attributes:
        account: Its cost so far, including steps that were undone.
        decisions: The decisions that were carried out and not undone.
        texts: The environment's output after each of them.
    """

    account: Account
    decisions: tuple[Decision, ...]
    texts: tuple[str, ...]


def unfinished(past: Iterable[Event]) -> Unfinished | None:
    """Return the unfinished episode at the end of a session's events, None if there is none.

    Raises:
        BadFile: The beginning of the episode is missing.
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
    """Add the cost of an episode's events to its account; return the account.

    Tokens and cost are taken from the last event that has totals, because earlier versions did not record calls outside
    decisions.
    """
    decision: Decision | None = None
    for event in events:
        if isinstance(event, ModelCalled):
            account.called(event.call)
        elif isinstance(event, Decided):
            decision = event.decision
            if decision.provenance == "agent":  # a person's decision follows the agent's, which is already counted
                account.decided(decision)
        elif isinstance(event, (Stepped, TakenBack)):
            if isinstance(event, Stepped) and decision is not None:
                account.count(decision.tally)
            account.tokens, account.cost_usd = event.tokens, event.cost_usd
    return account
