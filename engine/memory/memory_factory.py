"""Opens a memory by what names it: a folder, or the address of a shared one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from engine.memory.search import ScopeRules
from engine.memory.store import Memory


def open_memory(
    where: str | Path,
    saves: Path,
    *,
    follow: bool = True,
    notice: Callable[[str], None] = lambda text: None,
    rules: Callable[[str], ScopeRules] = lambda name: ScopeRules(),
) -> Memory:
    """Return the memory in a folder, or at an address.

    Args:
        where: A folder as a path, or an address as a text, as in `engine.settings.address`.
        saves: The saves folder; replicas of a shared memory lie in it.
        follow: Whether a shared memory shows what others store while it is open.
        notice, rules: As of `Memory`.

    Raises:
        UsageError, MissingError, BadFile: The address cannot be used; the sentence says why. Nothing was written.
    """
    if isinstance(where, str):
        from engine.memory.shared.memory import SharedMemory

        return SharedMemory(where, saves, follow=follow, notice=notice, rules=rules)
    return Memory(where, notice=notice, rules=rules)


def check_address(where: str, saves: Path | None = None) -> None:
    """Make sure that the memory at an address can be used; raises as `open_memory`.

    Args:
        where: The address.
        saves: The saves folder. If it has replicas of this memory, the server may be away.
    """
    from engine.memory.shared.memory import FOLDER
    from engine.memory.shared.server import DatabaseServer, SharedConnection

    line = SharedConnection(DatabaseServer(where))
    if saves is None:
        with line.use():
            pass
    else:
        line.server.reach(line, saves / FOLDER)
    line.close()
