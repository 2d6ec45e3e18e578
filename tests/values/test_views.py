"""What places look like with a light and without, as this episode left them or as others did."""

from __future__ import annotations

import numpy as np

from engine.agents.base import Turn
from engine.agents.jitrl import JitrlAgent
from engine.environments import profile
from engine.records import ActionRequest, Candidate, Episode, Observation, Proposal, State, Step
from engine.values.effects import PlaceViews
from engine.values.graph import GraphEstimator
from engine.values.model import WorldModel
from engine.values.paths import EpisodeProgress, ImaginedSituation
from engine.values.text import Situation
from tests.values.planning import NUMBERS, Planning, new_model
from tests.values.test_graph import remembered

LIT = frozenset({"have:lamp=lit"})
OUT = frozenset({"have:lamp"})
THINGS = frozenset({"have:egg", "have:sword", "have:rope"})


def test_of_equally_similar_looks_the_latest_counts_and_the_oldest_is_forgotten():
    views = PlaceViews(NUMBERS)
    for number in range(30):
        views.add(frozenset({f"have:thing{number}"}), frozenset({f"see:look{number}"}))
    assert views.with_in_hand(frozenset({"have:thing12"})) == {"see:look12"}
    assert views.with_in_hand(frozenset({"have:thing12", "have:other"})) == {"see:look12"}
    assert views.with_in_hand(frozenset({"have:other"})) == {"see:look29"}
    assert views.with_in_hand(frozenset({"have:thing0"})) == {"see:look29"}
    assert PlaceViews(NUMBERS).with_in_hand(OUT) == frozenset()


def room(number: int, name: str, have: frozenset[str]) -> Situation:
    return Situation(f"room {number}", have, frozenset({f"place:{name}#{number}"}))


def caves() -> WorldModel:
    """A hall above; two caves below that are dark without a lamp, and deadly to leave then; gold in the farther one."""
    x = new_model()
    x.moves |= {"down", "east"}
    hall = room(1, "hall", LIT)
    ways = {1: ("down", "break lamp"), 2: ("east",), 3: ("dig",)}
    lit = {1: hall, 2: room(2, "cave", LIT), 3: room(3, "grotto", LIT)}
    for number, now in lit.items():
        x.begin_episode()
        x.arrive(now)
        x.see(now, ways[number])
    x.learn(hall, "down", 0.0, lit[2], terminated=False, died=False)
    x.learn(lit[2], "east", 0.0, lit[3], terminated=False, died=False)
    x.learn(lit[3], "dig", 9.0, lit[3], terminated=False, died=False)
    x.see(room(1, "hall", OUT), ("down",))
    assert not x.hazards.light  # nobody died yet
    for number in (2, 3):
        dark = room(number, "dark", OUT)
        x.arrive(dark)
        x.see(dark, ("east",))
        for _ in range(4):
            x.learn(dark, "east", 0.0, dark, terminated=True, died=True)
    return x


def test_what_the_lamp_is_for_is_not_forgotten_by_those_who_always_have_it():
    x = caves()
    there, back = room(2, "cave", LIT), room(3, "grotto", LIT)
    for _ in range(300):
        x.learn(there, "east", 0.0, back, terminated=False, died=False)
        x.learn(back, "east", 0.0, there, terminated=False, died=False)
    # Taken together, hardly anybody dies there any more; in the dark it is as deadly as ever.
    assert x.hazards.light == LIT
    assert x.hazards.light == LIT


def test_who_lost_the_lamp_does_not_count_on_what_was_seen_with_it():
    x = caves()
    planner = Planning(x, 0.0)
    world = {
        f"room {n}": frozenset({f"place:{name}#{n}"}) for n, name in ((1, "hall"), (2, "cave"), (3, "grotto"))
    }

    def plan(have):
        return planner.plan(ImaginedSituation("room 1", have, world), 9, EpisodeProgress(), valid=("down",))

    assert plan(LIT).actions == ("down", "east", "dig")
    assert plan(LIT).known > 8.0
    assert plan(OUT).known < 4.0


class Taste:
    """A prior that likes one action."""

    def propose(self, request: ActionRequest, rng: np.random.Generator) -> Proposal:
        return Proposal((Candidate("open bottle", 2.0, "llm"),))


def test_a_deadly_way_beside_it_does_not_leave_the_plan_to_the_priors_taste():
    """Advantages are normalised by the greatest: what dying costs must not make all else look alike."""
    at = {name: State(name, (f"place:{name}",), place=name) for name in ("ledge", "mine", "den")}
    valid = ("south", "north", "open bottle")

    def step(name: str, action: str, reward: float) -> Step:
        return Step(
            at[name], action, reward, reward, reward, valid_actions=valid if name == "ledge" else ("dig",)
        )

    lived = [
        Episode(
            f"gold {n}",
            "game/x",
            (step("ledge", "south", 0.0), step("mine", "dig", 90.0)),
            at["mine"],
            score=90.0,
        )
        for n in range(20)
    ]
    lived.append(Episode("den", "game/x", (step("ledge", "north", 0.0),), at["den"]))
    idle = Episode("idle", "game/x", (step("ledge", "open bottle", 0.0),) * 40, at["ledge"])
    deaths = [
        Episode(str(n), "game/x", (step("ledge", "north", -10.0),), at["ledge"], terminated=True, outcome="lost")
        for n in range(9)
    ]
    settings = profile("default")
    agent = JitrlAgent(Taste(), GraphEstimator(remembered(*lived, idle, *deaths), settings), settings)
    agent.begin_episode(at["ledge"])
    decision = agent.decide(Turn(0, 60, Observation(""), at["ledge"], valid), np.random.default_rng(0))
    assert decision.action == "south"
    q = dict(zip([c.action for c in decision.candidates], decision.update.valuation.q, strict=True))
    assert q["north"] < q["open bottle"] < q["south"]
