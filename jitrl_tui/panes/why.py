"""The pane of reasons: one sentence, the calculation, and the action without memory."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.content import Content

from engine import explain, worked
from jitrl_tui.runs import hits, steer_texts
from jitrl_tui.runs.view import Choice, RunView
from jitrl_tui.widgets.lines import ACCENT, GOOD, HUMAN, MUTED, STRONG, LinePane, wrap
from jitrl_tui.widgets.pane import How, PaneKind


def why_lines(choice: Choice, width: int, *, brief: bool) -> list[Content]:
    """Return the wrapped reasons for a choice; `brief` leaves out the calculation."""
    d = choice.decision
    update = d.update
    lines: list[Content] = []
    if d.provenance == "human":
        lines.append(Content.assemble(("You decided: ", HUMAN), (d.action, STRONG)))
    for text in filter(None, (explain.credit(d), steer_texts.drawn_at_random(d))):
        lines.extend(Content.styled(line, HUMAN) for line in wrap(text, width))
    for line in wrap(d.why, width):
        lines.append(Content(line))
    lines.extend(Content.styled(line, ACCENT) for line in wrap(worked.update(d), width) if line)
    for basis in hits.texts(d):
        lines.extend(Content(line) for line in wrap(hits.rests_on(basis), width))
    drawn = hits.how_taken(choice)
    lines.extend(Content(line) for line in wrap(drawn, width) if line)
    i = d.chosen
    if i >= 0 and not brief:
        lines.extend(Content.styled(line, MUTED) for line in _derivation(choice, width))
    if update is not None and update.without_memory and not brief:
        if d.changed:
            who = "Exploration within this episode" if explain.explores(update.valuation) else "JitRL"
            text = f"○ {who} changed this choice: the prior alone takes '{update.without_memory}'"
            lines.extend(Content.styled(line, GOOD) for line in wrap(text, width))
        elif d.tie_broken:
            text = f"= JitRL broke a tie: the prior rates '{update.without_memory}' alike"
            lines.extend(Content.styled(line, MUTED) for line in wrap(text, width))
        else:
            lines.append(Content.styled("= JitRL did not change this choice", MUTED))
    reason = d.candidates[i].reason if i >= 0 else ""
    if reason and not brief:
        lines.extend(Content.styled(line, MUTED) for line in wrap(f"The model: {reason}", width))
    if d.note:
        lines.extend(Content.styled(line, MUTED) for line in wrap(f"Note: {d.note}", width))
    return lines


def _derivation(choice: Choice, width: int) -> list[str]:
    """Return the calculation for the chosen action. An equation that fits into a line is not broken."""
    d, settings = choice.decision, choice.settings
    i, update = d.chosen, d.update
    parts = [hits.logit(choice, d.candidates[i])]
    if update is not None and update.valuation.how[i] != "prior":
        seen = explain.shown_values(update)
        by, less, makes = worked.difference(seen.q[i], seen.v)
        parts += [
            f"Â = Q̂ − V̂ = {by} − ({less}) = {makes} {seen.unit}",
            worked.write_normalised(seen.advantage, i, settings, explain.outside(d), seen.share),
        ]
    lines: list[str] = []
    for part in filter(None, parts):
        if lines and cell_len(lines[-1]) + 3 + cell_len(part) <= width:
            lines[-1] += f"   {part}"
        else:
            lines.extend(wrap(part, width))
    return lines


class WhyPane(LinePane):
    """The reasons for the displayed choice."""

    fills = False

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self.choice: Choice | None = None

    def look(self, view: RunView, choice: Choice | None, how: How) -> None:
        """Show this choice."""
        if choice is not self.choice:
            self.choice, self._stale = choice, True
        self.rebuild()

    def build(self, width: int, height: int) -> Sequence[Content]:
        """Return the wrapped reasons."""
        if self.choice is None:
            return [Content.styled("No decision yet.", MUTED)]
        return why_lines(self.choice, width, brief=False)


KIND = PaneKind("why", "why", lambda: WhyPane("why"), "go to the reasons", "w", "beside", lines=(5, 6), advice=True)
