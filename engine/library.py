"""jitrl as a library. What is here is also in `engine` itself; docs/library.md has an example."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from engine.agents import AGENTS
from engine.environments import kind_of, profile, scope_rules
from engine.errors import JitrlError, UsageError
from engine.kinds import EnvironmentContext
from engine.memory import Memory
from engine.records import Decided, Decision, EpisodeEnded, EpisodeStarted, Event, Observation, Stepped
from engine.session.control import Answer, Control, PersonSaid
from engine.settings import SessionConfig

if TYPE_CHECKING:
    from engine.environment import Environment
    from engine.session.loop import Session


@dataclass(frozen=True, slots=True)
class Player:
    """An agent to play with: a method, its model, and settings.

    Attributes:
        method: A name of `jitrl compare`'s list of agents, such as "jitrl", "static" or "reflexion".
        model: A name as `jitrl models ls` lists them, or as litellm has them.
        profile: The settings to begin with, "default" or "paper".
        settings: Settings that differ from the profile's, by name; `jitrl config show` lists them.
    """

    method: str
    model: str
    profile: str
    settings: dict[str, Any]


def make_agent(
    method: str = "jitrl", *, model: str = "local/smollm2", profile: str = "default", **settings: Any
) -> Player:
    """Return an agent to play with; the arguments are as in `Player`.

    Raises:
        UsageError: There is no such method.
    """
    AGENTS.find(method)
    return Player(method, model, profile, settings)


def open_environment(name: str, *, saves: str | Path = "saves", games: str | Path | None = None) -> Environment:
    """Open an environment to act in by hand: `reset`, `step`, `valid_actions`, `save`, `restore`. Close it in the end.

    Args:
        name: A game, the path of a story, `web:TASK` or `gym:PACKAGE/ENV`.
        saves: Folder for all that persists.
        games: A further folder with stories.

    Raises:
        JitrlError: There is none of this name, or it cannot be opened.
    """
    kind = kind_of(name)
    return kind.open(kind.full(name) or name, EnvironmentContext(Path(saves), str(games) if games else None))


def play_episodes(
    name: str, agent: Player, episodes: int = 1, *, saves: str | Path = "saves", seed: int = 1,
    on_event: Callable[[Event], None] = lambda event: None,
) -> list[EpisodeEnded]:  # fmt: skip
    """Let an agent play, and return how each episode ended.

    It is a session as `jitrl run` plays it: recorded, and remembered in the memory of this environment if the agent
    learns.

    Args:
        name: As of `open_environment`.
        on_event: Called with everything that happens: decisions with their candidates, steps, notices.

    Raises:
        JitrlError: A name or a setting is wrong, something is missing, or playing failed.
    """
    session = _session(name, agent, episodes, saves, seed, on_event)
    session.run()
    if session.error is not None:
        raise session.error
    return session.results


def open_play(
    name: str, agent: Player, episodes: int = 1, *, saves: str | Path = "saves", seed: int = 1,
    on_event: Callable[[Event], None] = lambda event: None,
) -> Play:  # fmt: skip
    """Let an agent play step by step: the same as `play_episodes`, but your program says when to go on.

    Use it in a `with` block, or close it. The arguments are as of `play_episodes`.

    Raises:
        JitrlError: A name or a setting is wrong.
    """
    return Play(name, agent, episodes, saves, seed, on_event)


class Play:
    """A session that waits at each decision. `open_play` makes it.

    Attributes:
        seen: What the environment showed last, None before the first decision.
        results: How each episode ended that is over. An episode is judged and remembered by the `choose` after its
            last step.
    """

    def __init__(
        self, name: str, agent: Player, episodes: int, saves: str | Path, seed: int, on_event: Callable[[Event], None]
    ) -> None:
        self.seen: Observation | None = None
        self.results: list[EpisodeEnded] = []
        self._decision: Decision | None = None
        self._on_event = on_event
        self._events: SimpleQueue[Event | _Waits | BaseException | None] = SimpleQueue()
        self._gate = _Gate(self._events)
        session = _session(name, agent, episodes, saves, seed, self._events.put, self._gate)
        self._thread = threading.Thread(target=self._run, args=(session,), name="jitrl-play", daemon=True)
        self._thread.start()

    def __enter__(self) -> Play:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def choose(self) -> Decision | None:
        """Return what the agent chooses next, with its candidates and their numbers; None once all was played.

        Until `step` is called, it is the same one. After the last step of an episode, the next episode begins.

        Raises:
            JitrlError: Playing failed.
        """
        if self._decision is None:
            self._decision = self._until(_Waits)
        return self._decision

    def step(self, action: str = "") -> Observation:
        """Take the action that the agent chose, or another one, and return what the environment shows then.

        An action of your own is recorded as a person's.

        Raises:
            UsageError: All was played.
            JitrlError: Playing failed.
        """
        decision = self.choose()
        if decision is None:
            raise UsageError("all episodes are played; open another play")
        instead = action not in ("", decision.action)
        self._decision = None
        self._gate.answers.put(Answer(PersonSaid.INSTEAD, action) if instead else Answer())
        self._until(Stepped)
        assert self.seen is not None
        return self.seen

    def close(self) -> None:
        """End the session. What was stored remains; an episode that is not over is not remembered."""
        self._gate.stop()
        self._thread.join()
        self._decision = None
        with contextlib.suppress(JitrlError):
            self._until(_Gate)  # no event is one: this is all that there still is to tell

    def _run(self, session: Session) -> None:
        try:
            session.run()
            self._events.put(session.error)
        except BaseException as error:  # shown where the program waits
            self._events.put(error)

    def _until(self, kind: type) -> Decision | None:
        """Tell events until one of this kind comes; return the decision told last, None if the session is over."""
        decision = None
        while True:
            event = self._events.get()
            if event is None or isinstance(event, BaseException):
                self._events.put(event)  # for the next call
                if event is not None:
                    raise event
                return None
            if isinstance(event, Decided):
                decision = event.decision
            elif isinstance(event, (EpisodeStarted, Stepped)):
                self.seen = event.observation
            elif isinstance(event, EpisodeEnded):
                self.results.append(event)
            if not isinstance(event, _Waits):
                self._on_event(event)
            if isinstance(event, kind):
                return decision


class _Waits:
    """Told when a decision waits for `Play.step`."""


class _Gate(Control):
    """Holds each decision until `answers` has what becomes of it."""

    def __init__(self, events: SimpleQueue[Any]) -> None:
        super().__init__()
        self.answers: SimpleQueue[Answer] = SimpleQueue()
        self._waiting = events

    def gate(self, episode: int, tell: Callable[[Any], None], hold: str = "") -> Answer:
        self._waiting.put(_Waits())
        answer = self.answers.get()
        self.check()
        return answer

    def stop(self) -> None:
        super().stop()
        self.answers.put(Answer())


def _session(
    name: str, agent: Player, episodes: int, saves: str | Path, seed: int, on_event: Callable[[Event], None],
    control: Control | None = None,
) -> Session:  # fmt: skip
    from engine.session import store
    from engine.session.loop import Session

    folder = Path(saves).expanduser().absolute()
    settings = profile(agent.profile, kind_of(name).name, **agent.settings)
    config = SessionConfig(
        name, agent.method, agent.model, episodes, seed, profile=agent.profile, settings=settings
    )
    return Session(store.create(folder, config, "run"), folder, on_event, control=control)


def open_memory(saves: str | Path = "saves") -> Memory:
    """Open what was learnt: `scopes()` lists the environments, `scope(NAME).episodes()` yields what was played there.

    It is read as it is on disk. Use it in a `with` block, or close it.
    """
    return Memory(Path(saves).expanduser().absolute() / "memory", rules=scope_rules)
