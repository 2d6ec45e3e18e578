"""Rooms of stories on a grid: layout, and routes through them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

DIRECTIONS = {"north": (0, 1), "east": (1, 0), "south": (0, -1), "west": (-1, 0)}
OPPOSITE = {"north": "south", "south": "north", "east": "west", "west": "east"}


@dataclass
class RoomLayout:
    """Rooms and the passages between them.

    Attributes:
        rooms: Names; the layout grew from the first one.
        exits: (room, direction, room); each passage once.
        doors: By passage (a set of two rooms): name and key of its door ("" if it is not locked).
    """

    rooms: list[str]
    exits: list[tuple[str, str, str]] = field(default_factory=list)
    doors: dict[frozenset[str], tuple[str, str]] = field(default_factory=dict)

    def neighbours(self, room: str) -> list[tuple[str, str]]:
        """Return (direction, room) for each exit of `room`."""
        ways = [(way, b) for a, way, b in self.exits if a == room]
        return ways + [(OPPOSITE[way], a) for a, way, b in self.exits if b == room]

    def dead_ends(self) -> list[str]:
        """Return the rooms with one exit, except the first room."""
        return [room for room in self.rooms[1:] if len(self.neighbours(room)) == 1]

    def close(self, room: str, door: str, key: str = "") -> None:
        """Put a door into the only exit of a dead end; it is locked if a key is given."""
        self.doors[frozenset((room, self.neighbours(room)[0][1]))] = (door, key)

    def distances(self) -> dict[str, int]:
        """Return the distance of each room from the first one, in rooms."""
        return {
            room: sum(step.startswith("go ") for step in steps)
            for room, steps in self.routes(self.rooms[0], None).items()
        }

    def routes(self, start: str, held: set[str] | None) -> dict[str, list[str]]:
        """Return by reachable room the shortest sequence of commands that leads to it.

        Args:
            start: Room where it begins.
            held: Keys that the player has, None for all.
        """
        routes: dict[str, list[str]] = {start: []}
        queue = [start]
        while queue:
            room = queue.pop(0)
            for way, other in self.neighbours(room):
                door, key = self.doors.get(frozenset((room, other)), ("", ""))
                if other in routes or (key and held is not None and key not in held):
                    continue
                opening = [f"unlock {door} with {key}"] if key else []
                opening += [f"open {door}"] if door else []
                routes[other] = [*routes[room], *opening, f"go {way}"]
                queue.append(other)
        return routes

    def build(self, maker: Any) -> dict[str, Any]:
        """Create rooms, passages and doors in TextWorld's GameMaker; return the rooms by name."""
        rooms = {name: maker.new_room(name) for name in self.rooms}
        for a, way, b in self.exits:
            path = maker.connect(rooms[a].exits[way], rooms[b].exits[OPPOSITE[way]])
            door, key = self.doors.get(frozenset((a, b)), ("", ""))
            if door:
                maker.new_door(path, name=door).add_property("locked" if key else "closed")
        return rooms


def grow(rooms: Sequence[str], rng: random.Random, loops: float = 0.25) -> RoomLayout:
    """Place rooms on a grid, each next to an earlier one.

    Args:
        rooms: Names; the first one is the root.
        rng: Source of random numbers.
        loops: Probability that two adjacent rooms are connected in addition.
    """
    layout = RoomLayout(list(rooms))
    spot = {rooms[0]: (0, 0)}
    for room in rooms[1:]:
        free = [
            (near, way)
            for near, (x, y) in spot.items()
            for way, (dx, dy) in DIRECTIONS.items()
            if (x + dx, y + dy) not in spot.values()
        ]
        near, way = rng.choice(free)
        spot[room] = (spot[near][0] + DIRECTIONS[way][0], spot[near][1] + DIRECTIONS[way][1])
        layout.exits.append((near, way, room))
    joined = {frozenset((a, b)) for a, _, b in layout.exits}
    at = {place: room for room, place in spot.items()}
    for a, (x, y) in spot.items():
        for way in ("north", "east"):
            b = at.get((x + DIRECTIONS[way][0], y + DIRECTIONS[way][1]))
            if b and frozenset((a, b)) not in joined and rng.random() < loops:
                layout.exits.append((a, way, b))
    return layout


class Walk:
    """Writes a walkthrough, and keeps track of the player's place, possessions and opened doors."""

    def __init__(self, layout: RoomLayout) -> None:
        self.commands: list[str] = []
        self.at = layout.rooms[0]
        self.held: set[str] = set()
        self._layout = layout
        self._opened: set[str] = set()

    def reachable(self) -> dict[str, list[str]]:
        """Return by reachable room, given the keys held, the commands that lead to it."""
        return self._layout.routes(self.at, self.held)

    def go(self, room: str) -> None:
        """Walk to a reachable room."""
        for command in self.reachable()[room]:
            self.do(command)
        self.at = room

    def do(self, command: str) -> None:
        """Add a command, unless it opens or unlocks something a second time."""
        if command.startswith(("open ", "unlock ")):
            if command in self._opened:
                return
            self._opened.add(command)
        self.commands.append(command)

    def take(self, thing: str, holder: str = "", key: str = "") -> None:
        """Take a thing in this room. If `holder` is given, unlock (with `key`) and open this container first."""
        if holder:
            if key:
                self.do(f"unlock {holder} with {key}")
            self.do(f"open {holder}")
        self.do(f"take {thing}")
        self.held.add(thing)
