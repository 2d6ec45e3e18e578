"""What an agent is: something that decides, one step at a time; and what it is made with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from engine.records import ActionRequest, Decision, Episode, Kept, Observation, Proposal, State, Step

if TYPE_CHECKING:
    from engine.llm.model import Write
    from engine.memory.scope import Scope
    from engine.settings import Settings


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


class Notebook(Protocol):
    """What a method has kept in this scope, and where it keeps more. Other methods' records are not seen."""

    def add(self, kind: str, text: str, data: Mapping[str, Any] | None = None) -> Kept:
        """Keep a record, with session, episode and time filled in; on return it is on the disk.

        The same words of the same episode are kept once.

        Args:
            kind: One word: "reflection".
            data: Plain JSON values.

        Returns:
            The record as it is kept: without secrets, and clipped where it was too long.

        Raises:
            BadFile: It cannot be stored: no kind, data that are no JSON values, or too much of them.
            StorageError: It could not be written.
        """
        ...

    def records(self, kind: str = "") -> tuple[Kept, ...]:
        """Return what is kept, oldest first; of one kind, or of all for "". Other sessions' records are among them."""
        ...


@dataclass(frozen=True, slots=True)
class AgentContext:
    """What a method has to make an agent of; lives as long as the session.

    Attributes:
        model: Proposes candidates.
        memory: The episodes remembered in this scope.
        settings: As they are followed.
        write: Asks the model in words. To be called from `begin_episode`, `decide` and `end_episode`.
        kept: The method's own records.
    """

    model: Prior
    memory: Scope
    settings: Settings
    write: Write
    kept: Notebook


class Agent(Protocol):
    """One method. Agents never touch the environment; the session does."""

    name: str
    learns: bool
    """Whether finished episodes go to memory."""

    def decide(self, turn: Turn, rng: np.random.Generator) -> Decision:
        """Return the choice for this turn with everything that led to it.

        The decision's `calls` are those that its candidates were made from; what was asked with `write` is on the
        account already.
        """
        ...

    def begin_episode(self, state: State) -> None:
        """An episode begins in `state`. Called again when its steps are taken again, to take it up or a step back.

        A ModelError or MissingError that is raised here is told, and the episode goes on.
        """
        ...

    def observe(
        self, step: Step, then: State, *, observation: Observation, terminated: bool, lost: bool
    ) -> None:
        """A step was taken, by the agent or by a person, and led to `then`.

        Args:
            observation: What the environment showed for it.
            terminated: The task ended the episode with this step. False where it was only cut off.
            lost: The episode ended in death or another loss.
        """
        ...

    def end_episode(self, episode: Episode, first: int) -> None:
        """Learn from a finished episode beyond what memory keeps.

        A ModelError or MissingError that is raised here is told, and the session goes on. If the session is left
        before this returns, the episode is taken up again and this is called again.

        Args:
            episode: As it was remembered, with its number; number 0 where it was not.
            first: Entry number of its step 0, -1 where it was not remembered.
        """
        ...
