"""All remembered steps of a scope, stored in columns.

One row is one step. Rows are in the order in which the episodes were stored, so a later row is a newer step. The
texts of states stay in the journal; a row only holds where its text is.
"""

from __future__ import annotations

import bisect
import json
import math
from array import array
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.errors import BadFile
from engine.memory.disk.document import FORGOTTEN, check
from engine.memory.disk.frame import LineSpan
from engine.memory.exact.index import TokenSets, as_numpy, from_numpy, pack_texts, unpack_texts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int32]
    Floats = NDArray[np.float64]

NOTHING = -1
_COLUMNS = {
    "state": "i", "history": "i", "next": "i", "action": "i", "text": "i", "older_pair": "i", "older_state": "i",
    "episode": "i", "provenance": "H", "reward": "d", "env_reward": "d",
}  # fmt: skip
_KEPT = (
    "first", "start", "numbers", "doc_ids", "scores", "max_scores", "text_offset", "text_length", "text_hash",
    "_set_text", "pair_state", "pair_history", "pair_last", "state_last", "_first_pair",
)  # fmt: skip
_GAMMAS = 4
_encode = json.JSONEncoder(ensure_ascii=False).encode


class Entries:
    """Columns of all steps, the indexes of their token sets, and links between rows with equal sets.

    A "pair" is a distinct combination of a state's and a history's token set.

    Attributes:
        states: Distinct token sets of states, final states included.
        histories: Distinct token sets of histories.
        actions: Distinct actions; the column `action` holds indexes into it.
        uids: Index of each episode, by uid.
        live: Number of rows that were not forgotten.
        first: By episode: entry number of its step 0, ascending.
        start: By episode: row of its step 0. The number of all rows follows at the end.
        numbers: By episode: its number within the scope.
        doc_ids: By episode: id of its document.
        scores: By episode: final score.
        max_scores: By episode: highest reachable score, NaN if unknown.
        pair_state: By pair: number of its state.
        pair_history: By pair: number of its history.
        pair_last: By pair: its newest row. The column `older_pair` links each row to the next older one.
        state_last: By state: its newest row, or -1. The column `older_state` links each row to the next older one.
        next_entry: Entry number of the next new step.
        next_number: Number of the next new episode.
    """

    def __init__(self, next_entry: int = 0, next_number: int = 1) -> None:
        self.states = TokenSets()
        self.histories = TokenSets(searchable=False)
        self.actions: list[str] = []
        self.provenances: list[str] = []
        self.uids: dict[str, int] = {}
        self.live = 0
        self.first = array("q")
        self.start = array("q", [0])
        self.numbers = array("q")
        self.doc_ids = array("q")
        self.scores = array("d")
        self.max_scores = array("d")
        self.next_entry = next_entry
        self.next_number = next_number
        self.columns: dict[str, array[Any]] = {name: array(kind) for name, kind in _COLUMNS.items()}
        self.text_offset = array("q")
        self.text_length = array("i")
        self.text_hash = array("q")
        self._set_text = array("i")  # by state: the text that was seen with it last
        self.pair_state = array("i")
        self.pair_history = array("i")
        self.pair_last = array("i")
        self.state_last = array("i")
        self._first_pair = array("i")  # by state: its first pair
        self._more_pairs: dict[int, array[int]] = {}  # by state: all its pairs, if there are several
        self._action_numbers: dict[str, int] = {}
        self._returns: dict[tuple[float, bool], array[Any]] = {}

    def __len__(self) -> int:
        return len(self.columns["state"])

    # --------------------------------------------------------------------------------------- adding

    def add(
        self, doc_id: int, document: Mapping[str, Any], offset: int, line: bytes, *, checked: bool = False
    ) -> None:
        """Add the steps of an episode.

        Args:
            doc_id: Id of the episode's document in the journal.
            document: The episode's document.
            offset: Offset of `line` in the journal, in bytes.
            line: The line of the journal that holds the document.
            checked: This process made the document from an episode within the limits, so checking it is not needed.

        Raises:
            BadFile: The document is no episode, is a duplicate, or is older than the episode before it.
        """
        if not checked:
            check(document)
        if document["uid"] in self.uids:
            raise BadFile(f"the episode {document['uid']} is stored twice")
        if self.first and document["first"] < self.first[-1] + self.start[-1] - self.start[-2]:
            raise BadFile(f"the episode {document['uid']} is out of order")
        states = [self._add_state(kept["tokens"]) for kept in document["states"]]
        histories = [self.histories.add(kept["tokens"]) for kept in document["histories"]]
        texts = self._add_texts(document["states"], states, offset, line)
        episode, steps, final = len(self.first), document["steps"], document["final"]
        following = [states[step["state"]] for step in steps[1:]] + [states[final[0]]]
        provenances = [step.get("provenance", "agent") for step in steps]
        provenance_of = {name: self._provenance(name) for name in dict.fromkeys(provenances)}
        action_of = {name: self._action(name) for name in dict.fromkeys([step["action"] for step in steps])}
        hidden = [name == FORGOTTEN for name in provenances[1:]] + [False]
        add = {name: column.append for name, column in self.columns.items()}
        for row, (step, after, unknown) in enumerate(zip(steps, following, hidden, strict=True), len(self)):
            provenance = step.get("provenance", "agent")
            forgotten = provenance == FORGOTTEN
            state, history = states[step["state"]], histories[step["history"]]
            add["state"](NOTHING if forgotten else state)
            add["history"](history)
            add["next"](NOTHING if unknown else after)
            add["action"](action_of[step["action"]])
            add["text"](texts[step["state"]])
            add["episode"](episode)
            add["provenance"](provenance_of[provenance])
            add["reward"](step["reward"])
            add["env_reward"](step.get("env_reward", 0.0))
            if forgotten:
                add["older_pair"](NOTHING)
                add["older_state"](NOTHING)
                continue
            pair = self._pair(state, history)
            add["older_pair"](self.pair_last[pair])
            add["older_state"](self.state_last[state])
            self.pair_last[pair] = self.state_last[state] = row
            self.live += 1
        self.uids[document["uid"]] = episode
        self.first.append(document["first"])
        self.start.append(len(self))
        self.numbers.append(document["number"])
        self.doc_ids.append(doc_id)
        self.scores.append(document.get("score") or 0.0)
        top = document.get("max_score")
        self.max_scores.append(math.nan if top is None else top)
        self.next_entry = max(self.next_entry, document["first"] + len(steps))
        self.next_number = max(self.next_number, document["number"] + 1)

    def _add_state(self, tokens: list[str]) -> int:
        state = self.states.add(tokens)
        while len(self._first_pair) < len(self.states):
            self._first_pair.append(NOTHING)
            self._set_text.append(NOTHING)
            self.state_last.append(NOTHING)
        return state

    def _add_texts(
        self, kept: list[dict[str, Any]], states: list[int], offset: int, line: bytes
    ) -> list[int]:
        """Return the number of each state's text. Of a text, only its place in the journal and a hash are kept."""
        numbers, at = [], 0
        for one, state in zip(kept, states, strict=True):
            encoded = _encode(one["text"]).encode("utf-8", "replace")
            key = _text_hash(encoded)
            last = self._set_text[state]
            if last != NOTHING and self.text_hash[last] == key:
                numbers.append(last)
                continue
            found = line.find(encoded, at)
            at = max(found, at)
            number = len(self.text_hash)
            self.text_hash.append(key)
            self.text_offset.append(offset + found if found >= 0 else NOTHING)
            self.text_length.append(len(encoded))
            self._set_text[state] = number
            numbers.append(number)
        return numbers

    def _action(self, action: str) -> int:
        number = self._action_numbers.setdefault(action, len(self.actions))
        if number == len(self.actions):
            self.actions.append(action)
        return number

    def _provenance(self, name: str) -> int:
        if name not in self.provenances:
            if len(self.provenances) == 1 << 16:
                raise BadFile("a memory holds more than 65,536 sources")
            self.provenances.append(name)
        return self.provenances.index(name)

    def _pair(self, state: int, history: int) -> int:
        """Return the number of this combination of state and history; a new one is added."""
        first = self._first_pair[state]
        if first != NOTHING:
            if self.pair_history[first] == history:
                return first
            more = self._more_pairs.get(state)
            if more is not None:
                numbers = np.frombuffer(more, np.int32)
                same = (np.frombuffer(self.pair_history, np.int32)[numbers] == history).nonzero()[0]
                if len(same):
                    return int(numbers[same[0]])
                del numbers, same
        number = len(self.pair_state)
        self.pair_state.append(state)
        self.pair_history.append(history)
        self.pair_last.append(NOTHING)
        if first == NOTHING:
            self._first_pair[state] = number
        else:
            self._more_pairs.setdefault(state, array("i", [first])).append(number)
        return number

    def pairs_of(self, states: Ints) -> tuple[Ints, Ints]:
        """Return all pairs of these states, and for each pair the index of its state in `states`."""
        firsts = np.frombuffer(self._first_pair, np.int32)[states]
        lists = list(map(self._more_pairs.get, states.tolist()))
        several = [place for place, more in enumerate(lists) if more is not None]
        places = np.flatnonzero(firsts != NOTHING).astype(np.int32)
        if not several:
            return firsts[places], places
        more = [one for one in lists if one is not None]
        single = firsts != NOTHING
        single[several] = False
        places = np.flatnonzero(single).astype(np.int32)
        rest = np.repeat(np.array(several, np.int32), list(map(len, more)))
        pairs = np.frombuffer(b"".join(more), np.int32)
        return np.concatenate([firsts[places], pairs]), np.concatenate([places, rest])

    # --------------------------------------------------------------------------------------- lookups

    def read_text(self, number: int, read: Callable[[LineSpan], bytes]) -> str | None:
        """Read a text by its number from the journal; None if it is no longer at its place."""
        offset = self.text_offset[number]
        if offset == NOTHING:
            return None
        encoded = read(LineSpan(offset, self.text_length[number]))
        if _text_hash(encoded) != self.text_hash[number]:
            return None
        text = json.loads(encoded)
        return text if isinstance(text, str) else None

    def row(self, entry: int) -> int | None:
        """Return the row of an entry number, None if there is none."""
        episode = bisect.bisect_right(self.first, entry) - 1
        if episode < 0:
            return None
        row = self.start[episode] + entry - self.first[episode]
        return row if row < self.start[episode + 1] else None

    def entry(self, row: int) -> int:
        """Return the entry number of a row."""
        episode = self.columns["episode"][row]
        return int(self.first[episode] + row - self.start[episode])

    def step(self, row: int) -> int:
        """Return the index of a row's step within its episode."""
        return row - int(self.start[self.columns["episode"][row]])

    def returns(self, gamma: float, own: bool = False) -> array[Any]:
        """Return the discounted return of every row. The results of the last few calls are cached.

        Args:
            gamma: Discount.
            own: A later reward of 0 counts as the row's own reward; see `engine.jitrl.own_returns`.
        """
        known = self._returns.pop((gamma, own), None)
        if known is None:
            known = array("d")
            while len(self._returns) >= _GAMMAS:
                self._returns.pop(next(iter(self._returns)))
        self._returns[gamma, own] = known
        since = len(known)  # always the first row of an episode
        if since < len(self):
            rewards = np.array(self.columns["reward"][since:], np.float64)
            starts = np.array(self.start[bisect.bisect_left(self.start, since) :], np.int64) - since
            known.frombytes(returns_of_episodes(rewards, starts, gamma, own=own).tobytes())
        return known

    # ------------------------------------------------------------------------------------ snapshots

    def dump(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return everything as plain values and arrays, for a snapshot."""
        arrays = {f"row_{name}": as_numpy(column) for name, column in self.columns.items()}
        arrays |= {name: as_numpy(getattr(self, name)) for name in _KEPT}
        arrays |= self.states.dump("states") | self.histories.dump("histories")
        arrays |= {name: pack_texts(getattr(self, name)) for name in ("actions", "provenances")}
        arrays["uids"] = pack_texts(list(self.uids))
        return {"live": self.live, "next_entry": self.next_entry, "next_number": self.next_number}, arrays

    def restore(self, meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Replace the contents by what `dump` returned.

        Raises:
            ValueError, KeyError, TypeError: The arguments are not what `dump` returns.
        """
        self.live, self.next_entry = int(meta["live"]), int(meta["next_entry"])
        self.next_number = int(meta["next_number"])
        for name, column in self.columns.items():
            self.columns[name] = from_numpy(column.typecode, arrays[f"row_{name}"])
        for name in _KEPT:
            setattr(self, name, from_numpy(getattr(self, name).typecode, arrays[name]))
        self.states.restore("states", arrays)
        self.histories.restore("histories", arrays)
        self.actions, self.provenances = unpack_texts(arrays["actions"]), unpack_texts(arrays["provenances"])
        self._action_numbers = {action: number for number, action in enumerate(self.actions)}
        self.uids = {uid: number for number, uid in enumerate(unpack_texts(arrays["uids"]))}
        self._group_pairs(arrays["pair_state"])
        rows, episodes = len(self), len(self.first)
        if (
            any(len(column) != rows for column in self.columns.values())
            or len(self.uids) != episodes or len(self.start) != episodes + 1 or self.start[-1] != rows
            or len(self._first_pair) != len(self.states) or len(self._set_text) != len(self.states)
        ):  # fmt: skip
            raise ValueError("the snapshot's parts do not fit together")

    def _group_pairs(self, state_of: Ints) -> None:
        """Collect the pairs of each state that has several."""
        order = np.argsort(state_of, kind="stable").astype(np.int32)
        states, starts, counts = np.unique(state_of[order], return_index=True, return_counts=True)
        several = counts > 1
        self._more_pairs = {
            state: array("i", order[start : start + count].tobytes())
            for state, start, count in zip(
                states[several].tolist(), starts[several].tolist(), counts[several].tolist(), strict=True
            )
        }

    def nbytes(self) -> int:
        """Return the bytes that all this takes in memory, cached returns excluded."""
        import sys

        small = [getattr(self, name) for name in _KEPT]
        held = sum(map(sys.getsizeof, (*self.columns.values(), *small, *self._more_pairs.values())))
        names = sys.getsizeof(self._more_pairs) + 28 * len(self._more_pairs) + sys.getsizeof(self.uids)
        names += sum(map(sys.getsizeof, self.uids)) + 28 * len(self.uids)
        names += sys.getsizeof(self._action_numbers) + 28 * len(self.actions) + sys.getsizeof(self.actions)
        names += sum(map(sys.getsizeof, self.actions))
        return held + names + self.states.nbytes() + self.histories.nbytes()


def _text_hash(encoded: bytes) -> int:
    return int.from_bytes(blake2b(encoded, digest_size=8).digest(), "little", signed=True)


def returns_of_episodes(
    rewards: Floats, starts: NDArray[np.int64], gamma: float, *, own: bool = False
) -> Floats:
    """Return the return of every step of many episodes; see `engine.jitrl.own_returns`.

    Args:
        rewards: Rewards of all episodes, one after another; shape (steps,).
        starts: Index of each episode's first step, and the number of steps at the end; shape (episodes + 1,).
        gamma: Discount.
        own: Compute G'_t instead of G_t.

    Returns:
        Shape (steps,).
    """
    g = _discounted(rewards.copy(), starts, gamma)
    if own:
        g += rewards * _discounted((rewards == 0).astype(np.float64), starts, gamma)
    return g


def _discounted(g: Floats, starts: NDArray[np.int64], gamma: float) -> Floats:
    """Turn rewards into returns in place: G_t = r_t + gamma G_{t+1}, from the last step back, all episodes at once."""
    lengths = np.diff(starts)
    order = np.argsort(-lengths, kind="stable")
    last, lengths = starts[1:][order] - 1, lengths[order]
    for back in range(1, int(lengths.max(initial=0))):
        at = last[: int(np.searchsorted(-lengths, -back, side="left"))] - back
        g[at] += gamma * g[at + 1]
    return g
