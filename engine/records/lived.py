"""What environments show, and what memory keeps of it."""

from __future__ import annotations

from dataclasses import dataclass

OUTCOMES = ("", "won", "lost")
"""How an episode can have ended, "" where its environment does not say."""


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
        repeatable: Whether an episode's actions may be taken again from its beginning, to take it up or to take a
            step back. False where they act on a site that is not put back (a form would be sent a second time), and
            where the same seed does not give the same beginning.
    """

    name: str
    title: str
    scope: str
    max_score: float | None = None
    source: str = ""
    digest: str = ""
    repeatable: bool = True


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
        terminated: The task itself ended the episode, for good or bad. Latched: stays True once True.
        truncated: The episode was cut off from outside the task: by a time limit of the environment, because its
            browser is gone, because nobody judged it. Latched. The session's step limit is not told here.
        outcome: How it ended, where the environment says so: "won", "lost" (by death or otherwise), or "".
        world_hash: Equal for equal worlds; keys caches. "" if unknown.
        changed: Whether the last action changed the world.
        scene: What looking around would print if nothing wandered about on its own (a thief, say); ""
            where that is the same as `description`. States are abstracted from it, so that the same place
            gives the same state whoever passes by; see `engine.games.zmachine.scene`.
        room: What tells places of the same name apart (two forests, any two dark rooms); 0 if unknown.
        marks: What has changed about carried things whether or not anything printed tells: `THING=N`, N the number
            of an attribute that is not as it was at the start. A lamp that is on, for one.
    """

    text: str
    description: str = ""
    inventory: str = ""
    place: str = ""
    score: float = 0.0
    max_score: float | None = None
    moves: int = 0
    terminated: bool = False
    truncated: bool = False
    outcome: str = ""
    world_hash: str = ""
    changed: bool = True
    scene: str = ""
    room: int = 0
    marks: tuple[str, ...] = ()

    @property
    def over(self) -> bool:
        """Whether the environment takes no more actions in this episode."""
        return self.terminated or self.truncated


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
        terminated: The task itself ended it.
        truncated: It was cut off: by the session's step limit, or by the environment.
        outcome: "won", "lost" or "", as in `Observation`.
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
    terminated: bool = False
    truncated: bool = False
    outcome: str = ""
    started: float = 0.0
    wall_s: float = 0.0
    token_scheme: int = 1


@dataclass(frozen=True, slots=True)
class Trajectory:
    """A finished episode as an evaluator reads it.

    Attributes:
        texts: What the environment printed: before each step, and after the last one. One more than there are steps.
        final: The state after the last action.
        terminated: The task itself ended it.
        truncated: It was cut off: by the session's step limit, or by the environment.
        outcome: "won", "lost" or "", as in `Observation`.
    """

    steps: tuple[Step, ...]
    final: State
    texts: tuple[str, ...]
    terminated: bool = False
    truncated: bool = False
    outcome: str = ""
