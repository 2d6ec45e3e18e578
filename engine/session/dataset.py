"""Writes rows of decisions in the layout of Hugging Face datasets: a folder with a card and a file of rows."""

from __future__ import annotations

import dataclasses
import json
import os
import secrets
import shutil
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from engine.disk import shown
from engine.errors import FailingAs, StorageError, UsageError
from engine.session import tables
from engine.session.candidates import CandidateRow

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


def save(rows: Iterable[CandidateRow], folder: Path, title: str) -> int:
    """Write a new folder with `README.md` and the rows, as Parquet where pyarrow is installed; return their number.

    Raises:
        UsageError: The folder is there already.
        StorageError: It cannot be written; nothing is left of it.
    """
    if folder.exists():
        raise UsageError(f"{shown(folder)} is there already; name a new folder")
    form = "jsonl" if find_spec("pyarrow") is None else "parquet"
    partial = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.part")
    path = f"data/train.{form}"
    types = {spec.name: _TYPES[str(spec.type).removesuffix(" | None")] for spec in dataclasses.fields(CandidateRow)}
    card = _CARD.format(
        title=shown(title), quoted=json.dumps(title), path=path,
        features="\n".join(f"  - name: {name}\n    dtype: {kind}" for name, kind in types.items()),
        columns="\n".join(f"| `{name}` | {kind} |" for name, kind in types.items()),
    )  # fmt: skip
    try:
        with FailingAs(StorageError, f"cannot write {shown(folder)}"):
            partial.mkdir()
            (partial / "data").mkdir()
            (partial / "README.md").write_text(card, encoding="utf-8")
            count = tables.save(rows, form, partial / path)
            os.rename(partial, folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return count
