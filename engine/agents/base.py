"""What an agent is: something that decides, one step at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from engine.records import ActionRequest, Decision, Episode, Observation, Proposal, State, Step


@dataclass(frozen=True, slots=True)
class Turn:
    """What an agent sees when it is to choose.

    Attributes:
        step: Step within the episode, from 0.
        steps_left: Steps until the limit, this one included.
        valid_actions: The actions possible now, never empty.
        present: What a prompt tells of the present: the last answer, the place, what is carried.
        recent: The last steps as text for a prompt, oldest first.
        resolve: Where more can be done than `valid_actions` counts: returns an action as it is remembered, None if
            it cannot be taken now.
        episode: Number of this episode in its run, from 1.
        episodes: Episodes of the run, 0 if nobody knows.
    """

    step: int
    steps_left: int
    observation: Observation
    state: State
    valid_actions: tuple[str, ...]
    present: str = ""
    recent: str = ""
    resolve: Callable[[str], str | None] | None = None
    episode: int = 1
    episodes: int = 0


class Prior(Protocol):
    """A frozen policy: a language model, or a stand-in that needs none."""

    def propose(self, request: ActionRequest, rng: np.random.Generator) -> Proposal:
        """Return candidates with logits.

        Raises:
            ModelError: No usable answer.
        """
        ...


class Agent(Protocol):
    """One method. Agents never touch the environment; the session does."""

    name: str
    learns: bool
    """Whether finished episodes go to memory."""

    def decide(self, turn: Turn, rng: np.random.Generator) -> Decision:
        """Return the choice for this turn with everything that led to it."""
        ...

    def begin_episode(self, state: State) -> None:
        """An episode begins in `state`."""
        ...

    def observe(self, step: Step, then: State, *, terminated: bool, lost: bool) -> None:
        """A step was taken, by the agent or by a person, and led to `then`.

        Args:
            terminated: The task ended the episode with this step. False where it was only cut off.
            lost: The episode ended in death or another loss.
        """
        ...

    def end_episode(self, episode: Episode, first: int) -> None:
        """Learn from a finished episode beyond what memory keeps.

        Args:
            episode: As it was remembered, with its number; number 0 where it was not.
            first: Entry number of its step 0, -1 where it was not remembered.
        """
        ...
