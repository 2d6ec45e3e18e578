"""What is remembered of earlier answers is what would be answered anew: nothing of it may grow stale."""

from __future__ import annotations

import random

import pytest

from engine.values.counts import Memo
from engine.values.model import WorldModel
from engine.values.paths import EpisodeProgress, ImaginedSituation, Paths, PlanTask
from engine.values.promises import Promises
from engine.values.text import Situation, situation
from engine.values.trails import TrailStep
from tests.bench.dungeons import Dungeon
from tests.values.planning import NUMBERS, WholeTrails


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
                now, then = situation(state), situation(after)
                x.see(now, valid)
                x.learn(now, action, reward, then, terminated=self.dungeon.done, died=self.dungeon.died)
                self.met.setdefault(now.place, {})[(now.have, now.see)] = None
            state = after
            if self.dungeon.done:
                break


def answers(x, memo, met):
    """Return what is told of every action in situations met, and in what they look like with other things in hand."""
    told = {}
    here, situations = next(iter(met.items()))
    have, see = list(situations)[-1]
    paths = Paths(x, NUMBERS, PlanTask(ImaginedSituation(here, have, {here: see}), 20, EpisodeProgress()), memo)
    offers = Promises(x, NUMBERS, paths)
    for place, situations in met.items():
        latest = list(situations)[-3:]
        for have, see in [(have, see) for have, _ in latest for _, see in latest]:
            at = paths.seen(ImaginedSituation(place, have, {place: see}))
            for action in sorted(x.places[place].preconditions):
                told[(place, have, see, action)] = (
                    paths.enable(at, action, 2),
                    offers.of(at, action, 1.0, sought=False),
                )
    return told, offers.promises


@pytest.mark.parametrize("seed", range(4))
def test_who_asked_all_along_is_told_the_same_as_who_asks_for_the_first_time(seed):
    wanderer, asked, fresh = Wanderer(seed), WorldModel(NUMBERS), WorldModel(NUMBERS)
    memo = Memo(1 << 15)
    for _ in range(5):
        wanderer.walk(asked, fresh)
        answers(asked, memo, wanderer.met)
    wanderer.walk(asked, fresh, steps=15)
    expected = answers(fresh, Memo(1 << 15), wanderer.met)
    enabled = [told[0] for told in expected[0].values()]
    assert sum(one is not None for one in enabled) > 100
    assert sum(bool(one and one.actions) for one in enabled) > 10
    assert answers(asked, memo, wanderer.met) == expected


def step(place, action, then, reward=0.0, have=()):
    """Return a step from place to place."""
    now, after = (Situation(name, frozenset(have), frozenset()) for name in (place, then))
    return TrailStep(now, action, reward, after, died=False, terminated=False)


def test_a_trail_from_the_middle_is_as_sure_as_what_is_still_to_be_done():
    trails = WholeTrails()
    for there in ("bank", "bank", "reef"):  # the boat does not always land where it did
        trails.add(step("lake", "row boat", there))
        trails.add(step(there, "north", "hill"))
        trails.add(step("hill", "dig", "hill", reward=5.0))
        trails.close()
    lake, bank = (Situation(name, frozenset(), frozenset()) for name in ("lake", "bank"))
    (begun,) = {trail.actions: trail for trail in trails.from_here(lake, 9, ("row boat",))}.values()
    (later,) = {trail.actions: trail for trail in trails.from_here(bank, 9, ("north",))}.values()
    assert later.sure > begun.sure
    assert later.actions == ("north", "dig")
