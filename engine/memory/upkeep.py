"""Maintenance of a scope: forgetting and undoing it, checking, compacting, copying, correcting."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import secrets
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine import limits
from engine.disk import open_binary, read_bytes
from engine.errors import BadFile, FailingAs, StorageError, UsageError
from engine.limits import LARGEST_REWARD, LINE
from engine.memory.corrections import KIND, describe
from engine.memory.disk import document as documents
from engine.memory.disk import files, frame
from engine.memory.disk.database import JournalDB
from engine.memory.disk.document import EPISODES, FORGOTTEN, KEPT
from engine.memory.disk.files import JOURNAL
from engine.memory.disk.frame import Document
from engine.memory.disk.journal import Journal
from engine.memory.kept import to_kept
from engine.memory.scope import LEARNT, SNAPSHOT, Scope
from engine.memory.search import Correction
from engine.memory.store import Memory
from engine.memory.view import emptied
from engine.paths import ensure_folder, slug
from engine.records import Episode, Kept

UNDO = "forgotten.undo"
LAST_FORGET = "last-forget.json"
_UNDO_FORMAT = "jitrl-forgotten"
_UNDO_WITH_KEPT = "jitrl-forgotten-2"
"""Where kept records are among what was forgotten; versions that know none leave such a file as it is."""

# --------------------------------------------------------------------------------------- forgetting


@dataclass(frozen=True, slots=True)
class ForgetPlan:
    """What `forget` removes from one scope.

    Attributes:
        scope: Name of the scope.
        whole: Ids of the documents that are removed.
        parts: By document id: the steps that are emptied.
        episodes: Numbers of the episodes that are removed.
        entries: Entry numbers of all steps that are removed or emptied.
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
    """Plan to forget everything that matches at least one of the arguments. Nothing is changed.

    With a whole episode goes what was kept of it.

    Args:
        scope: The scope.
        episodes: Numbers or uids of episodes.
        entries: Entry numbers of steps.
        provenance: Provenance of steps: "agent", "human" or "imported:NAME".
        kept: Ids or uids of kept records, or "all".
    """
    whole, parts, numbers, gone = [], {}, [], []
    uids: set[str] = set()
    for document in scope.documents():
        if document is None:
            continue
        doc_id, first, steps = document.doc_id, document["first"], document["steps"]
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
    """Carry out a plan; return how many entries and kept records were forgotten.

    `undo` with the same `operation` reverts it.

    Emptied steps keep their position and their reward, so the returns of the other steps do not change.

    Raises:
        StorageError: Writing failed; nothing was forgotten.
    """
    db = scope.db
    with db.writing():
        before, kept_before = len(scope), len(scope.records)
        # What another process forgot already is not there.
        old = {n: one for n in (*plan.whole, *plan.parts) if (one := db.get(doc_id=n)) is not None}
        records = {n: one for n in plan.kept if (one := db.table(KEPT).get(doc_id=n)) is not None}
        changes = {n: _emptied(one, plan.parts[n]) if n in plan.parts else None for n, one in old.items()}
        if old or records:
            _write_undo(scope, operation, old, records)
            db.change({EPISODES: changes, KEPT: dict.fromkeys(records)})
            _drop_snapshot(scope)
        return before - len(scope), kept_before - len(scope.records)


def undo(scope: Scope, operation: str) -> tuple[int, int]:
    """Revert the `forget` with this `operation`; return how many entries and kept records were restored.

    Raises:
        UsageError: There is nothing to restore, or another `forget` came after it.
        BadFile: The undo file is damaged.
    """
    path = scope.folder / UNDO
    db = scope.db
    with db.writing():
        before, kept_before = len(scope), len(scope.records)
        named, old, records = _read_undo(path)
        if named != operation:
            raise UsageError(f"nothing to put back in {scope.name}: something else was forgotten since")
        live = set(scope.doc_ids())
        back = {
            doc_id: document
            for doc_id, document in old.items()
            if doc_id in live or not scope.knows(str(document.get("uid")))
        }
        known = {record.uid for record in scope.records.all()}
        kept = {doc_id: one for doc_id, one in records.items() if one.get("uid") not in known}
        db.change({EPISODES: back, KEPT: kept})
        with contextlib.suppress(OSError):
            path.unlink()
        return len(scope) - before, len(scope.records) - kept_before


