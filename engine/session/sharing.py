"""Sessions that play at the same time with one memory: numbers of episodes, and what each sees of the others.

An episode sees what was committed when each of its decisions is made. Methods that ask memory at every step need
nothing for that. Those that read it once are told before each episode what others have stored since.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Protocol

from engine.agents.base import Agent, Resumable, SharingLearner
from engine.errors import BadFile
from engine.memory.disk.document import FORGOTTEN
from engine.memory.view import View
from engine.records import Episode, SessionStarted

SEQUENTIAL = "sequential"
"""An episode sees all episodes before it: the paper's protocol."""


class Shared(Protocol):
    """What the configuration of a session and the beginning of its recording both say of its workers."""

    @property
    def episodes(self) -> int:
        """Number of episodes of the session."""
        ...

    @property
    def workers(self) -> int:
        """Number of sessions that take their steps in turn."""
        ...

    @property
    def worker(self) -> int:
        """Number of the session among them, from 1."""
        ...


def place(session: Shared, episode: int) -> tuple[int, int]:
    """Return the number of an episode among those of all workers, and how many these have.

    Worker w of N plays the episodes w, w + N, w + 2 N, … of the whole. Draws, and settings that change with the number
    of the episode, go by this number. A session that plays alone has its own numbers.
    """
    return (episode - 1) * session.workers + session.worker, session.episodes * session.workers


def others(view: View, since: int, before: int, own: Collection[str]) -> Iterator[tuple[int, Episode]]:
    """Yield the episodes that other sessions stored, oldest first, each with the entry number of its step 0.

    Args:
        view: The memory.
        since: Entry number from which on they are told.
        before: Entry number from which on they are not.
        own: Uids of the session's own episodes.
    """
    for first, uid in view.scope.stored_since(since):
        if first >= before:
            return
        if uid in own:
            continue
        try:
            episode = view.scope.episode(uid)
        except BadFile:
            continue  # damaged since it was stored
        if episode is not None:
            seen = view.seen(episode, first)
            if not any(step.provenance == FORGOTTEN for step in seen.steps):
                yield first, seen


class TakingUp:
    """Tells an agent what other sessions store while its own runs.

    Args:
        agent: The agent.
        view: The memory.
        since: Entry number of the first step that was remembered after the session began.
        own: Uids of the session's own episodes. The session adds new ones.
    """

    def __init__(self, agent: Agent, view: View, since: int, own: Collection[str]) -> None:
        learner = agent.learner if isinstance(agent, Resumable) else None
        self._learner = learner if isinstance(learner, SharingLearner) else None
        self._view, self._since, self._own = view, since, own

    def until(self, before: int | None) -> None:
        """Tell what was stored in entries below a number and was not told yet; nothing for None."""
        if before is None or before <= self._since:
            return
        if self._learner is not None:
            for first, episode in others(self._view, self._since, before, self._own):
                self._learner.lived_elsewhere(episode, first)
        self._since = before


def experience(workers: int, others: int) -> str:
    """Return which experiment a session was, as manifests say it.

    Args:
        workers: Number of sessions that took their steps in turn.
        others: Number of episodes that other sessions stored in its memory while it ran.
    """
    if workers > 1:
        return f"asynchronous, {workers} workers, step-locked"
    return "asynchronous, workers as they come" if others else SEQUENTIAL


def said(started: SessionStarted, others: int) -> dict[str, object]:
    """Return what a manifest says of the experience of a session.

    Args:
        started: Its beginning.
        others: Number of episodes that other sessions stored in its memory while it ran.
    """
    return {
        "kind": experience(started.workers, others),
        "workers": started.workers,
        "memory": started.memory,
        "episodes_before": started.episodes_before,
        "episodes_of_others": others,
    }
