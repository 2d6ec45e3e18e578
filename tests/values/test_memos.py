"""What is remembered of earlier answers is what would be answered anew: nothing of it may grow stale."""

from __future__ import annotations

import random

import pytest

from engine.values import conditions
from engine.values.experience import Experience
from engine.values.legs import Imagined
from engine.values.offers import Offers
from engine.values.progress import PlannerSettings, Progress
from engine.values.promises import Promises
from engine.values.routes import Router
from engine.values.situations import Situation
from engine.values.trails import Trails, TrailStep
from tests.bench.dungeons import Dungeon
from tests.values.test_detours import every


class Wanderer:
    """Somebody who walks at random through a dungeon, and several experiences of that."""

    def __init__(self, seed):
        self.dungeon, self._dice = Dungeon(seed), random.Random(seed)
        self.met = {}

    def walk(self, *experiences, steps=60):
        """Live through an episode."""
        for x in experiences:
            x.begin_episode()
        state = self.dungeon.reset()
        for _ in range(steps):
            valid = self.dungeon.valid()
            action = self._dice.choice(valid)
            after, reward = self.dungeon.step(action)
            for x in experiences:
                now, then = x.read(state), x.read(after)
                x.see(now, valid)
                x.learn(now, action, reward, then, terminated=self.dungeon.done, died=self.dungeon.died)
                self.met.setdefault(now.place, {})[(now.have, now.see)] = None
            state = after
            if self.dungeon.done:
                break


def answers(x, router, ready, met):
    """Return what is told of every action in situations met, and in what they look like with other things in hand."""
    told = {}
    for place, situations in met.items():
        latest = list(situations)[-3:]
        looks = [(have, see) for have, _ in latest for _, see in latest]
        for have, see in looks:
            for action in sorted(x.places[place].possible):
                told[(place, have, see, action)] = (
                    router.enable(Imagined(place, have, {place: see}), action, 2),
                    ready.of(place, have, see, action, 1.0, ahead=True, sought=False),
                )
    return told


@pytest.mark.parametrize("seed", range(4))
def test_who_asked_all_along_is_told_the_same_as_who_asks_for_the_first_time(seed, monkeypatch):
    monkeypatch.setattr(conditions, "_UNREAD", 1 << 30)  # nothing may wait to be read
    wanderer, asked = Wanderer(seed), Experience()
    router = Router(asked, PlannerSettings())
    ready = Offers(asked, router)
    fresh = Experience()
    for _ in range(5):
        wanderer.walk(asked, fresh)
        answers(asked, router, ready, wanderer.met)
    wanderer.walk(asked, fresh, steps=15)
    unasked = Router(fresh, PlannerSettings())
    expected = answers(fresh, unasked, Offers(fresh, unasked), wanderer.met)
    assert sum(told[0] is not None for told in expected.values()) > 100
    assert sum(bool(told[0] and told[0][0]) for told in expected.values()) > 10
    assert answers(asked, router, ready, wanderer.met) == expected


def offered(x, router, promises, met):
    """Return what is told of all that draws to places, with what was in hand there and elsewhere."""
    here, situations = next(iter(met.items()))
    have, see = list(situations)[-1]
    router.stand(Imagined(here, have, {here: see}), ())
    promises.think(Progress(), {})
    hands = [next(iter(situations))[0] for situations in met.values()]
    told = {}
    for draw in promises.draws:
        for _, see in list(met.get(draw.goal, ()))[:3]:
            for have in hands[-3:]:
                for ahead in (False, True):
                    told[(draw.goal, have, see, ahead)] = every(promises, draw.goal, have, see, ahead)
                told[(draw.goal, have)] = promises.brings(draw.goal, have), promises.opened(draw.goal, have)
    return told, promises.draws


@pytest.mark.parametrize("seed", range(4))
def test_what_can_be_tried_is_the_same_to_who_asked_all_along(seed, monkeypatch):
    monkeypatch.setattr(conditions, "_UNREAD", 1 << 30)  # nothing may wait to be read
    wanderer, settings = Wanderer(seed), PlannerSettings()
    asked, fresh = Experience(), Experience()
    router = Router(asked, settings)
    promises = Promises(asked, settings, router)
    for number in range(24):
        wanderer.walk(asked, fresh, steps=10 + 2 * number)
        found = offered(asked, router, promises, wanderer.met)
        unasked = Router(fresh, settings)
        assert found == offered(fresh, unasked, Promises(fresh, settings, unasked), wanderer.met)
    assert sum(bool(told) for told in found[0].values()) > 20


def step(place, action, then, reward=0.0, have=()):
    """Return a step from place to place."""
    now, after = (Situation(name, frozenset(have), frozenset()) for name in (place, then))
    return TrailStep(now, action, reward, after, died=False, terminated=False)


def test_a_trail_from_the_middle_is_as_sure_as_what_is_still_to_be_done():
    trails = Trails()
    for there in ("bank", "bank", "reef"):  # the boat does not always land where it did
        trails.add(step("lake", "row boat", there))
        trails.add(step(there, "north", "hill"))
        trails.add(step("hill", "dig", "hill", reward=5.0))
        trails.close()
    lake, bank = (Situation(name, frozenset(), frozenset()) for name in ("lake", "bank"))
    (begun,) = {trail.actions: trail for trail in trails.from_here(lake, 9, 9, ("row boat",))}.values()
    (later,) = {trail.actions: trail for trail in trails.from_here(bank, 9, 9, ("north",))}.values()
    assert later.sure > begun.sure
    assert later.actions == ("north", "dig")
