"""Long trials of hostile pages: each is opened, acted on and left, again and again, in one environment.

    python -m tests.bench.soak_pages [--rounds 3] [--pages alerts heap ...]

Ends with `N survived, M lost`; exits with 1 if any was lost. `run` does the same for the whole soak. A try is lost if
something is told of more than `MOST_TOLD` characters, if nothing is told for more than `SILENCE_S`, if an error is
raised, or if the next episode does not begin on the ordinary page.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable, Sequence

from engine.errors import JitrlError
from engine.web.browser import chromium
from engine.web.environment import WebEnvironment
from tests.web.hostile_pages import ERRORS, PAGES, opened, serving

Tell = Callable[[str], None]
NAMES = (*PAGES, *ERRORS)
MOST_TOLD = 600_000
SILENCE_S = 20.0


class Clock:
    """Measures the longest time in which nothing was told."""

    def __init__(self) -> None:
        self.last, self.longest = time.monotonic(), 0.0

    def tick(self, _: str = "") -> None:
        """Tell something."""
        now = time.monotonic()
        self.last, self.longest = now, max(self.longest, now - self.last)


def trial(env: WebEnvironment, base: str, page: str) -> tuple[str, str]:
    """Play an episode on a page; return how it ended, and what was wrong with that ("" if nothing)."""
    clock, most = Clock(), 0
    env.on_wait(clock.tick)
    try:
        seen = env.reset(1)
        clock.tick()
        if "Words of a page" not in seen.description:
            return "", f"the ordinary page is not shown: {seen.text[:100]}"
        for action in (f"goto('{base}/{page}')", "noop()", "scroll(0, 400)", "go_back()"):
            seen = env.step(action)
            clock.tick()
            sight = env.sight()
            most = max(most, len(repr(seen)) + len(repr(sight.entries)) + len(sight.snapshot) + len(sight.url))
            clock.tick()
            if seen.over:
                break
    except JitrlError as error:
        return "", f"raised: {error}"
    if most > MOST_TOLD:
        return "", f"{most} characters were told"
    if clock.longest > SILENCE_S:
        return "", f"nothing was told for {clock.longest:.0f} s"
    return seen.text.splitlines()[0][:110] if seen.broken else "went on", ""


def run(tell: Tell, *, rounds: int = 3, pages: Sequence[str] = NAMES) -> tuple[int, int]:
    """Do all trials; return how many survived and how many were lost."""
    why = chromium.missing()
    if why:
        tell(f"hostile pages are left out: {why}")
        return 0, 0
    survived = lost = 0
    with serving() as base:
        env = opened(chromium.require_browser(), base, "plain")
        try:
            for number in range(rounds):
                for page in pages:
                    began = time.monotonic()
                    ended, wrong = trial(env, base, page)
                    survived, lost = survived + (not wrong), lost + bool(wrong)
                    if wrong or not number:
                        tell(f"page {page}: {wrong or ended} ({time.monotonic() - began:.0f} s)")
        finally:
            env.close()
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    tell(f"hostile pages: {survived + lost} tries, {lost} failures; {used} MiB at most in this process")
    return survived, lost


def main() -> int:
    """Do the trials and print how they ended."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pages", nargs="+", choices=NAMES, default=NAMES)
    given = parser.parse_args()
    survived, lost = run(lambda text: print(text, file=sys.stderr, flush=True), rounds=given.rounds, pages=given.pages)
    print(f"{survived} survived, {lost} lost")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
