"""Render a moment of a recording as SVG: `python -m tests.tui.screenshots FILE --size 140x45 --out x.svg`.

The pictures of the docs are made by `tests.tui.pictures`.

Without a file, a made-up run is shown. `--at` is a share of the recording (0 to 1), `--keys` are pressed
before the picture is taken, `--theme` is any theme of the app.
"""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from engine.session import recording
from engine.web.browser.pages import PageStore
from jitrl_tui.app import JitrlApp
from jitrl_tui.runs.replay import ReplaySource
from jitrl_tui.screens.watch import WatchScreen
from tests.tui import stream
from tests.tui.driving import settled, until


def picture(
    file: Path | None, width: int, height: int, *, theme: str = "", at: float = 1.0, keys: str = ""
) -> str:
    """Return the SVG of one moment."""

    def read():
        return recording.read(file) if file else stream.recorded(stream.run(12, 20, planned=20))

    source = ReplaySource(read, delay=0.0, paused=True)
    pages = PageStore(file if file.is_dir() else file.parent) if file else None
    app = JitrlApp(lambda: WatchScreen(source, delay=1.0, pages=pages))

    async def take() -> str:
        async with app.run_test(size=(width, height)) as pilot:
            if theme:
                app.theme = theme
            screen = app.watching
            assert screen is not None
            await until(pilot, lambda: screen.view.activity == "paused", 60)
            source.seek_to(at)
            await until(pilot, lambda: source.progress[0] == round(at * (source.progress[1] - 1)) + 1, 60)
            await settled(pilot)
            for key in keys.split():
                await pilot.press(key)
            await settled(pilot)
            return app.export_screenshot(title=f"jitrl, {width} × {height}")

    return asyncio.run(take())


def main() -> None:
    """Take one picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--size", default="140x45")
    parser.add_argument("--theme", default="")
    parser.add_argument("--at", type=float, default=0.9)
    parser.add_argument("--keys", default="", help="Textual's names, with spaces between")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    width, height = map(int, args.size.split("x"))
    svg = picture(args.file, width, height, theme=args.theme, at=args.at, keys=args.keys)
    args.out.write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
