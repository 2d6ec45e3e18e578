"""The what-if window: what this choice, and all of the run, would be with other settings. No model is asked."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.types import CSSPathType
from textual.widgets import Static

from engine import explain
from engine.errors import UsageError
from engine.session import whatif
from engine.session.levers import levers
from engine.session.recorded import Again, RecordedRun
from engine.session.whatif import OpenRun, WhatIfOutcome
from engine.settings import Settings
from jitrl_tui.runs import hits
from jitrl_tui.runs.view import signed
from jitrl_tui.screens.dialogs import Dialog
from jitrl_tui.screens.help import HelpDialog
from jitrl_tui.screens.hit import NumberDialog
from jitrl_tui.screens.levers import STOPS
from jitrl_tui.system.background import Background
from jitrl_tui.widgets.bars import changed, thin
from jitrl_tui.widgets.lines import ACCENT, BAD, FAINT, GOOD, HUMAN, MUTED, NAME, STRONG, LinePane, fit, wrap
from jitrl_tui.widgets.rows import RowList

_KNN = ("beta", "k", "r", "gamma", "lam", "alpha", "epsilon", "history_weight", "selection")
_GRAPH = ("beta", "epsilon", "selection", "curiosity", "prior_weight", "settling")
_BAR = 24
_LEAST_BAR = 8
"""Most cells of a bar, and the fewest of one beside a candidate."""


def sliders_of(settings: Settings) -> tuple[str, ...]:
    """Return the settings that count for an estimator, in the order of display."""
    return _GRAPH if settings.estimator == "graph" else _KNN


class Sliders(LinePane):
    """One slider for each setting. Up and down choose one, left and right change it.

    Args:
        before: The settings at first.
    """

    BINDINGS: ClassVar = [
        Binding("up,k", "choose(-1)", show=False),
        Binding("down,j", "choose(1)", show=False),
        Binding("left,h", "turn(-1)", show=False),
        Binding("right,l", "turn(1)", show=False),
        Binding("enter", "type", show=False),
        Binding("backspace,delete", "reset", show=False),
        Binding("0", "reset_all", show=False),
    ]

    class Changed(Message):
        """A setting has another value."""

    def __init__(self, before: Settings) -> None:
        super().__init__("sliders")
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
        return list(STOPS[name][1]) if name == "selection" else sorted(values, key=float)

    def build(self, width: int, height: int) -> list[Content]:
        """Return a line for each slider."""
        lines = []
        labels = [name if STOPS[name][0] in ("", name) else f"{STOPS[name][0]} {name}" for name in self.names]
        wide = max(map(len, labels)) + 1
        for at, (name, label) in enumerate(zip(self.names, labels, strict=True)):
            value, before, stops = getattr(self.now, name), getattr(self.before, name), self.stops(name)
            share = stops.index(value) / max(1, len(stops) - 1)
            bar, rest = thin(share, min(_BAR, max(3, width - wide - 20)))
            line = Content.assemble(
                ("▸ " if at == self._at else "  ", ACCENT),
                (fit(label, wide), STRONG if at == self._at else ""),
                (bar, NAME), (rest, FAINT),
                (f" {shown(value):>6}", HUMAN if self.unlike(name) else ""),
                (f" was {shown(before)}" if self.unlike(name) else "", MUTED),
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

    def action_turn(self, by: int) -> None:
        """Go to the next value."""
        stops = self.stops(self.name_at)
        at = stops.index(getattr(self.now, self.name_at)) + by
        if 0 <= at < len(stops):
            self.change(self.name_at, stops[at])

    def action_type(self) -> None:
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

    def action_reset(self) -> None:
        """Give the chosen setting its first value."""
        self.change(self.name_at, getattr(self.before, self.name_at))

    def action_reset_all(self) -> None:
        """Give all settings their first values."""
        self.now = self.before
        self.renew()
        self.post_message(self.Changed())


class _Decision(LinePane, can_focus=False):
    """The choice on show, as it was and as it would be."""

    def __init__(self) -> None:
        super().__init__("decision")
        self.again: Again | None = None

    def show(self, again: Again | None) -> None:
        self.again = again
        self.renew()

    def build(self, width: int, height: int) -> list[Content]:
        again = self.again
        if again is None:
            return [Content.styled(fit("This choice is not in the recording.", width), MUTED)]
        was, now = again.recorded, again.now
        other = f" → '{now.action}'" if again.differs else ", the same"
        head = wrap(f"This choice: '{was.action}'{other}", width)
        lines = [Content.styled(line, STRONG if again.differs else "") for line in head]
        then, seen = (explain.shown(one.update) if explain.knows(one.update) else None for one in (was, now))
        if then is not None and seen is not None:
            v = f"V̂ {signed(then.v)} → {signed(seen.v)} {hits.unit(seen)}"
            lines.append(Content.styled(fit(v, width), MUTED))
        before = {c.action: p for c, p in zip(was.candidates, was.posterior, strict=True)}
        longest = max(len(candidate.action) for candidate in now.candidates)
        name = max(8, min(longest, width - 23))
        room = min(_BAR, width - name - 25)
        lines.append(Content.styled(fit(f"  {'action':<{name}} {'Q̂':>7}  {'π was':>5}  now", width), MUTED))
        for index in sorted(range(len(now.candidates)), key=lambda i: -now.posterior[i]):
            action = now.candidates[index].action
            q = signed(seen.q[index]) if seen is not None else ""
            old = f"{before[action]:4.0%}" if action in before else "   –"
            mark = "▸ " if index == now.chosen else "○ " if action == was.action else "  "
            row = f"{mark}{fit(action, name)} {q:>7}  {old:>5} {now.posterior[index]:4.0%}"
            style = ACCENT if index == now.chosen else ""
            if room < _LEAST_BAR:
                lines.append(Content.styled(fit(row, width), style))
                continue
            kept, gone, rest = changed(before.get(action, 0.0), now.posterior[index], room)
            moved = GOOD if "▓" in gone else BAD
            lines.append(Content.assemble((f"{row}  ", style), (kept, NAME), (gone, moved), (rest, FAINT)))
        return lines


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


class WhatIfScreen(Dialog["tuple[int, int] | GoOn"]):
    """Sliders, the choice on show, and the choices of the run that would differ.

    The answer is a step to go to, or what to go on with.

    Args:
        opened: The recording with its memory.
        at: Episode and step of the choice on show.
        runs: Whether the session runs, so that it can go on with other settings.
    """

    CSS_PATH: ClassVar[CSSPathType | None] = ["dialog.tcss", "whatif.tcss"]
    BINDINGS: ClassVar = [
        Binding("escape", "back", show=False),
        Binding("q", "dismiss(None)", show=False),
        Binding("tab", "app.focus_next", show=False),
        Binding("question_mark", "help", show=False),
        Binding("b", "go_on(True)", show=False),
        Binding("a", "go_on(False)", show=False),
    ]

    def __init__(self, opened: OpenRun, run: RecordedRun, at: tuple[int, int], *, runs: bool = False) -> None:
        super().__init__()
        self._runs = runs
        self._opened, self._run, self._place = opened, run, at
        self._outcome: WhatIfOutcome | None = None
        self._problem = ""
        self._unlike: int | None = None
        self._work = Background(self)

    def compose(self) -> ComposeResult:
        """Lay out the window."""
        box = self.box("what if: no model is asked, nothing is played, nothing changes")
        go_on = "a apply · b branch" if self._runs else "b branch"
        box.border_subtitle = Content(f"↑↓ ←→ change · Enter type · 0 reset · {go_on} · Tab list · Esc")
        with box, Horizontal(id="halves"):
            with Vertical(id="left"):
                yield Sliders(self._run.settings_at(self._place))
                yield _Decision()
            with Vertical(id="right"):
                yield Static(id="told", markup=False)
                yield RowList("choices", self._row, lambda width: "ep/step  was → would be")

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

    def action_back(self) -> None:
        """Cancel the work, or close the window."""
        if self._work.cancel():
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

        def work(told: Callable[[int, int], None]) -> tuple[Again | None, WhatIfOutcome]:
            one = whatif.trial(run, place, changes=changes, check=lambda: told(0, 0))
            told(0, 0)  # raises if the window was closed
            self.app.call_later(self._show, one)
            asks = True if first and run.scope is not None else None
            return one, whatif.what_if(run, changes, from_memory=asks, checks=first, progress=told)

        def finished(result: tuple[Again | None, WhatIfOutcome]) -> None:
            one, self._outcome = result
            if self._outcome.unlike is not None:
                self._unlike = self._outcome.unlike
            self.query_one(_Decision).show(one)
            choices = self.query_one(RowList)
            choices.message = "No choice would be another."
            choices.show(len(self._outcome.differing), 0)
            self._tell()

        def failed(sentence: str) -> None:
            self._problem = sentence
            self.query_one(RowList).show(0)
            self._tell()

        self._work.begin(work, finished, failed, what="Making the decisions again", unit="decisions")
        self._tell()

    def _show(self, one: Again | None) -> None:
        for decision in self.query(_Decision):  # there is none any more once the window was closed
            decision.show(one)

    def _tell(self) -> None:
        """Say how many choices would differ, or how far the work is."""
        outcome, work = self._outcome, self._work
        if self._problem:
            lines = [self._problem]
        elif outcome is None:
            lines = [work.progress_text if work.busy else "Cancelled. 0 or another value begins again."]
        else:
            total = outcome.decisions
            moved = f"; in {outcome.moved:,} more the probabilities would" if outcome.moved else ""
            without = f"Without memory, {outcome.without_memory:,} of {total:,} would differ."
            lines = [f"{outcome.sentence}{moved}.", without]
        if self._unlike:
            lines.append(
                f"{self._unlike:,} decisions cannot be made again exactly: memory or jitrl has changed since."
            )
        text = "\n".join(lines)
        told = self.query_one("#told", Static)
        if str(told.content) != text:
            told.update(Content(text))

    def _row(self, at: int, width: int) -> Content:
        if self._outcome is None:
            return Content("")
        one = self._outcome.differing[at]
        was, now = one.recorded, one.now
        place = f"{one.episode}/{was.step + 1}"
        chance = f" {now.posterior[now.chosen]:4.0%}" if width >= 60 else ""
        half = max(6, (width - 11 - len(chance)) // 2)
        return Content(f"{place:>7} {fit(was.action, half)} → {fit(now.action, half)}{chance}")

    def on_row_list_chosen(self) -> None:
        """Go to the step under the cursor."""
        if self._outcome is not None and self._outcome.differing:
            one = self._outcome.differing[self.query_one(RowList).at]
            self.dismiss((one.episode, one.recorded.step))

    def action_go_on(self, branch: bool) -> None:
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

    def action_help(self) -> None:
        """Show the help."""
        from jitrl_tui.help import page

        self.app.push_screen(HelpDialog("what if", page("memory")))


def shown(value: object) -> str:
    """Return the value of a setting for people."""
    if isinstance(value, float) and value and abs(value) < 0.01:
        return f"1e{math.log10(abs(value)):.0f}" if math.log10(abs(value)).is_integer() else f"{value:.0e}"
    return f"{value:g}" if isinstance(value, (int, float)) else str(value)
