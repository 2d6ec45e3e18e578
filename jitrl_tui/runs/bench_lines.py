"""The progress of a benchmark as lines: one that changes on a terminal, otherwise one for each cell that ends."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from jitrl_tui.runs.amounts import amount, dollars, duration
from jitrl_tui.runs.view import points
from jitrl_tui.system.output import one_line, rewrite

if TYPE_CHECKING:
    from engine.bench.progress import BenchProgress, CellProgress, RunLimits
    from engine.bench.records import Message

BAR = 24
"""Width of the bar, in cells."""
FRAME = 0.1
"""Shortest time between two drawings of the live line, in seconds."""


def totals(progress: BenchProgress, limits: RunLimits, elapsed: float) -> list[str]:
    """Return the state of a run in short phrases, the most important ones first.

    Args:
        progress: The state of the run.
        limits: What it may cost.
        elapsed: Seconds since it began.
    """
    counts = progress.counts
    rest = "".join(f", {counts[state]} {state}" for state in ("failed", "stopped") if counts[state])
    cells = f"{counts['finished']}/{len(progress.cells)} cells{rest}"
    parts = [cells, f"{progress.episodes_done:,}/{progress.episodes_of:,} episodes"]
    eta = progress.eta
    if not progress.over and eta is not None:
        parts.append(f"{duration(eta)} left")
    if progress.usd != 0 or limits.usd is not None:
        most = f" of {dollars(limits.usd)}" if limits.usd is not None else ""
        parts.append(dollars(progress.usd) + most)
    if progress.tokens or limits.tokens is not None:
        most = f" of {amount(limits.tokens)}" if limits.tokens is not None else ""
        parts.append(f"{amount(progress.tokens)}{most} tokens")
    if limits.minutes is not None:
        parts.append(f"{duration(elapsed)} of {duration(limits.minutes * 60)}")
    return parts


def outcome(one: CellProgress) -> str:
    """Return how a cell ended, in one line."""
    scores = one.scores
    played = f"{one.done} episode{'' if one.done == 1 else 's'}"
    if scores:
        played += f", average {points(round(sum(scores) / len(scores), 1))}, last {points(scores[-1])}"
    what = f"failed: {one.error}" if one.state == "failed" else one.state
    return one_line(f"{one.cell.name}: {what} ({played})")


class BenchLines:
    """Progress of a benchmark on stderr.

    A terminal has one line that is drawn again, with a bar, cells, episodes, remaining time and cost. Otherwise there
    is a line for each cell that ends. Failures, and sentences of workers, have lines of their own in both.

    Args:
        progress: The state of the run. `show` tells it each message.
        limits: What the run may cost.
        quiet: Only failures and sentences of workers are written.
        clock: Returns monotonic time in seconds.
    """

    def __init__(
        self, progress: BenchProgress, limits: RunLimits, *, quiet: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self.progress = progress
        self._limits, self._quiet, self._clock = limits, quiet, clock
        self._live = not quiet and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._began_at = clock()
        self._drawn_at = self._began_at - FRAME

    def show(self, message: Message) -> None:
        """Take a message in, and write what is new."""
        from engine.bench.records import Failed, Finished, Said, Stopped

        before = self.progress.cells[message.cell].said
        self.progress.apply(message)
        one = self.progress.cells[message.cell]
        match message:
            case Said() if message.message != before:
                self._line(f"jitrl: {one_line(f'{message.cell}: {message.message}')}")
            case Failed():
                self._line(f"jitrl: {outcome(one)}")
            case Finished() | Stopped() if not self._live and not self._quiet:
                self._line(" · ".join([outcome(one), *self._totals()]))
        self._draw()

    def close(self) -> None:
        """Clear the line."""
        if self._live:
            rewrite("")

    def _totals(self) -> list[str]:
        return totals(self.progress, self._limits, self._clock() - self._began_at)

    def _line(self, text: str) -> None:
        self.close()
        sys.stderr.write(f"{text}\n")
        self._drawn_at = self._clock() - FRAME  # Draw the live line again below it.

    def _draw(self) -> None:
        if not self._live or self._clock() - self._drawn_at < FRAME:
            return
        self._drawn_at = self._clock()
        progress = self.progress
        filled = min(BAR, BAR * progress.episodes_done // max(1, progress.episodes_of))
        bar = f"[{'#' * filled}{'.' * (BAR - filled)}]"
        width = min(118, shutil.get_terminal_size().columns - 1)
        rewrite("  ".join([bar, *self._totals()])[:width])
