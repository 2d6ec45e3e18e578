"""Finds words in the transcript of a run."""

from __future__ import annotations

from collections.abc import Callable

from jitrl_tui.panes.transcript import Transcript
from jitrl_tui.screens.dialogs import FindDialog, places_of
from jitrl_tui.screens.shown_run import Surface


class Find:
    """Finds words in a transcript.

    Args:
        screen: The screen.
        transcript: Returns the transcript.
        to_front: Brings it to the front.

    Attributes:
        at: Number of the paragraph that was found last.
    """

    def __init__(self, screen: Surface, transcript: Callable[[], Transcript], to_front: Callable[[], None]) -> None:
        self._screen, self._transcript, self._to_front = screen, transcript, to_front
        self._sought = ""
        self.at = 0

    def ask(self) -> None:
        """Search the transcript."""
        self._to_front()
        dialog = FindDialog(self._transcript().paragraphs)

        def found(at: str | None) -> None:
            if at is not None:
                self._sought = dialog.wanted
                self._go_to(int(at))

        self._screen.app.push_screen(dialog, found)

    def next(self) -> None:
        """Go to the place before, of those that were found last."""
        paragraphs = self._transcript().paragraphs
        before = next(places_of(self._sought, list(paragraphs)[: self.at]), None)
        if before is None:
            self._screen.notify("No earlier place was found. / searches the transcript.", timeout=3)
        else:
            self._go_to(before)

    def _go_to(self, at: int) -> None:
        self.at = at
        self._transcript().go_to_paragraph(at)
