"""Long fault trials of sessions: killed at random moments and resumed, each beside the same one that nobody killed.

    python -m tests.bench.soak_sessions [--trials 50] [--seed 1]

Ends with `N survived, M lost`; exits with 1 if any was lost. `run` does the same for the whole soak. A session is lost
if one number of one decision differs.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.killed import Moment, Trial, differences, moments

Tell = Callable[[str], None]

GAMES = ("pantry", "manor", "feast")
PROFILES = (
    ("default", {}),
    ("default", {"estimator": "knn"}),
    ("paper", {}),
    ("reference", {}),
)
"""Profiles and what is changed of them."""


def drawn(rng: random.Random, number: int) -> Trial:
    """Return a session: the profiles take turns; half of the sessions have a person who overrules and takes back."""
    settings, changes = PROFILES[number % len(PROFILES)]
    episodes, steps = rng.randrange(3, 8), rng.randrange(12, 31)

    def anywhere(times: int) -> list[Moment]:
        return [(rng.randrange(1, episodes + 1), rng.randrange(1, steps)) for _ in range(times)]

    return Trial(
        game=rng.choice(GAMES),
        settings=settings,
        changes=changes,
        seed=rng.randrange(1000),
        episodes=episodes,
        steps=steps,
        script={"overrules": anywhere(3), "backs": anywhere(3)} if rng.random() < 0.5 else {},
        before=rng.randrange(3),
    )


def run(tell: Tell, *, trials: int = 50, seed: int = 1) -> tuple[int, int]:
    """Do all trials; return how many survived and how many were lost."""
    rng = random.Random(seed)
    survived = killed = 0
    for number in range(trials):
        trial = drawn(rng, number)
        with tempfile.TemporaryDirectory(prefix="jitrl-soak-") as name:
            whole, passed = trial.whole(Path(name) / "whole")
            decided, kills = trial.killed(Path(name) / "killed", moments(rng, rng.randrange(1, 4), passed))
        wrong = differences(whole, decided)
        survived, killed = survived + (not wrong), killed + kills
        if wrong:
            tell(f"{trial}: {len(wrong)} of {len(whole)} differ, the first at {wrong[0]}")
    tell(f"sessions: {survived} of {trials} as if not killed, {killed} kills")
    return survived, trials - survived


def main(argv: Sequence[str] | None = None) -> int:
    """Run the trials and print the count."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(argv)
    survived, lost = run(
        lambda text: print(text, file=sys.stderr, flush=True), trials=args.trials, seed=args.seed
    )
    print(f"{survived} survived, {lost} lost")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
