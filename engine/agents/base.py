"""Protocols of agents and of the objects that they are made with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from engine.records import ActionRequest, Decision, Episode, Kept, Observation, Proposal, State, Step

if TYPE_CHECKING:
    from engine.llm.dialect import Dialect
    from engine.llm.model import Write
    from engine.memory.scope import Scope
    from engine.settings import Settings


@dataclass(frozen=True, slots=True)
class Turn:
    """Input of one decision.

    Attributes:
        step: Step within the episode, from 0.
        steps_left: Steps until the limit, including this one.
        valid_actions: The actions that are possible now; never empty.
        present: The current situation as text for a prompt: the last output, the place, the inventory.
        recent: The last steps as text for a prompt, oldest first.
        resolve: Returns an action in the form in which it is remembered, or None if it cannot be taken now. It is set
            if more actions are possible than `valid_actions` lists.
        page: Returns the page as a snapshot (`engine.environment.Paged`). None if the environment shows no pages.
        episode: Number of this episode in its run, from 1.
        episodes: Number of episodes of the run, 0 if unknown.
    """

    step: int
    steps_left: int
    observation: Observation
    state: State
    valid_actions: tuple[str, ...]
    present: str = ""
    recent: str = ""
    resolve: Callable[[str], str | None] | None = None
    page: Callable[[], str] | None = None
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
    """Reads and stores a method's own records in this scope. It does not show the records of other methods."""

    def add(self, kind: str, text: str, data: Mapping[str, Any] | None = None) -> Kept:
        """Store a record on disk. Session, episode and time are filled in.

        A text is stored once per episode.

        Args:
            kind: One word, for instance "reflection".
            data: Plain JSON values.

        Returns:
            The record as stored: without secrets, and clipped if it was too long.

        Raises:
            BadFile: The kind is missing, or the data are too large or not JSON values.
            StorageError: The record could not be written.
        """
        ...

    def records(self, kind: str = "") -> tuple[Kept, ...]:
        """Return the records of one kind (all kinds for ""), oldest first. Those of other sessions are included."""
        ...


@dataclass(frozen=True, slots=True)
class AgentContext:
    """What a method gets to make an agent for one session.

    Attributes:
        model: Proposes candidates.
        memory: The episodes remembered in this scope.
        settings: The settings in effect.
        write: Asks the model in words. Call it only from `begin_episode`, `decide` and `end_episode`.
        kept: The method's own records.
        before: For a session that is resumed, number of the first entry that was remembered after it began; None
            otherwise.
        dialects: The dialects of this kind of environment by name.
    """

    model: Prior
    memory: Scope
    settings: Settings
    write: Write
    kept: Notebook
    before: int | None = None
    dialects: Mapping[str, Dialect] = field(default_factory=dict)


class Agent(Protocol):
    """Chooses actions. An agent does not access the environment; the session does."""

    name: str
    learns: bool
    """Whether finished episodes are stored in memory."""

    def decide(self, turn: Turn, rng: np.random.Generator) -> Decision:
        """Return the decision for this turn.

        Its `calls` are the model calls that gave its candidates. Calls made with `write` are already charged and are
        not among them.
        """
        ...

    def begin_episode(self, state: State) -> None:
        """Note that an episode begins in `state`.

        This is called again when the steps of an episode are repeated, to resume it or to undo a step. A ModelError
        or MissingError raised here is shown to the person, and the episode goes on.
        """
        ...

    def observe(
        self, step: Step, then: State, *, observation: Observation, terminated: bool, lost: bool
    ) -> None:
        """Note a step of the agent or of a person, and the state `then` after it.

        Args:
            observation: What the environment showed for it.
            terminated: The task ended the episode with this step. False if the episode was cut off.
            lost: The episode ended in death or another loss.
        """
        ...

    def end_episode(self, episode: Episode, first: int) -> None:
        """Learn from a finished episode in addition to storing it in memory.

        A ModelError or MissingError raised here is shown to the person, and the session goes on. If the session is
        stopped before this returns, the episode is resumed later and this is called again.

        Args:
            episode: The episode as stored in memory; its number is 0 if it was not stored.
            first: Entry number of its step 0, -1 if it was not stored.
        """
        ...


class Learner(Protocol):
    """What an agent learns step by step and keeps in no file.

    When a session is resumed, it is told again what happened in it, in the same order. It asks no model.
    """

    def begin_episode(self, state: State) -> None:
        """An episode began in `state`, or its steps were taken again from there because the last was taken back."""
        ...

    def decided(self, turn: Turn, decision: Decision, rng: np.random.Generator) -> None:
        """The agent decided, whether or not it was carried out.

        Args:
            turn: As it was then, without texts for prompts, `resolve` and `page`.
            rng: As it was then.
        """
        ...

    def observe(self, step: Step, then: State, *, terminated: bool, lost: bool) -> None:
        """A step was taken; see `Agent.observe`."""
        ...

    def remembered(self, episode: Episode, first: int) -> None:
        """The episode ended.

        Args:
            episode: As it is in memory. What is not there any more is not told at all.
            first: Entry number of its step 0.
        """
        ...


@runtime_checkable
class SharingLearner(Learner, Protocol):
    """A learner that is told what other sessions store in the same memory while its session runs."""

    def lived_elsewhere(self, episode: Episode, first: int) -> None:
        """Another session stored an episode. Called before `begin_episode`, in the order in which they were stored.

        Args:
            episode: As it is in memory.
            first: Entry number of its step 0.
        """
        ...


@runtime_checkable
class Resumable(Protocol):
    """An agent that needs more than memory and its own records to decide as it would have, had it not been left.

    The steps that lead to where the unfinished episode was left are taken again: `begin_episode` and `observe` of the
    agent tell of them. Its learner is only told what was decided before each of these.
    """

    @property
    def learner(self) -> Learner | None:
        """What is to be told, None where there is nothing of the kind."""
        ...
