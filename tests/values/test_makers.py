"""What can be made at a place: told without doing it, against doing it in a small world."""

from __future__ import annotations

import itertools

import pytest

from engine.values.model import WorldModel
from engine.values.paths import ImaginedSituation
from engine.values.preconditions import Makers, Preconditions
from engine.values.text import Situation
from tests.values.planning import NUMBERS, new_model, standing

NONE: frozenset[str] = frozenset()
MOVES: frozenset[str] = frozenset()


def tokens(*names):
    return frozenset(names)


def test_who_takes_all_takes_what_is_there():
    possible = Preconditions(NUMBERS)
    makers = Makers(NUMBERS, possible, MOVES)
    there, held = tokens("see:rope", "see:table"), tokens("have:rope", "see:table")
    possible.see(there, ("take all", "take rope"))
    possible.see(held, ("take all", "tie rope to table"))
    possible.see(tokens("see:table"), ("take all",))
    makers.add("have:rope", "take all", there)
    assert list(makers.helpers(tokens("have:rope"), there, 0)) == ["take all"]
    assert list(makers.helpers(tokens("have:rope"), tokens("see:table"), 2)) == []
    # It lay elsewhere once: either will do.
    hung = tokens("see:rope@hook")
    makers.add("have:rope", "take all", hung)
    possible.see(hung, ("take all",))
    assert list(makers.helpers(tokens("have:rope"), hung, 0)) == ["take all"]


def test_what_came_out_of_nothing_of_its_kind_may_come_again():
    possible, moves = Preconditions(NUMBERS), set[str]()
    makers = Makers(NUMBERS, possible, moves)
    possible.see(tokens("see:mailbox"), ("open mailbox",))
    possible.see(tokens("see:leaflet@mailbox"), ("take leaflet",))
    makers.add("see:leaflet@mailbox", "open mailbox", tokens("see:mailbox"))
    makers.add("have:leaflet", "take leaflet", tokens("see:leaflet@mailbox"))
    assert list(makers.helpers(tokens("have:leaflet"), tokens("see:mailbox"), 1)) == ["take leaflet"]
    assert list(makers.helpers(tokens("have:leaflet"), tokens("see:mailbox"), 0)) == []
    moves.add("open mailbox")  # it leads elsewhere, and helps with nothing here
    assert list(makers.helpers(tokens("have:leaflet"), tokens("see:mailbox"), 1)) == []


def chain(length: int) -> tuple[WorldModel, list[str], list[Situation]]:
    """Return an experience in which each thing is made of the one before: ore, bar, blade, sword."""
    names = ["ore", "bar", "blade", "sword", "key"][: length + 1]
    actions = [f"forge {name}" for name in names[1:]]
    x = new_model()
    at = [Situation("smithy", NONE, frozenset({f"see:{name}"})) for name in names]
    for before, action, after in zip(at, actions, at[1:], strict=False):
        x.see(before, (action, "wait"))
        x.learn(before, action, 0.0, after, terminated=False, died=False)
    x.see(at[-1], (f"use {names[-1]}", "wait"))
    x.begin_episode()
    return x, [*actions, f"use {names[-1]}"], at


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_nothing_is_told_to_be_out_of_reach_that_the_search_would_find(length, monkeypatch):
    x, actions, at = chain(length)
    elsewhere, found = ImaginedSituation("yard", NONE, {}), 0
    for situation, action, depth in itertools.product(at, actions, (1, 2)):
        pruned = standing(x, elsewhere).enable(situation, action, depth)
        with monkeypatch.context() as patch:
            # Everything that ever made what is missing is tried.
            patch.setattr(Makers, "_makes", lambda self, action, *asked: action not in x.moves)
            full = standing(x, elsewhere).enable(situation, action, depth)
        assert (pruned and pruned[0]) == (full and full[0]), (situation, action, depth)
        found += bool(pruned and pruned[0])
    assert found
