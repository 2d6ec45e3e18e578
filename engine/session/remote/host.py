"""The side of the session that is played: it shows signs of life, and obeys commands of other processes.

A thread does both, so that the session itself waits for neither. What it says of commands is recorded by the session,
between two steps.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from engine import waits
from engine.errors import BadFile, JitrlError, StorageError
from engine.records import Decided, Event, Notice, Paused, Steered, Stepped, Thinking, Waiting
from engine.session import recording
from engine.session.control import Control, PersonSaid
from engine.session.remote import commands, presence
from engine.session.remote.commands import (
    HAND_BACK,
    HOLD,
    OVERRULE,
    RENEW,
    STEP,
    STOP,
    RemoteCommand,
    RemoteCommands,
)
from engine.session.remote.presence import BEAT_S, CommandReply, PlayedAt, Presence
from engine.session.remote.relay import Relay, is_wanted
from engine.settings.address import is_address

if TYPE_CHECKING:
    from engine.session.store import SavedSession

LAPSE = "lapse"
POLL_S, HELD_POLL_S = 0.2, 0.05
"""Seconds between two looks for commands: usually, and while somebody holds the session."""
_LASTS_S = 0.5
"""Seconds after which work is worth a sign of its own."""
_REPLIES = 8
_GIVEN = 1000
"""Commands that wait at most; what comes through a database is read a little later than it arrives."""
ACTIVITIES = (Thinking, Waiting, Decided, Stepped)
"""Events that change what a sign of life says."""


class DatabaseRoute:
    """The way through a database.

    Args:
        address: The database.
        folder: Folder of the session.

    Raises:
        JitrlError: The address cannot be used.
    """

    def __init__(self, address: str, folder: Path) -> None:
        self._given: deque[RemoteCommand] = deque(maxlen=_GIVEN)
        marks = (b'{"event":"SessionStarted"', b'{"event":"EpisodeEnded"')
        self._relay = Relay(
            address, name_of(folder), folder / recording.FILE_NAME, marks=marks, command=self._take
        )
        self._relay.start()

    def show(self, sign: Presence) -> None:
        """Show a sign of life."""
        self._relay.show(sign.line())

    def new(self) -> list[RemoteCommand]:
        """Return the new commands."""
        found = []
        while self._given:
            found.append(self._given.popleft())
        return found

    def close(self) -> None:
        """Send what is left, and end."""
        self._relay.close()

    def _take(self, line: str) -> None:
        with contextlib.suppress(BadFile):
            self._given.append(commands.parse_command(line))


def name_of(folder: Path) -> str:
    """Return the name by which a session is followed through a database: its own, or RUN/CELL/NAME in a cell."""
    cell = folder.absolute().parent
    run = cell.parent.parent.name if cell.parent.name == "cells" else ""
    return "/".join((run, cell.name, folder.name)) if run else folder.name


class SessionHost:
    """What lets other processes follow and steer a session.

    Args:
        folder: Folder of the session.
        control: Commands of the session.
        steerable: Whether other processes may steer it.
        address: A database through which the session is followed as well, "" for none.
        clock: Returns monotonic time in seconds.
    """

    def __init__(
        self,
        folder: Path,
        control: Control,
        *,
        steerable: bool,
        address: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder, self._control, self._clock, self._address = folder, control, clock, address
        self._commands: RemoteCommands | None = None
        self._place = PlayedAt.here()
        self._steerable = steerable
        self._last_event: Event | None = None
        self._last_event_at = 0.0
        self._where = 0, 0
        self._holder, self._until = "", 0.0
        self._replies: deque[CommandReply] = deque(maxlen=_REPLIES)
        self._shown: tuple[object, ...] = ()
        self._shown_at = float("-inf")
        self._complained = False
        self._started = False
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="jitrl-host", daemon=True)
        self._channels: list[DatabaseRoute] = []

    @classmethod
    def of(cls, saved: SavedSession, control: Control, *, interactive: bool) -> SessionHost:
        """Return the host of a session. One that a person sits at is steered there, and not from elsewhere."""
        memory = saved.config.memory
        steerable = saved.kind == "run" and not interactive
        return cls(saved.folder, control, steerable=steerable, address=memory if is_address(memory) else "")

    def start(self) -> None:
        """Begin. Where the folder cannot be written, nobody can follow or steer, and the session plays all the same."""
        self._started = True
        if self._steerable:
            try:
                self._commands = RemoteCommands(self._folder)
            except OSError:
                self._steerable = False
        if self._address and is_wanted():
            with contextlib.suppress(JitrlError):  # The memory at the same address says what is wrong with it.
                self._channels.append(DatabaseRoute(self._address, self._folder))
        self._thread.start()

    def see(self, event: Event) -> None:
        """Note what the session does. Any thread may call this, with every event; it is fast."""
        if isinstance(event, ACTIVITIES):
            self._last_event, self._last_event_at = event, self._clock()
            if isinstance(event, Decided):
                self._where = event.episode, event.decision.step

    def close(self) -> None:
        """Take no commands any more. What is still to be reported is reported."""
        if not self._started:
            return
        self._closed.set()
        self._thread.join(timeout=waits.THREAD_END.seconds)
        if self._commands is not None:
            self._commands.close()

    def gone(self) -> None:
        """Show no sign of life any more: all events are written."""
        for channel in self._channels:
            channel.close()
        if self._started:
            presence.remove(self._folder)

    # ------------------------------------------------------------------------------------ in the thread

    def _run(self) -> None:
        while True:
            self._turn()
            if self._closed.wait(HELD_POLL_S if self._holder else POLL_S):
                return

    def _turn(self) -> None:
        given, bad = self._commands.new() if self._commands is not None else ([], 0)
        if bad and not self._complained:
            self._complained = True
            self._control.report(Notice("warning", "a line among the commands is no command; it was left out"))
        for channel in self._channels:
            given += channel.new()
        for command in given:
            self._obey(command)
        if self._holder and self._clock() > self._until:
            by, self._holder = self._holder, ""
            self._control.resume()
            message = f"no sign of life of {by}, who held the session: it goes on by itself"
            self._control.report(Steered(LAPSE, by, True, message))
        self._show()

    def _obey(self, command: RemoteCommand) -> None:
        """Carry a command out, or refuse it, and say so."""
        if command.kind == RENEW:
            if command.by == self._holder:
                self._until = self._clock() + command.lease_s
            return
        refused = self._refused(command)
        message = refused or self._done(command)
        self._replies.append(CommandReply(command.id, not refused, message))
        self._control.report(Steered(command.kind, command.by, not refused, message, *self._where, command.action))

    def _refused(self, command: RemoteCommand) -> str:
        """Return why a command cannot be obeyed, "" if it can."""
        if not self._steerable:
            return "this session is steered at its own screen alone"
        if self._holder and command.by != self._holder:
            return f"the session is held by {self._holder}"
        if command.kind in (STEP, OVERRULE, HAND_BACK) and not self._holder:
            return "nobody holds the session; pause it first"
        waits = self._control.held
        if command.kind == OVERRULE and (waits is None or waits.question != command.question):
            return f"it is too late for '{command.action}': the decision does not wait any more"
        return ""

    def _done(self, command: RemoteCommand) -> str:
        """Carry a command out; return a sentence that says what happens."""
        if command.kind == HOLD:
            self._holder, self._until = command.by, self._clock() + command.lease_s
            self._control.pause()
            return f"held by {command.by}: the session waits at its next decision"
        if command.kind == STEP:
            self._control.step_once()
            return f"one step is taken for {command.by}"
        if command.kind == OVERRULE:
            taken = self._control.answer(command.question, PersonSaid.INSTEAD, command.action, go_on=command.go_on)
            if taken and command.go_on:
                self._holder = ""
            return f"'{command.action}' is taken instead, by {command.by}"
        self._holder = ""
        if command.kind == STOP:
            self._control.stop()
            return f"stopped by {command.by}; what was played is kept"
        self._control.resume()
        return f"handed back by {command.by}: the session goes on by itself"

    # ------------------------------------------------------------------------------------ signs of life

    def _show(self) -> None:
        """Show a sign of life if there is something new, or if one is due."""
        now = self._clock()
        sign = self._sign()
        key = sign.activity, sign.question, sign.asks, sign.holder, sign.replies
        doing = (*key, sign.doing, sign.seconds)
        due = now - self._shown_at
        if key == self._shown[: len(key)] and due < BEAT_S and (doing == self._shown or due < _LASTS_S):
            return
        self._shown, self._shown_at = doing, now
        for channel in self._channels:
            channel.show(sign)
        with contextlib.suppress(OSError, StorageError):
            presence.write(self._folder, sign)

    def _sign(self) -> Presence:
        held, last = self._control.held, self._last_event
        activity, doing, seconds, left = "running", "", 0.0, 0.0
        if held is not None:
            activity, doing = "paused", held.reason
        elif self._clock() - self._last_event_at >= _LASTS_S and isinstance(last, Thinking):
            activity, doing = "thinking", last.what
        elif isinstance(last, Waiting) and last.seconds > 1:
            activity, doing, seconds, left = "waiting", last.reason, last.seconds, last.left_s
        held = held or Paused()
        return Presence(
            self._place, round(time.time(), 3), self._steerable, activity, doing, seconds, left,
            held.question, held.asks, self._holder, tuple(self._replies),
        )  # fmt: skip
