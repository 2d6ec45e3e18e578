"""A short run of the fuzzer in `tests/bench/fuzz.py`; `make soak` has the long one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench import fuzz


def test_many_mutated_inputs_are_read_or_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fuzz, "LONGEST_S", 120)  # the long run has the machine for itself
    told: list[str] = []
    survived, lost = fuzz.run(told.append, inputs=150, seed=7)
    assert (survived, lost) == (150, 0), told
    assert told[-1].startswith("fuzz: 150 inputs")


def test_the_fuzzer_finds_a_traceback_and_a_hang(monkeypatch: pytest.MonkeyPatch):
    def broken(self: fuzz.Targets, rng: object) -> None:
        raise OverflowError("int too large")

    def endless(self: fuzz.Targets, rng: object) -> None:
        while True:
            Path("/").exists()

    monkeypatch.setattr(fuzz, "LONGEST_S", 0.1)
    monkeypatch.setattr(fuzz.Targets, "reply", broken)
    monkeypatch.setattr(fuzz.Targets, "page", endless)
    told: list[str] = []
    assert list(fuzz.trials(told.append, 2, 1, ("reply", "page"))) == [False, False]
    assert "OverflowError: int too large" in told[0]
    assert told[1].startswith("page 1: more than")
