"""Lookahead: prepares the prompt of the next decision while a person reads the present one.

A second copy of the game, in its own process, takes the proposed action, and the model processes the beginning of the
next prompt. The game that is played is not affected, and no result changes. If the person chooses another action, only
the prepared work is lost.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence

from engine import waits
from engine.environment import Environment
from engine.llm.model import Preparing
from engine.records import ActionRequest, Observation

PATIENCE = waits.THREAD_END.seconds
"""Seconds that `close` waits for the thread to end."""


def open_ahead(open_environment: Callable[[], Environment], model: object, seed: int) -> Lookahead | None:
    """Return a Lookahead for a game, or None if the model cannot prepare prompts."""
    if not isinstance(model, Preparing) or not model.prepares:
        return None
    return Lookahead(open_environment, model, seed)


class Lookahead:
    """Prepares the prompt after the proposed action, in a thread that starts at the first use.

    Args:
        open_environment: Opens another copy of the environment that does not affect the first one.
        seed: Seed of its episodes.
    """

    def __init__(
        self,
        open_environment: Callable[[], Environment],
        model: Preparing,
        seed: int,
    ) -> None:
        self._open = open_environment
        self._model = model
        self._seed = seed
        self._changed = threading.Condition()
        self._wanted: tuple[str, ...] | None = None
        self._closed = False
        self._thread: threading.Thread | None = None
        self._environment: Environment | None = None
        self._taken: tuple[str, ...] | None = None
        self._seen: Observation | None = None
        self.prepared = 0
        """Number of prompts prepared so far."""

    @contextlib.contextmanager
    def beyond(self, actions: Sequence[str]) -> Iterator[Callable[[bool], None]]:
        """Prepare the prompt after `actions` while the block runs.

        Args:
            actions: All actions from the start of the episode.

        Yields:
            A function to call with whether the last action is really taken. If it is, the work goes on after the
            block, otherwise it stops.
        """
        taken = False

        def decided(as_shown: bool) -> None:
            nonlocal taken
            taken = as_shown

        self._want(tuple(actions))
        try:
            yield decided
        finally:
            if not taken:
                self._want(None)

    def _want(self, actions: tuple[str, ...] | None) -> None:
        with self._changed:
            if self._closed:
                return
            self._wanted = actions
            if actions is not None and self._thread is None:
                self._thread = threading.Thread(target=self._work, name="lookahead", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def close(self) -> None:
        """Stop the work and close the copy; calling this twice is safe."""
        with self._changed:
            self._closed, self._wanted = True, None
            self._changed.notify_all()
        if self._thread is not None:
            # The search for valid actions may take long. The process of the game ends with the thread.
            self._thread.join(PATIENCE)

    # ---------------------------------------------------------------------------- in its own thread

    def _work(self) -> None:
        done: tuple[str, ...] | None = None
        try:
            while True:
                with self._changed:
                    while not self._closed and (self._wanted is None or self._wanted == done):
                        self._changed.wait()
                    if self._closed:
                        return
                    wanted = self._wanted
                if wanted is not None:
                    self._look(wanted)
                    done = wanted
        except Exception:
            # The game that is played meets the same error and reports it. Here, only the preparation is lost.
            with self._changed:
                self._closed = True
        finally:
            if self._environment is not None:
                self._environment.close()

    def _look(self, wanted: tuple[str, ...]) -> None:
        seen = self._go(wanted)
        if seen is None or seen.over or self._environment is None:
            return
        valid, present = self._environment.valid_actions(), self._environment.abstractor().situation(seen)
        request = ActionRequest("", "", "", present, valid, len(valid))
        if self._outdated(wanted):
            return
        self._model.prepare(request, lambda: self._outdated(wanted))
        self.prepared += not self._outdated(wanted)

    def _go(self, wanted: tuple[str, ...]) -> Observation | None:
        """Take the actions of `wanted` in the copy; return the last observation, or None if it is no longer wanted."""
        if self._environment is None:
            self._environment = self._open()
        if self._taken is None or wanted[: len(self._taken)] != self._taken:
            self._taken, self._seen = (), self._environment.reset(self._seed)
        for action in wanted[len(self._taken) :]:
            if self._outdated(wanted):
                return None
            self._seen = self._environment.step(action)
            self._taken = (*self._taken, action)
        return self._seen

    def _outdated(self, wanted: tuple[str, ...]) -> bool:
        with self._changed:
            return self._wanted != wanted
