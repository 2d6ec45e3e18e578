"""Opens an estimator that plans: from what was kept of an earlier opening, if it fits, and the episodes after that.

What is kept was learnt from remembered episodes alone, before the first decision, so an estimator decides the same
whether it was opened with it or without. It lies beside the journal, so that a large memory opens quickly.

The file holds one framed line of JSON, then the learnt objects as a pickle. The line says from what they were learnt,
by which code and settings, and has the SHA-256 of the pickle. If any of it does not fit, the file is not used.

A pickle can run code when it is read. This one cannot: only a few plain collections are admitted, and classes from
modules that the caller names. No function is admitted.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import gc
import hashlib
import io
import json
import logging
import os
import pickle
import platform
import sys
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import engine
from engine import limits
from engine.disk import open_descriptor
from engine.errors import BadFile
from engine.memory.disk import files, frame
from engine.memory.scope import LEARNT, Scope
from engine.memory.search import EVERYTHING
from engine.memory.view import ScopeView
from engine.paths import code_digest
from engine.settings import Settings
from engine.settings.plan import OpeningNumbers, PlanNumbers

if TYPE_CHECKING:
    from engine.values.graph import GraphEstimator

FORMAT = "jitrl-learnt"
VERSION = 1
_HEAD = 1 << 16
"""Most bytes of the first line."""
_LARGEST = 4 << 30
"""Most bytes of the pickle."""
_COLLECTIONS = {
    ("collections", "Counter"): collections.Counter,
    ("collections", "defaultdict"): collections.defaultdict,
    ("collections", "deque"): collections.deque,
    ("builtins", "dict"): dict,
    ("builtins", "float"): float,
    ("builtins", "frozenset"): frozenset,
    ("builtins", "int"): int,
    ("builtins", "list"): list,
    ("builtins", "set"): set,
}
_LOG = logging.getLogger("jitrl.memory")


@dataclass(frozen=True, slots=True)
class LearntMark:
    """Which episodes of a scope something was learnt from.

    Attributes:
        entry: All that were stored below this entry number.
        digest: Of their lines in the journal, and of the corrections of their steps.
    """

    entry: int
    digest: str


def mark_of(view: ScopeView, entry: int | None = None) -> LearntMark:
    """Return the mark of the episodes below an entry number as they are stored and corrected now; None for all."""
    entry = view.scope.next_entry if entry is None else entry
    corrections = sorted(
        (number, one.gain) for number, one in view.scope.corrections(view.memory_filter).items()
        if one.gain is not None and number < entry
    )  # fmt: skip
    known = json.dumps([view.scope.fingerprint(entry), corrections])
    return LearntMark(entry, hashlib.sha256(known.encode()).hexdigest())


def load(view: ScopeView, by: str, admitted: Collection[str]) -> tuple[int, Any] | None:
    """Return what was learnt and the entry number below which it was; None if there is nothing that fits.

    Args:
        view: The memory. What was learnt of steps that the view hides does not fit.
        by: Digest of the code and the settings that learn.
        admitted: Modules whose classes may be in it. "a.b" also admits the modules in the package a.b.
    """
    path = view.scope.folder / LEARNT
    try:
        fd = open_descriptor(path, os.O_NOFOLLOW)
    except OSError:
        return None
    with os.fdopen(fd, "rb") as file:
        try:
            head = frame.parse_line(file.readline(_HEAD))
            if head["format"] != FORMAT or head["version"] != VERSION or head["by"] != by or not by:
                return None
            entry, length = head["entry"], head["length"]
            if not (limits.is_count(entry) and limits.is_count(length)) or length > _LARGEST:
                raise BadFile("it has no length")
            most = view.scope.next_entry if view.memory_filter.before is None else min(
                view.memory_filter.before, view.scope.next_entry
            )
            if view.memory_filter.without or entry > most:
                return None
            if mark_of(view, entry) != LearntMark(entry, head["learnt"]):
                return None
            body = file.read(length + 1)
            if len(body) != length or hashlib.sha256(body).hexdigest() != head["sha256"]:
                raise BadFile("its checksum is wrong")
            with without_collector():
                return entry, _Unpickler(io.BytesIO(body), admitted).load()
        except Exception as error:  # a pickle that was tampered with may raise anything
            refuse(view, f"{type(error).__name__}: {error}")
            return None


def save(view: ScopeView, mark: LearntMark, by: str, learnt: Any) -> None:
    """Keep what was learnt, unless the memory has changed since `mark` was made. Failure to write is ignored.

    Args:
        mark: The episodes it was learnt from.
        by: As for `load`.
        learnt: Plain collections, and objects of classes that `load` will admit.
    """
    path = view.scope.folder / LEARNT
    if not by or not view.scope.journal.exists or mark_of(view) != mark:
        return
    body = pickle.dumps(learnt, protocol=5)
    head = {"format": FORMAT, "version": VERSION, "by": by, "entry": mark.entry, "learnt": mark.digest,
            "length": len(body), "sha256": hashlib.sha256(body).hexdigest()}  # fmt: skip
    line = frame.encode(frame.json_bytes(head))
    with contextlib.suppress(OSError):
        for left in path.parent.glob(f"{path.name}.*.part"):  # of a process that was killed
            left.unlink()
        files.replace_file(path, (line, body), durable=False)  # not synced: `load` finds an incomplete file


def refuse(view: ScopeView, why: str) -> None:
    """Say in the log that the file is not used though it should have fitted."""
    _LOG.warning("%s is damaged and not used, so memory opens more slowly: %s", view.scope.folder / LEARNT, why)


@contextlib.contextmanager
def without_collector() -> Iterator[None]:
    """Make many objects without the garbage collector, which would look at all of them again and again."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        # Both together make all objects old ones: a few new ones do not set off a look at all of them.
        gc.freeze()
        gc.unfreeze()
        gc.enable()


