"""The events of a session. Screens, recordings and benchmarks read them in the order in which they happen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.records.decision import NO_TALLY, Decision, ModelCall, Tally
from engine.records.episodes import EnvironmentInfo, Observation, State

FORMAT = 2
"""Number of the format of recordings. It grows when a field changes its name or meaning, not with new fields."""


@dataclass(frozen=True, slots=True)
class SessionStarted:
    """A session, which is a run of episodes of one agent in one environment, was opened.

    Attributes:
        session: Name of the session: that of its folder.
        environment: What is played.
        agent: Name of the method.
        model: Name of the model.
        seed: Seed of the run.
        profile: Name of the profile that the settings began with.
        settings: All settings by name, as plain JSON values.
        episodes: Episodes to play.
        steps: Step limit of an episode.
        memory_entries: Steps remembered in this scope at the start.
        next_entry: Entry number of the first step remembered after the start; lower ones were there before.
        resumed: Whether the session goes on that was recorded before this event.
        reading: How logits are read: "verbalized", "token" (log-probabilities of index tokens), "string" (likelihoods
            of the actions), or "" without a model.
        replaced: A sentence for each setting that could not be followed.
        format: Number of the format; 1 if it is missing.
        memory: Who may use its memory: "own", "shared" (all sessions with the saves folder), or "server" (all that
            know the address).
        workers: Sessions that play with this memory in turn; 1 if it plays alone.
        worker: Its number among them, from 1.
        episodes_before: Episodes remembered in this scope at the start.
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
    next_entry: int | None = None
    memory: str = ""
    workers: int = 1
    worker: int = 1
    episodes_before: int | None = None


@dataclass(frozen=True, slots=True)
class EpisodeStarted:
    """An episode began.

    Attributes:
        episode: Episode within the session, from 1.
        seed: Seed that the environment was reset with.
        observation: The first observation.
        uid: Unique id of the episode, also in memory.
        next_entry: Entry number of the first step remembered after this.
        remembered_as: Number of the episode in memory, unless another session stores one before; null if it is not
            remembered.
    """

    episode: int
    seed: int
    observation: Observation
    uid: str = ""
    next_entry: int | None = None
    remembered_as: int | None = None


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
        episode: Episode within the session, from 1.
        step: Steps taken in the episode before the call.
        call: Question and answer.
    """

    episode: int
    step: int
    call: ModelCall


@dataclass(frozen=True, slots=True)
class Decided:
    """The agent or a person chose an action. The environment has not taken it yet.

    Attributes:
        episode: Episode within the session, from 1.
        decision: The choice with everything that led to it.
    """

    episode: int
    decision: Decision


@dataclass(frozen=True, slots=True)
class Stepped:
    """The environment took the action.

    Attributes:
        episode: Episode within the session, from 1.
        step: Index of the step, from 0.
        action: The action.
        observation: What the environment showed after it.
        reward: Change of the environment's score.
        provenance: Who chose the action: "agent" or "human".
        tokens: Model tokens of the episode so far, input plus output.
        cost_usd: US dollars for the episode so far.
    """

    episode: int
    step: int
    action: str
    observation: Observation
    reward: float
    provenance: str = "agent"
    tokens: int = 0
    cost_usd: float | None = 0.0


@dataclass(frozen=True, slots=True)
class PageShown:
    """How a web page looked, for people. The files are in the folder `pages` of the session.

    Attributes:
        episode: Episode within the session, from 1.
        step: Steps taken in the episode before it.
        url: Address of the page.
        title: Title of the page.
        task: The task in words.
        width: Width of the browser's window in CSS pixels.
        height: Height of the browser's window in CSS pixels.
        snapshot: Name of the file with the accessibility snapshot.
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
        episode: Episode within the session, from 1.
        action: The action that was undone.
        step: Steps of the episode that remain.
        observation: The observation after undoing.
        tokens: Model tokens of the episode so far, including those of undone steps.
        cost_usd: The same in US dollars.
    """

    episode: int
    action: str
    step: int
    observation: Observation
    tokens: int = 0
    cost_usd: float | None = 0.0


@dataclass(frozen=True, slots=True)
class EpisodeEnded:
    """An episode ended, was judged, and is in memory if the agent learns.

    Attributes:
        episode: Episode within the session, from 1.
        score: Score at the end.
        max_score: Highest possible score.
        steps: Actions taken.
        terminated: The task itself ended it.
        truncated: The session's step limit or the environment cut it off.
        outcome: "won", "lost" or "", as in `Observation`.
        rewards: r_t of the evaluator.
        returns: G_t for the session's discount.
        memory_entries: Steps remembered in this scope now.
        entries_added: Those that this episode added.
        tokens: Model tokens of the episode, input plus output.
        cost_usd: US dollars for the episode.
        wall_s: Duration in seconds.
        flips: Decisions that JitRL's update changed, broken ties apart.
        tally: What became of the model's answers.
        retrievals: Retrievals from memory.
        retrieval_s: Seconds that they took.
        ended_by: "person" if a person ended it, "failure" if the environment failed.
        processor_s: Processor seconds of this process and of those that it started.
        failed: Actions at which the environment failed.
        state: The state after the last action; None if memory has it, with the episode.
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
    cost_usd: float | None = 0.0
    wall_s: float = 0.0
    flips: int = 0
    tally: Tally = NO_TALLY
    retrievals: int = 0
    retrieval_s: float = 0.0
    ended_by: str = ""
    processor_s: float = 0.0
    failed: int = 0
    state: State | None = None


