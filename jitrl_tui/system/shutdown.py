"""The end of a process whose terminal has closed, or which the system asks to end."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
import sys
import termios
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TextIO

from engine import waits
from engine.wait import signals_in_threads

STORE_S = waits.TERMINAL_STORE.seconds
"""Seconds that a session has to end properly."""
END_S = waits.TERMINAL_END.seconds
"""Seconds after which the process ends, whatever still runs. Each step is stored when it is taken, so none is lost."""
_LOOK_S = 1.0
"""Seconds between two looks at the terminal, for a system that does not wake us when it closes."""
ANSWER_S = waits.INTERRUPT.seconds
"""Seconds after Ctrl-C in which the process ends or says for what it waits."""


def end_within(seconds: float = END_S, last: Callable[[], None] = lambda: None) -> None:
    """End the process after this time if it has not ended before; `last` is called before that."""

    def end() -> None:
        try:
            last()
        finally:
            os._exit(128 + signal.SIGHUP)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()


class Interrupt:
    """What Ctrl-C does. The first one asks to stop; if that takes a moment, a sentence says so. The second one ends.

    It is a handler for `engine.wait.signals_in_threads`.

    Args:
        stop: Asks to stop.

    Attributes:
        called: Whether there was one.
    """

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self.called = False

    def __call__(self) -> None:
        """Handle a signal."""
        if self.called:
            os._exit(128 + signal.SIGINT)
        self.ask()
        timer = threading.Timer(ANSWER_S, self._answer)
        timer.daemon = True
        timer.start()

    def ask(self) -> None:
        """Ask to stop; another call of this does no more."""
        self.called = True
        self._stop()

    def _answer(self) -> None:
        sys.stderr.write("jitrl: stopping after what runs now; Ctrl-C again ends at once, and loses nothing\n")


@contextlib.contextmanager
def same_modes(stream: TextIO | None) -> Iterator[Callable[[], None]]:
    """Give a terminal the modes again that it had before the block. What does it is yielded, to be called earlier."""
    descriptor = stream.fileno() if stream is not None and stream.isatty() else None
    modes = None if descriptor is None else termios.tcgetattr(descriptor)

    def restore() -> None:
        if descriptor is not None and modes is not None:
            with contextlib.suppress(termios.error):  # the terminal has closed
                termios.tcsetattr(descriptor, termios.TCSANOW, modes)

    try:
        yield restore
    finally:
        restore()


def _is_terminal(stream: TextIO) -> bool:
    """Return whether a stream is a terminal, or was one that has closed; `isatty` denies the latter."""
    try:
        termios.tcgetattr(stream.fileno())
    except termios.error as error:
        return bool(error.args[0] == errno.EIO)
    except (OSError, ValueError):  # it has no descriptor, or is closed
        return False
    return True


@contextlib.contextmanager
def when_closed(streams: Iterable[TextIO | None], then: Callable[[], None]) -> Iterator[None]:
    """Call `then` in a thread if a terminal behind one of the streams closes during the block.

    SIGHUP does not tell this: it goes to the first process of the terminal only, which may be `make` or a script. What
    is watched is a copy of each descriptor: a stream that cannot be written to any more is pointed elsewhere
    (`output.SafeStream`), which may be before the thread has seen why, or before the block.
    """
    given = [stream for stream in streams if stream is not None]
    if any(getattr(stream, "lost", False) for stream in given):
        then()
    terminals = [os.dup(stream.fileno()) for stream in given if _is_terminal(stream)]
    poll, over = select.poll(), threading.Event()
    for descriptor in terminals:
        poll.register(descriptor, 0)  # no event but the end of the terminal

    def watch() -> None:
        found: list[int] = []
        while not found and not over.is_set():
            found = [event for _, event in poll.poll(_LOOK_S * 1000)]
        for descriptor in terminals:
            os.close(descriptor)
        # Some versions of macOS cannot watch a terminal: they answer POLLNVAL.
        if any(event & (select.POLLHUP | select.POLLERR) for event in found):
            then()

    if terminals:
        threading.Thread(target=watch, name="terminal", daemon=True).start()
    try:
        yield
    finally:
        over.set()


@contextlib.contextmanager
def interruptible(stop: Callable[[], None], shown_on: TextIO) -> Iterator[Interrupt]:
    """Ask to stop at Ctrl-C, SIGTERM, SIGHUP, and when the terminal closes that shows what the block does.

    Under `nohup`, the last two do not.
    """
    interrupt = Interrupt(stop)

    def hang_up() -> None:
        end_within()
        interrupt.ask()

    handlers: dict[signal.Signals, Callable[[], None]] = {signal.SIGINT: interrupt, signal.SIGTERM: hang_up}
    watched = None
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        handlers[signal.SIGHUP] = hang_up
        watched = shown_on
    with signals_in_threads(handlers), when_closed([watched], hang_up):
        yield interrupt


@contextlib.contextmanager
def handling(handlers: Mapping[signal.Signals, Callable[..., Any]]) -> Iterator[None]:
    """Handle signals with these functions during the block, in the main thread: they may raise, and nothing else."""
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
