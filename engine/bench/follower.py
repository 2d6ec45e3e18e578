"""Follows a run from its folder, while it is played by another process: reads what is new, and no more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine import limits
from engine.bench import folder as folders
from engine.bench.manifest import MANIFEST, check_manifest, read_manifest
from engine.bench.reader import messages
from engine.bench.records import Cell, CellStepped, Ended, Message
from engine.bench.run_events import (
    EVENTS_FILE,
    FORMAT,
    OVER,
    Now,
    RunBegan,
    RunOver,
    now_of,
    parse_line,
    read_now,
)
from engine.bench.worker import KINDS
from engine.disk import printable
from engine.errors import BadFile, UsageError
from engine.memory.shared.server import ServerUnreachable
from engine.session import recording, suites
from engine.session import store as sessions
from engine.session.remote import presence
from engine.session.remote.followed import FolderSession, Followed
from engine.session.remote.lines import GrowingLines
from engine.session.remote.presence import Liveness
from engine.session.remote.relayed import RelayedLines, RelayedSession, newest_of

_LINE = 1 << 20
"""Longest line of `told.jsonl` in bytes."""
_KINDS: Mapping[str, type[Any]] = {**KINDS, "Run": RunBegan, OVER: RunOver}

News = RunBegan | Message | RunOver
"""What a followed run tells: `RunBegan` when it begins or goes on, then the messages of its cells, then `RunOver`."""


@dataclass(frozen=True, slots=True)
class FoundRun:
    """What a name stands for.

    Attributes:
        folder: The folder of a run or of a session.
        bench: Whether it is the run of a benchmark.
    """

    folder: Path
    bench: bool


def find(saves: Path, name: str) -> FoundRun:
    """Return what is to be followed: by the name of a run or a session, by a folder, or "last" for the newest run.

    Raises:
        UsageError: There is no such run and no such session.
        BadFile: It is a run of a suite of tasks whose file is damaged.
    """
    if name == "last":
        return FoundRun(folders.find(saves, name), True)
    named = (saves / "bench" / name, saves / "sessions" / name) if "/" not in name else ()
    for folder in (*named, Path(name)):
        if (folder / MANIFEST).is_file():
            return FoundRun(folder, True)
        if session := _session(folder):
            return FoundRun(session, False)
    suite = suites.find(saves, name) if "/" not in name else None
    if suite is not None and suite.sessions:
        return FoundRun(saves / "sessions" / suite.sessions[-1], False)
    raise UsageError(
        f"there is no run and no session {name!r}; `jitrl bench ls` and `jitrl sessions` list them"
    )


def _session(place: Path) -> Path | None:
    """Return the session that a path names: its folder, its recording, or a folder with sessions (the newest one)."""
    if place.name == recording.FILE_NAME and place.is_file():
        return place.parent
    if (place / sessions.CONFIG).is_file() or (place / recording.FILE_NAME).is_file():
        return place
    return newest(place)


def newest(folder: Path) -> Path | None:
    """Return the session in a cell's folder that was begun last, None if there is none."""
    found = sorted(file.parent for file in folder.glob(f"*/{sessions.CONFIG}"))
    return found[-1] if found else None


def session_playing(folder: Path) -> Path | None:
    """Return the session in a cell's folder that shows signs of life, None if there is none."""
    session = newest(folder)
    return session if session is not None and presence.read(session) is not None else None


class RunFolder:
    """The files of a run whose folder this machine sees.

    Attributes:
        name: Name of the run.
        folder: The run's folder, None if this machine does not see it.
        away: Whether it cannot be read at the moment.
    """

    away = False

    def __init__(self, folder: Path) -> None:
        self.folder: Path | None = folder
        self.name = folder.absolute().name
        self._lines = GrowingLines(folder / EVENTS_FILE, _LINE)
        self._place = folder

    @property
    def more(self) -> bool:
        """Whether there are more lines that can be read at once."""
        return self._lines.more

    def manifest(self) -> dict[str, Any]:
        """Return the manifest."""
        return read_manifest(self._place)

    def lines(self) -> list[bytes]:
        """Return the lines of `told.jsonl` that were not returned yet."""
        return self._lines.new()

    def now(self) -> Now | None:
        """Return the content of `now.json`, None if there is none."""
        return read_now(self._place)

    def session(self, cell: str) -> Followed:
        """Return the session of a cell that is being played.

        Raises:
            UsageError: There is none.
        """
        found = session_playing(folders.cell_folder(self._place, cell))
        if found is None:
            raise UsageError(f"no session of the cell {cell!r} is being played now")
        return FolderSession(found)

    def close(self) -> None:
        """Free what is open: nothing is."""


