"""Neighbours by sentence embeddings, in three modes of the paper and the authors' code.

    hybrid     score (1 - w) cos(states) + w cos(histories), for steps with J(states) >= r (App. E)
    recall     score (1 - w) J(states) + w J(histories) >= r, for steps whose state or history is among the nearest
               by cosine (the authors' code)
    embedding  score (1 - w) cos(states) + w cos(histories) >= r (the ablation without Jaccard similarity)

Of a history only the facts are embedded (`texts.facts`). Each text is embedded once. The search is exact: the query is
compared with every distinct text.
"""

from __future__ import annotations

import itertools
from array import array
from typing import TYPE_CHECKING, Any

import numpy as np
from tinydb.table import Document

from engine import texts
from engine.errors import UsageError
from engine.memory.embeddings.embedding import Embedder
from engine.memory.embeddings.vectors import TextQuery, TextVectors
from engine.memory.exact.entries import NOTHING, Entries
from engine.memory.exact.retrieval import Hits, order, select
from engine.memory.scope import Scope
from engine.memory.search import NeighbourSearch
from engine.records import Neighbour, State

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int32]
    Floats = NDArray[np.float64]

MODES = ("hybrid", "recall", "embedding")

_EPISODES = 64
"""Episodes that are embedded in one call."""


class SemanticMemory:
    """A memory scope with search by embeddings. Every method may be called from any thread.

    Args:
        scope: The scope to search. It may grow, also through other processes.
        mode: One of `MODES`.
        embedder: Makes the vectors.
        pool: Mode recall: least number of steps that are taken by cosine from each index.
        times: Mode recall: steps taken per requested neighbour, if k times this is more than `pool`.

    Raises:
        UsageError: There is no such mode.
    """

    def __init__(
        self, scope: Scope, mode: str, embedder: Embedder, pool: int = 100, times: int = 10
    ) -> None:
        if mode not in MODES:
            raise UsageError(
                f"there is no retrieval {mode!r} by embeddings; choose one of: {', '.join(MODES)}"
            )
        self._scope = scope
        self._mode = mode
        self._pool, self._times = pool, times
        self._index = _Index(embedder, None, "", None)

    def neighbours(self, state: State, *, k: int, r: float, gamma: float, **more: Any) -> tuple[Neighbour, ...]:
        """Return what `retrieve` does; `more` are further attributes of a `NeighbourSearch`."""
        return self.retrieve(state, NeighbourSearch(k, r, gamma, **more))

    def retrieve(self, state: State, search: NeighbourSearch) -> tuple[Neighbour, ...]:
        """Return N(s): at most k remembered steps, best first, newest first among equals.

        `Neighbour.similarity` is the score of this mode, and so is what `search.keep_above` is compared with;
        `search.r` is the least J(states) in the mode hybrid, the least score in the others. In the mode recall,
        `state_floor` and `keep_above` count for the steps that were recalled.
        """

        def find(entries: Entries, state: State) -> Hits:
            index, k, r = self._current(entries), search.k, search.r
            if k < 1 or not entries.live:
                return []
            own = search.zero_rewards == "own"
            returns = entries.returns(search.gamma, own) if search.ties == "return" else None
            matching = _Matching(
                index, state, search.history_weight, search.state_floor, search.keep_above, returns
            )
            if self._mode == "recall":
                return matching.recall(k, r, max(self._times * k, self._pool))
            if self._mode == "hybrid":
                return matching.best(k, least=-np.inf, overlap=r)
            return matching.best(k, least=r, overlap=0.0)

        return self._scope.found(state, find, search)

    def counts(self) -> dict[str, int]:
        """Return the number of distinct texts that are embedded."""
        return {"states": len(self._index.states), "histories": len(self._index.histories)}

    def index_bytes(self) -> int:
        """Return the bytes that vectors and groups take in memory."""
        return self._index.nbytes()

    def _current(self, entries: Entries) -> _Index:
        """Return an index of all remembered steps. It is rebuilt if the journal was rewritten."""
        index = self._index
        generation = self._scope.generation
        if not index.fits(entries, generation):
            index = self._index = _Index(index.embedder, entries, generation, index)
        documents = self._scope.documents(self._scope.doc_ids()[index.place :])
        while some := list(itertools.islice(documents, _EPISODES)):
            index.add(some)
        index.settle()
        return index


