"""Human: takes the actions of a recording, episode by episode and step by step: a line to compare with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from engine import limits
from engine.agents.base import AgentContext, Turn
from engine.agents.random import UniformPrior
from engine.agents.static import Recalled, StaticAgent
from engine.codec import event_from_line
from engine.disk import lines_of
from engine.errors import BadFile, UsageError
from engine.records import Basis, BasisItem, Candidate, Decision, Proposal, Stepped, TakenBack

MISSING = "the recording has no action for this step"
EVENTS = "events.jsonl"


class HumanAgent(StaticAgent):
    """Takes what was done in the recording that the setting `replayed` names. No model, no memory.

    Raises:
        UsageError: No recording is named, or it cannot be opened.
        BadFile: It is none.
    """

    def __init__(self, context: AgentContext) -> None:
        super().__init__(UniformPrior(), context.settings, name="human")
        if not context.settings.replayed:
            raise UsageError("the agent human takes the actions of a recording: name it with --set replayed=SESSION")
        self._episodes = actions(Path(context.settings.replayed))

    def decide(self, turn: Turn, rng: np.random.Generator) -> Decision:
        """Return the action of the recording, or one that is drawn where it has none."""
        decision = super().decide(turn, rng)
        if decision.note:
            return decision
        return replace(decision, why=f"The recording has '{decision.action}' here.")

    def recall(self, turn: Turn) -> Recalled:
        """Return where in the recording the action is."""
        action = self._recorded(turn)
        if action is None:
            return Recalled()
        item = BasisItem(action, f"episode {turn.episode}, step {turn.step + 1}")
        return Recalled(parts=(Basis("recording", "Recording", (item,)),))

    def propose(self, turn: Turn, rng: np.random.Generator, memory_text: str = "") -> Proposal:
        """Return the action of the recording as the only candidate."""
        action = self._recorded(turn)
        if action is None:
            return Proposal((), note=MISSING)
        here = turn.resolve(action) if turn.resolve is not None else None
        return Proposal((Candidate(here or action, 0.0, "valid"),))

    def _recorded(self, turn: Turn) -> str | None:
        taken = self._episodes.get(turn.episode, [])
        return taken[turn.step] if turn.step < len(taken) else None


def actions(path: Path) -> dict[int, list[str]]:
    """Return what was done in each episode of a recording, by its number, without steps that were taken back.

    Args:
        path: Of the recording, or of the session's folder.

    Raises:
        UsageError: It cannot be opened.
        BadFile: It is no recording.
    """
    file = path / EVENTS if path.is_dir() else path
    found: dict[int, list[str]] = {}
    try:
        for line in lines_of(file, limits.LINE):
            if not line.endswith(b"\n"):
                break
            _, event = event_from_line(line)
            if isinstance(event, Stepped):
                found.setdefault(event.episode, []).append(event.action)
            elif isinstance(event, TakenBack):
                found[event.episode] = found.get(event.episode, [])[: event.step]
    except OSError as error:
        raise UsageError(f"cannot read the recording {file}: {error.strerror}") from None
    except BadFile as error:
        raise BadFile(f"{file} is not a recording of jitrl: {error}") from None
    return found
