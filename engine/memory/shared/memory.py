"""A memory on a PostgreSQL server, with the face of `engine.memory.Memory`.

memory = SharedMemory("postgresql://db.example.org/jitrl", saves)
scope = memory.scope("game/zork1-b732a93a")
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from engine.memory.search import ScopeRules
from engine.memory.shared.follower import Follower
from engine.memory.shared.log import Log
from engine.memory.shared.outbox import Outbox
from engine.memory.shared.scope import SharedScope
from engine.memory.shared.server import DatabaseServer, ServerUnreachable, SharedConnection
from engine.memory.store import Memory
from engine.paths import ensure_folder, slug
from engine.redaction import secrets_of

FOLDER = "shared"
"""Name of the folder in the saves folder that has the replicas."""


class SharedMemory(Memory):
    """All scopes in one space of a server. Each that is asked for gets a replica in the saves folder.

    Args:
        address: See `engine.settings.address`.
        saves: The saves folder. Replicas, writes that wait, and what was forgotten last lie in its folder `shared`.
        follow: Whether a thread follows what others write. Without it, scopes are as they were when they were opened,
            or last refreshed.
        secrets, notice, rules: As of `Memory`. The password of the connection is a secret, too.

    Raises:
        UsageError: The address is none, or has a password in it.
        MissingError: psycopg is not installed, or the server cannot be used.
        BadFile: The database is none of ours, or from a newer version.
    """

    def __init__(
        self,
        address: str,
        saves: Path,
        *,
        follow: bool = True,
        secrets: Iterable[str] | None = None,
        notice: Callable[[str], None] = lambda text: None,
        rules: Callable[[str], ScopeRules] = lambda name: ScopeRules(),
    ) -> None:
        self.server = DatabaseServer(address)
        self._line = SharedConnection(self.server)
        shared = Path(saves) / FOLDER
        away = self.server.reach(self._line, shared)  # what is wrong with the address is told before a folder is made
        self._notices: deque[str] = deque()
        self._user_notice = notice
        known = secrets_of(os.environ) if secrets is None else secrets
        mine = ensure_folder(ensure_folder(shared) / self.server.identity)
        super().__init__(
            mine / (slug(self.server.space) if self.server.space else "scopes"),
            secrets=[*known, *filter(None, [self.server.password])], notice=self._notify, rules=rules,
        )  # fmt: skip
        self._log = Log(self.server, self._line)
        self._follower: Follower | None = None
        self._outbox = Outbox(self.folder / "outbox", self._log, self._notify, away=away)
        if self.server.plain:
            notice(f"the connection to {self.server.where} is not encrypted; PGSSLMODE=verify-full demands that it is")
        if not away:
            self.server.remember(shared)
        if len(self._outbox) and not away:
            with contextlib.suppress(ServerUnreachable):
                self._outbox.deliver()
        if follow:
            self._follower = Follower(self._line, self._scopes_open, self._outbox, self._notify)
            self._follower.start()
            self._outbox.followed = True

    @property
    def place(self) -> str:
        """The address, as messages say it."""
        return self.server.where

    @property
    def address(self) -> str:
        """The address."""
        return self.server.address

    @property
    def waiting(self) -> int:
        """Number of writes that wait on this machine until the server is back."""
        return len(self._outbox)

    @property
    def log(self) -> Log:
        """The log, for code that carries whole scopes."""
        return self._log

    def inspect(self) -> list[tuple[str, str | None]]:
        """Return each scope on the server, with what is wrong with it; if it is away, each that this machine has."""
        try:
            return self._log.scopes()
        except ServerUnreachable:
            return super().inspect()

    def hurry(self) -> None:
        """Wait for the server only for a moment from now on. What it does not take at once is sent by a later run."""
        self._line.hurry()

    def close(self) -> None:
        """End the follower, close all scopes and connections; safe to call twice."""
        if self._follower is not None:
            self._follower.close()
            self._follower = None
        super().close()
        self._outbox.close()
        self._line.close()
        self._pass_notices_on()

    # ------------------------------------------------------------------------------------- details

    def _opened(self, folder: Path, name: str, **options: Any) -> SharedScope:
        return SharedScope(folder, name, log=self._log, outbox=self._outbox, before=self._pass_notices_on, **options)

    def _scopes_open(self) -> list[SharedScope]:
        return [scope for scope in list(self._open.values()) if isinstance(scope, SharedScope)]

    def _notify(self, text: str) -> None:
        """Tell a sentence: at once, or, if the follower has it, when the memory is used next."""
        if self._follower is not None and threading.current_thread() is self._follower.thread:
            self._notices.append(text)
        else:
            self._user_notice(text)

    def _pass_notices_on(self) -> None:
        """Tell what the follower had to tell."""
        while self._notices:
            self._user_notice(self._notices.popleft())
