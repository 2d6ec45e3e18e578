"""Write docs/bench-format.md: the files of a benchmark's run, field by field.

    python -m tests.write_bench_format

Fields of rows are those of the records in the code. `tests/arena/test_format.py` fails when the page is old.
"""

from __future__ import annotations

from pathlib import Path

from engine.bench.records import FORMAT, EpisodeRow, TimingRow
from engine.bench.report.plain_text import HEAD
from tests.write_formats import table

FILE = Path(__file__).resolve().parents[1] / "docs" / "bench-format.md"

_FIRST = f"""# Runs of benchmarks: format {FORMAT}

A run of a benchmark is a folder in `saves/bench/`. `python -m tests.write_bench_format` writes this page from the code.

| file | what it is |
|---|---|
| `manifest.json` | what is played, with what, and how far it is |
| `episodes.jsonl` | a line for each finished episode. Equal seeds and replies give equal bytes |
| `timings.jsonl` | the same: what it took. It differs from run to run |
| `cells/NAME/` | a cell: its sessions, its memory, its own `episodes.jsonl` and `timings.jsonl` |
| `report/` | written by `jitrl bench report` |

Lines are JSON objects in UTF-8. A last line without its newline is ignored, and so are unknown fields. A `?` after a
name means that the field may be missing. Null and "" stand for what is unknown or does not exist. A run of a later
format is refused. [bench.md](bench.md) says what an arm and a cell are. A cell is played in *legs*: sessions on one
task each.

## manifest.json

| field | type | meaning |
|---|---|---|
"""

MANIFEST = {
    "format": ("integer", "the number above. It grows when a field changes its name or meaning"),
    "name": ("text", "name of the run"),
    "suite": ("text", "name of the suite"),
    "title": ("text", "title of the suite"),
    "created": ("number", "Unix time in seconds"),
    "command": ("text", "the command that began the run"),
    "games": ("text or null", "additional folder with stories"),
    "memory": ("text", 'server with the memories of the cells, "" if they lie in their folders'),
    "tasks": ("object", "the tasks of the plan, each with the group that it is reported in"),
    "train": ("object", "its training tasks, likewise"),
    "versions": ("object of text", "versions of packages"),
    "code": ("object of text", "digests of the folders of the engine"),
    "machine": ("object", "`system`, `cpu`, `cores`, `memory_gb`, `python`"),
    "plan": ("object", "the suite: keys of its TOML file, and what the command line changed"),
    "cells": ("object", "the cells by name"),
    "on": ("text?", 'where it was played last: "local", "ray", "ray:auto" or "ray://HOST:PORT"'),
    "nodes": ("object?", "with Ray: the machines that could play, as `machine`, by name"),
    "spent": ("object", "`usd`, `tokens` and `minutes` so far"),
    "stopped": ("text", "why the run was stopped"),
}
"""Fields of a manifest: type and meaning. Those with a question mark may be missing."""

CELL = {
    "arm": ("text", "name of the arm"),
    "agent": ("text", "the method"),
    "model": ("text", "the model, if the agent needs one"),
    "seed": ("integer", "seed of the cell"),
    "workers": ("integer", "sessions that share its memory and take their steps in turn"),
    "experience": ("text", "see [scale.md](scale.md#which-experiment-it-is)"),
    "tasks": ("list of text", "names of its environments"),
    "state": ("text", '"waiting", "running", "stopped", "failed" or "finished"'),
    "error": ("text", "why it failed"),
    "settings": ("object", "the settings in effect"),
    "node": ("text?", 'with Ray: the machine that played it, otherwise ""'),
    "reading": ("text?", "how logits are read from the model"),
    "replaced": ("list of text?", "settings that the model cannot follow, and what replaced them"),
    "prompts": ("object of text?", "digests of the prompts"),
    "stories": ("object of text?", "digests of the stories"),
    "base": (
        "text?",
        "the model that its trained model was made from",
    ),
    "training": (
        "object?",
        "what its model was trained with: `episodes`, `environment_steps`, `prompt_tokens`, `completion_tokens`, "
        "`processor_s`",
    ),
    "overruled": ("integer?", "steps that a person chose from another process"),
}
"""Fields of a cell in the manifest: type and meaning."""

_REPORT = f"""## report/

| file | what it is |
|---|---|
| `report.md`, `report.csv`, `report.tex` | scores and costs. Two runs with the same episodes have the same bytes |
| `timings.md`, `timings.csv`, `timings.tex` | tables that depend on how long something took |
| `report.html` | everything on one page |
| `curves.svg`, `values.png`, ... | figures |

The CSV files have the columns
{", ".join(f"`{one}`" for one in HEAD)}.
`part` is a part of the arm, such as a size of memory. `low` and `high` are the ends of the 95 % interval. `n` seeds or
tasks were averaged of `of` that were planned. Shares lie between 0 and 1.
"""


def page() -> str:
    """Return the whole page."""
    lines = [_FIRST + _fields(MANIFEST), "### Cells", "", "| field | type | meaning |", "|---|---|---|"]
    lines += [_fields(CELL), "## Rows", ""]
    for record in (EpisodeRow, TimingRow):
        lines += table(record)
    return "\n".join([*lines, _REPORT.rstrip()]) + "\n"


def _fields(fields: dict[str, tuple[str, str]]) -> str:
    return "".join(
        f"| `{name}`{'?' * kind.endswith('?')} | {kind.rstrip('?')} | {meaning} |\n"
        for name, (kind, meaning) in fields.items()
    )


if __name__ == "__main__":
    FILE.write_text(page(), encoding="utf-8")
