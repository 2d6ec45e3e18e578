"""What plans rest on is told as remembered steps, and those are in memory."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

from engine import jitrl
from engine.environments import profile
from engine.games.catalogue import open_game
from engine.memory import Memory
from engine.records import Candidate, Episode, Neighbour, State, Step
from engine.settings import Settings
from engine.values.base import Query
from engine.values.explanation import ExpectedSituation, Sources, _along, alike, digest
from engine.values.graph import GraphEstimator
from engine.values.paths import ImaginedSituation
from engine.values.plans import Detour, Route
from engine.values.text import Situation
from tests.values.gridworld import World, live
from tests.values.test_graph import SETTINGS, SETTLED, remembered

COIN = ["north", "take coin", "south"]
RING = ["east", "open door", "north", "take ring"]


def valued(estimator, state, valid, steps=9):
    """Return the valuation of all valid actions, and the best of them."""
    actions = estimator.also(state, valid)
    query = Query(state, (), tuple(Candidate(a, 0.0) for a in actions), valid, steps)
    found = estimator.value(query, np.random.default_rng(0))
    return found, actions[int(np.argmax(found.q))]


def begun(*episodes, settings=SETTLED):
    """Return an estimator that remembers these, at the beginning of an episode, with its world."""
    world, estimator = World(), GraphEstimator(remembered(*episodes), settings)
    estimator.begin_episode(world.reset())
    return estimator, world


def go(estimator, world, action, terminated=False):
    before, valid = world.state(), world.valid()
    then, reward = world.step(action)
    step = Step(before, action, reward, reward, world.score, valid_actions=valid)
    estimator.observe(step, then, terminated=terminated, lost=False)
    return step


def shown(hits):
    return [(hit.ahead, hit.action, hit.episode, hit.step) for hit in hits]


def of_plan(hits):
    """Return the hits of the plan: the others come after them, with nothing ahead of them."""
    ahead = [hit.ahead for hit in hits]
    last = ahead.index(max(ahead)) + 1
    return hits[:last]


def test_a_plan_joined_from_two_episodes_rests_on_the_steps_of_both_in_its_order():
    estimator, world = begun(live(World(), COIN, "a"), live(World(), RING, "b"))
    found, best = valued(estimator, world.state(), world.valid())
    plan = of_plan(found.hits)
    assert shown(plan) == [
        (0, "north", 1, 0), (1, "take coin", 1, 1), (2, "south", 1, 2),
        (3, "east", 2, 0), (4, "open door", 2, 1), (5, "north", 2, 2), (6, "take ring", 2, 3),
    ]  # fmt: skip
    assert (best, plan[0].action) == ("north", "north")
    assert [hit.entry for hit in plan] == list(range(7))
    assert [hit.gain for hit in plan] == [0, 3, 0, 0, 0, 0, 5]
    assert plan[0].similarity == 1.0
    # East was done here, too, but is not what the plan does now.
    assert shown(found.hits[len(plan) :]) == [(0, "east", 2, 0)]


def test_returns_are_those_of_the_steps_for_the_discount_in_force():
    settings = Settings(estimator="graph", curiosity=0.0, gamma=0.9)
    episode = live(World(), RING)
    estimator, world = begun(episode, settings=settings)
    found, _ = valued(estimator, world.state(), world.valid())
    returns = jitrl.discounted_returns([step.reward for step in episode.steps], 0.9)
    assert [hit.g for hit in of_plan(found.hits)] == pytest.approx(list(returns))


def test_as_the_plan_is_followed_what_it_rests_on_comes_nearer():
    estimator, world = begun(live(World(), RING))
    for done in range(len(RING)):
        found, best = valued(estimator, world.state(), world.valid())
        assert best == RING[done]
        plan = [(n, RING[done + n], 1, done + n) for n in range(len(RING) - done)]
        assert shown(found.hits)[: len(plan)] == plan
        go(estimator, world, best)


def test_a_plan_that_tries_something_new_rests_on_the_way_there_and_on_its_route():
    estimator, world = begun(live(World(), [*RING, "south"]), settings=SETTINGS)
    found, best = valued(estimator, world.state(), world.valid(), steps=30)
    told = {hit.ahead: hit.action for hit in found.hits}
    plan = estimator._plan
    assert best == plan.actions[0]
    assert plan.detour is not None
    new = len(plan.actions) - 1
    assert new not in told or (new == 0 and told[0] != plan.actions[0])
    assert [told[n] for n in range(new)] == list(plan.actions[:-1])
    assert any(hit.gain == 5.0 for hit in found.hits)


def along(at, actions, marks, detour):
    """Return where the steps of a route with a detour are taken."""
    nothing = frozenset()
    places = tuple((number, place, nothing) for number, place in marks)
    route = Route(ImaginedSituation(at, nothing, {}), 0.0, actions=tuple(actions), marks=places)
    return [key for key, _ in _along(route, detour)]


def aside(start, actions, goal, way=(), back=()):
    return Detour(1.0, 1.0, 1.0, start, tuple(actions), goal, way, back)


def test_what_a_detour_tries_that_the_route_does_next_is_one_step():
    """Seen in the pantry: the parsnip of the route was worth a try of its own, and was told twice."""
    marks = [(0, "cellar"), (1, "cellar"), (2, "shop")]
    walk = [("cellar", "take parsnip"), ("cellar", "north"), ("shop", "buy")]
    detour = aside(0, ["take parsnip"], ("cellar", "take parsnip"))
    assert along("shop", ["take parsnip", "north", "buy"], marks, detour) == walk
    # With something else before it.
    marks = [(0, "kitchen"), (1, "kitchen"), (2, "kitchen")]
    detour = aside(0, ["cook leek"], ("kitchen", "cook leek"))
    cooked = along("garden", ["cook yam", "cook leek", "north"], marks, detour)
    assert cooked == [("kitchen", "cook leek"), ("kitchen", "cook yam"), ("kitchen", "north")]


def test_a_way_tried_again_that_is_the_way_back_is_one_step():
    back = (("cellar", "north"),)
    detour = aside(0, ["south", "north"], ("cellar", "north"), (("shop", "south"),), back)
    walk = [("shop", "south"), ("cellar", "north"), ("shop", "east")]
    assert along("yard", ["east"], [(0, "shop")], detour) == walk


def test_a_way_tried_again_is_walked_once_more_where_the_route_comes_there_later():
    marks = [(0, "shop"), (1, "cellar")]
    detour = aside(0, ["south", "north"], ("cellar", "north"), (("shop", "south"),), (("cellar", "up"),))
    walk = [("shop", "south"), ("cellar", "north"), ("cellar", "up"), ("shop", "south"), ("cellar", "north")]
    assert along("shop", ["south", "north"], marks, detour) == walk


def test_with_nothing_in_memory_what_is_shown_was_done_in_this_episode():
    estimator, world = begun(settings=SETTINGS)
    assert valued(estimator, world.state(), world.valid())[0].hits == ()
    for action in ("north", "take coin", "south"):
        go(estimator, world, action)
    found, _ = valued(estimator, world.state(), world.valid())
    assert max(found.n) == 1
    assert found.n == found.plan.now  # all that is known of these actions is of this episode
    assert found.plan.remembered == 0
    assert [(hit.action, hit.entry, hit.episode, hit.step) for hit in found.hits] == [("north", -1, 0, 0)]


def test_steps_of_the_running_episode_are_shown_only_where_memory_has_none():
    estimator, world = begun(live(World(), RING))
    for action in ("north", "south", "east"):
        go(estimator, world, action)
    found, _ = valued(estimator, world.state(), world.valid())
    assert found.plan.remembered == len(RING)
    by_action = {hit.action: hit for hit in found.hits}
    assert by_action["open door"].episode == 1
    world = World()
    estimator.begin_episode(world.reset())
    go(estimator, world, "north")
    go(estimator, world, "south")
    found, _ = valued(estimator, world.state(), world.valid())
    assert {(hit.action, hit.episode) for hit in found.hits} >= {("east", 1), ("north", 0)}
    estimator.begin_episode(world.reset())
    found, _ = valued(estimator, world.state(), world.valid())
    assert all(hit.episode for hit in found.hits)


def test_the_points_expected_of_the_steps_shown_are_those_of_the_plan():
    estimator, world = begun(live(World(), COIN, "a"), live(World(), RING, "b"))
    found, best = valued(estimator, world.state(), world.valid())
    at = estimator.also(world.state(), world.valid()).index(best)
    plan = of_plan(found.hits)
    assert sum(hit.expected for hit in plan) == pytest.approx(found.terms["gain"][at])
    assert [hit.action for hit in plan if hit.expected] == ["take coin", "take ring"]
    go(estimator, world, "north")
    go(estimator, world, "take coin")
    found, best = valued(estimator, world.state(), world.valid())
    assert sum(hit.expected for hit in of_plan(found.hits)) == pytest.approx(5.0, abs=0.5)


def test_what_a_plan_hopes_for_is_named():
    estimator, world = begun(live(World(), RING), settings=SETTINGS)
    found, _ = valued(estimator, world.state(), world.valid(), steps=30)
    plan = estimator._plan
    assert found.plan.steps == len(plan.actions)
    assert len(found.plan.tries) == len(set(plan.tries)) > 0
    assert plan.goal[1] in found.plan.tries[0]
    # Who is not curious hopes for nothing.
    estimator, world = begun(live(World(), RING))
    assert valued(estimator, world.state(), world.valid())[0].plan.tries == ()


def test_the_steps_of_an_episode_are_shown_once_it_is_in_memory():
    estimator, world = begun()
    steps = []
    for action in RING:
        valued(estimator, world.state(), world.valid())
        steps.append(go(estimator, world, action))
    episode = Episode("new", "game/grid", tuple(steps), world.state(), number=7, score=5.0)
    estimator.remembered(episode, 40)
    world = World()
    estimator.begin_episode(world.reset())
    found, _ = valued(estimator, world.state(), world.valid())
    assert {(hit.entry, hit.episode, hit.step, hit.action) for hit in found.hits} <= {
        (40 + n, 7, n, action) for n, action in enumerate(RING)
    }
    assert (43, 7, 3, 5.0) in {(hit.entry, hit.episode, hit.step, hit.gain) for hit in found.hits}


def test_an_episode_taken_back_counts_as_it_was_lived_in_the_end():
    estimator, world = begun()
    go(estimator, world, "north")
    estimator.begin_episode(world.reset())
    steps = [go(estimator, world, action) for action in RING]
    estimator.remembered(Episode("new", "game/grid", tuple(steps), world.state(), number=1), 0)
    estimator.begin_episode(world.reset())
    found, _ = valued(estimator, world.state(), world.valid())
    assert all(RING[hit.step] == hit.action for hit in found.hits)
    assert found.hits


def test_steps_that_were_forgotten_or_never_seen_are_no_hits_and_no_harm():
    coin, ring = live(World(), COIN, "a"), live(World(), RING, "b")
    nothing = dataclasses.replace(coin.steps[0].state, tokens=(), text="")
    gone = dataclasses.replace(coin.steps[1], state=nothing, action="", provenance="forgotten")
    coin = dataclasses.replace(coin, steps=(coin.steps[0], gone, coin.steps[2]))
    estimator, world = begun(coin, ring)
    found, _ = valued(estimator, world.state(), world.valid())
    assert (1, 1) not in {(hit.episode, hit.step) for hit in found.hits}
    assert [hit.action for hit in of_plan(found.hits)] == RING
    # One that somebody else lived: its situations are read when it comes.
    estimator.remembered(dataclasses.replace(coin, uid="c", number=9), 100)
    found, _ = valued(estimator, world.state(), world.valid())
    assert {hit.step for hit in found.hits if hit.episode == 9} <= {0, 2}


def test_neighbours_have_no_part_in_it():
    estimator, world = begun(live(World(), RING))
    assert estimator.neighbours(world.state()) == ()


# ------------------------------------------------------------------------------------------- sources


def in_place(*tokens):
    state = State("in the hall" * 40, tokens, place="hall")
    have = frozenset(token for token in tokens if token.startswith("have:"))
    return state, Situation("hall", have, frozenset(tokens) - have)


def kept(*lived):
    """Return the sources after episodes of one step each: (tokens, gain)."""
    sources = Sources(0.5)
    for number, (tokens, gain) in enumerate(lived, 1):
        step = Step(in_place(*tokens)[0], "pull", gain, gain)
        episode = Episode(f"u{number}", "", (step,), in_place("end")[0], number=number)
        sources.begin()
        sources.take(in_place(*tokens)[1])
        sources.remember(episode, number - 1)
    return sources


def best(sources, *tokens, gains=False) -> Neighbour:
    _, now = in_place(*tokens)
    found = sources.best(("hall", "pull"), ExpectedSituation(now.have, now.see, digest(tokens)), gains=gains)
    return found.hit


def test_the_step_of_the_same_situation_is_shown_else_the_latest():
    sources = kept((("a",), 0.0), (("b",), 0.0), (("c",), 0.0))
    assert best(sources, "b").episode == 2
    assert best(sources, "z").episode == 3
    assert sources.best(("hall", "push"), ExpectedSituation(frozenset(), None)) is None


def test_few_are_kept_and_one_that_gained_something_among_them():
    sources = kept((("a",), 4.0), *(((f"b{n}",), 0.0) for n in range(50)))
    assert len(sources._steps[("hall", "pull")]) == 3
    assert best(sources, "z", gains=True).gain == 4.0
    assert best(sources, "z").episode == 51
    assert len(sources._texts) == 1
    assert len(best(sources, "z").state) == 300


def test_how_alike_situations_are_is_the_jaccard_similarity_of_what_is_known():
    sources = kept((("a", "b", "have:x"), 0.0))
    (lived,) = sources._steps[("hall", "pull")]
    assert alike(lived, ExpectedSituation(lived.now.have, lived.now.see)) == 1.0
    assert alike(lived, ExpectedSituation(frozenset({"have:x"}), None)) == 1.0
    assert alike(lived, ExpectedSituation(frozenset(), frozenset({"a"}))) == pytest.approx(1 / 3)


# ------------------------------------------------------------------------------------- a shipped game


def check(hits, lived, now):
    """What is told of each step is what memory has of it; the plan's steps are in order, and come first."""
    for hit in hits:
        if not hit.episode:
            assert hit.entry == -1  # of the running episode
            continue
        entry, g, step = lived[(hit.episode, hit.step)]
        assert (hit.entry, hit.action, hit.gain) == (entry, step.action, step.env_reward)
        assert (hit.provenance, hit.g) == (step.provenance, pytest.approx(g))
        assert hit.state in (step.state.text, step.state.text[:299] + "…")
        if hit.ahead == 0 and step.state.tokens == now.tokens:
            assert hit.similarity == 1.0
    ahead = [hit.ahead for hit in hits]
    plan = len(of_plan(hits)) if hits else 0
    assert ahead[:plan] == sorted(set(ahead[:plan]))
    assert not any(ahead[plan:])
    # Nothing is done twice in a row.
    assert all(one.entry != two.entry or one.entry < 0 for one, two in itertools.pairwise(hits[:plan]))


