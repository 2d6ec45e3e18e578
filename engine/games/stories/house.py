"""The house kind of story: fetch treasures from a rambling house and set them on a pedestal.

Everything follows from a seed and a size: rooms on a grid, doors, locks with their keys, furniture,
treasures, one cursed thing that ends the game, and the quests that give points. The words are ours;
TextWorld supplies the logic and compiles.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

GOAL = "pedestal"

ROOMS: tuple[tuple[str, str, tuple[tuple[str, str], ...]], ...] = (
    ("hall", "Every footstep echoes in this wide hall.", (("s", "pedestal"),)),
    ("library", "Books climb the walls up to the ceiling.", (("s", "reading desk"),)),
    ("study", "A quiet room that smells of ink.", (("c", "writing cabinet"),)),
    ("conservatory", "Ferns press against the steamed-up glass.", (("s", "plant stand"),)),
    ("ballroom", "A chandelier hangs over the empty floor.", ()),
    ("music room", "Dust lies on everything but the keys.", (("s", "piano"),)),
    ("cellar", "It is cold down here, and rather damp.", (("c", "barrel"),)),
    ("attic", "Light falls through a single round window.", (("c", "trunk"),)),
    ("gallery", "Pale squares show where paintings hung.", (("s", "bench"),)),
    ("nursery", "A rocking horse stares at the wall.", (("c", "toy box"),)),
    ("chapel", "Coloured light lies on the flagstones.", (("s", "altar"),)),
    ("armoury", "Rows of hooks, and nothing hanging there.", (("s", "weapon rack"),)),
    ("scullery", "Something drips into a stone sink.", (("c", "cupboard"),)),
    ("dressing room", "Three mirrors show you three of you.", (("c", "wardrobe"),)),
    ("observatory", "The dome is open to the sky.", (("s", "telescope mount"),)),
    ("greenhouse", "Broken pots crunch underfoot.", (("s", "potting bench"),)),
    ("smoking room", "Old leather and older tobacco.", (("s", "card table"),)),
    ("crypt", "Names are carved in every stone.", (("s", "tomb"),)),
)
TREASURES = (
    "silver goblet",
    "jade figurine",
    "golden mask",
    "pearl necklace",
    "ivory flute",
    "crystal prism",
    "ruby brooch",
    "bronze medal",
    "velvet crown",
)
CURSED = "cursed idol"
LOCKS = (("brass key", "brass chest"), ("iron key", "iron door"), ("copper key", "copper coffer"))
DOORS = ("oak door", "green door", "narrow door", "painted door")
SIZES = {"small": (7, 4, 1), "medium": (12, 5, 2), "large": (16, 7, 3)}
"""Rooms, treasures and locks of each size."""
DIRECTIONS = {"north": (0, 1), "east": (1, 0), "south": (0, -1), "west": (-1, 0)}
OPPOSITE = {"north": "south", "south": "north", "east": "west", "west": "east"}


@dataclass
class Plan:
    """A house before TextWorld sees it.

    Attributes:
        rooms: Names, the hall first.
        exits: Room, direction, room: each passage once.
        doors: Passage (a pair of rooms) to its door's name and key ("" if it is only closed).
        furniture: Name to kind ("c" or "s"), room and key ("" if not locked).
        things: Portable thing to the room or furniture it lies in.
        treasures: The things that belong on the pedestal.
    """

    rooms: list[str] = field(default_factory=list)
    exits: list[tuple[str, str, str]] = field(default_factory=list)
    doors: dict[frozenset[str], tuple[str, str]] = field(default_factory=dict)
    furniture: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    things: dict[str, str] = field(default_factory=dict)
    treasures: list[str] = field(default_factory=list)

    def room_of(self, thing: str) -> str:
        """Return the room where `thing` lies at the start."""
        holder = self.things[thing]
        return self.furniture[holder][1] if holder in self.furniture else holder

    def neighbours(self, room: str) -> list[tuple[str, str]]:
        """Return (direction, room) of the ways out of `room`."""
        ways = [(way, b) for a, way, b in self.exits if a == room]
        return ways + [(OPPOSITE[way], a) for a, way, b in self.exits if b == room]


def plan_house(seed: int, size: str) -> Plan:
    """Lay out a house; the same seed and size give the same house."""
    rng = random.Random(seed)
    count, treasures, locks = SIZES[size]
    plan = Plan()
    others = [room for room, _, _ in ROOMS[1:]]
    rng.shuffle(others)
    plan.rooms = ["hall", *others[: count - 1]]
    _lay_out(plan, rng)
    for name, _, furniture in ROOMS:
        if name in plan.rooms:
            for kind, thing in furniture:
                plan.furniture[thing] = (kind, name, "")
    leaves = [room for room in plan.rooms[1:] if len(plan.neighbours(room)) == 1]
    _lock(plan, rng, locks, leaves)
    _place(plan, rng, treasures, leaves)
    return plan


def _lay_out(plan: Plan, rng: random.Random) -> None:
    """Grow the rooms over a grid, each next to one that is there already; add a few loops."""
    spot = {"hall": (0, 0)}
    for room in plan.rooms[1:]:
        free = [
            (near, way)
            for near, (x, y) in spot.items()
            for way, (dx, dy) in DIRECTIONS.items()
            if (x + dx, y + dy) not in spot.values()
        ]
        near, way = rng.choice(free)
        x, y = spot[near]
        dx, dy = DIRECTIONS[way]
        spot[room] = (x + dx, y + dy)
        plan.exits.append((near, way, room))
    joined = {frozenset((a, b)) for a, _, b in plan.exits}
    for a, (x, y) in spot.items():
        for way in ("north", "east"):
            dx, dy = DIRECTIONS[way]
            b = next((room for room, at in spot.items() if at == (x + dx, y + dy)), None)
            if b and frozenset((a, b)) not in joined and rng.random() < 0.25:
                plan.exits.append((a, way, b))


def _lock(plan: Plan, rng: random.Random, locks: int, leaves: list[str]) -> None:
    """Close some passages with doors; lock one dead end and the chests."""
    closable = list(leaves)
    rng.shuffle(closable)
    doors = iter(DOORS)
    for key, what in LOCKS[:locks]:
        if what.endswith("door"):
            if not closable:
                continue
            room = closable.pop()
            plan.doors[frozenset((room, plan.neighbours(room)[0][1]))] = (what, key)
            plan.things[key] = rng.choice([other for other in plan.rooms[1:] if other not in leaves])
        else:
            room = rng.choice([other for other in plan.rooms[1:] if other not in leaves])
            plan.furniture[what] = ("c", room, key)
            plan.things[key] = rng.choice([other for other in plan.rooms[1:] if other != room])
    for room in closable[: max(1, len(plan.rooms) // 6)]:
        plan.doors[frozenset((room, plan.neighbours(room)[0][1]))] = (next(doors), "")
    behind = {room for pair, (_, key) in plan.doors.items() if key for room in pair if room in leaves}
    for key in list(plan.things):  # no key may lie behind the door that another key opens
        while plan.things[key] in behind:
            plan.things[key] = rng.choice(plan.rooms[1:])


def _place(plan: Plan, rng: random.Random, treasures: int, leaves: list[str]) -> None:
    """Put the treasures where locks and distance make them worth something, and the idol at hand."""
    names = list(TREASURES)
    rng.shuffle(names)
    plan.treasures = names[:treasures]
    behind = [room for pair, (_, key) in plan.doors.items() if key for room in pair if room in leaves]
    spots = [name for name, (_, _, key) in plan.furniture.items() if key] + behind
    by_room: dict[str, list[str]] = {room: [room] for room in plan.rooms[1:]}
    for name, (_, room, key) in plan.furniture.items():
        if room in by_room and not key:
            by_room[room].append(name)
    rest = [room for room in plan.rooms[1:] if room not in behind]
    rng.shuffle(rest)
    spots += [rng.choice(by_room[room][-2:]) for room in rest]
    for treasure, spot in zip(plan.treasures, spots, strict=False):
        plan.things[treasure] = spot
    plan.things[CURSED] = rng.choice([room for room in rest if room in by_room])


def walkthrough(plan: Plan) -> list[str]:
    """Return commands that win: fetch what is nearest and can be had, then set all on the pedestal."""
    at = "hall"
    held: set[str] = set()
    opened: set[str] = set()
    commands: list[str] = []
    wanted = [thing for thing in plan.things if thing != CURSED]
    while wanted:
        routes = _routes(plan, at, held)
        reach = [thing for thing in wanted if plan.room_of(thing) in routes and _can_open(plan, thing, held)]
        if not reach:
            raise ValueError("this house cannot be won; take another seed")
        thing = min(reach, key=lambda name: (len(routes[plan.room_of(name)]), name))
        for step in routes[plan.room_of(thing)]:
            if step not in opened:
                commands.append(step)
            if not step.startswith("go "):
                opened.add(step)
        at = plan.room_of(thing)
        commands += _take(plan, thing, opened)
        held.add(thing)
        wanted.remove(thing)
    commands += [step for step in _routes(plan, at, held)["hall"] if step not in opened]
    return commands + [f"put {treasure} on {GOAL}" for treasure in plan.treasures]


def _can_open(plan: Plan, thing: str, held: set[str]) -> bool:
    holder = plan.things[thing]
    key = plan.furniture[holder][2] if holder in plan.furniture else ""
    return not key or key in held


def _take(plan: Plan, thing: str, opened: set[str]) -> list[str]:
    """Return the commands that take `thing` once its room is reached."""
    holder = plan.things[thing]
    commands = []
    if holder in plan.furniture and plan.furniture[holder][0] == "c" and f"open {holder}" not in opened:
        key = plan.furniture[holder][2]
        if key:
            commands.append(f"unlock {holder} with {key}")
        commands.append(f"open {holder}")
        opened.add(f"open {holder}")
    return [*commands, f"take {thing}"]


def _routes(plan: Plan, start: str, held: set[str]) -> dict[str, list[str]]:
    """Return for each room that can be reached the commands that lead there, fewest first."""
    routes: dict[str, list[str]] = {start: []}
    queue = [start]
    while queue:
        room = queue.pop(0)
        for way, other in plan.neighbours(room):
            door, key = plan.doors.get(frozenset((room, other)), ("", ""))
            if other in routes or (key and key not in held):
                continue
            opening = ([f"unlock {door} with {key}"] if key else []) + ([f"open {door}"] if door else [])
            routes[other] = [*routes[room], *opening, f"go {way}"]
            queue.append(other)
    return routes


def build(seed: int, size: str, options: Any) -> tuple[Any, list[str]]:
    """Return TextWorld's game of the house and a walkthrough."""
    import textworld
    from textworld.generator.game import Event, Quest

    plan = plan_house(seed, size)
    maker = textworld.GameMaker(options)
    rooms = {name: maker.new_room(name) for name in plan.rooms}
    for a, way, b in plan.exits:
        path = maker.connect(rooms[a].exits[way], rooms[b].exits[OPPOSITE[way]])
        door, key = plan.doors.get(frozenset((a, b)), ("", ""))
        if door:
            maker.new_door(path, name=door).add_property("locked" if key else "closed")
    made: dict[str, Any] = {}
    for name, (kind, room, key) in plan.furniture.items():
        made[name] = maker.new(type=kind, name=name)
        if kind == "c":
            made[name].add_property("locked" if key else "closed")
        rooms[room].add(made[name])
    for name, holder in plan.things.items():
        made[name] = maker.new(type="k" if name.endswith(" key") else "o", name=name)
        (made[holder] if holder in made else rooms[holder]).add(made[name])
    for key, lock in _matches(plan):
        maker.add_fact("match", made[key], made[lock] if lock in made else maker.find_by_name(lock))
    maker.set_player(rooms["hall"])
    held = {
        name: Event(conditions={maker.new_fact("in", made[name], maker.inventory)}) for name in plan.things
    }
    quests = [Quest(win_events=[], fail_events=[held[CURSED]])]
    quests += [Quest(win_events=[held[name]], reward=1) for name in plan.things if name != CURSED]
    for name in plan.treasures:
        placed = Event(conditions={maker.new_fact("on", made[name], made[GOAL])})
        quests.append(Quest(win_events=[placed], reward=2))
    maker.quests = quests
    return maker.build(validate=False), walkthrough(plan)


def _matches(plan: Plan) -> list[tuple[str, str]]:
    pairs = [(key, name) for name, (_, _, key) in plan.furniture.items() if key]
    return pairs + [(key, door) for door, key in plan.doors.values() if key]


def blurbs() -> dict[str, str]:
    """Return the opening sentence of each room."""
    return {name: sentence for name, sentence, _ in ROOMS}


def objective() -> str:
    """Return what the player is told at the start."""
    return (
        "The treasures of this house are scattered. Find them and put each of them on the pedestal in "
        "the hall. Keys open what is locked. Whatever you do, do not touch the cursed idol!"
    )