class _Unpickler(pickle.Unpickler):
    """Reads a pickle of objects of admitted classes.

    Args:
        admitted: Modules, as for `load`.
    """

    def __init__(self, file: io.BytesIO, admitted: Collection[str]) -> None:
        super().__init__(file)
        self._admitted = admitted

    def find_class(self, module: str, name: str) -> Any:
        """Return an admitted class.

        Raises:
            pickle.UnpicklingError: It is not admitted.
        """
        if (module, name) in _COLLECTIONS:
            return _COLLECTIONS[module, name]
        found = vars(sys.modules[module]).get(name) if module in sys.modules else None
        known = module != __name__ and any(module == one or module.startswith(f"{one}.") for one in self._admitted)
        if not known or not isinstance(found, type) or found.__module__ != module:
            raise pickle.UnpicklingError(f"{limits.short_text(f'{module}.{name}')} is not admitted")
        return found


_LEARNS = ("jitrl.py", "memory", "records", "settings/plan.py", "values")
"""The code on which it depends what is learnt from a journal."""
_ADMITTED = ("engine.records", "engine.settings.plan", "engine.values")


def open_estimator(
    kind: type[GraphEstimator],
    memory: Scope | ScopeView,
    settings: Settings,
    numbers: PlanNumbers | None = None,
    opening: OpeningNumbers | None = None,
) -> GraphEstimator:
    """Return an estimator of a kind that has learnt what memory has.

    Args:
        memory: The whole memory, or a view that shows it as it was when a session began.
        opening: When what was learnt is kept. It is kept only of a whole memory, not of a view or a part of one.
    """
    numbers, opening = numbers or PlanNumbers(), opening or OpeningNumbers()
    view = memory if isinstance(memory, ScopeView) else ScopeView(memory)
    by = _by(settings, numbers)
    mark = mark_of(view) if view.memory_filter == EVERYTHING else None
    with without_collector():
        found = load(view, by, _ADMITTED)
        if found is not None and not kind.takes(found[1]):
            refuse(view, "it is of something else")
            found = None
        since, known = found or (0, None)
        begun = time.perf_counter()
        estimator = kind(view.entered(since), settings, numbers, known)
    if mark is not None and time.perf_counter() - begun > opening.relived_s:
        save(view, mark, by, estimator.learnt)
    return estimator


def _by(settings: Settings, numbers: PlanNumbers) -> str:
    """Return a digest of the code and the settings that learn, "" if the code cannot be read."""
    root = Path(engine.__file__ or "").parent
    code = [code_digest(root / name) for name in _LEARNS]
    said = [code, platform.python_version(), settings.gamma, dataclasses.asdict(numbers)]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest() if all(code) else ""
