"""The protocol of agents, and the objects that they are made with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from engine.errors import StorageError
from engine.records import ActionRequest, Decision, Episode, Kept, Observation, Proposal, State, Step

if TYPE_CHECKING:
    from engine.errors import JitrlError
    from engine.llm.dialect import Dialect
    from engine.llm.model import Write
    from engine.memory.kept import KeptRecords
    from engine.memory.scope import Scope
    from engine.memory.view import ScopeView
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
        page: Returns the page as a snapshot (`engine.environment`). None if the environment shows no pages.
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


class Notebook:
    """Reads and stores a method's own records in this scope. It does not show the records of other methods.

    Args:
        records: All kept records of the scope.
        agent: The method's name.
        origin: Returns an empty record with scope, session, episode and time.
        failed: Called with the error if a record could not be written. Returns to try again, or raises.
    """

    def __init__(
        self, records: KeptRecords, agent: str, origin: Callable[[], Kept], failed: Callable[[JitrlError], None]
    ) -> None:
        self._records = records
        self._agent = agent
        self._origin = origin
        self._failed = failed

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
        record = replace(self._origin(), kind=kind, text=text, data=data or {}, agent=self._agent)
        while True:
            try:
                return self._records.add(record)
            except StorageError as error:
                self._failed(error)

    def records(self, kind: str = "") -> tuple[Kept, ...]:
        """Return the records of one kind (all kinds for ""), oldest first. Those of other sessions are included."""
        return tuple(
            one for one in self._records.all() if one.agent == self._agent and kind in ("", one.kind)
        )


@dataclass(frozen=True, slots=True)
class AgentContext:
    """What a method gets to make an agent for one session.

    Attributes:
        model: Proposes candidates.
        memory: The episodes remembered in this scope.
        settings: The settings in effect.
        write: Asks the model in words. Call it only from `begin_episode`, `decide` and `end_episode`.
        kept: The method's own records.
        start: For a session that is resumed, the memory as it was when it began: for an estimator that is `replayed`.
            Once the agent is made, it shows all. None for a session that begins.
        dialects: The dialects of this kind of environment by name.
    """

    model: Prior
    memory: Scope
    settings: Settings
    write: Write
    kept: Notebook
    start: ScopeView | None = None
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


@runtime_checkable
class Replayed(Agent, Protocol):
    """An agent that keeps more of its session than memory and its own records have.

    When the session is resumed, it is replayed (`engine.session.replay`): the agent is told again what happened, in the
    same order, with `begin_episode`, `decided`, `observe` and `end_episode`. It asks no model then. The steps of the
    episode that was left are taken again, and told in the same way. So are those that are left when a person takes a
    step back, after `take_back`.
    """

    @property
    def replayed(self) -> bool:
        """Whether it has to be told."""
        ...

    def change(self, settings: Settings) -> None:
        """Follow these settings from now on, in which a person has changed some (`engine.session.levers`)."""
        ...

    def decided(self, turn: Turn, decision: Decision, rng: np.random.Generator) -> None:
        """Note what the agent decided then, whether or not it was carried out.

        Args:
            turn: As it was then, without texts for prompts and `page`.
            rng: As it was then.
        """
        ...

    def keep(self) -> None:
        """Keep what is known now, at the beginning of an episode whose steps may be taken back."""
        ...

    def take_back(self) -> None:
        """Be as at the last `keep`. `begin_episode` comes next, and the steps of the episode that are left."""
        ...

    def stored_elsewhere(self, episode: Episode, first: int) -> None:
        """Note an episode that another session stored in the same memory. Called before `begin_episode`.

        Args:
            episode: As it is in memory.
            first: Entry number of its step 0.
        """
        ...
