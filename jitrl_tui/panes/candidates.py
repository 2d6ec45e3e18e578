"""The pane of candidates, with their probabilities before and after the update by memory."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.content import Content

from engine import explain, worked
from engine.records import Candidate, Decision, Update
from jitrl_tui import hits
from jitrl_tui.output import one_line
from jitrl_tui.panes.why import why_lines
from jitrl_tui.view import Choice, RunView, percents, signed
from jitrl_tui.widgets.bars import arrow, changed, moved, thin
from jitrl_tui.widgets.lines import ACCENT, BAD, FAINT, GOOD, HUMAN, MUTED, NAME, STRONG, LinePane, fit
from jitrl_tui.widgets.pane import How, PaneKind

Part = str | tuple[str, str]

_FROM, _VALUES = (("from", 7),), (("N", 6), ("Q̂", 7), ("Â", 7))
_LOGIT, _UPDATED = (("conf", 6), ("z", 8)), (("Ã", 8), ("z′", 7))
_ADDED = 8
"""Width in cells of a column that a method adds."""
_ACTION = 18
"""Width in cells for the action in a row with all numbers."""
_LEGEND = "◇z ◆z′ "
_HOW = {"optimistic": "0 opt", "neutral": "0 neu", "prior": "–"}


class CandidatesPane(LinePane):
    """The candidate set C with z and the policy as bars; with an update N, Q, A, z', both policies and the way of z."""

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
            elif hits.says_nothing(decision.update):
                lines.append(_bars_beside(decision, index, width))
            elif tall:
                lines += [_bars_beside(decision, index, width), _tracked(decision, index, width)]
            else:
                lines.append(_probabilities(decision, index, width))
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
    return not hits.says_nothing(decision.update) or decision.prior != decision.posterior


def _columns(decision: Decision) -> list[tuple[str, int]]:
    """Return names and widths of the columns beside the action. From the opinion to z′ they follow the calculation."""
    values, updated = (_VALUES, _UPDATED) if decision.update is not None else ((), ())
    return [*_FROM, *values, *_LOGIT, *updated, *((name, _ADDED) for name, _ in hits.columns(decision))]


def _headline(choice: Choice, width: int) -> Content:
    update = choice.decision.update
    if update is None or hits.says_nothing(update):
        return Content.styled(fit(hits.without_values(choice), width).rstrip(), MUTED)
    seen = explain.shown(update)
    value = f"V̂(s) = {signed(seen.v)} {hits.unit(seen)}, {hits.source(update)}"
    beta = f"β = {update.beta:g}"
    ways = (f"z′ = z + β·Ã,  {beta},  π = softmax z′", f"z′ = z + β·Ã,  {beta}", f"z′ = z + {update.beta:g}·Ã", beta)
    text = next((text for way in ways if cell_len(text := f"{value};  {way}") <= width), value)
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
    """Return a number with as many decimals as it takes to tell it from 0, and no more than six characters."""
    size = abs(value)
    return signed(value, 3 if 0 < size < 0.05 else 2 if size < 100 else 1 if size < 1000 else 0)


def _logit(candidate: Candidate) -> str:
    """Return z; in brackets where it is neutral, because the model gave no opinion."""
    return f"({candidate.z:.2f})" if hits.is_neutral(candidate) else _short(candidate.z)


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
    ]
    update = decision.update
    if update is not None:
        parts += _value_cells(update, index)
    parts += [_opinion(candidate).rjust(6), (_logit(candidate).rjust(8), MUTED if hits.is_neutral(candidate) else "")]
    if update is not None:
        scaled = update.advantage_normalised[index]
        told = worked.number(scaled, worked.places_beside(update.beta)) if _is_valued(update, index) else "–"
        parts.append((told.rjust(8), _tone(scaled)))
        parts.append((_short(update.z_prime[index]).rjust(7), STRONG))
    parts += [_short(values[index]).rjust(_ADDED) for _, values in hits.columns(decision)]
    return Content.assemble(*parts)


def _is_valued(update: Update, index: int) -> bool:
    return update.valuation.how[index] != "prior"


