"""Sentence embeddings: vectors of texts, with a smaller angle between texts that are closer in meaning.

Nothing is downloaded: `wordllama` reads the weights inside its installed package, `letters` needs none.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import re
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from engine import extras
from engine.disk import open_binary
from engine.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

EMBEDDERS = ("wordllama", "letters")

_WORD = re.compile(r"\w+")
_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TENSOR = "embedding.weight"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
_LETTERS = 512
"""Dimensions of the embedder `letters`."""
_LONGEST = 5
_SHORTEST = 3
"""Lengths of the letter n-grams; the marks for the two ends of a word count as letters."""


class Embedder(Protocol):
    """Turns texts into vectors. May be used from any thread.

    Attributes:
        name: One of `EMBEDDERS`.
        dimensions: Length of a vector.
    """

    name: str
    dimensions: int

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the embeddings of texts, shape (texts, dimensions).

        Each row has length 1, or is all zeros if its text has no words. A row depends only on its own text, not on
        the others in the call.
        """
        ...


@functools.cache
def open_embedder(name: str) -> Embedder:
    """Return the embedder called `name`. Each is loaded once per process.

    Raises:
        UsageError: There is no such embedder.
        MissingError: Its package is not installed.
    """
    if name == "wordllama":
        return _WordLlama()
    if name == "letters":
        return _Letters()
    raise UsageError(f"there is no embedder {name!r}; choose one of: {', '.join(EMBEDDERS)}")


class _WordLlama:
    """Mean of the token vectors that WordLlama distilled from language models (256 dimensions).

    Only the data files of the package are read. Its code is not imported: that would set up logging for the whole
    program, and would download files that are missing.
    """

    name = "wordllama"

    def __init__(self) -> None:
        found = importlib.util.find_spec("wordllama")
        if found is None or not found.submodule_search_locations:
            raise extras.lacking("semantic")
        folder = Path(found.submodule_search_locations[0])
        try:
            from tokenizers import Tokenizer

            self._weights = _tensor(folder / _WEIGHTS, _TENSOR)
            self._tokenizer: Any = Tokenizer.from_file(str(folder / _TOKENIZER))
        except Exception as error:  # the tokenizer raises plain `Exception`
            raise extras.lacking("semantic", error) from None
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self.dimensions = int(self._weights.shape[1])

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return a row for each text; see `Embedder`."""
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for place, text in enumerate(texts):
            if not _WORD.search(text):
                continue
            # One text at a time: batches of the tokenizer start threads, which are unsafe in programs that fork.
            readable = text.encode("utf-8", "replace").decode()
            ids, times = np.unique(
                self._tokenizer.encode(readable, add_special_tokens=False).ids, return_counts=True
            )
            # 64-bit sums of 16-bit floats are exact, so the result does not depend on the order of the tokens.
            rows[place] = _unit(times.astype(np.float64) @ self._weights[ids].astype(np.float64))
        return rows


class _Letters:
    """Counts of letter n-grams (3 to 5 letters) hashed to 512 dimensions. It captures spelling, not meaning."""

    name = "letters"
    dimensions = _LETTERS

    def __init__(self) -> None:
        self._of_word = functools.lru_cache(maxsize=1 << 16)(_hashed)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return a row for each text; see `Embedder`."""
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for place, text in enumerate(texts):
            words = _WORD.findall(text.casefold())
            if words:
                at = np.concatenate([self._of_word(word) for word in words])
                signed = np.bincount(at, minlength=2 * _LETTERS).astype(np.float64)
                rows[place] = _unit(signed[:_LETTERS] - signed[_LETTERS:])
        return rows


def _hashed(word: str) -> NDArray[np.int64]:
    """Return one index per n-gram of a word: below 512 it counts as +1, from 512 on as -1 (at index - 512)."""
    marked = f"<{word}>"
    runs = [
        marked[start : start + size]
        for size in range(_SHORTEST, _LONGEST + 1)
        for start in range(len(marked) - size + 1)
    ]
    digests = [blake2b(run.encode("utf-8", "replace"), digest_size=4).digest() for run in runs or [marked]]
    return np.array([int.from_bytes(one, "little") % (2 * _LETTERS) for one in digests], np.int64)


def _unit(vector: NDArray[np.float64]) -> Vectors:
    """Return the vector scaled to length 1; a zero vector is returned as it is."""
    length = float(np.sqrt((vector * vector).sum()))
    return (vector / length if length > 0 else vector).astype(np.float32)


def _tensor(path: Path, name: str) -> NDArray[np.float16]:
    """Return a matrix of 16-bit floats from a safetensors file, memory-mapped.

    The file holds the length of its header (8 bytes), the header (JSON: dtype, shape and offsets of each tensor), and
    the numbers.

    Raises:
        OSError: The file cannot be read.
        KeyError, ValueError: It holds no such matrix.
    """
    with open_binary(path) as file:
        length = int.from_bytes(file.read(8), "little")
        if not 0 < length < 1 << 20:
            raise ValueError(f"{path.name} is no file of weights")
        about = json.loads(file.read(length))[name]
    if about["dtype"] != "F16" or len(about["shape"]) != 2:
        raise ValueError(f"{path.name} holds weights of another kind")
    rows, columns = about["shape"]
    start, end = about["data_offsets"]
    if end - start != 2 * rows * columns or path.stat().st_size < 8 + length + end:
        raise ValueError(f"{path.name} is cut short")
    return np.memmap(path, np.dtype("<f2"), "r", 8 + length + start, (rows, columns))
