"""The two status lines at the top, with the state and the activity of the run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget

from engine import explain
from engine.records import SessionStarted
from engine.session.account import neighbours_found
from jitrl_tui.runs import steer_texts
from jitrl_tui.runs.amounts import amount, dollars
from jitrl_tui.runs.view import BEGINNING, RunView, points
from jitrl_tui.system.output import one_line
from jitrl_tui.widgets.lines import ACCENT, BAD, FAINT, GOOD, HUMAN, MUTED, NAME, STRONG, fit
from jitrl_tui.widgets.plots import thick

_GAP = " · "
_READINGS = {"verbalized": "confidences", "token": "token logits", "string": "likelihoods"}
"""Words for the readings of models."""


@dataclass(frozen=True, slots=True)
class Mode:
    """State of the screen that is not in the view.

    Attributes:
        waited: Whole seconds since the present work began.
        hurry: Last episode of a fast-forward, 0 if there is none. `hurry_from` is its first.
        looking_back: Whether an earlier decision is displayed.
        recording: Whether a recording is played back.
        asks: When the session asks before a step, "" for never.
        following: How a session of another process is shown, "" for one of this process.
        yours: Whether a person plays, and it is their turn.
        lever: The setting that keys change, with its value, "" if none was changed.
    """

    waited: int = 0
    delay: float = 1.0
    hurry: int = 0
    hurry_from: int = 0
    looking_back: bool = False
    recording: bool = False
    leaving: str = ""
    asks: str = ""
    following: str = ""
    lever: str = ""
    yours: bool = False


class StatusBar(Widget):
    """Shows game, place, score, step; episode, model, method, answers, tokens, cost, memory; and the activity."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self._view, self._mode = RunView(), Mode()
        self._drawn = Content("")

    def show(self, view: RunView, mode: Mode) -> None:
        """Draw the present state."""
        self._view, self._mode = view, mode
        if not self._drawn.is_same(self._both_lines()):
            self.refresh()

    def render(self) -> Content:
        """Return both lines."""
        self._drawn = self._both_lines()
        return self._drawn

    def _both_lines(self) -> Content:
        """Return both lines. Less important parts are left out if the width is too small."""
        width = self.size.width
        state = self._state()
        first = _fitted(self._first(), width - state.cell_length - 2)
        gap = " " * max(1, width - first.cell_length - state.cell_length)
        top = Content.assemble(first, gap, state).truncate(width)
        return Content("\n").join([top, _fitted(self._second(width), width)])

    def _first(self) -> list[tuple[int, str, str]]:
        view = self._view
        if view.pages:
            return self._first_of_web()
        started, seen = view.started, view.seen
        title = started.environment.title or started.environment.name if started else "jitrl"
        parts = [(0, title, STRONG)]
        if seen is not None:
            if seen.place:
                parts.append((3, seen.place, ""))
            top = f"/{points(view.max_score)}" if view.max_score else ""
            parts.append((0, f"score {points(seen.score)}{top}", GOOD if seen.score > 0 else STRONG))
        if started is not None and view.episode:
            parts.append((0, f"step {view.step}/{started.steps}", ""))
        return parts

    def _first_of_web(self) -> list[tuple[int, str, str]]:
        view, started, page = self._view, self._view.started, self._view.pages[-1]
        name = started.environment.name if started else "web"
        reward = view.seen.score if view.seen is not None else 0.0
        top = f"/{points(view.max_score)}" if view.max_score else ""
        url = page.url.removeprefix("http://")
        parts = [(0, name, STRONG), (1, fit(url, max(12, self.size.width // 4)).rstrip(), NAME)]
        parts.append((0, f"reward {points(reward)}{top}", GOOD if reward > 0 else STRONG))
        if started is not None:
            parts.append((0, f"step {view.step}/{started.steps}", ""))
        return parts

    def _second(self, width: int) -> list[tuple[int, str, str]]:
        """Return the parts of the second line, in the longest form with which no important part is left out."""
        if self._view.started is None:
            return []
        settings, agent = self._view.started.settings, self._view.started.agent
        whole, short = explain.method(settings, agent), explain.method_in_short(settings, agent)
        middle = whole.removeprefix("values: ").partition(",")[0]
        for method, provider, needed in (
            (whole, True, 9), (middle, True, 9), (whole, True, 4), (middle, True, 4), (whole, True, 2),
            (middle, True, 2), (middle, False, 2), (short, True, 2), (short, False, 2),
        ):  # fmt: skip
            parts = self._all_parts(self._view.started, method, provider=provider)
            if _length([part for part in parts if part[0] <= needed]) <= width:
                return parts
        return self._all_parts(self._view.started, short, provider=True)

    def _all_parts(self, started: SessionStarted, method: str, *, provider: bool) -> list[tuple[int, str, str]]:
        """Return all parts of the second line.

        Args:
            method: Source of values.
            provider: Whether to name the provider of the model.
        """
        view = self._view
        model = started.model
        if not provider and not model.startswith(("local", "prior")):
            model = model.rpartition("/")[2]
        task = view.pages[-1].task if view.pages else ""
        tally, average = view.tally, view.average
        missing = f"{tally.missing} of {tally.asked} answers missing" if tally.missing else ""
        room = max(16, self.size.width // 2 - len(missing) - 3) if missing else max(20, self.size.width // 2)
        parts = [
            (int(bool(missing)), fit(task, room).rstrip(), ""),
            (0, f"episode {view.episode}/{started.episodes}{view.in_memory}", STRONG),
            (4, started.agent, MUTED),
            (1, model, MUTED),
            (2, _READINGS.get(started.reading, started.reading), MUTED),
            (0, method, MUTED),
            (0, self._mode.lever, HUMAN),
            (0, missing, BAD),
            (0, self._at_random(), BAD),
            (4, f"{amount(view.tokens)} tokens" if view.counted else "", MUTED),
            (3, dollars(view.cost_usd) if view.counted else "", MUTED),
            (int(bool(missing)), f"{view.memory_entries:,} remembered", MUTED),
            (3, neighbours_found(tally), MUTED),
            (4, "" if average is None
             else f"average {points(round(average, 1))}, best {points(view.best or 0)}", MUTED),
            (5, f"{view.flips} choice{'s' if view.flips != 1 else ''} changed by JitRL" if view.flips else "",
             MUTED),
        ]  # fmt: skip
        return [part for part in parts if part[1]]

    def _at_random(self) -> str:
        """Return how many actions were drawn at random, and whether the present one was."""
        count, choice = self._view.tally.random, self._view.choice
        if not count:
            return ""
        now = choice is not None and bool(steer_texts.drawn_at_random(choice.decision))
        return f"drawn at random {count}×{', also now' if now else ''}"

    def _state(self) -> Content:
        view, mode = self._view, self._mode
        speed = f"{mode.delay:g} s a step" if mode.delay else "full speed"
        if mode.leaving:
            return Content.styled(mode.leaving, HUMAN)
        if view.error:
            return Content.styled("■ stopped by an error", BAD)
        if mode.looking_back:
            return Content.styled("◂ looking back", HUMAN)
        if view.activity == "ended":
            return Content.styled("■ finished" if view.ended and view.ended.finished else "■ stopped", STRONG)
        if view.activity == "waiting":
            text = view.doing if self.size.width >= 100 else view.doing.replace("next try in ", "")
            return Content.styled(f"‖ {text}", HUMAN)
        if mode.hurry and view.episode and view.activity != "paused":
            return self._hurrying()
        if view.activity == "paused" and view.asks:
            return Content.styled("‖ ASKS YOU", HUMAN)
        if view.activity == "paused" and mode.yours:
            return Content.styled("▸ YOUR TURN", HUMAN)
        if view.activity == "paused":
            return Content.styled(
                "‖ PAUSED" + (" at the end" if view.doing.startswith("end of") else ""), HUMAN
            )
        # Each step and each episode has such work, so it is shown only if it takes a while.
        usual = view.doing in ("thinking", BEGINNING) and mode.waited < 1
        if view.activity in ("thinking", "starting") and not usual:
            long = f" {mode.waited} s" if mode.waited >= 2 else ""
            return Content.assemble((f"… {view.doing or 'thinking'}{long}", ACCENT))
        handed = view.choice.decision.reason if view.choice is not None else ""
        if handed.startswith("handed over") and not mode.recording:
            return Content.styled(f"» {handed.partition(' at breakpoint ')[0]}", ACCENT)
        if mode.following:
            return Content.styled(f"◉ {mode.following}", GOOD)
        if mode.asks:
            return Content.styled(f"▸ running, {mode.asks}", GOOD)
        if mode.recording:
            return Content.styled(f"▸ replay, {speed}", GOOD)
        return Content.styled(f"▸ running, {speed}", GOOD)

    def _hurrying(self) -> Content:
        view, mode = self._view, self._mode
        total = max(1, mode.hurry - mode.hurry_from + 1)
        steps = view.started.steps if view.started else 60
        done = (view.episode - mode.hurry_from + min(view.step / max(1, steps), 1.0)) / total
        bar, rest = thick(done, 10)
        count = f" {min(view.episode - mode.hurry_from + 1, total)} of {total}" if total > 1 else ""
        return Content.assemble((f"» fast-forward{count} ", ACCENT), (bar, ACCENT), (rest, FAINT))


def _length(parts: Sequence[tuple[int, str, str]]) -> int:
    return sum(cell_len(text) for _, text, _ in parts) + len(_GAP) * (len(parts) - 1)


def _fitted(parts: Sequence[tuple[int, str, str]], width: int) -> Content:
    """Join parts. Those with the highest number are left out first until the rest fits."""
    kept = list(parts)
    while kept:
        content = Content(_GAP).join([Content.styled(one_line(text), style) for _, text, style in kept])
        worst = max(part[0] for part in kept)
        if content.cell_length <= width or worst == 0:
            return content.truncate(max(1, width), ellipsis=True)
        index = max(i for i, part in enumerate(kept) if part[0] == worst)
        del kept[index]
    return Content("")