def forget_all(memory: Memory, plans: Iterable[tuple[Scope, ForgetPlan]]) -> tuple[int, int]:
    """Carry out plans for several scopes as one operation; return how many entries and kept records were forgotten.

    Raises:
        StorageError: Writing failed.
    """
    plans = list(plans)
    operation = secrets.token_hex(8)
    note = {"operation": operation, "scopes": [plan.scope for _, plan in plans]}
    with FailingAs(StorageError, f"cannot write to {memory.folder}", "nothing was forgotten"):
        files.replace_file(memory.folder / LAST_FORGET, [json.dumps(note).encode() + b"\n"])
    return _summed(forget(scope, plan, operation) for scope, plan in plans)


def undo_last(memory: Memory) -> tuple[int, int]:
    """Revert the last `forget_all`; return how many entries and kept records were restored.

    Raises:
        UsageError: There is nothing to restore.
        BadFile: The note about the last operation, or an undo file, is damaged.
    """
    path = memory.folder / LAST_FORGET
    try:
        note = json.loads(read_bytes(path))
        operation, names = str(note["operation"]), list(map(str, note["scopes"]))
    except FileNotFoundError:
        raise UsageError("nothing was forgotten that could be put back") from None
    except (OSError, ValueError, KeyError, TypeError):
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
        emptied(step) if t in chosen else step
        for t, step in enumerate(episode.steps)
    ]
    return documents.to_document(dataclasses.replace(episode, steps=tuple(steps)), document["first"])


def _write_undo(
    scope: Scope, operation: str, old: Mapping[int, Document], records: Mapping[int, Document]
) -> None:
    lines: list[dict[str, Any]] = [{"format": _UNDO_WITH_KEPT if records else _UNDO_FORMAT, "operation": operation}]
    lines += ({"id": doc_id, "document": document} for doc_id, document in old.items())
    lines += ({"kept": doc_id, "document": document} for doc_id, document in records.items())
    with FailingAs(StorageError, f"cannot write to {scope.folder}", "nothing was forgotten"):
        files.replace_file(scope.folder / UNDO, (frame.encode(frame.json_bytes(line)) for line in lines))


def _read_undo(path: Path) -> tuple[str, dict[int, Document], dict[int, Document]]:
    """Return the operation, the documents of episodes and those of kept records."""
    try:
        with open_binary(path) as file:
            head, *items = map(frame.parse_line, file)
        if head["format"] not in (_UNDO_FORMAT, _UNDO_WITH_KEPT):
            raise BadFile("another format")
        found = [{int(one[name]): one["document"] for one in items if name in one} for name in ("id", "kept")]
        for document in found[0].values():
            documents.check(document)
        for document in found[1].values():
            to_kept(document)
        return str(head["operation"]), found[0], found[1]
    except FileNotFoundError:
        raise UsageError("nothing was forgotten that could be put back") from None
    except OSError as error:
        raise BadFile(f"cannot read {path}: {error.strerror}; it is left as it is") from None
    except (BadFile, LookupError, TypeError, ValueError, AttributeError):
        raise BadFile(f"{path} is damaged; it is left as it is") from None


def _drop_snapshot(scope: Scope) -> None:
    """Delete the snapshots, because they still hold the forgotten steps."""
    for path in (scope.folder / SNAPSHOT, *scope.folder.glob(f"{LEARNT}*")):
        with contextlib.suppress(OSError):
            path.unlink()


# ----------------------------------------------------------------------------------------- checking


@dataclass(frozen=True, slots=True)
class Verification:
    """Result of checking every byte of a journal.

    Attributes:
        lines: Whole lines after the header.
        episodes: Episodes that can be read.
        entries: Their steps, forgotten ones excluded.
        kept: Kept records that can be read.
        damaged: Stretches of damaged lines, which are lost.
        unreadable: Documents that are neither episodes nor kept records.
        unfinished: Bytes of an unfinished write at the end; the next write moves them to a separate file.
        problems: A sentence for each problem.
    """

    path: str
    lines: int
    episodes: int
    entries: int
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
    """Read a journal from the first byte to the last. Nothing is changed.

    Raises:
        BadFile: The file is no journal, or one of a newer version.
    """
    problems: list[str] = []
    with JournalDB(Journal(path, notice=problems.append, read_only=True)) as db:
        journal = db.journal
        unfinished = len(journal.tail(LINE))
        if unfinished:
            problems.append(f"{path} ends in an unfinished write of {unfinished} bytes")
        lines = {place.offset for places in journal.position.places.values() for place in places.values()}
        episodes = entries = records = 0
        unreadable: list[str] = []
        for one in read_stored(db, unreadable.append):
            if isinstance(one, Kept):
                records += 1
            else:
                episodes += 1
                entries += sum(step.provenance != FORGOTTEN for step in one.steps)
        return Verification(
            str(path), len(lines), episodes, entries, journal.damaged, len(unreadable), unfinished,
            (*problems, *unreadable), records,
        )  # fmt: skip


