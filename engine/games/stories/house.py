"""Stories of the kind "house": find treasures in a house and put them on a pedestal.

Everything depends on a seed and a size: rooms, doors, locks and keys, furniture, treasures, a cursed thing that ends
the game, and the quests that give points. TextWorld supplies the logic and compiles the story; the texts are this
project's.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from engine.games.stories.layout import RoomLayout, Walk, grow

GOAL = "pedestal"

ROOMS: tuple[tuple[str, str, tuple[str, str] | None], ...] = (
    ("hall", "Every footstep echoes in this wide hall.", ("s", GOAL)),
    ("library", "Books climb the walls up to the ceiling.", ("s", "reading desk")),
    ("study", "A quiet room that smells of ink.", ("c", "writing cabinet")),
    ("conservatory", "Ferns press against the steamed-up glass.", ("s", "plant stand")),
    ("ballroom", "A chandelier hangs over the empty floor.", None),
    ("music room", "Dust lies on everything but the keys.", ("s", "piano")),
    ("cellar", "It is cold down here, and rather damp.", ("c", "barrel")),
    ("attic", "Light falls through a single round window.", ("c", "trunk")),
    ("gallery", "Pale squares show where paintings hung.", ("s", "bench")),
    ("nursery", "A rocking horse stares at the wall.", ("c", "toy box")),
    ("chapel", "Coloured light lies on the flagstones.", ("s", "altar")),
    ("armoury", "Rows of hooks, and nothing hanging there.", ("s", "weapon rack")),
    ("scullery", "Something drips into a stone sink.", ("c", "cupboard")),
    ("dressing room", "Three mirrors show you three of you.", ("c", "wardrobe")),
    ("observatory", "The dome is open to the sky.", ("s", "telescope mount")),
    ("greenhouse", "Broken pots crunch underfoot.", ("s", "potting bench")),
    ("smoking room", "Old leather and older tobacco.", ("s", "card table")),
    ("crypt", "Names are carved in every stone.", ("s", "tomb")),
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
"""By size: numbers of rooms, treasures and locks."""


@dataclass
class HousePlan:
    """A house before it is made with TextWorld.

    Attributes:
        layout: Its rooms.
        furniture: By name: kind ("c" or "s"), room, and key ("" if not locked).
        things: By portable thing: the room or furniture it is in at the start.
        treasures: The things that belong on the pedestal.
    """

    layout: RoomLayout
    furniture: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    things: dict[str, str] = field(default_factory=dict)
    treasures: list[str] = field(default_factory=list)

    def room_of(self, thing: str) -> str:
        """Return the room where `thing` is at the start."""
        holder = self.things[thing]
        return self.furniture[holder][1] if holder in self.furniture else holder


def plan_house(seed: int, size: str) -> HousePlan:
    """Plan a house; the same seed and size give the same plan."""
    rng = random.Random(seed)
    count, treasures, locks = SIZES[size]
    others = [room for room, _, _ in ROOMS[1:]]
    rng.shuffle(others)
    plan = HousePlan(grow(["hall", *others[: count - 1]], rng))
    for name, _, furniture in ROOMS:
        if name in plan.layout.rooms and furniture:
            plan.furniture[furniture[1]] = (furniture[0], name, "")
    dead_ends = plan.layout.dead_ends()
    _lock(plan, rng, locks, dead_ends)
    _place(plan, rng, treasures)
    return plan


def _lock(plan: HousePlan, rng: random.Random, locks: int, dead_ends: list[str]) -> None:
    """Lock a dead end and some chests, place the keys, and close a few more passages."""
    layout = plan.layout
    open_rooms = [room for room in layout.rooms[1:] if room not in dead_ends]
    if len(open_rooms) < 2:  # nearly all rooms are dead ends: close none, or keys have no place
        open_rooms, dead_ends = layout.rooms[1:], []
    closable = list(dead_ends)
    rng.shuffle(closable)
    for key, what in LOCKS[:locks]:
        if what.endswith("door") and closable:
            layout.close(closable.pop(), what, key)
            plan.things[key] = rng.choice(open_rooms)
        elif not what.endswith("door"):
            room = rng.choice(open_rooms)
            plan.furniture[what] = ("c", room, key)
            plan.things[key] = rng.choice([other for other in open_rooms if other != room])
    for door, room in zip(DOORS, closable[: len(layout.rooms) // 6], strict=False):
        layout.close(room, door)


def _place(plan: HousePlan, rng: random.Random, treasures: int) -> None:
    """Put the first treasures behind locks and the others anywhere; put the idol into a room without a lock."""
    names = list(TREASURES)
    rng.shuffle(names)
    plan.treasures = names[:treasures]
    rooms = plan.layout.rooms[1:]
    locked = [name for name, (_, _, key) in plan.furniture.items() if key]
    behind = [room for pair, (_, key) in plan.layout.doors.items() if key for room in pair]
    behind = [room for room in behind if room in plan.layout.dead_ends()]
    rest = [room for room in rooms if room not in behind]
    rng.shuffle(rest)
    inside = {room: name for name, (_, room, key) in plan.furniture.items() if not key}
    spots = locked + behind + [rng.choice([room, inside.get(room, room)]) for room in rest]
    for treasure, spot in zip(plan.treasures, spots, strict=False):
        plan.things[treasure] = spot
    plan.things[CURSED] = rng.choice(rest)


def walkthrough(plan: HousePlan) -> list[str]:
    """Return commands that win: fetch everything, nearest first, then put the treasures on the pedestal.

    Raises:
        ValueError: Something cannot be reached.
    """
    walk = Walk(plan.layout)
    wanted = [thing for thing in plan.things if thing != CURSED]
    while wanted:
        routes = walk.reachable()
        near = [
            (len(routes[plan.room_of(thing)]), thing)
            for thing in wanted
            if plan.room_of(thing) in routes and _key_of(plan, thing) in {"", *walk.held}
        ]
        if not near:
            raise ValueError("this house cannot be won")
        _, thing = min(near)
        walk.go(plan.room_of(thing))
        holder = plan.things[thing]
        closed = holder in plan.furniture and plan.furniture[holder][0] == "c"
        walk.take(thing, holder if closed else "", _key_of(plan, thing))
        wanted.remove(thing)
    walk.go("hall")
    for treasure in plan.treasures:
        walk.do(f"put {treasure} on {GOAL}")
    return walk.commands


def _key_of(plan: HousePlan, thing: str) -> str:
    """Return the key to the furniture that `thing` is in, "" if it is not locked."""
    holder = plan.things[thing]
    return plan.furniture[holder][2] if holder in plan.furniture else ""


def build(seed: int, size: str, options: Any) -> tuple[Any, list[str]]:
    """Return TextWorld's game and a walkthrough."""
    import textworld
    from textworld.generator.game import Event, Quest

    plan = plan_house(seed, size)
    maker = textworld.GameMaker(options)
    rooms = plan.layout.build(maker)
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


def _matches(plan: HousePlan) -> list[tuple[str, str]]:
    pairs = [(key, name) for name, (_, _, key) in plan.furniture.items() if key]
    return pairs + [(key, door) for door, key in plan.layout.doors.values() if key]


def blurbs() -> dict[str, str]:
    """Return the first sentence of each room's description."""
    return {name: sentence for name, sentence, _ in ROOMS}


def objective() -> str:
    """Return the objective that the player is told at the start."""
    return (
        "The treasures of this house are scattered. Find them and put each of them on the pedestal in "
        "the hall. Keys open what is locked. Whatever you do, do not touch the cursed idol!"
    )
