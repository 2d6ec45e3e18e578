"""Parts of the graph estimator, each against a small world in which the answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from engine import jitrl
from engine.memory import Memory
from engine.records import Candidate, Episode, State, Step
from engine.settings import Settings
from engine.values.base import Query
from engine.values.knn import KnnEstimator
from engine.values.preconditions import Preconditions
from engine.values.text import Situation
from engine.values.trails import TrailStep, without_loops
from tests.values.planning import NUMBERS, WholeTrails, new_model

NONE: frozenset[str] = frozenset()


def at(place, have=(), see=()):
    return Situation(place, frozenset(f"have:{x}" for x in have), frozenset(f"see:{x}" for x in see))


def room(name, number, *have):
    """Return the situation in a numbered room that goes by this name, with these things in hand."""
    return Situation(
        f"room {number}", frozenset(f"have:{h}" for h in have), frozenset({f"place:{name}#{number}"})
    )


def trail_step(now, action, then, reward=0.0):
    return TrailStep(now, action, reward, then, False, False)


def test_loops_without_a_gain_are_left_out_and_others_are_not():
    a, b, c = at("a"), at("b"), at("c")
    holding = at("a", have=("key",))
    idle = [trail_step(a, "go", b), trail_step(b, "back", a), trail_step(a, "on", c)]
    assert [step.action for step in without_loops(idle)] == ["on"]
    useful = [trail_step(a, "take key", holding), trail_step(holding, "on", at("c", have=("key",)))]
    assert [step.action for step in without_loops(useful)] == ["take key", "on"]
    paid = [trail_step(a, "go", b, 5.0), trail_step(b, "back", a), trail_step(a, "on", c)]
    assert [step.action for step in without_loops(paid)] == ["go", "back", "on"]


def test_a_trail_begins_only_with_what_is_possible_and_may_be_walked_with_more_in_hand():
    trails = WholeTrails()
    trails.add(trail_step(at("a"), "east", at("b")))
    trails.add(trail_step(at("b"), "take coin", at("b", have=("coin",)), 3.0))
    trails.close()
    laden = at("a", have=("lamp",))
    (trail,) = trails.from_here(laden, 9, ("east", "west"))
    assert (trail.actions, trail.earned) == (("east", "take coin"), ((2, ("b", "take coin"), 3.0),))
    assert trails.from_here(laden, 9, ("west",)) == []
    assert trails.from_here(laden, 1, ("east",)) == []
    assert (
        trails.from_here(laden, 9, ("east", "west"), {trail.earned[-1].key}) == []
    )  # it was gained already


def test_what_an_action_needs_is_read_from_what_it_names_first():
    c = Preconditions(NUMBERS)
    c.see(frozenset({"see:lamp", "see:rug"}), ("take lamp",))
    c.see(frozenset({"have:lamp", "see:rug", "see:bird"}), ("light lamp", "north"))
    # Carrying the lamp and the bird were both there; only one of them is named.
    assert c.needs("light lamp") == ({"have:lamp"},)
    assert c.missing("light lamp", frozenset({"see:rug"})) == {"have:lamp"}
    c.see(frozenset({"have:lamp", "see:rug"}), ("north",))
    # It was not possible with the lamp and the rug alone: the bird was never there without its being possible.
    assert c.needs("light lamp") == ({"have:lamp", "see:bird"},)
    c.see(frozenset({"have:lamp", "see:rug", "see:bird", "see:wind"}), ("north",))
    # Not the bird either. What it really takes never shows; the lamp it names is all that is left to ask for.
    assert c.needs("light lamp") == ({"have:lamp"},)


def test_what_an_action_needs_was_there_whenever_it_was_possible_and_never_else():
    c = Preconditions(NUMBERS)
    hall = frozenset({"see:rug"})
    c.see(hall | {"see:door", "see:troll"}, ("south",))
    c.see(hall | {"see:door=open", "see:troll"}, ("north", "south"))
    assert c.needs("north") == ({"see:door=open"},)
    assert c.needs("south") == (frozenset(),)
    # The open door alone was not enough once: no token tells now, and it is as likely as it was.
    c.see(hall | {"see:door=open", "see:ogre"}, ("south",))
    assert c.needs("north") == (frozenset(),)
    assert c.chance("north", hall) == pytest.approx((1.0 + NUMBERS.possible) / (3.0 + NUMBERS.possible))


def test_what_episodes_end_on_at_their_limit_counts_as_tried_the_second_time():
    """What could be done after it was not seen. So it is still new after one episode, but not for ever."""
    x, hall, lit = new_model(), at("hall"), at("hall", see=("lamp=lit",))
    for tried in (0, 1):
        x.begin_episode()
        x.see(hall, ("light lamp",))
        x.learn(hall, "light lamp", 0.0, lit, terminated=False, died=False)
        x.begin_episode()
        assert x.tried[("hall", "light lamp")] == tried


def test_an_action_may_be_possible_in_more_than_one_way():
    c = Preconditions(NUMBERS)
    c.see(frozenset({"have:egg", "see:tree"}), ("open egg", "drop egg"))
    c.see(frozenset({"see:tree", "see:egg"}), ("open egg", "take egg"))
    c.see(frozenset({"see:tree"}), ("climb tree",))
    assert set(c.needs("open egg")) == {frozenset({"have:egg"}), frozenset({"see:egg"})}
    assert c.missing("open egg", frozenset({"see:tree", "see:egg"})) == NONE
    assert len(c.missing("open egg", frozenset({"see:tree"}))) == 1


def test_of_a_situation_seen_several_times_what_was_possible_last_counts():
    c, rug = Preconditions(NUMBERS), frozenset({"see:rug"})
    assert c.see(rug, ("north",))
    assert not c.see(rug, ("north",))
    assert c.chance("pull rug", rug) == 0.0
    assert c.see(rug, ("north", "pull rug"))
    assert c.missing("pull rug", rug) == NONE
    assert c.chance("pull rug", rug) == 1.0
    assert not c.see(rug, ("north",))
    assert c.chance("pull rug", rug) == 0.0
    assert not c.see(rug, ("pull rug",))  # it was possible here before
    assert (c.chance("pull rug", rug), c.chance("north", rug)) == (1.0, 0.0)


def test_what_is_in_hand_may_take_the_danger_away():
    x = new_model()
    dark = Situation("cellar", frozenset(), frozenset({"place:darkness"}))
    lit = Situation("cellar", frozenset({"have:light"}), frozenset({"place:cellar"}))
    x.moves.add("north")
    for _ in range(4):
        x.learn(dark, "north", -10.0, dark, terminated=True, died=True)
    for _ in range(4):
        x.learn(lit, "north", 0.0, at("hall", have=("light",)), terminated=False, died=False)
    assert x.hazards.hazard("cellar", dark.see, moving=True) > 0.3
    assert x.hazards.hazard("cellar", lit.have | lit.see, moving=True) < 0.1
    assert x.outcome(("cellar", "north"), dark.have | dark.see).death > 0.7
    assert x.outcome(("cellar", "north"), lit.have | lit.see).death < 0.2
    assert x.death_loss == pytest.approx(10.0)


def test_what_was_possible_now_and_then_is_only_likely_and_what_was_not_just_here_is_not():
    c = Preconditions(NUMBERS)
    for number in range(4):
        c.see(
            frozenset({"see:altar", f"see:candle {number}"}), ("wait", "pray") if number == 0 else ("wait",)
        )
    elsewhere = frozenset({"see:altar", "see:candle 9"})
    assert c.missing("pray", frozenset({"see:altar", "see:candle 0"})) == NONE
    assert c.chance("pray", frozenset({"see:altar", "see:candle 0"})) == 1.0
    assert c.chance("pray", frozenset({"see:altar", "see:candle 1"})) == 0.0
    assert c.chance("wait", elsewhere) > 0.9
    assert c.chance("pray", elsewhere) < 0.5


def test_a_gain_is_expected_where_it_was_had_and_less_each_time_it_stays_away():
    x, now = new_model(), at("bank", have=("card",))
    x.see(now, ("ask",))
    x.learn(now, "ask", 5.0, now, terminated=False, died=False)
    assert x.effects.gain(("bank", "ask")) == 5.0
    x.learn(
        now, "ask", 0.0, now, terminated=False, died=False, fresh=False
    )  # the same episode: it had paid already
    assert x.effects.gain(("bank", "ask")) == 5.0
    x.learn(now, "ask", 0.0, now, terminated=False, died=False)
    assert x.effects.gain(("bank", "ask")) == 2.5
    x.learn(now, "ask", 0.0, now, terminated=False, died=False)
    assert x.effects.gain(("bank", "ask")) == pytest.approx(5.0 / 3.0)


def test_what_keeps_the_dark_away_in_one_place_does_so_in_others():
    x = new_model()

    x.moves.add("north")
    for _ in range(3):
        dark = room("darkness", 7, "sword")
        x.learn(dark, "north", -10.0, dark, terminated=True, died=True)
    attic_dark, attic = room("darkness", 2, "sword"), room("attic", 2, "sword", "lamp lit")
    x.learn(attic_dark, "look", 0.0, attic_dark, terminated=False, died=False)
    x.learn(attic, "look", 0.0, attic, terminated=False, died=False)
    before = x.hazards.hazard("room 7", dark.have | dark.see, moving=True)
    assert before > 0.5
    assert x.hazards.hazard("room 7", dark.have | dark.see | {"have:lamp lit"}, moving=True) < 0.1 * before
    assert x.hazards.light == {"have:lamp lit"}
    x.learn(room("darkness", 2, "lamp lit"), "look", 0.0, attic, terminated=False, died=False)
    assert not x.hazards.light  # dark all the same: it was not that


def test_one_place_that_goes_by_a_deadly_name_is_enough_to_know_what_lifts_the_danger():
    x, dark, lit = new_model(), room("darkness", 7, "sword"), room("cellar", 7, "sword", "lamp lit")
    x.moves.add("north")
    x.learn(lit, "look", 0.0, lit, terminated=False, died=False)
    assert not x.hazards.light  # nobody died yet
    for _ in range(3):
        x.learn(dark, "north", -10.0, dark, terminated=True, died=True)
    assert x.hazards.light == {"have:lamp lit"}
    assert x.hazards.hazard("room 7", dark.context, moving=True) > 0.5
    assert x.hazards.hazard("room 7", dark.context | {"have:lamp lit"}, moving=True) == 0.0


def one_step(number, action, reward):
    state = State("here", ("place:here", "see:levers"))
    end = State("end", ("place:end",))
    step = Step(state, action, reward, reward, reward, valid_actions=("left", "right"))
    return Episode(
        f"u{number}", "test", (step,), end, number + 1, score=reward, terminated=True, started=float(number)
    )


def estimate(scope, settings):
    estimator = KnnEstimator(scope, settings)
    state = State("here", ("place:here", "see:levers"))
    candidates = (Candidate("left", 0.0), Candidate("right", 0.0))
    query = Query(state, estimator.neighbours(state), candidates, ("left", "right"), 1)
    return estimator.value(query, np.random.default_rng(0))


@pytest.mark.parametrize("drift", [False, True])
def test_the_papers_estimates_approach_the_truth_also_when_it_moves(tmp_path, drift):
    """Bernoulli levers of .8 and .3; under drift they are exchanged halfway, and the estimate must follow."""
    rng, settings = np.random.default_rng(5), Settings(k=400)
    with Memory(tmp_path) as memory:
        scope = memory.scope("test")
        count = 4 * settings.k
        lived = []
        for number in range(count):
            swapped = drift and number >= count // 2
            action = ("left", "right")[number % 2]
            chance = 0.8 if (action == "left") != swapped else 0.3
            lived.append(one_step(number, action, float(rng.random() < chance)))
        scope.append_all(lived)
        value = estimate(scope, settings)
    left, right = (0.3, 0.8) if drift else (0.8, 0.3)
    # Means over the k newest of equal similarity, about half of them each action: 4 standard errors.
    error = 4 * 0.5 / np.sqrt(settings.k / 2)
    assert value.q[0] == pytest.approx(left, abs=error)
    assert value.q[1] == pytest.approx(right, abs=error)
    assert value.v == pytest.approx((left + right) / 2, abs=error)
    assert set(value.how) == {jitrl.KNOWN}


def test_who_ran_into_a_wall_has_not_left():
    x, dark = new_model(), at("cellar", see=("dark",))
    x.moves.update(("north", "south"))
    for _ in range(3):
        x.learn(dark, "north", -10.0, dark, terminated=True, died=True)
    before = x.hazards.hazard("cellar", dark.see, moving=True)
    for _ in range(9):
        x.learn(dark, "south", 0.0, dark, terminated=False, died=False)
    assert x.hazards.hazard("cellar", dark.see, moving=True) == before > 0.5


def test_one_dark_is_as_deadly_as_another():
    x = new_model()

    x.moves.add("north")
    for _ in range(4):
        x.learn(room("darkness", 7), "north", -10.0, room("darkness", 7), terminated=True, died=True)
    x.learn(room("darkness", 2), "look", 0.0, room("darkness", 2), terminated=False, died=False)
    x.learn(room("attic", 2, "light"), "look", 0.0, room("attic", 2, "light"), terminated=False, died=False)
    assert (
        x.hazards.hazard("room 2", room("darkness", 2).see, moving=True) > 0.5
    )  # nobody died of leaving it yet
    assert x.hazards.hazard("room 2", room("attic", 2).see, moving=True) == 0.0
    assert x.hazards.hazard("room 2", room("darkness", 2, "light").see | {"have:light"}, moving=True) == 0.0


def test_what_was_taken_elsewhere_says_little_of_what_its_class_brings():
    """Ten lamps that are nothing new, and a ring that is: the next new thing promises what the ring brought."""

    def rate(lamps):
        x = new_model()
        for number in range(lamps):
            now = at(f"room {number}", see=("lamp",))
            x.see(now, ("take lamp",))
            x.learn(now, "take lamp", 0.0, at(f"room {number}", have=("lamp",)), terminated=False, died=False)
            x.see(at(f"room {number}", have=("lamp",)), ())
        now = at("vault", see=("ring",))
        x.see(now, ("take ring",))
        x.learn(now, "take ring", 9.0, at("vault", have=("ring",)), terminated=False, died=False)
        assert x.staleness("take lamp") == 1.0 + lamps
        return x.yields.rate("take")

    assert rate(10) > 0.6 * rate(1)
    assert rate(100) > 0.4 * rate(1)