@dataclass(frozen=True, slots=True)
class Notice:
    """A message for the person.

    Attributes:
        level: "info", "warning" or "error". An error stops the session.
        message: A sentence.
        kind: The error's class in `engine.errors`.
    """

    level: str
    message: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Paused:
    """The session waits for a command.

    Attributes:
        reason: Why it waits, "" if a person paused it or it asks before each step.
        question: Number of the question whether the decision that waits is carried out; 0 if none waits. An answer has
            this number, so that an answer given too late does not meet another decision.
        asks: Whether the session goes on after an answer. If not, it is paused until a person resumes it.
    """

    reason: str = ""
    question: int = 0
    asks: bool = False


@dataclass(frozen=True, slots=True)
class Resumed:
    """The session goes on."""


@dataclass(frozen=True, slots=True)
class Steered:
    """A person steered the session from another process, or tried to.

    Attributes:
        command: "hold", "step", "overrule", "hand back" or "stop"; "lapse" where who held the session gave no sign of
            life.
        by: Who it was: user, machine and process.
        accepted: Whether the session did it.
        message: What it does, or why it was refused, a sentence.
        episode: Episode within the session, from 1; 0 before the first.
        step: Steps of the episode decided or taken before it.
        action: The action of "overrule".
    """

    command: str
    by: str
    accepted: bool
    message: str
    episode: int = 0
    step: int = 0
    action: str = ""


@dataclass(frozen=True, slots=True)
class SettingsChanged:
    """A person changed settings of the session. Decisions that are made after it are made with them.

    Attributes:
        episode: Episode within the session, from 1; 0 before the first.
        step: Steps taken in the episode before it.
        settings: By name, all settings that were changed since the session began, with their values from now on.
        before: Those that change now, with the values that they had.
    """

    episode: int
    step: int
    settings: Mapping[str, Any]
    before: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SessionEnded:
    """The session ended.

    Attributes:
        finished: Whether all episodes were played. If not, the session can be resumed.
        episodes: Episodes played.
        average: Mean score of the episodes, 0 if none was played.
        final: Score of the last episode, likewise.
        others: Episodes that other sessions stored in this scope meanwhile, as far as they were seen.
    """

    finished: bool
    episodes: int
    average: float
    final: float
    others: int = 0


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
    | Steered
    | SettingsChanged
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
        Steered,
        SettingsChanged,
        SessionEnded,
    )
}
