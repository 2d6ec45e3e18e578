"""What is reached in the odd stories of our own, with their solutions and with actions drawn at random.

    python -m tests.games.odd_play [NAME ...]
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
from pathlib import Path

from engine.games.catalogue import read_story
from engine.games.env import GameEnvironment
from engine.games.kind import FALLBACK
from engine.games.stories.inform import compile_story, solution_in

FOLDER = Path(__file__).parent / "odd"
NAMES = ("menu", "submenu", "asks", "named", "broken", "night", "pages", "prose")
EPISODES, STEPS = 4, 40


def script(name: str) -> tuple[tuple[str, ...], list[str]]:
    """Return the solution of a story, and the place after each step but the last; "" where there is none yet."""
    text = (FOLDER / f"{name}.inf").read_text()
    found = re.search(r"^! Places: (.*)$", text, re.MULTILINE)
    return solution_in(text), [place.strip().strip("*") for place in found.group(1).split(";")] if found else []


def solved(game: GameEnvironment, name: str) -> str:
    """Play the solution of a story and say what came of it."""
    commands, places = script(name)
    game.reset(1)
    seen = [game.step(command) for command in commands]
    right = sum(one.place == place for one, place in zip(seen, places, strict=False))
    return f"{seen[-1].outcome or 'not ended'}, {seen[-1].score:g} points, {right} of {len(places)} places"


def drawn(game: GameEnvironment) -> str:
    """Play episodes with actions drawn from those that are offered and say what came of them."""
    won, scores, idle, steps = 0, [], 0, 0
    for seed in range(EPISODES):
        draw, seen = random.Random(seed), game.reset(1)
        for _ in range(STEPS):
            if seen.over:
                break
            before = seen
            seen = game.step(draw.choice(game.valid_actions() or getattr(game, "fallback", ()) or FALLBACK))
            idle, steps = idle + (seen.world_hash == before.world_hash and not seen.over), steps + 1
        won += seen.outcome == "won"
        scores.append(f"{seen.score:g}")
    return f"{won} of {EPISODES} won, scores {' '.join(scores)}, {idle} of {steps} steps without effect"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[1:] or NAMES:
            game = GameEnvironment(read_story(compile_story(FOLDER / f"{name}.inf", Path(folder))))
            print(f"{name}: solution {solved(game, name)}; at random {drawn(game)}", flush=True)
            game.close()
