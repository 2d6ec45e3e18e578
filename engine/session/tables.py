"""Writes rows of decisions: CSV, JSON lines, Parquet, or the layout of Hugging Face datasets, a folder with a card."""

from __future__ import annotations

import csv
import dataclasses
import itertools
import json
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from engine import extras
from engine.disk import new_version_of, printable
from engine.errors import FailingAs, StorageError, UsageError
from engine.session.candidates import CandidateRow
from engine.texts import cell

COLUMNS = tuple(field.name for field in dataclasses.fields(CandidateRow))
BATCH = 10_000
"""Rows that are in memory at a time while Parquet is written."""


def save(rows: Iterable[CandidateRow], form: str, path: Path) -> int:
    """Write rows to a file that the user asked for; an existing file is replaced at the end. Return their number.

    Args:
        form: "csv", "jsonl" or "parquet".

    Raises:
        MissingError: Parquet was asked for, and pyarrow is not installed.
        StorageError: The file cannot be written; an existing file is unchanged.
    """
    with new_version_of(path) as partial:
        if form == "parquet":
            with partial.open("xb") as data:
                count = _parquet(rows, data)
        else:
            with partial.open("x", encoding="utf-8", errors="backslashreplace", newline="") as text:
                count = write(rows, form, text)
    return count


def write(rows: Iterable[CandidateRow], form: str, file: TextIO) -> int:
    """Write rows as "csv" or "jsonl"; return their number."""
    return (_csv if form == "csv" else _jsonl)(rows, file)


def _csv(rows: Iterable[CandidateRow], file: TextIO) -> int:
    """Write CSV."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    count = 0
    for count, row in enumerate(rows, 1):  # noqa: B007
        writer.writerow(map(cell, dataclasses.astuple(row)))
    return count


def _jsonl(rows: Iterable[CandidateRow], file: TextIO) -> int:
    count = 0
    for count, row in enumerate(rows, 1):  # noqa: B007
        file.write(json.dumps(dataclasses.asdict(row)) + "\n")
    return count


def _parquet(rows: Iterable[CandidateRow], file: BinaryIO) -> int:
    pyarrow, parquet = (extras.load("parquet", module) for module in ("pyarrow", "pyarrow.parquet"))
    kinds = {"str": pyarrow.string(), "int": pyarrow.int64(), "float": pyarrow.float64(), "bool": pyarrow.bool_()}
    schema = pyarrow.schema(
        [(field.name, kinds[str(field.type).removesuffix(" | None")]) for field in dataclasses.fields(CandidateRow)]
    )
    count = 0
    with parquet.ParquetWriter(file, schema) as writer:
        for batch in _batches(rows):
            count += len(batch)
            writer.write_table(pyarrow.Table.from_pylist([dataclasses.asdict(row) for row in batch], schema))
    return count


def _batches(rows: Iterable[CandidateRow]) -> Iterator[list[Any]]:
    left = iter(rows)
    while batch := list(itertools.islice(left, BATCH)):
        yield batch


_TYPES = {"str": "string", "int": "int64", "float": "float64", "bool": "bool"}
_CARD = """---
pretty_name: {quoted}
tags:
- reinforcement-learning
- text-games
configs:
- config_name: default
  data_files:
  - split: train
    path: {path}
dataset_info:
  features:
{features}
---

# {title}

Decisions of a language-model agent, written by `jitrl export --to datasets`. There is one row for each candidate of
each decision. The column `chosen` tells which one was carried out.

```python
from datasets import load_dataset

rows = load_dataset("PATH OF THIS FOLDER", split="train")
```

| column | type |
|---|---|
{columns}
"""


def save_dataset(rows: Iterable[CandidateRow], folder: Path, title: str) -> int:
    """Write a new folder with `README.md` and the rows, as Parquet where pyarrow is installed; return their number.

    Raises:
        UsageError: The folder is there already.
        StorageError: It cannot be written; nothing is left of it.
    """
    if folder.exists():
        raise UsageError(f"{printable(folder)} is there already; name a new folder")
    form = "jsonl" if find_spec("pyarrow") is None else "parquet"
    partial = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.part")
    path = f"data/train.{form}"
    types = {spec.name: _TYPES[str(spec.type).removesuffix(" | None")] for spec in dataclasses.fields(CandidateRow)}
    card = _CARD.format(
        title=printable(title), quoted=json.dumps(title), path=path,
        features="\n".join(f"  - name: {name}\n    dtype: {kind}" for name, kind in types.items()),
        columns="\n".join(f"| `{name}` | {kind} |" for name, kind in types.items()),
    )  # fmt: skip
    try:
        with FailingAs(StorageError, f"cannot write {printable(folder)}"):
            partial.mkdir()
            (partial / "data").mkdir()
            (partial / "README.md").write_text(card, encoding="utf-8")
            count = save(rows, form, partial / path)
            os.rename(partial, folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return count
