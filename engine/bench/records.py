"""The records of a benchmark: what is planned, what workers tell, and what is written of each episode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.settings import SessionConfig

FORMAT = 1
"""Number of the format of a run's files, see docs/bench-format.md."""

TRAIN, TEST = "train", "test"
"""The phases of a cell. Only episodes of the phase "test" are measured."""


@dataclass(frozen=True, slots=True)
class Leg:
    """Consecutive episodes on one task: one session of a cell.

    Attributes:
        task: Full name of the environment.
        group: Column that the task is reported in: a game's name, or the site of a web task.
        phase: "train" or "test".
        config: Configuration of the session. Its `memory` is replaced by that of the cell.
        recorded: Folder with recorded episodes that are taken in place of playing; "" to play.
    """

    task: str
    group: str
    phase: str
    config: SessionConfig
    recorded: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """The smallest part of a benchmark that can be played alone: one life of an agent, with one memory.

    Attributes:
        name: Unique within its run, usable as the name of a folder.
        arm: Name of the row that it is reported in.
        model: Name of the model; "" if the agent needs none.
        seed: Seed of the cell. The seeds of its legs are computed from it.
        legs: Its sessions, played in this order. They share a memory, which is empty at first.
        workers: Number of consecutive legs that are played at the same time, taking their steps in turn.
    """

    name: str
    arm: str
    model: str
    seed: int
    legs: tuple[Leg, ...]
    workers: int = 1

    @property
    def agent(self) -> str:
        """The method that plays it."""
        return self.legs[0].config.agent

    @property
    def episodes(self) -> int:
        """Number of episodes in all its legs."""
        return sum(leg.config.episodes for leg in self.legs)


@dataclass(frozen=True, slots=True)
class EpisodeRow:
    """One finished episode, a line of `episodes.jsonl`. Equal seeds and equal replies give equal rows.

    Attributes:
        cell: Name of the cell.
        arm: Name of the row in tables.
        agent: The method.
        model: The model, if the agent needs one.
        task: Full name of the environment.
        group: Column in tables.
        seed: Seed of the cell.
        phase: "train" or "test".
        leg: Number of its session in the cell, from 0.
        episode: Number within its session, from 1.
        score: Score at the end.
        max_score: Highest possible score.
        steps: Actions taken.
        terminated: The task itself ended the episode.
        truncated: A limit ended it.
        outcome: "won", "lost" or "".
        scores: Score after each step.
        changed: Decisions in which the update of the logits changed the action.
        entries: Steps remembered in the scope after the episode.
        added: Those that the episode added.
        calls: Model calls by purpose, cached ones included.
        prompt_tokens: Tokens of all prompts, cached ones included.
        completion_tokens: Tokens of all replies, likewise.
        cost_usd: US dollars for these calls. A reply from the cache costs what it cost when bought.
        answers: Counts of `engine.records.Tally`, without those that depend on cache or network.
        hits: Remembered steps that decisions used.
        hits_other: Those that came from other tasks.
        order: Number of the episode in its cell, from 1, in the order of commits to memory.
        overruled: Steps that a person chose, from another process.
        failed: Actions at which the environment failed.
        ended_by: "person" if a person ended it, "failure" if the environment failed.
    """

    cell: str
    arm: str
    agent: str
    model: str
    task: str
    group: str
    seed: int
    phase: str
    leg: int
    episode: int
    score: float
    max_score: float | None
    steps: int
    terminated: bool
    truncated: bool
    outcome: str
    scores: tuple[float, ...] = ()
    changed: int = 0
    entries: int = 0
    added: int = 0
    calls: Mapping[str, int] = field(default_factory=dict)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0
    answers: Mapping[str, int] = field(default_factory=dict)
    hits: int = 0
    hits_other: int = 0
    order: int = 0
    overruled: int = 0
    failed: int = 0
    ended_by: str = ""


@dataclass(frozen=True, slots=True)
class TimingRow:
    """What one episode took, a line of `timings.jsonl`. It differs from run to run.

    Attributes:
        cell: Name of the cell.
        leg: Number of its session in the cell, from 0.
        episode: Number within its session, from 1.
        wall_s: Duration in seconds.
        model_s: Seconds that model calls took.
        retrieval_s: Seconds that retrieval from memory took.
        retrievals: Retrievals from memory.
        paid_usd: US dollars paid. Replies from the cache cost nothing.
        paid_tokens: Tokens paid.
        cached: Calls answered from the cache.
        retries: Repeated calls.
        processor_s: Processor seconds of the process that played it, and of those that it started.
    """

    cell: str
    leg: int
    episode: int
    wall_s: float
    model_s: float = 0.0
    retrieval_s: float = 0.0
    retrievals: int = 0
    paid_usd: float | None = 0.0
    paid_tokens: int = 0
    cached: int = 0
    retries: int = 0
    processor_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Began:
    """A worker began a cell, or took it up where it was left.

    Attributes:
        cell: Name of the cell.
        node: Name of the machine that plays it; "" for the one that plays the run.
    """

    cell: str
    node: str = ""


@dataclass(frozen=True, slots=True)
class CellStepped:
    """A worker took a step.

    Attributes:
        cell: Name of the cell.
        leg: Number of the session in the cell, from 0.
        episode: Number within the session, from 1.
        step: Number of steps of the episode so far.
        score: Score now.
        action: The action that was taken.
        paid_tokens: Tokens that the episode has been charged so far.
        paid_usd: US dollars that the episode has cost so far.
    """

    cell: str
    leg: int
    episode: int
    step: int
    score: float
    action: str
    paid_tokens: int = 0
    paid_usd: float | None = 0.0


@dataclass(frozen=True, slots=True)
class Ended:
    """An episode of a cell ended. Episodes of an earlier life of the cell are told again when it is resumed.

    Attributes:
        cell: Name of the cell.
        leg: Number of the session in the cell, from 0.
        episode: Number within the session, from 1.
        score: Score at the end.
        max_score: Highest possible score.
        steps: Actions taken.
        paid_tokens: Tokens that the episode was charged.
        paid_usd: US dollars that it cost.
        wall_s: Duration in seconds.
        again: Whether the episode was played in an earlier life of the cell.
    """

    cell: str
    leg: int
    episode: int
    score: float
    max_score: float | None
    steps: int
    paid_tokens: int = 0
    paid_usd: float | None = 0.0
    wall_s: float = 0.0
    again: bool = False


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence of a worker for people, for instance about a slow start or a rate limit."""

    cell: str
    message: str


@dataclass(frozen=True, slots=True)
class Finished:
    """All legs of a cell were played, and its files are written."""

    cell: str


@dataclass(frozen=True, slots=True)
class Failed:
    """A cell ended early. What it played is kept, and it can be resumed.

    Attributes:
        cell: Name of the cell.
        message: What went wrong, a sentence.
        code: Exit code of the error.
        lost: Whether the worker died without a word, for instance because it was killed.
        everywhere: Whether other cells would fail for the same reason, for instance because the disk is full.
    """

    cell: str
    message: str
    code: int = 1
    lost: bool = False
    everywhere: bool = False


@dataclass(frozen=True, slots=True)
class Stopped:
    """A cell was stopped on request. What it played is kept, and it can be resumed."""

    cell: str


Message = Began | CellStepped | Ended | Said | Finished | Failed | Stopped
"""What an executor tells about its cells."""
