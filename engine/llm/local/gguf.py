"""GGUF files rewritten for speed: weights of 4 bits with an offset (Q4_1) as weights of 8 bits (Q8_0).

llama.cpp multiplies Q8_0 with many tokens at once, Q4_1 with one after another: a prompt takes half the time. A
weight moves by at most half of 1/127 of the largest of its 32 neighbours, which is what either kernel rounds the
activations to anyway. Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
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

MAGIC = b"GGUF"
ALIGNMENT = 32
BLOCK = 32
"""Weights that share a scale, in Q4_1 and in Q8_0."""

Q4_1, Q8_0 = 3, 8
Q4_1_BYTES, Q8_0_BYTES = 20, 34
"""Bytes of a block: two halves and 32 half bytes; one half and 32 bytes."""

STRING, ARRAY = 8, 9
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
AT_ONCE = 1 << 16
"""Blocks rewritten at a time: 8 MB of numbers."""

Bytes = NDArray[np.uint8]


class _Unknown(Exception):
    """A file that is none of those this module can rewrite."""


@dataclass(frozen=True, slots=True)
class _Tensor:
    """One tensor as a file describes it; `start` and `stop` are the places of its bytes in the file."""

    head: bytes
    kind: int
    start: int
    stop: int


def for_speed(path: Path, folder: Path, name: str) -> Path:
    """Return a file with the model of `path` that runs faster, made in `folder` if it is not there; else `path`.

    Args:
        name: Of the file in `folder`, without suffix; another model needs another.
    """
    target = folder / f"{name}.q8_0.gguf"
    if target.is_file():
        return target
    unfinished = target.with_suffix(f".{os.getpid()}.part")
    # No room, no rights, another format: the model runs as it is.
    with contextlib.suppress(OSError, _Unknown, ValueError, KeyError, struct.error):
        try:
            with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as source:
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
        _Unknown: It has none, or is no GGUF file of version 2 or 3.
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
    """Return blocks of Q4_1 as blocks of Q8_0, both as bytes.

    Q4_1 is scale d, offset m (half precision), then q: weight i is d * q_i + m, with q_i in the low half of byte i and
    q_{i+16} in its high half. Q8_0 is scale d, then q: weight i is d * q_i.
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
    """Return where the metadata ends, and the tensors in the order of the file."""
    if source[:4] != MAGIC or struct.unpack_from("<I", source, 4)[0] not in (2, 3):
        raise _Unknown
    count, keys = struct.unpack_from("<QQ", source, 8)
    at = 24
    for _ in range(keys):
        length = struct.unpack_from("<Q", source, at)[0]
        if source[at + 8 : at + 8 + length] == b"general.alignment":
            raise _Unknown  # it would have to be changed along; no model here has one of its own
        at = _skip(source, at + 8 + length)
    metadata = at
    heads: list[tuple[bytes, int, int]] = []
    for _ in range(count):
        start = at
        at += 8 + struct.unpack_from("<Q", source, at)[0]
        dimensions = struct.unpack_from("<I", source, at)[0]
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
    """Return the blocks of a tensor from its name and dimensions as the file has them."""
    name = int(struct.unpack_from("<Q", head)[0])
    sizes = struct.unpack_from(f"<{(len(head) - name - 12) // 8}Q", head, name + 12)
    return int(math.prod(sizes)) // BLOCK


def _skip(source: mmap.mmap, at: int) -> int:
    """Return the place behind the value, type first, at `at`."""
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
    for _ in range(length):
        at += 8 + int(struct.unpack_from("<Q", source, at)[0])
    return at


def _aligned(size: int) -> int:
    return size + -size % ALIGNMENT
