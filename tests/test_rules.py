"""Breakpoints as texts and as functions, and the file of standing orders."""

from __future__ import annotations

import dataclasses
import math
import os

import numpy as np
import pytest

from engine.errors import BadFile, UsageError
from engine.records import Candidate, Decision, Observation, State, Update, Valuation
from engine.session import orders, rules
from engine.session.orders import ALWAYS, BREAKPOINTS, Orders
from engine.session.rules import Rule, parse
from engine.session.steer import without
from tests.growth import is_linear


def decision(policy=(0.5, 0.25, 0.25), chosen=0, step=3, risk=(0.0, -2.0, 0.0), without_memory="b"):
    count = len(policy)
    zeros = (0.0,) * count
    valuation = Valuation(0.0, zeros, (0,) * count, ("known",) * count, terms={"gain": zeros, "risk": risk})
    update = Update((), valuation, zeros, zeros, tuple(map(math.log, policy)), without_memory=without_memory)
    candidates = tuple(Candidate(name, 0.0) for name in "abc"[:count])
    return Decision(
        step, State("[s]", ("s",)), ("a", "b", "c", "d"), candidates, (0.2, 0.5, 0.3)[:count], tuple(policy), chosen,
        "abc"[chosen], parts=(update,),
    )  # fmt: skip


SEEN = Observation("You see\n  a lurking GRUE here.", place="Cellar", score=5.0)


@pytest.mark.parametrize(
    "text",
    ["score", "new-place", "disagree", "entropy>1.2", "danger>0.3", "text:a grue", "command:take *", "episode=5"],
)
def test_a_rule_is_written_as_it_is_read(text):
    assert str(parse(f"  {text} ")) == text


@pytest.mark.parametrize(
    "text",
    ["", "scores", "entropy", "entropy>", "entropy>much", "entropy>-1", "entropy>nan", "entropy>inf", "danger:1",
     "text:", "text:  ", "command:" + "x" * 201, "text:a\x1b[0m", "episode=0", "episode=-1", "episode=1.5",
     "episode=" + "9" * 5000, "score>3", ">", "=", ":"],
)  # fmt: skip
def test_a_bad_rule_is_refused_in_one_sentence(text):
    with pytest.raises(UsageError) as caught:
        parse(text)
    assert "breakpoint" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("text", "made", "holds"),
    [
        ("disagree", decision(), True),
        ("disagree", decision(without_memory="a"), False),
        ("entropy>1.03", decision(), True),
        ("entropy>1.04", decision(), False),
        ("entropy>0", decision((1.0,), without_memory=""), False),
        ("danger>1.9", decision(chosen=1), True),
        ("danger>2", decision(chosen=1), False),
        ("danger>0", decision(), False),
        ("danger>0", dataclasses.replace(decision(), parts=()), False),
        ("text:grue", decision(), True),
        ("text:a lurking grue", decision(), True),
        ("text:lamp", decision(), False),
        ("text:you*here.", decision(), True),
        ("command:A", decision(), True),
        ("command:b", decision(), False),
        ("episode=2", decision(step=0), True),
        ("episode=2", decision(), False),
        ("episode=3", decision(step=0), False),
    ],
)
def test_a_rule_holds_a_decision_before_its_step_if_what_it_names_is_so(text, made, holds):
    why = rules.before(parse(text), made, SEEN, 2)
    assert bool(why) == holds
    assert not rules.after(parse(text), SEEN, SEEN, frozenset())


def test_the_entropy_is_that_of_the_posterior_in_nats():
    # -(1/2 ln 1/2 + 2 * 1/4 ln 1/4) = 1.5 ln 2
    assert rules.entropy((0.5, 0.25, 0.25)) == pytest.approx(1.5 * math.log(2))


