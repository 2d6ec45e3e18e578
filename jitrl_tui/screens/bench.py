"""The bench screen: all cells of a benchmark, with the curves of the cell under the cursor and of the arms."""

from __future__ import annotations

import time
from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.content import Content
from textual.widgets import Input, Static

from engine.bench.progress import BenchProgress
from engine.bench.records import Message
from engine.bench.run_events import RunBegan
from jitrl_tui import keymap
from jitrl_tui.command_table import Key
from jitrl_tui.runs.bench_lines import totals
from jitrl_tui.runs.bench_source import BenchSource, RunOver
from jitrl_tui.runs.bench_view import arm_curves, listed, models, tasks_of
from jitrl_tui.screens import dialogs
from jitrl_tui.screens.follow import followed
from jitrl_tui.screens.recordings import RecordingScreen, recordings, session_dialog
from jitrl_tui.screens.run_base import Ending, Feed, RunningScreen, TooSmall
from jitrl_tui.system.output import one_line
from jitrl_tui.widgets.cells import CellList
from jitrl_tui.widgets.clickable import KeyBar
from jitrl_tui.widgets.curves import ArmCurves, CellCurve
from jitrl_tui.widgets.lines import ACCENT, BAD, FAINT, GOOD, HUMAN, STRONG, fit
from jitrl_tui.widgets.options import Entry
from jitrl_tui.widgets.plots import thick

FRAME_S = 1 / 5
"""Shortest time between two drawings, in seconds."""
BATCH = 4000
"""Messages that are taken in before keys are handled again."""
NARROW = 100
"""Windows of fewer columns have the curves below the list."""
_BAR = 24
"""Width of the bar, in cells."""


