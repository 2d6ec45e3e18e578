"""Whatever a model writes is read in time and memory that grow with its length, and raises nothing."""

from __future__ import annotations

import json
import math
import signal
import time
import tracemalloc
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.llm.reading import lenient, parse
from tests.examples import most
from tests.growth import is_linear

VALID = ["open mailbox", "go north", "take Lamp", "wait"]

# (what comes first, what is repeated, what comes last)
HOSTILE = {
    "objects that open": ("", '{"a":', ""),
    "braces": ("", "{", ""),
    "braces and spaces": ("", "{ \n", ""),
    "empty objects": ("", "{}", ""),
    "prose in braces": ("", "{x}", ""),
    "small objects": ("", "{a:b}", ""),
    "objects and lists that open": ("", '{"a":[', ""),
    "lists that open": ('{"a":', "[", ""),
    "lists as deep as may be": ('{"a":[', "[" * 60 + "]" * 60 + ",", ""),
    "empty lists": ('{"a":[', "[],", "]}"),
    "quotes without end": ("", '{a "', ""),
    "escaped quotes": ("", '{a "\\"', ""),
    "single quotes without end": ("", "{'", ""),
    "single quotes that fit nowhere": ("", "{a 'x", ""),
    "single quotes in single quotes": ("{", "' ", ""),
    "single quotes and line breaks": ("", "{'\n\n\n", ""),
    "comments without end": ("", "{a /*", ""),
    "stars": ("{/*", "* /", ""),
    "slashes": ("{", "/", ""),
    "line comments": ("", "{//\n", ""),
    "fences": ("", "{```", ""),
    "backslashes": ('{"a":"', "\\", ""),
    "escapes that JSON does not know": ('{"a":"', "\\x", '"}'),
    "short strings with such escapes": ('{"a":[', '"\\x",', "]}"),
    "digits": ('{"a":', "9", "}"),
    "decimals": ('{"a":0.', "9", "}"),
    "half surrogate pairs": ('{"a":["', '\ud800","', '"]}'),
    "spaces": ("{", " ", ""),
    "commas": ("{", ",", ""),
    "numbers": ('{"a":[', "1,", "]}"),
    "options": ("{", '"option1":"wait","confidence1":1,', "}"),
}  # fmt: skip


