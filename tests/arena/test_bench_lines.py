"""Progress of a benchmark as lines on stderr."""

from __future__ import annotations

import io
import sys

import pytest

from engine.bench.progress import BenchProgress, RunLimits
from engine.bench.records import Began, CellStepped, Ended, Failed, Finished, Said, Stopped
from jitrl_tui.runs.amounts import duration
from jitrl_tui.runs.bench_lines import BenchLines
from tests.arena import bench_stream as bench
from tests.tui.hostile import HOSTILE, dangers

PLAN = [bench.cell("zork1-jitrl-1", episodes=2), bench.cell("zork1-static-1", "static", episodes=2)]


class Terminal(io.StringIO):
    """Stands for stderr."""

    def __init__(self, tty: bool) -> None:
        super().__init__()
        self.tty = tty

    def isatty(self) -> bool:
        return self.tty

    def flush(self) -> None:
        """There is nothing to flush."""


@pytest.fixture
def shown(monkeypatch):
    """Return what is written for messages."""

    def write(messages, *, tty=False, quiet=False, limits=None, columns=120, clock=None, plan=PLAN) -> str:
        stream = Terminal(tty)
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", str(columns))
        ticks = iter(range(100_000))
        progress, clock = BenchProgress(plan), clock or (lambda: next(ticks))
        lines = BenchLines(progress, limits or RunLimits(), quiet=quiet, clock=clock)
        for message in messages:
            lines.show(message)
        lines.close()
        return stream.getvalue()

    return write


def played(name: str, scores, usd: float = 0.0) -> list:
    ended = [Ended(name, 0, n, s, None, 10, int(usd * 1e6), usd, 60.0) for n, s in enumerate(scores, 1)]
    return [Began(name), CellStepped(name, 0, 1, 1, 0.0, "wait"), *ended, Finished(name)]


def test_without_a_terminal_each_cell_that_ends_has_a_line(shown):
    messages = [*played("zork1-jitrl-1", [10, 25], 0.01), Began("zork1-static-1"), Stopped("zork1-static-1")]
    text = shown(messages, limits=RunLimits(usd=2.0))
    assert text.splitlines() == [
        "zork1-jitrl-1: finished (2 episodes, average 17.5, last 25) · 1/2 cells · 2/4 episodes · 2 min 00 s left"
        " · $0.02 of $2.00 · 20,000 tokens",
        "zork1-static-1: stopped (0 episodes) · 1/2 cells, 1 stopped · 2/4 episodes · $0.02 of $2.00 · 20,000 tokens",
    ]
    assert shown(messages, quiet=True) == ""


def test_failures_and_sentences_are_told_in_lines_of_their_own_even_if_quiet(shown):
    name = "zork1-jitrl-1"
    messages = [Began(name), Said(name, "rate limit"), Said(name, "rate limit"), Failed(name, "no key", 3)]
    for quiet in (False, True):
        assert shown(messages, quiet=quiet).splitlines() == [
            "jitrl: zork1-jitrl-1: rate limit",
            "jitrl: zork1-jitrl-1: failed: no key (0 episodes)",
        ]


def test_a_terminal_has_one_line_that_is_cleared_at_the_end(shown):
    text = shown([*played("zork1-jitrl-1", [10, 25]), Failed("zork1-static-1", "no key")], tty=True)
    drawn = text.split("\r\x1b[K")
    assert drawn[-1] == ""
    assert drawn[1] == "[" + "." * 24 + "]  0/2 cells  0/4 episodes"
    assert "[############............]  1/2 cells  2/4 episodes  2 min 00 s left" in drawn
    assert "jitrl: zork1-static-1: failed: no key (0 episodes)\n" in drawn
    assert [part for part in drawn if "\n" in part] == ["jitrl: zork1-static-1: failed: no key (0 episodes)\n"]


def test_the_live_line_keeps_to_the_width_and_to_a_few_drawings_per_second(shown):
    now = [0.0]

    def clock() -> float:
        now[0] += 0.001
        return now[0]

    plan = bench.cells(episodes=3)
    messages = [m for m in bench.run(plan) if not isinstance(m, Said)]
    text = shown(messages, tty=True, columns=40, clock=clock, plan=plan)
    drawn = text.split("\r\x1b[K")
    assert max(map(len, drawn)) == 39
    assert len(drawn) < now[0] * 10 + 3


def test_a_limit_of_minutes_is_shown_with_the_time_that_has_passed(shown):
    now = iter([0.0, *[90.0] * 9])
    limits = RunLimits(tokens=250_000, minutes=120)
    text = shown(played("zork1-jitrl-1", [1])[-1:], limits=limits, clock=lambda: next(now))
    assert text.endswith(" · 0 of 250k tokens · 1 min 30 s of 2 h 00 min\n")


def test_hostile_names_and_sentences_cannot_drive_the_terminal(shown):
    name = f"x{HOSTILE}"
    messages = [Said(name, HOSTILE), Failed(name, f"{HOSTILE}\n{HOSTILE}"), Finished(name)]
    for tty in (False, True):
        text = shown(messages, tty=tty, plan=[bench.cell(name)])
        assert "PWNED" in text
        assert dangers(text.replace("\r\x1b[K", ""), "\n") == []


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (59.4, "59 s"), (59.6, "1 min 00 s"), (599, "9 min 59 s"), (600, "10 min"), (3600, "1 h 00 min"),
     (7500, "2 h 05 min"), (172_800, "2 d 00 h")],
)  # fmt: skip
def test_durations(seconds, text):
    assert duration(seconds) == text
