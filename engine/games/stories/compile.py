"""Makes one story with TextWorld, in the process that `engine.games.stories.recipe` starts."""

from __future__ import annotations

import json
import re
import sys
import tempfile
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

from engine.errors import MissingError
from engine.games.stories import cooking, house
from engine.games.stories.recipe import SERIAL, Recipe, md5
from engine.games.stories.slim import slim
from engine.games.stories.texts import describe, manners

_BANNER = re.compile(
    r'say "\[fixed letter spacing\]";\n.*?say "\[variable letter spacing\]\[line break\]";\n', re.S
)


def lay_out(recipe: Recipe) -> tuple[Any, list[str]]:
    """Return TextWorld's game, not compiled yet, and a walkthrough."""
    import textworld

    options = textworld.GameOptions()
    options.seeds = recipe.seed
    if recipe.kind == "cooking":
        game, commands = cooking.build(recipe.seed, recipe.size, options)
        objective = cooking.objective(cooking.plan_cooking(recipe.seed, recipe.size))
        describe(game, cooking.blurbs(), objective)
    else:
        game, commands = house.build(recipe.seed, recipe.size, options)
        describe(game, house.blurbs(), house.objective())
    return game, commands


def make(recipe: Recipe, folder: Path) -> dict[str, Any]:
    """Write story, metadata and walkthrough into `folder`, check them, and return the index entry.

    Raises:
        ValueError: The walkthrough does not win.
    """
    from textworld.generator.inform7 import compile_inform7_game, generate_inform7_source

    game, commands = lay_out(recipe)
    goal = next((key for key, infos in game.infos.items() if infos.name == house.GOAL), "")
    story = folder / f"tw-{recipe.name}.z8"
    source = _BANNER.sub(f'say "{recipe.title}[line break][line break]";\n', generate_inform7_source(game))
    with tempfile.TemporaryDirectory() as scratch:
        compiled = Path(scratch) / "tw-story.z8"
        compile_inform7_game(source + manners(goal, cooking=recipe.kind == "cooking"), str(compiled))
        data = bytearray(compiled.read_bytes())
    data[0x12:0x18] = SERIAL
    story.write_bytes(data)
    metadata = slim(json.loads(json.dumps(game.serialize())), goal)
    metadata_file = folder / f"{story.stem}.json"
    metadata_file.write_text(json.dumps(metadata, separators=(",", ":"), sort_keys=True) + "\n")
    (folder / f"{story.stem}.walkthrough.json").write_text(json.dumps(commands, indent=1) + "\n")
    check(story, commands, metadata["max_score"])
    return {
        "name": recipe.name,
        "title": recipe.title,
        "file": story.name,
        "metadata": metadata_file.name,
        "md5": md5(story),
        "max_score": metadata["max_score"],
        "kind": recipe.kind,
        "difficulty": recipe.difficulty,
        "rooms": sum(1 for entity in metadata["entities"] if entity[1] == "r"),
        "walkthrough_steps": len(commands),
        "description": recipe.description,
        "licence": "MIT",
        "recipe": {"seed": recipe.seed, "size": recipe.size, "textworld": version("textworld")},
    }


def check(story: Path, commands: list[str], max_score: int) -> None:
    """Play the walkthrough in Jericho.

    Raises:
        ValueError: It does not win with the maximum score.
    """
    from jericho import FrotzEnv

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        env = FrotzEnv(str(story), seed=1)
    env.reset()
    score = 0
    for command in commands:
        _, _, _, info = env.step(command)
        score = info["score"]
    if not env.victory() or score != max_score or env.get_max_score() != max_score:
        raise ValueError(f"the walkthrough ends at {score} of {max_score} points")


def main() -> None:
    """Make the story of a recipe (JSON, first argument) in a folder (second); print the index entry as JSON."""
    try:
        import textworld  # noqa: F401
    except ImportError:
        sys.exit(MissingError.exit_code)
    sys.stdout.write(json.dumps(make(Recipe(**json.loads(sys.argv[1])), Path(sys.argv[2]))) + "\n")


if __name__ == "__main__":
    main()
