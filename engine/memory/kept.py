"""What methods keep between episodes besides the episodes: plain records in a table of the scope's journal.

Each record is a document of its own, appended once and never changed. `docs/memory-format.md` describes its fields.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from engine import limits
from engine.codec import from_plain, to_plain
from engine.errors import BadFile
from engine.limits import DATA, DATA_DEPTH, NAME, TEXT, short_text
from engine.memory.disk.document import KEPT, PROVENANCE, clipped
from engine.records import Kept

if TYPE_CHECKING:
    from engine.memory.disk.database import JournalDB
    from engine.memory.disk.frame import Document
    from engine.memory.redact import Redactor


class KeptRecords:
    """The records kept in one scope. Every method may be called from any thread.

    Args:
        name: Of the scope.
        tell: Takes a sentence about a record that was left out.
    """

    def __init__(
        self, db: JournalDB, redactor: Redactor, name: str, tell: Callable[[str], None]
    ) -> None:
        self._db = db
        self._table = db.table(KEPT)
        self._journal = db.journal
        self._redactor = redactor
        self._name = name
        self._tell = tell
        self._generation = ""
        self._read: dict[int, Kept | None] = {}

    def __len__(self) -> int:
        """Return how many documents there are; costs one stat."""
        self._journal.refresh()
        return len(self._table)

    @property
    def seen(self) -> int:
        """How many documents there were when the file was last looked at."""
        return len(self._table)

    def entered(self) -> list[tuple[int, Kept]]:
        """Return the records with the ids of their documents, oldest first. A damaged one is left out and told."""
        with self._journal.lock:
            self._journal.refresh()
            return self.known()

    def known(self) -> list[tuple[int, Kept]]:
        """Return what `entered` does, without looking for what other processes wrote."""
        with self._journal.lock:
            generation = self._journal.position.generation
            if generation != self._generation:
                self._generation, self._read = generation, {}
            for doc_id in self._journal.ids(KEPT):
                if doc_id not in self._read:
                    self._read[doc_id] = self._readable(doc_id)
            return [(doc_id, record) for doc_id, record in self._read.items() if record is not None]

    def all(self) -> list[Kept]:
        """Return the records, oldest first."""
        return [record for _, record in self.entered()]

    def add(self, record: Kept) -> Kept:
        """Keep a record; on return it is on the disk.

        Secrets are taken out and overlong texts clipped. A record without a uid gets one made of its content and its
        episode; one whose uid is there already is not stored again.

        Returns:
            The record as it is kept.

        Raises:
            BadFile: It cannot be stored: no kind, data that are no JSON values, or too much of them.
            StorageError: It could not be written; what was stored before is intact.
        """
        return self.add_all([record])[0]

    def add_all(self, records: Iterable[Kept]) -> list[Kept]:
        """Keep several records with one write, as `add` does; each of them wholly or not at all."""
        clean = self._cleaned(records)
        with self._db.writing():
            known = {record.uid for record in self.all()}
            fresh = {record.uid: record for record in clean if record.uid not in known}
            self._table.insert_multiple(map(to_document, fresh.values()))
        return clean

    def _cleaned(self, records: Iterable[Kept]) -> list[Kept]:
        """Return records as they are stored: without secrets, within the limits, with a uid."""
        plain = (dataclasses.replace(one, data=to_plain(one.data), scope=self._name) for one in records)
        return [_identified(bounded(self._redactor.kept(record))) for record in plain]

    def _readable(self, doc_id: int) -> Kept | None:
        try:
            document = self._table.get(doc_id=doc_id)
            return None if document is None else to_kept(document)
        except BadFile as error:
            self._tell(f"kept record {doc_id} of {self._journal.path} was left out: {error}")
            return None


def to_kept(document: Document) -> Kept:
    """Return the record of a document.

    Raises:
        BadFile: It is none.
    """
    record = bounded(from_plain(Kept, document))
    if not record.uid:
        raise BadFile("a kept record lacks its uid")
    return record


def to_document(record: Kept) -> Document:
    """Return the document of a record that is within the limits."""
    return {spec.name: getattr(record, spec.name) for spec in dataclasses.fields(Kept)}


def bounded(record: Kept) -> Kept:
    """Return a record, whose data are values of JSON, with texts clipped to the limits, without control characters.

    Raises:
        BadFile: It cannot be stored at all: no kind, a wrong provenance, data that are no object or too much.
    """
    if not 0 < len(record.kind) <= NAME or not record.kind.isprintable():
        raise BadFile(f"a kept record needs a kind of 1 to {NAME} printable characters")
    if len(record.uid) > NAME or (record.uid and not record.uid.isprintable()):
        raise BadFile(f"the uid of a kept record should be at most {NAME} printable characters")
    if not PROVENANCE.fullmatch(record.provenance):
        raise BadFile(f"{short_text(record.provenance)} is no provenance: agent, human or imported:NAME")
    if not limits.is_number(record.at) or not limits.is_whole(record.episode):
        raise BadFile("the time or the episode of a kept record is too large, or not a finite number")
    if not isinstance(record.data, dict) or _depth(record.data) > DATA_DEPTH:
        raise BadFile(f"the data of a kept record should be an object of at most {DATA_DEPTH} levels")
    data = _clipped(record.data)
    if (size := len(json.dumps(data))) > DATA:
        raise BadFile(f"the data of a kept record take {size:,} bytes, more than {DATA:,}")
    return dataclasses.replace(
        record,
        text=clipped(record.text, TEXT),
        data=data,
        scope=clipped(record.scope, NAME),
        agent=clipped(record.agent, NAME),
        model=clipped(record.model, NAME),
        session=clipped(record.session, NAME),
        episode_uid=clipped(record.episode_uid, NAME),
    )


def _depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_depth, inner), default=0)


def _clipped(value: Any) -> Any:
    """Return JSON values with their texts clipped."""
    if isinstance(value, str):
        return clipped(value, TEXT)
    if isinstance(value, dict):
        return {clipped(key, NAME): _clipped(item) for key, item in value.items()}
    return [_clipped(item) for item in value] if isinstance(value, list) else value


def _identified(record: Kept) -> Kept:
    if record.uid:
        return record
    what = [record.agent, record.session, record.episode_uid, record.kind, record.text, record.data]
    digest = blake2b(json.dumps(what, sort_keys=True).encode("utf-8", "replace"), digest_size=16)
    return dataclasses.replace(record, uid=digest.hexdigest())