def read_stored(db: JournalDB, tell: Callable[[str], None]) -> Iterator[Episode | Kept]:
    """Yield the episodes of a journal, then its kept records. What is neither is left out, and told."""
    for table, made in ((EPISODES, documents.to_episode), (KEPT, to_kept)):
        for document in db.table(table):
            try:
                yield made(document)
            except BadFile as error:
                tell(f"document {document.doc_id} of {table} in {db.journal.path} was left out: {error}")


# --------------------------------------------------------------------------------------- compacting


def set_aside(folder: Path) -> list[Path]:
    """Return the files that recovery, migration and forgetting left in a scope's folder."""
    return sorted(
        path for path in folder.iterdir()
        if path.is_file() and (path.suffix in (".bak", ".bin", ".undo") or path.name.endswith(".part"))
    )  # fmt: skip


def compact(scope: Scope, *, purge: bool = False) -> tuple[int, int]:
    """Rewrite the journal; return its size in bytes before and after.

    Args:
        scope: The scope.
        purge: Also delete the files of `set_aside`. Forgetting can then no longer be undone.
    """
    db = scope.db
    with db.writing():
        before = scope.path.stat().st_size if scope.path.exists() else 0
        db.change({})
        if purge:
            for path in set_aside(scope.folder):
                with contextlib.suppress(OSError):
                    path.unlink()
        return before, scope.path.stat().st_size


# ------------------------------------------------------------------------------------------ copying


def copy_until(scope: Scope, memory: Path, entry: int, keeps: Callable[[Kept], bool]) -> None:
    """Write the episodes of a scope that were stored before an entry into another, new memory.

    Episodes and records have the same numbers and ids there. So do those that are stored next.

    Args:
        scope: The scope. It is only read.
        memory: Folder of the new memory, which must have no such scope.
        entry: Entry number of the first step that is not copied.
        keeps: Takes a kept record of the scope and returns whether it is copied.

    Raises:
        StorageError: It cannot be written.
    """
    episodes, number = [], 1
    for document in scope.documents():
        if document is not None and document["first"] < entry:
            episodes.append(document)
            number = max(number, document["number"] + 1)
    copied = {doc_id for doc_id, record in scope.records.entered() if keeps(record)}
    records = [document for document in scope.db.table(KEPT) if document.doc_id in copied]
    folder = ensure_folder(ensure_folder(memory) / slug(scope.name))
    about = {"scope": scope.name, "next_entry": entry, "next_number": number}
    with JournalDB(Journal(folder / JOURNAL, about=about), default_table=EPISODES) as db:
        db.insert_multiple(episodes)
        db.table(KEPT).insert_multiple(records)


# --------------------------------------------------------------------------------------- correcting


def correct(
    scope: Scope, corrections: Mapping[int, Correction], *, session: str = "", at: float | None = None
) -> list[Kept]:
    """Store corrections of steps, by entry number, in place of earlier ones. They are on disk on return.

    An empty `Correction()` takes earlier ones back.

    Args:
        session: The session in which it was made, "" for none.
        at: Unix time. By default now, but not before that of a correction that is there, even if the clock was set
            back, because the latest one counts.

    Raises:
        UsageError: There is no such step, or a number is not finite or too large. Nothing is stored.
        StorageError: They could not be written; memory is as before.
    """
    when = at
    if when is None:
        when = max([time.time(), *(record.at for record in scope.records.all() if record.kind == KIND)])
    return scope.records.add_all([_record(scope, entry, one, session, when) for entry, one in corrections.items()])


def _record(scope: Scope, entry: int, correction: Correction, session: str, at: float) -> Kept:
    found = scope.located(entry)
    if found is None:
        raise UsageError(f"there is no entry {entry} in {scope.name}; it may have been forgotten")
    for value in (correction.g, correction.gain):
        if value is not None and not limits.is_number(value, LARGEST_REWARD):
            raise UsageError(f"a return must be a number between {-LARGEST_REWARD:g} and {LARGEST_REWARD:g}")
    episode, step = found
    data: dict[str, Any] = {"step": step, "pinned": correction.pinned}
    data |= {name: value for name in ("g", "gain") if (value := getattr(correction, name)) is not None}
    return Kept(
        KIND,
        f"edited by a person: {describe(correction)}, step {step + 1} of episode {episode.number}",
        data,
        agent="person",
        session=session,
        episode=episode.number,
        episode_uid=episode.uid,
        at=at,
        provenance="human",
        uid=uuid.uuid4().hex,
    )
