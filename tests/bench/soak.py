"""All long trials and long tests: `make soak`, or `make soak INPUTS=100000` for more fuzzed inputs.

    python -m tests.bench.soak [INPUTS]

Ends with `N survived, M lost`.
"""

from __future__ import annotations

import sys
from functools import partial

from tests import examples
from tests.bench import (
    clumsy,
    fuzz,
    soak_corrections,
    soak_edges,
    soak_games,
    soak_long,
    soak_memory,
    soak_pages,
    soak_sessions,
    soak_sites,
)


def main() -> int:
    """Run the trials and print the count; return 1 if any was lost."""
    survived = lost = 0
    inputs = int(sys.argv[1]) if len(sys.argv) > 1 else fuzz.INPUTS
    for trials in (
        partial(fuzz.run, inputs=inputs), clumsy.run, soak_games.run, soak_memory.run, soak_corrections.run,
        soak_sessions.run, soak_edges.run, soak_sites.run, soak_pages.run, soak_long.run, examples.run,
    ):  # fmt: skip
        good, bad = trials(lambda text: print(text, file=sys.stderr, flush=True))
        survived, lost = survived + good, lost + bad
    print(f"{survived} survived, {lost} lost")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
