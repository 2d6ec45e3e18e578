"""What was remembered: the neighbourhood N(s) of the choice on show."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from engine.records import Neighbour
from jitrl_tui.view import Choice, clean, signed
from jitrl_tui.widgets.lines import ACCENT, BAD, GOOD, HUMAN, MUTED, NAME, LinePane, fit, wrap


class MemoryPane(LinePane):
    """Similarity, action, G, where it was lived, by whom, and what the state was."""

    title = "memory"
    key = "4"

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self.choice: Choice | None = None
        self.entries = 0
        self.whole = False

    def look_at(self, choice: Choice | None, entries: int, whole: bool) -> None:
        """Show the neighbours of this choice; `whole` spells out their states."""
        if (choice, entries, whole) != (self.choice, self.entries, self.whole):
            self.choice, self.entries, self.whole, self._stale = choice, entries, whole, True
        self.rebuild()

    def build(self, width: int, height: int) -> Sequence[Content]:
        """Return a headline and a row for each neighbour."""
        if self.choice is None:
            return [Content.styled(fit(f"{self.entries:,} steps remembered.", width), MUTED)]
        decision = self.choice.decision
        if not decision.neighbours:
            text = (
                f"No remembered state is similar enough ({self.entries:,} steps remembered)."
                if self.entries
                else "Memory is empty. It fills at the end of each episode."
            )
            lines = wrap(text, width)
            lines += ["", *wrap(f"Now: {clean(decision.state.text)}", width)]
            return [Content.styled(line, MUTED) for line in lines]
        size = _action_width(decision.neighbours, width)
        head = f" sim      G  {fit('action', size)} ep/step by"
        lines = [
            Content.styled(
                fit(head + ("  state" if width - size > 44 and not self.whole else ""), width), MUTED
            )
        ]
        if self.whole:
            now = wrap(f"Now: {clean(decision.state.text)}", width)
            lines = [*(Content(line) for line in now), Content(""), *lines]
        for neighbour in decision.neighbours:
            lines.append(_row(neighbour, decision.action, size, width, excerpt=not self.whole))
            if self.whole:
                taken = f"{clean(neighbour.taken)} for another task: " if neighbour.taken else ""
                text = wrap(taken + clean(neighbour.state), max(10, width - 14))
                lines.extend(Content.styled(" " * 14 + line, MUTED) for line in text)
        return lines


def _action_width(neighbours: Sequence[Neighbour], width: int) -> int:
    longest = max(len(n.action) for n in neighbours)
    return max(8, min(longest + 1, 30 if width >= 74 else max(12, width - 34)))


def _row(neighbour: Neighbour, chosen: str, size: int, width: int, *, excerpt: bool) -> Content:
    human = neighbour.provenance == "human"
    by = "you" if human else "agent" if neighbour.provenance == "agent" else neighbour.provenance[:12]
    where = f"{neighbour.episode}/{neighbour.step + 1}"
    used = 14 + size + 14
    state = clean(neighbour.state).replace("\n", " ")
    shown = fit(state, width - used - 1) if excerpt and width - used > 12 else ""
    same = neighbour.action == chosen
    g = f"{signed(neighbour.g):>7}"
    return Content.assemble(
        (f"{neighbour.similarity:4.2f} ", NAME),
        (g[-7:] + "  ", GOOD if neighbour.g > 0 else BAD if neighbour.g < 0 else MUTED),
        (fit(clean(neighbour.action), size), ACCENT if same else ""),
        (where.rjust(8), MUTED),
        (f" {by[:5]:<5}", HUMAN if human else MUTED),
        (" " + shown, MUTED),
    )
