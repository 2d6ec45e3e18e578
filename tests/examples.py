"""How many examples tests with Hypothesis look at.

`make test` has a third of them, the same ones each time. `make soak` has all of them, and other ones each time. It also
runs the tests with the mark `soak`, which `make test` leaves out.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import hypothesis

VARIABLE = "TEST_EXAMPLES"
"""Variable of the environment: "all" for `make soak`."""
_ALL = os.environ.get(VARIABLE) == "all"


def most(count: int) -> int:
    """Return how many of `count` examples are looked at."""
    return count if _ALL else max(count // 3, 5)


def load() -> None:
    """Load the profile of all tests."""
    hypothesis.settings.register_profile("jitrl", derandomize=not _ALL, max_examples=most(100), deadline=None)
    hypothesis.settings.load_profile("jitrl")


def run(tell: Callable[[str], object]) -> tuple[int, int]:
    """Run the long tests, and those that have examples, with all of them; return how many runs passed and failed."""
    tell("tests: those with the mark soak, and those with Hypothesis")
    command = [sys.executable, "-m", "pytest", "-m", "hypothesis or soak", "tests"]
    failed = subprocess.run(command, env=os.environ | {VARIABLE: "all"}, stdout=sys.stderr, check=False).returncode
    return int(failed == 0), int(failed != 0)
