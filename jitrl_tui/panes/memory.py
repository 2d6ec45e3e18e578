"""The pane of a choice's basis: neighbours of the state, steps that the plan repeats, texts stored by the method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

from textual.binding import Binding
from textual.content import Content
from textual.events import Click
from textual.message import Message

from engine.records import Basis, BasisItem, Decision, Neighbour
from jitrl_tui import keymap
from jitrl_tui.runs import hits
from jitrl_tui.runs.view import Choice, RunView, signed, steps
from jitrl_tui.system.output import one_line
from jitrl_tui.widgets.lines import ACCENT, BAD, GOOD, HUMAN, MUTED, NAME, STRONG, LinePane, fit, wrap
from jitrl_tui.widgets.pane import How, PaneKind

_EXCERPT = 3
"""Number of lines shown of a text, unless the pane has the whole window."""


@dataclass(frozen=True, slots=True)
class MemoryNotes:
    """What a person tries out, for the pane.

    Attributes:
        edits: A sentence for each change, and how to keep or undo them.
        pinned: Entry numbers of pinned steps.
        influence: By entry number: what the choice would be without the step, in words.
    """

    edits: tuple[str, ...] = ()
    pinned: frozenset[int] = frozenset()
    influence: Mapping[int, str] = field(default_factory=dict)


NO_NOTES = MemoryNotes()


class MemoryPane(LinePane):
    """Remembered steps, one per row, and texts with their origin.

    A row has similarity and G (for a plan: when it is repeated, what it gained, and what is expected of it), then
    action, episode and step, who acted, and the state.
    """

    fills = False
    BINDINGS: ClassVar = [
        Binding("down,j", "move(1)", show=False),
        Binding("up,k", "move(-1)", show=False),
    ]

    class Asked(Message):
        """A key was pressed that concerns what is remembered.

        Attributes:
            what: "open", "forget", "edit", "pin", "influence" or "drop".
            hit: The remembered step under the cursor, None without one.
        """

        def __init__(self, what: str, hit: Neighbour | None) -> None:
            super().__init__()
            self.what, self.hit = what, hit

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self.key_table = keymap.give_keys(self, "memory_pane")
        self.commands = {key.action: partial(self._ask, key.action) for key in self.key_table}
        self.choice: Choice | None = None
        self.entries = 0
        self.whole = False
        self.notes = NO_NOTES
        self._at, self._cursor = 0, False
        self._listed: dict[int, Neighbour] = {}
        self._rows_at: list[tuple[int, Neighbour]] = []

    @property
    def hit(self) -> Neighbour | None:
        """The remembered step under the cursor, None without one."""
        return self._rows_at[min(self._at, len(self._rows_at) - 1)][1] if self._rows_at else None

    def note(self, notes: MemoryNotes) -> None:
        """Show what a person tries out."""
        if notes != self.notes:
            self.notes = notes
            self.renew()

    def look(self, view: RunView, choice: Choice | None, how: How) -> None:
        """Show the basis of this choice. If the pane has the whole window, states are shown in full."""
        entries, whole = view.memory_entries, how.whole
        if (choice, entries, whole) != (self.choice, self.entries, self.whole):
            self.choice, self.entries, self.whole, self._stale = choice, entries, whole, True
        self.rebuild()

    def build(self, width: int, height: int) -> Sequence[Content]:
        """Return the lines, with the row under the cursor reversed where the pane has the focus."""
        self._listed = {}
        lines = [*self._noted(width), *self._lines(width)]
        self._rows_at = [(y, self._listed[id(line)]) for y, line in enumerate(lines) if id(line) in self._listed]
        if self._rows_at and self._cursor:
            y = self._rows_at[min(self._at, len(self._rows_at) - 1)][0]
            lines[y] = Content.styled(fit(lines[y].plain, width), "bold reverse")
        return lines

    def _noted(self, width: int) -> list[Content]:
        """Return what is tried out."""
        return [Content.styled(line, HUMAN) for text in self.notes.edits for line in wrap(text, width)]

    def _kept(self, hit: Neighbour, line: Content) -> Content:
        """Remember which step a line shows."""
        self._listed[id(line)] = hit
        return line

    def action_move(self, by: int) -> None:
        """Move the cursor to another row; without rows, scroll."""
        if not self._rows_at:
            self.scroll_relative(y=by, animate=False)
            return
        self._at = min(max(min(self._at, len(self._rows_at) - 1) + by, 0), len(self._rows_at) - 1)
        y, height = self._rows_at[self._at][0], max(1, self.size.height)
        first = round(self.scroll_y)
        if by < 0 and self._at == 0:
            self.scroll_to(y=0, animate=False)
        elif y < first:
            self.scroll_to(y=y, animate=False)
        elif y >= first + height:
            self.scroll_to(y=y - height + 1, animate=False)
        self.renew()

    def on_click(self, event: Click) -> None:
        """Move the cursor to the clicked row; open the step of the row that has the cursor."""
        at = self.clicked(event)
        row = next((n for n, (y, _) in enumerate(self._rows_at) if at is not None and y == at[1]), None)
        if row is None:
            return
        if row == self._at:
            self._ask("open")
        self._at = row
        self.renew()

    def _ask(self, what: str) -> None:
        """Ask the screen to do something."""
        self.post_message(self.Asked(what, self.hit))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave `escape` to the screen where nothing is tried out."""
        return action != "drop" or bool(self.notes.edits)

    def on_focus(self) -> None:
        """Show the cursor. `has_focus` is not set yet."""
        self._cursor = True
        self.renew()

    def on_blur(self) -> None:
        """Hide the cursor."""
        self._cursor = False
        self.renew()

    def _lines(self, width: int) -> list[Content]:
        """Return headlines and a row for each remembered step."""
        if self.choice is None:
            return [Content.styled(fit(f"{steps(self.entries)} remembered.", width), MUTED)]
        decision = self.choice.decision
        now = wrap(f"Now: {decision.state.text}", width)
        neighbours = decision.update.neighbours if decision.update is not None else ()
        texts = [line for basis in hits.texts(decision) for line in self._texts(basis, width)]
        if not neighbours and not texts:
            lines = wrap(hits.nothing(self.choice, self.entries), width)
            return [
                *(Content.styled(line, MUTED) for line in lines),
                *self._nearest(decision, width),
                *_account(decision, width),
                *(Content.styled(line, MUTED) for line in ("", *now)),
            ]
        top = [*(Content(line) for line in now), Content("")] if self.whole else []
        if not neighbours:
            return [*top, *texts]
        if neighbours[0].ahead >= 0:
            return [*top, *self._planned(decision, neighbours, width), *texts]
        return [*top, *self._rows(neighbours, decision.action, width), *texts]

    def _nearest(self, decision: Decision, width: int) -> list[Content]:
        """Return the remembered step that is the most similar, if none is similar enough and it was looked for."""
        near = self.choice.nearest if self.choice is not None else None
        if near is None or near.step is None:
            return []
        lines = self._rows([near.step], decision.action, width)
        if not self.whole:
            lines += [Content.styled(line, MUTED) for line in wrap(f"There: {near.step.state}", width)]
        return lines

    def _texts(self, basis: Basis, width: int) -> list[Content]:
        """Return a title, and the texts below their origins: their first lines, or all if there is room."""
        lines = [Content.styled(fit(f"{basis.title}:", width), MUTED)]
        for item in basis.items:
            text = wrap(item.text.strip(), max(10, width - 2))
            if not self.whole and len(text) > _EXCERPT:
                text = [*text[: _EXCERPT - 1], fit(text[_EXCERPT - 1] + " …", max(10, width - 2)).rstrip()]
            lines.append(Content.styled(fit(_origin(item), width), NAME))
            lines.extend(Content("  " + line) for line in text)
        return lines

    def _planned(
        self, decision: Decision, neighbours: Sequence[Neighbour], width: int
    ) -> list[Content]:
        """Return the steps that the plan repeats, then other actions taken here."""
        assert self.choice is not None
        plan = hits.repeated(decision)
        others = neighbours[len(plan) :]
        head = f"{hits.headed(plan)}:" if plan else hits.nothing(self.choice, self.entries)
        lines = [*_account(decision, width), *(Content.styled(line, MUTED) for line in wrap(head, width))]
        if plan:
            lines += self._rows(plan, decision.action, width, among=neighbours)
        if others:
            lines += [Content.styled(fit(f"{hits.ALSO}:", width), MUTED)]
            lines += self._rows(
                others, decision.action, width, among=neighbours, named=not plan, planned=False
            )
        return lines

    def _rows(
        self,
        found: Sequence[Neighbour],
        chosen: str,
        width: int,
        *,
        among: Sequence[Neighbour] = (),
        named: bool = True,
        planned: bool = True,
    ) -> list[Content]:
        """Return a row for each remembered step, below the names of the columns if `named`.

        Args:
            among: All rows whose columns must align with these, if there are others.
            planned: Whether to show when the plan repeats them.
        """
        due = any(n.expected for n in among or found)
        size = _action_width(among or found, width - 7 * due)
        first = " sim       G" if found[0].ahead < 0 else "  in    gain" if planned else "        gain"
        second = f"{'expect' if planned else '':>7}" if due else ""
        head = f"{first}{second}  {fit('action', size)} ep/step by"
        state = "    state" if width - size - len(second) > 44 and not self.whole else ""
        state = "    without it" if self.notes.influence and width - size - len(second) > 44 else state
        lines = [Content.styled(fit(head + state, width), MUTED)] if named else []
        used = size + 28 + len(second)
        for neighbour, expected in zip(found, hits.expected(found), strict=True):
            row = _row(
                neighbour, chosen, size, width, excerpt=not self.whole, planned=planned, due=expected if due else None
            )
            if told := self.notes.influence.get(neighbour.entry):
                row = Content.assemble(row[:used], (" " + fit(told, max(0, width - used - 1)), STRONG))
            row = _pinned(row, width) if neighbour.entry in self.notes.pinned else row
            lines.append(self._kept(neighbour, row))
            if self.whole:
                taken = f"{neighbour.taken} for another task: " if neighbour.taken else ""
                text = wrap(taken + neighbour.state, max(10, width - 14))
                lines.extend(Content.styled(" " * 14 + line, MUTED) for line in text)
        return lines


