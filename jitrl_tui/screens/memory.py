"""The memory screen: all remembered steps of a game as a list that is searched, sorted, filtered and edited."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.cells import cell_len
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Input, Static

from engine.errors import JitrlError
from engine.memory import report
from engine.memory.search import Correction
from engine.memory.table import StepTable, UseCounts
from engine.session import whatif
from jitrl_tui import keymap
from jitrl_tui.command_table import Key
from jitrl_tui.runs.listed_steps import SORTS, Filter, list_steps, parse_filter
from jitrl_tui.runs.view import signed, signed_points
from jitrl_tui.screens import dialogs
from jitrl_tui.screens.command_screen import CommandScreen
from jitrl_tui.screens.hit import HINTS, HitDialog, NumberDialog, about_step, with_number
from jitrl_tui.screens.memory_changes import AS_STORED, MemoryChanges
from jitrl_tui.system.background import STORING
from jitrl_tui.system.output import one_line
from jitrl_tui.widgets.clickable import KeyBar
from jitrl_tui.widgets.lines import HUMAN, MUTED, fit, wrap
from jitrl_tui.widgets.options import Entry
from jitrl_tui.widgets.rows import RowList

if TYPE_CHECKING:
    from engine.memory import Memory
    from engine.memory.scope import Scope
    from engine.memory.table import Ints

_FOUND = 100_000
"""Steps that a search lists at most."""
_WITH_COUNTS = 66
"""Columns from which rows have room for counts of uses."""
_ACTION, _LEAST_STATE = 50, 30
"""Most columns of an action, and the fewest in which the text of its state is worth showing."""


class MemoryScreen(CommandScreen[int]):
    """The remembered steps of one game at a time.

    Args:
        memory: The memory.
        scope: Name of the scope to begin with, "" for the first one.
        saves: The saves folder, for counts from its recordings.
        gamma: Discount of the returns shown.
        zero_rewards: How a later reward of 0 counts in a return.
        changed: Called after memory was changed.
        close: Whether the memory is closed with the screen.

    Attributes:
        table: The steps of the scope on show, None without one.
        rows: Indices of the listed steps, in their order.
    """

    CSS_PATH = "memory.tcss"
    screen_name = "memory"
    help_pages = ()

    def __init__(
        self,
        memory: Memory,
        scope: str,
        saves: Path,
        *,
        gamma: float = 0.5,
        zero_rewards: str = "zero",
        changed: Callable[[], None] = lambda: None,
        close: bool = False,
    ) -> None:
        super().__init__()
        self._memory, self._saves = memory, saves
        self._scope: Scope | None = None
        self.table: StepTable | None = None
        self.rows: Ints = np.empty(0, np.int64)
        self.changes = MemoryChanges(memory, saves, self, lambda: self._scope, self._after_change)
        self.edits, self.work = self.changes.edits, self.changes.work
        self.commands = {
            "filter": self._ask_filter, "sort": self._sort_next, "reverse": self._reverse, "forget": self._forget,
            "edit": self._ask_return, "points": self._ask_points, "pin": self._pin, "undo": self._undo,
            "count": self._count_uses, "scope": self._change_scope, "present": self._show_all, "help": self.show_help,
            "leave": self._ask_leave, "keep": self.changes.keep, "put_back": self.changes.put_back,
            "merge": self.changes.merge, "diff": self.changes.compare, "export": self.changes.export,
        }  # fmt: skip
        self._scope_name = scope
        self._gamma, self._zero_rewards, self._changed, self._close = gamma, zero_rewards, changed, close
        self.sort, self.descending = "entry", True
        self._filter = Filter()
        self._found: np.ndarray[tuple[int], np.dtype[np.int64]] | None = None
        self._counts: UseCounts | None = None
        self._longest = 0
        """Cells of the longest action."""

    # ------------------------------------------------------------------------------------ composing

    def compose(self) -> ComposeResult:
        """Make all widgets once."""
        yield Static(id="head", markup=False)
        yield RowList("steps", self._row, self._head)
        yield Static(id="state", markup=False)
        yield Static(id="said", markup=False)
        words = "words; ep:5  by:human  G>1  hits>3  decided>0  edited  pinned"
        yield Entry(id="filter", placeholder=words, select_on_focus=True)
        yield KeyBar("keybar")

    def on_mount(self) -> None:
        """Open the first scope."""
        self.query_one("#state").can_focus = False
        self.list.focus()
        self.set_interval(0.3, self._say_work)
        self._open(self._scope_name)

    def on_unmount(self) -> None:
        """Cancel the work, and close the memory if it belongs to the screen."""
        self.work.close()
        if self._close:
            self._memory.close()

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

    def _after_change(self, done: bool) -> None:
        """List memory anew after work that may have changed it."""
        self._reload()
        if done:
            self._changed()

    def _open(self, name: str) -> None:
        """Show a scope."""
        try:
            names = self._memory.scopes()
            self._scope_name = name if name in names else names[0] if names else ""
            self._scope = self._memory.scope(self._scope_name) if self._scope_name else None
            self._counts, self._found, self._filter = None, None, Filter()
            self.query_one("#filter", Input).value = ""
            self._reload()
        except JitrlError as error:
            self.notify(str(error), severity="error")

    def _reload(self) -> None:
        """Read the columns again."""
        scope, at = self._scope, self.entry
        self.table = scope.table(self._gamma, self._zero_rewards) if scope is not None else None
        self._longest = max(map(cell_len, self.table.actions), default=0) if self.table is not None else 0
        self._list(at)

    def _list(self, at: int | None = None) -> None:
        """List the rows that are wanted, with the cursor on an entry if it is among them, else on the first one."""
        self.rows = (
            list_steps(
                self.table, self._filter, sort=self.sort, descending=self.descending,
                counts=self._counts, found=self._found,
            )
            if self.table is not None else np.empty(0, np.int64)
        )  # fmt: skip
        place = 0
        if self.table is not None and at is not None and len(self.rows):
            same = np.flatnonzero(self.table.entry[self.rows] == at)
            place = int(same[0]) if len(same) else 0
        self.list.message = (
            "Nothing remembered fits."
            if self.table is not None and len(self.table)
            else "Nothing is remembered here yet."
        )
        self.list.show(len(self.rows), place)
        self._draw()

    # -------------------------------------------------------------------------------------- drawing

    def _draw(self) -> None:
        total = len(self.table) if self.table is not None else 0
        shown = f"{len(self.rows):,} of {total:,}" if len(self.rows) != total else f"{total:,}"
        typed = one_line(self.query_one("#filter", Input).value)
        sign = "↓" if self.descending else "↑"
        parts = [
            f"{len(self.edits)} not kept: S keeps, Backspace undoes the change of {self.edits.last}"
            if self.edits and self.edits.last is not None
            else "",
            f"{shown} steps",
            f"by {self.sort} {sign}",
            typed and f"with {typed}",
            self._scope_name or "no memory",
        ]
        self.query_one("#head", Static).update(
            Content(fit(" · ".join(filter(None, parts)), max(1, self.size.width - 2)))
        )
        keys = keymap.footer(self.keys_now())
        self.query_one(KeyBar).show(keys)
        self._draw_state()
        self.list.refresh()

    def keys_now(self) -> Sequence[Key]:
        """Return the keys that do something now."""
        useless = set() if self.edits else {"keep"}
        if not self.changes.undoable:
            useless.add("undo")
        return [key for key in self.key_table if key.action not in useless]

    def _draw_state(self) -> None:
        entry, width = self.entry, max(10, self.size.width - 2)
        text = self._state(entry) if entry is not None else ""
        self.query_one("#state", Static).update(Content("\n".join(wrap(text, width)[:2])))

    def _state(self, entry: int) -> str:
        """Return the text of a step's state, or why it cannot be read."""
        try:
            return one_line(self._scope.text(entry)) if self._scope is not None else ""
        except JitrlError as error:
            return str(error)

    def on_resize(self) -> None:
        """Draw for the new width."""
        self._draw()

    def _head(self, width: int) -> str:
        action, state = self._widths(width)
        counts = "  hits  dec" if self._counts is not None and width >= _WITH_COUNTS else ""
        return f"    entry  ep/step       G   pts  {'action':<{action}} by    {counts}{'  state' if state else ''}"

    def _widths(self, width: int) -> tuple[int, int]:
        """Return the columns of an action and of the text of its state, 0 if there is no room for it."""
        rest = width - 41 - (11 if width >= _WITH_COUNTS and self._counts is not None else 0)
        action = max(8, min(_ACTION, self._longest, rest))
        return action, rest - action - 2 if rest - action >= _LEAST_STATE else 0

    def _row(self, at: int, width: int) -> Content:
        table = self.table
        if table is None:
            return Content("")
        row = self.rows[at]
        entry = int(table.entry[row])
        edit = self.edits.get(entry, table.corrections.get(entry))
        given = edit is not None and (edit.g is not None or edit.gain is not None)
        sign = "−" if entry in self.edits and edit is None else "=" if given else " "
        pin = "◆" if edit is not None and edit.pinned else " "
        g = edit.g if edit is not None and edit.g is not None else float(table.g[row])
        points = edit.gain if edit is not None and edit.gain is not None else float(table.points[row])
        place = f"{table.episode[row]}/{table.step[row] + 1}"
        wide, rest = self._widths(width)
        action = fit(table.actions[table.action[row]], wide)
        by = one_line(table.provenances[table.provenance[row]])[:6]
        gain = signed_points(points) if points else "·"
        text = f"{sign}{pin} {entry:>6} {place:>8} {signed(g):>7} {gain:>5}  {action} {by:<6}"
        if width >= _WITH_COUNTS and self._counts is not None:
            text += f"{self._counts.hits.get(entry, 0):>6}{self._counts.decided.get(entry, 0):>5}"
        style = HUMAN if entry in self.edits else MUTED if by not in ("agent", "human") else ""
        state = f"  {fit(self._state(entry), rest)}" if rest else ""
        return Content.assemble((text, style), (state, MUTED))

    def on_row_list_moved(self) -> None:
        """Show the state of the step under the cursor."""
        self._draw_state()

    def _say_work(self) -> None:
        said = self.query_one("#said", Static)
        work = self.work
        said.display = work.busy
        if work.busy:
            said.update(Content(work.progress_text))

    # ----------------------------------------------------------------------------------- one step

    def _edited(self, entry: int) -> Correction:
        """Return the correction of a step, with the changes that are not kept."""
        stored = self.table.corrections.get(entry) if self.table is not None else None
        return self.edits.get(entry) or stored or Correction()

    def _edit(self, entry: int, correction: Correction | None) -> None:
        self.edits.change(entry, correction)
        self._draw()

    def _forget(self) -> None:
        """Mark the step under the cursor to be forgotten, or take the mark away."""
        entry = self.entry
        if entry is not None:
            self.edits.change(entry, None if self.edits.get(entry, AS_STORED) is not None else AS_STORED)
            self.list.action_move(1)
            self._draw()

    def _pin(self) -> None:
        """Pin the step under the cursor, or take the pin away."""
        if (entry := self.entry) is not None:
            known = self._edited(entry)
            self._edit(entry, dataclasses.replace(known, pinned=not known.pinned))

    def _ask_return(self) -> None:
        """Ask for another return of the step under the cursor."""
        self._ask_number("return", "g")

    def _ask_points(self) -> None:
        """Ask for other points of the step under the cursor, for plans."""
        self._ask_number("points", "gain")

    def _ask_number(self, what: str, field: str) -> None:
        """Ask for another number of the step under the cursor, which is a field of its correction."""
        entry = self.entry
        if entry is None or self.table is None:
            return
        known, column = self._edited(entry), self.table.g if field == "g" else self.table.points
        now = getattr(known, field)
        value = float(column[self.rows[self.list.at]]) if now is None else now

        def given(value: float | None) -> None:
            if value is not None:
                self._edit(entry, with_number(known, field, value))

        self.app.push_screen(NumberDialog(f"edit the {what} of entry {entry}", HINTS[field], value), given)

    def _undo(self) -> None:
        """Undo the last change that was not kept, or the last merge."""
        if self.edits.undo():
            self._draw()
        elif not self.changes.undo_merge():
            self.notify("Nothing is changed. U puts back what was forgotten last.", timeout=3)

    # ------------------------------------------------------------------------------------- the list

    def _ask_filter(self) -> None:
        """Ask for words and conditions."""
        field = self.query_one("#filter", Input)
        field.display = True
        field.focus()

    def on_input_submitted(self) -> None:
        """Filter by what was typed."""
        field = self.query_one("#filter", Input)
        field.display = False
        self.list.focus()
        try:
            self._filter = parse_filter(field.value)
        except JitrlError as error:
            self.notify(str(error), severity="warning")
            return
        if (
            any(name in ("hits", "decided") for name, _, _ in self._filter.conditions)
            and self._counts is None
        ):
            self._count_uses()
        self._found = None
        if self._filter.words:
            self._search(self._filter.words)
        self._list()

    def _search(self, words: Sequence[str]) -> None:
        scope, gamma, table = self._scope, self._gamma, self.table
        if scope is None or table is None:
            return
        entries = np.sort(table.entry)
        self._found = np.zeros(0, np.int64)

        def work(progress: Callable[[int, int], None]) -> list[int]:
            found = []
            for hit in islice(report.search(scope, words, gamma=gamma), _FOUND):
                found.append(hit.entry)
                progress(len(entries) - int(np.searchsorted(entries, hit.entry)), len(entries))
            return found

        def finished(found: list[int]) -> None:
            self._found = np.array(found, np.int64)
            self._list()

        self.work.begin(work, finished, self.changes.failed, what="Searching", unit="steps")

    def _sort_next(self) -> None:
        """Sort by the next column."""
        self.sort = SORTS[(SORTS.index(self.sort) + 1) % len(SORTS)]
        if self.sort in ("hits", "decided") and self._counts is None:
            self._count_uses()
        self.descending = self.sort not in ("action", "by")
        self._list()

    def _reverse(self) -> None:
        """Reverse the order."""
        self.descending = not self.descending
        self._list()

    def _change_scope(self, by: int) -> None:
        """Show another game."""
        names = self._memory.scopes()
        if self.edits:
            self.notify(
                "Keep the changes with S, or undo them with Backspace, before you look at another game.",
                severity="warning",
            )
        elif len(names) > 1:
            self._open(names[(names.index(self._scope_name) + by) % len(names)])
        else:
            self.notify("There is only one game in this memory.", timeout=2)

    def _count_uses(self) -> None:
        """Count in the recordings how often each step was behind a decision."""
        saves, memory, name = self._saves, self._memory, self._scope_name

        def finished(counts: UseCounts) -> None:
            self._counts = counts
            self._list(self.entry)

        self.work.begin(
            lambda progress: whatif.hit_counts(saves, memory, name, progress=progress), finished, self.changes.failed,
            what="Reading recordings", unit="sessions",
        )  # fmt: skip

    # -------------------------------------------------------------------------------------- windows

    def on_row_list_chosen(self) -> None:
        """Open the step under the cursor."""
        entry, scope = self.entry, self._scope
        if entry is None or scope is None:
            return
        try:
            found = about_step(scope, entry, self._gamma, self._zero_rewards)
        except JitrlError as error:
            self.notify(str(error), severity="error")
            return
        if found is None:
            self._reload()
            return
        folder = self._saves / "sessions" / found.episode.session if found.episode.session else None
        at_hand = folder is not None and (folder / "events.jsonl").is_file()

        def answered(what: str | None) -> None:
            if what == "replay" and folder is not None:
                self.app.replay(folder, found.episode.uid)
            elif what is not None:
                self.commands[what]()

        self.app.push_screen(HitDialog(found, replayable=at_hand), answered)

    def _show_all(self) -> None:
        """Cancel the work, close the filter, show all rows, or leave."""
        field = self.query_one("#filter", Input)
        if self.work.cancel():
            self._say_work()
        elif field.display or field.value:
            field.value, field.display = "", False
            self._filter, self._found = Filter(), None
            self.list.focus()
            self._list()
        else:
            self._ask_leave()

    def _ask_leave(self) -> None:
        """Leave, after a question if changes would be lost."""
        if self.work.storing:
            self.notify(STORING, severity="warning")
            return
        if not self.edits:
            self._leave()
            return
        count = len(self.edits)
        changes = f"{count} changes are not kept. Leaving drops them."
        question = changes if count > 1 else "One change is not kept. Leaving drops it."
        self.app.push_screen(
            dialogs.ConfirmDialog("leave?", question, "drop and leave"), lambda yes: self._leave() if yes else None
        )

    def _leave(self) -> None:
        if len(self.app.screen_stack) > 2:
            self.dismiss()
        else:
            self.app.exit(0)
