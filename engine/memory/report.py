"""Statistics of a scope, and a search for steps by words."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from engine.jitrl import discounted_returns
from engine.memory.disk import document as documents
from engine.memory.disk.document import FORGOTTEN
from engine.memory.scope import SNAPSHOT, Scope
from engine.memory.upkeep import UNDO, set_aside
from engine.records import Episode, Kept


def summary(scope: Scope) -> dict[str, Any]:
    """Return the numbers that a list of scopes shows."""
    best: float | None = None
    top: float | None = None
    last: float | None = None
    for number in range(scope.episode_count):
        score, max_score = scope.score(number)
        best = score if best is None else max(best, score)
        top, last = max_score, score
    return {
        "scope": scope.name,
        "episodes": scope.episode_count,
        "entries": len(scope),
        "kept": len(scope.records),
        "best_score": best,
        "last_score": last,
        "max_score": top,
        "bytes": _size(scope.path),
        "path": str(scope.path),
    }


def statistics(scope: Scope) -> dict[str, Any]:
    """Return all statistics of a scope. This reads every episode."""
    provenances: Counter[str] = Counter()
    by: dict[str, Counter[str]] = {"agents": Counter(), "models": Counter(), "token_schemes": Counter()}
    scores, wins, losses = [], 0, 0
    for episode in scope.episodes():
        provenances.update(step.provenance for step in episode.steps)
        by["agents"][episode.agent] += 1
        by["models"][episode.model] += 1
        by["token_schemes"][str(episode.token_scheme)] += 1
        scores.append(episode.score)
        wins += episode.outcome == "won"
        losses += episode.outcome == "lost"
    forgotten = provenances.pop(FORGOTTEN, 0)
    return {
        **summary(scope),
        "mean_score": sum(scores) / len(scores) if scores else None,
        "won": wins,
        "lost": losses,
        "distinct": scope.counts(),
        "provenance": dict(provenances.most_common()),
        "forgotten": forgotten,
        "kept_by": dict(Counter(f"{one.agent} {one.kind}" for one in scope.records.all()).most_common()),
        **{name: dict(counter.most_common()) for name, counter in by.items()},
        "index_bytes": scope.index_bytes(),
        "snapshot_bytes": _size(scope.folder / SNAPSHOT),
        "undo": (scope.folder / UNDO).exists(),
        "set_aside": [path.name for path in set_aside(scope.folder) if path.name != UNDO],
        "unreadable": scope.unreadable,
        "notices": list(scope.notices),
    }


@dataclass(frozen=True, slots=True)
class Hit:
    """A remembered step found by a search.

    Attributes:
        scope: Name of the scope.
        entry: Entry number, as `forget` takes it.
        episode: Number of the episode within the scope.
        step: Index of the step within the episode.
        g: Discounted return of the step.
        state: Text of the state.
        history: Text of the history.
        next_state: Text of the state that followed.
    """

    scope: str
    entry: int
    episode: int
    step: int
    action: str
    g: float
    reward: float
    provenance: str
    state: str
    history: str
    next_state: str


@dataclass(frozen=True, slots=True)
class KeptHit:
    """A kept record as it is listed.

    Attributes:
        kept: Id of its document, which `forget` takes.
        record: All of it.
    """

    scope: str
    kept: int
    record: Kept


def find_kept(scope: Scope, words: Sequence[str] = ()) -> list[KeptHit]:
    """Return the kept records whose kind, text or data hold all words, oldest first. Case does not matter."""
    wanted = [word.lower() for word in words]
    found = []
    for doc_id, record in scope.records.entered():
        text = "\n".join(
            (record.kind, record.text, json.dumps(record.data, ensure_ascii=False), record.provenance)
        ).lower()
        if all(word in text for word in wanted):
            found.append(KeptHit(scope.name, doc_id, record))
    return found


def search(scope: Scope, words: Sequence[str], *, gamma: float) -> Iterator[Hit]:
    """Yield the steps that hold all words in their state, history, action or provenance, newest first.

    Case does not matter. Damaged episodes are skipped.
    """
    wanted = [word.lower() for word in words]
    for document in scope.documents(reversed(scope.doc_ids())):
        if document is None:
            continue
        for hit in reversed(hits_of(scope.name, documents.to_episode(document), document["first"], gamma)):
            text = "\n".join((hit.state, hit.history, hit.action, hit.provenance)).lower()
            if all(word in text for word in wanted):
                yield hit


def hits_of(scope: str, episode: Episode, first: int, gamma: float) -> list[Hit]:
    """Return an episode's steps without forgotten ones; `first` is the entry number of its step 0."""
    returns = discounted_returns([step.reward for step in episode.steps], gamma)
    following = [*(step.state for step in episode.steps[1:]), episode.final]
    return [
        Hit(
            scope, first + t, episode.number, t, step.action, float(g), step.reward, step.provenance,
            step.state.text, step.state.history, after.text,
        )
        for t, (step, g, after) in enumerate(zip(episode.steps, returns, following, strict=True))
        if step.provenance != FORGOTTEN
    ]  # fmt: skip


def _size(path: os.PathLike[str]) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
