"""Changes of a memory on its screen: those of steps that are not kept yet, and what is done with other memories.

All of it is done by the functions behind `jitrl memory`: forget and its undo, correct, merge, diff, export.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from textual.content import Content
from textual.screen import Screen

from engine.memory import exchange, upkeep
from engine.memory.search import Correction, MemoryFilter
from engine.session import whatif
from jitrl_tui.runs import memories
from jitrl_tui.screens.dialogs import PageDialog, PickDialog
from jitrl_tui.system.background import Background, Progress
from jitrl_tui.widgets.lines import wrap

if TYPE_CHECKING:
    from engine.memory import Memory
    from engine.memory.scope import Scope

AS_STORED = Correction()
"""In place of a change: there is none."""


class StepEdits(dict[int, Correction | None]):
    """By entry number: what is to be kept of a step; None for one that is to be forgotten."""

    def __init__(self) -> None:
        super().__init__()
        self._before: list[tuple[int, Correction | None]] = []

    def change(self, entry: int, edit: Correction | None) -> None:
        """Change what is to be kept of a step, and remember what it was."""
        self._before.append((entry, self.get(entry, AS_STORED)))
        self._put(entry, edit)

    @property
    def last(self) -> int | None:
        """Entry number of the step that was changed last, None if none was."""
        return self._before[-1][0] if self._before else None

    def undo(self) -> bool:
        """Undo the last change; return whether there was one."""
        if self._before:
            self._put(*self._before.pop())
            return True
        return False

    def _put(self, entry: int, edit: Correction | None) -> None:
        self.pop(entry, None)
        if edit is not AS_STORED:
            self[entry] = edit

    def forget_all(self) -> None:
        """Drop all changes."""
        self.clear()
        self._before.clear()

    @property
    def memory_filter(self) -> MemoryFilter:
        """Memory as it would be."""
        gone = frozenset(entry for entry, one in self.items() if one is None)
        return MemoryFilter(without=gone, corrections={entry: one for entry, one in self.items() if one is not None})


class MemoryChanges:
    """Changes a memory in the background.

    Args:
        memory: The memory.
        saves: The saves folder.
        screen: Shows windows and messages.
        scope: Returns the scope on show, None without one.
        changed: Called in the screen's thread when memory was changed, or work has failed.

    Attributes:
        edits: Changes of steps that are not kept yet.
        work: The work in the background.
    """

    def __init__(
        self,
        memory: Memory,
        saves: Path,
        screen: Screen[int],
        scope: Callable[[], Scope | None],
        changed: Callable[[bool], None],
    ) -> None:
        self._memory, self._saves, self._screen = memory, saves, screen
        self._scope, self._changed = scope, changed
        self.edits = StepEdits()
        self._merged: dict[str, list[str]] = {}
        """By scope: uids of the episodes that were merged last, if nothing was changed since."""
        self.work = Background(screen)

    def keep(self) -> None:
        """Store the changes."""
        scope, memory, memory_filter = self._scope(), self._memory, self.edits.memory_filter
        if not self.edits or scope is None:
            self._screen.notify("Nothing is changed.", timeout=2)
        else:
            self._do(lambda progress: whatif.keep(scope, memory, memory_filter))

    def put_back(self) -> None:
        """Put back what was forgotten last."""
        if self._are_kept("before that"):
            self._do(lambda progress: f"Put back {upkeep.undo_last(self._memory)[0]:,} steps.")

    def _are_kept(self, when: str) -> bool:
        """Return whether no changes wait; if some do, say so."""
        if self.edits:
            self._screen.notify(
                f"Keep the changes with S, or undo them with Backspace, {when}.", severity="warning"
            )
        return not self.edits

    def _do(self, work: Callable[[Progress], str]) -> None:
        """Change memory, then say what was done."""
        self._merged = {}

        def finished(sentence: str) -> None:
            self.edits.forget_all()
            self._screen.notify(sentence, timeout=5)
            self._changed(True)

        self.work.begin(work, finished, self.failed, what="Changing memory", must_end=True)

    def failed(self, sentence: str) -> None:
        """Say that work has failed."""
        self._screen.notify(sentence, severity="error", timeout=8)
        self._changed(False)

    # --------------------------------------------------------------------------- other memories

    def merge(self) -> None:
        """Ask for another memory, and take what it knows and this one does not."""
        memory = self._memory

        def given(path: Path) -> None:
            def work(progress: Progress) -> str:
                begin = {name: memory.scope(name).next_entry for name in memory.scopes()}
                taken = exchange.merge_from(memory, path)
                found = ((name, memory.scope(name).stored_since(begin.get(name, 0))) for name in memory.scopes())
                self._merged = {name: [uid for _, uid in new] for name, new in found if new}
                undo = " Backspace takes them out again." if self._merged else ""
                refused = (
                    f"; refused: {len(taken.problems)}, the first because {taken.problems[0]}"
                    if taken.problems
                    else ""
                )
                took = f"Took {taken.episodes:,} episodes with {taken.entries:,} steps"
                return f"{took}; {taken.known:,} were known{refused}.{undo}"

            if self._are_kept("before you merge"):
                self._do(work)

        self._ask_for_other("merge", "Take what another memory knows and this one does not.", given)

    @property
    def undoable(self) -> bool:
        """Whether a change that is not kept, or a merge, can be undone."""
        return self.edits.last is not None or bool(self._merged)

    def undo_merge(self) -> bool:
        """Forget the episodes that were merged last; return whether there are any."""
        taken, memory = self._merged, self._memory

        def work(progress: Progress) -> str:
            scopes = [(memory.scope(name), uids) for name, uids in taken.items()]
            plans = [(scope, upkeep.plan_forget(scope, episodes=uids)) for scope, uids in scopes]
            return f"Took the merged {upkeep.forget_all(memory, plans)[0]:,} steps out again. U puts them back."

        if taken:
            self._do(work)
        return bool(taken)

    def compare(self) -> None:
        """Ask for another memory, and show how the two differ: this game first."""
        memory, here = self._memory, self._scope()

        def given(path: Path) -> None:
            def work(progress: Progress) -> list[str]:
                notes: list[str] = []
                differences = exchange.compare(
                    exchange.open_source(memory.folder), exchange.open_source(path), notes.append
                )
                differences = sorted(differences, key=lambda one: here is None or one.scope != here.name)
                return [line for one in differences for line in memories.differences(one, "here", "there")] + notes

            def finished(lines: list[str]) -> None:
                titles = [one.title for one in memories.list_memories(self._saves, memory.folder) if one.folder == path]
                title = f"here: this memory, there: {titles[0] if titles else path}"
                self._screen.app.push_screen(PageDialog(title, lambda width: _wrapped(lines, width)))

            self.work.begin(work, finished, self.failed, what="Comparing")

        self._ask_for_other("compare", "Compare with another memory: episodes, and what it says of actions.", given)

    def _ask_for_other(self, title: str, hint: str, given: Callable[[Path], None]) -> None:
        """Ask for another memory: one of the saves folder from a list, or any other by its path."""
        known = [(str(one.folder), one.line) for one in memories.list_memories(self._saves, self._memory.folder)]
        if not known:
            hint += " There is no other one in this saves folder: type its path."
        self._screen.app.push_screen(
            PathDialog(title, hint, known=known),
            lambda text: given(Path(text).expanduser()) if text is not None else None,
        )

    def export(self) -> None:
        """Ask for a file, and write the memory of this game into it."""
        scope = self._scope()

        def given(text: str | None) -> None:
            if text is None or scope is None:
                return
            path = Path(text).expanduser()
            if path.exists():
                self._screen.notify(f"{path} exists already; give the file another name.", severity="warning")
                return

            def work(progress: Progress) -> str:
                episodes, records = exchange.export_to(path, [scope])
                return f"Wrote {episodes:,} episodes and {records:,} kept records to {path}."

            self.work.begin(
                work, lambda said: self._screen.notify(said, timeout=6), self.failed, what="Writing", must_end=True
            )

        hint = "A new file for all of this game's memory, one JSON object a line."
        self._screen.app.push_screen(PathDialog("export", hint, new=True), given)


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


def _wrapped(lines: Sequence[str], width: int) -> list[Content]:
    return [Content(line) for text in lines or ["Both are empty."] for line in wrap(text, width)]
