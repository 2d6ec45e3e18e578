"""The compare screen: two sessions side by side, step by step; and the dialog that asks for the other session."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content
from textual.widgets import Static

from engine.errors import BadFile
from engine.session import recording
from engine.session import store as sessions
from engine.session.compare import (
    ACTION,
    ALONE,
    ANSWER,
    SAME,
    ComparedOption,
    ComparedStep,
    Comparison,
    SessionStep,
    reason,
)
from jitrl_tui import keymap
from jitrl_tui.host import Host
from jitrl_tui.runs import history
from jitrl_tui.runs.comparison_texts import (
    MEANINGS,
    SIGNS,
    compare_recordings,
    differ_in,
    done,
    place,
    result_of,
    who,
)
from jitrl_tui.runs.view import points, signed
from jitrl_tui.screens.command_screen import CommandScreen
from jitrl_tui.screens.dialogs import PickDialog, WaitDialog
from jitrl_tui.system.output import one_line
from jitrl_tui.widgets.clickable import KeyBar
from jitrl_tui.widgets.lines import ACCENT, BAD, HUMAN, MUTED, STRONG, LinePane, fit, wrap
from jitrl_tui.widgets.rows import RowList

if TYPE_CHECKING:
    from engine.session.store import SavedSession


WIDE = 130
"""Windows of at least so many columns have the details beside the list."""


_CELL, _CELL_WITH_VALUE = 16, 22
"""Columns of what a session thought of an action: its probabilities, and its value."""


class CompareScreen(CommandScreen[int]):
    """Two sessions side by side. Leaving it goes back to the screen below, or ends the app if there is none.

    Args:
        comparison: The two sessions.
        names: Their names.
    """

    CSS_PATH = "compare.tcss"
    screen_name = "compare"
    help_pages = ()

    def __init__(self, comparison: Comparison, names: Sequence[str]) -> None:
        super().__init__()
        self.commands = {
            "first": lambda: self._go(comparison.first), "episode": self._go_to_episode, "copy": self._copy,
            "difference": lambda by: self._go(comparison.next(self.rows.at, by)), "help": self.show_help,
            "leave": self._leave,
        }  # fmt: skip
        self._comparison, self._names = comparison, names

    def compose(self) -> ComposeResult:
        """Make all widgets once."""
        yield Static(id="head", markup=False)
        with Container(id="body"):
            yield CompareRows("rows", self._comparison)
            yield _Details(self._comparison)
        yield KeyBar("keybar")

    def on_mount(self) -> None:
        """Show the first difference."""
        self.rows.focus()
        self.query_one(KeyBar).show(keymap.footer(self.keys_now()))
        self._arrange()
        self._show()

    def on_resize(self) -> None:
        """Arrange the widgets for the new size."""
        self._arrange()

    @property
    def rows(self) -> CompareRows:
        """The list of steps."""
        return self.query_one(CompareRows)

    def _arrange(self) -> None:
        width = self.app.size.width
        self.set_class(width >= WIDE, "-wide")
        lines = []
        for letter, name, run in zip("AB", self._names, (self._comparison.left, self._comparison.right), strict=True):
            text = f"{one_line(name)}  {result_of(run)}; {who(run)}"
            lines.append(Content.assemble((f"{letter} ", ACCENT), fit(text, max(1, width - 4))))
        differ = differ_in(self._comparison) or "They have the same agent, model, seed and settings."
        lines.append(Content.styled(fit(differ, max(1, width - 2)), MUTED))
        self.query_one("#head", Static).update(Content("\n").join(lines))

    def on_compare_rows_moved(self) -> None:
        """Show the details of the step under the cursor."""
        self._show()

    def _show(self) -> None:
        self.query_one(_Details).show(self.rows.row)

    # ----------------------------------------------------------------------------------------- keys

    def _go_to_episode(self, by: int) -> None:
        """Go to the first difference of the next episode, or of the one before; to its beginning if there is none."""
        here = self.rows.row
        numbers = sorted({row.episode for row in self._comparison.rows})
        if here is None or here.episode + by not in numbers:
            return
        start = next(at for at, row in enumerate(self._comparison.rows) if row.episode == here.episode + by)
        found = self._comparison.next(start - 1, 1)
        inside = found is not None and self._comparison.rows[found].episode == here.episode + by
        self._go(found if inside else start)

    def _go(self, at: int | None) -> None:
        if at is None:
            self.notify("There is no other difference that way.", timeout=2)
        else:
            self.rows.go_to(at)

    def _copy(self) -> None:
        """Copy the details of the step under the cursor."""
        text = self.get_selected_text() or self.query_one(_Details).plain_text()
        self.app.copy_to_clipboard(text)
        self.notify(f"Copied {len(text):,} characters.", timeout=2)

    def _leave(self) -> None:
        """Go back to the screen below, or end the app."""
        if len(self.app.screen_stack) > 2:
            self.dismiss()
        else:
            self.app.leave_now()


class _Details(LinePane):
    """What both sessions saw, weighed and did at a step."""

    def __init__(self, comparison: Comparison) -> None:
        super().__init__("details")
        self._comparison = comparison
        self._row: ComparedStep | None = None

    def show(self, row: ComparedStep | None) -> None:
        """Show this step."""
        self._row = row
        self.scroll_to(y=0, animate=False)
        self.renew()

    def build(self, width: int, height: int) -> list[Content]:
        """Return the lines of a step."""
        row = self._row
        if row is None:
            return [Content.styled("Nothing to compare.", MUTED)]
        at = self._comparison.first
        first = ", for the first time" if at is not None and row is self._comparison.rows[at] else ""
        title = f"Episode {row.episode}, step {row.step + 1}: {MEANINGS[row.kind]}{first}."
        lines = [Content.styled(line, STRONG) for line in wrap(title, width)]
        if text := reason(row):
            lines += [Content(line) for line in wrap(text, width)]
        lines += [Content(""), *_beliefs(row, width), Content("")]
        half = (width - 2) // 2
        columns = [_seen(row, side, half) for side in (row.left, row.right)]
        for at in range(max(map(len, columns))):
            left, right = (column[at] if at < len(column) else ("", "") for column in columns)
            lines.append(Content.assemble((fit(left[0], half), left[1]), "  ", (fit(right[0], half), right[1])))
        return lines


def _beliefs(row: ComparedStep, width: int) -> list[Content]:
    """Return a table of what both sessions thought of each action, those that were taken first."""
    sides = (row.left, row.right)
    taken = [side.action for side in sides if side is not None]
    listed = [option.action for side in sides if side is not None for option in side.options]
    actions = list(dict.fromkeys((*taken, *listed)))
    values = any(option.q is not None for side in sides if side is not None for option in side.options)
    cell = _CELL_WITH_VALUE if values and width >= 60 else _CELL
    name = max(8, width - 2 * (cell + 2))
    head = "before → after" + ("   Q̂" if cell > _CELL else "")
    lines = [Content.styled(fit("", name) + fit(f"  A {head}", cell + 2) + fit(f"  B {head}", cell + 2), MUTED)]
    for action in actions:
        marks = ["▸ " if side is not None and side.action == action else "  " for side in sides]
        cells = [_cell(side.option(action), cell) if side is not None else fit("-", cell) for side in sides]
        style = STRONG if action in taken else MUTED
        text = fit(action, name) + "".join(mark + text for mark, text in zip(marks, cells, strict=True))
        lines.append(Content.styled(text, style))
    return lines


def _cell(option: ComparedOption | None, width: int) -> str:
    if option is None:
        return fit("no candidate", width)
    text = f"{option.before:6.0%} → {option.after:4.0%}"
    return fit(f"{text} {signed(option.q):>7}" if option.q is not None and width > _CELL else text, width)


def _seen(row: ComparedStep, side: SessionStep | None, width: int) -> list[tuple[str, str]]:
    """Return what a session did and saw at a step, as lines with their styles."""
    if side is None:
        return [("-", MUTED)]
    v = f"V̂ {signed(side.v)} {side.unit}, " if side.v is not None else ""
    lines = [(f"> {done(side)}", ACCENT), (f"{v}score {points(side.score)}", MUTED)]
    lines += [(line, "") for line in wrap(side.answer.strip(), width)]
    if row.left is None or row.right is None or row.left.seen != row.right.seen:
        lines += [("", ""), ("before it:", MUTED), *((line, MUTED) for line in wrap(side.seen.strip(), width))]
    return lines


# ------------------------------------------------------------------------------------ opening it


def open_comparison(app: Host, paths: tuple[Path, Path], names: tuple[str, str]) -> None:
    """Compare two recordings, and show them.

    Args:
        app: The app.
        paths: The recordings: files, or folders of sessions.
        names: Names of the two sessions.
    """

    def show(comparison: Comparison | None) -> None:
        if comparison is not None:
            app.push_screen(CompareScreen(comparison, names))

    app.push_screen(WaitDialog("Reading both recordings", lambda progress: compare_recordings(*paths)), show)


def others(saves: Path, folder: Path) -> list[SavedSession]:
    """Return the sessions that one can be compared with: its branches, then its origin, then others of its game."""
    try:
        mine: SavedSession | None = sessions.load(folder)
    except BadFile:
        mine = None
    found = [one for one in sessions.saved_sessions(saves) if one.folder != folder and history.has_begun(one.recording)]

    def rank(one: SavedSession) -> int:
        if one.origin is not None and one.origin.session == folder.name:
            return 0
        if mine is not None and mine.origin is not None:
            if mine.origin.session == one.name:
                return 1
            if one.origin is not None and one.origin.session == mine.origin.session:
                return 2
        return 3

    same = [one for one in found if mine is None or one.config.game == mine.config.game]
    return sorted(same, key=rank)


def session_to_compare(found: Sequence[SavedSession]) -> PickDialog:
    """Return a window that asks with which session to compare. Answers are folders."""
    rows = []
    for one in found:
        of = f"branch of {one.origin.session} at {one.origin.episode}:{one.origin.step}" if one.origin else ""
        about = of or f"{one.config.agent} with {one.config.model}, seed {one.config.seed}"
        line = Content.assemble(("  " + one_line(one.name), STRONG), (f"\n    {one_line(about)}", MUTED))
        rows.append((str(one.folder), line))
    hint = "This session side by side with another one: its branches first."
    return PickDialog("compare", hint, "a word of its name", rows=rows)


def as_recorded(path: Path) -> str:
    """Return the name of a recording: that of its session's folder."""
    return path.parent.name if path.name == recording.FILE_NAME else path.name


