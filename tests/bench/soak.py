"""All long fault trials: `make soak`. Ends with `N survived, M lost`."""

from __future__ import annotations

import sys

from tests.bench import soak_games, soak_memory, soak_sessions


def main() -> int:
    """Run the trials and print the count; return 1 if any was lost."""
    survived = lost = 0
    for trials in (soak_games.run, soak_memory.run, soak_sessions.run):
        good, bad = trials(lambda text: print(text, file=sys.stderr, flush=True))
        survived, lost = survived + good, lost + bad
    print(f"{survived} survived, {lost} lost")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
