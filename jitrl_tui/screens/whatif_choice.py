"""The choice on show in the what-if window: as it was and as it would be, and with other values of a setting."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from textual.content import Content
from textual.geometry import Size

from engine import explain
from engine.session.recorded import DecisionAgain
from jitrl_tui.runs import hits
from jitrl_tui.runs.view import signed
from jitrl_tui.widgets.lines import ACCENT, BAD, FAINT, GOOD, MUTED, NAME, STRONG, LinePane, fit, wrap
from jitrl_tui.widgets.plots import bar_parts, thin

_BAR = 60
_LEAST_BAR = 8
"""Most cells of a bar, and the fewest of one beside a candidate."""
_FEWEST = 3
"""Fewest other values that are shown."""


class ChoicePane(LinePane, can_focus=False):
    """The choice on show, as it was and as it would be."""

    def __init__(self) -> None:
        super().__init__("decision")
        self.again: DecisionAgain | None = None

    def show(self, again: DecisionAgain | None) -> None:
        """Show a choice that was made again, None if it could not be."""
        self.again = again
        self.renew()

    def build(self, width: int, height: int) -> list[Content]:
        """Return a line for each candidate."""
        again = self.again
        if again is None:
            return [Content.styled(fit("This choice is not in the recording.", width), MUTED)]
        was, now = again.recorded, again.now
        other = f" → '{now.action}'" if again.differs else ", the same"
        head = wrap(f"This choice: '{was.action}'{other}", width)
        lines = [Content.styled(line, STRONG if again.differs else "") for line in head]
        then, seen = (explain.shown_values(one.update) if explain.knows(one.update) else None for one in (was, now))
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
            kept, gone, rest = bar_parts(before.get(action, 0.0), now.posterior[index], room)
            moved = GOOD if "▓" in gone else BAD
            lines.append(Content.assemble((f"{row}  ", style), (kept, NAME), (gone, moved), (rest, FAINT)))
        return lines

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the lines that it needs."""
        return len(self.build(max(1, width), viewport.height))


class OtherValues(LinePane, can_focus=False):
    """What the choice would be with each value that a slider stops at."""

    def __init__(self) -> None:
        super().__init__("values")
        self._symbol = ""
        self._now: object = None
        self._made: Sequence[tuple[Any, DecisionAgain]] = ()

    def show(self, symbol: str, now: object, made: Sequence[tuple[Any, DecisionAgain]]) -> None:
        """Show choices.

        Args:
            symbol: Of the setting.
            now: Its present value.
            made: The choice with each value.
        """
        self._symbol, self._now, self._made = symbol, now, made
        self.renew()

    def build(self, width: int, height: int) -> list[Content]:
        """Return a line for each value; those around the present one if not all fit."""
        room = height - 1
        if not self._made or room < _FEWEST:
            return []
        at = next((i for i, (value, _) in enumerate(self._made) if value == self._now), 0)
        first = min(max(0, at - room // 2), max(0, len(self._made) - room))
        rows = self._made[first : first + room]
        wide = max(len(setting_text(value)) for value, _ in rows)
        name = min(max(len(one.now.action) for _, one in rows), max(8, width - wide - 8))
        bar = min(_BAR, width - name - wide - 12)
        lines = [Content.styled(fit(f"This choice by {self._symbol}, and its π:", width), MUTED)]
        for value, one in rows:
            p = float(one.now.posterior[one.now.chosen])
            mark, style = ("▸ ", ACCENT) if value == self._now else ("  ", "")
            row = f"{mark}{setting_text(value):>{wide}}  {fit(one.now.action, name)} {p:4.0%}"
            full, rest = thin(p, bar) if bar >= _LEAST_BAR else ("", "")
            lines.append(
                Content.assemble(
                    (fit(row, width) if not full else f"{row}  ", style), (full, NAME), (rest, FAINT)
                )
            )
        return lines


def setting_text(value: object) -> str:
    """Return the value of a setting for people."""
    if isinstance(value, float) and value and abs(value) < 0.01:
        return f"1e{math.log10(abs(value)):.0f}" if math.log10(abs(value)).is_integer() else f"{value:.0e}"
    return f"{value:g}" if isinstance(value, (int, float)) else str(value)
