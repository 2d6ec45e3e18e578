"""Write docs/formats.md and docs/export.md: the fields of recordings and of `jitrl export`, from the code.

    python -m tests.write_formats

Meanings are the `Attributes:` of the records' docstrings. `tests/test_docs.py` fails when the page is old.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import types
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from engine.records import EVENTS, FORMAT, Part, UnknownPart
from engine.session.candidates import CandidateRow
from engine.session.recording import PASSING

FILE = Path(__file__).resolve().parents[1] / "docs" / "formats.md"
EXPORT = FILE.with_name("export.md")

_NAMES = {
    str: "text", int: "integer", float: "number", bool: "boolean", Any: "any value", type(None): "null",
}  # fmt: skip

_HEAD = """# Recordings: format {number}

A recording is the file `events.jsonl` in the folder of a session, `saves/sessions/NAME/`. `jitrl replay` shows it
without the game and without the model. `python -m tests.write_formats` writes this page from the code.

Each line is one JSON object in UTF-8: an event. Its field `event` is the name of one of the events below, `at` is
Unix time in seconds. A `?` after a name means that the field may be missing. Null and "" stand for what is unknown or
does not exist; a cost is null if a price is not known. A last line without its newline is ignored, and so are unknown
events and fields. [schemas/recording.json](schemas/recording.json) is a JSON Schema of a line (`python -m
tests.write_schemas`).

The first event is SessionStarted. Its `format` is the number above, which grows when a field changes its name or
meaning. Formats 1 and {number} are read, later ones are refused. Format 1 had `done`, `won` and `died` in place of
`terminated`, `truncated` and `outcome`, and the fields of Update in Decision itself.

## Events
"""

_EXPORT = """# Tables of decisions

`jitrl export` writes one row for each candidate of each decision of a session, or of all cells of a benchmark's run:

```sh
jitrl export last-week --to csv -o decisions.csv
jitrl export 20261126-quick-19e0 --to jsonl | head
jitrl export 20261126-quick-19e0 -o decisions.parquet     # needs: jitrl up parquet
jitrl export last --to datasets -o decisions               # a folder that load_dataset("decisions") opens
jitrl export last -o session.eval                          # a log of Inspect
jitrl export last --to openinference -o spans.json         # spans of OpenTelemetry
```

`--to datasets` writes the layout of Hugging Face datasets: a new folder with a card (`README.md`, with the types of the
columns) and `data/train.parquet`, or `data/train.jsonl` where pyarrow is not installed.

`--to inspect` writes a log of [Inspect](https://inspect.aisi.org.uk), as `.eval` or `.json`; for a benchmark's run a
folder with a log for each session. The game is the only sample, and each finished episode an epoch of it: what was
shown are the messages of the user, what was done those of the assistant. `inspect view` shows it. It was tried with
inspect_ai 0.3.285 and datasets 5.2.

`--to openinference` writes spans of OpenTelemetry (OTLP as JSON) with the attributes of OpenInference. Each episode is
a trace: the agent's span holds one for each step, and that has the calls of the model, with prompts, and the action.

Logits, values and probabilities are those of the recording ([formats.md](formats.md)), with all digits; `v_shown`,
`q_shown` and `a_shown` are those of the screens. What does not exist is empty in CSV and null elsewhere. In CSV, a
text that a spreadsheet would take for a formula begins with an apostrophe. Columns of JitRL's update (`n` to `beta`,
`z_prime`, `v_shown` to `unit`) are empty in decisions without one. A `?` after a name means that the field may be
missing. `python -m tests.write_formats` writes this page from the code.
"""

_PART = "object with `part`: [Update](#update), [Basis](#basis) or an unknown one"


def meanings(cls: type[Any]) -> dict[str, str]:
    """Return what the docstring of a record says of each of its attributes."""
    doc = inspect.cleandoc(cls.__doc__ or "")
    found: dict[str, str] = {}
    _, _, rest = doc.partition("Attributes:\n")
    for block in re.split(r"\n(?=    \w)", "\n" + rest):
        match = re.match(r"\s*([\w, ]+): (.*)", block, re.DOTALL)
        if match:
            for name in match.group(1).split(","):
                found[name.strip()] = " ".join(match.group(2).split())
    return found


def about(cls: type[Any]) -> str:
    """Return what the docstring of a record says before its attributes."""
    return " ".join(inspect.cleandoc(cls.__doc__ or "").partition("Attributes:")[0].split())


def spelt(hint: Any) -> str:
    """Return a type in words."""
    if hint in _NAMES:
        return _NAMES[hint]
    if hint == Part:
        return _PART
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(spelt(each) for each in inner)
    if origin is tuple:
        return f"list of {spelt(inner[0])}"
    if origin is not None and issubclass(origin, Mapping):
        return f"object of {spelt(inner[1])}"
    return f"[{hint.__name__}](#{hint.__name__.lower()})" if dataclasses.is_dataclass(hint) else str(hint)


def inside(hint: Any) -> Iterator[type[Any]]:
    """Yield the records that a type holds."""
    if dataclasses.is_dataclass(hint) and hint is not UnknownPart:
        yield typing.cast("type[Any]", hint)
    for each in typing.get_args(hint):
        yield from inside(each)


def table(cls: type[Any]) -> list[str]:
    """Return the lines of one record's section."""
    hints, known = typing.get_type_hints(cls), meanings(cls)
    lines = [f"### {cls.__name__}", "", about(cls), "", "| field | type | meaning |", "|---|---|---|"]
    for spec in dataclasses.fields(cls):
        needed = spec.default is dataclasses.MISSING and spec.default_factory is dataclasses.MISSING
        name = f"`{spec.name}`" + ("" if needed else "?")
        lines.append(f"| {name} | {spelt(hints[spec.name])} | {known.get(spec.name, '')} |".replace("  |", " |"))
    return [*lines, ""] if dataclasses.fields(cls) else [*lines[:3], ""]


def reached(roots: list[type[Any]]) -> list[type[Any]]:
    """Return the records that these hold, and those that they hold, in the order of their first use."""
    found: dict[type[Any], None] = {}

    def visit(cls: type[Any]) -> None:
        for hint in typing.get_type_hints(cls).values():
            for other in inside(hint):
                if other not in found and other not in roots:
                    found[other] = None
                    visit(other)

    for root in roots:
        visit(root)
    return list(found)


def page() -> str:
    """Return the whole page."""
    events = [cls for cls in EVENTS.values() if cls not in PASSING]
    lines = [_HEAD.format(number=FORMAT)]
    for cls in events:
        lines += table(cls)
    lines += ["## What events hold", ""]
    for cls in reached(events):
        lines += table(cls)
    return "\n".join(lines).rstrip() + "\n"


def export_page() -> str:
    """Return the whole page about `jitrl export`."""
    lines = [_EXPORT, *table(CandidateRow)]
    return "\n".join(lines).replace("### CandidateRow", "## Columns").rstrip() + "\n"


if __name__ == "__main__":
    EXPORT.write_text(export_page(), encoding="utf-8")
    FILE.write_text(page(), encoding="utf-8")
