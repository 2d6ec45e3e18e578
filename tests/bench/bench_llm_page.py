"""Put what was measured of models into docs/results/models.md, between its marks.

    python -m tests.bench.bench_llm_page [--saves DIR] [--bench FILE] [--run TITLE=FILE ...]

Each part is written only if its source is given; the prose around stays as it is. In the tables of models and
runs, rows of what was not measured anew stay.

- `--saves`: the folder in which `jitrl models test` kept its results: the capability table.
- `--bench`: the output of `make bench-llm`.
- `--run`: results that `jitrl run ... --json FILE` wrote, each with a title.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.llm.reading import capability

PAGE = Path("docs/results/models.md")


def put(page: str, part: str, text: str) -> str:
    """Return the page with `text` between the marks of `part`.

    Raises:
        ValueError: The page has no such marks.
    """
    marks = re.compile(rf"(<!-- {part} -->\n).*?(<!-- end -->)", re.DOTALL)
    if not marks.search(page):
        raise ValueError(f"{PAGE} has no part {part!r}")
    return marks.sub(lambda found: f"{found.group(1)}{text}\n{found.group(2)}", page)


def merged(page: str, part: str, text: str, keys: int = 2) -> str:
    """Return the page with the table `text` in `part`: its rows take the place of those alike in the first cells."""
    found = re.search(rf"<!-- {part} -->\n(.*?)<!-- end -->", page, re.DOTALL)
    old = [line for line in (found.group(1) if found else "").splitlines() if line.startswith("|")]
    new = text.splitlines()

    def key(line: str) -> list[str]:
        return line.split("|")[1 : 1 + keys]

    columns = new[0].count("|")
    taken = [key(line) for line in new[2:]]
    kept = [line for line in old[2:] if key(line) not in taken and line.count("|") == columns]
    return put(page, part, "\n".join([*new[:2], *kept, *new[2:]]))


def lines_of(file: Path) -> list[dict[str, Any]]:
    """Return the JSON objects of a file with one a line; what is none is left out."""
    return [
        json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.startswith("{")
    ]


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table in Markdown."""
    cells = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in cells)


def bench(figures: Sequence[dict[str, Any]]) -> str:
    """Return the figures of `make bench-llm` as a table."""
    rows = []
    for f in figures:
        ratio = "" if f["unit"] == "x" else f" ({f['ratio']} x)"
        peer = f"{f['peer']}: {f['peer_value']:.4g}{ratio}" if f["peer"] else ""
        met = "" if f["target"] is None else f"{f['target']:g}: {'met' if f['met'] else 'missed'}"
        rows.append((f["figure"], f"{f['value']:.4g} {f['unit']}", peer, met))
    return table(("figure", "value", "peer in the same run", "target"), rows)


def runs(named: Sequence[tuple[str, dict[str, Any]]]) -> str:
    """Return whole runs as a table: the score of every episode."""
    rows = []
    for title, run in named:
        scores = [f"{e['score']:g}" for e in run["episodes"]]
        seconds = sum(e["wall_s"] for e in run["episodes"])
        tokens = sum(e["tokens"] for e in run["episodes"])
        rows.append((title, run["agent"], " ".join(scores), f"{run['avg']:.2f}", f"{run['final']:g}",
                     f"{tokens:,}", f"{seconds:.0f}"))  # fmt: skip
    return table(("run", "agent", "score of each episode", "average", "last", "tokens computed", "s"), rows)


def main() -> None:
    """Write the parts that are given."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--saves", type=Path)
    parser.add_argument("--bench", type=Path)
    parser.add_argument("--run", nargs="*", metavar="TITLE=FILE")
    args = parser.parse_args()
    page = PAGE.read_text(encoding="utf-8")
    if args.saves:
        page = merged(page, "capability", capability.table(capability.load(args.saves / "cache")))
    if args.bench:
        page = put(page, "bench", bench(lines_of(args.bench)))
    if args.run:
        pairs = [text.rpartition("=") for text in args.run]
        page = merged(page, "runs", runs([(t, json.loads(Path(f).read_text("utf-8"))) for t, _, f in pairs]))
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
