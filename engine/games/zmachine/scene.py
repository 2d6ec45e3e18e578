"""Describes a place without the characters that wander about.

For the stories it supports, Jericho knows which objects move by themselves (its "clean" object tree leaves their moves
out). If one of them is at the player's place, it is moved elsewhere, `look` is run, and the state is restored. The
text then describes the place alone.
"""

from __future__ import annotations

from engine.games.zmachine.machine import Machine
from engine.games.zmachine.world import SupportedWorld


def still_look(machine: Machine, world: SupportedWorld, player: int) -> str | None:
    """Return what `look` prints without the wandering characters, None if none is here.

    Args:
        machine: The interpreter. Its state is restored afterwards.
        world: The world of the story.
        player: Number of the player's object.
    """
    wanderers = world.wanderers()
    if not wanderers:
        return None
    story = world.story
    place = story.parent(machine.memory, player)
    here = [number for number in wanderers if story.parent(machine.memory, number) == place]
    if not here or not place:
        return None
    beside = story.parent(machine.memory, place)
    rooms = (number for number in range(1, story.object_count + 1) if number != place and number not in here)
    elsewhere = next((number for number in rooms if story.parent(machine.memory, number) == beside), 0)
    if not elsewhere:
        return None
    saved = machine.take()
    try:
        for number in here:
            machine.move(number, elsewhere)
        return machine.step("look")
    finally:
        machine.put(saved)
