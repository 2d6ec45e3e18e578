"""What another process plays, as lines on stdout: one session, or the cells of a benchmark."""

from __future__ import annotations

import signal
import sys
import threading
from typing import Any, TextIO

from engine.bench.follower import FollowedRun
from engine.bench.progress import BenchProgress
from engine.bench.records import Failed, Finished, Said, Stopped
from engine.bench.run_events import RunBegan, RunOver
from jitrl_tui.plain.event_lines import EventLines
from jitrl_tui.preferences import current
from jitrl_tui.runs.bench_lines import outcome, totals
from jitrl_tui.runs.bench_source import FollowedBench
from jitrl_tui.runs.follower import FollowSource, Reach
from jitrl_tui.runs.source import Inbox, InThread
from jitrl_tui.runs.view import RunView
from jitrl_tui.system import shutdown
from jitrl_tui.system.output import one_line

_LOOK_S = 0.2


def follow_session(reach: Reach) -> int:
    """Print what a session tells until it ends; return the exit code."""
    source = FollowSource(reach.open, current().value("app.hold_s"), ends=True)
    output = EventLines(sys.stdout, play=False)
    output.say("Following, read-only. Ctrl-C leaves; the session goes on.")

    def take(item: Any) -> None:
        if isinstance(item, RunView):
            output.jump(item)
        else:
            output.take_in(item)

    code = _follow(source, take)
    sign = source.sign
    if not code and output.view.ended is None and sign is not None:
        output.say(f"Its process is gone: {sign.place.as_text()}. What was played is kept.")
        return 1
    return code


def follow_run(run: FollowedRun) -> int:
    """Print what the cells of a run tell until it ends; return the exit code."""
    source = FollowedBench(run, ends=True)
    lines = _RunLines(sys.stdout, source)
    lines.say(f"{source.info.name}: {len(run.cells)} cells. Following, read-only; Ctrl-C leaves, and the run goes on.")
    code = _follow(source, lines.take)
    if not code and not lines.over:
        lines.say(f"{source.sign.lstrip('■ ')}; go on with: jitrl bench resume {source.info.name}")
        return 1
    return code


class _RunLines:
    """Prints a line for each cell that ends, and for what workers say.

    Args:
        out: Where lines go.
        source: The run.

    Attributes:
        over: Whether the run has ended.
    """

    def __init__(self, out: TextIO, source: FollowedBench) -> None:
        self.over = False
        self._out, self._source = out, source
        self._progress = BenchProgress(source.info.cells)

    def say(self, text: str) -> None:
        """Print a line."""
        self._out.write(f"{one_line(text)}\n")
        self._out.flush()

    def take(self, item: Any) -> None:
        """Take in what the run tells, and print it."""
        if isinstance(item, RunBegan):
            self._progress, self.over = BenchProgress(self._source.info.cells, item.jobs), False
            self.say(f"played on {item.place.as_text()}, {item.jobs} at a time")
            return
        if isinstance(item, RunOver):
            self.over = True
            self.say(" · ".join([item.message or "the run has ended", *totals(self._progress, self._limits, 0.0)]))
            return
        before = self._progress.cells[item.cell].said
        self._progress.apply(item)
        if isinstance(item, Said) and item.message != before:
            self.say(f"{item.cell}: {item.message}")
        elif isinstance(item, (Finished, Failed, Stopped)):
            parts = [outcome(self._progress.cells[item.cell]), *totals(self._progress, self._limits, 0.0)]
            self.say(" · ".join(parts))

    @property
    def _limits(self) -> Any:
        from engine.bench.progress import RunLimits

        known = self._source.info.limits
        return RunLimits(known.usd, known.tokens)  # How long it has taken is not told here.


def _follow(source: InThread, take: Any) -> int:
    """Give what a source tells to `take` until it ends; return the exit code."""
    arrived = threading.Event()
    inbox = Inbox(arrived.set)

    def asked(*_: object) -> None:
        raise KeyboardInterrupt

    def closed() -> None:
        shutdown.end_within(1.0)
        source.stop()

    handlers = {signal.SIGTERM: asked, signal.SIGHUP: asked}
    with shutdown.handle_signals(handlers), shutdown.when_closed([sys.stdout], closed):
        source.start(inbox)
        try:
            while True:
                over = source.wait(0)
                for item in inbox.drain(1 << 30):
                    take(item)
                if over:
                    return source.exit_code
                arrived.wait(_LOOK_S)
                arrived.clear()
        except KeyboardInterrupt:
            return 130
        finally:
            source.stop()
