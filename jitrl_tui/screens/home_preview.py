"""What is shown of the marked session beside the list of the home screen."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from textual.content import Content

from engine.environments import kind_of
from engine.errors import JitrlError
from engine.records import Stepped
from engine.settings import differences
from jitrl_tui.facts import last_steps
from jitrl_tui.offer import SessionRow
from jitrl_tui.output import one_line
from jitrl_tui.view import points, signed
from jitrl_tui.widgets.lines import ACCENT, BAD, GOOD, MUTED, STRONG, LinePane, wrap
from jitrl_tui.widgets.plots import score_plot

_STEPS = 40
"""Most steps that are read."""
_PLOT = 9
"""Rows of the curve."""


class Preview(LinePane):
    """A session: how it is played, its scores, and the end of its transcript."""

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self._row: SessionRow | None = None
        self._steps: Sequence[Stepped] = ()

    def show(self, row: SessionRow | None) -> None:
        """Show a session, None for nothing."""
        if row == self._row:
            return
        self._row = row
        self._steps = last_steps(row.saved.recording, _STEPS) if row is not None else ()
        self.scroll_home(animate=False)
        self.renew()

    def build(self, width: int, height: int) -> Sequence[Content]:
        """Return the lines: facts and curve, then as many of the last steps as fit."""
        if self._row is None:
            return []
        lines = [line for text in _facts(self._row) for line in wrap(text, width)]
        lines = [Content.styled(lines[0], STRONG), *map(Content, lines[1:])]
        if scores := self._row.facts.scores:
            lines += [Content(""), *score_plot(scores, self._row.saved.config.episodes, width, _PLOT)]
        steps: list[Content] = []
        for step in reversed(self._steps):
            told = _told(step, width)
            if steps and len(lines) + len(steps) + len(told) > height:
                break
            steps = [*told, *steps]
        return [*lines, Content(""), *steps]


def _facts(row: SessionRow) -> list[str]:
    """Return sentences about a session. The first one is its name."""
    config, facts, origin = row.saved.config, row.facts, row.saved.origin
    found = [row.saved.name, f"{config.agent} with {config.model}, profile {config.profile}, seed {config.seed}"]
    found.append("the game's shared memory" if config.memory == "shared" else "a memory of its own")
    if origin is not None:
        found.append(f"branched from {origin.session}, episode {origin.episode}, after {origin.step} steps")
    with contextlib.suppress(JitrlError):  # a profile, or a kind of environment, that is not here any more
        usual = kind_of(config.game).profile(config.profile)
        if changed := differences(usual, config.settings):
            found.append("settings: " + ", ".join(f"{name}={now}" for name, (_, now) in changed.items()))
    top = f" of {points(facts.max_score)}" if facts.max_score is not None else ""
    best = f", best score {points(facts.best)}{top}" if facts.best is not None else ""
    return [*found, f"{len(facts.scores)} of {config.episodes} episodes played{best}"]


def _told(step: Stepped, width: int) -> list[Content]:
    """Return a command, its points, and the beginning of the answer."""
    gained = f"  {signed(step.reward)}" if step.reward else ""
    lines = [Content.assemble((f"> {one_line(step.action)}", ACCENT), (gained, GOOD if step.reward > 0 else BAD))]
    answer = wrap(" ".join(one_line(step.observation.text).split()), max(8, width - 2))[:2]
    return [*lines, *(Content.styled(f"  {line}", MUTED) for line in answer)]
