"""What the memory screen changes, and what it does with other memories.

All of it is done by the functions behind `jitrl memory`: forget and its undo, correct, merge, diff, export.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.screen import Screen

from engine.memory import exchange, upkeep
from engine.memory.search import Correction, Lens
from engine.memory.table import StepTable
from engine.session import whatif
from jitrl_tui import memories
from jitrl_tui.background import Background
from jitrl_tui.host import Host
from jitrl_tui.screens.dialogs import Dialog, PickDialog
from jitrl_tui.screens.hit import NumberDialog
from jitrl_tui.widgets.lines import LinePane, wrap
from jitrl_tui.widgets.rows import RowList

if TYPE_CHECKING:
    from engine.memory import Memory
    from engine.memory.scope import Scope


_AS_STORED = Correction()
"""In place of a change: there is none."""


class ChangingScreen(Screen[int]):
    """A list of remembered steps with changes that are not kept yet.

    Args:
        memory: The memory.
        saves: The saves folder.

    Attributes:
        table: The steps of the scope on show, None without one.
        rows: Indices of the listed steps, in their order.
        edits: By entry number: what is to be kept; None for a step that is to be forgotten.
        work: The work in the background.
    """

    app: Host

    def __init__(self, memory: Memory, saves: Path) -> None:
        super().__init__()
        self._memory, self._saves = memory, saves
        self._scope: Scope | None = None
        self.table: StepTable | None = None
        self.rows: Sequence[int] = ()
        self.edits: dict[int, Correction | None] = {}
        self._before: list[tuple[int, Correction | None]] = []
        self.work = Background(self)
        self._changed: Callable[[], None] = lambda: None

    def _draw(self) -> None:
        """Draw everything."""
        raise NotImplementedError

    def _reload(self) -> None:
        """Read the columns again."""
        raise NotImplementedError

    @property
    def list(self) -> RowList:
        """The list of steps."""
        return self.query_one(RowList)

    @property
    def entry(self) -> int | None:
        """Entry number of the step under the cursor."""
        if self.table is None or not len(self.rows):
            return None
        return int(self.table.entry[self.rows[self.list.at]])

    # ---------------------------------------------------------------------------------- editing

    def _edited(self, entry: int) -> Correction:
        known = self.edits.get(entry)
        stored = self.table.corrections.get(entry) if self.table is not None else None
        return known or stored or Correction()

    def action_forget(self) -> None:
        """Mark the step under the cursor to be forgotten, or take the mark away."""
        entry = self.entry
        if entry is None:
            return
        self._set(entry, None if self.edits.get(entry, _AS_STORED) is not None else _AS_STORED)
        self.list.action_move(1)
        self._draw()

    def action_pin(self) -> None:
        """Pin the step under the cursor, or take the pin away."""
        if (entry := self.entry) is not None:
            known = self._edited(entry)
            self._edit(entry, dataclasses.replace(known, pinned=not known.pinned))

    def action_edit(self) -> None:
        """Ask for another return of the step under the cursor."""
        entry = self.entry
        if entry is None or self.table is None:
            return
        known, row = self._edited(entry), self.rows[self.list.at]
        hint = "Its return G, in place of the computed one. Other steps keep theirs."
        self.app.push_screen(
            NumberDialog(
                f"edit the return of entry {entry}",
                hint,
                float(self.table.g[row]) if known.g is None else known.g,
            ),
            lambda value: (
                self._edit(entry, dataclasses.replace(known, g=value)) if value is not None else None
            ),
        )

    def action_points(self) -> None:
        """Ask for other points of the step under the cursor, for plans."""
        entry = self.entry
        if entry is None or self.table is None:
            return
        known, row = self._edited(entry), self.rows[self.list.at]
        hint = "The points that plans expect of it, in place of those that the game gave."
        value = float(self.table.points[row]) if known.gain is None else known.gain
        self.app.push_screen(
            NumberDialog(f"edit the points of entry {entry}", hint, value),
            lambda value: (
                self._edit(entry, dataclasses.replace(known, gain=value)) if value is not None else None
            ),
        )

    def _edit(self, entry: int, correction: Correction) -> None:
        self._set(entry, correction)
        self._draw()

    def _set(self, entry: int, edit: Correction | None) -> None:
        """Change what is to be kept of a step, and remember what it was."""
        self._before.append((entry, self.edits.get(entry, _AS_STORED)))
        self._put(entry, edit)

    def _put(self, entry: int, edit: Correction | None) -> None:
        self.edits.pop(entry, None)
        if edit is not _AS_STORED:
            self.edits[entry] = edit

    def action_undo(self) -> None:
        """Undo the last change that was not kept."""
        if self._before:
            self._put(*self._before.pop())
            self._draw()
        else:
            self.notify("Nothing is changed. U puts back what was forgotten last.", timeout=3)

    def action_keep(self) -> None:
        """Store the changes."""
        scope, memory = self._scope, self._memory
        if not self.edits or scope is None:
            self.notify("Nothing is changed.", timeout=2)
            return
        gone = frozenset(entry for entry, one in self.edits.items() if one is None)
        lens = Lens(
            without=gone, corrections={entry: one for entry, one in self.edits.items() if one is not None}
        )
        self._do(lambda told: whatif.keep(scope, memory, lens))

    def action_put_back(self) -> None:
        """Put back what was forgotten last."""
        memory = self._memory
        if self.edits:
            self.notify("Keep the changes with S, or undo them with Backspace, before that.", severity="warning")
            return

        def work(told: Callable[[int, int], None]) -> str:
            entries, _ = upkeep.undo_last(memory)
            return f"Put back {entries:,} steps."

        self._do(work)

    def _do(self, work: Callable[[Callable[[int, int], None]], str]) -> None:
        """Change memory in the background; then list it anew and say what was done."""

        def finished(sentence: str) -> None:
            self.edits.clear()
            self._before.clear()
            self.notify(sentence, timeout=5)
            self._reload()
            self._changed()

        self.work.begin(work, finished, self._failed, what="Changing memory", must_end=True)

    def _failed(self, sentence: str) -> None:
        self.notify(sentence, severity="error", timeout=8)
        self._reload()

    # --------------------------------------------------------------------------- other memories

    def action_merge(self) -> None:
        """Ask for another memory, and take what it knows and this one does not."""
        memory = self._memory

        def given(text: str | None) -> None:
            if text is None:
                return
            path = Path(text).expanduser()
            if self.edits:
                self.notify(
                    "Keep the changes with S, or undo them with Backspace, before you merge.", severity="warning"
                )
                return

            def work(told: Callable[[int, int], None]) -> str:
                taken = exchange.merge_from(memory, path)
                refused = (
                    f"; refused: {len(taken.problems)}, the first because {taken.problems[0]}"
                    if taken.problems
                    else ""
                )
                took = f"Took {taken.episodes:,} episodes with {taken.entries:,} steps"
                return f"{took}; {taken.known:,} were known{refused}."

            self._do(work)

        hint = "Take what another memory knows and this one does not."
        self._ask_for_other("merge", hint, given)

    def action_diff(self) -> None:
        """Ask for another memory, and show how the two differ: this game first."""
        memory, here = self._memory, self._scope

        def given(text: str | None) -> None:
            if text is None:
                return
            path = Path(text).expanduser()

            def work(told: Callable[[int, int], None]) -> list[str]:
                notes: list[str] = []
                differences = exchange.compare(
                    exchange.open_source(memory.folder), exchange.open_source(path), notes.append
                )
                differences = sorted(differences, key=lambda one: here is None or one.scope != here.name)
                return [line for one in differences for line in memories.differences(one, "here", "there")] + notes

            def finished(lines: list[str]) -> None:
                titles = [one.title for one in memories.known(self._saves, memory.folder) if one.folder == path]
                title = f"here: this memory, there: {titles[0] if titles else path}"
                self.app.push_screen(TextDialog(title, lines or ["Both are empty."]))

            self.work.begin(work, finished, self._failed, what="Comparing")

        hint = "Compare with another memory: episodes, and what it says of actions."
        self._ask_for_other("compare", hint, given)

    def _ask_for_other(self, title: str, hint: str, given: Callable[[str | None], None]) -> None:
        """Ask for another memory: one of the saves folder from a list, or any other by its path."""
        known = [(str(one.folder), one.line) for one in memories.known(self._saves, self._memory.folder)]
        if not known:
            hint += " There is no other one in this saves folder: type its path."
        self.app.push_screen(PathDialog(title, hint, known=known), given)

    def action_export(self) -> None:
        """Ask for a file, and write the memory of this game into it."""
        scope = self._scope

        def given(text: str | None) -> None:
            if text is None or scope is None:
                return
            path = Path(text).expanduser()
            if path.exists():
                self.notify(f"{path} exists already; give the file another name.", severity="warning")
                return

            def work(told: Callable[[int, int], None]) -> str:
                episodes, records = exchange.export_to(path, [scope])
                return f"Wrote {episodes:,} episodes and {records:,} kept records to {path}."

            self.work.begin(
                work, lambda said: self.notify(said, timeout=6), self._failed, what="Writing", must_end=True
            )

        self.app.push_screen(
            PathDialog("export", "A new file for all of this game's memory, one JSON object a line.", new=True), given
        )


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
