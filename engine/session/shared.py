"""Sessions that play at the same time with one memory: numbers of episodes, and what each sees of the others.

An episode sees what was committed when each of its decisions is made. Methods that ask memory at every step need
nothing for that. Those that read it once are told before each episode what others have stored since.
"""

from __future__ import annotations

from engine.records import SessionStarted
from engine.settings import SessionConfig

SEQUENTIAL = "sequential"
"""An episode sees all episodes before it: the paper's protocol."""


def place(session: SessionConfig | SessionStarted, episode: int) -> tuple[int, int]:
    """Return the number of an episode among those of all workers, and how many these have.

    Worker w of N plays the episodes w, w + N, w + 2 N, … of the whole. Draws, and settings that change with the number
    of the episode, go by this number. A session that plays alone has its own numbers.
    """
    return (episode - 1) * session.workers + session.worker, session.episodes * session.workers


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
