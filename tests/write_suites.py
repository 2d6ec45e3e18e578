"""Write the tables of suites and measures in docs/bench.md from the code.

    python -m tests.write_suites

`tests/arena/test_bench_page.py` fails when the page is old.
"""

from __future__ import annotations

import re
from pathlib import Path

from engine.bench import suite as suites
from engine.bench.measures import MEASURES

FILE = Path(__file__).resolve().parents[1] / "docs" / "bench.md"


def page(text: str) -> str:
    """Return the text of the page with its tables written anew."""
    for name, table in (("measures", measures()), ("suites", shipped())):
        text, count = re.subn(
            rf"(<!-- {name} -->\n).*?(<!-- end -->)", lambda found, new=table: found[1] + new + found[2], text,
            flags=re.DOTALL,
        )  # fmt: skip
        assert count == 1, f"docs/bench.md has no place for the table of {name}"
    return text


def measures() -> str:
    """Return the table of measures."""
    lines = ["| measure | heading | is |", "|---|---|---|"]
    lines += [f"| `{one.name}` | {one.title} | {one.meaning} |" for one in MEASURES.values()]
    return "\n".join(lines) + "\n"


def shipped() -> str:
    """Return the table of the suites of this project."""
    lines = ["| suite | what it compares | tasks | seeds | episodes | models |", "|---|---|---|---|---|---|"]
    for name in suites.shipped_suites():
        suite = suites.load(name)
        tasks, models = (", ".join(f"`{each}`" for each in names) for names in (suite.tasks, suite.models))
        lines.append(
            f"| `{name}` | {suite.title} | {tasks} | {len(suite.seeds)} | {suite.episodes} | {models} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    FILE.write_text(page(FILE.read_text(encoding="utf-8")), encoding="utf-8")
