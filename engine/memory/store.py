"""The face of memory: one folder, a scope for each game or kind of page.

memory = Memory(saves / "memory")
scope = memory.scope("game/zork1-b732a93a")
scope.append(episode)
scope.neighbours(state, k=10, r=0.95, gamma=0.5)
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine import limits
from engine.disk import printable
from engine.errors import JitrlError, StorageError, UsageError
from engine.memory.search import ScopeRules
from engine.paths import ensure_folder, slug

if TYPE_CHECKING:
    from engine.memory.scope import Scope

__all__ = ["Memory", "Scope"]


class Memory:
    """All scopes under one folder. Scopes are opened when they are asked for.

    Args:
        folder: Usually `saves/memory`; made (mode 0700) when something is opened in it.
        secrets: Values that must never be stored; by default those of environment variables that are
            named like secrets.
        notice: Called with a sentence when something was recovered or left out.
        rules: Returns what has to be known of a scope's kind of environment, by the scope's name.
    """

    def __init__(
        self,
        folder: Path,
        *,
        secrets: Iterable[str] | None = None,
        notice: Callable[[str], None] = lambda text: None,
        rules: Callable[[str], ScopeRules] = lambda name: ScopeRules(),
    ) -> None:
        self.folder = Path(folder)
        self._secrets = None if secrets is None else tuple(secrets)
        self._notice = notice
        self._rules = rules
        self._open: dict[str, Scope] = {}
        self._lock = threading.Lock()

    @property
    def place(self) -> str:
        """Where it is, as messages say it."""
        return printable(self.folder)

    @property
    def address(self) -> str:
        """The address of a shared one, "" of one on disk."""
        return ""

    def scope(self, name: str) -> Scope:
        """Return a scope by name, opened; a new one is empty and leaves no file before its first episode.

        Raises:
            UsageError: The name cannot be one: it is empty, too long, or holds control characters.
            BadFile: Its journal is foreign, damaged in its first line, or from a newer version.
            StorageError: It cannot be read, or its folder cannot be made.
        """
        from engine.memory.redact import Redactor
        from engine.redaction import secrets_of

        if not limits.is_name(name):
            raise UsageError(
                f"{limits.short_text(name)} cannot be the name of a scope: that is a printable text of at most "
                f"{limits.NAME} characters"
            )
        with self._lock:
            if name not in self._open:
                folder = self.folder / slug(name)
                if folder.is_symlink():
                    raise StorageError(f"{folder} is a link; memory only uses real folders. Remove it")
                ensure_folder(self.folder)
                ensure_folder(folder)
                secrets = secrets_of(os.environ) if self._secrets is None else self._secrets
                rules = self._rules(name)
                redactor = Redactor(secrets, forms=rules.forms)
                self._open[name] = self._opened(
                    folder, name, redactor=redactor, lifted=rules.lifted, notice=self._notice
                )
            return self._open[name]

    def scopes(self) -> list[str]:
        """Return the names of the scopes that have a journal, sorted. Unreadable ones are left out."""
        return sorted(name for name, error in self.inspect() if error is None)

    def inspect(self) -> list[tuple[str, str | None]]:
        """Return (name, None) for each scope, and (folder, what is wrong) for those that cannot be read."""
        from engine.memory.disk.frame import read_header

        found: list[tuple[str, str | None]] = []
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            for folder in sorted(self.folder.iterdir()):
                path = folder / "episodes.jnl"
                if folder.is_symlink() or not path.is_file() or not path.stat().st_size:
                    continue
                try:
                    header = read_header(path)
                    name = header["about"].get("scope")
                    found.append((name, None) if limits.is_name(name) else (folder.name, "it has no name"))
                except JitrlError as error:
                    found.append((folder.name, str(error)))
        return found

    def _opened(self, folder: Path, name: str, **options: Any) -> Scope:
        from engine.memory.scope import Scope

        return Scope(folder, name, **options)

    def hurry(self) -> None:
        """Wait for nobody any more, because the session ends."""

    def close(self) -> None:
        """Close all scopes; safe to call twice."""
        with self._lock:
            for scope in self._open.values():
                scope.close()
            self._open.clear()

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def __getattr__(name: str) -> Any:
    """Load what needs numpy when it is asked for."""
    if name == "Scope":
        from engine.memory.scope import Scope

        return Scope
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
