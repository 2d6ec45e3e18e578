"""The window of notes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.widgets import Input

from engine.session.notes import LONGEST, Note
from jitrl_tui.screens.dialogs import Dialog
from jitrl_tui.widgets.lines import MUTED, NAME, LinePane, wrap


class _NotesPane(LinePane):
    """All notes, each under the place in the session where it was made."""

    def __init__(self, notes: Sequence[Note]) -> None:
        super().__init__("notes")
        self._notes = notes

    def build(self, width: int, height: int) -> list[Content]:
        """Return the wrapped notes."""
        lines: list[Content] = []
        for note in self._notes:
            where = f"episode {note.episode}, step {note.step}" if note.episode else "before the first episode"
            lines.append(Content.styled(where, NAME))
            lines.extend(Content("  " + line) for line in wrap(note.text, width - 2))
        return lines or [Content.styled("There are no notes yet.", MUTED)]


class NotesDialog(Dialog[str]):
    """The notes of a session, with a line for a new one.

    Args:
        notes: The notes, oldest first.
        writable: Whether a new one can be made.
    """

    BINDINGS: ClassVar = [
        Binding("up,pageup", "scroll(-1)", show=False, priority=True),
        Binding("down,pagedown", "scroll(1)", show=False, priority=True),
    ]

    def __init__(self, notes: Sequence[Note], writable: bool) -> None:
        super().__init__(classes="-page")
        self._notes, self._writable = notes, writable

    def compose(self) -> ComposeResult:
        """Lay out the notes, and the line below them."""
        box = self.box(f"notes ({len(self._notes)})")
        with box:
            yield _NotesPane(self._notes)
            if self._writable:
                box.border_subtitle = Content("Enter keeps the note, Esc closes")
                yield Input(placeholder="a new note", max_length=LONGEST, select_on_focus=False)

    def on_mount(self) -> None:
        """Show the newest notes, and put the cursor into the line."""
        for field in self.query(Input):
            field.cursor_blink = False
            field.focus()
        self.call_after_refresh(self.query_one(_NotesPane).scroll_end, animate=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Answer with the note; nothing typed closes the window."""
        self.dismiss(event.value.strip() or None)

    def action_scroll(self, by: int) -> None:
        """Scroll the notes."""
        self.query_one(_NotesPane).scroll_relative(y=3 * by, animate=False)
