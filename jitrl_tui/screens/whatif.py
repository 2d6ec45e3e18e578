"""The what-if window: what this choice, and all of the run, would be with other settings. No model is asked."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.types import CSSPathType
from textual.widgets import Static

from engine.errors import UsageError
from engine.session import whatif
from engine.session.levers import levers
from engine.session.recorded import DecisionAgain, RecordedRun
from engine.session.whatif import OpenRun, WhatIfOutcome
from engine.settings import Settings
from jitrl_tui import keymap
from jitrl_tui.command_table import Key
from jitrl_tui.screens.command_screen import CommandDialog
from jitrl_tui.screens.hit import NumberDialog
from jitrl_tui.screens.levers import STOPS
from jitrl_tui.screens.whatif_choice import ChoicePane, OtherValues, setting_text
from jitrl_tui.system.background import Background
from jitrl_tui.widgets.clickable import KeyBar
from jitrl_tui.widgets.lines import ACCENT, FAINT, HUMAN, MUTED, NAME, STRONG, LinePane, fit
from jitrl_tui.widgets.plots import thin
from jitrl_tui.widgets.rows import RowList

_BAR, _LEAST_BAR = 24, 6
"""Most cells of a slider, and the fewest."""


def sliders_of(settings: Settings) -> tuple[str, ...]:
    """Return the settings that count for an estimator: first those that a running session follows."""
    other = "knn" if settings.estimator == "graph" else "graph"
    declared = [spec for spec in dataclasses.fields(settings) if spec.name in STOPS]
    found = [spec for spec in declared if spec.metadata["estimator"] != other]
    return tuple(spec.name for spec in sorted(found, key=lambda spec: spec.metadata["followed"] or len(STOPS)))


class Sliders(LinePane):
    """One slider for each setting. Up and down choose one, left and right change it.

    Args:
        before: The settings at first.
    """

    BINDINGS: ClassVar = [
        Binding("up,k", "choose(-1)", "choose", show=False, key_display="↑↓"),
        Binding("down,j", "choose(1)", show=False),
        Binding("right,l", "turn(1)", "change", show=False, key_display="←→"),
        Binding("left,h", "turn(-1)", show=False),
    ]

    class Changed(Message):
        """A setting has another value."""

    class Turned(Message):
        """Another slider was chosen."""

    def __init__(self, before: Settings) -> None:
        super().__init__("sliders")
        self.key_table = keymap.give_keys(self, "sliders")
        self.commands = {"type": self.type_value, "reset": self.reset, "reset_all": self.reset_all}
        self.before = self.now = before
        self.names = sliders_of(before)
        self._at = 0

    @property
    def changes(self) -> dict[str, Any]:
        """The settings that are not as at first, by name."""
        return {name: getattr(self.now, name) for name in self.names if self.unlike(name)}

    def unlike(self, name: str) -> bool:
        """Return whether a setting is not as at first."""
        return bool(getattr(self.now, name) != getattr(self.before, name))

    @property
    def name_at(self) -> str:
        """The chosen setting."""
        return self.names[self._at]

    def stops(self, name: str) -> list[float | str]:
        """Return the values that a slider stops at, those at first and now among them."""
        values = {*STOPS[name][1], getattr(self.before, name), getattr(self.now, name)}
        return list(STOPS[name][1]) if isinstance(getattr(self.now, name), str) else sorted(values, key=float)

    def build(self, width: int, height: int) -> list[Content]:
        """Return a line for each slider."""
        lines = []
        labels = [name if STOPS[name][0] in ("", name) else f"{STOPS[name][0]} {name}" for name in self.names]
        wide = max(map(len, labels)) + 1
        old = [setting_text(getattr(self.before, name)) for name in self.names if self.unlike(name)]
        was = max(map(len, old), default=3)
        room = min(_BAR, width - wide - was - 14)
        for at, (name, label) in enumerate(zip(self.names, labels, strict=True)):
            value, before, stops = getattr(self.now, name), getattr(self.before, name), self.stops(name)
            share = stops.index(value) / max(1, len(stops) - 1)
            bar, rest = thin(share, room if room >= _LEAST_BAR else 0)
            line = Content.assemble(
                ("▸ " if at == self._at else "  ", ACCENT),
                (fit(label, wide), STRONG if at == self._at else ""),
                (bar, NAME), (rest, FAINT),
                (f" {setting_text(value):>6}", HUMAN if self.unlike(name) else ""),
                (f" was {setting_text(before)}" if self.unlike(name) else "", MUTED),
            )  # fmt: skip
            lines.append(line.truncate(width))
        return lines

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return a line for each slider."""
        return len(self.names)

    def _with(self, name: str, value: object) -> Settings:
        """Return the settings with another value of one of them. They check it themselves."""
        return dataclasses.replace(self.now, **{name: value})  # type: ignore[arg-type]  # the check is at run time

    def change(self, name: str, value: object) -> None:
        """Set a setting."""
        try:
            self.now = self._with(name, value)
        except UsageError as error:
            self.notify(str(error), severity="warning")
            return
        self.renew()
        self.post_message(self.Changed())

    def action_choose(self, by: int) -> None:
        """Choose another slider."""
        self._at = (self._at + by) % len(self.names)
        self.renew()
        self.post_message(self.Turned())

    def action_turn(self, by: int) -> None:
        """Go to the next value."""
        stops = self.stops(self.name_at)
        at = stops.index(getattr(self.now, self.name_at)) + by
        if 0 <= at < len(stops):
            self.change(self.name_at, stops[at])

    def type_value(self) -> None:
        """Ask for a value."""
        name = self.name_at
        value = getattr(self.now, name)
        if isinstance(value, str):
            self.action_turn(1 if self.stops(name).index(value) == 0 else -1)
            return
        whole = isinstance(value, int)

        def given(typed: float | None) -> None:
            if typed is not None:
                self.change(name, round(typed) if whole else typed)

        def wrong(typed: float) -> str:
            try:
                self._with(name, round(typed) if whole else typed)
            except UsageError as error:
                return str(error)
            return ""

        meaning = Settings.__dataclass_fields__[name].metadata["meaning"]
        self.app.push_screen(NumberDialog(name, meaning, value, wrong), given)

    def reset(self) -> None:
        """Give the chosen setting its first value."""
        self.change(self.name_at, getattr(self.before, self.name_at))

    def reset_all(self) -> None:
        """Give all settings their first values."""
        self.now = self.before
        self.renew()
        self.post_message(self.Changed())