class _Index:
    """Vectors of all state and history texts, and groups of rows with equal texts and equal token sets.

    Args:
        embedder: Makes the vectors.
        entries: The rows, None for an empty index.
        generation: Generation of the journal.
        before: An earlier index. Its vectors are reused for the texts it has.

    Attributes:
        place: Number of episodes that were added.
        group: By row: its group, -1 for a forgotten step.
        older: By row: the next older row of its group.
        state_text, history_text: By group: numbers of its texts.
        state, history: By group: numbers of its token sets.
        newest: By group: its newest row.
    """

    def __init__(
        self, embedder: Embedder, entries: Entries | None, generation: str, before: _Index | None
    ) -> None:
        self.embedder = embedder
        self.entries = entries
        self.generation = generation
        self.place = 0
        self.states: TextVectors = TextVectors(embedder, before.states if before else None)
        self.histories: TextVectors = TextVectors(embedder, before.histories if before else None)
        self.group, self.older = array("i"), array("i")
        self.state_text, self.history_text = array("i"), array("i")
        self.state, self.history, self.newest = array("i"), array("i"), array("i")
        self._groups: dict[tuple[int, int, int, int], int] = {}

    def fits(self, entries: Entries, generation: str) -> bool:
        """Whether this index belongs to these entries, and its rows match their first `place` episodes."""
        same = self.entries is entries and self.generation == generation
        return same and len(self.group) == entries.start[self.place]

    def settle(self) -> None:
        """Drop the earlier index, once all episodes were added."""
        self.states.settle()
        self.histories.settle()

    def add(self, documents: list[Document | None]) -> None:
        """Add the next episodes. The steps of a damaged episode (None) are never found."""
        assert self.entries is not None
        columns, starts = self.entries.columns, self.entries.start
        found: list[tuple[int, str, str]] = []  # row, text of its state, facts of its history
        for place, document in enumerate(documents, self.place):
            if document is None:
                continue
            for row, step in enumerate(document["steps"], starts[place]):
                if columns["state"][row] != NOTHING:
                    history = texts.without_prose(document["histories"][step["history"]]["text"])
                    found.append((row, document["states"][step["state"]]["text"], history))
        states = self.states.add([state for _, state, _ in found])
        histories = self.histories.add([history for *_, history in found])
        self.place += len(documents)
        none = array("i", [NOTHING]) * (starts[self.place] - len(self.group))
        self.group.extend(none)
        self.older.extend(none)
        for (row, *_), of_state, of_history in zip(found, states, histories, strict=True):
            key = of_state, of_history, columns["state"][row], columns["history"][row]
            group = self._groups.setdefault(key, len(self.newest))
            if group == len(self.newest):
                self.newest.append(NOTHING)
                kept = self.state_text, self.history_text, self.state, self.history
                for column, value in zip(kept, key, strict=True):
                    column.append(value)
            self.group[row] = group
            self.older[row] = self.newest[group]
            self.newest[group] = row

    def nbytes(self) -> int:
        """Return the bytes taken in memory."""
        columns = (
            self.group, self.older, self.state_text, self.history_text, self.state, self.history, self.newest,
        )  # fmt: skip
        held = sum(4 * len(column) for column in columns) + 220 * len(self._groups)
        return held + self.states.nbytes() + self.histories.nbytes()


