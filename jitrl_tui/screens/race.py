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
from jitrl_tui.command_table import Key
from jitrl_tui.runs.bench_view import ArmCurve
from jitrl_tui.runs.plot import running_average
from jitrl_tui.runs.race_source import LiveRace, RecordedRace
from jitrl_tui.runs.race_view import LETTERS, RacerView, RaceView, racer_facts
from jitrl_tui.screens import dialogs
from jitrl_tui.screens.compare import open_comparison
from jitrl_tui.screens.player import SPEEDS, stepped
from jitrl_tui.screens.run_base import KEPT, Ending, Feed, RunningScreen, TooSmall
from jitrl_tui.system.output import one_line
from jitrl_tui.widgets.clickable import KeyBar
from jitrl_tui.widgets.curves import ArmCurves
from jitrl_tui.widgets.lines import ACCENT, BAD, FAINT, GOOD, HUMAN, MUTED, NAME, STRONG, LinePane, fit, wrap

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
        from_home: Whether leaving goes back to the home screen.
    """

    CSS_PATH = "race.tcss"
    screen_name = "race"

    def __init__(
        self,
        source: LiveRace | RecordedRace,
        race: SavedRace,
        saves: Path,
        *,
        delay: float = 0.5,
        paused: bool = False,
        from_home: bool = False,
    ) -> None:
        super().__init__()
        self._from_home = from_home
        self.commands = {
            "toggle_pause": self._toggle_pause, "step_once": self._step_once, "step_back": self._step_back,
            "faster": lambda: self._change_speed(-1), "slower": lambda: self._change_speed(1), "zoom": self._zoom,
            "compare": self._ask_pair, "help": self.show_help, "leave": self._ask_leave,
        }  # fmt: skip
        self.source, self.view = source, RaceView(race)
        self._race, self._saves = race, saves
        self._delay, self._paused = delay, paused
        self._told = ""
        self.feed = Feed(self, self.take_in)
        self.ending = Ending(source, self, self._draw_lines, self._goes_on)

    def compose(self) -> ComposeResult:
        """Make all widgets once."""
        yield TooSmall()
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
        self.source.start(self.feed.inbox)

    def on_resize(self) -> None:
        """Arrange the widgets for the new size."""
        self._arrange()
        self.call_after_refresh(self._draw)

    def _arrange(self) -> None:
        self.set_class(self.app.size.height < _LOW, "-low")
        self.show_unless_tiny("#head", "#columns", "#parted", "#curves", "#keybar")

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
                dialogs.ErrorDialog(self._told), lambda answer: self._ask_leave() if answer == "leave" else None
            )

    def _draw(self) -> None:
        if not self.is_mounted:
            return
        self.feed.drawn()
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
        labels = {"toggle_pause": "go on"} if self._paused else {}
        self.query_one(KeyBar).show(keymap.footer(self.keys_now(), labels=labels))

    def keys_now(self) -> Sequence[Key]:
        """Return the keys that do something now."""
        useless = {"step_back"} if self.source.live else set()
        if not self._goes_on():
            useless |= {"toggle_pause", "step_once", "faster", "slower"}
        return [key for key in self.key_table if key.action not in useless]

    def _goes_on(self) -> bool:
        """Return whether a racer has steps before it."""
        return any(racer.state == "running" for racer in self.view.racers)

    def _state(self) -> Content:
        states = [racer.state for racer in self.view.racers]
        failed = f"✗ {states.count('failed')} failed  " if "failed" in states else ""
        if self.ending.told:
            return Content.styled(self.ending.told, HUMAN)
        if not self._goes_on():
            text, style = "■ over", STRONG
        elif self._paused:
            text, style = "‖ paused", HUMAN
        else:
            speed = f"{self._delay:g} s a step" if self._delay else "no delay"
            text, style = f"▸ {'running' if self.source.live else 'recording'}, {speed}", GOOD
        return Content.assemble((failed, BAD), (text, style))

    # ----------------------------------------------------------------------------------------- keys

    def _toggle_pause(self) -> None:
        """Pause, or go on."""
        self._paused = not self._paused
        if self._paused:
            self.source.pause()
        else:
            self.source.resume()
        self._draw_lines()

    def _step_once(self) -> None:
        """Let all take one step, then wait."""
        self._paused = True
        self.source.step_once()
        self._draw_lines()

    def _step_back(self) -> None:
        """In a recording, show the step before."""
        if self.source.live:
            self.notify("This race is being run: what was done cannot be undone.", severity="warning")
            return
        self._paused = True
        self.source.step_back()
        self._draw_lines()

    def _change_speed(self, by: int) -> None:
        """Change the time between steps."""
        self._delay = stepped(SPEEDS, self._delay, by)
        self.source.set_delay(self._delay)
        self._draw_lines()

    def _zoom(self) -> None:
        """Give the whole width to the racer with the focus, or show all again."""
        columns = list(self.query(RacerColumn))
        alone = all(column.display for column in columns)
        one = next((column for column in columns if column.has_focus), columns[0])
        for column in columns:
            column.display = not alone or column is one
        self.call_after_refresh(self._draw)

    def _ask_pair(self) -> None:
        """Show two racers side by side; ask which if there are more than two."""
        pairs = list(combinations(range(len(self.view.racers)), 2))
        if len(pairs) == 1:
            self._compare(pairs[0])
        else:
            names = [f"{LETTERS[at]} {one_line(racer.name)}" for at, racer in enumerate(self.view.racers)]
            rows = [(str(at), Content(f"  {names[a]} and {names[b]}")) for at, (a, b) in enumerate(pairs)]
            hint = "Two racers side by side, step by step."
            dialog = dialogs.PickDialog("compare", hint, "letters or names", rows=rows)
            self.app.push_screen(dialog, lambda at: self._compare(pairs[int(at)]) if at is not None else None)

    def _compare(self, pair: tuple[int, int]) -> None:
        one, other = (self._race.racers[who] for who in pair)
        open_comparison(self.app, (one.session.folder, other.session.folder), (one.name, other.name))

    def _ask_leave(self) -> None:
        """Leave, after a question if the race is being run. The second call while it ends leaves at once."""
        then = self.app.go_home if self._from_home else self.app.leave_now
        self.ending.ask(f"The race stops here. {KEPT}", "leave", then)


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
