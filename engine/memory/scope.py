"""The memory of one scope (a game, or a site and page pattern): its journal, its index, and searches in it."""

from __future__ import annotations

import bisect
import contextlib
import dataclasses
import hashlib
import itertools
import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tinydb.table import Document

from engine import limits
from engine.errors import BadFile
from engine.memory.corrections import Corrections
from engine.memory.disk import document as documents
from engine.memory.disk.database import JournalDB
from engine.memory.disk.document import EPISODES, KEPT
from engine.memory.disk.files import JOURNAL
from engine.memory.disk.frame import LineSpan, Position
from engine.memory.disk.journal import Journal, Listener
from engine.memory.exact import snapshot
from engine.memory.exact.entries import NOTHING, Entries
from engine.memory.exact.retrieval import Hits, closest, neighbours, returns
from engine.memory.kept import KeptRecords
from engine.memory.redact import Redactor
from engine.memory.search import EVERYTHING, Correction, MemoryFilter, NeighbourSearch, Retriever
from engine.memory.table import StepTable, columns_of
from engine.records import Episode, Neighbour, State, Step

SNAPSHOT = "index.snapshot"
LEARNT = "learnt.snapshot"
"""What estimators learnt; see `engine.values.learnt`."""
_SNAPSHOT_ROWS = 5000
"""Rows that are read from the journal without a noticeable delay; only larger memories need a snapshot."""
_TEXTS = 20_000
"""Texts of states that are cached in process memory."""


