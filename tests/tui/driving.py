"""Waiting for conditions on a running app, bounded in time."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from textual.pilot import Pilot

from jitrl_tui.app import JitrlApp
from jitrl_tui.replay import ReplaySource
from jitrl_tui.screens.watch import WatchScreen
from jitrl_tui.source import LiveSource
from tests.tui import stream
from tests.tui.screen_text import screen_text


async def until(pilot: Pilot, condition: Callable[[], object], seconds: float = 60.0) -> None:
    """Let the app work until `condition` holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long; the screen shows:\n" + screen_text(pilot.app)
        await pilot.pause(0.01)
    await settled(pilot)


async def settled(pilot: Pilot, seconds: float = 5.0) -> str:
    """Wait until the screen stands still, and return its text."""
    end = time.monotonic() + seconds
    before, now = "", "x"
    while before != now and time.monotonic() < end:
        await pilot.pause(0.04)
        before, now = now, screen_text(pilot.app)
    return now


def replay_app(events=None, *, delay: float = 0.0, paused: bool = False) -> tuple[JitrlApp, ReplaySource]:
    """Return an app that replays events, and its source."""
    events = stream.run() if events is None else events
    source = ReplaySource(lambda: stream.recorded(events), delay=delay, paused=paused)
    return JitrlApp(lambda: WatchScreen(source, delay=delay)), source


def live_app(
    events=None,
    *,
    delay: float = 0.0,
    play: bool = False,
    crash: BaseException | None = None,
    saves: Path | None = None,
):
    """Return an app on a scripted session, and the session."""
    events = stream.run() if events is None else events
    made: list[stream.ScriptedSession] = []

    def open_session(emit):
        made.append(stream.ScriptedSession(emit, events, crash))
        return made[0]

    source = LiveSource(open_session, saves=saves)
    return JitrlApp(lambda: WatchScreen(source, delay=delay, play=play)), made[0]


def watch(pilot: Pilot) -> WatchScreen:
    """Return the watch screen."""
    screen = pilot.app.watching
    assert screen is not None
    return screen
