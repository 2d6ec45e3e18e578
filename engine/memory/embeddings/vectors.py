"""Vectors of distinct texts, and the exact cosine between one text and all others."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from engine.memory.embeddings.embedding import Embedder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int32]
    Floats = NDArray[np.float64]

_DECIMALS = 6
"""Decimals of a cosine; the vectors (32-bit floats) are not more accurate."""


class TextQuery(NamedTuple):
    """The text that others are compared with.

    Attributes:
        vector: Its embedding, shape (dimensions,).
        blank: Whether it has no words.
    """

    vector: NDArray[np.float32]
    blank: bool


class TextVectors:
    """Distinct texts, numbered from 0 in the order in which they were added. Only digests and vectors are stored.

    The cosine of two texts without words is 1; that of a text without words and any other is 0.

    Args:
        embedder: Makes the vectors.
        before: Texts of the same embedder. Their vectors are reused for equal texts.
    """

    def __init__(self, embedder: Embedder, before: TextVectors | None = None) -> None:
        self._embedder = embedder
        self._before = before
        self._numbers: dict[bytes, int] = {}
        self._rows = np.zeros((0, embedder.dimensions), np.float32)
        self._blank = np.zeros(0, bool)
        self._slack = 1e-6 + 2.0**-23 * embedder.dimensions

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, texts: Sequence[str]) -> list[int]:
        """Add texts and return their numbers. Only new texts are embedded."""
        known, digests = len(self), list(map(_digest, texts))
        fresh = {
            digest: text for digest, text in zip(digests, texts, strict=True) if digest not in self._numbers
        }
        if fresh:
            self._put(known, self._vectors(list(fresh.values())))
            self._numbers.update({digest: known + place for place, digest in enumerate(fresh)})
        return [self._numbers[digest] for digest in digests]

    def settle(self) -> None:
        """Stop reusing vectors of `before`, and free it."""
        self._before = None

    def ask(self, text: str) -> TextQuery:
        """Return a text prepared for `bound` and `cosine`."""
        number = self._numbers.get(_digest(text))
        vector = self._embedder.embed([text])[0] if number is None else self._rows[number].copy()
        return TextQuery(vector, not vector.any())

    def bound(self, asked: TextQuery, numbers: Ints) -> Floats:
        """Return an upper bound of the cosine with each of these texts, shape (len(numbers),)."""
        if 4 * len(numbers) < len(self):
            return self.cosine(asked, numbers)
        if asked.blank:
            return self._blank[numbers].astype(np.float64)
        about = self._rows[: len(self)] @ asked.vector
        return about[numbers].astype(np.float64) + self._slack

    def cosine(self, asked: TextQuery, numbers: Ints) -> Floats:
        """Return the cosine with each of these texts, rounded to six decimals; shape (len(numbers),).

        A cosine depends on its two texts only. With matrix products it would also depend on the other texts.
        """
        if asked.blank:
            return self._blank[numbers].astype(np.float64)
        distinct, where = np.unique(numbers, return_inverse=True)
        products = np.multiply(self._rows[distinct], asked.vector, dtype=np.float64)
        cosines: Floats = np.round(products.sum(axis=1), _DECIMALS) + 0.0  # no -0
        return cosines[where]

    def nbytes(self) -> int:
        """Return the bytes taken in memory."""
        return self._rows.nbytes + self._blank.nbytes + 150 * len(self._numbers)

    def _vectors(self, texts: list[str]) -> NDArray[np.float32]:
        """Return the vectors of new texts, reused from `before` where possible."""
        old = self._before
        if old is None:
            return self._embedder.embed(texts)
        places = [old._numbers.get(_digest(text)) for text in texts]
        missing = [text for text, place in zip(texts, places, strict=True) if place is None]
        vectors = np.zeros((len(texts), self._embedder.dimensions), np.float32)
        is_new = np.array([place is None for place in places])
        vectors[~is_new] = old._rows[[place for place in places if place is not None]]
        if missing:
            vectors[is_new] = self._embedder.embed(missing)
        return vectors

    def _put(self, at: int, vectors: NDArray[np.float32]) -> None:
        end = at + len(vectors)
        if end > len(self._rows):
            room = max(end, 3 * len(self._rows) // 2, 256)
            rows, blank = self._rows[:at], self._blank[:at]
            self._rows = np.zeros((room, self._embedder.dimensions), np.float32)
            self._blank = np.zeros(room, bool)
            self._rows[:at], self._blank[:at] = rows, blank
        self._rows[at:end] = vectors
        self._blank[at:end] = ~vectors.any(axis=1)


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()
