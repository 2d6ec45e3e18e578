"""Taking things out of a scope and putting them back, checking a journal, writing it anew."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.errors import BadFile, StorageError, UsageError
from engine.memory import document as documents
from engine.memory import files, frame
from engine.memory.document import FORGOTTEN
from engine.memory.journal import LINE_LIMIT
from engine.memory.kept import TABLE as KEPT
from engine.memory.kept import to_kept
from engine.memory.reader import Document, Place, Reader, Schema
from engine.memory.scope import SNAPSHOT, TABLE, Scope
from engine.memory.store import Memory
from engine.records import State, Step

UNDO = "forgotten.undo"
LAST_FORGET = "last-forget.json"
_UNDO_FORMAT = "jitrl-forgotten"
_UNDO_WITH_KEPT = "jitrl-forgotten-2"
"""Where kept records are among what was forgotten; versions that know none leave such a file as it is."""

# --------------------------------------------------------------------------------------- forgetting


@dataclass(frozen=True, slots=True)
class ForgetPlan:
    """What would be forgotten in one scope.

    Attributes:
        scope: Its name.
        whole: Ids of the documents that go altogether.
        parts: Steps that are emptied, by document id.
        episodes: Numbers of the episodes that go altogether.
        entries: Entry numbers of all that go.
        kept: Ids of the kept records that go.
    """

    scope: str
    whole: tuple[int, ...]
    parts: Mapping[int, tuple[int, ...]]
    episodes: tuple[int, ...]
    entries: tuple[int, ...]
    kept: tuple[int, ...] = ()


def plan_forget(
    scope: Scope,
    *,
    episodes: Collection[str] = (),
    entries: Collection[int] = (),
    provenance: str | None = None,
    kept: Collection[str] = (),
) -> ForgetPlan:
    """Return what forgetting would take out: what is named by any of the arguments.

    With a whole episode goes what was kept of it.

    Args:
        episodes: Numbers or uids.
        entries: Entry numbers.
        provenance: "agent", "human" or "imported:NAME".
        kept: Ids or uids of kept records, or "all".
    """
    whole, parts, numbers, gone = [], {}, [], []
    uids: set[str] = set()
    for doc_id in scope.doc_ids():
        document = _readable(scope, doc_id)
        if document is None:
            continue
        first, steps = document["first"], document["steps"]
        all_of_it = str(document["number"]) in episodes or document["uid"] in episodes
        chosen = [
            t
            for t, step in enumerate(steps)
            if (of := step.get("provenance", "agent")) != FORGOTTEN
            and (all_of_it or first + t in entries or of == provenance)
        ]
        if not chosen:
            continue
        gone += [first + t for t in chosen]
        left = sum(step.get("provenance") != FORGOTTEN for step in steps) - len(chosen)
        if left:
            parts[doc_id] = tuple(chosen)
        else:
            whole.append(doc_id)
            numbers.append(document["number"])
            uids.add(document["uid"])
    records = [
        doc_id
        for doc_id, record in scope.records.entered()
        if "all" in kept or str(doc_id) in kept or record.uid in kept
        or record.episode_uid in uids or record.provenance == provenance
    ]  # fmt: skip
    return ForgetPlan(scope.name, tuple(whole), parts, tuple(numbers), tuple(gone), tuple(records))


def forget(scope: Scope, plan: ForgetPlan, operation: str) -> tuple[int, int]:
    """Take out what the plan says; return how many entries and kept records went. `undo` puts it back.

    Emptied steps keep their place and their reward, so that the returns of the others stay what they were.

    Raises:
        StorageError: It could not be written; nothing was taken out.
    """
    journal = scope.journal
    with journal.writing():
        before, kept_before = len(scope), len(scope.records)
        changes: dict[int, Document | None] = dict.fromkeys(plan.whole)
        old: dict[int, Document] = {}
        records = {n: one for n in plan.kept if (one := journal.document(KEPT, n)) is not None}
        for doc_id in (*plan.whole, *plan.parts):
            document = journal.document(TABLE, doc_id)
            if document is None:
                changes.pop(doc_id, None)  # somebody else forgot it already
                continue
            old[doc_id] = document
            if doc_id in plan.parts:
                changes[doc_id] = _emptied(document, plan.parts[doc_id])
        if old or records:
            _write_undo(scope, operation, old, records)
            journal.rewrite({TABLE: changes, KEPT: dict.fromkeys(records)})
            _drop_snapshot(scope)
        return before - len(scope), kept_before - len(scope.records)


def undo(scope: Scope, operation: str) -> tuple[int, int]:
    """Put back what `forget` took out in `operation`; return how many entries and kept records came back.

    Raises:
        UsageError: That is not what was forgotten last here.
    """
    path = scope.folder / UNDO
    with scope.journal.writing():
        before, kept_before = len(scope), len(scope.records)
        named, old, records = _read_undo(path)
        if named != operation:
            raise UsageError(f"nothing to put back in {scope.name}: something else was forgotten since")
        live = set(scope.journal.ids(TABLE))
        back = {
            doc_id: document
            for doc_id, document in old.items()
            if doc_id in live or not scope.knows(str(document.get("uid")))
        }
        known = {record.uid for record in scope.records.all()}
        kept = {doc_id: one for doc_id, one in records.items() if one.get("uid") not in known}
        scope.journal.rewrite({TABLE: back, KEPT: kept})
        with contextlib.suppress(OSError):
            path.unlink()
        return len(scope) - before, len(scope.records) - kept_before


def forget_all(memory: Memory, plans: Iterable[tuple[Scope, ForgetPlan]]) -> tuple[int, int]:
    """Carry out plans for several scopes as one operation; return how many entries and kept records went."""
    plans = list(plans)
    operation = secrets.token_hex(8)
    note = {"operation": operation, "scopes": [plan.scope for _, plan in plans]}
    try:
        files.replace_file(memory.folder / LAST_FORGET, [json.dumps(note).encode() + b"\n"])
    except OSError as error:
        raise StorageError(
            f"cannot write to {memory.folder}: {error.strerror}; nothing was forgotten"
        ) from None
    return _summed(forget(scope, plan, operation) for scope, plan in plans)


def undo_last(memory: Memory) -> tuple[int, int]:
    """Put back what the last `forget_all` took out; return how many entries and kept records came back.

    Raises:
        UsageError: There is nothing to put back.
    """
    path = memory.folder / LAST_FORGET
    try:
        note = json.loads(path.read_bytes())
        operation, names = str(note["operation"]), list(map(str, note["scopes"]))
    except FileNotFoundError:
        raise UsageError("nothing was forgotten that could be put back") from None
    except (ValueError, KeyError, TypeError):
        raise BadFile(f"{path} is damaged; nothing was put back") from None
    counts = _summed(undo(memory.scope(name), operation) for name in names)
    with contextlib.suppress(OSError):
        path.unlink()
    return counts


def _summed(counts: Iterable[tuple[int, int]]) -> tuple[int, int]:
    done = list(counts)
    return sum(entries for entries, _ in done), sum(records for _, records in done)


def _emptied(document: Document, chosen: Collection[int]) -> Document:
    episode = documents.to_episode(document)
    steps = [
        Step(State("", ()), "", step.reward, step.env_reward, step.score, FORGOTTEN) if t in chosen else step
        for t, step in enumerate(episode.steps)
    ]
    return documents.to_document(dataclasses.replace(episode, steps=tuple(steps)), document["first"])


def _readable(scope: Scope, doc_id: int) -> Document | None:
    with contextlib.suppress(BadFile):
        document = scope.journal.document(TABLE, doc_id)
        if document is not None:
            documents.check(document)
            return document
    return None


def _write_undo(
    scope: Scope, operation: str, old: Mapping[int, Document], records: Mapping[int, Document]
) -> None:
    def lines() -> Iterator[bytes]:
        known = _UNDO_WITH_KEPT if records else _UNDO_FORMAT
        yield frame.encode(json.dumps({"format": known, "operation": operation}).encode())
        for doc_id, document in old.items():
            yield frame.encode(json.dumps({"id": doc_id, "document": document}).encode())
        for doc_id, document in records.items():
            yield frame.encode(json.dumps({"kept": doc_id, "document": document}).encode())

    try:
        files.replace_file(scope.folder / UNDO, lines())
    except OSError as error:
        raise StorageError(
            f"cannot write to {scope.folder}: {error.strerror}; nothing was forgotten"
        ) from None


def _read_undo(path: Path) -> tuple[str, dict[int, Document], dict[int, Document]]:
    """Return the operation, the documents of episodes and those of kept records."""
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        raise UsageError("nothing was forgotten that could be put back") from None
    items: list[Any] = []
    for line in lines[:-1]:
        payload = frame.decode(line) or next((part.payload for part in frame.mend(line)), b"null")
        items.append(json.loads(payload))
    known = (_UNDO_FORMAT, _UNDO_WITH_KEPT)
    if not items or not isinstance(items[0], dict) or items[0].get("format") not in known:
        raise BadFile(f"{path} is damaged; it is left as it is")
    episodes, kept = (
        {int(item[name]): item["document"] for item in items[1:] if item and name in item}
        for name in ("id", "kept")
    )
    return str(items[0]["operation"]), episodes, kept


def _drop_snapshot(scope: Scope) -> None:
    """The snapshot still holds what was forgotten."""
    with contextlib.suppress(OSError):
        (scope.folder / SNAPSHOT).unlink()


# ----------------------------------------------------------------------------------------- checking


@dataclass(frozen=True, slots=True)
class Verification:
    """What a look at every byte of a journal found.

    Attributes:
        lines: Whole lines after the header.
        episodes: Episodes that can be read.
        entries: Their steps, forgotten ones left out.
        kept: Kept records that can be read.
        mended: Lines with a flipped bit; nothing is lost, compacting writes them anew.
        damaged: Stretches beyond mending.
        unreadable: Documents that are neither.
        unfinished: Bytes of an unfinished write at the end; the next write sets them aside.
        problems: A sentence for each of these.
    """

    path: str
    lines: int
    episodes: int
    entries: int
    mended: int
    damaged: int
    unreadable: int
    unfinished: int
    problems: tuple[str, ...]
    kept: int = 0

    @property
    def sound(self) -> bool:
        """Whether everything that was stored can be read."""
        return not (self.damaged or self.unreadable)


def verify(path: Path) -> Verification:
    """Read a journal from the first byte to the last, without changing anything.

    Raises:
        BadFile: It is no journal of ours, or one of a newer version.
    """
    looker = _Looker()
    problems: list[str] = []
    reader = Reader(path, looker, Schema(), problems.append)
    reader.load()
    try:
        reader.read_on(final=True)
        unfinished = len(reader.tail(LINE_LIMIT)) if reader.exists else 0
        if unfinished:
            problems.append(f"{path} ends in an unfinished write of {unfinished} bytes")
        return Verification(
            str(path), looker.lines, looker.episodes, looker.entries, looker.mended, reader.damaged,
            looker.unreadable, unfinished, (*problems, *looker.problems), looker.kept,
        )  # fmt: skip
    finally:
        reader.close_file()


class _Looker:
    """Listens to a reader and checks every document."""

    def __init__(self) -> None:
        self.lines = self.episodes = self.entries = self.kept = self.mended = self.unreadable = 0
        self.problems: list[str] = []
        self._last = -1

    def reset(self, about: Mapping[str, Any]) -> None:
        """Nothing to forget: a looker looks once."""

    def put(self, table: str, doc_id: int, document: Document, place: Place, line: bytes) -> None:
        """Check a document."""
        if place.offset != self._last:
            self._last = place.offset
            self.lines += 1
            self.mended += not frame.sound(line)
        try:
            if table == KEPT:
                to_kept(document)
                self.kept += 1
            if table != TABLE:
                return
            steps = documents.to_episode(document).steps
        except BadFile as error:
            self.unreadable += 1
            what = "kept record" if table == KEPT else "episode"
            self.problems.append(f"document {doc_id} of {table} is no {what}: {error}")
            return
        self.episodes += 1
        self.entries += sum(step.provenance != FORGOTTEN for step in steps)

    def about(self) -> Mapping[str, Any]:
        """Nothing is ever rewritten here."""
        return {}


# --------------------------------------------------------------------------------------- compacting


def set_aside(folder: Path) -> list[Path]:
    """Return the files that recoveries, migrations and forgetting left in a scope's folder."""
    return sorted(
        path for path in folder.iterdir()
        if path.is_file() and (path.suffix in (".bak", ".bin", ".undo") or path.name.endswith(".part"))
    )  # fmt: skip


def compact(scope: Scope, *, purge: bool = False) -> tuple[int, int]:
    """Write the journal anew; return its bytes before and after.

    Args:
        purge: Also remove what was set aside, and what `undo` would put back.
    """
    with scope.journal.writing():
        before = scope.path.stat().st_size if scope.path.exists() else 0
        scope.journal.rewrite({})
        if purge:
            for path in set_aside(scope.folder):
                with contextlib.suppress(OSError):
                    path.unlink()
        return before, scope.path.stat().st_size
