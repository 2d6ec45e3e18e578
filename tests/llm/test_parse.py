from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.llm.reading import parse

VALID = ["open mailbox", "go north", "take Lamp", "wait"]


def names(text):
    return [(o.action, o.confidence) for o in parse.options(text, VALID).options]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"option1": "open mailbox", "confidence1": 50}', [("open mailbox", 50)]),
        ('```json\n{"option1": "Open  MAILBOX", "confidence1": "70%",}\n```', [("open mailbox", 70)]),
        ("Sure!\n{'option1': 'go north', 'confidence1': 20}\nGood luck", [("go north", 20)]),
        ('{option1: "wait", confidence1: 150}', [("wait", 100)]),
        ('{"option1": "wait", "confidence1": -3}', [("wait", 0)]),
        ('{"option1": "wait", "confidence1": NaN}', [("wait", None)]),
        ('{"option1": "wait", "confidence1": 1e999}', [("wait", None)]),
        ('{"option1": "wait", "confidence1": true}', [("wait", None)]),
        ('{"option1": "wait", "confidence1": null}', [("wait", None)]),
        ('{"option1": "wait"}', [("wait", None)]),
        ('{"option_1": "wait", "confidence_1": 5.5}', [("wait", 5.5)]),
        ('{"option1": "\\"wait\\"", "confidence1": 9}', [("wait", 9)]),
        ('{"option1": "wait", "option2": "wait", "confidence2": 9}', [("wait", None)]),
        ('{"option1": "a \nline", "option2": "wait", "confidence2": 1', [("wait", None)]),
        ('{"option1": "wait", "confidence1": 40, "option2": "go north', [("wait", 40)]),
        ('{"option1": "wait", "confidence1": 40, "option2": "go north"', [("wait", 40), ("go north", None)]),
        ('{"option1": "wait", "confidence1": 40, "opti', [("wait", 40)]),
        ('{"option1": "wait", "confidence1": 40, "option2"', [("wait", 40)]),
        ('{"option1": "wait", "confidence1": 4', [("wait", None)]),
        ('{"option1": "wait", "confidence1": 4\\', [("wait", None)]),
        ('{"options": ["wait", "go north", "take la', [("wait", None), ("go north", None)]),
        (
            '{"options": [{"action": "wait", "confidence": 30}, {"action": "go north", "confidence": 3',
            [("wait", 30), ("go north", None)],
        ),
        ('{"option1": "wait", "confidence1": 40, "option2": "go nor', [("wait", 40)]),
        (
            '{"options": [{"action": "wait", "confidence": 3}, "take lamp"]}',
            [("wait", 3), ("take Lamp", None)],
        ),
        ('{"option1": "it\'s", /* no */ "option2": "wait", // yes\n "confidence2": 8}', [("wait", 8)]),
        ("nothing at all", []),
        ("", []),
        ('["wait"]', []),
        ('{"option1": null, "option2": 5, "option3": ["wait"]}', []),
        ("{" * 3000, []),
        ("[" * 100_000 + "{", []),
    ],
)
def test_options(text, expected):
    assert names(text) == expected


def test_what_is_no_valid_action_is_counted():
    read = parse.options('{"option1": "fly", "option2": "wait", "option3": "swim"}', VALID)
    assert [o.action for o in read.options] == ["wait"]
    assert read.dropped == 2
    assert read.readable
    assert not parse.options("I cannot", VALID).readable


def test_an_exact_match_beats_a_near_one():
    assert parse.match("Wait", ["wait", "Wait"]) == "Wait"
    assert parse.match("WAIT", ["wait", "Wait"]) == "wait"


@given(st.text(max_size=300))
def test_no_text_breaks_it(text):
    read = parse.options(text, VALID)
    assert all(o.action in VALID for o in read.options)
    parse.scores(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(
        ["option1", "confidence1", "options", "action", "step_analysis", "step", "score", "x"]), inner, max_size=5),
    max_leaves=15,
)  # fmt: skip


@given(st.dictionaries(st.text(max_size=12), JSON, max_size=6), st.integers(0, 400))
def test_whole_json_is_read_as_it_is_and_cut_json_does_no_harm(value, cut):
    text = json.dumps(value)
    whole = parse.json_object("Here: " + text)
    assert whole is not None
    assert json.dumps(whole) == text
    parse.options(text[:cut], VALID)
    parse.scores(text[:cut])


@given(st.lists(st.tuples(st.integers(-99, 99), st.sampled_from(VALID)), max_size=5), st.integers(0, 500))
def test_what_is_read_of_a_cut_answer_is_what_the_whole_one_says(rows, cut):
    steps = [{"step": t, "action": action, "score": score, "detailed_reasoning": "so, \"yes\""}
             for t, (score, action) in enumerate(rows)]  # fmt: skip
    text = json.dumps({"step_analysis": steps}, indent=1)
    whole = [row[:3] for row in parse.scores(text)]
    assert len(whole) == len(rows)
    read = [row[:3] for row in parse.scores(text[:cut])]
    assert read == whole[: len(read)]
    listed = json.dumps({f"{name}{i}": value for i, (score, action) in enumerate(rows)
                         for name, value in (("option", action), ("confidence", abs(score)))})  # fmt: skip
    told = {o.action: o.confidence for o in parse.options(listed, VALID).options}
    for option in parse.options(listed[:cut], VALID).options:
        assert option.confidence in (None, told[option.action])


def test_scores_need_numbers():
    text = json.dumps({"step_analysis": [
        {"step": 0, "action": "wait", "score": 5, "detailed_reasoning": "r"},
        {"step": "1", "action": "wait", "score": "-2.5"},
        {"step": 2, "action": "wait", "score": None},
        {"step": None, "action": "wait", "score": 1},
        {"step": 3, "action": "wait", "score": True},
        "nonsense",
    ]})  # fmt: skip
    assert parse.scores(text) == [(0, "wait", 5.0, "r"), (1, "wait", -2.5, "")]
