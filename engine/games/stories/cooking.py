"""The cooking kind of story: find the recipe, fetch its ingredients, cut and cook them, eat the meal.

TextWorld's cooking challenge lays out the world and the recipe from a seed; names and descriptions
are ours. A wrong cut, a wrong way of cooking or a burned ingredient loses the game.
"""

from __future__ import annotations

from typing import Any

SIZES: dict[str, dict[str, Any]] = {
    "small": {"go": 6, "recipe": 3, "take": 3, "open": False, "cook": True, "cut": False},
    "medium": {"go": 12, "recipe": 4, "take": 4, "open": False, "cook": True, "cut": False},
    "large": {"go": 12, "recipe": 5, "take": 5, "open": True, "cook": True, "cut": True},
}
"""Settings of TextWorld's cooking challenge: rooms, ingredients, how many of them to fetch, whether
doors and containers start closed, whether cooking and cutting are asked for."""

NAMES = {"livingroom": "living room", "BBQ": "barbecue"}

BLURBS = {
    "kitchen": "This is the kitchen, where the cooking is done.",
    "pantry": "A narrow pantry without a window.",
    "living room": "A living room with worn carpets.",
    "bathroom": "White tiles, all of them clean.",
    "bedroom": "Someone has made the bed in here.",
    "backyard": "A backyard with a patch of lawn.",
    "garden": "Rows of vegetables grow in the garden.",
    "shed": "The shed smells of wood and oil.",
    "driveway": "Gravel crunches on the driveway.",
    "street": "The street is quiet at this hour.",
    "corridor": "A corridor, longer than it need be.",
    "supermarket": "Bright lamps hum in the supermarket.",
}


def objective() -> str:
    """Return what the player is told at the start."""
    return (
        "You are hungry. Read the cookbook in the kitchen, gather what its recipe asks for, prepare it as "
        "it says, then prepare the meal and eat it. A wrong cut or a wrong way of cooking spoils it all."
    )


def build(size: str, options: Any) -> tuple[Any, list[str]]:
    """Return TextWorld's game of the recipe and a walkthrough; `options.seeds` decides all."""
    from textworld.challenges.tw_cooking import cooking

    settings = {"split": None, "recipe_seed": 0, "drop": False, **SIZES[size]}
    game = cooking.make(settings, options)
    for infos in game.infos.values():
        if infos.name in NAMES:
            infos.name = NAMES[infos.name]
            infos.noun = infos.name
    commands = [_renamed(command) for command in game.metadata["walkthrough"]]
    return game, _shortened(commands)


def _renamed(command: str) -> str:
    for old, new in NAMES.items():
        command = command.replace(old, new)
    return command


def _shortened(commands: list[str]) -> list[str]:
    """Drop what the challenge's walkthrough repeats: putting the knife down, opening what is open."""
    short: list[str] = []
    knife = False
    for command in commands:
        if (
            command == "inventory"
            or command.startswith("drop ")
            or (command in short and command[:5] == "open ")
        ):
            continue
        if command.startswith("take knife"):
            if knife:
                continue
            knife = True
        short.append(command)
    return short
