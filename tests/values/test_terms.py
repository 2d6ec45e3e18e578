"""What candidates are worth against a plan, and where nothing is worth one."""

from __future__ import annotations

from collections import Counter

import pytest

from engine.values.paths import EpisodeProgress, ImaginedSituation
from engine.values.plans import NOTHING, Terms
from engine.values.text import Situation
from tests.values.planning import NUMBERS, new_model, standing

HALL = Situation("hall", frozenset(), frozenset())
HERE = ImaginedSituation("hall", frozenset(), {})


def discovery(model, progress=None) -> float:
    paths = standing(model, HERE, ("sing",), progress=progress)
    return Terms(model, NUMBERS, NOTHING, 0.0, paths).of("sing", HALL)[1]


def test_what_was_tried_in_this_episode_promises_less():
    model = new_model()
    model.see(HALL, ("sing",))
    found = [discovery(model, EpisodeProgress(tried=Counter({("hall", "sing"): n}))) for n in (0, 1)]
    assert found == [model.novelty(("hall", "sing"), 1.0, {}), found[0] / 2]


def test_what_was_done_least_in_a_situation_promises_most():
    model, found = new_model(), []
    model.see(HALL, ("sing",))
    for _ in range(3):
        model.learn(HALL, "sing", 0.0, HALL, terminated=False, died=False)
        found.append(discovery(model))
    assert found == pytest.approx([1 / 2, 1 / 3, 1 / 4])
