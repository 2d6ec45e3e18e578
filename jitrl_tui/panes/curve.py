"""The learning curve: score of each episode, running average, best score, and earlier sessions like it."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from jitrl_tui.view import Choice, RunView
from jitrl_tui.widgets.lines import MUTED, LinePane, fit
from jitrl_tui.widgets.pane import How, PaneKind
from jitrl_tui.widgets.plots import score_plot


class CurvePane(LinePane):
    """Scores over episodes, as a plot."""

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self._view = RunView()
        self._shown: tuple[object, ...] = ()

    def look(self, view: RunView, choice: Choice | None, how: How) -> None:
        """Show the scores of this view, if they have changed."""
        now = (len(view.scores), view.scores[-1] if view.scores else 0.0, view.previous, view.started is None)
        if now != self._shown:
            self._shown, self._view, self._stale = now, view, True
        self.rebuild()

    def build(self, width: int, height: int) -> Sequence[Content]:
        """Return the plot with its axes and a legend."""
        scores, previous = list(self._view.scores), self._view.previous
        planned = self._view.started.episodes if self._view.started else 0
        if not scores and not previous:
            return [
                Content.styled(fit("The first point comes with the end of the first episode.", width), MUTED)
            ]
        return score_plot(scores, planned, width, height, previous)


KIND = PaneKind("curve", "learning curve", lambda: CurvePane("curve"), letter="l", lines=(0, 7))