@dataclasses.dataclass(frozen=True, slots=True)
class GoOn:
    """An answer of the window: settings to go on with.

    Attributes:
        changes: What differs from the settings in force, by name.
        branch: Whether to go on from the choice on show, in a new session, and not in the running one.
    """

    settings: Settings
    changes: Mapping[str, Any]
    branch: bool


class WhatIfScreen(CommandDialog["tuple[int, int] | GoOn"]):
    """Sliders, the choice on show, and the choices of the run that would differ.

    The answer is a step to go to, or what to go on with.

    Args:
        opened: The recording with its memory.
        at: Episode and step of the choice on show.
        runs: Whether the session runs, so that it can go on with other settings.
    """

    CSS_PATH: ClassVar[CSSPathType | None] = ["dialog.tcss", "whatif.tcss"]
    screen_name = "whatif"

    def __init__(self, opened: OpenRun, run: RecordedRun, at: tuple[int, int], *, runs: bool = False) -> None:
        super().__init__()
        self.commands = {
            "go": self.on_row_list_chosen, "apply": lambda: self._go_on(branch=False),
            "branch": lambda: self._go_on(branch=True), "help": self.show_help, "leave": self._leave,
        }  # fmt: skip
        self._runs = runs
        self._opened, self._run, self._place = opened, run, at
        self._outcome: WhatIfOutcome | None = None
        self._listed: tuple[DecisionAgain, ...] = ()
        self._problem = ""
        self._unlike: int | None = None
        self._work = Background(self)

    def compose(self) -> ComposeResult:
        """Lay out the window."""
        with self.box("what if: no model is asked, nothing is played, nothing changes"), Horizontal(id="halves"):
            with Vertical(id="left"):
                yield Sliders(self._run.settings_at(self._place))
                yield ChoicePane()
                yield OtherValues()
            with Vertical(id="right"):
                yield Static(id="progress", markup=False)
                yield RowList("choices", self._row, lambda width: "ep/step  was → would be; pale: same, π was → now")
        yield KeyBar("keybar")

    def keys_now(self) -> Sequence[Key]:
        """Return the keys that do something now."""
        return [key for key in self.key_table if self._runs or key.action != "apply"]

    def on_mount(self) -> None:
        """Make the decisions again as they were recorded."""
        self.query_one(Sliders).focus()
        self.set_interval(0.25, self._tell)
        self._again()

    def on_unmount(self) -> None:
        """Cancel the work."""
        self._work.close()

    @property
    def busy(self) -> bool:
        """Whether decisions are being made again."""
        return self._work.busy

    @property
    def outcome(self) -> WhatIfOutcome | None:
        """The result for the whole run, None until there is one."""
        return self._outcome

    def _leave(self) -> None:
        """Cancel the work, or close the window."""
        if self._work.cancel() and self._outcome is None:
            self._tell()
        else:
            self.dismiss(None)

    def on_sliders_changed(self) -> None:
        """Make the decisions again with the present settings."""
        self._again()

    def _again(self) -> None:
        changes, run, place, first = self.query_one(Sliders).changes, self._run, self._place, self._unlike is None
        self._outcome, self._problem = None, ""
        self.query_one(RowList).message = ""
        self.query_one(RowList).show(0)

        def work(progress: Callable[[int, int], None]) -> tuple[DecisionAgain | None, WhatIfOutcome]:
            one = whatif.trial(run, place, changes=changes, check=lambda: progress(0, 0))
            progress(0, 0)  # raises if the window was closed
            self.app.call_later(self._show, one)
            asks = True if first and run.scope is not None else None
            return one, whatif.what_if(run, changes, from_memory=asks, checks=first, progress=progress)

        def finished(result: tuple[DecisionAgain | None, WhatIfOutcome]) -> None:
            one, self._outcome = result
            if self._outcome.unlike is not None:
                self._unlike = self._outcome.unlike
            self.query_one(ChoicePane).show(one)
            choices = self.query_one(RowList)
            choices.message = "No choice would be another."
            self._listed = (*self._outcome.differing, *self._outcome.moving)
            choices.show(len(self._listed), 0)
            self._tell()
            self._try_values()

        def failed(sentence: str) -> None:
            self._problem = sentence
            self.query_one(RowList).show(0)
            self._tell()

        self._work.begin(work, finished, failed, what="Making the decisions again", unit="decisions")
        self._tell()

    def on_sliders_turned(self) -> None:
        """Show what the choice would be with other values of the chosen setting."""
        if self._outcome is not None:
            self._try_values()

    def _try_values(self) -> None:
        """Make the choice with each value that the chosen slider stops at."""
        sliders, run, place = self.query_one(Sliders), self._run, self._place
        name = sliders.name_at
        stops, changes, now = sliders.stops(name), sliders.changes, getattr(sliders.now, name)
        values = self.query_one(OtherValues)

        def work(progress: Callable[[int, int], None]) -> list[tuple[Any, DecisionAgain]]:
            return whatif.by_value(run, place, name, stops, changes, lambda: progress(0, 0))

        def finished(made: list[tuple[Any, DecisionAgain]]) -> None:
            values.show(STOPS[name][0] or name, now, made)

        def failed(sentence: str) -> None:
            values.show("", None, ())

        self._work.begin(work, finished, failed, what="Trying other values")

    def _show(self, one: DecisionAgain | None) -> None:
        for decision in self.query(ChoicePane):  # there is none any more once the window was closed
            decision.show(one)

    def _tell(self) -> None:
        """Say how many choices would differ, or how far the work is."""
        outcome, work = self._outcome, self._work
        if self._problem:
            lines = [self._problem]
        elif outcome is None:
            lines = [work.progress_text if work.busy else "Cancelled. 0 or another value begins again."]
        else:
            moved = f"; in {outcome.moved:,} more the probabilities would" if outcome.moved else ""
            without = f"{outcome.without[0].upper()}{outcome.without[1:]}."
            lines = [f"{outcome.sentence}{moved}.", without]
        if self._unlike:
            lines.append(
                f"{self._unlike:,} decisions cannot be made again exactly: memory or jitrl has changed since."
            )
        text = "\n".join(lines)
        line = self.query_one("#progress", Static)
        if str(line.content) != text:
            line.update(Content(text))

    def _row(self, at: int, width: int) -> Content:
        if self._outcome is None:
            return Content("")
        one = self._listed[at]
        was, now = one.recorded, one.now
        place, p = f"{one.episode}/{was.step + 1}", now.posterior[now.chosen]
        if not one.differs:
            chances = f" {was.posterior[was.chosen]:4.0%} → {p:4.0%}"
            return Content.styled(f"{place:>7} {fit(was.action, max(6, width - 8 - len(chances)))}{chances}", MUTED)
        chance = f" {p:4.0%}" if width >= 60 else ""
        half = max(6, (width - 11 - len(chance)) // 2)
        return Content(f"{place:>7} {fit(was.action, half)} → {fit(now.action, half)}{chance}")

    def on_row_list_chosen(self) -> None:
        """Go to the step under the cursor."""
        if self._outcome is not None and self._listed:
            one = self._listed[self.query_one(RowList).at]
            self.dismiss((one.episode, one.recorded.step))

    def _go_on(self, *, branch: bool) -> None:
        """Go on with these settings: from the choice on show, in a new session, or in the running one."""
        sliders, in_force = self.query_one(Sliders), self._run.settings_at()
        now = sliders.now
        changes = {name: getattr(now, name) for name in sliders.names if getattr(now, name) != getattr(in_force, name)}
        fixed = [name for name in changes if name not in levers(in_force)]
        if not (sliders.changes if branch else changes):
            said = "of this choice" if branch else "in force"
            self.notify(f"These are the settings {said}: change one first.", severity="warning")
        elif not branch and not self._runs:
            self.notify("The session does not run: b goes on with these in a branch.", severity="warning")
        elif not branch and fixed:
            self.notify(f"{fixed[0]} cannot change while a session runs: b goes on with it in a branch.",
                        severity="warning")  # fmt: skip
        else:
            self.dismiss(GoOn(now, changes, branch))
