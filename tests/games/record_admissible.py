"""Write `admissible.json`: what TextWorld itself says may be done, in states of the shipped stories.

Needs TextWorld (1.7.0), so it is no test; run it when a shipped story changes:
`PYTHONHASHSEED=0 PYTHONPATH=. python tests/games/record_admissible.py`.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
import tempfile
from pathlib import Path

import textworld

from engine.games.stories.compile import lay_out
from engine.games.stories.recipe import SHIPPED

HERE = Path(__file__).parent
STORIES = HERE.parents[1] / "engine" / "games" / "stories"
IDLE = ("examine", "look", "inventory")
RANDOM_EPISODES, STEPS, EVERY = 4, 45, 5


def record(story: str) -> list[dict[str, list[str]]]:
    recipe = next(recipe for recipe in SHIPPED if recipe.name == story)
    solution = json.loads((STORIES / "walkthroughs.json").read_text())[story]
    found = []
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / f"tw-{story}.z8"
        shutil.copyfile(STORIES / path.name, path)
        lay_out(recipe)[0].save(str(path.with_suffix(".json")))
        env = textworld.start(str(path), textworld.EnvInfos(admissible_commands=True))
        rng = random.Random(7)
        for episode in range(RANDOM_EPISODES + 1):
            state, done, taken = env.reset(), False, []
            for step in range(len(solution) if episode == 0 else STEPS):
                may = [act for act in state["admissible_commands"] if not act.startswith(IDLE)]
                if episode == 0 or step % EVERY == 0:
                    found.append({"after": list(taken), "admissible": may})
                command = solution[step] if episode == 0 else rng.choice(may)
                taken.append(command)
                state, _, done = env.step(command)
                if done:
                    break
        env.close()
    return found


if __name__ == "__main__":
    told = {recipe.name: record(recipe.name) for recipe in SHIPPED}
    (HERE / "admissible.json").write_text(json.dumps(told, separators=(",", ":")) + "\n")
    sys.stderr.write(f"{ {name: len(states) for name, states in told.items()} }\n")
