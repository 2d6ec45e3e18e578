"""A session that is played by another process, as a source of the screen: it is followed, and can be taken in hand."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from engine import waits
from engine.errors import JitrlError
from engine.records import Event, Notice, Paused, Resumed, Thinking, Waiting
from engine.session.remote.commands import who
from engine.session.remote.followed import Followed, RemoteControl, refusal
from engine.session.remote.presence import Presence
from jitrl_tui.runs.source import Source
from jitrl_tui.runs.tape import Tape
from jitrl_tui.runs.view import DECISIONS, RunView

POLL_S, HELD_POLL_S = 0.2, 0.05
"""Seconds between two looks for what is new: usually, and while the session is held from here."""
READING = "reading what was played so far"


@dataclass(frozen=True, slots=True)
class Reach:
    """How a session is reached.

    Attributes:
        open: Opens it; may wait for a server.
        folder: Its folder, None if this machine does not see it.
    """

    open: Callable[[], Followed]
    folder: Path | None = None


class FollowSource(Source):
    """A session that is followed. It is read only, until it is taken in hand.

    Args:
        open_session: Opens the session. Called in the thread.
        lease_s: Seconds for which the session waits for a sign of life of this process while it is held.
        ends: Whether to end when the session has ended, or is gone. Otherwise it may be taken up again, and is followed
            further.

    Attributes:
        sign: The latest sign of life of the session, None before the first.
        lives: Whether it is being played.
        loaded: Whether what was played before has been read.
        changed: Called in the thread when one of both has changed.
        told: Called in the thread with what the session, or the system, says to a command: a sentence, and whether it
            is obeyed.
    """

    live = True

    def __init__(
        self,
        open_session: Callable[[], Followed],
        lease_s: float,
        *,
        ends: bool = False,
    ) -> None:
        super().__init__("follow")
        self.sign: Presence | None = None
        self.lives = self.loaded = False
        self.changed: Callable[[], object] = lambda: None
        self.told: Callable[[str, bool], object] = lambda text, good: None
        self._open, self._lease_s, self._ends = open_session, lease_s, ends
        self._session: Followed | None = None
        self._hand: RemoteControl | None = None
        self._renewed = 0.0
        self._asked_at: float | None = None
        self._passing: Event | None = None
        self._mine = self._read = False
        self._given: queue.SimpleQueue[Callable[[RemoteControl], None]] = queue.SimpleQueue()
        self._wake = threading.Event()
        self._stopping = False
        self._by = who()

    # ------------------------------------------------------------------------------------- commands

    @property
    def held(self) -> bool:
        """Whether the session is held from here."""
        return self.sign is not None and self.lives and self.sign.holder == self._by

    def pause(self) -> None:
        """Take the session in hand: it waits at its next decision."""
        self._renewed, self._mine = time.monotonic(), True
        self._command(lambda hand: hand.hold())

    def resume(self) -> None:
        """Hand the session back."""
        self._mine = False
        self._command(lambda hand: hand.hand_back())

    def step_once(self) -> None:
        """Let one step be taken."""
        self._command(lambda hand: hand.step())

    def overrule(self, question: int, action: str, *, go_on: bool = False) -> bool:
        """Take `action` in place of the decision with the number of this question. Whether it is too late is told."""
        self._command(lambda hand: hand.overrule(question, action, go_on=go_on))
        return True

    def stop_session(self) -> None:
        """Stop the session. What was played is kept."""
        self._command(lambda hand: hand.stop())

    def stop(self) -> None:
        """Follow no further. A session that is held from here is handed back first."""
        self._stopping = True
        self._wake.set()
        self.wait(waits.FOLLOWED_PARTING.seconds)

    def _command(self, give: Callable[[RemoteControl], None]) -> None:
        """Give a command in the thread, because it may have to wait for a server."""
        self._given.put(give)
        self._wake.set()

    # --------------------------------------------------------------------------------------- thread

    def work(self) -> None:
        """Read what was played, then what is played."""
        self.put(Thinking(READING))
        session = self._session = self._open()
        self._hand = RemoteControl(session, self._by, self._lease_s)
        try:
            self._catch_up(session)
            while not self._stopping:
                self._look(session)
                if self._ends and self._read and not self.lives:
                    break
                if not session.more:
                    self._wake.wait(HELD_POLL_S if self.held else POLL_S)
                self._wake.clear()
                self._give_all()
            if self._mine and self.lives:
                self._give(lambda hand: hand.hand_back())
        finally:
            session.close()

    def _give_all(self) -> None:
        while not self._given.empty():
            self._give(self._given.get())

    def _give(self, give: Callable[[RemoteControl], None]) -> None:
        if self._hand is None:
            return
        try:
            give(self._hand)
            self._asked_at = time.monotonic()
        except JitrlError as error:
            self._mine = self.held
            self.told(refusal(error), False)

    def _catch_up(self, session: Followed) -> None:
        """Show everything that was played so far, as one view."""
        view = RunView(tape=Tape(DECISIONS))
        while True:
            for event in session.new():
                view.fold(event)
                self._read = True
            if not session.more or self._stopping:
                break
        self._passing = None
        self.loaded = True
        self.put(view)

    def _look(self, session: Followed) -> None:
        """Take in what is new."""
        sign, lives = session.sign(), session.lives()
        events = session.new()
        if session.restarted:
            view = RunView(tape=Tape(DECISIONS))
            view.fold_all(events)
            self._passing = None
            self.put(view)
        else:
            for event in events:
                self.put(event)
        self._read = self._read or bool(events)
        changed = (sign, lives) != (self.sign, self.lives)
        self.sign, self.lives = sign, lives
        if not session.more:  # the sign is of the end of the recording
            self._pass_on(sign if lives else None)
        if changed:
            self._hear(sign)
            self.changed()
        if self.held and time.monotonic() - self._renewed > self._lease_s / 4:
            self._renew()
        if self._asked_at is not None and time.monotonic() - self._asked_at > waits.FOLLOWED_ANSWER.seconds:
            self._asked_at = None
            self.told("The session has not answered; it may be gone, or its machine busy.", False)

    def _pass_on(self, sign: Presence | None) -> None:
        """Show what is not recorded: that the session thinks, waits for a server, or is paused."""
        event: Event | None = None
        if sign is not None and sign.activity == "paused":
            event = Paused(sign.doing, sign.question, sign.asks)
        elif sign is not None and sign.activity == "waiting":
            event = Waiting(sign.doing, sign.seconds, sign.left_s)
        elif sign is not None and sign.activity == "thinking":
            event = Thinking(sign.doing)
        if event == self._passing:
            return
        if isinstance(self._passing, Paused):
            self.put(Resumed())
        self._passing = event
        if event is not None:
            self.put(event)

    def _hear(self, sign: Presence | None) -> None:
        """Tell what the session says to commands."""
        if sign is None or self._hand is None:
            return
        for reply in self._hand.answered(sign):
            self._asked_at = None
            self._mine = self.held
            self.told(f"{reply.message[:1].upper()}{reply.message[1:]}.", reply.accepted)

    def _renew(self) -> None:
        self._renewed = time.monotonic()
        if self._hand is not None:
            try:
                self._hand.renew()
            except JitrlError as error:
                self.put(Notice("warning", str(error)))