def test_scores_and_new_places_hold_after_a_step():
    then = dataclasses.replace(SEEN, place="Attic", score=2.0)
    known = {rules.place_of(SEEN)}
    assert rules.after(Rule("score"), SEEN, then, known) == "the score changed by -3 to 2"
    assert not rules.after(Rule("score"), SEEN, SEEN, known)
    assert "Attic" in rules.after(Rule("new-place"), SEEN, then, known)
    assert not rules.after(Rule("new-place"), then, SEEN, known)
    # Another room with the same name is another place; no name is none.
    assert rules.after(Rule("new-place"), then, dataclasses.replace(SEEN, room=2), known)
    assert not rules.after(Rule("new-place"), SEEN, dataclasses.replace(SEEN, place=""), known)


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("take *", "take the red book", True),
        ("take *", "do not take it", False),
        ("*book", "take the red book", True),
        ("take * book", "take book", False),
        ("take*book*", "Take  a\nBOOK and read", True),
        ("a*a", "a", False),
        ("*", "", True),
        ("a*b*c", "a c b", False),
        ("[a-z]+", "abc", False),
        ("(", "a (b", True),
    ],
)
def test_patterns_are_words_and_stars(pattern, text, found):
    assert rules.matches(pattern, text) is found


def test_a_pattern_full_of_stars_takes_time_that_grows_with_the_text_alone():
    assert is_linear(lambda length: rules.matches("*a" * 100 + "*b*", "a" * length), 20_000)


# ---------------------------------------------------------------------------------------------- orders


def test_orders_are_kept_in_the_folder_of_the_session(tmp_path):
    assert orders.load(tmp_path) == Orders()
    mine = Orders(BREAKPOINTS, tuple(map(parse, ("score", "entropy>1.25", "text:ein Löwe", "episode=12"))))
    orders.store(tmp_path, mine)
    assert orders.load(tmp_path) == mine
    assert (tmp_path / orders.FILE_NAME).stat().st_mode & 0o777 == 0o600
    orders.store(tmp_path, Orders(ALWAYS))
    assert orders.load(tmp_path) == Orders(ALWAYS)


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", '{"ask": "never"}', '{"ask": "sometimes", "breakpoints": []}', '{"ask": [], "breakpoints": []}',
     '{"ask": "never", "breakpoints": [3]}', '{"ask": "never", "breakpoints": ["scores"]}',
     '{"ask": "never", "breakpoints": {"a": 1}}', '{"ask": "never", "breakpoints": ' + str(["score"] * 101) + "}"],
)  # fmt: skip
def test_damaged_orders_are_told_in_a_sentence(tmp_path, content):
    (tmp_path / orders.FILE_NAME).write_text(content.replace("'", '"'))
    with pytest.raises(BadFile, match="cannot be read"):
        orders.load(tmp_path)


def test_a_pipe_in_place_of_orders_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / orders.FILE_NAME)
    with pytest.raises(BadFile):
        orders.load(tmp_path)


# ---------------------------------------------------------------------------------------------- vetoes


def test_a_veto_renormalises_the_posterior_over_what_is_left():
    made = without(decision((0.5, 0.3, 0.2)), ("a",), greedy=True, draw=0.9)
    assert made.posterior == pytest.approx((0.0, 0.6, 0.4))
    assert (made.action, made.chosen, made.vetoed) == ("b", 1, ("a",))
    assert not made.changed
    assert len(made.update.z_prime) == len(made.candidates) == 3
    assert without(decision(), ("a", "b", "c"), greedy=True, draw=0.0) is None


def test_sampled_choices_after_a_veto_follow_the_renormalised_posterior():
    made = decision((0.5, 0.3, 0.2))
    draws = np.random.default_rng(1).random(4000)
    taken = [without(made, ("a",), greedy=False, draw=float(draw)).action for draw in draws]
    assert "a" not in taken
    assert taken.count("b") / len(taken) == pytest.approx(0.6, abs=0.03)


def test_a_veto_of_all_the_probability_there_is_leaves_a_policy():
    sure = dataclasses.replace(decision(), posterior=(1.0, 0.0, 0.0))
    made = without(sure, ("a",), greedy=False, draw=0.999999)
    assert made.posterior == pytest.approx((0.0, 0.5, 0.5))
    assert made.action == "c"
