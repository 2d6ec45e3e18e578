"""Records survive the trip through JSON, and broken ones are refused."""

import dataclasses

import pytest

from engine.codec import event_from_line, event_to_line, from_plain, to_plain
from engine.errors import BadFile
from engine.records import Observation, State, Step, Stepped


def test_a_nested_record_comes_back_equal():
    step = Step(
        State("[State: lamp]", ("lamp", "see"), "h", ("h",)), "take lamp", 1.5, valid_actions=("a", "b")
    )
    assert from_plain(Step, to_plain(step)) == step


def test_an_event_comes_back_with_its_time():
    event = Stepped(1, 0, "north", Observation("You go north.", score=5.0), 5.0)
    assert event_from_line(event_to_line(event, 12.5)) == (12.5, event)


def test_unknown_fields_and_kinds_of_a_newer_version_are_passed_over():
    plain = to_plain(Observation("x")) | {"colour": "red"}
    assert from_plain(Observation, plain) == Observation("x")
    assert event_from_line('{"event":"Dreamt","at":1}') == (1.0, None)


@pytest.mark.parametrize(
    "bad", [{}, {"text": 3}, {"text": "x", "moves": "y"}, {"text": "x", "score": True}, []]
)
def test_wrong_types_are_refused(bad):
    with pytest.raises(BadFile):
        from_plain(Observation, bad)


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_numbers_must_be_finite(number):
    with pytest.raises(BadFile):
        to_plain(dataclasses.replace(Observation("x"), score=number))
