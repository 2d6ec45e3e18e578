"""Looking ahead while a person reads: the model takes in the next situation's prompt before it is needed.

A second copy of the game, in a process of its own, takes the action that is shown, and the model computes what the
next prompt begins with. The game that is played is never touched, and what was prepared changes no number: whoever
decides otherwise loses nothing but the work done here.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence

from engine.environment import Environment
from engine.llm.model import Preparing
from engine.records import ActionRequest, Observation

PATIENCE = 2.0
"""Seconds that closing waits for work that is no longer wanted."""


def open_ahead(open_environment: Callable[[], Environment], model: object, seed: int) -> Lookahead | None:
    """Return a Lookahead for a game, or None where the model has no use for it."""
    if not isinstance(model, Preparing) or not model.prepares:
        return None
    return Lookahead(open_environment, model, seed)


class Lookahead:
    """Looks at where the shown action leads. One thread of its own, started when first needed.

    Args:
        open_environment: Opens another copy of the environment; one whose steps cannot be seen from the first.
        seed: Of its episodes.
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
        """Situations taken in so far."""

    @contextlib.contextmanager
    def beyond(self, actions: Sequence[str]) -> Iterator[Callable[[bool], None]]:
        """Look at where `actions`, from the start of the episode, lead, while the body of the `with` waits.

        Yields a function that is to be told whether the last of them is taken: if so, the work goes on.
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
        """Stop looking and close the copy; safe to call twice."""
        with self._changed:
            self._closed, self._wanted = True, None
            self._changed.notify_all()
        if self._thread is not None:
            # A game that is being searched for valid actions may take long; its process ends with its thread.
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
            # Whatever it is, the game that is played will meet it, too, and say so; here it only costs speed.
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
        """Bring the copy to where `wanted` leads; None if nobody wants that any more."""
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
