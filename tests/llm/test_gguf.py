"""Model files rewritten for speed: against the runtime's own reading of both formats, and the model as it was."""

from __future__ import annotations

import ctypes as c
from pathlib import Path

import numpy as np
import pytest

from engine.llm import opening
from engine.llm.local import gguf
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
    assert opening.for_speed(weights_file, prefixes) == path
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
    runtime = engine._runtime
    prompt = runtime.tokenize(STATE * 2 + "\n\n>")
    tails = [runtime.tokenize(f"{action}\n") for action in ACTIONS]
    assert {len(tail) for tail in tails} >= {2}  # one token that is fed, all alone
    runtime.forget()
    together = runtime.score(prompt, tails)
    for length in (len(prompt) - 1, len(prompt) - 2, 33):
        runtime.forget()
        runtime.feed(prompt[:length])
        assert runtime.score(prompt, tails) == together
    runtime.forget()
    for tail, expected in zip(tails, together, strict=True):
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
