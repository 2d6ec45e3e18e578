"""How luck is told."""

from __future__ import annotations

from engine.values.text import Situation
from engine.values.trails import TrailStep
from tests.values.planning import WholeTrails

NONE = frozenset()
AWAKE = frozenset({"see:troll"})
WAYS = ("east", "south")
HALL, FREE = Situation("hall", NONE, AWAKE), Situation("hall", NONE, NONE)


def test_luck_is_told_by_what_the_game_said_not_by_how_it_was_read():
    start, missed = Situation("hall", NONE, AWAKE), Situation("hall", NONE, AWAKE | {"gone:see:rug"})
    for read_alike, same in ((True, True), (False, True), (True, False)):
        trails = WholeTrails()
        for episode in range(6):
            then = start if read_alike or not episode % 2 else missed
            trails.add(TrailStep(start, "hit", 0.0, then, False, False), state_digest=1 if same else episode)
            trails.add(TrailStep(start, "dig", 5.0, start, False, False), state_digest=2)
            trails.close()
            # Something else came of it once more, in another episode: it is a matter of luck.
            trails.add(TrailStep(start, "wait", 0.0, start, False, False), state_digest=3)
            trails.add(TrailStep(start, "hit", -3.0, start, False, False), state_digest=4)
            trails.close()
        found = trails.from_here(start, 9, ("hit",))
        sure = max(trail.repeat_probability for trail in found)
        assert sure > 0.85 if same else sure < 0.7, (read_alike, same)


def test_doing_all_the_same_again_proves_nothing_about_doing_a_part_of_it():
    trails = WholeTrails()
    trails.add(TrailStep(HALL, "wait", 0.0, HALL, False, False))
    trails.add(TrailStep(HALL, "hit troll", 0.0, HALL, False, False))  # in vain
    trails.close()
    for _ in range(8):
        trails.add(TrailStep(HALL, "hit troll", 0.0, FREE, False, False))
        trails.add(TrailStep(FREE, "take gold", 5.0, FREE, False, False))
        trails.close()
    trails.add(TrailStep(FREE, "wait", 0.0, HALL, False, False))
    (trail,) = trails.from_here(HALL, 9, ("hit troll",))
    assert trail.sure < 0.6
