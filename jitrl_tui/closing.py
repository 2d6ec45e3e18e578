"""The end of a process whose terminal has closed, or which the system asks to end."""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Callable, Iterable
from typing import TextIO

STORE_S = 3.0
"""Seconds that a session has to end properly."""
END_S = 4.5
"""Seconds after which the process ends, whatever still runs. Each step is stored when it is taken, so none is lost."""
_LOOK_S = 1.0
"""Seconds between two looks at the terminal, for a system that does not wake us when it closes."""


def end_within(seconds: float = END_S) -> None:
    """End the process after this time if it has not ended before."""
    timer = threading.Timer(seconds, os._exit, (128 + signal.SIGHUP,))
    timer.daemon = True
    timer.start()


def when_closed(streams: Iterable[TextIO], then: Callable[[], None]) -> None:
    """Call `then` in a thread when a terminal behind one of the streams closes. Other streams are left out.

    SIGHUP does not tell this: it goes to the first process of the terminal only, which may be `make` or a script.
    """
    poll = select.poll()
    terminals = {stream.fileno() for stream in streams if stream.isatty()}
    for descriptor in terminals:
        poll.register(descriptor, 0)  # no event but the end of the terminal

    def watch() -> None:
        while not poll.poll(_LOOK_S * 1000):
            pass
        then()

    if terminals:
        threading.Thread(target=watch, name="terminal", daemon=True).start()
