"""What a known gain, a shut way or the dark needs in hand is fetched from elsewhere, in small worlds with few rules."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from engine.settings.plan import PlanNumbers
from engine.values.model import WorldModel
from engine.values.paths import EpisodeProgress, Imagined
from engine.values.planner import Router
from engine.values.text import Situation
from tests.values.planning import NUMBERS, Planning, new_model

NONE: frozenset[str] = frozenset()
NO_LEVELS = PlanNumbers(levels=0)


class Rule(NamedTuple):
    """Something that can be done at a place with all of `needs` in hand or in sight."""

    place: str
    action: str
    needs: tuple[str, ...] = ()
    removes: tuple[str, ...] = ()
    adds: tuple[str, ...] = ()
    to: str = ""
    points: float = 0.0


def way(place: str, action: str, to: str, *needs: str) -> Rule:
    return Rule(place, action, needs, to=to)


def take(place: str, thing: str, action: str = "", *needs: str) -> Rule:
    here = f"see:{thing}"
    return Rule(place, action or f"take {thing}", (here, *needs), (here,), (f"have:{thing}",))


class World:
    """A world of rules.

    Args:
        shows: What is to be seen at each place at first.
    """

    def __init__(self, start: str, rules: list[Rule], shows: dict[str, set[str]], *have: str) -> None:
        self._rules = rules
        self.place, self.have, self.see = start, frozenset(have), {name: frozenset(see) for name, see in shows.items()}

    @property
    def now(self) -> Situation:
        return Situation(self.place, self.have, self.see.get(self.place, NONE))

    @property
    def valid(self) -> tuple[str, ...]:
        return tuple(r.action for r in self._rules if r.place == self.place and self.now.context.issuperset(r.needs))

    def do(self, action: str) -> float:
        """Take an action; return the points that it gains."""
        assert action in self.valid, (action, self.now)
        (rule,) = (r for r in self._rules if (r.place, r.action) == (self.place, action))
        context = (self.now.context - set(rule.removes)) | set(rule.adds)
        self.have = frozenset(token for token in context if token.startswith("have:"))
        self.see = {**self.see, self.place: context - self.have}
        self.place = rule.to or self.place
        return rule.points


def live(x: WorldModel, world: World, *actions: str) -> None:
    """Live through an episode."""
    x.begin_episode()
    met = set[str]()
    for action in (*actions, ""):
        now = world.now
        if now.place not in met:
            x.arrive(now)
        met.add(now.place)
        x.see(now, world.valid)
        if action:
            reward = world.do(action)
            x.learn(now, action, reward, world.now, terminated=False, died=False)


def plan(x: WorldModel, world: World, *, curiosity=0.0, steps=20, numbers=NUMBERS, failed=()) -> tuple[str, ...]:
    """Return the actions of the plan made where an episode begins in this world."""
    here = Imagined(world.place, world.have, {world.place: world.now.see})
    progress = EpisodeProgress(world=dict(here.world), failed=set(failed))
    return Planning(x, curiosity, numbers).plan(here, steps, progress, valid=world.valid).actions


def gained(world: World, actions: tuple[str, ...]) -> float:
    """Return the points that actions gain, all of which have to be possible when their turn comes."""
    return sum(map(world.do, actions))


# ----------------------------------------------------------------------------------------- a known gain

GROUNDS = (
    way("hall", "south", "yard"), way("yard", "north", "hall"),
    way("yard", "west", "shed"), way("shed", "east", "yard"),
)  # fmt: skip
"""A hall, a yard south of it and a shed west of that."""
KEY = take("shed", "key")
CHEST = Rule("hall", "unlock chest with key", ("have:key", "see:chest"), ("see:chest",), ("see:chest=open",), "", 5.0)
FETCH = ("south", "west", "take key", "east", "north")
"""The way from the hall to the key in the shed, and back."""


def chest(*have: str, rules=(*GROUNDS, KEY, CHEST), **shows: set[str]) -> World:
    """Return a world in which a key from the shed opens a chest in the hall."""
    return World("hall", list(rules), {"hall": {"see:chest"}, "shed": {"see:key"}, **shows}, *have)


def unlocked() -> WorldModel:
    """Return what is known after somebody unlocked the chest."""
    x = new_model()
    live(x, chest(), *FETCH, "unlock chest with key")
    return x


def test_a_known_gain_is_gained_with_what_is_fetched_from_another_room():
    found = plan(unlocked(), chest())
    assert found == (*FETCH, "unlock chest with key")
    assert gained(chest(), found) == 5.0


def test_what_is_joined_of_two_lives_is_fetched_too():
    """Who unlocked the chest began with a key in hand, and who found one in the shed left it there."""
    x = new_model()
    live(x, chest(), "south", "west", "take key", "east", "north", "south")
    live(x, chest("have:key", shed=set()), "unlock chest with key")
    found = plan(x, chest())
    assert found == (*FETCH, "unlock chest with key")
    assert gained(chest(), found) == 5.0


@pytest.mark.parametrize(("steps", "enough"), [(6, True), (5, False)])
def test_nothing_is_fetched_that_there_are_not_enough_steps_for(steps, enough):
    assert bool(plan(unlocked(), chest(), steps=steps)) == enough


def test_nothing_is_fetched_where_no_levels_are_searched():
    assert plan(unlocked(), chest(), numbers=NO_LEVELS) == ()
    assert plan(unlocked(), chest("have:key"), numbers=NO_LEVELS) == ("unlock chest with key",)


def test_what_is_in_hand_already_is_not_fetched():
    assert plan(unlocked(), chest("have:key")) == ("unlock chest with key",)  # there is one more in the shed


PRY = Rule(
    "hall", "pry chest with key and rod", ("have:key", "have:rod", "see:chest"),
    ("see:chest",), ("see:chest=open",), points=5.0,
)  # fmt: skip


def two_locks(*have: str) -> World:
    """Return a world in which a chest takes a key from the shed and a rod from the yard."""
    return chest(*have, rules=(*GROUNDS, KEY, take("yard", "rod"), PRY), yard={"see:rod"})


@pytest.mark.parametrize(
    ("have", "fetched"),
    [
        ((), ("south", "west", "take key", "east", "take rod", "north")),
        (("have:rod",), FETCH),
        (("have:key",), ("south", "take rod", "north")),
        (("have:key", "have:rod"), ()),
    ],
)
def test_of_several_things_those_are_fetched_that_are_not_in_hand(have, fetched):
    x = new_model()
    for things in ((), ("have:rod",), ("have:key",)):  # none of them is enough
        live(x, two_locks(*things), "south", "north")
    live(x, two_locks(), "south", "take rod", "west", "take key", "east", "north", "pry chest with key and rod")
    found = plan(x, two_locks(*have))
    assert found == (*fetched, "pry chest with key and rod")
    assert gained(two_locks(*have), found) == 5.0


def test_what_turned_out_to_be_impossible_is_no_source():
    x, shed, loft = unlocked(), ("shed", "take key"), ("loft", "take key")
    assert plan(x, chest(), failed=[shed]) == ()
    rules = (*GROUNDS, KEY, CHEST, way("shed", "up", "loft"), way("loft", "down", "shed"))
    other = {"rules": (*rules, take("loft", "key")), "loft": {"see:key"}}
    live(x, chest(**other), "south", "west", "up", "take key", "down", "east", "north")
    farther = ("south", "west", "up", "take key", "down", "east", "north", "unlock chest with key")
    assert plan(x, chest(**other)) == (*FETCH, "unlock chest with key")  # the nearest
    assert plan(x, chest(**other), failed=[shed]) == farther
    assert plan(x, chest(**other), failed=[shed, loft]) == ()


def test_what_comes_with_another_thing_is_not_fetched_once_more():
    """The key and the rod lie in a box in the shed that can be emptied."""
    box = Rule("shed", "empty box", ("see:box=full",), ("see:box=full",), ("have:key", "have:rod"))
    rules = (*GROUNDS, box, PRY)
    x, fetch = new_model(), ("south", "west", "empty box", "east", "north")
    live(x, chest(rules=rules, shed={"see:box=full"}), "south", "north", *fetch, "pry chest with key and rod")
    found = plan(x, chest(rules=rules, shed={"see:box=full"}))
    assert found == (*fetch, "pry chest with key and rod")


def test_where_something_else_was_found_of_late_is_no_source():
    """Somebody found a key in the straw, others found coins there; another key lies farther off."""
    ways = (way("shed", "up", "loft"), way("loft", "down", "shed"), take("loft", "key"))

    def barn(thing: str) -> World:
        straw = Rule("shed", "search straw", ("see:straw",), ("see:straw",), (f"have:{thing}",))
        return chest(rules=(*GROUNDS, *ways, CHEST, straw), shed={"see:straw"}, loft={"see:key"})

    x, near = new_model(), ("south", "west", "search straw", "east", "north", "unlock chest with key")
    far = ("south", "west", "up", "take key", "down", "east", "north", "unlock chest with key")
    live(x, barn("key"), *near)
    live(x, barn("coin"), *far)
    assert plan(x, barn("key")) == near
    for _ in range(3):
        live(x, barn("coin"), *near[:-1])
    found = plan(x, barn("coin"))
    assert found == far
    assert gained(barn("coin"), found) == 5.0


def test_what_has_to_be_made_at_the_place_of_what_is_fetched_is_made_there():
    """The pot is cooked of a leek from the shed on the stove in the hall; who has it cooked can serve it there."""
    rules = (
        *GROUNDS, take("shed", "leek"), Rule("hall", "cook leek", ("have:leek",), ("have:leek",), ("have:soup",)),
        Rule("hall", "serve soup", ("have:soup",), ("have:soup",), points=5.0),
    )  # fmt: skip

    def kitchen(*have: str) -> World:
        return World("hall", list(rules), {"shed": {"see:leek"}}, *have)

    x, fetch = new_model(), ("south", "west", "take leek", "east", "north")
    live(x, kitchen(), *fetch, "cook leek", "serve soup")
    found = plan(x, kitchen())
    assert found == (*fetch, "cook leek", "serve soup")
    assert gained(kitchen(), found) == 5.0
    assert plan(x, kitchen("have:leek")) == ("cook leek", "serve soup")


# ------------------------------------------------------------------------------------------- a shut way

DOOR = (
    *GROUNDS, KEY, way("hall", "north", "vault", "see:door=open"), way("vault", "south", "hall"),
    Rule("hall", "unlock door with key", ("have:key", "see:door"), ("see:door",), ("see:door=open",)),
)  # fmt: skip
DIG = Rule("vault", "dig", ("see:sand",), ("see:sand",), ("see:hole",), points=5.0)


def locked(*rules: Rule, have: tuple[str, ...] = ()) -> World:
    """Return a world in which a key from the shed opens a door in the hall, and these rules hold besides."""
    shows = {"hall": {"see:door"}, "shed": {"see:key"}, "vault": {"see:sand", "see:box"}}
    return World("hall", [*DOOR, *rules], shows, *have)


INTO = (*FETCH, "unlock door with key", "north")


def test_a_locked_door_is_opened_with_what_is_fetched_for_a_known_gain_behind_it():
    x = new_model()
    live(x, locked(DIG), *INTO, "dig")
    found = plan(x, locked(DIG))
    assert found == (*INTO, "dig")
    assert gained(locked(DIG), found) == 5.0
    assert plan(x, locked(DIG), steps=7) == ()
    assert plan(x, locked(DIG), numbers=NO_LEVELS) == ()
    assert plan(x, locked(DIG, have=("have:key",))) == ("unlock door with key", "north", "dig")


def test_a_key_that_lies_behind_another_locked_door_is_fetched_through_that_one():
    """The key of the vault lies in a cell, and the shed has the rod that opens the cell."""
    rules = (
        *GROUNDS, take("shed", "rod"), take("cell", "key"), DIG,
        way("yard", "down", "cell", "see:hatch=open"), way("cell", "up", "yard"),
        Rule("yard", "pry hatch with rod", ("have:rod", "see:hatch"), ("see:hatch",), ("see:hatch=open",)),
        *DOOR[-3:],
    )  # fmt: skip

    def prison() -> World:
        shows = {"hall": {"see:door"}, "yard": {"see:hatch"}, "shed": {"see:rod"}, "cell": {"see:key"},
                 "vault": {"see:sand"}}  # fmt: skip
        return World("hall", list(rules), shows)

    x, solved = new_model(), (
        "south", "west", "take rod", "east", "pry hatch with rod", "down", "take key", "up", "north",
        "unlock door with key", "north", "dig",
    )  # fmt: skip
    live(x, prison(), "south", "north", *solved)
    found = plan(x, prison(), numbers=PlanNumbers(levels=4))
    assert found == solved
    assert gained(prison(), found) == 5.0
    assert plan(x, prison(), numbers=PlanNumbers(levels=1)) == ()


# ---------------------------------------------------------------------------------------------- circles


def circle(*have: str, sources: int = 1) -> World:
    """Return a world in which a chest takes a key, the key takes a rope, and the rope takes a key."""
    cells = [f"cell {number}" for number in range(sources)]
    rules = [CHEST]
    for cell in cells:
        rules += [way("hall", f"go {cell}", cell), way(cell, "out", "hall")]
        rules.append(take(cell, "key", "take key with rope", "have:rope"))
        rules.append(take(cell, "rope", "take rope with key", "have:key"))
    return World("hall", rules, {"hall": {"see:chest"}, **{cell: {"see:key", "see:rope"} for cell in cells}}, *have)


@pytest.mark.parametrize("sources", [1, 6])
def test_things_that_need_one_another_are_not_looked_for_in_circles(sources, monkeypatch):
    x, legs, leg = new_model(), list[tuple[object, ...]](), Router._leg
    for cell in (f"cell {number}" for number in range(sources)):
        for thing, action in (("rope", "take key with rope"), ("key", "take rope with key")):
            live(x, circle(f"have:{thing}", sources=sources), f"go {cell}", action, "out")
        live(x, circle(sources=sources), f"go {cell}", "out")
    live(x, circle("have:key", sources=sources), "unlock chest with key")
    live(x, circle(sources=sources), "go cell 0", "out")
    monkeypatch.setattr(Router, "_leg", lambda *asked: legs.append(asked) or leg(*asked))
    assert plan(x, circle(sources=sources)) == ()
    assert 0 < len(legs) < 400  # at most four sources of each thing, four times over
    assert plan(x, circle("have:key", sources=sources)) == ("unlock chest with key",)
    with_rope = plan(x, circle("have:rope", sources=sources))
    assert with_rope[1:] == ("take key with rope", "out", "unlock chest with key")
    assert gained(circle("have:rope", sources=sources), with_rope) == 5.0
