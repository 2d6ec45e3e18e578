"""Resets an environment for an episode. One page or task that cannot begin costs its episode, and not the session."""

from __future__ import annotations

from collections.abc import Callable

from engine.environment import Environment
from engine.errors import GameError
from engine.records import Observation

FAILED_BEGINNINGS = 5
"""Episodes in a row that may fail to begin. One more ends the session: then it is no single page that is at fault."""


class Beginnings:
    """The beginnings of a session's episodes.

    Args:
        check: Raises if the person stopped the session.
        warn: Called with a sentence about what failed.
    """

    def __init__(self, check: Callable[[], None], warn: Callable[[str], None]) -> None:
        self._check, self._warn = check, warn
        self._failed = 0
        """Number of episodes in a row that could not begin."""

    def reset(self, environment: Environment, seed: int, *, anew: bool) -> Observation:
        """Reset the environment and return what it shows.

        If that fails, it is tried once more. If that fails too, a new episode is over at once and counts as failed.

        Args:
            environment: The environment.
            seed: As of `Environment.reset`.
            anew: Whether the episode is new, and not one whose steps are repeated.

        Raises:
            GameError: It fails when steps are repeated, or in more than `FAILED_BEGINNINGS` episodes in a row.
        """
        for last in (False, True):
            self._check()
            try:
                observation = environment.reset(seed)
            except GameError as error:
                if last and (not anew or self._failed >= FAILED_BEGINNINGS):
                    raise
                self._warn(f"the episode could not begin: {error}; {'it counts as failed' if last else 'one more try'}")
                observation = Observation(f"The episode could not begin: {error}.", truncated=True, failed=True)
            else:
                self._failed = 0
                return observation
        self._failed += 1
        return observation
