"""The configuration of a session."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.errors import UsageError
from engine.settings.address import is_address, parsed_address
from engine.settings.groups import Settings


@dataclass(frozen=True, slots=True)
class SessionConfig:
    """The configuration of one run of episodes.

    Attributes:
        game: Name of the environment, or path of a story.
        games: Additional folder with stories, None for only the usual ones.
        agent: Name of a method in `engine.agents`.
        model: Name of the model, as in `engine.llm.open_model`.
        memory: "shared" (one memory per game, under saves/memory), "own" (empty at first, in the session's
            folder), "own:NAME" (the memory of the session NAME), or the address of a memory that many share
            (`engine.settings.address`), without a password.
        frozen: Whether nothing is learnt: memory and what the agent keeps are read, and nothing is added.
        workers: Number of sessions that play with this memory and take their steps in turn; 1 if it plays alone.
        worker: Its number among them, from 1.
    """

    game: str
    agent: str = "jitrl"
    model: str = "local/smollm2"
    episodes: int = 50
    seed: int = 1
    profile: str = "default"
    settings: Settings = field(default_factory=Settings)
    games: str | None = None
    memory: str = "shared"
    frozen: bool = False
    workers: int = 1
    worker: int = 1

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            UsageError: A value is invalid.
        """
        if self.episodes < 1:
            raise UsageError(f"episodes must be at least 1, not {self.episodes}")
        owner = self.memory.removeprefix("own:")
        if is_address(self.memory):
            parsed_address(self.memory)
        elif self.memory not in ("shared", "own") and (owner == self.memory or not owner or "/" in owner):
            raise UsageError(f"memory must be 'shared', 'own', 'own:SESSION' or an address, not {self.memory!r}")
        if not 1 <= self.worker <= self.workers:
            raise UsageError(f"worker must lie between 1 and workers ({self.workers}), not {self.worker}")
        if not 0 <= self.seed < 2**31:
            raise UsageError(f"seed must lie between 0 and {2**31 - 1}, not {self.seed}")
