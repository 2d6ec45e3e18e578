"""Looks at the place and at what the player carries; the situation, random generator included, stays.

For the stories it supports, Jericho knows which objects move by themselves (its "clean" object tree leaves their moves
out). `still_look` describes a place without them: they are moved elsewhere, and back again.
"""

from __future__ import annotations

from collections.abc import Callable

from engine.games.zmachine.machine import Machine
from engine.games.zmachine.printed import clean
from engine.games.zmachine.vocabulary import Wording
from engine.games.zmachine.world import SupportedWorld

_REMEMBERED = 20_000
Seen = dict[tuple[str, bytes], tuple[str, str]]
"""What LOOK and INVENTORY print, by a world's key and the order of its things."""


class LookCommands:
    """What LOOK and INVENTORY print.

    Args:
        machine: The interpreter.
        wording: The words by which the story takes these commands.
        take: Takes a command and returns what the story tells.
        known: What was seen in earlier episodes; added to.
    """

    def __init__(self, machine: Machine, wording: Wording, take: Callable[[str], str], known: Seen) -> None:
        self._machine = machine
        self._wording = wording
        self._take = take
        self._order: Callable[[bytes], bytes] | None = None
        self._known = known

    def remember(self, order: Callable[[bytes], bytes]) -> None:
        """Remember the answers. Only generated stories are slow enough, and told apart finely enough.

        Args:
            order: Returns from the memory the order in which things are listed, which equal worlds may not share.
        """
        self._order = order

    def look(self, key: str) -> tuple[str, str]:
        """Return what `look` and `inventory` print in the world with this key."""
        if self._order is None:
            return self._looked(key)
        seen = key, self._order(bytes(self._machine.memory))
        known = self._known.get(seen)
        if known is None:
            if len(self._known) > _REMEMBERED:
                self._known.clear()
            known = self._known[seen] = self._looked(key)
        return known

    def _looked(self, key: str) -> tuple[str, str]:
        return self._probed(self._wording.look, key), self._probed(self._wording.inventory, key)

    def _probed(self, command: str, key: str) -> str:
        """Return what a command would print, "" if it breaks the interpreter; the situation stays."""
        with self._machine.probing(key):
            text = clean(self._take(command))
            return "" if self._machine.halted else text


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