def _count(update: Update, index: int) -> str:
    """Return how often a candidate was tried, or how one was treated that never was."""
    how = update.valuation.how[index]
    return hits.tried(*explain.tried(update, index)) if update.valuation.n[index] else _HOW.get(how, "0")


def _value_cells(update: Update, index: int) -> list[Part]:
    seen, valued = explain.shown(update), _is_valued(update, index)
    advantage = seen.advantage[index]
    return [
        _count(update, index).rjust(6),
        (_short(seen.q[index]) if valued else "–").rjust(7),
        ((_short(advantage) if valued else "–").rjust(7), _tone(update.advantage_normalised[index])),
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


def _track(decision: Decision, index: int, size: int) -> list[Part]:
    """Return where z and z′ of a candidate are between the lowest and the highest logit of all; nothing if z stays.

    With a large beta the probabilities are all 0 or 100 %. The logits still tell how near the candidates are.
    """
    update = decision.update
    if update is None or size < 6:
        return []
    z = [candidate.z for candidate in decision.candidates]
    low, high = min(*z, *update.z_prime), max(*z, *update.z_prime)
    track = moved(z[index], update.z_prime[index], low, high, size)
    tone = GOOD if update.z_prime[index] >= z[index] else BAD
    way = track.strip("·")
    before, _, after = track.partition(way)
    return [(before, FAINT), (way, tone), (after, FAINT)]


def _tracked(decision: Decision, index: int, width: int) -> Content:
    """Return the track of the logits in a line of its own."""
    track = _track(decision, index, width - 3 - len(_LEGEND))
    return Content.assemble((f"   {_LEGEND}", MUTED), *track)


def _bar(decision: Decision, index: int, width: int) -> Content:
    """Return a bar with the probability of a candidate, for decisions without an update."""
    share = decision.posterior[index]
    bar, rest = thin(share, max(3, width - 9))
    return Content.assemble(
        (f"   {share:4.0%} ", MUTED), (bar, ACCENT if index == decision.chosen else NAME), (rest, FAINT)
    )


def _probabilities(decision: Decision, index: int, width: int) -> Content:
    """Return the probabilities before and after, with the track of the logits: one line for both."""
    before, after = decision.prior[index], decision.posterior[index]
    said: list[Part] = [(f"   π {before:4.0%}", MUTED), f" → {after:4.0%}", _change(decision, index)]
    room = width - 24 - len(_LEGEND)
    track = ((_LEGEND, MUTED), *_track(decision, index, room)) if room > 5 else ()
    return Content.assemble(*said, *track)


def _bars_beside(decision: Decision, index: int, width: int) -> Content:
    before, after = decision.prior[index], decision.posterior[index]
    size = max(3, (width - 26) // 2)
    bar, rest = thin(before, size)
    return Content.assemble(
        (f"   π {before:4.0%} ", MUTED), (bar, NAME), (rest, FAINT), f" → {after:4.0%} ",
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
        rows = [Content(fit(f"  z {_short(candidate.z)}{own}", width))]
    elif not _is_valued(update, index):
        rows = [Content(fit(f"  z {_logit(candidate)}, nothing remembered{own}", width))]
    else:
        tone = _tone(update.advantage_normalised[index])
        values, result = _sums(update, candidate, index)
        whole = f"{values}{result}{own}"
        texts = [whole] if cell_len(whole) <= width else [values, f"{result}{own}"]
        rows = [Content.styled(fit(text, width), tone) for text in texts]
    last = _bar if not _moved(decision) else _bars_beside if hits.says_nothing(update) else _probabilities
    return [head, *rows, last(decision, index, width)]


def _sums(update: Update, candidate: Candidate, index: int) -> tuple[str, str]:
    """Return the calculations of the advantage and of z′ for narrow rows."""
    seen, count = explain.shown(update), _count(update, index)
    q, v, a = worked.difference(seen.q[index], seen.v)
    by, after = update.advantage_normalised[index], update.z_prime[index]
    z, scaled, z_prime = worked.moved(candidate.z, update.beta, by, after)
    return (
        f"  N {count}  Q̂ {q} − V̂ {v} = Â {a}",
        f"  z {_logit(candidate) if hits.is_neutral(candidate) else z} + {update.beta:g}·Ã {scaled} = z′ {z_prime}",
    )
