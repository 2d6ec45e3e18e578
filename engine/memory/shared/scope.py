"""One scope of a shared memory. It is read like any other; what is stored goes to the server."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from engine.memory.disk import document as documents
from engine.memory.disk import files
from engine.memory.disk.document import EPISODES, KEPT
from engine.memory.disk.files import JOURNAL
from engine.memory.exact.retrieval import Hits
from engine.memory.kept import KeptRecords, to_document
from engine.memory.scope import _SNAPSHOT_ROWS, Scope
from engine.memory.search import NeighbourSearch
from engine.memory.shared.log import Log
from engine.memory.shared.outbox import Outbox
from engine.memory.shared.replica import Replica, write_journal
from engine.memory.shared.rows import Stored, new_row
from engine.memory.shared.server import ServerUnreachable
from engine.memory.upkeep import Verification, verify
from engine.records import Episode, Kept, Neighbour, State


class SharedScope(Scope):
    """A scope whose truth is the log on a server. All that reads it reads its replica.

    Args:
        folder: Of the replica.
        name: Of the scope.
        log: The log.
        outbox: Sends what is stored.
        before: Called before each retrieval and each write, in the thread that asks.
        options: As of `Scope`.

    Raises:
        Away: The server cannot be reached, and there is nothing to begin with.
    """

    def __init__(
        self, folder: Path, name: str, *, log: Log, outbox: Outbox, before: Callable[[], None], **options: Any
    ) -> None:
        self._log = log
        self._outbox = outbox
        self._before = before
        super().__init__(folder, name, **options)
        try:
            self.replica.check(log)
            self.follow(log)
        except ServerUnreachable as error:
            if not self.replica.cursor().generation:
                raise ServerUnreachable(f"{error}, and this machine has no replica of {name}") from None

    @property
    def replica(self) -> Replica:
        """The journal, which follows the log."""
        assert isinstance(self._journal, Replica)
        return self._journal

    def append_all(self, episodes: Iterable[Episode]) -> int:
        """Store several episodes in one transaction, each completely or not at all.

        On return the server has them and the replica shows them. If the server is away, they are on this machine's disk
        and are sent when it is back; until then nobody sees them.

        Returns:
            Number of entries added; 0 for what was known, or waits.

        Raises:
            BadFile: An episode cannot be stored.
            StorageError: The server refused it, or it cannot be written to the disk; the memory is as before.
        """
        self._before()
        fresh: dict[str, dict[str, Any]] = {}
        for episode in self._cleaned(episodes):
            if not self.knows(episode.uid) and episode.uid not in fresh:
                fresh[episode.uid] = documents.to_document(episode, 0) | {"scope": self.name}
        if not fresh:
            return 0
        stored = self._outbox.send(self.name, [new_row(EPISODES, document) for document in fresh.values()])
        if stored is None:
            return 0
        self._show(stored)
        return sum(len(one["steps"]) for one, row in zip(fresh.values(), stored.rows, strict=True) if row is not None)

    def found(self, state: State, find: Callable[[Any, State], Hits], search: NeighbourSearch) -> tuple[Neighbour, ...]:
        """Search as `Scope.found` does. The server is not asked."""
        self._before()
        return super().found(state, find, search)

    def refresh(self) -> bool:
        """Ask the server for what others wrote; return whether there was anything. Without a server: what is here."""
        changed = super().refresh()
        with contextlib.suppress(ServerUnreachable):
            changed |= self.follow(self._log)
        return changed

    def follow(self, log: Log) -> bool:
        """Take in what the log has that the replica has not; return whether there was anything.

        Raises:
            Away: The server is away.
        """
        changed = self.replica.catch_up(log)
        if changed:
            self._snapshot_if_due()
        return changed

    def verify(self) -> Verification:
        """Read every row on the server, and say what is damaged; nothing is changed.

        Raises:
            Away: The server is away.
        """
        problems: list[str] = []
        with tempfile.TemporaryDirectory(dir=self.folder) as name:
            path = Path(name) / JOURNAL
            with self._log.all_of(self.name) as (counters, rows), files.new_file(path) as fd:
                write_journal(fd, self.name, counters, rows, problems.append)
            checked = verify(path)
        return Verification(
            f"{self._log.server.where}, {self.name}", checked.lines, checked.episodes, checked.entries,
            checked.damaged + len(problems), checked.unreadable, checked.unfinished, (*problems, *checked.problems),
            checked.kept,
        )  # fmt: skip

    # ------------------------------------------------------------------------------------- details

    def _make_journal(self, path: Path, listener: Scope, **options: Any) -> Replica:
        return Replica(path, listener, log=self._log, scope=self.name, **options)

    def _make_records(self, *arguments: Any) -> KeptRecords:
        return SharedRecords(*arguments, outbox=self._outbox, show=self._show)

    def _show(self, stored: Stored) -> None:
        """Show what was just stored, after what others stored before it; if the server is away now, it comes later."""
        with self._lock:
            self._own = {id(row.made) for row in stored.rows if row is not None}
            try:
                taken = self.replica.take_in(stored)
            finally:
                self._own = set()
        if taken:
            self._snapshot_if_due()
            return
        with contextlib.suppress(ServerUnreachable):
            self.follow(self._log)

    def _snapshot_if_due(self) -> None:
        self._save_snapshot(after=max(_SNAPSHOT_ROWS, len(self._entries) // 5))


class SharedRecords(KeptRecords):
    """The kept records of a shared scope."""

    def __init__(self, *arguments: Any, outbox: Outbox, show: Callable[[Stored], None]) -> None:
        super().__init__(*arguments)
        self._outbox = outbox
        self._show = show

    def add_all(self, records: Iterable[Kept]) -> list[Kept]:
        """Keep several records in one transaction. If the server is away, they are sent when it is back."""
        clean = self._cleaned(records)
        known = {record.uid for record in self.all()}
        fresh = {record.uid: record for record in clean if record.uid not in known}
        rows = [new_row(KEPT, to_document(record)) for record in fresh.values()]
        stored = self._outbox.send(self._name, rows) if rows else None
        if stored is not None:
            self._show(stored)
        return clean
