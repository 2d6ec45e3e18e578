"""A pane of a package of its own: how often each command was given in this episode."""

from collections import Counter

from textual.content import Content

from jitrl_tui.widgets.lines import ACCENT, LinePane, fit
from jitrl_tui.widgets.pane import PaneKind


class RepeatsPane(LinePane):
    """Commands, the most frequent first."""

    def __init__(self):
        super().__init__()
        self.counts = Counter()

    def look(self, view, choice, how):
        """Count the commands of this episode."""
        counts = Counter(p.text for p in view.paragraphs if p.kind == "command" and p.episode == view.episode)
        if counts != self.counts:
            self.counts = counts
            self.renew()

    def build(self, width, height):
        """Return a line for each command."""
        return [
            Content.assemble((f"{count:4} ", ACCENT), fit(command, width - 5))
            for command, count in self.counts.most_common()
        ]


KIND = PaneKind("repeats", "repeats", RepeatsPane)
