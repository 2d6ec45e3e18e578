"""Render a moment of a made-up benchmark as SVG: `python -m tests.tui.bench_screenshots --size 140x45 --out x.svg`.

`--at` is a share of the run's messages (0 to 1), `--keys` are pressed before the picture is taken, `--theme` is any
theme of the app, `--cells` is how many seeds each arm has on each task.
"""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from engine.bench.progress import RunLimits
from jitrl_tui.run_apps import BenchApp
from jitrl_tui.runs.bench_source import BenchInfo
from tests.arena import bench_stream as bench
from tests.tui.bench_driving import ScriptedBench
from tests.tui.driving import settled, until

ARMS = ("jitrl", "static", "memory", "reflexion", "jitrl, no exploration")
TASKS = ("zork1", "library", "web:miniwob/click-checkboxes-large")


def picture(width: int, height: int, *, theme: str = "", at: float = 0.5, keys: str = "", seeds: int = 3) -> str:
    """Return the SVG of one moment."""
    plan = bench.cells(ARMS, TASKS, seeds, 12)
    messages = list(bench.run(plan, 4, [plan[1].name, plan[6].name]))
    messages = messages[: round(at * len(messages))]
    info = BenchInfo("paper-table-2", "Table 2 of the paper", plan, 4, RunLimits(usd=5.0, minutes=90))
    source = ScriptedBench(info, messages, ends=at >= 1)
    app = BenchApp(source)

    async def take() -> str:
        async with app.run_test(size=(width, height)) as pilot:
            if theme:
                app.theme = theme
            await until(pilot, lambda: source.told and not len(app.screen.feed.inbox), 60)
            await pilot.pause(0.3)
            for key in keys.split():
                await pilot.press(key)
            await settled(pilot)
            return app.export_screenshot(title=f"jitrl, {width} × {height}")

    return asyncio.run(take())


def main() -> None:
    """Take one picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", default="140x45")
    parser.add_argument("--theme", default="")
    parser.add_argument("--at", type=float, default=0.5)
    parser.add_argument("--keys", default="", help="Textual's names, with spaces between")
    parser.add_argument("--cells", type=int, default=3)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    width, height = map(int, args.size.split("x"))
    svg = picture(width, height, theme=args.theme, at=args.at, keys=args.keys, seeds=args.cells)
    args.out.write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
