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

from engine.disk import open_binary, shown
from engine.errors import BadFile

PROMPT, SAMPLING, RUN = "jitrl.prompt", "jitrl.sampling", "jitrl.run"
"""Keys of trained models: the prompt that they were trained with, how an action is drawn, and which training it was."""
CONSTRAINED = "constrained"
"""Value of `SAMPLING`: each token of an action is drawn from those with which a valid action can go on."""

_MAGIC = b"GGUF"
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_LONGEST = 1 << 24


@dataclass(frozen=True, slots=True)
class About:
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
        """Return a whole number of the architecture, such as `block_count`; 0 if it is missing."""
        return int(self.values.get(f"{self.values.get('general.architecture')}.{name}", 0))


def read(path: Path) -> About:
    """Return the metadata of a model file.

    Raises:
        BadFile: It is no GGUF file of version 2 or 3, or it is damaged.
    """
    about = About()
    try:
        with open_binary(path) as file:
            if file.read(4) != _MAGIC or _one(file, "I") not in (2, 3):
                raise BadFile(f"{shown(path)} is no model file (GGUF)")
            tensors, keys = _one(file, "Q"), _one(file, "Q")
            for _ in range(keys):
                _key(file, about)
            count = 0
            for _ in range(tensors):
                _text(file)
                count += math.prod(_one(file, "Q") for _ in range(_one(file, "I")))
                file.read(12)
    except (OSError, struct.error, ValueError, KeyError, MemoryError):
        raise BadFile(f"the model file {shown(path)} is damaged") from None
    return About(about.values, about.lengths, count)


def _key(file: BinaryIO, about: About) -> None:
    name, kind = _text(file), _one(file, "I")
    if kind == _STRING:
        about.values[name] = _text(file)
    elif kind != _ARRAY:
        about.values[name] = _one(file, _NUMBERS[kind])
    else:
        inner, length = _one(file, "I"), _one(file, "Q")
        about.lengths[name] = length
        if inner == _STRING:
            for _ in range(length):
                _text(file)
        else:
            file.seek(struct.calcsize(f"<{_NUMBERS[inner]}") * length, 1)


def _one(file: BinaryIO, form: str) -> Any:
    return struct.unpack(f"<{form}", file.read(struct.calcsize(f"<{form}")))[0]


def _text(file: BinaryIO) -> str:
    length = _one(file, "Q")
    if length > _LONGEST:
        raise ValueError("a text is too long")
    return file.read(length).decode("utf-8", "replace")
