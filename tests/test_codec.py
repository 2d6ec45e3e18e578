"""Records survive the trip through JSON, and broken ones are refused."""

import dataclasses
import json

import pytest

from engine import limits
from engine.codec import event_from_line, event_to_line, from_plain, to_plain
from engine.errors import BadFile
from engine.records import (
    Basis,
    BasisItem,
    Decision,
    Observation,
    State,
    Step,
    Stepped,
    UnknownPart,
    Update,
    Valuation,
)


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


@pytest.mark.parametrize(
    "bad", [{"tokens": "abc"}, {"tokens": None}, {"tokens": {"a": "b"}}, {"tokens": ["a", 1]}, {"place": None}]
)
def test_wrong_types_in_lists_are_refused(bad):
    with pytest.raises(BadFile):
        from_plain(State, {"text": "x", "tokens": ["a"]} | bad)
    with pytest.raises(BadFile):
        to_plain(State(**{"text": "x", "tokens": ("a",)} | bad))


@pytest.mark.parametrize("text", ["half a pair: \ud800", "x" * (limits.LONGEST_TEXT + 1)], ids=["surrogate", "long"])
def test_texts_must_have_a_utf_8_and_an_end(text):
    with pytest.raises(BadFile):
        to_plain(Observation(text))
    with pytest.raises(BadFile):
        from_plain(Observation, {"text": text})


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_numbers_must_be_finite(number):
    with pytest.raises(BadFile):
        to_plain(dataclasses.replace(Observation("x"), score=number))


# ----------------------------------------------------------------------------------- parts of a decision

STATE = {"text": "[Hall: lamp]", "tokens": ["lamp"]}
PLAIN = {"step": 2, "state": STATE, "valid_actions": ["go", "wait"], "chosen": 0, "action": "go", "prior": [0.4, 0.6],
         "posterior": [0.9, 0.1], "candidates": [{"action": "go", "z": 0.0}, {"action": "wait", "z": 0.0}]}  # fmt: skip
VALUES = {"valuation": {"v": 1.0, "q": [2.0, 0.0], "n": [1, 0], "how": ["known", "neutral"]},
          "neighbours": [], "advantage": [1.0, -1.0], "advantage_normalised": [1.0, -1.0],
          "z_prime": [2.0, -2.0]}  # fmt: skip


def decided(**more):
    line = json.dumps({"event": "Decided", "at": 3.0, "episode": 1, "decision": {**PLAIN, **more}})
    _, event = event_from_line(line)
    return event.decision


def test_a_decision_as_earlier_versions_wrote_it_has_its_update_as_a_part():
    before = decided(**VALUES, beta=2.0, without_memory="wait", equation="z' = ...", why="So.", note="n")
    update = Update((), Valuation(1.0, (2.0, 0.0), (1, 0), ("known", "neutral")), (1.0, -1.0), (1.0, -1.0),
                    (2.0, -2.0), 2.0, "wait", "z' = ...")  # fmt: skip
    assert before.parts == (update,)
    assert (before.why, before.note, before.posterior, before.changed) == ("So.", "n", (0.9, 0.1), True)
    assert decided(parts=[{"part": "Update", **VALUES, "beta": 2.0, "without_memory": "wait", "equation": "z' = ..."}],
                   why="So.", note="n") == before  # fmt: skip


def test_an_earlier_decision_that_is_damaged_is_refused():
    with pytest.raises(BadFile, match=r"Update\.z_prime is missing"):
        decided(**{name: value for name, value in VALUES.items() if name != "z_prime"})


def test_parts_carry_their_kind_and_those_of_an_unknown_kind_are_kept_as_they_are():
    parts = [{"part": "Basis", "kind": "k", "title": "T", "items": [{"text": "x", "origin": "o"}], "columns": {}},
             {"part": "Dream", "of": {"sheep": [1, 2.5, None]}}]  # fmt: skip
    made = decided(parts=parts)
    assert made.parts == (
        Basis("k", "T", (BasisItem("x", "o"),)),
        UnknownPart("Dream", {"of": {"sheep": [1, 2.5, None]}}),
    )
    assert (made.update, made.changed) == (None, False)
    again = to_plain(made)["parts"]
    assert again[1] == parts[1]
    assert from_plain(Decision, to_plain(made)) == made


@pytest.mark.parametrize("part", [3, {}, {"part": 3}, {"part": "Basis"}, {"part": "Update", "neighbours": []}])
def test_a_part_that_is_broken_is_refused(part):
    with pytest.raises(BadFile):
        decided(parts=[part])
