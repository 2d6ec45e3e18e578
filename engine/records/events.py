"""What happens in a session, in the order it is told: screens, recordings and benches read these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.records.deciding import NO_TALLY, Decision, ModelCall, Tally
from engine.records.lived import EnvironmentInfo, Observation


@dataclass(frozen=True, slots=True)
class SessionStarted:
    """A session opened: a run of episodes of one agent in one environment.

    Attributes:
        settings: All settings by name, as plain JSON values.
        episodes: How many the session is to play.
        steps: Step limit of an episode.
        memory_entries: Steps remembered in this scope at the start.
        next_entry: Entry number of the first step that was remembered after the start: what has a lower one was there
            before. None in recordings of earlier versions.
        reading: How the model's opinion is read: "verbalized", "token" (log-probabilities of index tokens), "string"
            (likelihoods of the actions), or "" where there is no model.
        replaced: What the settings ask for and cannot be had, a sentence each; `settings` has what is done instead.
    """

    session: str
    environment: EnvironmentInfo
    agent: str
    model: str
    seed: int
    profile: str
    episodes: int
    steps: int
    settings: Mapping[str, Any]
    memory_entries: int = 0
    resumed: bool = False
    reading: str = ""
    replaced: tuple[str, ...] = ()
    next_entry: int | None = None


@dataclass(frozen=True, slots=True)
class EpisodeStarted:
    """An episode began. `episode` counts from 1 within the session."""

    episode: int
    seed: int
    observation: Observation
    uid: str = ""


@dataclass(frozen=True, slots=True)
class Thinking:
    """Work that may take a while has begun; `what` is a short phrase for the status line."""

    what: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """A model's server takes no calls for now; told once a second until the next try.

    Attributes:
        reason: Short, for instance "rate limit".
        seconds: Until the next try.
        left_s: Seconds of patience that are left.
    """

    reason: str
    seconds: float
    left_s: float


@dataclass(frozen=True, slots=True)
class ModelCalled:
    """The model was asked for something else than candidates: states, histories, rewards, what an agent writes.

    Attributes:
        step: Steps of the episode that were taken before it.
    """

    episode: int
    step: int
    call: ModelCall


@dataclass(frozen=True, slots=True)
class Decided:
    """The agent (or a person) chose; the environment has not stepped yet."""

    episode: int
    decision: Decision


@dataclass(frozen=True, slots=True)
class Stepped:
    """The environment took the action.

    Attributes:
        step: The step that was taken, from 0.
        reward: Change of the environment's score.
        tokens: Model tokens of the episode so far, in plus out.
        cost_usd: Cost of the episode so far.
    """

    episode: int
    step: int
    action: str
    observation: Observation
    reward: float
    provenance: str = "agent"
    tokens: int = 0
    cost_usd: float = 0.0


@dataclass(frozen=True, slots=True)
class PageShown:
    """What a web page looked like, for people; the files lie in the session's folder, under `pages`.

    Attributes:
        step: Steps of the episode that were taken before it.
        task: What is asked, in words.
        width: Of the browser's window, in CSS pixels, as is `height`.
        snapshot: Name of the file with the accessibility snapshot, "" where it was not kept.
        picture: Name of the JPEG.
        traffic: Name of the HAR file with what was asked for since the page before.
    """

    episode: int
    step: int
    url: str
    title: str = ""
    task: str = ""
    width: int = 1280
    height: int = 720
    snapshot: str = ""
    picture: str = ""
    traffic: str = ""


@dataclass(frozen=True, slots=True)
class TakenBack:
    """A person took the last step back: the episode stands where it stood before it.

    Attributes:
        action: What was taken back.
        step: Steps of the episode that are left.
        observation: What is seen now.
        tokens: Model tokens of the episode so far; what was spent stays spent.
        cost_usd: Cost of the episode so far.
    """

    episode: int
    action: str
    step: int
    observation: Observation
    tokens: int = 0
    cost_usd: float = 0.0


@dataclass(frozen=True, slots=True)
class EpisodeEnded:
    """An episode is over, judged and (for agents that learn) remembered.

    Attributes:
        terminated: The task itself ended it.
        truncated: It was cut off: by the session's step limit, or by the environment.
        outcome: "won", "lost" or "", as in `Observation`.
        rewards: r_t of the evaluator.
        returns: G_t for the session's discount.
        memory_entries: Steps remembered in this scope now.
        entries_added: How many of them this episode added.
    """

    episode: int
    score: float
    max_score: float | None
    steps: int
    terminated: bool
    truncated: bool
    outcome: str
    rewards: tuple[float, ...]
    returns: tuple[float, ...]
    memory_entries: int
    entries_added: int
    tokens: int = 0
    cost_usd: float = 0.0
    wall_s: float = 0.0
    flips: int = 0
    tally: Tally = NO_TALLY


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to tell the person. `level` is "info", "warning" or "error"; an error stops the session."""

    level: str
    message: str


@dataclass(frozen=True, slots=True)
class Paused:
    """The session waits for a command; `reason` says why ("" when a person asked for it)."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Resumed:
    """The session goes on."""


@dataclass(frozen=True, slots=True)
class SessionEnded:
    """The session is over: all episodes played, or stopped (`finished` False) and resumable."""

    finished: bool
    episodes: int
    average: float
    final: float


Event = (
    SessionStarted
    | EpisodeStarted
    | Thinking
    | Waiting
    | ModelCalled
    | Decided
    | Stepped
    | PageShown
    | TakenBack
    | EpisodeEnded
    | Notice
    | Paused
    | Resumed
    | SessionEnded
)

EVENTS: dict[str, type[Any]] = {
    cls.__name__: cls
    for cls in (
        SessionStarted,
        EpisodeStarted,
        Thinking,
        Waiting,
        ModelCalled,
        Decided,
        Stepped,
        PageShown,
        TakenBack,
        EpisodeEnded,
        Notice,
        Paused,
        Resumed,
        SessionEnded,
    )
}
