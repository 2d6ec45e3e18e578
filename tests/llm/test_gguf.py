"""Model files rewritten for speed: against the runtime's own reading of both formats, and the model as it was."""

from __future__ import annotations

import ctypes as c
import struct
import time
from pathlib import Path

import numpy as np
import pytest

from engine.errors import BadFile
from engine.llm import model_factory
from engine.llm.local import gguf, metadata
from engine.llm.local.engine import LocalEngine
from engine.llm.local.llamacpp import library

STATE = "Kitchen\nA table holds a lamp and a knife. A dark staircase leads down.\nYou are empty-handed."
ACTIONS = ["take lamp", "take knife", "wait", "down", "turn on lamp", "put the knife on the table"]


def read(name: str, blocks: np.ndarray) -> np.ndarray:
    """Weights, shape (blocks, 32), as llama.cpp reads them."""
    function = getattr(library(), f"dequantize_row_{name}")
    function.restype, function.argtypes = None, [c.c_void_p, c.c_void_p, c.c_int64]
    size = {"q4_1": 20, "q8_0": 34}[name]
    weights = np.zeros((blocks.size // size, 32), np.float32)
    function(blocks.ctypes.data, weights.ctypes.data, weights.size)
    return weights


def test_weights_move_by_no_more_than_the_rounding():
    rng = np.random.default_rng(1)
    blocks = rng.integers(0, 256, (500, gguf.Q4_1_BYTES), dtype=np.uint8)
    blocks[:, :4] = rng.normal(0, 0.1, (500, 2)).astype("<f2").view(np.uint8)
    blocks[0] = 0
    before = read("q4_1", blocks.ravel())
    after = read("q8_0", gguf.rewritten(blocks.ravel()))
    step = np.abs(before).max(axis=1, keepdims=True) / 127
    assert (np.abs(after - before) <= 0.56 * step + 1e-7).all()  # half a step, and the scale's own rounding
    assert before.std() > 0.5


def test_a_file_is_made_once(weights_file: Path, prefixes: Path):
    (path,) = (prefixes / "models").iterdir()
    made = path.stat()
    assert model_factory.for_speed(weights_file, prefixes) == path
    assert path.stat().st_mtime_ns == made.st_mtime_ns


@pytest.mark.model
def test_the_model_says_the_same(engine: LocalEngine, weights_file: Path):
    messages = [{"role": "transcript", "content": STATE}]
    original = LocalEngine(weights_file, threads=1)
    ours, before = (np.asarray(e.score(messages, ">", ACTIONS).mean) for e in (engine, original))
    original.close()
    assert engine.identity != original.identity  # scores that are kept are not mixed up
    assert (
        np.abs(ours - before).max() < 0.35
    )  # nats a token; what the rounding of activations does is as large
    assert np.corrcoef(ours, before)[0, 1] > 0.99


@pytest.mark.model
def test_scores_are_the_same_whatever_else_is_computed_with_them(engine: LocalEngine):
    runtime = engine.runtime
    prompt = runtime.tokenize(STATE * 2 + "\n\n>")
    tails = [runtime.tokenize(f"{action}\n") for action in ACTIONS[:4]]
    assert {len(tail) for tail in tails} >= {2}  # one token that is fed, all alone
    runtime.forget()
    together = runtime.score(prompt, tails)
    for length in (len(prompt) - 1, 33):
        runtime.forget()
        runtime.feed(prompt[:length])
        assert runtime.score(prompt, tails) == together
    runtime.forget()
    for tail, expected in zip(tails[2:4], together[2:4], strict=True):
        assert runtime.score(prompt, [tail]) == [expected]


def test_what_cannot_be_rewritten_runs_as_it_is(tmp_path: Path, weights_file: Path):
    folder = tmp_path / "models"
    head = weights_file.read_bytes()[:2_000_000]
    for i, content in enumerate((b"", b"GGUF", b"hello " * 100, head[:3000], head)):
        path = tmp_path / f"{i}.gguf"
        path.write_bytes(content)
        assert gguf.for_speed(path, folder, "x") == path
        assert not folder.is_dir() or not list(folder.iterdir())
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert gguf.for_speed(weights_file, blocked, "x") == weights_file


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


ARCHITECTURE = text("general.architecture") + struct.pack("<I", 8) + text("llama")
HOSTILE = {
    "dimensions": (1, 0, text("w") + struct.pack("<I", 600_000) + struct.pack("<Q", 2**63 - 1) * 600_000 + bytes(12)),
    "tensors": (2**63, 0, b""),
    "keys": (0, 2**63, b""),
    "texts": (0, 1, text("a") + struct.pack("<IIQ", 9, 8, 2**62)),
    "numbers": (0, 1, text("a") + struct.pack("<IIQ", 9, 10, 2**62)),
    "letters": (0, 1, struct.pack("<Q", 2**62)),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_file_about_far_too_much_is_refused_at_once(tmp_path: Path, what: str):
    tensors, keys, rest = HOSTILE[what]
    path = tmp_path / "model.gguf"
    with path.open("wb") as file:
        file.write(b"GGUF" + struct.pack("<IQQ", 3, tensors, keys) + rest)
        file.truncate(1 << 40)  # a hole: all that follows is zero
    began = time.process_time()
    with pytest.raises(BadFile, match="is damaged"):
        metadata.read(path)
    assert gguf.for_speed(path, tmp_path / "fast", "m") == path
    assert time.process_time() - began < 30


@pytest.mark.parametrize("value", [struct.pack("<I", 8) + text("many"), struct.pack("<If", 6, float("inf")),
                                   struct.pack("<Iq", 11, -4)])  # fmt: skip
def test_what_is_no_number_is_named(tmp_path: Path, value: bytes):
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 2) + ARCHITECTURE + text("llama.block_count") + value)
    with pytest.raises(BadFile, match=r"'llama.block_count' is .*, not a number"):
        metadata.read(path).number("block_count")