class _Matching:
    """One search.

    Args:
        weight: w, the weight of the histories.
        floor: J(states) must be greater than this; 0 for no such condition.
        keep_above: Rows of this score or more are all returned.
        returns: By row: its return, which orders equal scores. None: the newest comes first.
    """

    def __init__(
        self, index: _Index, state: State, weight: float, floor: float, keep_above: float,
        returns: array[float] | None,
    ) -> None:  # fmt: skip
        self._index = index
        self._state = state
        self._weight = weight
        self._floor = floor
        self._keep_above = keep_above
        self._returns = returns
        self._asked_state = index.states.ask(state.text)
        self._asked_history = index.histories.ask(texts.without_prose(state.history))

    def best(self, k: int, *, least: float, overlap: float) -> Hits:
        """Return the best k rows by cosine, with a score of at least `least` and J(states) of at least `overlap`."""
        index, weight = self._index, self._weight
        groups = self._overlapping(overlap)
        states, histories = _numbers(index.state_text)[groups], _numbers(index.history_text)[groups]

        def together(state: Floats | float, history: Floats | float) -> Floats:
            return np.asarray((1 - weight) * state + weight * history, np.float64)

        def score(chosen: NDArray[np.int64]) -> Floats:
            of_state = index.states.cosine(self._asked_state, states[chosen]) if weight < 1 else 0.0
            of_history = index.histories.cosine(self._asked_history, histories[chosen]) if weight > 0 else 0.0
            return together(of_state, of_history)

        bound = together(
            index.states.bound(self._asked_state, states) if weight < 1 else 0.0,
            index.histories.bound(self._asked_history, histories) if weight > 0 else 0.0,
        )
        newest = _numbers(index.newest)[groups]
        return select(bound, newest, score, index.older, k, least, self._keep_above, self._returns)

    def recall(self, k: int, r: float, most: int) -> Hits:
        """Return the best k rows by Jaccard similarity, among the `most` nearest by cosine in each index."""
        index, weight = self._index, self._weight
        assert index.entries is not None
        recalled = self._nearest(index.states, self._asked_state, index.state_text, most)
        recalled |= self._nearest(index.histories, self._asked_history, index.history_text, most)
        rows = np.array(sorted(recalled), np.int64)
        groups = _numbers(index.group)[rows]
        sets, histories = index.entries.states, index.entries.histories
        distinct, where = np.unique(_numbers(index.state)[groups], return_inverse=True)
        of_state = sets.compare(sets.query(self._state.tokens), distinct)[where]
        score = of_state
        if weight > 0:
            distinct, where = np.unique(_numbers(index.history)[groups], return_inverse=True)
            query = histories.query(self._state.history_tokens)
            score = (1 - weight) * of_state + weight * histories.compare(query, distinct)[where]
        keep = score >= r
        if self._floor > 0:
            keep &= of_state > self._floor
        return order(rows[keep], score[keep], k, self._keep_above, self._returns)

    def _nearest(self, vectors: TextVectors, asked: TextQuery, texts: array[int], most: int) -> set[int]:
        """Return the `most` rows with the nearest texts of one kind (states or histories)."""
        index, numbers = self._index, _numbers(texts)
        hits = select(
            vectors.bound(asked, numbers),
            _numbers(index.newest),
            lambda chosen: vectors.cosine(asked, numbers[chosen]),
            index.older,
            most,
            -np.inf,
        )
        return {row for row, _ in hits}

    def _overlapping(self, overlap: float) -> NDArray[np.int64]:
        """Return the groups with J(states) of at least `overlap` and above the floor."""
        index = self._index
        assert index.entries is not None
        if overlap <= 0 and self._floor <= 0:
            return np.arange(len(index.newest))
        sets = index.entries.states
        numbers, similarity = sets.similar(sets.query(self._state.tokens), max(overlap, self._floor))
        if self._floor > 0:
            numbers = numbers[similarity > self._floor]
        alike = np.zeros(len(sets), bool)
        alike[numbers] = True
        return np.flatnonzero(alike[_numbers(index.state)])


def _numbers(column: array[int]) -> Ints:
    """Return a numpy view of a column. The column must not grow while the view is used."""
    return np.frombuffer(column, np.int32) if column else np.zeros(0, np.int32)
