"""Clumsy input: random keys, pastes, clicks and resizes on the home, play, watch and replay screens and their windows.

    python -m tests.bench.clumsy [EVENTS] [--seed 1]

A round is one screen with some hundred events, on a memory of three episodes. Among them are gestures: forgets, edits,
pins and other trials of remembered steps, which are dropped, undone or kept; the memory screen; lists that are filtered
by typing. A round survives if the app runs on or ends in good order, no crash is written down, no banner stands without
work behind it, the recording has every step in order, and no step was taken in a calm round, which has no key that asks
for one. Keys that leave the screen are left out, because a round ends with them. Ends with the numbers of rounds,
crashes and frozen banners; exits with 1 if any round was lost. `run` does the same for the whole soak.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from textual import events
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input, Static

from engine.records import EpisodeStarted, Stepped, TakenBack
from engine.session import recording
from engine.session import store as sessions
from engine.session.loop import Session
from engine.settings import SessionConfig, Settings
from jitrl_tui.app import JitrlApp, _watch, home_screen
from jitrl_tui.runs.replay import ReplaySource
from jitrl_tui.runs.session_files import SessionFiles
from jitrl_tui.screens.watch import WatchScreen
from jitrl_tui.system.background import Background

Tell = Callable[[str], None]
EVENTS = 20_000
ROUND = 250
"""Events of a round."""
SCREENS = ("play", "watch", "replay", "home")
ASKING = ("enter", "space", "full_stop", "o", "f", "a", "x", "U", "E", "u", "g", "b", "c")
"""Keys that may lead to a step, alone or in a window that they open."""
KEYS = (
    *"abcdefgijklmnoprstuvwxyzEGHKLMNSTUVX0123456789/?-=+,[]'", "full_stop", "enter", "space", "tab", "shift+tab",
    "escape", "up", "down", "left", "right", "home", "end", "pageup", "pagedown", "delete", "backspace", "f1", "f2",
    "f5", "ctrl+u", "ctrl+w", "ctrl+a", "ctrl+k", "ctrl+e",
)  # fmt: skip
PASTES = ("take pork chop", "x" * 3000, "line one\nline two\r\nline three", "\x1b[31mred\x07", "/help", "",
          "go north\n", "[b]markup[/b]", "ünï \U0001f600 かな")  # fmt: skip
TRIALS = (
    ("m", "down", "delete"), ("m", "x", "x", "backspace"), ("m", "equals_sign", *"25", "enter"), ("m", "p", "i"),
    ("m", "delete", "escape"), ("m", "v", "equals_sign", "7", "enter"), ("m", "delete", "S"),
    ("m", "equals_sign", "-", "3", "enter", "S"), ("r", "delete", "S"), ("r", "down", "plus", "5", "enter", "S"),
    ("r", "p", "backspace", "escape"), ("r", "U", "escape"),
    ("r", "slash", *"take", "enter", "I", "escape", "escape"), ("K", "right", "right", "escape"),
    ("m", "left", "delete", "right"), ("slash", *"the", "enter", "n", "n"),
)  # fmt: skip
"""Gestures on what is remembered, and searches. None takes a step."""
PICKS = (
    ("o", *"take", "enter"), ("o", *"sing loudly", "ctrl+o"), ("o", *"zucc", "down", "enter"),
    ("x", *"ent", "enter", *"1.2", "enter"), ("x", "enter", "escape"), ("f", "1", "enter"), ("s", *"here", "enter"),
    ("b", "down", "escape"), ("g", "escape"), ("ctrl+p", *"theme", "enter"), ("V", "enter"),
    ("o", "7", "tab", "escape"),
)  # fmt: skip
"""Gestures on lists that are filtered by typing. They may take steps."""
PATIENCE_S = 60.0
"""Seconds after which a banner counts as frozen."""
SIZES = ((80, 24), (140, 45), (200, 60), (100, 26), (60, 18), (30, 8), (1, 1), (300, 100))


async def clumsy(pilot: Pilot[int], rng: random.Random, count: int, calm: bool) -> None:
    """Do so many random things.

    Args:
        calm: Leave out what may ask for a step.
    """
    app = pilot.app
    done = 0
    while done < count:
        if not app.is_running or app._exit:
            return
        done += 1
        typing = isinstance(app.focused, Input)
        match rng.choices(("key", "gesture", "paste", "click", "resize"), (75, 6, 5, 10, 4))[0]:
            case "gesture":
                done += await gesture(pilot, rng, calm)
            case "key":
                key = rng.choice(KEYS)
                if not (calm and (key == "enter" or (key in ASKING and not typing))):
                    await pilot.press(key)
            case "paste":
                text = rng.choice(PASTES)
                lines = "\n" in text.replace("\r", "\n")  # each line of a pasted text is entered
                if not (calm and lines):
                    app.post_message(events.Paste(text))
            case "click" if not calm:
                width, height = app.size
                with contextlib.suppress(Exception):  # the pilot refuses what is outside of a window that shrinks
                    await pilot.click(offset=(rng.randrange(max(1, width)), rng.randrange(max(1, height))))
            case "resize":
                await pilot.resize_terminal(*rng.choice(SIZES))
            case _:
                pass


async def gesture(pilot: Pilot[int], rng: random.Random, calm: bool) -> int:
    """Do one gesture, out of any window and of the command line; return the number of its keys."""
    app = pilot.app
    keys = ("escape", "escape", "f2", *rng.choice(TRIALS if calm else (*TRIALS, *PICKS)))
    for at, key in enumerate(keys):
        in_window = len(app.screen_stack) > 2
        if not app.is_running or app._exit or (calm and key in ASKING and key != "x" and not in_window):
            return at
        await pilot.press(key)
        if rng.random() < 0.7:
            await ended(pilot)
    return len(keys)


class Frozen(AssertionError):
    """A banner stands without work behind it."""


def working(app: App[Any]) -> list[Background]:
    """Return the work that is going on behind all screens."""
    holders = [holder for screen in app.screen_stack for holder in (screen, getattr(screen, "memory_trial", None))]
    found = [getattr(holder, name, None) for holder in holders for name in ("work", "_work")]
    return [work for work in found if isinstance(work, Background) and work.busy]


async def ended(pilot: Pilot[int]) -> None:
    """Wait until the work in the background has ended.

    Raises:
        Frozen: It does not end.
    """
    app, end = pilot.app, time.monotonic() + PATIENCE_S
    while app.is_running and not app._exit and (works := working(app)):
        if time.monotonic() > end:
            raise Frozen(f"work does not end: {works[0].progress_text}")
        await pilot.pause(0.01)


async def thawed(pilot: Pilot[int]) -> None:
    """Check that the banner says what is so, once nothing is going on in the background.

    Raises:
        Frozen: It stands without work behind it.
    """
    await ended(pilot)
    app, end = pilot.app, time.monotonic() + PATIENCE_S
    screen = app.watching
    while app.is_running and not app._exit and screen is not None and screen.is_mounted:
        shown, now = str(screen.query_one("#banner", Static).content), screen.memory_trial.banner or screen.banner()
        if shown == now and "\N{HORIZONTAL ELLIPSIS}" not in screen.memory_trial.banner:
            return
        if time.monotonic() > end:
            raise Frozen(f"the banner says {shown!r}; right would be {now!r}")
        await pilot.pause(0.05)


def remembered(folder: Path) -> Path:
    """Play three episodes, and return the saves folder with their memory."""
    config = SessionConfig(
        game="pantry", agent="jitrl", model="prior/uniform", settings=Settings(step_limit=12), episodes=3
    )
    Session(sessions.create(folder, config, "run"), folder, lambda event: None).run()
    return folder


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
    """Do one round on a screen. The saves folder has one session, which is over, and its memory."""
    (played,) = (saves / "sessions").iterdir()
    config = SessionConfig(
        game="pantry", agent="jitrl", model="prior/uniform", settings=Settings(step_limit=12), episodes=2
    )
    saved = sessions.create(saves, config, name if name in ("play", "watch") else "run")
    if name == "home":
        app = JitrlApp(lambda: home_screen(saves, None), saves=saves)
    elif name == "replay":
        source = ReplaySource(lambda: recording.read(played), delay=0.1, paused=calm, path=played)
        app = JitrlApp(lambda: WatchScreen(source, delay=0.1, files=SessionFiles.recorded(played)), saves=saves)
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
        await thawed(pilot)
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
    survived = lost = frozen = 0
    with tempfile.TemporaryDirectory(prefix="jitrl-clumsy-") as before:
        played = remembered(Path(before) / "saves")
        for number in range(max(1, inputs // ROUND)):
            name, calm = SCREENS[number % len(SCREENS)], number // len(SCREENS) % 2 == 0
            rng = random.Random(f"{seed} {number}")
            with tempfile.TemporaryDirectory(prefix="jitrl-clumsy-") as folder, contextlib.chdir(folder):
                saves = Path(folder) / "saves"
                shutil.copytree(played, saves)
                try:
                    work = round_of(name, calm and name != "home", rng, saves, min(inputs, ROUND))
                    asyncio.run(asyncio.wait_for(work, 1200))
                    survived += 1
                except Exception as error:
                    lost, frozen = lost + 1, frozen + isinstance(error, Frozen)
                    how = "calm" if calm else "wild"
                    tell(f"clumsy: round {number} on {name}, {how}: {traceback.format_exc(limit=-6)}")
            if number % 8 == 7:
                tell(f"clumsy: {survived} rounds survived so far, {lost} lost")
    tell(f"clumsy: {survived + lost} rounds of {ROUND} events, {lost - frozen} crashes, {frozen} frozen banners")
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