def play(environment, estimator, uid, lived):
    """Play 25 steps; return the episode and how many hits were told on the way."""
    seen, abstractor = environment.reset(1), environment.abstractor()
    state, steps, outbox = abstractor.begin(seen), [], 0
    estimator.begin_episode(state)
    while not seen.over and len(steps) < 25:
        valid = environment.valid_actions()
        found, action = valued(estimator, state, valid, 25 - len(steps))
        check(found.hits, lived, state)
        if action in {step.action for _, _, step in lived.values() if step.state.tokens == state.tokens}:
            assert (found.hits[0].action, found.hits[0].similarity) == (action, 1.0)
        outbox += sum(hit.episode > 0 for hit in found.hits)
        before, score = state, seen.score
        seen = environment.step(action)
        state, gain = abstractor.advance(action, seen), seen.score - score
        steps.append(Step(before, action, gain, gain, seen.score, valid_actions=valid))
        estimator.observe(steps[-1], state, terminated=seen.terminated, lost=seen.outcome == "lost")
    return Episode(uid, "", tuple(steps), state, terminated=seen.terminated, outcome=seen.outcome), outbox


def test_hits_on_a_shipped_game_are_steps_that_are_in_memory(tmp_path):
    """Three episodes told as they come, then one by who reads them all from memory."""
    settings = profile("default")
    environment, counts = open_game("pantry"), []
    with Memory(tmp_path) as memory:
        scope = memory.scope(environment.info.scope)
        estimator = GraphEstimator(scope.entered(), settings)
        for number in range(4):
            if number == 3:
                estimator = GraphEstimator(scope.entered(), settings)
            lived = {}
            for first, episode in scope.entered():
                returns = jitrl.discounted_returns([step.reward for step in episode.steps], settings.gamma)
                for n, (step, g) in enumerate(zip(episode.steps, returns, strict=True)):
                    lived[(episode.number, n)] = (first + n, g, step)
            episode, told = play(environment, estimator, f"e{number}", lived)
            counts.append(told)
            scope.append(episode)
            estimator.remembered(scope.episode(episode.uid), len(lived))
    environment.close()
    assert counts[0] == 0
    assert min(counts[1:]) > 25
