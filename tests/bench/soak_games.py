"""Long fault trials of games.

    python -m tests.bench.soak_games [--stories 500] [--inputs 10000] [--episodes 200] [--seed 1]

Ends with `N survived, M lost`; exits with 1 if any was lost. `run` does the same for the whole soak. Stories
in ../shared/games are tried, too, where they are there.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from engine.games.catalogue import Story, known_solution, read_story, shipped_stories
from engine.games.env import GameEnvironment
from tests.games import faults

Tell = Callable[[str], None]
_GAMES = Path(__file__).resolve().parents[3] / "shared" / "games"


def solved(folder: Path | None) -> list[tuple[Story, list[str], int]]:
    """Return every story there is with its solution and the seed for it."""
    found = []
    for story in [*shipped_stories(), *map(read_story, faults.others(folder))]:
        known = known_solution(story)
        if known is not None:
            found.append((story, list(known[1]), known[0]))
    return found


def loops(folder: Path, tell: Tell) -> Iterator[bool]:
    """Take a command that never ends, again and again; the episode goes on after each."""
    for source in shipped_stories():
        target = folder / f"tw-loop-{source.name}.z8"
        target.with_suffix(".json").write_bytes(source.path.with_suffix(".json").read_bytes())
        story = faults.looping_story(source.path, target, "jump")
        way = json.loads((source.path.parent / "walkthroughs.json").read_text())[source.name][:10]
        with closing(GameEnvironment(story)) as game:
            game.reset(1)
            for command in way:
                lost = game.step("jump")
                good = "brought back" in lost.text and not lost.changed and not game.step(command).over
                if not good:
                    tell(f"{story.name}: {lost.text[:80]!r}")
                yield good
    tell("commands that never end: 10 in each shipped story")


def run(
    tell: Tell, *, stories: int = 500, inputs: int = 10_000, episodes: int = 200, seed: int = 1
) -> tuple[int, int]:
    """Do all trials; return how many survived and how many were lost."""
    games = _GAMES if _GAMES.is_dir() else None
    everything = solved(games)
    results: list[bool] = []
    with tempfile.TemporaryDirectory(prefix="jitrl-soak-") as name:
        folder = Path(name)
        before = set(faults.children())
        trials: list[Iterator[bool]] = [
            faults.broken_stories(folder, seed, faults.sources(games), stories, tell),
            faults.broken_stories(
                folder, seed + 1, faults.sources(games), stories // 5, tell, validate=False
            ),
            loops(folder, tell),
            faults.many_at_once([(story, way[:60]) for story, way, _ in everything], 8, tell),
        ]
        trials += [faults.odd_inputs(story, seed, inputs, tell) for story, _, _ in everything]
        trials += [faults.killed_at_every_step(story, way[:60], at, tell) for story, way, at in everything]
        trials += [faults.killed_at_work(story, way[:60], at, 25, tell) for story, way, at in everything]
        trials += [
            faults.flat_memory(story, episodes, 30, folder / "cache", tell, grace=episodes // 3)
            for story, _, _ in everything
            if story.shipped or story.name == "zork1"
        ]
        for trial in trials:
            begun = time.monotonic()
            results += trial
            tell(f"  {time.monotonic() - begun:.0f} s, {results.count(False)} lost so far")
        left = set(faults.children()) - before
        if left:
            tell(f"processes left behind: {left}")
        results.append(not left)
    return sum(results), len(results) - sum(results)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the trials and print the count."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--stories", type=int, default=500)
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(argv)
    survived, lost = run(
        lambda text: print(text, file=sys.stderr, flush=True),
        stories=args.stories, inputs=args.inputs, episodes=args.episodes, seed=args.seed,
    )  # fmt: skip
    print(f"{survived} survived, {lost} lost")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
