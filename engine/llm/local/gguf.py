"""Rewrites GGUF files for speed: 4-bit weights with an offset (Q4_1) become 8-bit weights (Q8_0).

llama.cpp multiplies Q8_0 weights with many tokens at once, but Q4_1 weights with one token at a time. With Q8_0 a
prompt takes half the time. A weight changes by at most half of 1/127 of the largest weight in its block of 32. Both
kernels round activations to this precision anyway. Format:
https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import contextlib
import math
import mmap
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from engine.disk import open_binary
from engine.llm.local.metadata import MOST_DIMENSIONS, MOST_ITEMS, MOST_PARTS

MAGIC = b"GGUF"
ALIGNMENT = 32
BLOCK = 32
"""Weights per block; a block has one scale, in both Q4_1 and Q8_0."""

Q4_1, Q8_0 = 3, 8
Q4_1_BYTES, Q8_0_BYTES = 20, 34
"""Bytes per block. Q4_1: two 16-bit floats and 32 half bytes. Q8_0: one 16-bit float and 32 bytes."""

STRING, ARRAY = 8, 9
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
AT_ONCE = 1 << 16
"""Blocks rewritten at a time, 8 MB of numbers."""

Bytes = NDArray[np.uint8]


class _Unknown(Exception):
    """This module cannot rewrite the file."""


@dataclass(frozen=True, slots=True)
class _Tensor:
    """One tensor of a file.

    Attributes:
        head: Its name and dimensions, as in the file.
        kind: Number of its type.
        start: Offset of its data in the file.
        stop: Offset after its data.
    """

    head: bytes
    kind: int
    start: int
    stop: int


def for_speed(path: Path, folder: Path, name: str) -> Path:
    """Return a file with the same model that runs faster; `path` itself if it cannot be rewritten.

    Args:
        path: The model file.
        folder: Folder of the rewritten file, which is made if missing.
        name: Name of the rewritten file without suffix; it must differ between models.
    """
    target = folder / f"{name}.q8_0.gguf"
    if target.is_file():
        return target
    unfinished = target.with_suffix(f".{os.getpid()}.part")
    # On errors (no space, no permission, another format) the original file is used.
    with contextlib.suppress(OSError, _Unknown, ValueError, KeyError, struct.error):
        try:
            with open_binary(path) as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as source:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                with unfinished.open("wb") as out:
                    _rewrite(source, out)
                    out.flush()
                    os.fsync(out.fileno())
            unfinished.replace(target)
        finally:
            unfinished.unlink(missing_ok=True)
        return target
    return path


def _rewrite(source: mmap.mmap, out: BinaryIO) -> None:
    """Write `source` with its Q4_1 tensors as Q8_0.

    Raises:
        _Unknown: It has no such tensor, or is no GGUF file of version 2 or 3.
    """
    metadata, tensors = _read(source)
    if all(tensor.kind != Q4_1 for tensor in tensors):
        raise _Unknown
    out.write(source[:metadata])
    offset = 0
    for tensor in tensors:
        kind = Q8_0 if tensor.kind == Q4_1 else tensor.kind
        out.write(tensor.head + struct.pack("<IQ", kind, offset))
        offset += _aligned(_size(tensor))
    for tensor in tensors:
        out.write(bytes(-out.tell() % ALIGNMENT))
        for piece in _pieces(source, tensor):
            out.write(piece)
    out.write(bytes(-out.tell() % ALIGNMENT))


def _size(tensor: _Tensor) -> int:
    size = tensor.stop - tensor.start
    return size // Q4_1_BYTES * Q8_0_BYTES if tensor.kind == Q4_1 else size


def _pieces(source: mmap.mmap, tensor: _Tensor) -> Iterator[bytes]:
    if tensor.kind != Q4_1:
        yield source[tensor.start : tensor.stop]
        return
    for start in range(tensor.start, tensor.stop, AT_ONCE * Q4_1_BYTES):
        raw = source[start : min(tensor.stop, start + AT_ONCE * Q4_1_BYTES)]
        yield rewritten(np.frombuffer(raw, np.uint8)).tobytes()


def rewritten(blocks: Bytes) -> Bytes:
    """Return Q4_1 blocks as Q8_0 blocks, both as bytes.

    A Q4_1 block is a scale d and an offset m (half precision), then q. Weight i is d * q_i + m; q_i is the low half
    of byte i, and q_{i+16} its high half. A Q8_0 block is a scale d, then q. Weight i is d * q_i.
    """
    rows = blocks.reshape(-1, Q4_1_BYTES)
    scale, offset = (rows[:, i : i + 2].copy().view("<f2").astype(np.float32) for i in (0, 2))
    packed = rows[:, 4:]
    weights = np.concatenate((packed & 15, packed >> 4), axis=1).astype(np.float32)
    weights *= scale
    weights += offset
    largest = np.abs(weights).max(axis=1, keepdims=True)
    step = (largest / 127).astype("<f2")
    divisor = step.astype(np.float32)
    divisor[divisor == 0] = 1
    weights /= divisor
    np.clip(np.rint(weights, out=weights), -127, 127, out=weights)
    return np.concatenate((step.view(np.uint8), weights.astype(np.int8).view(np.uint8)), axis=1).ravel()


def _read(source: mmap.mmap) -> tuple[int, list[_Tensor]]:
    """Return the offset after the metadata, and the tensors in the order of the file."""
    if source[:4] != MAGIC or struct.unpack_from("<I", source, 4)[0] not in (2, 3):
        raise _Unknown
    count, keys = struct.unpack_from("<QQ", source, 8)
    if max(count, keys) > MOST_PARTS:
        raise _Unknown
    at = 24
    for _ in range(keys):
        length = struct.unpack_from("<Q", source, at)[0]
        if length == 17 and source[at + 8 : at + 8 + length] == b"general.alignment":
            raise _Unknown  # the alignment would have to be changed, too; no known model sets one
        at = _skip(source, at + 8 + length)
    metadata = at
    heads: list[tuple[bytes, int, int]] = []
    for _ in range(count):
        start = at
        at += 8 + struct.unpack_from("<Q", source, at)[0]
        dimensions = struct.unpack_from("<I", source, at)[0]
        if dimensions > MOST_DIMENSIONS:
            raise _Unknown
        sizes = struct.unpack_from(f"<{dimensions}Q", source, at + 4)
        at += 4 + 8 * dimensions
        kind, offset = struct.unpack_from("<IQ", source, at)
        if kind == Q4_1 and math.prod(sizes) % BLOCK:
            raise _Unknown
        heads.append((source[start:at], kind, offset))
        at += 12
    data = _aligned(at)
    tensors = []
    for i, (head, kind, offset) in enumerate(heads):
        following = heads[i + 1][2] if i + 1 < len(heads) else len(source) - data
        if not 0 <= offset <= following <= len(source) - data:
            raise _Unknown
        stop = offset + _blocks(head) * Q4_1_BYTES if kind == Q4_1 else following
        tensors.append(_Tensor(head, kind, data + offset, data + stop))
    return metadata, tensors


def _blocks(head: bytes) -> int:
    """Return the number of blocks of a tensor, from its name and dimensions as in the file."""
    name = int(struct.unpack_from("<Q", head)[0])
    sizes = struct.unpack_from(f"<{(len(head) - name - 12) // 8}Q", head, name + 12)
    return int(math.prod(sizes)) // BLOCK


def _skip(source: mmap.mmap, at: int) -> int:
    """Return the offset after the value at `at`, which begins with its type."""
    kind = struct.unpack_from("<I", source, at)[0]
    at += 4
    if kind == STRING:
        return at + 8 + int(struct.unpack_from("<Q", source, at)[0])
    if kind != ARRAY:
        return at + SIZES[kind]
    inner = int(struct.unpack_from("<I", source, at)[0])
    length = int(struct.unpack_from("<Q", source, at + 4)[0])
    at += 12
    if inner != STRING:
        return at + SIZES[inner] * length
    if length > MOST_ITEMS:
        raise _Unknown
    for _ in range(length):
        at += 8 + int(struct.unpack_from("<Q", source, at)[0])
    return at


def _aligned(size: int) -> int:
    return size + -size % ALIGNMENT