KIND = PaneKind("memory", "memory", lambda: MemoryPane("memory"), "go to the memory hits", "m", "wide", lines=(0, 0),
                advice=True)  # fmt: skip


def _origin(item: BasisItem) -> str:
    weight = "" if item.weight is None else f"  weight {signed(item.weight)}"
    return (item.origin or "of unknown origin") + weight


def _action_width(neighbours: Sequence[Neighbour], width: int) -> int:
    longest = max(len(n.action) for n in neighbours)
    return max(8, min(longest + 1, 30 if width >= 74 else max(12, width - 34)))


def _pinned(row: Content, width: int) -> Content:
    """Return a row with the sign of pinned steps at its beginning."""
    return Content.assemble(("◆", HUMAN), row[1:]).truncate(width)


def _account(decision: Decision, width: int) -> list[Content]:
    """Return what the value of the plan is made of, from the whole to its parts."""
    lines = []
    for number, (amount, what, remark) in enumerate(hits.account(decision)):
        text = wrap(f"{what}{f': {remark}' if remark else ''}", max(10, width - 12))
        for at, line in enumerate(text):
            shown = "" if at else amount if not number else f"  {amount}"
            lines.append(Content.assemble((f"{shown:<10}  ", STRONG), line))
    return lines


def _row(
    neighbour: Neighbour, chosen: str, size: int, width: int, *, excerpt: bool, planned: bool, due: str | None
) -> Content:
    """Return a row; `due` is what is expected of the step, None for a list without that column."""
    human = neighbour.provenance == "human"
    by = "you" if human else "agent" if neighbour.provenance == "agent" else one_line(neighbour.provenance)
    where = f"{neighbour.episode or 'this'}/{neighbour.step + 1}"
    expected = "" if due is None else due.rjust(7)
    used = 14 + len(expected) + size + 14
    shown = fit(neighbour.state, width - used - 1) if excerpt and width - used > 12 else ""
    same = neighbour.action == chosen
    known = neighbour.ahead >= 0
    when = hits.ahead(neighbour).rjust(4) if planned else " " * 4
    sign = when if known else f"{neighbour.similarity:4.2f}"
    worth = neighbour.gain if known else neighbour.g
    number = hits.gain(neighbour) if known else signed(neighbour.g)
    return Content.assemble(
        (f"{sign} ", NAME),
        (number.rjust(7)[-7:], GOOD if worth > 0 else BAD if worth < 0 else MUTED),
        (expected + "  ", ""),
        (fit(neighbour.action, size), ACCENT if same else ""),
        (where.rjust(8), MUTED),
        (f" {by[:5]:<5}", HUMAN if human else MUTED),
        (" " + shown, MUTED),
    )