class RelayedRun:
    """The files of a run that is carried through a database. While that is away, there is nothing new.

    Args:
        address: The database.
        name: Name of the run.

    Raises:
        UsageError: There is no such run, or the address is none.
        MissingError, BadFile, StorageError: The database cannot be used.
    """

    folder: Path | None = None
    away = False

    def __init__(self, address: str, name: str) -> None:
        self.name, self._address = name, address
        self._lines = RelayedLines(address, name)
        if not self._lines.look() or not self._lines.head:
            self._lines.close()
            raise UsageError(f"no run {name!r} is played with this database, or was played since yesterday")

    @property
    def more(self) -> bool:
        """Whether there are more lines that can be read at once."""
        return self._lines.more

    def manifest(self) -> dict[str, Any]:
        """Return the part of the manifest that says what is played."""
        where = f"what the database says of {self.name}"
        try:
            return check_manifest(limits.parse_json(self._lines.head or ""), where)
        except BadFile as error:
            raise BadFile(f"{where} cannot be read: {error}") from None

    def lines(self) -> list[bytes]:
        """Return the lines that were not returned yet."""
        try:
            self._lines.look()
            found = self._lines.new()
        except ServerUnreachable:
            self.away = True
            return []
        self.away = False
        return found

    def now(self) -> Now | None:
        """Return the latest sign of life, None if there is none."""
        return now_of(self._lines.sign)

    def session(self, cell: str) -> Followed:
        """Return the session of a cell that is being played."""
        return RelayedSession(self._address, newest_of(self._address, f"{self.name}/{cell}/"))

    def close(self) -> None:
        """Close the connection."""
        self._lines.close()


class FollowedRun:
    """A run that is followed.

    Args:
        files: What it has written.

    Attributes:
        files: The same.
        name: Name of the run.
        title: Title of its suite.
        cells: Its cells, in the order of the plan.

    Raises:
        UsageError: There is no run, or its suite cannot be played by this version.
        BadFile: Its manifest is damaged, or of a newer version.
    """

    def __init__(self, files: RunFolder | RelayedRun) -> None:
        self._where = printable(files.folder or files.name)
        plan = folders.plan_of(files.manifest(), self._where)
        self.files = files
        self.name, self.title = files.name, plan.suite.title
        self.cells: Sequence[Cell] = plan.cells
        self._by_name = {cell.name: cell for cell in plan.cells}
        self._liveness = Liveness()
        self._now: Now | None = None
        self._steps: dict[str, CellStepped] = {}
        self._run: RunBegan | None = None
        self._over = self._read_rows = self._was_alive = False

    @property
    def run(self) -> RunBegan | None:
        """How the run was begun that is followed; None if nobody plays it yet, or it was played by an older version."""
        return self._run

    def new(self) -> list[News]:
        """Return what is new.

        Raises:
            BadFile: A file of the run is damaged, or of a newer version.
        """
        found: list[News] = []
        for line in self.files.lines():
            try:
                message = parse_line(line, _KINDS)
            except BadFile as error:
                raise BadFile(f"{self._where}: {EVENTS_FILE} is damaged: {error}") from None
            if message is not None:
                self._take(message)
                found.append(message)
        if self._run is None and not self._read_rows:
            found += self._before()
        now = self.files.now() if self._run is not None and not self._over else None
        if now is not None and now != self._now:
            self._now = now
            for step in now.steps:
                if step != self._steps.get(step.cell):
                    self._check(step)
                    self._steps[step.cell] = step
                    found.append(step)
        return found

    def lives(self) -> bool:
        """Return whether the run is being played. While it cannot be read, what was last known holds."""
        now = self._now
        if self._over or self._run is None:
            return False
        if not self.files.away:
            place, at = (now.place, now.at) if now else (self._run.place, self._run.began)
            self._was_alive = self._liveness.lives(place, at)
        return self._was_alive

    # ------------------------------------------------------------------------------------- details

    def _before(self) -> list[News]:
        """Return what the rows of a run tell that no version played which writes down what its cells tell."""
        self._read_rows = True
        folder = self.files.folder
        if folder is None:
            return []
        manifest = self.files.manifest()
        found: list[News] = list(messages(folder, manifest, self.cells))
        if found:
            found.append(RunOver(str(manifest.get("stopped", ""))))
        return found

    def _take(self, message: News) -> None:
        """Note the state of the run.

        Raises:
            BadFile: The line is of a newer version, or not of this run.
        """
        if isinstance(message, RunBegan):
            if message.format > FORMAT:
                raise BadFile(f"{self._where}: {EVENTS_FILE} was written by a newer jitrl; update jitrl")
            self._run, self._over, self._now = message, False, None
            self._steps.clear()
            self._liveness = Liveness()
        elif isinstance(message, RunOver):
            self._over = True
        else:
            self._check(message)

    def _check(self, message: Message) -> None:
        cell = self._by_name.get(message.cell)
        fits = cell is not None
        if cell is not None and isinstance(message, (CellStepped, Ended)):
            episodes = cell.legs[message.leg].config.episodes if 0 <= message.leg < len(cell.legs) else 0
            fits = 1 <= message.episode <= episodes
        if not fits:
            raise BadFile(f"{self._where} tells of a cell, or an episode, that its plan does not have")
