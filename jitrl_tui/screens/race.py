"""The race screen: a column for each racer, where they parted, and their learning curves."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Static

from engine.session.race import RacerEvent, SavedRace
from jitrl_tui import keymap
from jitrl_tui.bench_view import ArmCurve
from jitrl_tui.help import page
from jitrl_tui.output import one_line
from jitrl_tui.plot import running_average
from jitrl_tui.race_source import LiveRace, RecordedRace
from jitrl_tui.race_view import LETTERS, RacerView, RaceView, racer_facts
from jitrl_tui.screens import dialogs, help
from jitrl_tui.screens.compare import open_comparison
from jitrl_tui.screens.run_base import KEPT, RunningScreen
from jitrl_tui.widgets.curves import ArmCurves
from jitrl_tui.widgets.keybar import KeyBar
from jitrl_tui.widgets.layout import LEAST_HEIGHT, LEAST_WIDTH
from jitrl_tui.widgets.lines import ACCENT, BAD, FAINT, GOOD, HUMAN, MUTED, NAME, STRONG, LinePane, fit, wrap

SPEEDS = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
"""Delays between which + and - switch, in seconds per step."""
_SIGNS = {"running": "▸", "failed": "✗", "stopped": "■", "finished": "✓"}
_STYLES = {"command": ACCENT, "gain": GOOD, "loss": BAD, "episode": NAME, "end": STRONG, "notice": MUTED}
_PARAGRAPHS = 60
"""Paragraphs of a transcript that a column shows at most."""
_PARTED = 2
"""Lines for where the racers parted."""
_LOW = 30
"""Windows of fewer lines have lower curves."""


class RaceScreen(RunningScreen):
    """A race on the screen.

    Args:
        source: The race: it tells what its racers do and takes commands.
        race: The race on disk.
        saves: The saves folder.
        delay: Seconds between steps at the start.
        paused: Whether it waits at its first step.
    """

    CSS_PATH = "race.tcss"

    def __init__(
        self,
        source: LiveRace | RecordedRace,
        race: SavedRace,
        saves: Path,
        *,
        delay: float = 0.5,
        paused: bool = False,
    ) -> None:
        super().__init__(source)
        self.key_table = keymap.of("race")
        self._bindings = keymap.bound(self._bindings, self.key_table, "race")
        self.source, self.view = source, RaceView(race)
        self._race, self._saves = race, saves
        self._delay, self._paused = delay, paused
        self._told = ""

    def compose(self) -> ComposeResult:
        """Make all widgets once."""
        yield Static(id="tiny", markup=False)
        yield Static(id="head", markup=False)
        with Horizontal(id="columns"):
            for racer in self.view.racers:
                yield RacerColumn(racer.letter)
        yield Static(id="parted", markup=False)
        yield ArmCurves("curves")
        yield KeyBar("keybar")

    def on_mount(self) -> None:
        """Start the race."""
        self.query(RacerColumn).first().focus()
        self.source.set_delay(self._delay)
        self._arrange()
        self._draw()
        self.app.last_source = self.source
        self.source.start(self._inbox)

    def _arrange(self) -> None:
        width, height = self.app.size
        tiny = width < LEAST_WIDTH or height < LEAST_HEIGHT
        self.set_class(height < _LOW, "-low")
        for name in ("#head", "#columns", "#parted", "#curves", "#keybar"):
            self.query_one(name).display = not tiny
        self.show_too_small(tiny)

    # --------------------------------------------------------------------------------------- drawing

    def take_in(self, items: list[RacerEvent | RaceView]) -> None:
        """Take in what the racers tell, and draw."""
        for item in items:
            if isinstance(item, RaceView):
                self.view = item
            else:
                self.view.fold(item)
        self._draw()
        if self.source.failure and self.source.failure != self._told:
            self._told = self.source.failure
            self.app.push_screen(
                dialogs.ErrorDialog(self._told), lambda answer: answer == "leave" and self.action_leave()
            )

    def _draw(self) -> None:
        if not self.is_mounted:
            return
        self.drawn()
        for racer, column in zip(self.view.racers, self.query(RacerColumn), strict=True):
            column.show(racer)
        curves = [
            ArmCurve(racer.letter, one_line(racer.name), tuple(running_average(racer.view.scores)), 0)
            for racer in self.view.racers
            if racer.view.scores
        ]
        curves.sort(key=lambda curve: -curve.values[-1])
        planned = self._race.racers[0].session.config.episodes
        self.query_one(ArmCurves).show(curves, planned, self.view.game)
        self._draw_lines()

    def _draw_lines(self) -> None:
        width = max(1, self.size.width - 2)
        state = self._state()
        name = f"race on {one_line(self.view.game)}, seed {self.view.seed}  {self.view.name}"
        head = Content.styled(fit(name, max(1, width - state.cell_length - 2)), STRONG)
        self.query_one("#head", Static).update(Content.assemble(head, "  ", state).truncate(width))
        mark = "≠ " if self.view.diverged is not None else "= "
        parted = wrap(self.view.parted, max(1, width - 2))
        if len(parted) > _PARTED:
            parted[_PARTED - 1 :] = [fit(" ".join(parted[_PARTED - 1 :]), max(1, width - 2))]
        self.query_one("#parted", Static).update(Content.assemble((mark, ACCENT), "\n  ".join(parted)))
        keys = keymap.footer(self.key_table)
        if self._paused:
            keys[0] = (keys[0][0], "go on", *keys[0][2:])
        self.query_one(KeyBar).show(keys)

    def _state(self) -> Content:
        states = [racer.state for racer in self.view.racers]
        failed = f"✗ {states.count('failed')} failed  " if "failed" in states else ""
        if self.leaving:
            return Content.styled(self.leaving, HUMAN)
        if "running" not in states:
            text, style = "■ over", STRONG
        elif self._paused:
            text, style = "‖ paused", HUMAN
        else:
            speed = f"{self._delay:g} s a step" if self._delay else "no delay"
            text, style = f"▸ {'running' if self.source.live else 'recording'}, {speed}", GOOD
        return Content.assemble((failed, BAD), (text, style))

    def show_leaving(self) -> None:
        """Show what is waited for."""
        self._draw_lines()

    # ----------------------------------------------------------------------------------------- keys

    def action_toggle_pause(self) -> None:
        """Pause, or go on."""
        self._paused = not self._paused
        if self._paused:
            self.source.pause()
        else:
            self.source.resume()
        self._draw_lines()

    def action_step_once(self) -> None:
        """Let all take one step, then wait."""
        self._paused = True
        self.source.step_once()
        self._draw_lines()

    def action_step_back(self) -> None:
        """In a recording, show the step before."""
        if self.source.live:
            self.notify("This race is being run: what was done cannot be undone.", severity="warning")
            return
        self._paused = True
        self.source.step_back()
        self._draw_lines()

    def action_faster(self) -> None:
        """Reduce the time between steps."""
        self._set_speed(-1)

    def action_slower(self) -> None:
        """Increase the time between steps."""
        self._set_speed(1)

    def _set_speed(self, by: int) -> None:
        at = min(range(len(SPEEDS)), key=lambda i: abs(SPEEDS[i] - self._delay))
        self._delay = SPEEDS[min(max(at + by, 0), len(SPEEDS) - 1)]
        self.source.set_delay(self._delay)
        self._draw_lines()

    def action_zoom(self) -> None:
        """Give the whole width to the racer with the focus, or show all again."""
        columns = list(self.query(RacerColumn))
        alone = all(column.display for column in columns)
        one = next((column for column in columns if column.has_focus), columns[0])
        for column in columns:
            column.display = not alone or column is one
        self.call_after_refresh(self._draw)

    def action_compare(self) -> None:
        """Show two racers side by side; ask which if there are more than two."""
        pairs = list(combinations(range(len(self.view.racers)), 2))
        if len(pairs) == 1:
            self._compare(pairs[0])
        else:
            self.app.push_screen(
                PairDialog(self.view.racers, pairs), lambda at: at is not None and self._compare(pairs[int(at)])
            )

    def _compare(self, pair: tuple[int, int]) -> None:
        one, other = (self._race.racers[who] for who in pair)
        open_comparison(self.app, (one.session.folder, other.session.folder), (one.name, other.name))

    def action_help(self) -> None:
        """Show the help."""
        self.app.push_screen(help.of_screen("race", self.key_table, text=[page("terminal")]))

    def action_leave(self) -> None:
        """Leave, after a question if the race is being run. The second call while it ends leaves at once."""
        self.ask_to_leave(f"The race stops here. {KEPT}", "leave", self.app.leave_now)

    def goes_on(self) -> bool:
        """Return whether a racer plays here."""
        return super().goes_on() and any(racer.state == "running" for racer in self.view.racers)


class RacerColumn(LinePane):
    """One racer: its place, its scores and costs, its last action, and the end of its transcript."""

    def __init__(self, letter: str) -> None:
        super().__init__(f"column-{letter}")
        self._racer: RacerView | None = None

    def show(self, racer: RacerView) -> None:
        """Show a racer as it is now."""
        self._racer = racer
        title = f"{_SIGNS[racer.state]} {racer.letter} {racer.name}"
        self.border_title = Content(fit(title, max(4, self.size.width - 2)).rstrip())
        self.renew()

    def redraw(self) -> None:
        """Draw the present lines, the latest in sight."""
        super().redraw()
        self.scroll_end(animate=False)

    def build(self, width: int, height: int) -> Sequence[Content]:
        """Return the lines: facts first, then as much of the transcript as fits."""
        racer = self._racer
        if racer is None:
            return []
        lines = [Content.styled(line, MUTED) for line in _who(racer, width)]
        lines += [Content.styled(line, STRONG) for line in _flowing(racer_facts(racer), width)]
        lines.append(Content.styled(fit(f"> {racer.last}" if racer.last else _doing(racer), width), ACCENT))
        if racer.error:
            lines += [Content.styled(line, BAD) for line in wrap(f"✗ {one_line(racer.error)}", width)]
        lines.append(Content.styled("─" * width, FAINT))
        return [*lines, *_transcript(racer, width, max(0, height - len(lines)))]


def _who(racer: RacerView, width: int) -> list[str]:
    started = racer.view.started
    return _flowing([one_line(started.agent), one_line(started.model)], width) if started is not None else [""]


def _doing(racer: RacerView) -> str:
    return racer.view.doing or racer.view.activity


def _transcript(racer: RacerView, width: int, height: int) -> list[Content]:
    """Return the last lines of a transcript, at most `height`."""
    lines: list[Content] = []
    for paragraph in list(racer.view.paragraphs)[-_PARAGRAPHS:]:
        style = HUMAN if paragraph.human else _STYLES.get(paragraph.kind, "")
        text = f"> {paragraph.text}" if paragraph.kind == "command" else paragraph.text
        lines += [Content.styled(line, style) for line in wrap(text, width) if line.strip()]
    return lines[len(lines) - height :] if len(lines) > height else lines


def _flowing(parts: Sequence[str], width: int) -> list[str]:
    """Return parts on as few lines as possible."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + 2 + len(part) <= width:
            lines[-1] += f"  {part}"
        else:
            lines.append(fit(part, width).rstrip())
    return lines


class PairDialog(dialogs.PickDialog):
    """Asks which two racers to compare. Answers are indices of pairs."""

    def __init__(self, racers: Sequence[RacerView], pairs: Sequence[tuple[int, int]]) -> None:
        super().__init__("compare", "Two racers side by side, step by step.", "letters or names")
        self._racers, self._pairs = racers, pairs

    def options(self, typed: str) -> list[tuple[str, Content]]:
        """Return the pairs that have the typed text."""
        rows = []
        for at, (one, other) in enumerate(self._pairs):
            text = " and ".join(f"{LETTERS[who]} {one_line(self._racers[who].name)}" for who in (one, other))
            if typed.casefold() in text.casefold():
                rows.append((str(at), Content(f"  {text}")))
        return rows
