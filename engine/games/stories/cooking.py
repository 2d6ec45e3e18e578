"""Stories of the kind "cooking": fetch the ingredients of a recipe, cut and cook them, prepare and eat the meal.

Rooms, foods and recipe depend on a seed and a size. Cutting or cooking in a wrong way loses the game. The logic is
that of TextWorld's cooking challenge; layout, recipe, quests and texts are this project's.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field
from typing import Any

from engine.games.stories.layout import RoomLayout, Walk, grow

BLURBS = {
    "kitchen": "This is the kitchen, where the cooking is done.",
    "pantry": "A narrow pantry without a window.",
    "living room": "A living room with worn carpets.",
    "bathroom": "White tiles, all of them clean.",
    "bedroom": "Someone has made the beds in here.",
    "backyard": "A backyard with a patch of lawn.",
    "garden": "Rows of vegetables grow in the garden.",
    "shed": "The shed smells of wood and oil.",
    "driveway": "Gravel crunches on the driveway.",
    "street": "The street is quiet at this hour.",
    "corridor": "A corridor, longer than it need be.",
    "supermarket": "Bright lamps hum in the supermarket.",
    "cellar": "It is cool and dark enough for wine.",
    "orchard": "Old trees stand in long grass.",
}
HOLDERS = {
    "kitchen": ("s", "counter"),
    "pantry": ("s", "shelf"),
    "supermarket": ("s", "showcase"),
    "cellar": ("c", "icebox"),
    "shed": ("c", "crate"),
    "living room": ("c", "hamper"),
}
"""By room: kind and name of the furniture that food may be in or on."""

FOODS = (
    ("carrot", False),
    ("parsnip", False),
    ("red onion", False),
    ("white mushroom", False),
    ("zucchini", False),
    ("eggplant", False),
    ("green apple", False),
    ("block of cheese", False),
    ("bell pepper", False),
    ("tomato", False),
    ("pork chop", True),
    ("chicken leg", True),
    ("trout", True),
    ("potato", True),
    ("sausage", True),
)
"""Name, and whether it must be cooked before it can be eaten."""

HEATS = {"stove": ("stove", "fried", "fry"), "oven": ("oven", "roasted", "roast"),
         "barbecue": ("toaster", "grilled", "grill")}  # fmt: skip
"""By appliance: TextWorld's type, the state of food cooked with it, the verb."""
CUTS = {"chopped": "chop", "sliced": "slice", "diced": "dice"}
DOORS = ("screen door", "plain door", "barn door", "wooden door")


@dataclass(frozen=True)
class Size:
    """The size of a story.

    Attributes:
        rooms: Number of rooms.
        ingredients: Number of ingredients.
        heats: Number of appliances. If there is only one, food cannot be cooked in a wrong way.
        cut: Whether ingredients must be cut.
        doors: Number of doors.
        reach: Largest distance of an ingredient from the kitchen, in rooms.
        spare: Number of foods that the recipe does not need.
    """

    rooms: int
    ingredients: int
    heats: int
    cut: bool
    doors: int
    reach: int
    spare: int


SIZES = {
    "small": Size(rooms=6, ingredients=3, heats=1, cut=False, doors=0, reach=2, spare=0),
    "medium": Size(rooms=14, ingredients=6, heats=1, cut=False, doors=0, reach=5, spare=0),
    "large": Size(rooms=14, ingredients=5, heats=2, cut=True, doors=3, reach=4, spare=2),
}


@dataclass
class CookingPlan:
    """A cooking story before it is made with TextWorld.

    Attributes:
        layout: Its rooms.
        size: Its size.
        recipe: By ingredient: the appliance, and how it is cut ("" for not at all).
        things: By portable thing: the room or furniture it is in at the start.
        holders: By furniture: kind and room.
        heats: The appliances.
    """

    layout: RoomLayout
    size: Size
    recipe: dict[str, tuple[str, str]] = field(default_factory=dict)
    things: dict[str, str] = field(default_factory=dict)
    holders: dict[str, tuple[str, str]] = field(default_factory=dict)
    heats: list[str] = field(default_factory=list)

    def room_of(self, thing: str) -> str:
        """Return the room where `thing` is at the start."""
        holder = self.things[thing]
        return self.holders[holder][1] if holder in self.holders else holder


def plan_cooking(seed: int, size: str) -> CookingPlan:
    """Plan a story; the same seed and size give the same plan."""
    rng = random.Random(seed)
    chosen = SIZES[size]
    others = [room for room in BLURBS if room != "kitchen"]
    rng.shuffle(others)
    layout = grow(["kitchen", *others[: chosen.rooms - 1]], rng)
    plan = CookingPlan(layout, chosen, heats=list(HEATS)[: chosen.heats])
    for room in layout.rooms:
        if room in HOLDERS:
            kind, name = HOLDERS[room]
            plan.holders[name] = (kind, room)
    ends = layout.dead_ends()
    rng.shuffle(ends)
    for door, room in zip(DOORS[: chosen.doors], ends, strict=False):
        layout.close(room, door)
    distances = layout.distances()
    near = [room for room in layout.rooms if distances[room] <= chosen.reach]
    foods = [name for name, _ in FOODS]
    rng.shuffle(foods)
    spots = near[1:] * 2
    rng.shuffle(spots)
    spots.insert(0, "kitchen")
    inside = {room: name for name, (_, room) in plan.holders.items()}
    for food, room in zip(foods[: chosen.ingredients + chosen.spare], spots, strict=False):
        plan.things[food] = inside.get(room, room)
    for food in foods[: chosen.ingredients]:
        plan.recipe[food] = (rng.choice(plan.heats), rng.choice(list(CUTS)) if chosen.cut else "")
    if chosen.cut:
        plan.things["knife"] = "counter"
    return plan


