"""Whether plain lines are wanted, and how lines are read from a terminal or a pipe."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from jitrl_tui.runs.session_files import TypedHistory
from jitrl_tui.system.output import beneath

if TYPE_CHECKING:
    from prompt_toolkit.history import History


def wants_plain() -> bool:
    """Return whether this terminal, or the person, asks for plain lines. A browser (`jitrl serve`) does not."""
    if os.environ.get("TEXTUAL_DRIVER", "").endswith(":WebDriver"):
        return False
    return (
        bool(os.environ.get("JITRL_PLAIN"))
        or os.environ.get("TERM", "") in ("", "dumb")
        or not sys.stdout.isatty()
        or not sys.stdin.isatty()
    )


def line_reader(
    stdin: TextIO, typed: TypedHistory, valid: Callable[[], list[str]]
) -> Callable[[], str | None]:
    """Return a function that reads a line: with history and completion on a terminal, else plainly.

    Args:
        typed: What was typed before; what is typed now is added by the caller.
        valid: Returns what can be completed now.
    """
    if not stdin.isatty() or os.environ.get("TERM", "") in ("", "dumb"):

        def plain() -> str | None:
            line = stdin.readline()
            return line.rstrip("\r\n") if line else None

        return plain
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import FuzzyCompleter, WordCompleter
    from prompt_toolkit.output import create_output

    words = FuzzyCompleter(WordCompleter(valid, sentence=True))
    session: PromptSession[str] = PromptSession(
        history=_history(typed),
        completer=words,
        complete_while_typing=False,
        enable_suspend=True,
        output=create_output(beneath(sys.stdout)),
    )

    pasted: deque[str] = deque()

    def prompted() -> str | None:
        if not pasted:
            try:
                given = session.prompt("> ")
            except EOFError:
                return None
            # Several lines that were pasted are one answer. An empty one among them is no command.
            pasted.extend(filter(str.strip, given.splitlines()) if len(given.splitlines()) > 1 else [given])
        return pasted.popleft()

    return prompted


def _history(typed: TypedHistory) -> History:
    """Return the lines typed before for prompt_toolkit."""
    from prompt_toolkit.history import InMemoryHistory

    return InMemoryHistory(typed.lines)


class TypedLines:
    """Lines that are typed while something runs, read in a thread.

    Args:
        stdin: A terminal.
        arrived: Called from the thread after each line, and at the end.

    Attributes:
        ended: No more lines will come.
    """

    def __init__(self, stdin: TextIO, arrived: Callable[[], None]) -> None:
        self.ended = False
        self._stdin, self._arrived = stdin, arrived
        self._lines: deque[str] = deque()
        threading.Thread(target=self._read, name="typed", daemon=True).start()

    def take(self) -> str | None:
        """Return the next line, None if none waits."""
        return self._lines.popleft() if self._lines else None

    def _read(self) -> None:
        try:
            for line in iter(self._stdin.readline, ""):
                self._lines.append(line.rstrip("\r\n"))
                self._arrived()
        except (OSError, ValueError):  # the terminal has closed
            pass
        self.ended = True
        self._arrived()
