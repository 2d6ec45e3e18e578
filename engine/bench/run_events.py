"""What the cells of a run tell, written into the run's folder while it is played, so that others can follow it.

`told.jsonl` grows by a line for each message that matters later; it is begun anew when the run is resumed.
`now.json` is small, and is replaced about once a second: where the run is played, and the running steps.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine import limits
from engine.bench.progress import RunLimits
from engine.bench.records import CellStepped, Failed, Finished, Message, Stopped
from engine.bench.worker import to_line
from engine.codec import from_plain, to_plain
from engine.disk import FILE_MODE, read_bytes, write_private
from engine.errors import BadFile, JitrlError
from engine.session.remote.presence import BEAT_S, Liveness, PlayedAt
from engine.session.remote.relay import Relay, is_wanted
from engine.settings.address import is_address

EVENTS_FILE, NOW = "told.jsonl", "now.json"
FORMAT = 1
OVER = "Over"
_HEAD = ("format", "name", "suite", "title", "created", "games", "memory", "tasks", "train", "plan")
"""Fields of the manifest that a follower without the folder needs."""
NEWS_S = 1.0
"""Shortest time between two versions of `now.json`, in seconds."""


@dataclass(frozen=True, slots=True)
class RunBegan:
    """The first line of `told.jsonl`.

    Attributes:
        format: Number of the format.
        place: Where the run is played: the process that gives its cells to workers.
        began: Unix time at which this command began.
        jobs: Number of cells that are played at the same time.
        usd, tokens, minutes: Its limits.
    """

    format: int
    place: PlayedAt
    began: float
    jobs: int = 1
    usd: float | None = None
    tokens: int | None = None
    minutes: float | None = None

    @property
    def limits(self) -> RunLimits:
        """What the run may cost."""
        return RunLimits(self.usd, self.tokens, self.minutes)


@dataclass(frozen=True, slots=True)
class RunOver:
    """The last line of `told.jsonl`.

    Attributes:
        message: Why the run ended early, a sentence; "" if all cells were played.
    """

    message: str = ""


@dataclass(frozen=True, slots=True)
class Now:
    """The content of `now.json`.

    Attributes:
        place: Where the run is played.
        at: Unix time.
        steps: The latest step of each running cell.
    """

    place: PlayedAt
    at: float
    steps: tuple[CellStepped, ...] = field(default=())


class RunWriter:
    """Writes what the cells of a run tell into its folder. Where that fails, nobody can follow, and the run goes on.

    Args:
        folder: The run's folder.
        limits: What the run may cost.
        clock: Returns monotonic time in seconds.
    """

    def __init__(self, folder: Path, limits: RunLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder, self._limits, self._clock = folder, limits, clock
        self._place = PlayedAt.here()
        self._steps: dict[str, CellStepped] = {}
        self._changed = True
        self._shown_at = float("-inf")
        self._fd = -1
        self._relay: Relay | None = None

    def begin(self, jobs: int, manifest: Mapping[str, Any]) -> None:
        """Begin. What an earlier command told is replaced.

        Args:
            jobs: Number of cells that are played at the same time.
            manifest: The run's manifest. If the memories lie in a database, the run can be followed there, too.
        """
        run = RunBegan(FORMAT, self._place, round(time.time(), 3), jobs, **dataclasses.asdict(self._limits))
        with contextlib.suppress(OSError):
            write_private(self._folder / EVENTS_FILE, _line("Run", run))
            self._fd = os.open(self._folder / EVENTS_FILE, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, FILE_MODE)
        address = str(manifest.get("memory") or "")
        if is_address(address) and is_wanted():
            with contextlib.suppress(JitrlError):  # The memory at the same address says what is wrong with it.
                head = json.dumps({**{key: manifest[key] for key in _HEAD if key in manifest}, "cells": {}})
                self._relay = Relay(address, self._folder.absolute().name, self._folder / EVENTS_FILE, head=head)
                self._relay.start()

    def note(self, message: Message) -> None:
        """Note a message. Of steps, only the latest of each cell is kept."""
        if isinstance(message, CellStepped):
            self._steps[message.cell] = message
            self._changed = True
            return
        if isinstance(message, (Finished, Failed, Stopped)):
            self._changed = self._steps.pop(message.cell, None) is not None or self._changed
        self._write(to_line(message) + "\n")

    def beat(self) -> None:
        """Write `now.json` if there is something new, or if a sign of life is due."""
        now = self._clock()
        if now - self._shown_at >= (NEWS_S if self._changed else BEAT_S):
            self._shown_at, self._changed = now, False
            text = json.dumps(to_plain(Now(self._place, round(time.time(), 3), tuple(self._steps.values()))))
            if self._relay is not None:
                self._relay.show(text)
            with contextlib.suppress(OSError):
                write_private(self._folder / NOW, text)

    def close(self, stopped: str) -> None:
        """Note the end of the run.

        Args:
            stopped: Why it ended early, "" if it did not.
        """
        self._write(_line(OVER, RunOver(stopped)))
        with contextlib.suppress(OSError):
            os.unlink(self._folder / NOW)
        if self._relay is not None:
            self._relay.close()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _write(self, line: str) -> None:
        if self._fd >= 0:
            with contextlib.suppress(OSError):
                os.write(self._fd, line.encode())


def read_now(folder: Path) -> Now | None:
    """Return the content of `now.json`; None if there is none, or none that can be read."""
    try:
        return now_of(read_bytes(folder / NOW, 4 << 20))
    except OSError:
        return None


def is_played(folder: Path) -> bool:
    """Return whether a run is being played, as far as one look at its folder can tell."""
    now = read_now(folder)
    return now is not None and Liveness().lives(now.place, now.at)


def now_of(text: bytes | str) -> Now | None:
    """Return the content of `now.json` from its text, None if it is none."""
    try:
        return from_plain(Now, limits.parse_json(text))
    except BadFile:
        return None


def parse_line(line: bytes, kinds: Mapping[str, type[Any]]) -> Any:
    """Return the record in a line; None for a kind that this version does not know.

    Raises:
        BadFile: It is none.
    """
    found = limits.parse_json(line)
    if not isinstance(found, list) or len(found) != 2 or not isinstance(found[0], str):
        raise BadFile("it tells nothing")
    kind = kinds.get(found[0])
    return None if kind is None else from_plain(kind, found[1])


def _line(name: str, record: RunBegan | RunOver) -> str:
    return json.dumps([name, to_plain(record)]) + "\n"
