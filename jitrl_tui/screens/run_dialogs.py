"""Windows over the watch screen: notes, the file of a transcript, the memory of a branch, breakpoints."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.widgets import Input, Static

from engine.errors import UsageError
from engine.session.notes import LONGEST, Note
from engine.session.orders import Orders
from engine.session.rules import KINDS, MOST, Rule, parse
from engine.session.transcript import FORMATS
from jitrl_tui.runs.session_files import THOUGHTS
from jitrl_tui.screens.dialogs import Dialog, PickDialog, Row
from jitrl_tui.widgets.lines import ACCENT, BAD, GOOD, MUTED, NAME, STRONG, Lines, fit, wrap
from jitrl_tui.widgets.options import Entry


def _note_lines(notes: Sequence[Note], width: int) -> list[Content]:
    """Return all notes, each under the place in the session where it was made."""
    lines: list[Content] = []
    for note in notes:
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
            yield Lines("notes", lambda width: _note_lines(self._notes, width))
            if self._writable:
                box.border_subtitle = Content("Enter keeps the note, Esc closes")
                yield Entry(placeholder="a new note", max_length=LONGEST)

    def on_mount(self) -> None:
        """Show the newest notes, and put the cursor into the line."""
        for field in self.query(Input):
            field.focus()
        self.call_after_refresh(self.query_one(Lines).scroll_end, animate=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Answer with the note; nothing typed closes the window."""
        self.dismiss(event.value.strip() or None)

    def action_scroll(self, by: int) -> None:
        """Scroll the notes."""
        self.query_one(Lines).scroll_relative(y=3 * by, animate=False)


_MEANINGS = {"txt": "plain text", "md": "Markdown", "html": "a page to share", "json": "for programs"}


def export_dialog(stem: str) -> PickDialog:
    """Return a window that asks for the file of a transcript, with or without reasons. `export_as` takes the answer.

    Args:
        stem: The suggested name, without its ending.
    """

    def rows(typed: str) -> list[Row]:
        """Return a file for each format; a typed name that has an ending is the only one."""
        name, found = typed or stem, list[Row]()
        ending = Path(name).suffix.lstrip(".").lower()
        files = {ending: name} if ending in FORMATS else {form: f"{name}.{form}" for form in FORMATS}
        for form, file in files.items():
            told = f"{_MEANINGS[form]}{_there(file)}"
            found.append((file, Content(f"  {file}  ({told})")))
            if form in ("md", "html"):
                other = file if file == name else f"{name}-reasons.{form}"
                told = f"{_MEANINGS[form]}, with reasons{_there(other)}"
                found.append((f"{THOUGHTS} {other}", Content(f"  {other}  ({told})")))
        return found

    hint = "What was read and typed, with the notes, as a file."
    return PickDialog("transcript", hint, "another name or folder", rows=rows)


def _there(file: str) -> str:
    try:
        return ", replaces the file" if Path(file).expanduser().is_file() else ""
    except (OSError, RuntimeError):  # a name too long, or the home of nobody
        return ""


OWN, SHARED = "own memory", "shared memory"


class BranchDialog(PickDialog):
    """Asks which memory a branch uses. Answers are `OWN` and `SHARED`.

    Args:
        episode: Episode of the branch.
        step: Number of steps before it, which is the number of the step it begins with, from 0.
    """

    def __init__(self, episode: int, step: int) -> None:
        super().__init__(
            "branch",
            f"A new session goes on from before step {step + 1} of episode {episode}. It begins paused there; this "
            "session stays as it is. Which memory does it use?",
            "own or shared",
            rows=[
                (name, Content.assemble(("  " + name, STRONG), "\n", ("    " + about, MUTED)))
                for name, about in (
                    (OWN, "a copy as memory was at this step; nothing else learns from it"),
                    (SHARED, "that of this session, as it is now; it learns from the branch"),
                )
            ],
        )


_HINT = "A breakpoint stops the run, also a fast-forward. \N{UPWARDS ARROW}\N{DOWNWARDS ARROW} choose, or type one."
_WIDTH = 20


class BreakpointsDialog(PickDialog):
    """Sets and removes breakpoints. Each change takes effect at once.

    Args:
        orders: The present orders.
        change: Called with new orders.
        typed: A text to begin with.
    """

    free = "sets what is typed"

    def __init__(self, orders: Orders, change: Callable[[Orders], None], typed: str = "") -> None:
        super().__init__("breakpoints", _HINT, "a breakpoint, such as entropy>1.2 or command:take *", typed=typed)
        self._orders, self._change = orders, change

    def options(self, typed: str) -> list[tuple[str, Content]]:
        """Return the breakpoints that are set, then the kinds there are; those alone that begin with what is typed."""
        present = [str(rule) for rule in self._orders.rules]
        rows = [(name, _row("● ", name, "is set; Enter removes it", ACCENT)) for name in present]
        rows += [
            (written, _row("+ ", written, what, STRONG)) for _, written, what in KINDS if written not in present
        ]
        return [row for row in rows if row[0].startswith(typed)]

    def choose(self, answer: str) -> None:
        """Set a breakpoint, remove one that is set, or begin one that needs a number or words."""
        left = tuple(rule for rule in self._orders.rules if str(rule) != answer)
        template = next((written for kind, written, _ in KINDS if written == answer != kind), "")
        if len(left) < len(self._orders.rules):
            self._order(left, f"Removed: {answer}")
        elif template:
            self._begin(template.rstrip("XNWORDS"))
        elif len(left) >= MOST:
            self._say(f"There can be {MOST} breakpoints.", BAD)
        else:
            try:
                rule = parse(answer)
            except UsageError as error:
                self._say(f"{error}.", BAD)
            else:
                self._order((*(one for one in left if one != rule), rule), f"Set: {rule}")

    def _order(self, rules: tuple[Rule, ...], told: str) -> None:
        """Let the new breakpoints take effect."""
        self._orders = dataclasses.replace(self._orders, rules=rules)
        self._change(self._orders)
        self._begin("")
        self.fill("")
        self._say(told, GOOD)

    def _begin(self, text: str) -> None:
        """Put a text into the input, to be completed."""
        field = self.query_one(Input)
        field.value = text
        field.cursor_position = len(text)

    def _say(self, text: str, style: str) -> None:
        self.query_one(".hint", Static).update(Content.styled(text, style))


def _row(sign: str, rule: str, meaning: str, style: str) -> Content:
    return Content.assemble((sign + fit(rule, _WIDTH), style), ("  " + meaning, MUTED))
