"""The plain, frozen records that walk between rooms, and the events made of them.

Nothing here behaves: records are built at the edges, read everywhere, and turned to and from JSON
by `engine.codec`. Symbols follow the paper (arXiv sources, Sec. 4): s state, a action, r step reward,
G discounted return, z logit, V and Q values, A advantage.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# --------------------------------------------------------------------------------------- environment


@dataclass(frozen=True, slots=True)
class EnvironmentInfo:
    """What stays the same while an environment is open.

    Attributes:
        name: Catalogue name, or the stem of the story's file name.
        title: For people.
        scope: Key of the memory that belongs to this environment (a game; a site and page pattern).
        max_score: Highest reachable score, None if the environment does not say.
        source: Where it came from: a path, or a URL.
        digest: md5 of the story file, or "" where there is no file.
    """

    name: str
    title: str
    scope: str
    max_score: float | None = None
    source: str = ""
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Observation:
    """What an environment shows after `reset`, `step` or `restore`. All texts are free of control codes.

    Attributes:
        text: What was printed for the last action.
        description: What looking around would print now; costs no move.
        inventory: What is carried, as printed; "" if unknown.
        place: Name of the room or the regularised page, "" if unknown.
        score: Score so far, in the game's own points.
        max_score: Highest reachable score, None if unknown.
        moves: Moves the game has counted.
        done: The episode is over. Latched: stays True once True.
        won: It ended in victory.
        died: It ended in death or another loss.
        world_hash: Equal for equal worlds; keys caches. "" if unknown.
        changed: Whether the last action changed the world.
        scene: What looking around would print if nothing wandered about on its own (a thief, say); ""
            where that is the same as `description`. States are abstracted from it, so that the same place
            gives the same state whoever passes by; see `engine.games.scene`.
        room: What tells places of the same name apart (two forests, any two dark rooms); 0 if unknown.
    """

    text: str
    description: str = ""
    inventory: str = ""
    place: str = ""
    score: float = 0.0
    max_score: float | None = None
    moves: int = 0
    done: bool = False
    won: bool = False
    died: bool = False
    world_hash: str = ""
    changed: bool = True
    scene: str = ""
    room: int = 0


@dataclass(frozen=True, slots=True)
class State:
    """The abstracted state s of the paper (Sec. 4.1, App. E).

    Attributes:
        text: The structured summary that people and prompts read, `[State: noun, ...]`.
        tokens: T(s), distinct and sorted: what the Jaccard similarity compares.
        history: Hierarchical context `[SUMMARY] [PROGRESS] [LOCATION]`.
        history_tokens: T(history), distinct and sorted.
        place: The place the state is at, "" if unknown.
    """

    text: str
    tokens: tuple[str, ...]
    history: str = ""
    history_tokens: tuple[str, ...] = ()
    place: str = ""


# -------------------------------------------------------------------------------------------- deciding


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call to a language model, as it is shown and recorded (secrets already redacted).

    Attributes:
        purpose: "actions", "rewards", "state" or "history".
        prompt: The messages as sent, rendered as text.
        reply: The raw reply, or a summary of the scores when actions were scored directly.
        cost_usd: US dollars; 0.0 for local models.
        latency_s: Seconds of wall time.
        cached: The reply came from the cache on disk; it cost nothing now.
    """

    purpose: str
    model: str
    prompt: str
    reply: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float = 0.0
    latency_s: float = 0.0
    cached: bool = False


