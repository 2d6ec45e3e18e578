"""The pane of candidates, with their probabilities before and after the update by memory."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.content import Content

from engine.records import Candidate, Decision, Update
from jitrl_tui import hits
from jitrl_tui.output import one_line
from jitrl_tui.panes.why import why_lines
from jitrl_tui.view import Choice, RunView, percents, signed
from jitrl_tui.widgets.bars import arrow, changed, thin
from jitrl_tui.widgets.lines import ACCENT, BAD, FAINT, GOOD, HUMAN, MUTED, NAME, STRONG, LinePane, fit
from jitrl_tui.widgets.pane import How, PaneKind

Part = str | tuple[str, str]

_PRIOR = (("from", 7), ("conf", 6), ("z", 7))
_UPDATE = (("N", 6), ("Q̂", 7), ("Â", 7), ("Ã", 7), ("z′", 7))
_ADDED = 8
"""Width in cells of a column that a method adds."""
_ACTION = 21
"""Width in cells for the action in a row with all numbers."""
_HOW = {"optimistic": "0 opt", "neutral": "0 neu", "prior": "–"}


class CandidatesPane(LinePane):
    """The candidate set C with z and the policy as bars; N, Q, A, z' and both policies where there is an update."""

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self.choice: Choice | None = None
        self.with_why = False

    def look(self, view: RunView, choice: Choice | None, how: How) -> None:
        """Show this choice. Reasons are added if their pane is not visible."""
        if choice is not self.choice or how.alone != self.with_why:
            self.choice, self.with_why = choice, how.alone
            self._stale = True
        self.rebuild()

    def build(self, width: int, height: int) -> Sequence[Content]:
        """Return the table. The number of rows per candidate depends on width and height."""
        if self.choice is None:
            return [Content.styled("No decision yet.", MUTED)]
        decision = self.choice.decision
        tall = 3 * len(decision.candidates) + 2 <= height - (4 if self.with_why else 0)
        lines = [_headline(self.choice, width)]
        table = width >= sum(size for _, size in _columns(decision)) + _ACTION
        if table:
            lines.append(_column_heads(decision, width))
        for index in hits.ordered(decision):
            if not table:
                lines.extend(_narrow_rows(decision, index, width))
                continue
            lines.append(_numbers_row(decision, index, width))
            if not _moved(decision):
                lines.append(_bar(decision, index, width))
            elif tall:
                lines.extend(_bars_stacked(decision, index, width))
            else:
                lines.append(_bars_beside(decision, index, width))
        if decision.chosen < 0:
            text = fit(f"▸ {decision.action}", max(4, width - 18))
            lines.append(Content.assemble((text, HUMAN), ("  typed by you", MUTED)))
        if self.with_why:
            why = why_lines(self.choice, width, brief=True)
            if len(lines) + 1 + len(why) <= height:
                lines.append(Content(""))
            lines.extend(why)
        return lines


KIND = PaneKind("candidates", "candidates", lambda: CandidatesPane("candidates"), letter="c", place="beside",
                lines=(10, 14))  # fmt: skip


def _moved(decision: Decision) -> bool:
    """Return whether there is a policy before and one after."""
    return decision.update is not None or decision.prior != decision.posterior


def _columns(decision: Decision) -> list[tuple[str, int]]:
    """Return names and widths of the columns beside the action."""
    update = _UPDATE if decision.update is not None else ()
    return [*_PRIOR, *update, *((name, _ADDED) for name, _ in hits.columns(decision))]


def _headline(choice: Choice, width: int) -> Content:
    update = choice.decision.update
    if update is None or hits.says_nothing(update):
        return Content.styled(fit(hits.without_values(choice), width).rstrip(), MUTED)
    value, beta = (
        f"V̂(s) = {signed(update.valuation.v)} from {hits.source(update)}",
        f"β = {update.beta:g}",
    )
    text = f"{value};  z′ = z + β·Ã,  {beta}"
    if cell_len(text) > width:
        text = f"{value};  {beta}"
    return Content.styled(fit(text, width).rstrip(), MUTED)


def _column_heads(decision: Decision, width: int) -> Content:
    columns = _columns(decision)
    action = fit("  action", width - sum(size for _, size in columns))
    scored = any(c.logprob is not None for c in decision.candidates)
    names = [("ln p" if scored and name == "conf" else name, size) for name, size in columns]
    heads = "".join(" " * (size - cell_len(name)) + name for name, size in _fitting(names))
    return Content.styled(action + heads, MUTED)