class Scope(Listener):
    """One scope of a memory. Every method may be called from any thread.

    Args:
        folder: Its folder, created if missing.
        name: For instance "game/zork1-b732a93a".
        redactor: Removes secrets from episodes that are stored and states that are searched for.
        lifted: See `engine.memory.search.ScopeRules`.
        notice: Called with a sentence when something was recovered or left out.

    Attributes:
        records: What methods keep here besides episodes.
        notices: All sentences that `notice` was called with.
        restored: Number of rows that the snapshot holds. The others were read from the journal.

    Raises:
        BadFile: The journal is of another format, its first line is damaged, or its version is newer.
    """

    def __init__(
        self,
        folder: Path,
        name: str,
        *,
        redactor: Redactor | None = None,
        lifted: Callable[[Retriever], Retriever] | None = None,
        notice: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.name = name
        self.folder = folder
        self.lifted = lifted
        self.notices: list[str] = []
        self._tell_user = notice
        self._redactor = redactor or Redactor()
        self._entries = Entries()
        self._unreadable = 0
        self._own: set[int] = set()
        self._texts: dict[int, str] = {}
        self._cached: tuple[int, str, Episode] | None = None
        self.restored = 0
        self._retrievals, self._retrieval_s = 0, 0.0
        self._journal = self._make_journal(
            folder / JOURNAL,
            self,
            about={"scope": name},
            notice=self._notify,
        )
        self._lock = self._journal.lock
        self._db = JournalDB(self._journal, default_table=EPISODES)
        self.records = self._make_records(self._db, self._redactor, name, self._notify)
        self._corrections = Corrections(
            self.records, self.first_entry, lambda: (self.generation, self.episode_count)
        )

    # ------------------------------------------------------------------------------- public methods

    @property
    def path(self) -> Path:
        """The journal file."""
        return self._journal.path

    @property
    def journal(self) -> Journal:
        """The file, for what must know where lines are in it."""
        return self._journal

    @property
    def db(self) -> JournalDB:
        """All that is stored, as a TinyDB database: `scope.db.search(where("agent") == "jitrl")`.

        Documents of episodes are in the table `episodes`, which is the default one, kept records in `kept`. What other
        processes wrote is read when this is asked for, and before each change.
        """
        self._journal.refresh()
        return self._db

    @property
    def unreadable(self) -> int:
        """Number of documents that were left out because they are no episodes."""
        return self._unreadable

    def __len__(self) -> int:
        """Return the number of remembered steps."""
        return self._entries.live

    @property
    def next_entry(self) -> int:
        """The entry number of the next step that will be remembered."""
        return self._entries.next_entry

    @property
    def next_number(self) -> int:
        """The number that the next remembered episode gets."""
        return self._entries.next_number

    @property
    def episode_count(self) -> int:
        """The number of remembered episodes."""
        return len(self._entries.first)

    def hide(self, secrets: Collection[str]) -> None:
        """Take these texts, too, out of whatever is stored or searched for from now on."""
        self._redactor.learn(secrets)

    def append(self, episode: Episode) -> int:
        """Store an episode. It is on disk when this returns.

        Secrets are removed and overlong texts are cut. An episode with number 0 gets the next free number.

        Returns:
            Number of entries added; 0 if an episode with this uid is already stored.

        Raises:
            BadFile: It cannot be stored: it has no uid, no steps, or a number that is not finite or too large.
            StorageError: Writing failed; the memory is as before.
        """
        return self.append_all([episode])

    def append_all(self, episodes: Iterable[Episode]) -> int:
        """Store several episodes with one write, as `append` does. Each is stored completely or not at all."""
        clean = self._cleaned(episodes)
        with self._db.writing():
            entries = self._entries
            entry, number = entries.next_entry, entries.next_number
            new: list[dict[str, Any]] = []
            fresh: set[str] = set()
            for episode in clean:
                if episode.uid in entries.uids or episode.uid in fresh:
                    continue
                fresh.add(episode.uid)
                given = episode.number or number
                if not (limits.is_count(number) and limits.is_count(entry)):
                    raise BadFile(f"the numbers of {self.name} are used up")
                named = dataclasses.replace(episode, number=given, scope=self.name)
                new.append(documents.to_document(named, entry))
                entry, number = entry + len(episode.steps), max(number, given + 1)
            before = entries.live
            self._own = set(map(id, new))
            try:
                self._db.insert_multiple(new)
            finally:
                self._own = set()
            added = self._entries.live - before
        self._save_snapshot(after=max(_SNAPSHOT_ROWS, len(self._entries) // 5))
        return added

    def neighbours(self, state: State, *, k: int, r: float, gamma: float, **more: Any) -> tuple[Neighbour, ...]:
        """Return what `retrieve` does; `more` are further attributes of a `NeighbourSearch`."""
        return self.retrieve(state, NeighbourSearch(k, r, gamma, **more))

    def retrieve(self, state: State, search: NeighbourSearch) -> tuple[Neighbour, ...]:
        """Return N(s): at most k remembered steps of similarity r or more.

        The similarity is (1 - w) J(states) + w J(histories) with w = `search.history_weight`. The most similar step
        comes first, the newest first among equals. Pinned steps of similarity r or more come besides the k.
        """
        return self.found(
            state,
            lambda entries, state: closest(entries, state, search, self.corrections(search.memory_filter)),
            search,
        )

    def found(
        self, state: State, find: Callable[[Entries, State], Hits], search: NeighbourSearch
    ) -> tuple[Neighbour, ...]:
        """Search with a given function and return its hits as neighbours.

        Args:
            state: The state to search for. Secrets are removed from it.
            find: Takes the entries and the cleaned state and returns (row, similarity) pairs. The memory is locked
                while it runs.
            search: Its `gamma` and `zero_rewards` say how the neighbours' returns are computed, its `memory_filter`
                which hits are left out and which returns are corrected.
        """
        began = time.perf_counter()
        state = self._redactor.state(state)
        with self._lock:
            self._journal.refresh()
            hits, corrections = find(self._entries, state), self.corrections(search.memory_filter)
            near = neighbours(hits, self._entries, search, corrections, self._text)
            self._retrievals += 1
            self._retrieval_s += time.perf_counter() - began
        return near

    def retrieval_time(self) -> tuple[int, float]:
        """Return the number of retrievals since the last call of this method, and the seconds they took."""
        with self._lock:
            spent = self._retrievals, self._retrieval_s
            self._retrievals, self._retrieval_s = 0, 0.0
        return spent

    def refresh(self) -> bool:
        """Read what other processes wrote; return whether there was anything. Costs one `stat` call."""
        return self._journal.refresh()

    def episodes(self) -> Iterator[Episode]:
        """Yield the episodes, oldest first. Episodes that were damaged since are skipped, with a notice."""
        return (episode for _, episode in self.entered())

    def doc_ids(self) -> list[int]:
        """Return the ids of the episodes' documents, oldest first."""
        with self._lock:
            return self._entries.doc_ids.tolist()

    def seen_until(self) -> int:
        """Read what other processes wrote, and return `next_entry`. No server is asked."""
        with self._lock:
            self._journal.refresh()
            return self._entries.next_entry

    def stored_since(self, entry: int) -> list[tuple[int, str]]:
        """Return the episodes stored from an entry number on, oldest first: entry number of step 0, and uid."""
        with self._lock:
            firsts = self._entries.first
            at = bisect.bisect_left(firsts, entry)
            uids = list(itertools.islice(reversed(self._entries.uids), len(firsts) - at))
            return list(zip(firsts[at:], reversed(uids), strict=True))

    def entered(self, since: int = 0) -> Iterator[tuple[int, Episode]]:
        """Yield the episodes from an entry number on, oldest first, each with the entry number of its step 0.

        Damaged ones are skipped.
        """
        with self._lock:
            doc_ids = self._entries.doc_ids[bisect.bisect_left(self._entries.first, since) :].tolist()
        for document in self.documents(doc_ids):
            if document is not None:
                yield document["first"], documents.to_episode(document)

    def documents(self, doc_ids: Iterable[int] | None = None) -> Iterator[Document | None]:
        """Yield the documents of episodes, of all without `doc_ids`; None, with a notice, for one damaged since."""
        for doc_id in self.doc_ids() if doc_ids is None else doc_ids:
            document = None
            try:
                document = self._db.get(doc_id=doc_id)
            except BadFile as error:
                self._notify(str(error))
            yield document

    def episode(self, uid: str) -> Episode | None:
        """Return the episode with this uid, None if there is none."""
        with self._lock:
            number = self._entries.uids.get(uid)
            return None if number is None else self._episode(number)

    def kept(self, episode: Episode) -> tuple[Episode, int]:
        """Return an episode with the number and scope it was stored with, and the entry number of its step 0.

        An episode that is not stored is returned unchanged, with -1.
        """
        with self._lock:
            place = self._entries.uids.get(episode.uid)
            if place is None:
                return episode, -1
            named = dataclasses.replace(episode, number=self._entries.numbers[place], scope=self.name)
            return named, int(self._entries.first[place])

    def first_entry(self, uid: str) -> int | None:
        """Return the entry number of step 0 of the episode with this uid, None if it is not stored."""
        with self._lock:
            place = self._entries.uids.get(uid)
            return None if place is None else int(self._entries.first[place])

    def located(self, entry: int) -> tuple[Episode, int] | None:
        """Return the episode of an entry and the index of its step; None if there is none or it was forgotten."""
        with self._lock:
            row = self._entries.row(entry)
            if row is None or self._entries.columns["state"][row] == NOTHING:
                return None
            return self._episode(self._entries.columns["episode"][row]), self._entries.step(row)

    def corrections(self, memory_filter: MemoryFilter = EVERYTHING) -> Mapping[int, Correction]:
        """Return what persons corrected, by entry number, as far as a filter shows it."""
        with self._lock:
            return self._corrections.seen_with(memory_filter)

    def table(self, gamma: float, zero_rewards: str = "zero") -> StepTable:
        """Return all remembered steps as columns.

        Args:
            gamma: Discount of the returns.
            zero_rewards: How a later reward of 0 counts in a return, as in `NeighbourSearch`.
        """
        with self._lock:
            self._journal.refresh()
            corrections = self.corrections()
            g = returns(self._entries, NeighbourSearch(1, 0.0, gamma, zero_rewards=zero_rewards), corrections)
            return columns_of(self._entries, g, corrections)

    def text(self, entry: int) -> str:
        """Return the text of the state of an entry, "" if there is none."""
        with self._lock:
            row = self._entries.row(entry)
            return "" if row is None or self._entries.columns["state"][row] == NOTHING else self._text(row)

    def score(self, place: int) -> tuple[float, float | None]:
        """Return the score and the highest reachable score of the episode at an index; index 0 is the oldest."""
        with self._lock:
            top = self._entries.max_scores[place]
            return self._entries.scores[place], None if math.isnan(top) else top

    def knows(self, uid: str) -> bool:
        """Whether an episode with this uid is stored."""
        return uid in self._entries.uids

    def entry(self, entry: int) -> Step | None:
        """Return the step with this entry number, None if there is none or it was forgotten."""
        found = self.located(entry)
        return None if found is None else found[0].steps[found[1]]

    def fingerprint(self, entry: int) -> str:
        """Return a digest of the episodes stored below an entry number, made of their lines as they are on the disk."""
        with self._lock:
            journal = self._journal
            whole = hashlib.sha256(f"{self.name}\0{self.generation}\0{journal.header.get('schema')}".encode())
            for doc_id in self._entries.doc_ids[: bisect.bisect_left(self._entries.first, entry)]:
                whole.update(b"\0%d\0" % doc_id)
                whole.update(journal.line(journal.position.places[EPISODES][doc_id]))
            return whole.hexdigest()

    def index_bytes(self) -> int:
        """Return the bytes that the index takes in memory."""
        with self._lock:
            return self._entries.nbytes()

    def counts(self) -> dict[str, int]:
        """Return how many distinct states, histories and actions are remembered."""
        with self._lock:
            entries = self._entries
            return {
                "states": len(entries.states),
                "histories": len(entries.histories),
                "actions": len(entries.actions),
            }

    @property
    def generation(self) -> str:
        """Identifier of the journal's contents. It changes when the journal is rewritten; rows then change too."""
        return self._journal.position.generation

    def close(self) -> None:
        """Save a snapshot if it pays, and close the files; calling this twice is safe."""
        if self._journal.exists:
            self._save_snapshot(after=max(_SNAPSHOT_ROWS // 4, len(self._entries) // 50))
        self._journal.close()

    # --------------------------------------------------------------------- listener of the journal

    def resume(self, header: Mapping[str, Any]) -> Position | None:
        """Load the index from the snapshot if it belongs to this journal, and return the position it covers."""
        found = snapshot.load(self.folder / SNAPSHOT)
        if found is None or found[0].get("generation") != header.get("generation"):
            return None
        meta, arrays = found
        try:
            position = snapshot.unpack(self._entries, meta, arrays)
        except (KeyError, ValueError, TypeError):
            self._entries = Entries()
            return None
        self.restored = len(self._entries)
        return position

    def reset(self, about: Mapping[str, Any]) -> None:
        """Drop all rows: the journal is being read from its start."""
        self._entries = Entries(documents.counter(about, "next_entry", 0), documents.counter(about, "next_number", 1))
        self.restored = self._unreadable = 0
        self._texts = {}
        self._cached = None

    def put(self, table: str, doc_id: int, document: dict[str, Any], place: LineSpan, line: bytes) -> None:
        """Add a document to the index."""
        if table != EPISODES:
            return
        try:
            own = id(document) in self._own
            self._entries.add(doc_id, document, place.offset, line, checked=own)
        except BadFile as error:
            self._unreadable += 1
            self._notify(f"document {doc_id} of {self.path} was left out: {error}")

    def about(self) -> Mapping[str, Any]:
        """Return what a rewritten journal must keep: the next entry and episode numbers, so none is reused."""
        return {"next_entry": self._entries.next_entry, "next_number": self._entries.next_number}

    # ------------------------------------------------------------------------------------- details

    def _make_journal(self, path: Path, listener: Scope, **options: Any) -> Journal:
        return Journal(path, listener, **options)

    def _make_records(self, *arguments: Any) -> KeptRecords:
        return KeptRecords(*arguments)

    def _cleaned(self, episodes: Iterable[Episode]) -> list[Episode]:
        """Return episodes without secrets."""
        return list(map(self._redactor.episode, episodes))

    def _save_snapshot(self, after: int) -> None:
        """Write the snapshot if at least `after` rows are missing from it. Failure to write is ignored."""
        with self._lock:
            position = self._journal.position
            fresh = len(self._entries) - self.restored
            plain = set(position.places) <= {EPISODES, KEPT} and not self._unreadable
            if fresh < after or not plain or self._journal.damaged:
                return
            with contextlib.suppress(OSError):
                snapshot.save(self.folder / SNAPSHOT, self._entries, position)
            self.restored = len(self._entries)

    def _notify(self, text: str) -> None:
        self.notices.append(text)
        self._tell_user(text)

    def _text(self, row: int) -> str:
        """Return the text of a row's state, from the cache or the journal."""
        entries = self._entries
        number = entries.columns["text"][row]
        text = self._texts.get(number)
        if text is None:
            text = entries.read_text(number, self._journal.line)
            if text is None:
                episode = self._episode(entries.columns["episode"][row])
                text = episode.steps[entries.step(row)].state.text
            if len(self._texts) >= _TEXTS:
                self._texts.clear()
            self._texts[number] = text
        return text

    def _episode(self, number: int) -> Episode:
        """Return an episode by its index. The last one is cached."""
        generation = self.generation
        if self._cached is None or self._cached[:2] != (number, generation):
            found = self._db.get(doc_id=self._entries.doc_ids[number])
            if found is None:
                raise BadFile(f"an episode is no longer in {self.path}")
            self._cached = (number, generation, documents.to_episode(found))
        return self._cached[2]