@dataclass(frozen=True, slots=True)
class Candidate:
    """One action of the candidate set C with its prior logit.

    Attributes:
        action: Exactly as the environment takes it.
        z: Logit z(s, a); 0.0 is neutral, the value of memory-only actions (Algorithm 1, step 3).
        source: "llm", "memory", "both", "valid" (neither: an estimator wants it considered) or "random" (drawn
            because neither had anything to offer).
        confidence: Verbalized confidence, 0 to 100; None where the model did not give one.
        logprob: Log-likelihood the logit was made of, nats per token; None where there is none.
        reason: The model's reason, "" if none.
    """

    action: str
    z: float
    source: str = "llm"
    confidence: float | None = None
    logprob: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ActionRequest:
    """What a prior is asked: the blanks of the paper's action prompt (App. F).

    Attributes:
        summary: Hierarchical summary of the episode so far.
        memory_text: Text from earlier episodes, for agents that put memory into the prompt.
        candidates: How many actions to propose.
    """

    summary: str
    memory_text: str
    recent_history: str
    current_state: str
    valid_actions: tuple[str, ...]
    candidates: int


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a prior offers for one state: C_LLM with logits, and how it came about.

    Attributes:
        candidates: Distinct actions, all of them valid now; may be empty.
        calls: The model calls made for it.
        note: A sentence for the screen when something was out of the ordinary, else "".
    """

    candidates: tuple[Candidate, ...]
    calls: tuple[ModelCall, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """One remembered step of N(s), the retrieved neighbourhood.

    Attributes:
        similarity: Jaccard similarity to the query state, 0 to 1.
        g: Discounted return G of the remembered step, for the discount asked.
        episode: Number of the episode it was lived in, counted from 1 within its scope.
        step: Step within that episode, from 0.
        provenance: "agent", "human" or "imported:NAME".
    """

    entry: int
    similarity: float
    action: str
    g: float
    episode: int
    step: int
    state: str
    provenance: str = "agent"


@dataclass(frozen=True, slots=True)
class Valuation:
    """Values of a candidate set; every tuple runs parallel to the candidates.

    Attributes:
        v: V(s), the baseline.
        q: Q(s, a) for each candidate.
        n: |N(s, a)|, how many neighbours took each candidate.
        how: "known", "optimistic", "neutral" (drawn not to explore) or "prior" (nothing remembered).
        terms: Named parts that Q is the sum of, for estimators that have any.
    """

    v: float
    q: tuple[float, ...]
    n: tuple[int, ...]
    how: tuple[str, ...]
    terms: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Decision:
    """Everything about one choice; each tuple runs parallel to `candidates`.

    Attributes:
        step: Step within the episode, from 0.
        state: The abstracted state.
        valid_actions: The actions that were possible.
        neighbours: N(s), most similar first.
        candidates: C, the model's first, then memory's.
        valuation: V and Q.
        advantage: A = Q - V.
        advantage_normalised: A divided by the largest |A|, within [-1, 1].
        z_prime: z + beta * normalised A.
        prior: Softmax of z.
        posterior: Softmax of z'.
        chosen: Index into candidates; -1 when a person typed something else.
        action: What is to be done.
        provenance: "agent" or "human".
        beta: The beta that was used.
        without_memory: What the same draw would have chosen from the prior alone.
        why: One sentence.
        equation: The update of the chosen action with its numbers.
        calls: Model calls made for it.
        note: A rule that was applied because something was missing, "" if all was ordinary.
    """

    step: int
    state: State
    valid_actions: tuple[str, ...]
    neighbours: tuple[Neighbour, ...]
    candidates: tuple[Candidate, ...]
    valuation: Valuation
    advantage: tuple[float, ...]
    advantage_normalised: tuple[float, ...]
    z_prime: tuple[float, ...]
    prior: tuple[float, ...]
    posterior: tuple[float, ...]
    chosen: int
    action: str
    provenance: str = "agent"
    beta: float = 1.0
    without_memory: str = ""
    why: str = ""
    equation: str = ""
    calls: tuple[ModelCall, ...] = ()
    note: str = ""


# -------------------------------------------------------------------------------------------- memory


@dataclass(frozen=True, slots=True)
class Step:
    """One lived transition (s_t, a_t, r_t, s_{t+1}) as it is remembered.

    Attributes:
        state: s_t.
        action: a_t.
        reward: r_t of the evaluator; what returns are made of.
        env_reward: Change of the environment's own score.
        score: The environment's score after the action.
        provenance: "agent", "human" or "imported:NAME".
        valid_actions: The actions that were possible in s_t.
        changed: Whether the action changed the world.
        world_hash: Of s_t, "" if unknown.
    """

    state: State
    action: str
    reward: float
    env_reward: float = 0.0
    score: float = 0.0
    provenance: str = "agent"
    valid_actions: tuple[str, ...] = ()
    changed: bool = True
    world_hash: str = ""


@dataclass(frozen=True, slots=True)
class Episode:
    """A whole episode: what memory appends, all of it or nothing.

    Step t's next state is step t + 1's state; the last one's is `final`.

    Attributes:
        uid: Unique for ever; an episode sent twice is stored once.
        number: From 1 within its scope; 0 lets memory assign the next one.
        final: The state after the last action.
        done: The environment ended it (as against the step limit).
        started: Unix time, seconds.
    """

    uid: str
    scope: str
    steps: tuple[Step, ...]
    final: State
    number: int = 0
    agent: str = ""
    model: str = ""
    seed: int = 0
    session: str = ""
    score: float = 0.0
    max_score: float | None = None
    done: bool = False
    won: bool = False
    died: bool = False
    started: float = 0.0
    wall_s: float = 0.0
    token_scheme: int = 1


# -------------------------------------------------------------------------------------------- events


@dataclass(frozen=True, slots=True)
class SessionStarted:
    """A session opened: a run of episodes of one agent in one environment.

    Attributes:
        settings: All settings by name, as plain JSON values.
        episodes: How many the session is to play.
        steps: Step limit of an episode.
        memory_entries: Steps remembered in this scope at the start.
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
        rewards: r_t of the evaluator.
        returns: G_t for the session's discount.
        memory_entries: Steps remembered in this scope now.
        entries_added: How many of them this episode added.
    """

    episode: int
    score: float
    max_score: float | None
    steps: int
    done: bool
    won: bool
    died: bool
    rewards: tuple[float, ...]
    returns: tuple[float, ...]
    memory_entries: int
    entries_added: int
    tokens: int = 0
    cost_usd: float = 0.0
    wall_s: float = 0.0
    flips: int = 0


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
