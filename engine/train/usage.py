"""What a run has taken: episodes, steps, tokens, processor time."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engine.session.processor import processor_seconds
from engine.train.run_files import WeightUpdate

if TYPE_CHECKING:
    from engine.train.rollouts import PlayedEpisode


@dataclass(frozen=True, slots=True)
class ProcessUsage:
    """What a process has taken; see `engine.train.run_files.WeightUpdate`."""

    episodes: int = 0
    environment_steps: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    trained_tokens: int = 0
    processor_s: float = 0.0
    wall_s: float = 0.0


@dataclass(slots=True)
class UsageCounter:
    """Counts while a process works.

    Attributes:
        before: What was taken before this process began.
    """

    before: ProcessUsage = field(default_factory=ProcessUsage)
    _more: ProcessUsage = field(default_factory=ProcessUsage)
    _began: float = field(default_factory=time.monotonic)

    @classmethod
    def of(cls, update: WeightUpdate) -> UsageCounter:
        """Return counts that go on from an update."""
        return cls(ProcessUsage(**{spec.name: getattr(update, spec.name) for spec in dataclasses.fields(ProcessUsage)}))

    def add(self, episode: PlayedEpisode, passes: int = 1) -> None:
        """Count an episode that weights are trained with.

        Args:
            episode: The episode.
            passes: Number of passes of gradients over it.
        """
        more = self._more
        self._more = dataclasses.replace(
            more,
            episodes=more.episodes + 1,
            environment_steps=more.environment_steps + len(episode.gains),
            prompt_tokens=more.prompt_tokens + episode.prompt_tokens,
            completion_tokens=more.completion_tokens + episode.completion_tokens,
            trained_tokens=more.trained_tokens + passes * episode.trained_tokens,
        )

    def set_trained(self, tokens: int) -> None:
        """Set the tokens that gradients were computed for, those before this process included."""
        self._more = dataclasses.replace(self._more, trained_tokens=tokens - self.before.trained_tokens)

    def now(self) -> ProcessUsage:
        """Return all that was taken so far."""
        more = dataclasses.replace(
            self._more, processor_s=processor_seconds(), wall_s=time.monotonic() - self._began
        )
        return total([self.before, more])


def total(parts: Iterable[ProcessUsage]) -> ProcessUsage:
    """Return the sum."""
    parts = list(parts)
    return ProcessUsage(
        **{spec.name: sum(getattr(one, spec.name) for one in parts) for spec in dataclasses.fields(ProcessUsage)}
    )


def together(processes: Iterable[ProcessUsage]) -> ProcessUsage:
    """Return what several processes took together; they ran at the same time."""
    parts = list(processes)
    return dataclasses.replace(total(parts), wall_s=max(one.wall_s for one in parts))
