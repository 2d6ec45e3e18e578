"""The events of a session. Screens, recordings and benchmarks read them in the order in which they happen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.records.deciding import NO_TALLY, Decision, ModelCall, Tally
from engine.records.lived import EnvironmentInfo, Observation

FORMAT = 2
"""Number of the format of recordings. It grows when a field changes its name or meaning, not with new fields."""


@dataclass(frozen=True, slots=True)
class SessionStarted:
    """A session, which is a run of episodes of one agent in one environment, was opened.

    Attributes:
        settings: All settings by name, as plain JSON values.
        episodes: Number of episodes to play.
        steps: Step limit of an episode.
        memory_entries: Number of steps remembered in this scope at the start.
        reading: How logits are obtained from the model: "verbalized", "token" (log-probabilities of index tokens),
            "string" (likelihoods of the actions), or "" if there is no model.
        replaced: A sentence for each setting that could not be followed; `settings` has the value used instead.
        format: Number of the recording's format; recordings of before there were numbers have 1.
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
    format: int = 1


@dataclass(frozen=True, slots=True)
class EpisodeStarted:
    """An episode began. `episode` counts from 1 within the session."""

    episode: int
    seed: int
    observation: Observation
    uid: str = ""


@dataclass(frozen=True, slots=True)
class Thinking:
    """Work that may take a while has begun. `what` is a short phrase for the status line."""

    what: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """A model's server accepts no calls at the moment. Sent once a second until the next attempt.

    Attributes:
        reason: A short reason, for instance "rate limit".
        seconds: Seconds until the next attempt.
        left_s: Seconds of patience left.
    """

    reason: str
    seconds: float
    left_s: float


@dataclass(frozen=True, slots=True)
class ModelCalled:
    """The model was asked for something other than candidates: a state, a history, rewards, or a text of an agent.

    Attributes:
        step: Number of steps taken in the episode before the call.
    """

    episode: int
    step: int
    call: ModelCall


@dataclass(frozen=True, slots=True)
class Decided:
    """The agent or a person chose an action. The environment has not taken it yet."""

    episode: int
    decision: Decision


@dataclass(frozen=True, slots=True)
class Stepped:
    """The environment took the action.

    Attributes:
        step: Index of the step, from 0.
        reward: Change of the environment's score.
        tokens: Model tokens of the episode so far, input plus output.
        cost_usd: Cost of the episode so far in US dollars.
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
    """How a web page looked, for people. The files are in the folder `pages` of the session.

    Attributes:
        step: Number of steps taken in the episode before it.
        task: The task in words.
        width: Width of the browser's window in CSS pixels; `height` likewise.
        snapshot: Name of the file with the accessibility snapshot, "" if it was not stored.
        picture: Name of the JPEG file.
        traffic: Name of the HAR file with the requests since the previous page.
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
    """A person undid the last step. The episode is in the situation before that step.

    Attributes:
        action: The action that was undone.
        step: Number of steps of the episode that remain.
        observation: The observation after undoing.
        tokens: Model tokens of the episode so far, including those of undone steps.
        cost_usd: Cost of the episode so far in US dollars, including that of undone steps.
    """

    episode: int
    action: str
    step: int
    observation: Observation
    tokens: int = 0
    cost_usd: float = 0.0


@dataclass(frozen=True, slots=True)
class EpisodeEnded:
    """An episode ended, was judged, and is in memory if the agent learns.

    Attributes:
        terminated: The task itself ended it.
        truncated: The session's step limit or the environment cut it off.
        outcome: "won", "lost" or "", as in `Observation`.
        rewards: r_t of the evaluator.
        returns: G_t for the session's discount.
        memory_entries: Number of steps remembered in this scope now.
        entries_added: Number of them that this episode added.
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
    """A message for the person. `level` is "info", "warning" or "error"; an error stops the session."""

    level: str
    message: str


@dataclass(frozen=True, slots=True)
class Paused:
    """The session waits for a command. `reason` says why; it is "" if a person paused the session."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Resumed:
    """The session goes on."""


@dataclass(frozen=True, slots=True)
class SessionEnded:
    """The session ended: all episodes were played, or it was stopped (`finished` is False) and can be resumed."""

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
