"""A real terminal for the real app: a pty, with pyte to read what a person would see."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Mapping, Sequence

import pyte

from tests import commands, warm

COMMAND = (sys.executable, "-m", "jitrl_tui.cli")
"""What `jitrl` runs, found without the path."""
UNDER = ("/bin/sh", "-c", 'trap : HUP; "$@"; :', "sh", *COMMAND)
"""A parent that leads the session and survives SIGHUP. What it starts gets no SIGHUP."""

OUTER = ("JITRL_", "TEXTUAL", "NO_COLOR", "TMUX", "STY", "COLUMNS", "LINES")
"""How variables begin that tell of the terminal and the user around the tests."""

FAILED = "this cannot go on"

ASK_SYNCHRONIZED, SYNCHRONIZED = b"\x1b[?2026$p", b"\x1b[?2026;2$y"
"""The question whether the terminal shows whole frames only, and its answer: it does."""

COLOUR, BEGUN = re.compile(rb"\x1b\[[\d;:]*m"), re.compile(rb"\x1b(\[[\d;:]*)?\Z")
"""A change of colours, and the beginning of what may be one."""

FRAME, FRAME_END = b"\x1b[?2026h", b"\x1b[?2026l"


class Terminal:
    """Runs `jitrl ARGS` in a terminal of its own.

    Everything waits for what appears on the screen, bounded in time. A frame counts when it is whole: a text
    that is painted over and comes again in the same frame has never been away.

    Args:
        args: Of `jitrl`.
        columns: Of the terminal.
        rows: Of the terminal.
        env: Further variables.
        command: What is run instead of `jitrl`, with `args`, as a child of this process. Without it, the program is a
            fork of one that has imported it already (`tests.commands`), and no child.
        led: Whether the program is the child of a process that leads the session and survives SIGHUP, as under `make`.
        alone: Whether the workers of the program are its children, with interpreters of their own; so are those of one
            that is led.
    """

    def __init__(
        self,
        *args: str,
        columns: int = 80,
        rows: int = 24,
        env: Mapping[str, str] | None = None,
        command: Sequence[str] | None = None,
        led: bool = False,
        alone: bool = False,
    ):
        self.raw, self._whole = b"", ""
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self._lines: dict[int, str] = {}
        self._begun = b""
        self._exit: int | None = None
        child_env = {k: v for k, v in os.environ.items() if not k.startswith(OUTER)}
        child_env |= {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8", **(env or {})}
        self._fork: commands.Popen | None = None
        if led and sys.platform != "linux":
            command = UNDER
        if command is None:
            self._fd, theirs = pty.openpty()
            self._set_size(columns, rows)
            self._fork = commands.Popen(
                [commands.JITRL, *args], stdin=theirs, stdout=theirs, stderr=theirs, env=child_env,
                start_new_session=warm.LED if led else warm.ALONE if alone else True,
            )  # fmt: skip
            os.close(theirs)
            self.pid = self._fork.pid
            return
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            signal.signal(signal.SIGHUP, signal.SIG_DFL)  # also where the tests run under nohup
            os.execve(command[0], [*command, *args], child_env)
        os.set_inheritable(self._fd, False)  # a terminal closes only when nobody else has it
        self._set_size(columns, rows)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        if self._exit is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            self._reap(5)
        self.hang_up()

    @property
    def text(self) -> str:
        """What is on the screen."""
        return self._whole if self.raw.rfind(FRAME) > self.raw.rfind(FRAME_END) else self._now()

    def send(self, keys: str) -> None:
        """Type."""
        os.write(self._fd, keys.encode())

    def resize(self, columns: int, rows: int) -> None:
        """Change the window's size."""
        self._screen.resize(rows, columns)
        self._set_size(columns, rows)

    def wait_for(self, wanted: str | Callable[[str], object], seconds: float = 120) -> str:
        """Read until the screen shows `wanted`, and return its text."""
        shown = (lambda text: wanted in text) if isinstance(wanted, str) else wanted
        end = time.monotonic() + seconds
        while not shown(self.text):
            left = end - time.monotonic()
            assert wanted == FAILED or FAILED not in self.text, f"it failed; the screen shows:\n{self.text}"
            assert left > 0, f"waited in vain for {wanted!r}; the screen shows:\n{self.text}\n{self._hung()}"
            if not self._pump(left):
                assert shown(self.text), f"it ended without {wanted!r}; the screen shows:\n{self.text}"
        return self.text

    def wait_for_exit(self, seconds: float = 120) -> int:
        """Read until the program has ended, and return its exit code (negative: the signal)."""
        end = time.monotonic() + seconds
        while self._pump(max(0.0, end - time.monotonic())):
            assert time.monotonic() < end, f"it did not end; the screen shows:\n{self.text}"
        return self._reap(max(1.0, end - time.monotonic()))

    def hang_up(self) -> None:
        """Close the terminal, as a window's close button does."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def modes(self) -> list[object]:
        """Return the terminal's modes, such as whether it echoes what is typed."""
        return termios.tcgetattr(self._fd)

    def reap(self, seconds: float) -> int:
        """Wait for the end of a program whose terminal is gone."""
        return self._reap(seconds)

    def _pump(self, seconds: float) -> bool:
        ready, _, _ = select.select([self._fd], [], [], seconds)
        if not ready:
            return True
        try:
            data = os.read(self._fd, 65536)
        except OSError:
            return False
        for _ in range((self.raw[1 - len(ASK_SYNCHRONIZED) :] + data).count(ASK_SYNCHRONIZED)):
            os.write(self._fd, SYNCHRONIZED)
        fed = len(self.raw)
        self.raw += data
        end = self.raw.rfind(FRAME_END) + len(FRAME_END)
        if end > fed:
            self._feed(self.raw[fed:end])
            self._whole, fed = self._now(), end
        self._feed(self.raw[fed:])
        return bool(data)

    def _feed(self, data: bytes) -> None:
        """Draw what the program wrote, without colours: pyte takes more time for them than for all else."""
        data = self._begun + data
        whole = BEGUN.sub(b"", data)
        self._begun = data[len(whole) :]
        self._stream.feed(COLOUR.sub(b"", whole))

    def _hung(self) -> str:
        """Return what is on its way to the screen, and what the program is doing."""
        doing = self._fork.stacks() if self._fork is not None else ""
        return f"last output: {self.raw[-300:]!r}\n{doing}"

    def _now(self) -> str:
        """Return the screen. The second cell of a wide character is empty."""
        for y in self._screen.dirty:
            line = self._screen.buffer[y]
            self._lines[y] = "".join([line[x].data for x in range(self._screen.columns)]).rstrip()
        self._screen.dirty.clear()
        return "\n".join(self._lines[y] for y in range(self._screen.lines))

    def _reap(self, seconds: float) -> int:
        end = time.monotonic() + seconds
        if self._fork is not None:
            self._exit = self._fork.wait(seconds)
        while self._exit is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._exit = os.waitstatus_to_exitcode(status)
                break
            assert time.monotonic() < end, "the program did not end"
            select.select([], [], [], 0.02)
        return self._exit

    def _set_size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
