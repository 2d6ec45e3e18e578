"""jitrl as a library. What is here is also in `engine` itself; docs/library.md has an example."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.agents import AGENTS
from engine.environments import kind_of, profile, scope_rules
from engine.kinds import Places
from engine.memory import Memory
from engine.records import EpisodeEnded, Event
from engine.settings import SessionConfig

if TYPE_CHECKING:
    from engine.environment import Environment


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
    return kind.open(kind.full(name) or name, Places(Path(saves), str(games) if games else None))


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
    from engine.session import store
    from engine.session.loop import Session

    folder = Path(saves).expanduser().absolute()
    settings = profile(agent.profile, kind_of(name).name, **agent.settings)
    config = SessionConfig(
        name, agent.method, agent.model, episodes, seed, profile=agent.profile, settings=settings
    )
    session = Session(store.create(folder, config, "run"), folder, on_event)
    session.run()
    if session.error is not None:
        raise session.error
    return session.results


def open_memory(saves: str | Path = "saves") -> Memory:
    """Open what was learnt: `scopes()` lists the environments, `scope(NAME).episodes()` yields what was played there.

    It is read as it is on disk. Use it in a `with` block, or close it.
    """
    return Memory(Path(saves).expanduser().absolute() / "memory", rules=scope_rules)