def _fitting(names: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return names of columns that leave a gap before them."""
    return [(fit(name, size - 1).strip() if cell_len(name) >= size else one_line(name), size) for name, size in names]


def _mark(decision: Decision, index: int) -> tuple[str, str]:
    """Return the sign before a candidate and the style of its name."""
    if index == decision.chosen:
        return "▸ ", HUMAN if decision.provenance == "human" else ACCENT
    if decision.candidates[index].action in decision.vetoed:
        return "✗ ", MUTED
    update = decision.update
    if update is not None and decision.candidates[index].action == update.without_memory:
        return "○ ", STRONG
    return "  ", STRONG


def _short(value: float) -> str:
    return signed(value, 2 if abs(value) < 100 else 1 if abs(value) < 1000 else 0)


def _opinion(candidate: Candidate) -> str:
    """Return the source of the logit: a confidence, or a log-likelihood."""
    if candidate.confidence is not None:
        return f"{candidate.confidence:.0f}"
    return "–" if candidate.logprob is None else signed(candidate.logprob)


def _tone(value: float) -> str:
    return GOOD if value >= 0.005 else BAD if value <= -0.005 else MUTED


def _numbers_row(decision: Decision, index: int, width: int) -> Content:
    candidate = decision.candidates[index]
    mark, style = _mark(decision, index)
    numbers = sum(size for _, size in _columns(decision))
    parts: list[Part] = [
        (mark + fit(candidate.action, width - numbers - 2), style),
        (one_line(candidate.source)[:6].rjust(7), MUTED),
        _opinion(candidate).rjust(6),
        _short(candidate.z).rjust(7),
    ]
    if decision.update is not None:
        parts += _update_cells(decision.update, index)
    parts += [_short(values[index]).rjust(_ADDED) for _, values in hits.columns(decision)]
    return Content.assemble(*parts)


def _update_cells(update: Update, index: int) -> list[Part]:
    value, advantage = update.valuation, update.advantage[index]
    known = value.how[index] != "prior"
    number = str(value.n[index]) if value.how[index] == "known" else _HOW.get(value.how[index], "")
    return [
        number.rjust(6),
        (_short(value.q[index]) if known else "–").rjust(7),
        ((_short(advantage) if known else "–").rjust(7), _tone(advantage)),
        ((_short(update.advantage_normalised[index]) if known else "–").rjust(7), _tone(advantage)),
        (_short(update.z_prime[index]).rjust(7), STRONG),
    ]


def _change(decision: Decision, index: int) -> Part:
    before, after = decision.prior[index], decision.posterior[index]
    sign = arrow(before, after)
    text = f" {sign} {signed(percents(before, after), 0)}" if sign != "=" else " =  0"
    return (text.ljust(7), {"▲": GOOD, "▼": BAD}.get(sign, MUTED))


def _after_bar(decision: Decision, index: int, size: int) -> list[Part]:
    before, after = decision.prior[index], decision.posterior[index]
    kept, moved, rest = changed(before, after, size)
    return [
        (kept, ACCENT if index == decision.chosen else NAME),
        (moved, GOOD if after >= before else BAD),
        (rest, FAINT),
        _change(decision, index),
    ]


def _bars_stacked(decision: Decision, index: int, width: int) -> list[Content]:
    before, after = decision.prior[index], decision.posterior[index]
    size = max(4, width - 34)
    bar, rest = thin(before, size)
    z, z_prime = _short(decision.candidates[index].z), ""
    if decision.update is not None:
        z_prime = _short(decision.update.z_prime[index])
    return [
        Content.assemble((f"   before z  {z:>7} {before:5.0%} ", MUTED), (bar, NAME), (rest, FAINT)),
        Content.assemble(
            f"   after  {'z′' if z_prime else '  '} {z_prime:>7} {after:5.0%} ",
            *_after_bar(decision, index, size),
        ),
    ]


def _bar(decision: Decision, index: int, width: int) -> Content:
    """Return a bar with the probability of a candidate, for decisions without an update."""
    share = decision.posterior[index]
    bar, rest = thin(share, max(3, width - 9))
    return Content.assemble(
        (f"   {share:4.0%} ", MUTED), (bar, ACCENT if index == decision.chosen else NAME), (rest, FAINT)
    )


def _bars_beside(decision: Decision, index: int, width: int) -> Content:
    before, after = decision.prior[index], decision.posterior[index]
    size = max(3, (width - 24) // 2)
    bar, rest = thin(before, size)
    return Content.assemble(
        (f"   {before:4.0%} ", MUTED), (bar, NAME), (rest, FAINT), f" → {after:4.0%} ",
        *_after_bar(decision, index, size),
    )  # fmt: skip


def _narrow_rows(decision: Decision, index: int, width: int) -> list[Content]:
    candidate, update = decision.candidates[index], decision.update
    mark, style = _mark(decision, index)
    note = one_line(candidate.source)
    if candidate.confidence is not None:
        note = f"{note} {candidate.confidence:.0f}"
    head = Content.assemble(
        (mark + fit(candidate.action, max(4, width - len(note) - 4)), style), (f"  {note}", MUTED)
    )
    own = "".join(f"  {name} {_short(values[index])}" for name, values in hits.columns(decision))
    if update is None:
        row = Content(fit(f"  z {_short(candidate.z)}{own}", width))
    elif update.valuation.how[index] == "prior":
        row = Content(fit(f"  z {_short(candidate.z)}, nothing remembered{own}", width))
    else:
        row = Content.styled(fit(f"{_sum(update, candidate, index)}{own}", width),
                             _tone(update.advantage_normalised[index]))  # fmt: skip
    bars = _bars_beside if _moved(decision) else _bar
    return [head, row, bars(decision, index, width)]


def _sum(update: Update, candidate: Candidate, index: int) -> str:
    """Return the calculation of z' for a narrow row."""
    value = update.valuation
    count = f"N {value.n[index]}" if value.n[index] else _HOW.get(value.how[index], "0")
    return (
        f"  z {_short(candidate.z)} + β·Ã {_short(update.advantage_normalised[index])} = "
        f"{_short(update.z_prime[index])}"
        f"  {count}  Q̂ {_short(value.q[index])} Â {_short(update.advantage[index])}"
    )
