"""Dialogs that ask for a file, and that show a text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content

from jitrl_tui.screens.dialogs import Dialog, PickDialog
from jitrl_tui.widgets.lines import LinePane, wrap

_SHOWN = 50


class PathDialog(PickDialog):
    """Asks for a path. Tab completes the highlighted one.

    Args:
        title: Title of the box.
        hint: What the path is for.
        new: Whether it is to be made. Then the typed path is the first line.
        known: Paths with a line about each, which are listed first; None to list what is in the folder.
    """

    free = "takes what is typed"

    def __init__(
        self, title: str, hint: str, *, new: bool = False, known: Sequence[tuple[str, str]] | None = None
    ) -> None:
        super().__init__(title, hint, f"{'part of a line below, or ' if known else ''}a path; Tab completes")
        self._new, self._known = new, known

    def options(self, typed: str) -> list[tuple[str, Content]]:
        """Return the typed path if it is there or to be made, and those that begin with it."""
        known = self._known or ()
        rows = [(path, Content(f"  {line}")) for path, line in known if typed.casefold() in line.casefold()]
        if self._known is not None and not typed:
            return rows
        rows += [(typed, Content("  " + typed))] if typed and (self._new or _is_there(typed)) else []
        path = Path(typed or ".").expanduser()
        folder, start = (path, "") if typed.endswith("/") or not typed else (path.parent, path.name)
        try:
            names = sorted(one.name + ("/" if one.is_dir() else "") for one in folder.iterdir())
        except OSError:
            return rows
        before = typed[: len(typed) - len(start)]
        for name in names:
            hidden = name.startswith(".") and not start.startswith(".")
            if name.startswith(start) and name.rstrip("/") != start and not hidden:
                rows.append((before + name, Content("  " + before + name)))
        return rows[:_SHOWN]


def _is_there(typed: str) -> bool:
    try:
        return Path(typed).expanduser().exists()
    except (OSError, RuntimeError):  # a name too long, or the home of nobody
        return False


class _Text(LinePane):
    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__("text")
        self._lines = lines

    def build(self, width: int, height: int) -> list[Content]:
        return [Content(line) for text in self._lines for line in wrap(text, width)]


class TextDialog(Dialog[None]):
    """Shows lines of text.

    Args:
        title: Title of the box.
        lines: The text.
    """

    BINDINGS: ClassVar = [Binding("q", "dismiss(None)", show=False)]

    def __init__(self, title: str, lines: Sequence[str]) -> None:
        super().__init__(classes="-page")
        self._title, self._lines = title, lines

    def compose(self) -> ComposeResult:
        """Lay out the text."""
        with self.box(self._title):
            yield _Text(self._lines)
