"""The window of work that a person waits for."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from jitrl_tui.screens.dialogs import Dialog, Result
from jitrl_tui.system.background import Background, Told

_EVERY_S = 0.2
"""Seconds between looks at how far the work is."""


class WaitDialog(Dialog[Result]):
    """Work in the background. The answer is its result; None if it was cancelled or failed, which is said.

    Args:
        what: What is done, in a few words.
        work: Called in a thread with a function that takes progress.
    """

    def __init__(self, what: str, work: Callable[[Told], Result]) -> None:
        super().__init__()
        self._what, self._do = what, work
        self.work = Background(self)
        self._answers: list[Result | None] = []

    def compose(self) -> ComposeResult:
        """Lay out the line."""
        box = self.box(self._what)
        box.border_subtitle = Content("Esc cancels")
        with box:
            yield Static(id="told", markup=False)

    def on_mount(self) -> None:
        """Begin the work."""
        self.work.begin(self._do, self._ended, self._failed, what=self._what)
        self.set_interval(_EVERY_S, self._tell)
        self._tell()

    def on_unmount(self) -> None:
        """Cancel the work."""
        self.work.close()

    def on_screen_resume(self) -> None:
        """Answer, if the work has ended below another window."""
        if self._answers:
            self.dismiss(self._answers[0])

    def _ended(self, answer: Result | None) -> None:
        self._answers = [answer]
        if self.is_current:
            self.dismiss(answer)

    def _failed(self, sentence: str) -> None:
        self.app.notify(sentence, severity="error", timeout=8)
        self._ended(None)

    def _tell(self) -> None:
        self.query_one("#told", Static).update(Content(self.work.progress_text))
