"""Exact Jaccard similarity over distinct token sets: all sets with J >= t, or J with every set.

    J(q, s) = |q & s| / |q | s|, and 1 for two empty sets

Two filters reduce the sets that have to be counted. Neither drops a set with J >= t.

- Sketch: bit i of a set's 64-bit sketch is the parity of its tokens with number = i (mod 64). If two sketches
  differ in h bits, their sets differ in at least h tokens. J >= t allows at most |q| (1 - t) / t differing tokens.
- Prefix: J >= t needs o = ceil(t |q|) common tokens, so any |q| - o + 1 tokens of q include a common one. The
  filter takes the rarest ones and keeps the sets that hold at least one of them (Chaudhuri et al., "A primitive
  operator for similarity joins", ICDE 2006).

The remaining sets are compared exactly, token by token.
"""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int32]
    Floats = NDArray[np.float64]

_SLACK = 1e-9
"""Tolerance for rounding, so that a bound that is met exactly is not missed."""
_SCAN_BLOCK = 1 << 15
"""Sketches compared at a time; a block fits into the processor's cache."""


class TokenSets:
    """Distinct sets of tokens, numbered from 0 in the order in which they were added.

    Args:
        searchable: Keep posting lists (token to sets). Without them, `similar` scans all sketches.
    """

    def __init__(self, *, searchable: bool = True) -> None:
        self._vocabulary: dict[str, int] = {}
        self._postings: list[array[int]] | None = [] if searchable else None
        self._flat = array("i")
        self._offsets = array("q", [0])
        self._sizes = array("i")
        self._sketches = array("Q")
        self._known = _Hashes()
        self._mask = np.zeros(0, np.uint8)

    def __len__(self) -> int:
        return len(self._sizes)

    def add(self, tokens: Sequence[str]) -> int:
        """Return the number of the set of these tokens; a new set is added."""
        vocabulary, postings = self._vocabulary, self._postings
        try:
            ids = sorted(set(map(vocabulary.__getitem__, tokens)))
        except KeyError:
            ids = sorted({vocabulary.setdefault(token, len(vocabulary)) for token in tokens})
        content = array("i", ids)
        key = _hash(content)
        known = self._known.get(key)
        if known is not None and self._content(known) == content:
            return known
        number = len(self._sizes)
        sketch = 0
        for token in ids:
            sketch ^= 1 << (token & 63)
        if postings is not None:
            while len(postings) < len(vocabulary):
                postings.append(array("i"))
            for token in ids:
                postings[token].append(number)
        self._flat.extend(content)
        self._offsets.append(len(self._flat))
        self._sizes.append(len(ids))
        self._sketches.append(sketch)
        if known is None:
            self._known.put(key, number)
        return number

    def query(self, tokens: Sequence[str]) -> TokenQuery:
        """Return these tokens as a query for the other methods."""
        distinct = set(tokens)
        get = self._vocabulary.get
        ids = [number for token in distinct if (number := get(token)) is not None]
        return TokenQuery(np.array(ids, np.int32), len(distinct), ids)

    def similar(self, query: TokenQuery, t: float) -> tuple[Ints, Floats]:
        """Return the numbers of all sets with J >= t, and their J, in no particular order. t must be above 0."""
        candidates, _ = self.candidates(query, t)
        similarity = self.compare(query, candidates)
        keep = similarity >= t
        return candidates[keep], similarity[keep]

    def compare(self, query: TokenQuery, numbers: Ints) -> Floats:
        """Return J of the query with each of these sets, shape (len(numbers),)."""
        sizes = np.frombuffer(self._sizes, np.int32)[numbers] if len(numbers) else np.zeros(0, np.int32)
        common = self._common(query, numbers, sizes)
        return _jaccard(common, sizes, query.size)

    def compare_all(self, query: TokenQuery) -> Floats:
        """Return J of the query with every set, in the order of their numbers; shape (sets,)."""
        count = len(self)
        if not count:
            return np.zeros(0)
        sizes = np.frombuffer(self._sizes, np.int32)
        postings = self._postings
        if postings is None or sum(len(postings[i]) for i in query.list) * 2 > len(self._flat):
            return _jaccard(self._common(query, None, sizes), sizes, query.size)
        common = np.zeros(count, np.int32)
        for token in query.list:
            common[np.frombuffer(postings[token], np.int32)] += 1
        return _jaccard(common, sizes, query.size)

    def bound(self, query: TokenQuery, numbers: Ints, apart: Ints) -> Floats:
        """Return an upper bound of J with each of these sets, given that it differs in at least `apart` tokens."""
        if not len(numbers):
            return np.zeros(0)
        total = np.frombuffer(self._sizes, np.int32)[numbers] + query.size
        # With d differing tokens, (total - d) / 2 are common and the union has (total + d) / 2.
        upper: Floats = (total - apart) / np.maximum(total + apart, 1)
        if not query.size:
            upper[total == 0] = 1.0
        return upper

    def least_differences(self, query: TokenQuery, numbers: Ints) -> Ints:
        """Return for each set a lower bound of the number of tokens in which it differs from the query."""
        if not len(numbers):
            return np.zeros(0, np.int32)
        sketches = np.frombuffer(self._sketches, np.uint64)[numbers]
        least: Ints = np.bitwise_count(sketches ^ query.sketch).astype(np.int32) + np.int32(query.unknown)
        return least

    def nbytes(self) -> int:
        """Return the bytes that the sets take in memory, overhead of Python objects included."""
        arrays = (self._flat, self._offsets, self._sizes, self._sketches, *(self._postings or ()))
        held = sum(sys.getsizeof(part) for part in arrays) + sys.getsizeof(self._postings)
        words = sys.getsizeof(self._vocabulary) + sum(map(sys.getsizeof, self._vocabulary))
        return held + words + 28 * len(self._vocabulary) + self._known.nbytes() + self._mask.nbytes

    # ------------------------------------------------------------------------------------- details

    def _content(self, number: int) -> array[int]:
        return self._flat[self._offsets[number] : self._offsets[number + 1]]

    def candidates(self, query: TokenQuery, t: float) -> tuple[Ints, Ints]:
        """Return a superset of the sets with J >= t, and for each the least number of tokens in which it differs."""
        count = len(self)
        none = np.zeros(0, np.int32)
        if not count or not query.size:
            return np.arange(count, dtype=np.int32), np.zeros(count, np.int32)
        most = math.floor(query.size * (1 - t) / t + _SLACK) - query.unknown
        lists = self._prefix(query, t)
        if most < 0 or lists == []:
            return none, none
        sketches = np.frombuffer(self._sketches, np.uint64)
        if lists is None or 4 * sum(map(len, lists)) > count:
            numbers, apart = _scan(sketches, query.sketch, most)
        else:
            numbers = np.frombuffer(b"".join(lists), np.int32)
            if len(lists) > 1:
                numbers = _distinct(numbers)
            apart = np.bitwise_count(sketches[numbers] ^ query.sketch)
            near = apart <= most
            numbers, apart = numbers[near], apart[near]
        return numbers, apart.astype(np.int32) + np.int32(query.unknown)

    def _prefix(self, query: TokenQuery, t: float) -> list[array[int]] | None:
        """Return the non-empty posting lists of the prefix filter, None if this object is not searchable.

        Every set with J >= t is in at least one of them.
        """
        if self._postings is None:
            return None
        enough = math.ceil(t * query.size - _SLACK)
        # Tokens that no set holds are the rarest. They count as part of the prefix and have no posting list.
        places = query.size - enough + 1 - query.unknown
        lists = sorted(map(self._postings.__getitem__, query.list), key=len)
        return [one for one in lists[: max(places, 0)] if one]

    def _common(self, query: TokenQuery, numbers: Ints | None, sizes: Ints) -> Ints:
        """Return how many tokens each set has in common with the query."""
        if not len(sizes):
            return np.zeros(0, np.int32)
        if len(self._mask) < len(self._vocabulary):
            self._mask = np.zeros(len(self._vocabulary) * 5 // 4 + 64, np.uint8)
        mask, flat = self._mask, np.frombuffer(self._flat, np.int32) if self._flat else np.zeros(0, np.int32)
        offsets = np.frombuffer(self._offsets, np.int64)
        filled = sizes > 0
        common: Ints
        if not filled.all():
            common = np.zeros(len(sizes), np.int32)
            chosen = np.flatnonzero(filled) if numbers is None else numbers[filled]
            common[filled] = self._common(query, chosen.astype(np.int32), sizes[filled])
            return common
        mask[query.ids] = 1
        try:
            if numbers is None:
                hits, starts = mask[flat], offsets[:-1]
            else:
                ends = np.cumsum(sizes)
                starts = ends - sizes
                places = np.arange(ends[-1]) + np.repeat(offsets[numbers] - starts, sizes)
                hits = mask[flat[places]]
            common = np.add.reduceat(hits, starts, dtype=np.int32)
            return common
        finally:
            mask[query.ids] = 0

    # ------------------------------------------------------------------------------------ snapshots

    def dump(self, prefix: str) -> dict[str, NDArray[Any]]:
        """Return everything as arrays, for a snapshot."""
        postings = self._postings or []
        return {
            f"{prefix}_flat": np.array(self._flat, np.int32),
            f"{prefix}_sizes": np.array(self._sizes, np.int32),
            f"{prefix}_sketches": np.array(self._sketches, np.uint64),
            f"{prefix}_words": pack_texts(list(self._vocabulary)),
            f"{prefix}_posted": np.array([len(one) for one in postings], np.int64),
            f"{prefix}_postings": np.frombuffer(b"".join(one.tobytes() for one in postings), np.int32),
            **self._known.dump(prefix),
        }

    def restore(self, prefix: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Replace the contents by what `dump` returned."""
        sizes = arrays[f"{prefix}_sizes"]
        self._vocabulary = {word: i for i, word in enumerate(unpack_texts(arrays[f"{prefix}_words"]))}
        self._flat = from_numpy("i", arrays[f"{prefix}_flat"])
        self._sizes = from_numpy("i", sizes)
        self._offsets = from_numpy("q", np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]))
        self._sketches = from_numpy("Q", arrays[f"{prefix}_sketches"])
        self._known.restore(prefix, arrays)
        if self._postings is not None:
            data = np.ascontiguousarray(arrays[f"{prefix}_postings"], np.int32).view(np.uint8).data
            ends = (np.cumsum(arrays[f"{prefix}_posted"]) * 4).tolist()
            self._postings = []
            for start, end in zip([0, *ends], ends, strict=False):
                one = array("i")
                one.frombytes(data[start:end])
                self._postings.append(one)


class TokenQuery:
    """A token set that sets are compared with.

    Attributes:
        ids: Numbers of its tokens that are in the vocabulary, int32.
        size: Number of all its tokens.
        list: `ids` as a list.
        unknown: Number of its tokens that are not in the vocabulary.
        sketch: 64-bit sketch of `ids`.
    """

    __slots__ = ("ids", "list", "size", "sketch", "unknown")

    def __init__(self, ids: Ints, size: int, as_list: list[int]) -> None:
        self.ids = ids
        self.size = size
        self.list = as_list
        self.unknown = size - len(as_list)
        sketch = 0
        for token in as_list:
            sketch ^= 1 << (token & 63)
        self.sketch = np.uint64(sketch)


class _Hashes:
    """Maps 64-bit hashes to numbers: new ones are in a dictionary, the others in sorted arrays to save memory."""

    def __init__(self) -> None:
        self._keys = np.zeros(0, np.int64)
        self._numbers = np.zeros(0, np.int32)
        self._latest: dict[int, int] = {}

    def get(self, key: int) -> int | None:
        found = self._latest.get(key)
        if found is None and len(self._keys):
            place = int(self._keys.searchsorted(key))
            if place < len(self._keys) and self._keys[place] == key:
                return int(self._numbers[place])
        return found

    def put(self, key: int, number: int) -> None:
        self._latest[key] = number
        if len(self._latest) > max(1 << 16, len(self._keys) // 4):
            self._merge()

    def _merge(self) -> None:
        keys = np.concatenate([self._keys, np.fromiter(self._latest, np.int64, len(self._latest))])
        numbers = np.fromiter(self._latest.values(), np.int32, len(self._latest))
        numbers = np.concatenate([self._numbers, numbers])
        order = np.argsort(keys, kind="stable")
        self._keys, self._numbers = keys[order], numbers[order]
        self._latest = {}

    def nbytes(self) -> int:
        """Return the bytes taken in memory."""
        return self._keys.nbytes + self._numbers.nbytes + 110 * len(self._latest)

    def dump(self, prefix: str) -> dict[str, NDArray[Any]]:
        self._merge()
        return {f"{prefix}_keys": self._keys, f"{prefix}_numbers": self._numbers}

    def restore(self, prefix: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._keys = np.array(arrays[f"{prefix}_keys"], np.int64)
        self._numbers = np.array(arrays[f"{prefix}_numbers"], np.int32)
        self._latest = {}


def pack_texts(texts: Sequence[str]) -> NDArray[np.uint8]:
    """Return texts as the bytes of a JSON list. A separator could occur in a text."""
    import json

    return np.frombuffer(json.dumps(list(texts)).encode(), np.uint8)


def unpack_texts(packed: NDArray[np.uint8]) -> list[str]:
    """Return the texts that `pack_texts` packed.

    Raises:
        ValueError: The bytes are not a JSON list of texts.
    """
    import json

    texts = json.loads(packed.tobytes())
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError("not a list of texts")
    return texts


def _hash(content: array[int]) -> int:
    return int.from_bytes(blake2b(content.tobytes(), digest_size=8).digest(), "little", signed=True)


def as_numpy(values: array[Any]) -> NDArray[Any]:
    """Return a numpy copy of a Python array."""
    return np.frombuffer(values.tobytes(), values.typecode)


def from_numpy(kind: str, values: NDArray[Any]) -> array[Any]:
    """Return a copy of a numpy array as a Python array, which is cheap to append to."""
    made: array[Any] = array(kind)
    made.frombytes(np.ascontiguousarray(values, np.dtype(kind)).view(np.uint8).data)
    return made


def _scan(sketches: NDArray[np.uint64], sketch: np.uint64, most: int) -> tuple[Ints, NDArray[np.uint8]]:
    """Return the numbers of the sketches that differ in at most `most` bits, and those numbers of bits."""
    numbers, differing = [], []
    for start in range(0, len(sketches), _SCAN_BLOCK):
        bits = np.bitwise_count(sketches[start : start + _SCAN_BLOCK] ^ sketch)
        near = np.flatnonzero(bits <= most)
        numbers.append(near + start)
        differing.append(bits[near])
    return np.concatenate(numbers).astype(np.int32), np.concatenate(differing)


def _distinct(numbers: Ints) -> Ints:
    if len(numbers) < 400:  # a set is faster than numpy's sorting for few numbers
        return np.array(list(set(numbers.tolist())), np.int32)
    return np.unique(numbers)


def _jaccard(common: Ints, sizes: Ints, size: int) -> Floats:
    union = sizes + size - common
    if not size:
        same: Floats = (union == 0).astype(np.float64)
        return same
    similarity: Floats = common / union
    return similarity
