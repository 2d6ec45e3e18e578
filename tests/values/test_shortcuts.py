"""What spares work, against the whole work done anew: the same must come of it."""

from __future__ import annotations

import random

import pytest

from engine.values.counts import jaccard
from engine.values.hazards import _Risk
from engine.values.paths import ImaginedSituation
from engine.values.preconditions import Preconditions
from engine.values.text import Situation, situation
from engine.values.trails import TrailStep
from tests.bench.dungeons import Dungeon
from tests.values.planning import NUMBERS, new_model, standing

WORDS = [f"see:{letter}" for letter in "abcdefghijkl"]


def some(dice, most=6):
    return frozenset(dice.sample(WORDS, dice.randint(0, most)))


@pytest.mark.parametrize("seed", range(3))
def test_likeness_is_the_share_of_tokens_in_common(seed):
    dice = random.Random(seed)
    for _ in range(200):
        one, other = some(dice), some(dice)
        assert jaccard(one, other) == (len(one & other) / len(one | other) if one | other else 1.0)


@pytest.mark.parametrize("seed", range(3))
def test_a_risk_is_the_lowest_that_holds_with_anything_there(seed):
    dice, risk, steps = random.Random(seed), _Risk(NUMBERS), []
    for _ in range(60):
        context, died = some(dice), dice.random() < 0.3
        risk.add(died, context)
        steps.append((context, died))
        share = sum(died for _, died in steps) / (len(steps) + 2.0)
        asked = some(dice) | {"see:never there"} if dice.random() < 0.2 else some(dice)
        rates = [share]
        for token in asked:
            deaths = [died for context, died in steps if token in context]
            rates.append((sum(deaths) + share) / (len(deaths) + 1.0) if deaths else 0.5 * share)
        assert risk.share(asked) == pytest.approx(min(rates) if any(died for _, died in steps) else 0.0)


def test_what_actions_need_is_told_as_if_asked_for_the_first_time():
    dice, asked, met = random.Random(5), Preconditions(NUMBERS), []
    for number in range(60):
        there = {"see:hall", *(["see:key"] if dice.random() < 0.5 else []), f"see:{number % 7}"}
        met.append((frozenset(there), ("take key", "go") if "see:key" in there and number % 5 else ("go",)))
        asked.see(*met[-1])
        fresh = Preconditions(NUMBERS)
        for one in met:
            fresh.see(*one)
        for action in ("take key", "go"):
            assert asked.needs(action) == fresh.needs(action)
            for context, _ in met:
                assert asked.chance(action, context) == fresh.chance(action, context)
                more = context | {"see:dust"}
                assert asked.chance(action, more) == fresh.chance(action, more)
                assert asked.missing(action, more) == fresh.missing(action, more)
    assert asked.needs("take key") == (frozenset({"see:key"}),)


def test_what_was_said_of_just_a_situation_that_turns_out_otherwise_is_not_said_any_more():
    conditions = Preconditions(NUMBERS)
    for number in range(64):
        there = {"see:wheel", f"see:{number}"}
        conditions.see(frozenset(there), ("go",))
        conditions.see(frozenset(there | {"see:oil"}), ("turn wheel", "go"))
    now = frozenset({"see:wheel", "see:oil", "see:rust"})
    assert not conditions.missing("turn wheel", now)
    assert conditions.chance("turn wheel", now) > 0.5
    assert not conditions.see(now, ("go",))
    assert conditions.chance("turn wheel", now) == 0.0


class Explorer:
    """Somebody who walks at random through a dungeon, and what came of it."""

    def __init__(self, seed, episodes=6):
        self.x, self.episodes, dice = new_model(), [], random.Random(seed)
        dungeon = Dungeon(seed)
        for _ in range(episodes):
            self.x.begin_episode()
            state, steps = dungeon.reset(), []
            for _ in range(60):
                valid = dungeon.valid()
                action = dice.choice(valid)
                after, reward = dungeon.step(action)
                now, then = situation(state), situation(after)
                self.x.see(now, valid)
                self.x.learn(now, action, reward, then, terminated=dungeon.done, died=dungeon.died)
                steps.append(TrailStep(now, action, reward, then, dungeon.died, dungeon.done))
                state = after
                if dungeon.done:
                    break
            self.episodes.append(steps)


@pytest.mark.parametrize("seed", range(4))
def test_ways_are_as_short_as_those_found_by_looking_at_every_move(seed):
    explorer = Explorer(seed, episodes=8)
    x, compared = explorer.x, 0
    start = explorer.episodes[-1][0].now
    valid = tuple(action for action in x.places[start.place].preconditions if action in x.moves)
    here = ImaginedSituation(start.place, start.have, {start.place: start.see})
    router = standing(x, here, valid)
    found = router.reach(here, 12.0)
    # Bellman and Ford: every move of every place reached, as long as anything gets cheaper.
    costs, at = {start.place: 0.0}, {start.place: here}
    for _ in range(len(x.places)):
        for place in list(costs):
            for action, _ in x.exits(place):
                opened = router.enable(router.seen(at[place]), action, 1)
                if opened is None:
                    continue
                outcome = x.outcome((place, action), opened.at.context)
                if outcome is None or not outcome.occasion.moved or outcome.death > 0.98:
                    continue
                cost = costs[place] + len(opened.actions) + 1.0 / (outcome.success * opened.sure)
                there = outcome.occasion.place
                if cost <= 12.0 and cost < costs.get(there, 13.0) - 1e-9:
                    costs[there], at[there] = cost, ImaginedSituation(
                        there, opened.at.have, opened.after(at[place]).world
                    )
    for place, reached in found.items():
        assert reached.cost == pytest.approx(costs[place])
        compared += 1
    assert set(found) == set(costs)
    assert compared > 3


def test_a_way_that_hangs_on_something_is_taken_where_it_is_cheaper_and_none_is_longer_than_asked():
    x = new_model()
    a, b, c, d = (Situation(name, frozenset(), frozenset({f"see:{name}"})) for name in "abcd")
    gate = Situation("b", frozenset(), frozenset({"see:b", "see:open gate"}))

    def did(now, action, then, *possible):
        x.see(now, (action, *possible))
        x.learn(now, action, 0.0, then, terminated=False, died=False)

    for _ in range(3):
        did(a, "jump", a, "east")
    did(a, "jump", c, "east")  # mostly in vain
    did(a, "east", gate, "jump")
    did(gate, "through", c)
    x.see(b, ("wait",))  # with the gate shut there is no way through
    did(c, "east", d)
    here = ImaginedSituation("a", frozenset(), {"a": a.see, "b": gate.see})
    router = standing(x, here, ("jump", "east"))
    assert router.reach(here, 2.0).keys() == {"a", "b", "c"}
    assert router.reach(here, 3.0)["d"].cost == pytest.approx(3.0, abs=0.5)
    assert router.reach(here, 3.0)["c"].actions == ("east", "through")
