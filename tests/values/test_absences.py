"""What is gone from a place, against small worlds in which it is known what was carried off."""

from __future__ import annotations

from engine.records import State
from engine.values.absences import Absences
from engine.values.bringing import Bringing


def world(*in_hand):
    """Return what reads states of a world in which this was in hand at the shed."""
    bringing = Bringing()
    absences = Absences(bringing)
    for token in in_hand:
        bringing.see("shed", frozenset({token}), (), known=True, new=False)

    def read(*tokens):
        now = absences.read(State("", place="Cellar", tokens=("place:cellar#1", *tokens)))
        absences.see(now)
        return {token for token in now.see if token.startswith("gone:")}

    return read


def test_what_nobody_ever_carried_is_gone_when_it_is_not_there():
    read = world("have:axe")
    assert not read("see:troll axe bloody", "see:wall")
    assert read("see:wall") == {"gone:see:troll axe bloody"}  # an axe alone is no troll
    assert not read("see:wall", "see:troll axe bloody")
    assert read("see:wall", "see:axe") == {"gone:see:troll axe bloody"}


def test_what_is_in_something_goes_where_that_goes():
    read = world("have:bottle")
    assert not read("see:bottle", "see:water@bottle", "see:hinge@hatch")
    assert read() == {"gone:see:hinge@hatch"}


def test_what_was_carried_in_something_is_something_that_can_be_carried():
    read = world("have:water@bottle")
    assert not read("see:water", "see:hatch")
    assert read() == {"gone:see:hatch"}


def test_what_was_read_once_is_read_anew_when_more_was_seen_there():
    read = world()
    assert not read("see:hatch")
    assert not read("see:hatch")
    assert read("see:lever") == {"gone:see:hatch"}
    assert read("see:hatch") == {"gone:see:lever"}
