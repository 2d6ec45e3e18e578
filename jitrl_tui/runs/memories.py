"""The memories that a saves folder has, and how two memories differ, as lines for people."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import JitrlError
from engine.memory.disk.files import JOURNAL
from jitrl_tui.runs.view import signed
from jitrl_tui.system.output import one_line

if TYPE_CHECKING:
    from engine.memory.exchange import Difference, ValueDifference

MOST_VALUES = 20
"""Most actions that are listed with what two memories say of them."""


@dataclass(frozen=True, slots=True)
class KnownMemory:
    """A memory of a saves folder.

    Attributes:
        folder: Where it lies.
        title: Whose it is.
        size: Bytes of its journals.
        changed: Unix time of the last change.
    """

    folder: Path
    title: str
    size: int
    changed: float

    @property
    def line(self) -> str:
        """Whose it is, its size, and when it was last changed."""
        when = time.strftime("%d %b %Y %H:%M", time.localtime(self.changed))
        return f"{self.title} · {self.size / 1000:,.0f} kB · {when}"


def list_memories(saves: Path, but: Path | None = None) -> list[KnownMemory]:
    """Return the shared memory and those that sessions have for themselves, the one changed last first.

    Args:
        but: The folder of a memory that is left out.
    """
    from engine.session import store as sessions

    folders = {saves / "memory": "shared memory"}
    for folder in (saves / "sessions").glob("[!.]*/memory"):  # few sessions have one; the others are not read
        with contextlib.suppress(JitrlError):  # the session is damaged
            session = sessions.load(folder.parent)
            folders[folder] = f"{session.name} ({session.config.game})"
    left_out = but.resolve() if but is not None else None
    found = []
    for folder, title in folders.items():
        journals = [path.stat() for path in folder.glob(f"*/{JOURNAL}")]
        if journals and folder.resolve() != left_out:
            changed = max(stat.st_mtime for stat in journals)
            found.append(KnownMemory(folder, title, sum(stat.st_size for stat in journals), changed))
    return sorted(found, key=lambda one: -one.changed)


def differences(one: Difference, a: str, b: str) -> Iterator[str]:
    """Yield how a scope differs between two memories with these names: numbers of episodes, then values."""
    yield (
        f"{one.scope}: {one.same} episodes alike, {len(one.changed)} changed, "
        f"only {a} {len(one.only_a)}, only {b} {len(one.only_b)}"
    )
    if one.values:
        yield f"  mean of the points that followed × steps, {a} and {b}:"
    for value in one.values[:MOST_VALUES]:
        yield f"  {_side(value.a, value.count_a):>12} {_side(value.b, value.count_b):>12}   {_named(value)}"
    if len(one.values) > MOST_VALUES:
        yield f"  … and {len(one.values) - MOST_VALUES} more"


def _side(mean: float | None, count: int) -> str:
    return "–" if mean is None else f"{signed(mean, 1)} ×{count}"


def _named(value: ValueDifference) -> str:
    place = f", at {one_line(value.place)}" if value.place else ""
    return f"{one_line(value.action)}{place}"
