"""The learning curve: score of each episode, running average, best score, and earlier sessions like it."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.events import Click

from jitrl_tui.runs.view import Choice, RunView
from jitrl_tui.widgets.lines import MUTED, LinePane, fit
from jitrl_tui.widgets.pane import How, PaneKind, StepClicked
from jitrl_tui.widgets.plots import episode_at, score_plot


class CurvePane(LinePane):
    """Scores over episodes, as a plot."""

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self._view = RunView()
        self._shown: tuple[object, ...] = ()

    @property
    def bare(self) -> bool:
        """Whether no episode has ended."""
        return not self._view.scores and not self._view.previous

    def look(self, view: RunView, choice: Choice | None, how: How) -> None:
        """Show the scores of this view, if they have changed."""
        now = (len(view.scores), view.scores[-1] if view.scores else 0.0, view.previous, view.started is None)
        if now != self._shown:
            self._shown, self._view, self._stale = now, view, True
        self.rebuild()

    def build(self, width: int, height: int) -> Sequence[Content]:
        """Return the plot with its axes and a legend."""
        scores, previous, planned = self._drawn()
        if not scores and not previous:
            return [
                Content.styled(fit("The first point comes with the end of the first episode.", width), MUTED)
            ]
        return score_plot(scores, planned, width, height, previous)

    def _drawn(self) -> tuple[list[float], Sequence[float], int]:
        """Return the scores, the means of earlier sessions, and the number of planned episodes."""
        planned = self._view.started.episodes if self._view.started else 0
        return list(self._view.scores), self._view.previous, planned

    def on_click(self, event: Click) -> None:
        """Show the first decision of the clicked episode."""
        at, (scores, previous, planned) = self.clicked(event), self._drawn()
        if at is not None and scores:
            width = self.scrollable_content_region.width
            self.post_message(StepClicked(episode_at(at[0], scores, planned, width, previous), 0))


KIND = PaneKind("curve", "learning curve", lambda: CurvePane("curve"), letter="l", lines=(0, 7))
