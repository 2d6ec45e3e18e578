"""Clumsy input: random keys, pastes, clicks and resizes on the home, play, watch and replay screens and their windows.

    python -m tests.bench.clumsy [EVENTS] [--seed 1]

A round is one screen with some hundred events. It survives if the app runs on or ends in good order, no crash is
written down, the recording has every step in order, and no step was taken in a calm round, which has no key that asks
for one. Keys that leave the screen are left out, because a round ends with them. Ends with `N survived, M lost`; exits
with 1 if any was lost. `run` does the same for the whole soak.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from textual import events
from textual.pilot import Pilot
from textual.widgets import Input

from engine.records import EpisodeStarted, Stepped, TakenBack
from engine.session import recording
from engine.session import store as sessions
from engine.settings import SessionConfig, Settings
from jitrl_tui.app import JitrlApp, _watch, home_screen
from jitrl_tui.replay import ReplaySource
from jitrl_tui.screens.watch import WatchScreen
from jitrl_tui.session_files import SessionFiles
from tests.tui import stream

Tell = Callable[[str], None]
EVENTS = 20_000
ROUND = 250
"""Events of a round."""
SCREENS = ("play", "watch", "replay", "home")
ASKING = ("enter", "space", "n", "o", "f", "a", "x", "U", "E", "u", "g", "b", "c")
"""Keys that may lead to a step, alone or in a window that they open."""
KEYS = (
    *"abcdefgijklmnoprstuvwxyzEGHLMNTUV0123456789/?-=+,.[]'", "enter", "space", "tab", "shift+tab", "escape", "up",
    "down", "left", "right", "home", "end", "pageup", "pagedown", "delete", "backspace", "f1", "f2", "f5", "ctrl+u",
    "ctrl+w", "ctrl+a", "ctrl+k", "ctrl+e",
)  # fmt: skip
PASTES = ("take pork chop", "x" * 3000, "line one\nline two\r\nline three", "\x1b[31mred\x07", "/help", "",
          "go north\n", "[b]markup[/b]", "ünï \U0001f600 かな")  # fmt: skip
SIZES = ((80, 24), (140, 45), (200, 60), (100, 26), (60, 18), (30, 8), (1, 1), (300, 100))


async def clumsy(pilot: Pilot[int], rng: random.Random, count: int, calm: bool) -> None:
    """Do so many random things.

    Args:
        calm: Leave out what may ask for a step.
    """
    app = pilot.app
    for _ in range(count):
        if not app.is_running or app._exit:
            return
        typing = isinstance(app.focused, Input)
        match rng.choices(("key", "paste", "click", "resize"), (80, 6, 10, 4))[0]:
            case "key":
                key = rng.choice(KEYS)
                if not (calm and (key == "enter" or (key in ASKING and not typing))):
                    await pilot.press(key)
            case "paste":
                text = rng.choice(PASTES)
                app.post_message(events.Paste(text))
            case "click" if not calm:
                width, height = app.size
                with contextlib.suppress(Exception):  # the pilot refuses what is outside of a window that shrinks
                    await pilot.click(offset=(rng.randrange(max(1, width)), rng.randrange(max(1, height))))
            case "resize":
                await pilot.resize_terminal(*rng.choice(SIZES))
            case _:
                pass


def checked(path: Path) -> int:
    """Return the number of steps in a recording.

    Raises:
        AssertionError: One is missing, or is not where it belongs.
    """
    steps = taken = 0
    for _, event in recording.read(path):
        match event:
            case EpisodeStarted():
                steps = 0
            case Stepped():
                assert event.step == steps, f"step {event.step} follows {steps} steps"
                steps, taken = steps + 1, taken + 1
            case TakenBack():
                steps = event.step
            case _:
                pass
    return taken


async def round_of(name: str, calm: bool, rng: random.Random, saves: Path, count: int) -> None:
    """Do one round on a screen."""
    config = SessionConfig(
        game="pantry", agent="jitrl", model="prior/uniform", settings=Settings(step_limit=12), episodes=2
    )
    saved = sessions.create(saves, config, name if name in ("play", "watch") else "run")
    if name == "home":
        app = JitrlApp(lambda: home_screen(saves, None), saves=saves)
    elif name == "replay":
        source = ReplaySource(lambda: stream.recorded(stream.run(3, 10)), delay=0.1, paused=calm)
        app = JitrlApp(lambda: WatchScreen(source, delay=0.1, files=SessionFiles.recorded(saved.folder)))
    else:
        app = JitrlApp(lambda: _watch(saved, saves), saves=saves)
    async with app.run_test(size=rng.choice(SIZES[:3]), notifications=True) as pilot:
        await pilot.pause()
        screen = app.watching
        if screen is not None and name != "replay":
            screen.source.pause()
            for _ in range(3000):
                if screen.view.activity == "paused" and screen.view.pending:
                    break
                await pilot.pause(0.01)
        before = checked(saved.recording) if saved.recording.is_file() else 0
        await clumsy(pilot, rng, count, calm)
        await pilot.pause(0.1)
        if calm and saved.recording.is_file():
            after = checked(saved.recording)
            assert after == before, f"{after - before} steps that nobody asked for"
        source = app.last_source
        if app.is_running:
            app.exit(0)
        if source is not None:
            source.stop()
            assert await asyncio.to_thread(source.wait, 30), "the session did not end"
    for folder in (saves / "sessions").iterdir():
        if (folder / recording.FILE_NAME).is_file():
            checked(folder / recording.FILE_NAME)
    crashes = list((saves / "log").glob("*crash*")) if (saves / "log").is_dir() else []
    assert not crashes, crashes[0].read_text(encoding="utf-8", errors="replace")[-3000:]


def run(tell: Tell, *, inputs: int = EVENTS, seed: int = 1) -> tuple[int, int]:
    """Do all rounds; return how many survived and how many were lost."""
    survived = lost = 0
    for number in range(max(1, inputs // ROUND)):
        name, calm = SCREENS[number % len(SCREENS)], number // len(SCREENS) % 2 == 0
        rng = random.Random(f"{seed} {number}")
        with tempfile.TemporaryDirectory(prefix="jitrl-clumsy-") as folder, contextlib.chdir(folder):
            try:
                work = round_of(name, calm and name != "home", rng, Path(folder) / "saves", min(inputs, ROUND))
                asyncio.run(asyncio.wait_for(work, 600))
                survived += 1
            except Exception:
                lost += 1
                how = "calm" if calm else "wild"
                tell(f"clumsy: round {number} on {name}, {how}: {traceback.format_exc(limit=-6)}")
    tell(f"clumsy: {survived + lost} rounds of {ROUND} events")
    return survived, lost


def main(argv: Sequence[str] | None = None) -> int:
    """Run the rounds and print the count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("events", type=int, nargs="?", default=EVENTS)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(argv)
    survived, lost = run(lambda told: print(told, file=sys.stderr, flush=True), inputs=args.events, seed=args.seed)
    print(f"{survived} survived, {lost} lost")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
