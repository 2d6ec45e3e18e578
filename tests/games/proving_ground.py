"""Small stories of our own, one family of puzzles each, and how much of their solutions the valid actions cover.

    python -m tests.games.proving_ground [NAME ...]

Each `proving/NAME.inf` is Inform 6 source. A line `! Solution: COMMAND; COMMAND; ...` is its known solution. A step of
it is covered if it changes nothing, or if one of the actions offered before it leads to the same world. `played` plays
the whole solution again with the offered action in the place of each covered step.
"""

from __future__ import annotations

import functools
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from engine.errors import MissingError
from engine.games.catalogue import read_story
from engine.games.env import GameEnvironment
from engine.games.stories.inform import compile_story, solution_in, source_text

FOLDER = Path(__file__).parent / "proving"
NAMES = sorted(path.stem for path in FOLDER.glob("*.inf"))


@functools.cache
def missing() -> str:
    """Return why stories cannot be compiled here, "" if they can."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            compiled(NAMES[0], Path(folder))
        except MissingError as error:
            return str(error)
    return ""


def compiled(name: str, folder: Path, version: int = 5) -> Path:
    """Compile a story into `folder` and return the file."""
    return compile_story(FOLDER / f"{name}.inf", folder, version=version)


def solution(name: str) -> list[str]:
    """Return the commands that solve a story."""
    return list(solution_in(source_text(FOLDER / f"{name}.inf")))


@dataclass
class Coverage:
    """What the valid actions cover of one solution.

    Attributes:
        steps: Steps of the solution that change the world.
        missed: Those of them that no valid action does, as "NUMBER: COMMAND".
        missed_scores: Those of these that change the score.
        offered: For each step of the solution, the valid actions before it.
        effects: For each step of the solution, whether it changes the world or the score.
        instead: For each step of the solution, the valid action with the same effect, or the step itself.
        seconds: Time of finding the valid actions of each situation, each met for the first time.
        score: What the solution ends with.
    """

    steps: int = 0
    missed: list[str] = field(default_factory=list)
    missed_scores: list[str] = field(default_factory=list)
    offered: list[tuple[str, ...]] = field(default_factory=list)
    effects: list[bool] = field(default_factory=list)
    instead: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    score: float = 0.0
    max_score: float | None = None
    won: bool = False


def opened(story: Path) -> GameEnvironment:
    """Return the story in a process of its own, without a cache: a command may hang it."""
    return GameEnvironment(read_story(story))


def covered(game: GameEnvironment, commands: list[str]) -> Coverage:
    """Play a solution and look for each of its steps among the valid actions."""
    found = Coverage()
    last = game.reset(1)
    for number, command in enumerate(commands, 1):
        begun = time.perf_counter()
        offered = game.valid_actions()
        found.seconds.append(time.perf_counter() - begun)
        saved = game.save()
        after = game.step(command)
        effect = (after.world_hash, after.score, after.over)
        instead = command
        found.offered.append(offered)
        found.effects.append(effect != (last.world_hash, last.score, False))
        if found.effects[-1]:
            found.steps += 1
            for action in offered:
                game.restore(saved)
                other = game.step(action)
                if (other.world_hash, other.score, other.over) == effect:
                    instead = action
                    break
            else:
                found.missed.append(f"{number}: {command}")
                if after.score != last.score:
                    found.missed_scores.append(f"{number}: {command}")
        found.instead.append(instead)
        game.restore(saved)
        last = game.step(command)
    found.score, found.max_score, found.won = last.score, last.max_score, last.outcome == "won"
    return found


def played(game: GameEnvironment, commands: list[str]) -> tuple[float, bool]:
    """Play commands from the beginning; return the score and whether that won the game."""
    last = game.reset(1)
    for command in commands:
        last = game.step(command)
    return last.score, last.outcome == "won"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[1:] or NAMES:
            game = opened(compiled(name, Path(folder)))
            got = covered(game, solution(name))
            again = played(game, got.instead)
            game.close()
            middle = 1000 * sorted(got.seconds)[len(got.seconds) // 2]
            print(
                f"{name:<10} {got.steps - len(got.missed)}/{got.steps}, {got.score:g} of {got.max_score:g} points, "
                f"again {again[0]:g}, cold {middle:.0f} ms, missed {got.missed}",
                flush=True,
            )