def hostile(name, length):
    first, again, last = HOSTILE[name]
    return first + (again * (length // len(again) + 1))[:length] + last


@pytest.mark.parametrize("name", HOSTILE)
def test_time_grows_with_the_length_alone(name):
    texts = {length: hostile(name, length) for length in (10_000, 100_000)}
    assert is_linear(lambda length: parse.json_object(texts[length]), 10_000)


@pytest.mark.parametrize("name", ["objects that open", "lists as deep as may be"])
def test_memory_is_bounded(name):
    text = hostile(name, 30_000)
    tracemalloc.start()
    try:
        parse.json_object(text)
        assert tracemalloc.get_traced_memory()[1] < 200 * len(text)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_raises_and_all_can_be_written_down(name):
    text = hostile(name, 5_000)
    json.dumps(parse.json_object(text), ensure_ascii=False).encode()
    assert all(o.action in VALID for o in parse.options(text, VALID).options)
    parse.scores(text)


class Rang(Exception):
    pass


@pytest.mark.parametrize(
    "name", ["braces", "objects that open", "digits", "escapes that JSON does not know", "spaces"]
)
def test_signals_are_answered_meanwhile(name):
    def rang(*_):
        raise Rang

    text = hostile(name, lenient.LONGEST_REPLY)
    before = signal.signal(signal.SIGPROF, rang)
    start = time.process_time()  # and the timer too: others may be at work on the machine
    try:
        with pytest.raises(Rang):  # noqa: PT012 the reading may be over before it rings
            signal.setitimer(signal.ITIMER_PROF, 0.02)
            while time.process_time() < start + 10:
                parse.json_object(text)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    assert time.process_time() - start < 2


def test_nothing_is_read_when_the_time_is_over():
    text = json.dumps({"option1": "wait", "step_analysis": [{"step": 0, "action": "wait", "score": 1}]})
    over = time.monotonic() - 1
    assert parse.json_object(text, until=over) is None
    assert parse.options(text, VALID, until=over) == parse.ProposedActions((), readable=False)
    assert parse.scores(text, until=over) == []
    later = time.monotonic() + 60
    assert parse.json_object(text, until=later) == json.loads(text)
    assert len(parse.scores(text, until=later)) == 1


def test_the_clock_is_looked_at_while_reading(monkeypatch):
    now = iter(range(1000))
    monkeypatch.setattr(lenient, "time", SimpleNamespace(monotonic=lambda: next(now)))
    assert parse.json_object(hostile("numbers", 100_000), until=5) is None
    assert next(now) == 7


def test_what_is_beyond_the_longest_reply_is_not_looked_at():
    assert parse.json_object(" " * lenient.LONGEST_REPLY + '{"a": 1}') is None
    cut = parse.json_object('{"a": "b", "c": "' + "x" * lenient.LONGEST_REPLY + '"}')
    assert cut == {"a": "b"}


PIECES = st.sampled_from([
    "{", "}", "[", "]", ",", ":", '"', "'", "\\", "\\u", "\\ud83d", "\\'", "/", "//", "/*", "*/", "```", "`", "\n", " ",
    "\0", "\ud800", "\udc00", "é", "😀", "true", "None", "NaN", "-Infinity", "1e400", "9" * 400, "-", ".", "1", "0.5",
    "+", "option1", "confidence1", "options", "best_action", "step_analysis", "step", "score", "wait", '"option1":',
    '"a":', "{" * 70, '{"a":[' * 40, "]}" * 40, "option9999999999999999999999",
])  # fmt: skip


@settings(max_examples=most(400), deadline=None)
@given(st.lists(PIECES, max_size=40).map("".join))
def test_no_pieces_of_json_break_it(text):
    found = parse.json_object(text)
    if found is not None:
        json.dumps(found, ensure_ascii=False).encode()
    read = parse.options(text, VALID)
    assert all(o.action in VALID for o in read.options)
    assert read.best in ("", *(o.action for o in read.options))
    assert all(math.isfinite(score) for _, _, score, _ in parse.scores(text))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=20,
)
PROSE = st.text(st.characters(exclude_characters="{", exclude_categories=["Cs"]), max_size=30)


@settings(deadline=None)
@given(st.dictionaries(st.text(), VALUES, min_size=1, max_size=5), PROSE, st.text(max_size=30), st.booleans(),
       st.sampled_from([None, 1]), st.booleans())  # fmt: skip
def test_json_in_prose_is_read_as_it_is(value, before, after, fence, indent, ascii_only):
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    text = f"```json\n{text}\n```" if fence else text
    assert parse.json_object(before + text + after) == value


@settings(deadline=None)
@given(st.dictionaries(st.text(), st.text() | st.integers() | st.floats(allow_nan=False), min_size=1, max_size=5),
       st.integers(0, 300))  # fmt: skip
def test_a_cut_object_holds_whole_values_only(value, cut):
    found = parse.json_object(json.dumps(value)[:cut]) or {}
    assert list(found.items()) == list(value.items())[: len(found)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{} {"a": 1}', {"a": 1}),
        ('In {name} and {}: {"a": 1} {"b": 2}', {"a": 1}),
        ("{}", {}),
        ('{it said "no {"a": 1}', {"a": 1}),
        ("{name}", None),
        ('{"a": [1, 2}', None),
        ('{"a": go north}', None),
        ('{"a": "x" "b": 1}', None),
        ('{"a": "it\\\'s", "b": "50\\%", "c": "\\d"}', {"a": "it's", "b": "50%", "c": "\\d"}),
        ("{'a': 'it's \"so\"', 'b': 'x\\ny'}", {"a": 'it\'s "so"', "b": "x\ny"}),
        ('{"a": +5, "b": .5, "c": 5., "d": 007, "e": 70%}', {"a": 5, "b": 0.5, "c": 5.0, "d": 7, "e": "70%"}),
        ('{"a": 1, "a": 2}', {"a": 2}),
        ('{"a": "x\0y", \'b\': None}', {"a": "x\0y", "b": None}),
        ('{"a": "\\ud83d\\ude00", "b": "\\ud83d"}', {"a": "😀", "b": "�"}),
        ('{"a": "\ud83d\ude00\udc00"}', {"a": "😀�"}),
        ('{"a": 1e400, "b": -Infinity}', {"a": math.inf, "b": -math.inf}),
        ('{"a": ' + "9" * 5000 + ', "b": ' + "9" * 300 + "}", {"a": None, "b": int("9" * 300)}),
        ('{"a": ' * 64 + "1" + "}" * 64, json.loads('{"a": ' * 64 + "1" + "}" * 64)),
        ('{"a": ' * 70 + "}" * 70 + ' {"b": 1}', {"b": 1}),
        ('```json\n{"a": "x", "b": 40\n```\nIs that all right?', {"a": "x", "b": 40}),
        ('{"a": [1, 2], "b": {"c": 3', {"a": [1, 2], "b": {}}),
        ('{"a": [1, 2]', {"a": [1, 2]}),
        ('{"a": "x", "b": wai', {"a": "x"}),
        ('{"a": "x", "b": go ', {"a": "x"}),
        ("{'a': 'x', 'b': 'it'", {"a": "x"}),
        ('{"a": "x", // so', {"a": "x"}),
        ('{"a": "x", /* so', {"a": "x"}),
    ],
)  # fmt: skip
def test_what_is_mended_and_what_is_not(text, expected):
    assert parse.json_object(text) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1e400", None), ("NaN", None), ("-inf", None), ("", None), ("none", None), ("9" * 100_000, None),
        ([50], None), ({"a": 50}, None), (True, None), (None, None), (math.nan, None), (-math.inf, None),
        (10**400, None), (-(10**400), None), ("about 70 %", 70), ("-3", 0), ("1e1", 10), (".5", 0.5), (10**300, 100),
        ("x" * 2000 + "75", 75), ("٣", None),
    ],
)  # fmt: skip
def test_confidences(value, expected):
    assert parse.number(value) == expected


