"""What comes nearest to the displayed state where no remembered step is similar enough."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.memory.search import MemoryFilter
from jitrl_tui.runs import hits
from jitrl_tui.runs.view import Choice
from jitrl_tui.screens.recorded import Recorded
from jitrl_tui.screens.shown_run import Service, ShownRun, Surface
from jitrl_tui.system.background import Background, Progress

if TYPE_CHECKING:
    from engine.session.whatif import Nearest

_RESTS = ("paused", "ended")


class NearestStep(Service):
    """Finds the most similar remembered step from the recording and its memory, and shows what it lacks.

    Args:
        run: The run.
        screen: Its screen.
        recorded: The recording with its memory.
        work: Does it in the background, if nothing else is done there.
    """

    def __init__(self, run: ShownRun, screen: Surface, recorded: Recorded, work: Background) -> None:
        super().__init__(run, screen)
        self._recorded, self._work = recorded, work
        self._seen: Choice | None = None
        self._of: Choice | None = None
        self._found: Choice | None = None

    def shown(self, choice: Choice | None) -> Choice | None:
        """Return the choice with what comes nearest to it, if that is known."""
        return self._found if choice is not None and choice is self._of else choice

    def rests(self, choice: Choice | None) -> bool:
        """Return whether to look for this choice: it stays on the display, because the run does not go on or it was
        there last time, too, and it was not looked for before.
        """
        before, self._seen = self._seen, choice
        stays = self._run.back is not None or self._run.view.activity in _RESTS or choice is before
        return stays and choice is not self._of

    def forget(self) -> None:
        """Look again, because memory was changed."""
        self._of = self._found = None

    def find(
        self, choice: Choice | None, memory_filter: MemoryFilter, tell: Callable[[str], None] = lambda sentence: None
    ) -> None:
        """Find what comes nearest to a choice without neighbours, unless it is known.

        Args:
            memory_filter: Memory as it would be.
            tell: Takes a sentence about what is missing.
        """
        if choice is None or self._work.busy or (choice is self._of and choice is not self._found):
            return
        if self._run.place is None or not hits.could_be_near(choice, self._run.view.memory_entries):
            return
        at = choice.episode, choice.decision.step

        def work(progress: Progress) -> Nearest:
            from engine.session import whatif

            return whatif.nearest(
                self._recorded.open().run(), at, memory_filter=memory_filter, check=lambda: progress(0, 0)
            )

        def finished(found: Nearest) -> None:
            self._of, self._found = choice, dataclasses.replace(choice, nearest=found)
            self._screen.redraw()

        def failed(sentence: str) -> None:
            self._of = self._found = choice
            tell(sentence)

        self._work.begin(work, finished, failed, what="")
