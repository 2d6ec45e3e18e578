"""What can be made at a place: told without doing it, against doing it in a small world."""

from __future__ import annotations

import itertools

import pytest

from engine.values.conditions import Conditions
from engine.values.experience import Experience
from engine.values.legs import Imagined
from engine.values.likeness import Likeness
from engine.values.makers import Makers
from engine.values.progress import PlannerSettings
from engine.values.routes import Router
from engine.values.situations import Situation

NONE: frozenset[str] = frozenset()
MOVES: frozenset[str] = frozenset()


def tokens(*names):
    return frozenset(names)


def attainable(makers, action, context, rounds, moves):
    return makers._attainable(action, makers._likeness.number(context), rounds, moves)


def test_who_takes_all_takes_what_is_there():
    possible = Conditions()
    makers = Makers(possible, Likeness())
    there, held = tokens("see:rope", "see:table"), tokens("have:rope", "see:table")
    possible.see(there, ("take all", "take rope"))
    possible.see(held, ("take all", "tie rope to table"))
    possible.see(tokens("see:table"), ("take all",))
    makers.add("have:rope", "take all", there)
    assert attainable(makers, "tie rope to table", there, 1, MOVES)
    assert not attainable(makers, "tie rope to table", tokens("see:table"), 3, MOVES)  # there is no rope
    assert list(makers.helpers(tokens("have:rope"), there, 0, MOVES)) == ["take all"]
    assert list(makers.helpers(tokens("have:rope"), tokens("see:table"), 2, MOVES)) == []
    # It lay elsewhere once: either will do.
    hung = tokens("see:rope@hook")
    makers.add("have:rope", "take all", hung)
    possible.see(hung, ("take all",))
    makers.forget()
    assert attainable(makers, "tie rope to table", tokens("see:rope@hook", "see:table"), 1, MOVES)


def test_what_came_out_of_nothing_of_its_kind_may_come_again():
    possible = Conditions()
    makers = Makers(possible, Likeness())
    possible.see(tokens("see:mailbox"), ("open mailbox",))
    possible.see(tokens("see:leaflet@mailbox"), ("read leaflet",))
    makers.add("see:leaflet@mailbox", "open mailbox", tokens("see:mailbox"))
    assert attainable(makers, "read leaflet", tokens("see:mailbox"), 1, MOVES)
    assert not attainable(makers, "read leaflet", tokens("see:mailbox"), 0, MOVES)
    makers.forget()
    assert not attainable(makers, "read leaflet", tokens("see:mailbox"), 1, frozenset({"open mailbox"}))


def chain(length: int) -> tuple[Experience, list[str], list[Situation]]:
    """Return an experience in which each thing is made of the one before: ore, bar, blade, sword."""
    names = ["ore", "bar", "blade", "sword", "key"][: length + 1]
    actions = [f"forge {name}" for name in names[1:]]
    x = Experience()
    at = [Situation("smithy", NONE, frozenset({f"see:{name}"})) for name in names]
    for before, action, after in zip(at, actions, at[1:], strict=False):
        x.see(before, (action, "wait"))
        x.learn(before, action, 0.0, after, terminated=False, died=False)
    x.see(at[-1], (f"use {names[-1]}", "wait"))
    x.begin_episode()
    return x, [*actions, f"use {names[-1]}"], at


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_nothing_is_told_to_be_out_of_reach_that_the_search_would_find(length):
    x, actions, at = chain(length)
    router = Router(x, PlannerSettings())
    everything = Router(x, PlannerSettings())
    everything._x = _Unpruned(x)  # type: ignore[assignment]
    found = 0
    for situation, action, depth in itertools.product(at, actions, (1, 2)):
        here = Imagined(situation.place, situation.have, {situation.place: situation.see})
        pruned = router.enable(here, action, depth)
        full = everything.enable(here, action, depth)
        assert (pruned and pruned[0]) == (full and full[0]), (situation, action, depth)
        found += bool(pruned and pruned[0])
    assert found


class _Unpruned:
    """An experience that lets the search try everything that ever made what is missing."""

    def __init__(self, x: Experience) -> None:
        self._x = x

    def __getattr__(self, name):
        return getattr(self._x, name)

    def helpers(self, place, needed, context, rounds):
        makers = self._x.places[place].makers
        made = {token: makers._made.get(makers._likeness.bit(token), ()) for token in needed}
        return dict.fromkeys(action for token in sorted(needed) for action in made[token])
