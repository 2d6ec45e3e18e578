"""Reads what is left in a damaged journal, and writes it to a new one.

A journal whose first line is intact needs none of this: it opens, and what is damaged in it is left out. Here every
line stands for itself, because each has its own checksum. So what is whole is found whatever became of the rest.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from engine import limits
from engine.errors import BadFile, StorageError, UsageError
from engine.memory.disk import document as documents
from engine.memory.disk import files, frame
from engine.memory.disk.document import EPISODES, FORGOTTEN, KEPT
from engine.memory.disk.frame import Document
from engine.memory.kept import to_kept


@dataclass(slots=True)
class Recovered:
    """What was found in a damaged journal, and where it is now.

    Attributes:
        path: The journal that was read.
        written: The new one.
        aside: Where the damaged file is kept if the new one took its place, "" otherwise.
        scope: Name of the scope, as the first line or else an episode has it.
        header: Whether the first line was intact.
        episodes: Episodes that were found.
        entries: Their steps, forgotten ones excluded.
        kept: Kept records that were found.
        others: Documents of other tables.
        lost: Bytes that no checksum confirms.
        places: How many stretches they make.
        problems: A sentence for each document that was found and left out.
    """

    path: str
    written: str
    aside: str = ""
    scope: str = ""
    header: bool = False
    episodes: int = 0
    entries: int = 0
    kept: int = 0
    others: int = 0
    lost: int = 0
    places: int = 0
    problems: list[str] = field(default_factory=list)


def recover(path: Path, to: Path | None = None) -> Recovered:
    """Write a new journal with everything that can still be read in one.

    Args:
        path: The damaged journal. It is not changed.
        to: The new file. With None it takes the place of the damaged one, which is kept beside it as `damaged-*.bak`.

    Raises:
        UsageError: The new file exists already, or it should take the place of one that is sound.
        BadFile: There is nothing of a memory in the file, or it is from a newer version.
        StorageError: It cannot be read, or the new one cannot be written.
    """
    target = path if to is None else to
    if to is not None and to.exists():
        raise UsageError(f"{to} is there already; recovering does not overwrite it")
    if not path.exists():  # else locking would make a file beside it
        raise UsageError(f"there is no {path}")
    try:
        with files.locked(path.with_name("lock")) if to is None else contextlib.nullcontext():
            return _recover(path, target, secrets.token_hex(8))
    except FileExistsError:
        raise UsageError(f"{target} is there already; recovering does not overwrite it") from None
    except FileNotFoundError as error:
        raise UsageError(f"there is no {error.filename}") from None
    except OSError as error:
        raise StorageError(f"cannot recover {path}: {error.strerror or error}; it is left as it is") from None


def _recover(path: Path, target: Path, generation: str) -> Recovered:
    partial = target.with_name(f"{target.name}.{os.getpid()}.part")
    found = Recovered(str(path), str(target))
    try:
        with path.open("rb") as file, files.new_file(partial, replace=True) as fd:
            files.write_lines(fd, _Finder(path, file, generation, found).new_lines())
            os.fsync(fd)
        if not found.episodes + found.kept + found.others:
            raise BadFile(f"there is nothing of a memory in {path}; it is left as it is")
        if target != path:
            os.link(partial, target)
        elif found.header and not (found.lost or found.problems):  # a new one would hold what this one shows
            raise UsageError(f"{path} is sound; there is nothing to recover")
        else:
            found.aside = str(path.with_name(f"damaged-{generation}.bak"))
            os.link(path, found.aside)
            os.replace(partial, path)
        files.sync_folder(target.parent)
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()
    return found


class _Finder:
    """Goes through a file from its first byte to its last, and yields what belongs into a new journal.

    Args:
        found: What was found is counted in it.
    """

    def __init__(self, path: Path, file: IO[bytes], generation: str, found: Recovered) -> None:
        self._path = path
        self._file = file
        self._generation = generation
        self._found = found
        self._header: dict[str, Any] = {}
        self._known: set[tuple[str, Any]] = set()
        self._ids: defaultdict[str, set[int]] = defaultdict(set)
        self._next_entry = 0

    def new_lines(self) -> Iterator[bytes]:
        """Yield the lines of the new journal, the header first."""
        begun = False
        for payload in self._payloads():
            for table, doc_id, document in self._documents(payload):
                if not begun:
                    begun = True
                    about, next_ids = self._header.get("about", {}), self._header.get("next_ids", {})
                    scope = self._found.scope = str(about.get("scope") or document.get("scope") or "")
                    about = {**about, "scope": scope}
                    yield frame.header_line(about, next_ids, round(time.time(), 3), self._generation)
                yield frame.document_line(table, doc_id, document)

    # ------------------------------------------------------------------------------------- details

    def _payloads(self) -> Iterator[bytes]:
        """Yield every payload that a checksum confirms, in the order of the file."""
        good = first = True
        for line in iter(lambda: self._file.readline(limits.LINE), b""):
            payload = frame.decode(line.removesuffix(b"\n"))
            if payload is None:
                self._found.lost += len(line)
                self._found.places += good
            else:
                self._found.header |= first and frame.parsed_header(payload) is not None
                yield payload
            good, first = payload is not None, False

    def _documents(self, payload: bytes) -> Iterator[tuple[str, int, Document]]:
        """Yield the documents of a payload that belong into the new journal. A header is looked at and kept in mind."""
        header = frame.parsed_header(payload)
        if header is not None:
            frame.check_schema(header, self._path)
            self._header = self._header or header
            return
        found = frame.parsed_documents(payload)
        if found is None:
            self._found.problems.append("a line that holds no documents was left out")
            return
        table = found[0]
        for doc_id, document in found[1].items():
            try:
                good = self._fitting(table, document)
            except BadFile as error:
                self._found.problems.append(f"document {doc_id} of {table} was left out: {error}")
                continue
            if good is not None:
                ids = self._ids[table]
                number = max(ids) + 1 if doc_id in ids else doc_id
                ids.add(number)
                yield table, number, good

    def _fitting(self, table: str, document: Document) -> Document | None:
        """Return a document as it fits behind those before it; None if it was found before.

        Raises:
            BadFile: It is no document of its table.
        """
        if table == EPISODES:
            documents.check(document)
        else:
            limits.check_json(document, "it")
        if table == KEPT:
            to_kept(document)
        uid, found = document.get("uid"), self._found
        key = (table, uid if isinstance(uid, str) else frame.json_bytes(document))
        if key in self._known:
            return None
        self._known.add(key)
        if table != EPISODES:
            found.kept += table == KEPT
            found.others += table != KEPT
            return document
        first = max(document["first"], self._next_entry)
        if not limits.is_count(first):
            raise BadFile("its entry number is too large")
        self._next_entry = first + len(document["steps"])
        found.episodes += 1
        found.entries += sum(step.get("provenance") != FORGOTTEN for step in document["steps"])
        return {**document, "first": first}
