"""Waiting for conditions on a running app, bounded in time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from textual._compositor import Compositor
from textual.message_pump import MessagePump
from textual.pilot import Pilot
from textual.widgets import Input

from jitrl_tui.app import JitrlApp
from jitrl_tui.runs.replay import ReplaySource
from jitrl_tui.runs.source import LiveSource
from jitrl_tui.screens.watch import WatchScreen
from tests.tui import stream
from tests.tui.screen_text import screen_text

PATIENCE_S = 60.0
"""Seconds after which a test stops waiting."""
STILL_S = 5.0
"""Seconds after which a screen that never stands still, because a session plays without delay, is taken as it is."""
FRAME_S = 0.02
"""Seconds in which Textual draws what there is to be drawn, 60 times a second."""
CHAIN = 10
"""Messages, each sent by the one before, that a key leads to at most."""
OFTEN = 200
"""Turns of the loop after which a part is waited for with pauses: it waits itself, such as for a thread."""
RARELY = 1000
"""Turns of the loop after which a part that is still busy is waited for in Textual's own way."""
SENT = Pilot._wait_for_screen
"""Textual's own way: a message to each part, and to wait until all have come."""


async def until(pilot: Pilot, condition: Callable[[], object], seconds: float = PATIENCE_S) -> None:
    """Let the app work until `condition` holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long; the screen shows:\n" + screen_text(pilot.app)
        await asyncio.sleep(0.01)
    await still(pilot)


async def press(pilot: Pilot, *keys: str) -> None:
    """Press keys, each when the screen that should take it is ready, and wait until all of them were taken.

    What is typed into a field comes at once. `tests/conftest.py` puts this in the place of `Pilot.press` for all tests.
    """
    await taken(pilot)
    typing = False
    for key in keys:
        before, typing = typing, isinstance(pilot.app.focused, Input) and (len(key) == 1 or key == "backspace")
        if before and not typing:
            await taken(pilot)
        await pilot.app._press_keys([key])
        if not typing:
            await taken(pilot)
    await taken(pilot)


def rests(part: MessagePump) -> bool:
    """Whether a part of an app does nothing and has nothing to do: it waits for its next message, or has ended."""
    queue = part._message_queue
    return part._closing or part._closed or (not queue.values and bool(queue.ready_event._waiters))


async def rested(pilot: Pilot, timeout: float = PATIENCE_S) -> bool:
    """Wait until each part of the screen on top has done what it had to do; return whether that was without an error.

    `tests/conftest.py` puts it in the place of `Pilot._wait_for_screen`, which sends a message to each part instead.
    """
    app, end, turns = pilot.app, time.monotonic() + timeout, 0
    if not app.screen_stack:
        return False
    busy = [app, *app.screen.walk_children(with_self=True)]
    while app._exception is None:
        busy = [part for part in busy if not rests(part)]
        if not busy:
            return True
        turns += 1
        if turns % RARELY == 0:  # a part that is given more all the time: what it was given so far is enough
            return await SENT(pilot, timeout)
        assert time.monotonic() < end, "the screen is busy; it shows:\n" + screen_text(app)
        await asyncio.sleep(0 if turns < OFTEN else 0.002)
    return False


async def taken(pilot: Pilot, seconds: float = PATIENCE_S) -> None:
    """Wait until the screen on top is mounted, and none of its parts has anything to do: all keys were taken.

    Where new messages come all the time, it is enough that those which wait are done with, `CHAIN` times.
    """
    app, end, turns = pilot.app, time.monotonic() + seconds, 0
    while app._running and app._exception is None and app.screen_stack:
        assert time.monotonic() < end, "keys are not taken; the screen shows:\n" + screen_text(app)
        if app.screen.is_mounted and rests(app) and all(map(rests, app.screen.walk_children(with_self=True))):
            return
        if app.screen.is_mounted and time.monotonic() > end - seconds + STILL_S:
            for _ in range(CHAIN):
                if app._running and app.screen_stack:
                    await SENT(pilot, seconds)
            return
        turns += 1
        await asyncio.sleep(0 if turns < OFTEN else 0.002)


async def no_idle(*_: object) -> None:
    """Give way once. Textual waits in its place until the process has computed nothing for 20 ms, for up to a second.

    `tests/conftest.py` puts it there: `press` and `until` wait for what was sent, and not for a processor that rests.
    """
    await asyncio.sleep(0)


async def settled(pilot: Pilot, seconds: float = STILL_S) -> str:
    """Wait until the screen stands still, and return its text."""
    await still(pilot, seconds)
    return screen_text(pilot.app)


async def still(pilot: Pilot, seconds: float = STILL_S) -> None:
    """Wait until the screen stands still: nothing is to be drawn, or its text stays the same."""
    end = time.monotonic() + seconds
    await pilot.pause(FRAME_S)
    text = ""
    while time.monotonic() < end:
        frames = _unseen_frames
        await pilot.pause(FRAME_S)
        if Compositor.render_update is draw_nothing and _unseen_frames == frames:
            return
        before, text = text, screen_text(pilot.app)
        if before == text:
            return


_unseen_frames = 0


def draw_nothing(compositor: Compositor, full: bool = False, **_: object) -> None:
    """Count a frame and forget it. `tests/conftest.py` puts this in the place of `Compositor.render_update`."""
    global _unseen_frames
    _unseen_frames += bool(full or compositor._dirty_regions)
    compositor._dirty_regions.clear()


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
