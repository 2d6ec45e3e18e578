"""Makes a decision again that waits to be carried out, after a person changed memory. No model is asked."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

from engine.errors import JitrlError
from engine.records import Decision
from engine.session import recording
from engine.session.live import Parts


def reread(
    parts: Parts,
    recorded: Path,
    episode: int,
    decision: Decision,
    *,
    warn: Callable[[str], None],
    check: Callable[[], None],
) -> Decision:
    """Return the decision as memory has it made now; the same one if the agent does not decide from memory.

    Args:
        recorded: The recording of the session.
        episode: Number of the running episode.
        warn: Called with a sentence if it could not be made again.
        check: Raises if the person has stopped the session.
    """
    from engine.agents.jitrl import JitrlAgent
    from engine.session.retold import RecordedRun
    from engine.values.base import Growing

    if not isinstance(parts.agent, JitrlAgent):
        return decision
    try:
        run = RecordedRun(recording.read(recorded), parts.scope, live=True)
        told = run.told((episode, decision.step), check=check)
    except JitrlError as error:
        warn(f"the decision could not be made again from the changed memory: {error}; {error.remedy}")
        return decision
    if told is None:
        return decision
    estimator, again = told
    if isinstance(estimator, Growing):  # others ask memory at every step
        parts.agent.rest_on(estimator)
    why = f"{again.now.why} You changed memory before this step."
    return dataclasses.replace(again.now, why=why)
