"""What the filter of the screen's lines costs: `python -m tests.bench.bench_output`.

Draws the watch screen anew, in one process, with and without the filter in turn.
"""

from __future__ import annotations

import asyncio
import statistics
import time

from tests.tui import stream
from tests.tui.driving import replay_app, until, watch


async def measure(rounds: int = 200) -> dict[bool, list[float]]:
    """Return seconds for each frame, by whether the filter was on."""
    app, _ = replay_app(stream.run(3, 20))
    seconds: dict[bool, list[float]] = {True: [], False: []}
    async with app.run_test(size=(150, 50)) as pilot:
        await until(pilot, lambda: watch(pilot).view.ended)
        for number in range(2 * rounds):
            on = bool(number % 2)
            type(app).get_line_filters = filters(on)  # type: ignore[method-assign]
            for widget in app.screen.query("*"):
                widget._styles_cache.clear()
            began = time.perf_counter()
            app.screen._compositor.render_strips(app.size)
            seconds[on].append(time.perf_counter() - began)
    return seconds


def filters(on: bool):
    """Return a method that gives the app's filters, with or without ours."""
    from textual.app import App

    return lambda self: [*App.get_line_filters(self), *([self._safe_lines] if on else [])]


if __name__ == "__main__":
    found = asyncio.run(measure())
    with_it, without = (statistics.median(found[on]) * 1000 for on in (True, False))
    print(f"a frame of 150x50: {without:.2f} ms without, {with_it:.2f} ms with, ratio {with_it / without:.3f}")