def walkthrough(plan: CookingPlan) -> list[str]:
    """Return commands that win: fetch everything, nearest first, then cook and cut it in the kitchen."""
    walk = Walk(plan.layout)
    wanted = [*plan.recipe, *(["knife"] if plan.size.cut else [])]
    while wanted:
        routes = walk.reachable()
        _, thing = min((len(routes[plan.room_of(thing)]), thing) for thing in wanted)
        walk.go(plan.room_of(thing))
        holder = plan.things[thing]
        walk.take(thing, holder if plan.holders.get(holder, ("", ""))[0] == "c" else "")
        wanted.remove(thing)
    walk.go("kitchen")
    for food, (heat, cut) in plan.recipe.items():
        walk.do(f"cook {food} with {heat}")
        if cut:
            walk.do(f"{CUTS[cut]} {food} with knife")
    walk.do("prepare meal")
    walk.do("eat meal")
    return walk.commands


def build(seed: int, size: str, options: Any) -> tuple[Any, list[str]]:
    """Return TextWorld's game and a walkthrough."""
    import textworld
    from textworld.challenges.tw_cooking import cooking as challenge
    from textworld.generator.data import KnowledgeBase

    plan = plan_cooking(seed, size)
    folder = os.path.join(os.path.dirname(challenge.__file__), "textworld_data")
    options.kb = KnowledgeBase.load(
        logic_path=os.path.join(folder, "logic"), grammar_path=os.path.join(folder, "text_grammars")
    )
    maker = textworld.GameMaker(options)
    rooms = plan.layout.build(maker)
    made: dict[str, Any] = {}
    for name, (kind, room) in plan.holders.items():
        made[name] = maker.new(type=kind, name=name)
        if kind == "c":
            made[name].add_property("closed")
        rooms[room].add(made[name])
    for name in plan.heats:
        heater = maker.new(type=HEATS[name][0], name=name)
        if HEATS[name][0] != "stove":
            heater.add_property("closed")
        rooms["kitchen"].add(heater)
    for name, holder in plan.things.items():
        made[name] = _portable(maker, name)
        (made[holder] if holder in made else rooms[holder]).add(made[name])
    maker.set_player(rooms["kitchen"])
    meal = _recipe(maker, plan, made, rooms["kitchen"])
    maker.quests = _quests(maker, plan, made, meal)
    return maker.build(validate=False), walkthrough(plan)


def _portable(maker: Any, name: str) -> Any:
    """Make a food, or the knife."""
    if name == "knife":
        thing = maker.new(type="o", name=name)
        thing.add_property("sharp")
        return thing
    thing = maker.new(type="f", name=name)
    raw = dict(FOODS)[name]
    for prop in (
        "cookable",
        "cuttable",
        "uncut",
        *(("inedible", "needs_cooking") if raw else ("edible", "raw")),
    ):
        thing.add_property(prop)
    return thing


def _recipe(maker: Any, plan: CookingPlan, made: dict[str, Any], kitchen: Any) -> Any:
    """Add the recipe to TextWorld's game; return the meal."""
    recipe, meal = maker.new(type="RECIPE", name=""), maker.new(type="meal", name="meal")
    meal.add_property("edible")
    maker.add_fact("out", meal, recipe)
    maker.add_fact("cooking_location", kitchen, recipe)
    maker.nowhere.extend([recipe, meal])
    for number, (food, (heat, cut)) in enumerate(plan.recipe.items(), 1):
        part = maker.new(type="ingredient", name="")
        made[food].add_property(f"ingredient_{number}")
        maker.add_fact("base", made[food], part)
        maker.add_fact(HEATS[heat][1], part)
        maker.add_fact(cut or "uncut", part)
        maker.add_fact("in", part, recipe)
        maker.nowhere.append(part)
    return meal


def _quests(maker: Any, plan: CookingPlan, made: dict[str, Any], meal: Any) -> list[Any]:
    """Return the quests: a point each for fetching, cooking and cutting a food, and what loses the game."""
    from textworld.generator.game import Event, Quest

    def event(name: str, *things: Any) -> Any:
        return Event(conditions={maker.new_fact(name, *things)})

    quests = []
    eaten = []
    for food, (heat, cut) in plan.recipe.items():
        thing, done = made[food], HEATS[heat][1]
        eaten.append(event("consumed", thing))
        wrong = [event(state, thing) for _, state, _ in HEATS.values() if state != done]
        wrong += [event(state, thing) for state in CUTS if state != cut]
        quests.append(Quest(win_events=[], fail_events=[event("burned", thing), *wrong]))
        quests.append(Quest(win_events=[event("in", thing, maker.inventory)], reward=1))
        quests.append(Quest(win_events=[event(done, thing)], reward=1))
        if cut:
            quests.append(Quest(win_events=[event(cut, thing)], reward=1))
    quests.append(Quest(win_events=[event("in", meal, maker.inventory)], fail_events=eaten, reward=1))
    quests.append(Quest(win_events=[event("consumed", meal)], fail_events=[event("burned", meal)], reward=1))
    return quests


def blurbs() -> dict[str, str]:
    """Return the first sentence of each room's description."""
    return BLURBS


def objective(plan: CookingPlan) -> str:
    """Return the objective that the player is told at the start: the recipe."""
    steps = []
    for food, (heat, cut) in plan.recipe.items():
        verb = HEATS[heat][2]
        steps.append(f"{CUTS[cut]} and {verb} the {food}" if cut else f"{verb} the {food}")
    listed = ", ".join(steps[:-1]) + " and " + steps[-1]
    return f"You are hungry. The recipe: {listed}. Then prepare the meal in the kitchen and eat it."
