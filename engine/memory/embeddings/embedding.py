"""Sentence embeddings: vectors of texts, with a smaller angle between texts that are closer in meaning.

Nothing is downloaded: the weights inside the installed package `wordllama` are read.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engine import extras
from engine.disk import open_binary

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

_WORD = re.compile(r"\w+")
_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TENSOR = "embedding.weight"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"


class Embedder:
    """Turns texts into vectors: the mean of the token vectors that WordLlama distilled from language models.

    May be used from any thread. Only the data files of the package are read. Its code is not imported: that would set
    up logging for the whole program, and would download files that are missing.

    Attributes:
        dimensions: Length of a vector, 256.

    Raises:
        MissingError: The package is not installed.
    """

    def __init__(self) -> None:
        found = importlib.util.find_spec("wordllama")
        if found is None or not found.submodule_search_locations:
            raise extras.missing_extra("semantic")
        folder = Path(found.submodule_search_locations[0])
        try:
            from tokenizers import Tokenizer

            self._weights = _tensor(folder / _WEIGHTS, _TENSOR)
            self._tokenizer: Any = Tokenizer.from_file(str(folder / _TOKENIZER))
        except Exception as error:  # the tokenizer raises plain `Exception`
            raise extras.missing_extra("semantic", error) from None
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self.dimensions = int(self._weights.shape[1])

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the embeddings of texts, shape (texts, dimensions).

        Each row has length 1, or is all zeros if its text has no words. A row depends only on its own text, not on
        the others in the call.
        """
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


@functools.cache
def open_embedder() -> Embedder:
    """Return the embedder, which is loaded once per process; raises as `Embedder`."""
    return Embedder()


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
