"""The window of a remembered step: its episode around it, and what can be done with it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.content import Content

from engine.jitrl import discounted_returns, own_returns
from engine.memory.corrections import describe
from engine.memory.disk.document import FORGOTTEN
from engine.memory.search import Correction
from engine.records import Episode
from jitrl_tui.command_table import Key
from jitrl_tui.runs.view import points, signed, signed_points
from jitrl_tui.screens.command_screen import CommandDialog
from jitrl_tui.screens.dialogs import FieldDialog
from jitrl_tui.widgets.clickable import KeyBar
from jitrl_tui.widgets.lines import ACCENT, BAD, GOOD, MUTED, Lines, fit, wrap

if TYPE_CHECKING:
    from engine.memory.scope import Scope

HINTS = {
    "g": "Its return G, in place of the computed one. Other steps keep theirs.",
    "gain": "The points that plans expect of it, in place of those that the game gave.",
}
"""By field of a correction, what a person is asked for."""
AROUND = 8
"""Steps of the episode that are shown before the step and after it."""


def with_number(known: Correction, field: str, value: float) -> Correction:
    """Return a correction with another number.

    Args:
        field: One of `HINTS`.
    """
    return replace(known, g=value) if field == "g" else replace(known, gain=value)


@dataclass(frozen=True, slots=True)
class HitDetails:
    """A remembered step with its episode.

    Attributes:
        episode: The episode that it is of.
        step: Its index in the episode.
        returns: The return of each step of the episode, without corrections.
        remarks: Sentences about the step.
    """

    episode: Episode
    step: int
    returns: tuple[float, ...]
    remarks: tuple[str, ...]


def about_step(scope: Scope, entry: int, gamma: float, zero_rewards: str) -> HitDetails | None:
    """Return what the window of a step shows; None if the step is no longer in memory."""
    found = scope.located(entry)
    if found is None:
        return None
    episode, step = found
    rewards = [one.reward for one in episode.steps]
    computed = own_returns if zero_rewards == "own" else discounted_returns
    remarks = [f"Entry {entry}: {outcome(episode)}."]
    known = scope.corrections().get(entry)
    if known is not None and known != Correction():
        remarks.append(f"Edited by a person: {describe(known)}.")
    return HitDetails(episode, step, tuple(map(float, computed(rewards, gamma))), tuple(remarks))


def _around(about: HitDetails, width: int) -> list[Content]:
    """Return what is told of a step, and the episode around it."""
    lines = [Content.styled(line, MUTED) for text in about.remarks for line in wrap(text, width)]
    lines += [Content(""), Content.styled(fit("  step  points       G  action", width), MUTED)]
    steps, here = about.episode.steps, about.step
    for at in range(max(0, here - AROUND), min(len(steps), here + AROUND + 1)):
        step = steps[at]
        action = "(forgotten)" if step.provenance == FORGOTTEN else step.action
        mark = "▸" if at == here else " "
        gain = signed_points(step.env_reward) if step.env_reward else "·"
        head = f"{mark} {at + 1:>4}  {gain:>6}  {signed(about.returns[at]):>6}  {action}"
        tone = GOOD if step.env_reward > 0 else BAD if step.env_reward < 0 else ""
        lines.append(Content.styled(fit(head, width), ACCENT if at == here else tone))
        if at == here or step.state.place:
            text = step.state.text if at == here else step.state.place
            shown = wrap(text, max(10, width - 24)) if at == here else [fit(text, max(10, width - 24))]
            lines += [Content.styled(" " * 24 + line, MUTED) for line in shown]
    return lines


class HitDialog(CommandDialog[str]):
    """A remembered step and its episode around it. The answer is what to do with the step.

    Args:
        about: The step.
        replayable: Whether a recording of the episode is at hand.
    """

    screen_name = "hit"

    def __init__(self, about: HitDetails, *, replayable: bool) -> None:
        super().__init__(classes="-page")
        self._about, self._replayable = about, replayable
        self.commands = {
            "edit": lambda: self.dismiss("edit"), "pin": lambda: self.dismiss("pin"),
            "forget": lambda: self.dismiss("forget"), "replay": self._replay, "leave": lambda: self.dismiss(None),
        }  # fmt: skip

    def compose(self) -> ComposeResult:
        """Lay out the episode and the keys."""
        episode, step = self._about.episode, self._about.step
        with self.box(f"remembered: episode {episode.number}, step {step + 1} of {len(episode.steps)}"):
            yield Lines("around", lambda width: _around(self._about, width))
        yield KeyBar("keybar")

    def keys_now(self) -> Sequence[Key]:
        """Return the keys that do something now."""
        return [key for key in self.key_table if self._replayable or key.action != "replay"]

    def on_mount(self) -> None:
        """Put the step in sight."""
        pane = self.query_one(Lines)
        pane.focus()
        self.call_after_refresh(lambda: pane.scroll_to(y=max(0, pane.virtual_size.height // 3 - 4), animate=False))

    def _replay(self) -> None:
        """Replay the episode, if there is a recording."""
        if self._replayable:
            self.dismiss("replay")
        else:
            self.notify("No recording of this episode is among the sessions.", severity="warning")


class NumberDialog(FieldDialog[float]):
    """Asks for a number.

    Args:
        title: Title of the box.
        hint: What the number is.
        value: The present one.
        wrong: Returns what is wrong with a number, "" for nothing.
    """

    def __init__(self, title: str, hint: str, value: float, wrong: Callable[[float], str] = lambda number: "") -> None:
        def read(text: str) -> tuple[float, str]:
            try:
                number = float(text.strip().replace("\N{MINUS SIGN}", "-"))
            except ValueError:
                number = math.nan
            if not math.isfinite(number) or abs(number) > 1e9:
                return number, f"That is not a number: {text.strip()[:40]}"
            return number, wrong(number)

        super().__init__(title, hint, f"{value:.4g}", read)


def outcome(episode: Episode) -> str:
    """Return how an episode ended, in words."""
    limit = f" of {points(episode.max_score)}" if episode.max_score else ""
    end = {"won": "won", "lost": "lost"}.get(episode.outcome, "ended" if episode.terminated else "cut off")
    return f"score {points(episode.score)}{limit}, {end} after {len(episode.steps)} steps, by {episode.agent}"
