"""Texts of generated stories: one plain way to describe rooms, for all kinds of stories.

They replace TextWorld's own grammar, which jokes and repeats itself. Short sentences are faster to read for people,
the interpreter and the language model. They always tell whether a thing is open, closed or locked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_OPENABLE = "[if {id} is open]an open[else if {id} is locked]a locked[otherwise]a closed[end if]"


_REFUSALS = """
Instead of dropping something: say "You had better keep [the noun].".
Instead of closing something: say "You leave [the noun] open.".
Instead of locking something with something: say "You leave [the noun] unlocked.".
Instead of inserting something into something: say "You had better keep [the noun].".
"""
_PUTTING = 'Instead of putting something on something{unless}: say "You had better keep [the noun].".\n'
_COOKING = """
Instead of eating a food which is not a meal-like: say "Not now: that belongs into the meal.".
Instead of cooking a cooked food with something: say "[The noun] is done already.".
"""


def manners(goal: str = "", *, cooking: bool = False) -> str:
    """Return Inform rules by which the player refuses some commands.

    Commands that only undo something (drop, close, lock) would make episodes longer and states more numerous.

    Args:
        goal: Id of the supporter that things may be put on, "" for none.
        cooking: Whether to add the rules for food.
    """
    putting = _PUTTING.format(unless=f" when the second noun is not the {goal}" if goal else "")
    return _REFUSALS + putting + (_COOKING if cooking else "")


def describe(game: Any, blurbs: Mapping[str, str], objective: str) -> None:
    """Replace the descriptions in a TextWorld game.

    Args:
        game: TextWorld's Game, changed in place.
        blurbs: By room: the first sentence of its description.
        objective: What the player is told at the start.
    """
    facts = sorted(game.world.facts, key=str)
    game.objective = objective
    for room in game.world.rooms:
        infos = game.infos[room.id]
        here = [
            fact.arguments[0] for fact in facts if fact.name == "at" and fact.arguments[1].name == room.id
        ]
        fixed = [
            _furniture(game, thing)
            for thing in here
            if game.kb.types.is_descendant_of(thing.type, ["c", "s"]) or thing.type in ("c", "s")
        ]
        parts = [blurbs.get(infos.name, f"This is the {infos.name}."), *fixed, *_exits(game, room.id, facts)]
        infos.desc = " ".join(parts)
    for entity in game.world.objects:
        infos = game.infos[entity.id]
        if infos.name and not (infos.desc or "").startswith("You open the copy"):
            infos.desc = _about(entity.type, infos.name)


def _about(kind: str, name: str) -> str:
    """Return the description that `examine` prints."""
    heats = {"stove": "Good for frying.", "oven": "Good for roasting.", "toaster": "Good for grilling."}
    if kind in heats:
        return heats[kind]
    if kind in ("c", "d"):
        return f"The {name} is [if open]open[else if locked]locked[otherwise]closed[end if]."
    return f"Just {'some' if name.endswith('s') else 'a'} {name}."


def _furniture(game: Any, thing: Any) -> str:
    """Return the sentence about a container or supporter, in Inform's notation."""
    name, key = game.infos[thing.name].name, thing.name
    if thing.type == "c" or game.kb.types.is_descendant_of(thing.type, ["c"]):
        inside = (
            f"[if {key} is open and the {key} contains nothing], empty[end if]"
            f"[if {key} is open and there is something in the {key}], holding "
            f"[a list of things in the {key}][end if]"
        )
        return f"There is {_OPENABLE.format(id=key)} {name} here{inside}."
    article = "an" if name[0] in "aeiou" else "a"
    return (
        f"There is {article} {name} here[if there is something on the {key}], and on it "
        f"[a list of things on the {key}][end if]."
    )


def _exits(game: Any, room: str, facts: list[Any]) -> list[str]:
    """Return the sentences about the exits of `room`: one for each door, then one for the open passages."""
    doors = {}
    ways = []
    for fact in facts:
        if fact.name == "link" and fact.arguments[0].name == room:
            doors[fact.arguments[2].name] = fact.arguments[1].name
    for fact in facts:
        if fact.name.endswith("_of") and len(fact.arguments) == 2 and fact.arguments[1].name == room:
            ways.append((fact.name[:-3], fact.arguments[0].name))
        elif fact.name.endswith("_of") and len(fact.arguments) == 2 and fact.arguments[0].name == room:
            opposite = {"north": "south", "south": "north", "east": "west", "west": "east"}
            ways.append((opposite[fact.name[:-3]], fact.arguments[1].name))
    ways = sorted(set(ways), key=lambda way: ["north", "east", "south", "west"].index(way[0]))
    sentences = []
    for way, other in ways:
        if other in doors:
            key = doors[other]
            opening = _OPENABLE.format(id=key).replace("]a", "]A")
            sentences.append(f"{opening} {game.infos[key].name} leads {way}.")
    free = [way for way, other in ways if other not in doors]
    if free:
        listed = free[0] if len(free) == 1 else ", ".join(free[:-1]) + " and " + free[-1]
        sentences.append(f"You can go {listed}.")
    return sentences
