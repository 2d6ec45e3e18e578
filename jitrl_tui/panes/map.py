"""The map: places and ways, with the points that followed on average what memory has of each place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual.content import Content
from textual.events import Click

from engine.games.map import Chart, GameMap, Mark, Place
from engine.records import Decision
from jitrl_tui.runs.places import NO_MAP, RunPlaces, exits
from jitrl_tui.runs.view import Choice, RunView, signed
from jitrl_tui.system.output import one_line
from jitrl_tui.widgets.lines import ACCENT, BAD, FAINT, GOOD, MUTED, STRONG, LinePane, fit, wrap
from jitrl_tui.widgets.pane import How, PaneKind, StepClicked

THIN = 3
"""Fewer remembered steps than these are thin memory, which is shown pale."""
LEGEND = f"[here]   mean of the points that followed, × steps remembered; pale: fewer than {THIN}"


class MapPane(LinePane):
    """The map around the present place. Below a name: the points that followed on average, and the remembered steps."""

    fills = False

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self._marks: tuple[Mark, ...] = ()
        self._episode = 0
        self._places = RunPlaces()
        self._decision: Decision | None = None
        self._remembered: GameMap | None = None
        self._seen: tuple[object, ...] = ()
        self._here_line = 0

    def look(self, view: RunView, choice: Choice | None, how: How) -> None:
        """Show the places known now."""
        before = None
        if how.remembered is not None and view.started is not None and self.display:
            before = how.remembered.map(view.started, view.places.uids)
        decision = view.choice.decision if view.choice is not None and view.pending else None
        seen = (id(view.places), view.places.changes, before, decision)
        if seen != self._seen:
            self._seen, self._places, self._decision, self._remembered = seen, view.places, decision, before
            self._episode = view.episode
            self.renew()
            self._keep_in_sight()
        else:
            self.rebuild()

    def build(self, width: int, height: int) -> Sequence[Content]:
        """Return the drawing, the exits of this place, and what is not drawn."""
        known, here = self.known(), self._places.here
        self._marks = ()
        if not known.places:
            return [Content.styled(line, MUTED) for line in wrap(NO_MAP, width)]
        chart = known.chart(here, width, lambda place: label(place, here))
        best = max((place.value or 0.0 for place in known.places.values()), default=0.0)
        styles = {name: style(place, here, best) for name, place in known.places.items()}
        self._marks = chart.marks
        lines = [_styled(chart, number, styles) for number in range(len(chart.lines))]
        self._here_line = next((mark.line for mark in chart.marks if mark.place == here), 0)
        lines.append(Content(""))
        lines.extend(Content(line) for line in wrap(exits(known, here, self._decision), width))
        lines.extend(Content.styled(line, MUTED) for line in wrap(LEGEND, width))
        if chart.rest:
            lines += [Content(""), Content.styled("Not drawn:", MUTED)]
            lines += [Content.styled(fit(f"{one_line(place)}: {way} to {then}", width), MUTED)
                      for place, way, then in chart.rest]  # fmt: skip
        return lines

    def on_click(self, event: Click) -> None:
        """Show the last decision of the running episode at the clicked place."""
        at = self.clicked(event)
        for mark in self._marks:
            if at is not None and mark.line == at[1] and mark.start <= at[0] < mark.end:
                steps = [step for step, (place, _) in enumerate(self._places.trail) if place == mark.place]
                if steps:
                    self.post_message(StepClicked(self._episode, steps[-1]))
                else:
                    self.notify(f"No step of this episode was taken at {one_line(mark.place)}.", timeout=3)
                return

    def known(self) -> GameMap:
        """Return the map of this run, with what memory had before it."""
        if self._remembered is None:
            return self._places.map
        known = self._remembered.copy()
        known.merge(self._places.map)
        return known

    def _keep_in_sight(self) -> None:
        top, height = round(self.scroll_y), self.scrollable_content_region.height
        if height > 0 and not top <= self._here_line < top + height - 1:
            self.scroll_to(y=max(0, self._here_line - height // 2), animate=False, force=True)


def label(place: Place, here: str) -> tuple[str, str]:
    """Return the two lines of a place: its name, in brackets if it is the present one, and what memory has of it."""
    name = one_line(place.name)
    return (f"[{name}]" if place.name == here else name), _worth(place)


def _worth(place: Place) -> str:
    if place.value is None:
        return "·"
    return f"{signed(place.value, 1)} ×{place.count}"


def _styled(chart: Chart, number: int, styles: Mapping[str, str]) -> Content:
    """Return a line of the chart in the styles of its places."""
    text, at, parts = chart.lines[number], 0, []
    for mark in sorted((m for m in chart.marks if m.line == number), key=lambda m: m.start):
        parts += [(text[at : mark.start], FAINT), (text[mark.start : mark.end], styles[mark.place])]
        at = mark.end
    return Content.assemble(*parts, (text[at:], FAINT))


def style(place: Place, here: str, best: float) -> str:
    """Return the style of a place: by the points that followed, pale where memory is thin, reversed where it is now.

    Args:
        best: The highest mean of a place; from half of it on, a place is bold.
    """
    if place.name == here:
        return f"{ACCENT} reverse"
    if place.value is None:
        return FAINT
    if place.count < THIN:
        return MUTED
    if place.value > 0:
        return GOOD if place.value >= best / 2 else "$text-success"
    return BAD if place.value < 0 else STRONG


KIND = PaneKind("map", "map", lambda: MapPane("map"), "go to the map of places", "M", lines=(0, 0))
