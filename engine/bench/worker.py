"""A process that plays one cell: `python -m engine.bench.worker`.

It reads one line of JSON on stdin (`CellJob`) and writes a message a line on stdout. SIGTERM stops it after the running
step. If its stdin closes, whoever began it is gone, and it stops as well.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from engine.bench.records import Began, Cell, CellStepped, Ended, Failed, Finished, Message, Said, Stopped
from engine.codec import from_plain, to_plain
from engine.wait import signals_in_threads

KINDS: dict[str, type[Any]] = {
    "Began": Began, "Stepped": CellStepped, "Ended": Ended, "Said": Said, "Finished": Finished, "Failed": Failed,
    "Stopped": Stopped,
}  # fmt: skip
"""Messages by name."""
_NAMES = {kind: name for name, kind in KINDS.items()}


@dataclass(frozen=True, slots=True)
class CellJob:
    """What a worker is to do.

    Attributes:
        cell: The cell to play.
        folder: Folder of the cell.
        saves: The saves folder.
    """

    cell: Cell
    folder: str
    saves: str


def to_line(message: Message) -> str:
    """Return a message as a line of JSON, without the newline."""
    return json.dumps([_NAMES[type(message)], to_plain(message)], ensure_ascii=True)


def from_line(line: str | bytes) -> Message:
    """Return the message in a line.

    Raises:
        BadFile: It is none.
        ValueError: It is no JSON.
    """
    name, fields = json.loads(line)
    message: Message = from_plain(KINDS[name], fields)
    return message


def main() -> int:
    """Play the cell of the job on stdin; return the exit code."""
    from engine.bench.cell_player import play
    from engine.session.control import Control

    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1, encoding="ascii")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what libraries print must not get among the messages
    job = from_plain(CellJob, json.loads(sys.stdin.readline()))
    control = Control()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_stop_at_end, args=(sys.stdin, control), daemon=True).start()
    code = 0

    def send(message: Message) -> None:
        nonlocal code
        if isinstance(message, Failed):
            code = message.code
        try:
            out.write(to_line(message) + "\n")
        except OSError:  # nobody listens any more
            control.stop()

    with signals_in_threads({signal.SIGTERM: control.stop}):
        play(job.cell, Path(job.folder), Path(job.saves), send, control)
    return code


def _stop_at_end(stdin: TextIO, control: Any) -> None:
    while stdin.readline():
        pass
    control.stop()


if __name__ == "__main__":
    sys.exit(main())
