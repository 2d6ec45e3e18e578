"""The pane of candidates, with their probabilities before and after the update by memory."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.content import Content
from textual.events import Click

from engine import explain, worked
from engine.records import Decision, Update
from jitrl_tui.panes.why import why_lines
from jitrl_tui.runs import hits
from jitrl_tui.runs.view import Choice, RunView, percents, signed
from jitrl_tui.system.output import one_line
from jitrl_tui.widgets.lines import ACCENT, BAD, FAINT, GOOD, HUMAN, MUTED, NAME, STRONG, LinePane, fit, wrap
from jitrl_tui.widgets.pane import ActionClicked, How, PaneKind
from jitrl_tui.widgets.plots import arrow, bar_parts, move_track, thin

Part = str | tuple[str, str]

_ACTION = 18
"""Least width in cells for an action that has its values in the same line."""
_TRACK = "◇z ◆z′ ┤z+β "
_HOW = {"optimistic": "0 opt", "neutral": "0 neu", "prior": "–"}


class CandidatesPane(LinePane):
    """The candidate set C with z and the policy as bars; with an update N, Q, A, z′, both policies and the way of z."""

    fills = False

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self._actions: list[str] = []
        """The action of each line, "" for lines of none."""
        self.choice: Choice | None = None
        self.with_why = False
        self._most = 0

    def look(self, view: RunView, choice: Choice | None, how: How) -> None:
        """Show this choice. Reasons are added if their pane is not visible."""
        if choice is not self.choice or (how.alone, how.most) != (self.with_why, self._most):
            self.choice, self.with_why, self._most = choice, how.alone, how.most
            self._stale = True
        self.rebuild()

    def build(self, width: int, height: int) -> Sequence[Content]:
        """Return the chain of each candidate, with as many bars as there is room for."""
        if self.choice is None:
            return [Content.styled("No decision yet.", MUTED)]
        decision = self.choice.decision
        lines = [_headline(self.choice, width)]
        room = (self._most or height) - 1 - (4 if self.with_why else 0)
        names, chains = _names(decision, width), _chains(decision, width)
        used = sum(map(len, (*names, *chains)))
        bars = 2 if used + 2 * len(names) <= room else 1
        self._actions = [""]
        for index in hits.display_order(decision):
            lines += [*names[index], *chains[index], *_bars(decision, index, width, bars)]
            self._actions += [decision.candidates[index].action] * (len(lines) - len(self._actions))
        if decision.chosen < 0:
            text = fit(f"▸ {decision.action}", max(4, width - 18))
            lines.append(Content.assemble((text, HUMAN), ("  typed by you", MUTED)))
        if self.with_why:
            why = why_lines(self.choice, width, brief=True)
            if len(lines) + 1 + len(why) <= height:
                lines.append(Content(""))
            lines.extend(why)
        return lines

    def on_click(self, event: Click) -> None:
        """Tell which candidate was clicked."""
        at = self.clicked(event)
        if at is not None and at[1] < len(self._actions) and self._actions[at[1]]:
            self.post_message(ActionClicked(self._actions[at[1]]))


KIND = PaneKind("candidates", "candidates", lambda: CandidatesPane("candidates"), letter="c", place="beside",
                lines=(10, 14), advice=True)  # fmt: skip


def _moved(decision: Decision) -> bool:
    """Return whether there is a policy before and one after."""
    return not hits.says_nothing(decision.update) or decision.prior != decision.posterior


def _headline(choice: Choice, width: int) -> Content:
    update = choice.decision.update
    if update is None or hits.says_nothing(update):
        return Content.styled(fit(hits.without_values(choice), width).rstrip(), MUTED)
    seen = explain.shown_values(update)
    value = f"V̂(s) = {signed(seen.v)} {hits.unit(seen)}, {hits.source(update)}"
    beta = f"β = {update.beta:g}"
    ways = (f"z′ = z + β·Ã,  {beta},  π = softmax z′", f"z′ = z + β·Ã,  {beta}", f"z′ = z + {update.beta:g}·Ã", beta)
    text = next((text for way in ways if cell_len(text := f"{value};  {way}") <= width), value)
    return Content.styled(fit(text, width).rstrip(), MUTED)


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


def _opinion(decision: Decision, index: int) -> str:
    """Return what the model said of a candidate: a confidence, or a log-likelihood; "" if it says neither of any."""
    candidate = decision.candidates[index]
    if candidate.confidence is not None:
        return f"conf {candidate.confidence:.0f}"
    if candidate.logprob is not None:
        return f"ln p {signed(candidate.logprob)}"
    if any(one.logprob is not None for one in decision.candidates):
        return "ln p –"
    return "conf –" if any(one.confidence is not None for one in decision.candidates) else ""


def _tone(value: float) -> str:
    return GOOD if value >= 0.005 else BAD if value <= -0.005 else MUTED


def _names(decision: Decision, width: int) -> list[list[Content]]:
    """Return action, source and values of each candidate: in one line if all have the room for it, else in more."""
    update = decision.update
    sources = [one_line(candidate.source)[:6] for candidate in decision.candidates]
    labels = []
    for index in range(len(sources)):
        text = _values(update, index) if update is not None and _is_valued(update, index) else ""
        own = (f"  {one_line(name)} {_short(values[index])}" for name, values in hits.columns(decision))
        labels.append(text + "".join(own))
    most = max((cell_len(source + text) for source, text in zip(sources, labels, strict=True)), default=0)
    beside = width - most >= _ACTION + 4
    found = []
    for index, (source, text) in enumerate(zip(sources, labels, strict=True)):
        mark, style = _mark(decision, index)
        tone = _tone(update.advantage_normalised[index]) if update is not None else ""
        below = [] if beside else [Content.styled(f"  {line}", tone) for line in wrap(text.strip(), width - 2) if line]
        text = text if beside else ""
        room = max(4, width - cell_len(source + text) - 4)
        action = fit(decision.candidates[index].action, room)
        found.append([Content.assemble((mark + action, style), (f"  {source}", MUTED), (text, tone)), *below])
    return found


def _is_valued(update: Update, index: int) -> bool:
    return update.valuation.how[index] != "prior"


def _count(update: Update, index: int) -> str:
    """Return how often a candidate was tried, or how one was treated that never was."""
    how = update.valuation.how[index]
    return hits.try_count(*explain.try_counts(update, index)) if update.valuation.n[index] else _HOW.get(how, "0")


def _values(update: Update, index: int) -> str:
    """Return how often a candidate was tried, and the calculation of its advantage."""
    seen = explain.shown_values(update)
    q, v, a = worked.difference(seen.q[index], seen.v)
    return f"  N {_count(update, index)}  Q̂ {q} − V̂ {v} = Â {a}"


def _chains(decision: Decision, width: int) -> list[list[Content]]:
    """Return the way from the model's opinion to the new logit for each candidate, from left to right.

    Parts of the same kind stand below each other. Lines that are too long are broken between two parts.
    """
    rows = [_chain(decision, index) for index in range(len(decision.candidates))]
    sizes = [max(cell_len(text) for text, _ in column) for column in zip(*rows, strict=True)]
    found = []
    for row in rows:
        lines: list[list[Part]] = [[" "]]
        used = 1
        for at, ((text, style), size) in enumerate(zip(row, sizes, strict=True)):
            joint = " → " if at else " "
            if used + len(joint) + size > width:
                lines.append([" "])
                used = 1
            lines[-1] += [(joint, MUTED), (_justified(text, size), style)]
            used += len(joint) + size
        found.append([Content.assemble(*line) for line in lines])
    return found


def _justified(text: str, size: int) -> str:
    """Return a name and a number with so much space between them that they fill `size` cells."""
    name, gap, number = text.rpartition(" ")
    return name + gap + " " * (size - cell_len(text)) + number


def _chain(decision: Decision, index: int) -> list[tuple[str, str]]:
    """Return the parts of the chain of a candidate, each with its style."""
    candidate, update = decision.candidates[index], decision.update
    z, scaled, z_prime = signed(candidate.z), "", ""
    if update is not None:
        z, scaled, z_prime = worked.write_sum(
            candidate.z, update.beta, update.advantage_normalised[index], update.z_prime[index]
        )
    shown = (f"z ({candidate.z:.2f})", MUTED) if hits.is_neutral(candidate) else (f"z {z}", "")
    said = _opinion(decision, index)
    parts = [(said, MUTED), shown] if said else [shown]
    if update is not None and not hits.says_nothing(update):
        tone = _tone(update.advantage_normalised[index])
        parts += [(f"+{update.beta:g}·Ã {scaled}", tone), (f"z′ {z_prime}", STRONG)]
    return parts


def _change(decision: Decision, index: int) -> tuple[str, str]:
    before, after = decision.prior[index], decision.posterior[index]
    sign = arrow(before, after)
    text = f" {sign} {signed(percents(before, after), 0)}" if sign != "=" else " =  0"
    return (text.ljust(7), {"▲": GOOD, "▼": BAD}.get(sign, MUTED))


def _track(decision: Decision, index: int, size: int) -> list[Part]:
    """Return where z and z′ of a candidate are between the lowest and the highest logit of all; nothing if z stays.

    With a large beta the probabilities are all 0 or 100 %. The logits still tell how near the candidates are.
    """
    update = decision.update
    if update is None or size < 6:
        return []
    z = [candidate.z for candidate in decision.candidates]
    caps = [value + update.beta for value in z]
    low, high = min(*z, *update.z_prime), max(*z, *update.z_prime, *caps)
    track = move_track(z[index], update.z_prime[index], low, high, size, cap=caps[index])
    tone = GOOD if update.z_prime[index] >= z[index] else BAD
    way = track.strip("·┤")
    before, _, after = track.partition(way)
    return [(before, FAINT), (way, tone), (after, FAINT)]


def _bars(decision: Decision, index: int, width: int, most: int) -> list[Content]:
    """Return the end of the chain, the probabilities, with their bars; and the track of the logits if there is room.

    With a large beta all probabilities may be 0 or 100 %. Then the track takes the place of their bars.
    """
    before, after = decision.prior[index], decision.posterior[index]
    style = ACCENT if index == decision.chosen else NAME
    if not _moved(decision):
        bar, rest = thin(after, max(3, width - 10))
        return [Content.assemble(("  → ", MUTED), f"{after:4.0%} ", (bar, style), (rest, FAINT))]
    valued = not hits.says_nothing(decision.update)
    said: list[Part] = [("  → ", MUTED), f"{before:4.0%} "]
    if valued and most == 1 and all(share < 0.005 or share >= 0.995 for share in decision.posterior):
        room = width - 24 - len(_TRACK)
        track = [(_TRACK, MUTED), *_track(decision, index, room)] if room > 5 else []
        return [Content.assemble(*said, ("→ ", MUTED), f"{after:4.0%}", _change(decision, index), *track)]
    size = max(3, (width - 24) // 2)
    bar, rest = thin(before, size)
    kept, change, empty = bar_parts(before, after, size)
    shares = Content.assemble(
        *said, (bar, NAME), (rest, FAINT), (" → ", MUTED), f"{after:4.0%} ",
        (kept, style), (change, GOOD if after >= before else BAD), (empty, FAINT), _change(decision, index),
    )  # fmt: skip
    if not valued or most == 1:
        return [shares]
    return [shares, Content.assemble((f"  {_TRACK}", MUTED), *_track(decision, index, width - 2 - len(_TRACK)))]