_STYLES = {SAME: MUTED, ACTION: BAD, ANSWER: HUMAN, ALONE: MUTED}
_SCORE = 5
_BETWEEN = 3
"""Columns of the sign between the sessions, with its spaces."""


class CompareRows(RowList):
    """One row for each step of a comparison. The cursor begins at the first difference."""

    class Moved(RowList.Moved):
        """The cursor is on another row."""

    def __init__(self, id: str, comparison: Comparison) -> None:
        super().__init__(id, self._row, self._title)
        self._comparison = comparison
        self._places = max((len(place(row)) for row in comparison.rows), default=0)
        self.message = "  Neither of them has a step."
        self.count, self.at = len(comparison.rows), comparison.first or 0

    @property
    def row(self) -> ComparedStep | None:
        """The row that the cursor is on, None if there are none."""
        return self._comparison.rows[self.at] if self._comparison.rows else None

    def _title(self, room: int) -> str:
        half = self._half(room)
        head = fit("A", half) + "score".rjust(_SCORE) + " " * _BETWEEN + fit("B", half) + "score".rjust(_SCORE)
        return "  " + " " * self._places + " " + head

    def _half(self, room: int) -> int:
        """Return the columns of an action."""
        return max(1, (room - self._places - 3 - _BETWEEN) // 2 - _SCORE)

    def _row(self, at: int, room: int) -> Content:
        row, half = self._comparison.rows[at], self._half(room)
        mark = "► " if at == self._comparison.first else "  "
        left, right = _half_row(row.left, half), _half_row(row.right, half)
        head, sign = f"{mark}{place(row):>{self._places}} ", f" {SIGNS[row.kind]} "
        style, mine = (MUTED, MUTED) if row.kind == SAME else ("", STRONG)
        return Content.assemble(
            (mark, ACCENT), (head[len(mark) :], MUTED), (left, style), (sign, _STYLES[row.kind]), (right, mine)
        )

    def _reveal(self) -> None:
        """Scroll so that the row of the cursor is in sight."""
        shown, first = max(1, self.size.height - 1), round(self.scroll_y)
        if not first <= self.at < first + shown:
            self.scroll_to(y=max(0, self.at - shown // 2), animate=False)

    def plain_text(self) -> str:
        """Return all rows as text."""
        return "\n".join(
            f"{place(row)} {done(row.left)} {SIGNS[row.kind]} {done(row.right)}" for row in self._comparison.rows
        )


def _half_row(side: SessionStep | None, width: int) -> str:
    if side is None:
        return fit("-", width) + " " * _SCORE
    return fit(done(side), width) + points(side.score)[-_SCORE:].rjust(_SCORE)
