"""What a model file (GGUF) says of its model, read without a runtime.

Models that were trained here say in their file how they choose (`jitrl.prompt`, `jitrl.sampling`), so that they are
played as they were trained. Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from engine import limits
from engine.disk import open_binary, printable
from engine.errors import BadFile

PROMPT, SAMPLING, RUN = "jitrl.prompt", "jitrl.sampling", "jitrl.run"
"""Keys of trained models: the prompt that they were trained with, how an action is drawn, and which training it was."""
CONSTRAINED = "constrained"
"""Value of `SAMPLING`: each token of an action is drawn from those with which a valid action can go on."""

_MAGIC = b"GGUF"
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
MOST_DIMENSIONS = 8
"""ggml has four."""
MOST_PARTS = 100_000
"""Keys, and tensors. Large models have some thousand tensors."""
MOST_ITEMS, _MOST_BYTES, _FARTHEST = 2_000_000, 64 << 20, 1 << 40
"""Values, bytes of texts, and bytes of an array. Large vocabularies have half a million short texts."""


@dataclass(frozen=True, slots=True)
class ModelMetadata:
    """Metadata of a model file.

    Attributes:
        values: Texts and numbers by key.
        lengths: Lengths of arrays by key.
        parameters: Number of weights.
    """

    values: dict[str, Any] = field(default_factory=dict)
    lengths: dict[str, int] = field(default_factory=dict)
    parameters: int = 0

    def number(self, name: str) -> int:
        """Return a whole number of the architecture, such as `block_count`; 0 if it is missing.

        Raises:
            BadFile: It is something else.
        """
        key = f"{self.values.get('general.architecture')}.{name}"
        value = self.values.get(key, 0)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 32:
            raise BadFile(
                f"the model file says that its {limits.short_text(key)} is {limits.short_text(value)}, not a number"
            )
        return value


class _Reader:
    """Reads values of a file, up to limits: a damaged or hostile file can claim any number of values of any length."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._items, self._bytes = MOST_ITEMS, _MOST_BYTES

    def one(self, form: str) -> Any:
        """Return a number."""
        self._items -= 1
        if self._items < 0:
            raise ValueError("too many values")
        return struct.unpack(f"<{form}", self._file.read(struct.calcsize(f"<{form}")))[0]

    def text(self) -> str:
        """Return a text."""
        length = self.one("Q")
        self._bytes -= length
        if self._bytes < 0:
            raise ValueError("texts that are too long")
        return self._file.read(length).decode("utf-8", "replace")

    def skip(self, length: int) -> None:
        """Pass over so many bytes."""
        if length >= _FARTHEST:
            raise ValueError("an array that is too long")
        self._file.seek(length, 1)


def read(path: Path) -> ModelMetadata:
    """Return the metadata of a model file.

    Raises:
        BadFile: It is no GGUF file of version 2 or 3, or it is damaged.
    """
    about = ModelMetadata()
    try:
        with open_binary(path) as file:
            reader = _Reader(file)
            if file.read(4) != _MAGIC or reader.one("I") not in (2, 3):
                raise BadFile(f"{printable(path)} is no model file (GGUF)")
            tensors, keys = reader.one("Q"), reader.one("Q")
            if max(tensors, keys) > MOST_PARTS:
                raise ValueError("too many parts")
            for _ in range(keys):
                _key(reader, about)
            count = 0
            for _ in range(tensors):
                reader.text()
                dimensions = reader.one("I")
                if dimensions > MOST_DIMENSIONS:
                    raise ValueError("a tensor with too many dimensions")
                count += math.prod(reader.one("Q") for _ in range(dimensions))
                reader.skip(12)
    except (OSError, struct.error, ValueError, KeyError, MemoryError):
        raise BadFile(f"the model file {printable(path)} is damaged") from None
    return ModelMetadata(about.values, about.lengths, count)


def _key(reader: _Reader, about: ModelMetadata) -> None:
    name, kind = reader.text(), reader.one("I")
    if kind == _STRING:
        about.values[name] = reader.text()
    elif kind != _ARRAY:
        about.values[name] = reader.one(_NUMBERS[kind])
    else:
        inner, length = reader.one("I"), reader.one("Q")
        about.lengths[name] = length
        if inner == _STRING:
            for _ in range(length):
                reader.text()
        else:
            reader.skip(struct.calcsize(f"<{_NUMBERS[inner]}") * length)
