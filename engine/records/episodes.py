"""Records of environments and of the episodes that memory stores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

OUTCOMES = ("", "won", "lost")
"""The ways in which an episode can end; "" if its environment does not say."""


@dataclass(frozen=True, slots=True)
class EnvironmentInfo:
    """Description of an environment. It does not change while the environment is open.

    Attributes:
        name: Name in the catalogue, or the stem of the story's file name.
        title: Title for people.
        scope: Key of the memory that belongs to this environment (a game; a site and page pattern).
        max_score: Highest possible score.
        source: Its origin: a path, or a URL.
        digest: md5 of the story file.
        repeatable: Whether an episode's actions may be repeated from its beginning, to resume it or to undo a step.
        task: Name of the task, if random draws depend on it: the tasks of a site begin alike. "" for games.
    """

    name: str
    title: str
    scope: str
    max_score: float | None = None
    source: str = ""
    digest: str = ""
    repeatable: bool = True
    task: str = ""


@dataclass(frozen=True, slots=True)
class Observation:
    """The state of an environment after `reset`, `step` or `restore`. Texts contain no control codes.

    Attributes:
        text: The output for the last action.
        description: The output that the command "look" would give now; costs no move.
        inventory: The printed inventory.
        place: Name of the room, or pattern of the page.
        score: Score so far, in the game's own points.
        max_score: Highest possible score.
        moves: Moves that the game has counted.
        terminated: The task itself ended the episode, by success or failure. Once True, it stays True.
        truncated: The episode was cut off from outside the task, but not by the session's step limit. Once True, it
            stays True.
        outcome: "won", "lost" (by death or otherwise), or "" for neither, or if the environment does not say.
        world_hash: Hash of the world's state, a key of caches.
        changed: Whether the last action changed the world.
        scene: The description without beings that move about on their own, if that differs. States are made from it.
        room: Distinguishes places of the same name.
        marks: Attributes of carried things that differ from the start, as `THING=N`, for example of a lamp that is on.
        failed: The environment raised an error, hung or was lost at the last action, and did not take it.
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
    failed: bool = False

    @property
    def broken(self) -> bool:
        """Whether the episode is over because the environment failed."""
        return self.failed and self.truncated

    @property
    def over(self) -> bool:
        """Whether the episode is over in the environment, so it takes no more actions."""
        return self.terminated or self.truncated


@dataclass(frozen=True, slots=True)
class State:
    """The abstracted state s of the paper (Sec. 4.1, App. E).

    Attributes:
        text: The structured summary `[State: noun, ...]` for people and prompts.
        tokens: T(s), distinct and sorted. The Jaccard similarity compares these.
        history: Hierarchical context `[SUMMARY] [PROGRESS] [LOCATION]`.
        history_tokens: T(history), distinct and sorted.
        place: Name of the place.
    """

    text: str
    tokens: tuple[str, ...]
    history: str = ""
    history_tokens: tuple[str, ...] = ()
    place: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One transition (s_t, a_t, r_t, s_{t+1}) as stored in memory.

    Attributes:
        state: s_t.
        action: a_t.
        reward: r_t of the evaluator, from which returns are computed.
        env_reward: Change of the environment's own score.
        score: The environment's score after the action.
        provenance: "agent", "human" or "imported:NAME".
        valid_actions: The actions that were possible in s_t.
        changed: Whether the action changed the world.
        world_hash: Hash of the world in s_t, "" if unknown.
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
class CorrectedStep(Step):
    """A remembered step with the points that a person gave it as its `env_reward`. Memory keeps these beside the step.

    Attributes:
        own_reward: The points that the environment gave.
    """

    own_reward: float = 0.0


@dataclass(frozen=True, slots=True)
class Episode:
    """A whole episode. Memory stores it completely or not at all.

    The next state of step t is the state of step t + 1, and `final` for the last step.

    Attributes:
        uid: Unique id. An episode with a uid that is already stored is not stored again.
        number: From 1 within its scope; 0 lets memory assign the next one.
        final: The state after the last action.
        terminated: The task itself ended it.
        truncated: The session's step limit or the environment cut it off.
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
    """A finished episode as input of an evaluator.

    Attributes:
        texts: The environment's output before each step and after the last one, one more than there are steps.
        final: The state after the last action.
        terminated: The task itself ended it.
        truncated: The session's step limit or the environment cut it off.
        outcome: "won", "lost" or "", as in `Observation`.
    """

    steps: tuple[Step, ...]
    final: State
    texts: tuple[str, ...]
    terminated: bool = False
    truncated: bool = False
    outcome: str = ""


@dataclass(frozen=True, slots=True)
class Kept:
    """One record that a method stores, for instance a reflection, a workflow or a strategy.

    Attributes:
        kind: One word chosen by the method, for instance "reflection".
        text: The content in words.
        data: Further content, as plain JSON values.
        scope: The memory it belongs to: a game, or a site and page pattern.
        agent: The method that stored it.
        model: The model of the session.
        session: The session that stored it.
        episode: Number of the episode in that session, from 1; 0 before the first one.
        episode_uid: The episode's uid, "" before the first one.
        at: Unix time, seconds.
        provenance: "agent", "human" (corrections of a person), or "imported:NAME".
        uid: Unique id. A record with a uid that is already stored is not stored again.
    """

    kind: str
    text: str
    data: Mapping[str, Any] = field(default_factory=dict)
    scope: str = ""
    agent: str = ""
    model: str = ""
    session: str = ""
    episode: int = 0
    episode_uid: str = ""
    at: float = 0.0
    provenance: str = "agent"
    uid: str = ""
