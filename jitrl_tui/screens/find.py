"""Finds words in the transcript of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from textual.content import Content

from jitrl_tui.panes.transcript import TranscriptPane
from jitrl_tui.runs.view import Paragraph
from jitrl_tui.screens.dialogs import PickDialog, Row
from jitrl_tui.screens.shown_run import Surface
from jitrl_tui.widgets.lines import MUTED, fit


class Find:
    """Finds words in a transcript.

    Args:
        screen: The screen.
        transcript: Returns the transcript.
        to_front: Brings it to the front.

    Attributes:
        at: Number of the paragraph that was found last.
        sought: What was looked for last, "" if nothing was found yet.
    """

    def __init__(self, screen: Surface, transcript: Callable[[], TranscriptPane], to_front: Callable[[], None]) -> None:
        self._screen, self._transcript, self._to_front = screen, transcript, to_front
        self._typed = self.sought = ""
        self.at = 0

    def ask(self) -> None:
        """Search the transcript."""
        self._to_front()
        hint = "Every place in the transcript; Enter goes there."
        self._screen.app.push_screen(PickDialog("find", hint, "what to look for", rows=self._rows), self._found)

    def _rows(self, typed: str) -> list[Row]:
        """Return the latest hundred paragraphs that contain the typed text, each with its number."""
        self._typed = typed
        rows, paragraphs = [], self._transcript().paragraphs
        for index in islice(places_of(typed, paragraphs), 100):
            text = paragraphs[index].text.replace("\n", " ")
            start = max(0, text.casefold().find(typed.casefold()) - 16)
            where = Content.styled(f"episode {paragraphs[index].episode:<5} ", MUTED)
            rows.append((str(index), Content.assemble(where, fit(text[start : start + 52], 52))))
        return rows

    def _found(self, at: str | None) -> None:
        if at is not None:
            self.sought = self._typed
            self._go_to(int(at))

    def next(self) -> None:
        """Go to the place before, of those that were found last."""
        before = next(places_of(self.sought, list(self._transcript().paragraphs)[: self.at]), None)
        if before is None:
            self._screen.notify("No earlier place was found. / searches the transcript.", timeout=3)
        else:
            self._go_to(before)

    def _go_to(self, at: int) -> None:
        self.at = at
        self._transcript().go_to_paragraph(at)


def places_of(wanted: str, paragraphs: Sequence[Paragraph]) -> Iterator[int]:
    """Yield the indices of the paragraphs that contain a text, the latest first; none for an empty text."""
    for index in range(len(paragraphs) - 1, -1, -1):
        if wanted and wanted.casefold() in paragraphs[index].text.casefold():
            yield index
