"""Opens an estimator that plans: from what was kept of an earlier opening, if it fits, and the episodes after that.

What is kept was learnt from remembered episodes alone, before the first decision, so an estimator decides the same
whether it was opened with it or without.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import platform
import time
from pathlib import Path
from typing import TYPE_CHECKING

import engine
from engine.memory import learnt
from engine.memory.scope import Scope
from engine.memory.search import CLEAR
from engine.memory.view import ScopeView
from engine.paths import code_digest
from engine.settings import Settings
from engine.settings.plan import OpeningNumbers, PlanNumbers

if TYPE_CHECKING:
    from engine.values.graph import GraphEstimator

_LEARNS = ("jitrl.py", "memory", "records", "settings/plan.py", "values")
"""The code on which it depends what is learnt from a journal."""
_ADMITTED = ("engine.records", "engine.settings.plan", "engine.values")


def opened(
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
    mark = learnt.marked(view) if view.lens == CLEAR else None
    with learnt.uncollected():
        found = learnt.load(view, by, _ADMITTED)
        if found is not None and not kind.takes(found[1]):
            learnt.refuse(view, "it is of something else")
            found = None
        since, known = found or (0, None)
        begun = time.perf_counter()
        estimator = kind(view.entered(since), settings, numbers, known)
    if mark is not None and time.perf_counter() - begun > opening.relived_s:
        learnt.save(view, mark, by, estimator.learnt)
    return estimator


def _by(settings: Settings, numbers: PlanNumbers) -> str:
    """Return a digest of the code and the settings that learn, "" if the code cannot be read."""
    root = Path(engine.__file__ or "").parent
    code = [code_digest(root / name) for name in _LEARNS]
    said = [code, platform.python_version(), settings.gamma, dataclasses.asdict(numbers)]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest() if all(code) else ""