@pytest.mark.parametrize(
    ("step", "score", "kept"),
    [
        ("3", "+2.5", True), (" -3 ", "1e2", True), (3, 10**200, True),
        ("²", 1, False), ("--5", 1, False), ("9" * 10_000, 1, False), (10**200, 1, False), (1.5, 1, False),
        ([1], 1, False), (1, "1e400", False), (1, "nan", False), (1, "1_0", False), (1, "9" * 10_000, False),
        (1, [1], False), (1, {}, False),
    ],
)  # fmt: skip
def test_steps_and_their_scores(step, score, kept):
    text = json.dumps({"step_analysis": [{"step": step, "action": None, "score": score}, 5, None, [[]]]})
    assert len(parse.scores(text)) == kept


def test_no_more_than_so_many_options_are_looked_at():
    many = json.dumps({f"option{i}": "fly" for i in range(1, 5001)})
    assert parse.options(many, VALID).dropped == parse.MOST_ROWS
    listed = json.dumps({"options": ["fly"] * 5000})
    assert parse.options(listed, VALID).dropped == parse.MOST_ROWS


def test_options_know_their_numbers():
    read = parse.options(
        '{"option2": "wait", "option_7": "go north", "option99999999999": "take lamp"}', VALID
    )
    assert [(o.action, o.number) for o in read.options] == [
        ("wait", 2),
        ("go north", 7),
        ("take Lamp", 99999999999),
    ]
    listed = parse.options('{"options": ["fly", "wait", "wait", "go north"]}', VALID)
    assert [(o.action, o.number) for o in listed.options] == [("wait", 2), ("go north", 4)]
    assert not parse.options(json.dumps({"option" + "9" * 10_000: "wait"}), VALID).options


@pytest.mark.parametrize(
    ("best", "expected"),
    [
        (2, "go north"), (2.0, "go north"), ("2", "go north"), ("option2", "go north"), ("Option 2", "go north"),
        ("option_2: go north", "go north"), ("2.", "go north"), ("GO  NORTH", "go north"), (4, "wait"),
        (1, "wait"), (3, ""), (9, ""), (0, ""), (-2, ""), (2.5, ""), ("2.5", ""), (None, ""), (True, ""), ([2], ""),
        ("take lamp", ""), ("fly", ""), (math.nan, ""), (math.inf, ""), (10**200, ""), ("9" * 10_000, ""), ({}, ""),
    ],
)  # fmt: skip
def test_the_option_called_best(best, expected):
    options = {"option1": "wait", "option2": "Go north", "option3": "fly", "option4": "wait"}
    read = parse.options(json.dumps(options | {"best_action": best}), VALID)
    assert read.best == expected
    assert parse.options(json.dumps(options), VALID).best == ""


def test_the_best_is_read_as_options_are():
    text = '{"option1": "CLICK(a)", "best_action": "CLICK(a)"}'
    assert (
        parse.options(text, VALID, accept=lambda raw: raw.lower() if "(" in raw else None).best == "click(a)"
    )
    assert parse.options(text.replace('"CLICK(a)"}', '"no"}'), VALID, accept=lambda raw: None).best == ""


def test_the_first_object_with_options_counts():
    read = parse.options('In {place: here}: {"option1": "wait"} {"option1": "go north"}', VALID)
    assert [o.action for o in read.options] == ["wait"]
    rows = parse.scores('{a: b} {"step_analysis": [{"step": 0, "score": 1}]}')
    assert rows == [(0, "", 1.0, "")]