class BenchScreen(RunningScreen):
    """A benchmark on the screen.

    Args:
        source: The benchmark: it gives messages and takes commands.
        over: Whether the screen lies over another one, to which leaving goes back.
    """

    CSS_PATH = "bench.tcss"
    screen_name = "bench"

    def __init__(self, source: BenchSource, *, over: bool = False) -> None:
        super().__init__()
        self._over = over
        self.commands = {
            "open": self._open, "filter": self._ask_filter, "finish": self._ask_finish, "present": self._show_all,
            "help": self.show_help, "leave": self.ask_leave,
        }  # fmt: skip
        self.source = source
        self.progress = BenchProgress(source.info.cells, source.info.jobs)
        self.over: RunOver | None = None
        self._began_at = time.monotonic()
        self._ended_at = 0.0
        self._finishing = False
        self._wanted = ""
        self.feed = Feed(self, self.take_in, frame_s=FRAME_S, batch=BATCH)
        self.ending = Ending(
            source, self, self._draw_lines, lambda: self.over is None,
            "stopping the cells after their present step; q again leaves at once",
        )  # fmt: skip

    # ------------------------------------------------------------------------------------ composing

    def compose(self) -> ComposeResult:
        """Make all widgets once."""
        yield TooSmall()
        yield Static(id="head", markup=False)
        with Container(id="body"):
            yield CellList("cells")
            with Vertical(id="curves"):
                yield CellCurve("cell")
                yield ArmCurves("arms")
        words = "words that a cell must have; Enter keeps them, Esc shows all cells"
        yield Entry(id="filter", placeholder=words, select_on_focus=True)
        yield Static(id="said", markup=False)
        yield Static(id="totals", markup=False)
        yield KeyBar("keybar")

    def on_mount(self) -> None:
        """Start the run."""
        self.cells.focus()
        self.set_interval(1.0, self._draw_lines)
        self._arrange()
        self._draw()
        self.app.last_source = self.source
        self.source.start(self.feed.inbox)

    @property
    def cells(self) -> CellList:
        """The list of cells."""
        return self.query_one(CellList)

    def on_resize(self) -> None:
        """Arrange the widgets for the new size."""
        self._arrange()
        self.call_after_refresh(self._draw)

    def _arrange(self) -> None:
        self.set_class(self.app.size.width < NARROW, "-narrow")
        self.show_unless_tiny("#head", "#body", "#said", "#totals", "#keybar")

    # ------------------------------------------------------------------------------------- messages

    def take_in(self, items: list[Message | RunBegan | RunOver]) -> None:
        """Take messages in, and draw."""
        for item in items:
            if isinstance(item, RunOver):
                self.over, self._ended_at = item, time.monotonic()
            elif isinstance(item, RunBegan):
                self.progress, self.over = BenchProgress(self.source.info.cells, item.jobs), None
                self._began_at = time.monotonic() - max(0.0, time.time() - item.began)
            else:
                self.progress.apply(item)
        self._draw()
        if self.over is not None and self.source.failure and not self.ending.told:
            self.app.push_screen(dialogs.ErrorDialog(self.source.failure, self.source.failed_as), self._after_error)

    def _after_error(self, answer: str | None) -> None:
        if answer == "leave":
            self.app.leave_now()

    # -------------------------------------------------------------------------------------- drawing

    def _draw(self) -> None:
        if not self.is_mounted:
            return
        self.feed.drawn()
        rows, cells = listed(self.progress, self._wanted), self.cells
        cells.message = "  No cell has these words." if self._wanted else "  This run has no cells."
        cells.border_title = Content(f"cells: {len(rows)} of {len(self.progress.cells)}" if self._wanted else "cells")
        cells.border_subtitle = Content(fit(self._wanted, 40).rstrip())
        cells.show_cells(rows, () if len(models(self.progress)) > 1 else ("model",))
        self._draw_curves()
        self._draw_lines()

    def _draw_curves(self) -> None:
        one = self.cells.cursor
        self.query_one(CellCurve).show(one)
        curves = arm_curves(self.progress, one) if one else []
        self.query_one(ArmCurves).show(curves, one.measured if one else 0, tasks_of(one) if one else "")

    def _draw_lines(self) -> None:
        """Draw the lines above and below the body."""
        if not self.is_mounted:
            return
        self._draw_head()
        said = self.progress.said
        text = self.over.message if self.over else f"{said.cell}: {said.message}" if said else ""
        self.query_one("#said", Static).update(Content(fit(text, max(1, self.size.width - 2))))
        self._draw_totals()
        self.query_one(KeyBar).show(self._keys())

    def _draw_head(self) -> None:
        info, width = self.source.info, max(1, self.size.width - 2)
        state = self._state()
        used = models(self.progress)
        name = " · ".join(filter(None, (info.title, info.name, used[0] if len(used) == 1 else "")))
        left = Content.styled(fit(name, max(1, width - state.cell_length - 2)), STRONG)
        self.query_one("#head", Static).update(Content.assemble(left, "  ", state).truncate(width))

    def _state(self) -> Content:
        counts = self.progress.counts
        failed = f"✗ {counts['failed']} failed  " if counts["failed"] else ""
        if self.ending.told:
            return Content.styled(self.ending.told, HUMAN)
        if self.over is None:
            text, style = f"▸ {counts['running']} running", GOOD
            if self._finishing:
                text, style = f"▸ {counts['running']} running, then it stops", HUMAN
            if self.source.sign:
                text, style = self.source.sign, ACCENT
        elif self.source.failure:
            text, style = "■ ended by an error", BAD
        elif self.progress.counts["finished"] == len(self.progress.cells):
            text, style = "■ finished", STRONG
        else:
            text, style = "■ not finished", HUMAN
        return Content.assemble((failed, BAD), (text, style))

    def _draw_totals(self) -> None:
        progress, width = self.progress, max(1, self.size.width - 2)
        elapsed = (self._ended_at if self.over else time.monotonic()) - self._began_at
        parts = totals(progress, self.source.info.limits, elapsed)
        if progress.speed is not None and not self.over:
            parts.append(f"{progress.speed:,.1f} steps/s")
        bar, rest = thick(progress.episodes_done / max(1, progress.episodes_of), _BAR if width >= NARROW else 10)
        while len(parts) > 1 and len(bar + rest) + 2 + len(" · ".join(parts)) > width:
            del parts[-1]
        line = Content.assemble((bar, ACCENT), (rest, FAINT), "  " + " · ".join(parts))
        self.query_one("#totals", Static).update(line.truncate(width, ellipsis=True))

    def _keys(self) -> list[tuple[str, str, str, int]]:
        if isinstance(self.focused, Input):
            return [("Enter", "keep", "enter", 0), ("esc", "all cells", "escape", 0)]
        return [("↑↓", "choose", "down", 3), *keymap.footer(self.keys_now())]

    def keys_now(self) -> Sequence[Key]:
        """Return the keys that do something now."""
        going = self.source.live and self.over is None
        return [key for key in self.key_table if going or key.action != "finish"]

    # ------------------------------------------------------------------------------------- commands

    def on_row_list_moved(self) -> None:
        """Show the curves of the cell under the cursor."""
        self._draw_curves()

    def on_row_list_chosen(self) -> None:
        """Open a recording of the cell under the cursor."""
        self._open()

    def _open(self) -> None:
        """Follow the session of the cell under the cursor, or open a recording. If there are several, ask which."""
        one, folder = self.cells.cursor, self.source.info.folder
        if one is None:
            return
        playing = self.source.session(one.cell.name) if one.state == "running" else None
        if playing is not None:
            self.app.push_screen(followed(playing, cell=True, over=True))
            return
        found = recordings(folder / "cells" / one.cell.name) if folder is not None else []
        if not found:
            self.notify("This cell has no recording.", severity="warning", timeout=3)
        elif len(found) == 1:
            self.app.push_screen(RecordingScreen(found[0]))
        else:

            async def show(at: str | None) -> None:
                if at is not None:
                    await self.app.push_screen(RecordingScreen(found[int(at)]))

            self.app.push_screen(session_dialog(found), show)

    def _ask_filter(self) -> None:
        """Ask for the words that cells must have."""
        field = self.query_one("#filter", Input)
        field.display = True
        field.focus()
        self._draw_lines()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show only the cells that have the typed words."""
        self._wanted = one_line(event.value)
        self._draw()

    def on_input_submitted(self) -> None:
        """Keep the words, and go back to the list."""
        self._close_filter()

    def _close_filter(self) -> None:
        self.query_one("#filter", Input).display = False
        self.cells.focus()
        self.call_after_refresh(self._draw)

    def _show_all(self) -> None:
        """Show all cells, with the cursor on the first row."""
        self.query_one("#filter", Input).value = ""
        self._close_filter()
        self.cells.follow()

    def _ask_finish(self) -> None:
        """Begin no more cells, after a question."""
        if not self.ending.stops_something:
            self.notify("No cell is being played.", severity="warning", timeout=3)
            return

        def finish(yes: bool | None) -> None:
            if yes:
                self._finishing = True
                self.source.finish_running()
                self._draw_lines()

        text = f"{self._playing()}, and played to the end; no others are begun. The run can be taken up again."
        self.app.push_screen(dialogs.ConfirmDialog("stop after these?", text, "stop after these", "s"), finish)

    def ask_leave(self) -> None:
        """Leave. A run that goes on is stopped, after a question; if it is being stopped, it is left at once."""
        question = f"Leaving stops the run: {self._playing()}. What was played is kept, and it can be taken up again."
        self.ending.ask(question, "stop and leave", self.app.leave_now)

    def leave_properly(self) -> None:
        """Stop the run, then go back or leave, without a question."""
        if self._over:
            self.source.stop()
            self.dismiss()
        else:
            super().leave_properly()

    def _playing(self) -> str:
        running = self.progress.counts["running"]
        return f"{running} cell{' is' if running == 1 else 's are'} being played"
