"""What jitrl plays as environments of Gymnasium, for programs that bring their own agent.

Importing this module registers `jitrl/GAME` for each game that comes with jitrl, and `jitrl/any`, which opens
whatever `jitrl run` plays:

    import gymnasium
    import engine.for_gymnasium

    env = gymnasium.make("jitrl/pantry")
    env = gymnasium.make("jitrl/any", name="zork1", saves="saves")

`engine.gym` is the other direction: it plays environments of other packages here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium

from engine.environments import resolve
from engine.games.catalogue import shipped_stories
from engine.kinds import EnvironmentContext
from engine.paths import saves_folder

if TYPE_CHECKING:
    from engine.records import Observation


class AnyText(gymnasium.spaces.Text):  # type: ignore[misc]
    """All texts. Samples are short and of ASCII letters."""

    def __init__(self) -> None:
        super().__init__(max_length=40, min_length=1)

    def contains(self, x: object) -> bool:
        """Return whether it is a text."""
        return isinstance(x, str)

    def __repr__(self) -> str:
        """Return it in words."""
        return "AnyText()"


class TextEnvironment(gymnasium.Env):  # type: ignore[misc]
    """A game or a task. Observations and actions are texts; the reward is the change of the score.

    `info` of `reset` and `step` has `admissible_commands` (the actions that would change the world), `score`,
    `max_score` (None if unknown), `won` and `lost`, `description`, `inventory` and `location`. `engine.gym` reads
    them, as it does those of other packages. The seed of `reset` is the seed of the game.

    Args:
        name: What is played, as for `jitrl run`.
        steps: Actions after which an episode is truncated; 0 for no limit.
        saves: The saves folder, "" for the usual one. Its stories are found.
        games: A folder with more stories.
        render_mode: "ansi", or None.

    Raises:
        JitrlError: It cannot be opened.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012

    def __init__(
        self, name: str, steps: int = 0, saves: str = "", games: str | None = None, render_mode: str | None = None
    ) -> None:
        self.observation_space, self.action_space = AnyText(), AnyText()
        self.render_mode = render_mode
        kind, full = resolve(name)
        self._environment = kind.open(full, EnvironmentContext(saves_folder(saves or None), games))
        self._steps, self._taken = steps, 0
        self._seen: Observation | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode; return its first text, and what is known."""
        super().reset(seed=seed)
        self._taken = 0
        self._seen = self._environment.reset(int(self.np_random.integers(2**31)) if seed is None else seed)
        return self._seen.text, self._info(self._seen)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take an action.

        Raises:
            GameError: The game crashed and could not be started again.
        """
        if self._seen is None:
            raise gymnasium.error.ResetNeeded("call reset before step")
        before, self._seen = self._seen.score, self._environment.step(action)
        self._taken += 1
        seen = self._seen
        late = bool(self._steps) and self._taken >= self._steps and not seen.terminated
        return seen.text, seen.score - before, seen.terminated, seen.truncated or late, self._info(seen)

    def render(self) -> str | None:
        """Return the last text in the mode "ansi"."""
        return self._seen.text if self.render_mode == "ansi" and self._seen is not None else None

    def close(self) -> None:
        """End the game."""
        self._environment.close()

    def _info(self, seen: Observation) -> dict[str, Any]:
        return {
            "admissible_commands": list(self._environment.valid_actions()), "score": seen.score,
            "max_score": seen.max_score, "won": seen.outcome == "won", "lost": seen.outcome == "lost",
            "description": seen.description, "inventory": seen.inventory, "location": seen.place,
        }  # fmt: skip


def _register() -> None:
    names = {story.name: story.name for story in shipped_stories()}
    for name, played in (*names.items(), ("any", None)):
        if f"jitrl/{name}" not in gymnasium.registry:
            kwargs = {} if played is None else {"name": played}
            gymnasium.register(f"jitrl/{name}", f"{__name__}:TextEnvironment", kwargs=kwargs)


_register()
