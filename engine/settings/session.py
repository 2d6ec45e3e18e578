"""What a session is asked to play."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.errors import UsageError
from engine.settings.whole import Settings


@dataclass(frozen=True, slots=True)
class SessionConfig:
    """One run of episodes: what is played, by whom, how long.

    Attributes:
        game: Catalogue name or path of a story.
        games: Folder with more stories, None for the usual places.
        agent: Name in `engine.agents`.
        model: litellm's name, `local/...`, or `prior/uniform`.
        memory: "shared" (one for each game, under saves/memory), "own" (empty at first, kept with the session), or
            "own:NAME" (that of the session NAME).
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

    def __post_init__(self) -> None:
        """Refuse what cannot be run."""
        if self.episodes < 1:
            raise UsageError(f"episodes must be at least 1, not {self.episodes}")
        owner = self.memory.removeprefix("own:")
        if self.memory not in ("shared", "own") and (owner == self.memory or not owner or "/" in owner):
            raise UsageError(f"memory must be 'shared', 'own' or 'own:SESSION', not {self.memory!r}")
        if not 0 <= self.seed < 2**31:
            raise UsageError(f"seed must lie between 0 and {2**31 - 1}, not {self.seed}")
