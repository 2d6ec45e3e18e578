"""Commands of `jitrl` run in this process, where a test needs no process of its own."""

from __future__ import annotations

import contextlib
import io
import os
import signal
from collections.abc import Iterator
from types import FrameType

from jitrl_tui.cli import main

LIMIT_S = 60
"""A command that still runs after so long hangs."""


@contextlib.contextmanager
def limited(seconds: int = LIMIT_S) -> Iterator[None]:
    """End what hangs, also in a call of the system. For the main thread."""

    def rang(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"this hangs: it took more than {seconds} s")

    before = signal.signal(signal.SIGALRM, rang)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def jitrl(*words: object) -> tuple[int, str, str]:
    """Run a command; return its exit code, and what it wrote."""
    out, err = (
        io.TextIOWrapper(io.BytesIO(), "utf-8", "surrogateescape", write_through=True) for _ in range(2)
    )
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), limited():
        try:
            code = main([os.fspath(word) for word in words])  # type: ignore[call-overload]
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
    return code, *(stream.buffer.getvalue().decode() for stream in (out, err))  # type: ignore[attr-defined]
