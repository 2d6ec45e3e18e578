"""One account of a decision: all panes tell the same of it, in one unit, and nothing is promised that is not there."""

from __future__ import annotations

import dataclasses
import re

import pytest

from engine import explain
from engine.agents.jitrl import _sourced
from engine.jitrl import normalise
from engine.records import Candidate, Decision, PlanAccount, Valuation
from jitrl_tui.panes.candidates import CandidatesPane
from jitrl_tui.panes.why import why_lines
from jitrl_tui.runs import hits
from jitrl_tui.runs.view import Choice
from jitrl_tui.widgets.plots import move_track
from tests.tui.test_accounts import DEFAULT, hit, memory_text, planned, started, with_update


def decision(*steps, gain=2.0, discovery=45.0, left=None, spare=0.0, remembered=60, length=3, **account) -> Decision:
    """Return a decision by a plan that begins with the first of three candidates, with an account of the plan."""
    delay, risk = (0.0, -2.0, -3.0), (0.0, 0.0, -6.0)
    q = tuple(gain + discovery + d + r for d, r in zip(delay, risk, strict=True))
    prior = (0.3, 0.4, 0.3)
    v = sum(p * x for p, x in zip(prior, q, strict=True))
    advantage = tuple(x - v for x in q)
    terms = {"gain": (gain,) * 3, "discovery": (discovery,) * 3, "delay": delay, "risk": risk}
    plan = PlanAccount(length, spare=spare, left=left, remembered=remembered, **account)
    values = Valuation(v, q, (2, 0, 1), ("known", "optimistic", "known"), terms, plan=plan)
    scaled = tuple(float(a) for a in normalise(advantage, 1e-8))
    return with_update(
        planned(*steps), neighbours=steps, valuation=values, advantage=advantage, advantage_normalised=scaled,
        z_prime=tuple(20.0 * a for a in scaled),
    )  # fmt: skip


def panes(made: Decision, remembered: int = 60, width: int = 100) -> tuple[str, str, str]:
    """Return the text of the candidates, of the reasons and of memory."""
    choice = Choice(2, made, started(), remembered)
    pane = CandidatesPane("candidates")
    pane.choice = choice
    return (
        "\n".join(line.plain for line in pane.build(width, 30)),
        "\n".join(line.plain for line in why_lines(choice, width, brief=False)),
        memory_text(choice, width, remembered),
    )


# -------------------------------------------------------------------------------------------- the unit


@pytest.mark.parametrize(
    ("gain", "discovery", "left"), [(2.0, 45.0, 12.0), (2.0, 4.0, 12.0), (20.0, 4.0, 12.0), (2.0, 9.0, None)]
)
def test_what_is_shown_fits_together_and_never_exceeds_what_is_left(gain, discovery, left):
    made = decision(gain=gain, discovery=discovery, left=left, spare=1.0)
    values = made.update.valuation
    seen = explain.shown_values(made.update)
    assert seen.unit == explain.POINTS
    assert max(seen.q) == pytest.approx(min(gain + discovery, left if left is not None else 1e9))
    for i, q in enumerate(seen.q):
        assert sum(term[i] for term in seen.terms.values()) == pytest.approx(q)
        assert seen.advantage[i] == pytest.approx(q - seen.v)
    assert min(seen.terms[name][0] for name in (explain.EXPECTED, explain.HOPED, explain.SPARE)) >= 0.0
    share = min(1.0, left / (gain + discovery)) if left is not None else 1.0
    assert seen.terms["delay"] == pytest.approx([share * x for x in values.terms["delay"]])
    # Scaling advantages says the same of them as the decision did.
    assert normalise(seen.advantage, 1e-12) == pytest.approx(normalise(made.update.advantage, 1e-12))
    assert seen.v == pytest.approx(sum(p * q for p, q in zip(made.prior, seen.q, strict=True)))


def test_nothing_is_called_points_where_no_points_are_left_or_promised():
    assert explain.shown_values(decision(left=0.0).update).unit == explain.NOVELTY
    assert explain.shown_values(decision(length=0).update).unit == explain.NOVELTY
    for text in panes(decision(left=0.0)):
        assert "points" not in text.replace("no points", "").replace("No plan promises", "")
    assert explain.in_one_unit(Valuation(1.0, (2.0,), (1,), ("known",)), (1.0,)).unit == explain.RETURN


def test_no_pane_promises_more_points_than_the_game_has_left():
    made = decision(hit("go south", 0), hit("take parsnip", 1, 2.0), left=12.0)
    for text in panes(made, width=150):
        assert "47.0" not in text.replace("the search counted 47.0", "")
        assert "45.0" not in text
    candidates, _, memory = panes(made, width=150)
    assert "+12.00" in candidates
    assert "+12.00      points, Q̂ of 'go south': all that is left to gain (the search counted 47.0)" in memory


# -------------------------------------------------------------------------------------------- memory


def test_the_memory_pane_lists_what_the_value_rests_on_and_the_amounts_add_up():
    steps = (
        dataclasses.replace(hit("go south", 0, episode=1), expected=0.0),
        dataclasses.replace(hit("take parsnip", 2, 2.0, episode=0), entry=-1, expected=1.5),
        hit("wait", 0),
    )
    made = decision(*steps, gain=1.2, discovery=4.0, left=12.0, spare=0.5, tries=("open crate", "dig (in garden)"))
    text = memory_text(Choice(2, made, started(), 60))
    lines = [line.strip() for line in text.splitlines()]
    assert lines[:5] == [
        "+5.20       points, Q̂ of 'go south'",
        "+1.50     expected of these steps",
        "−0.30     for danger and doubt: earlier plans kept more or less than they",
        "promised",
        "+3.50     hoped from untried actions: open crate, dig (in garden)",
    ]
    whole, *rows = (float(amount.replace("−", "-")) for amount, _, _ in hits.account(made))
    assert whole == pytest.approx(sum(rows))
    parsnip = next(line.split() for line in lines if "parsnip" in line)
    assert parsnip[:6] == ["2", "+2", "+1.50", "take", "parsnip", "this/4"]
    assert f"{hits.KNOWN}:" in text
    told = hits.basis_lines(Choice(2, made, started(), 60), 60)
    assert "in 2 steps, take parsnip, gained +2, this episode step 4, by agent, +1.50 expected" in told
    assert "+3.50 hoped from untried actions: open crate, dig (in garden)" in told


def test_what_a_plan_is_cut_by_is_not_called_danger_or_doubt():
    made = decision(dataclasses.replace(hit("go south", 0, 16.0), expected=16.0), gain=15.0, discovery=0.0, left=11.0)
    assert [(float(amount.replace("−", "-")), what) for amount, what, _ in hits.account(made)] == [
        (11.0, "points, Q̂ of 'go south'"),
        (16.0, "expected of these steps"),
        (-1.0, "for danger and doubt"),
        (-4.0, "taken off: more than is left to gain"),
    ]


def test_before_anything_is_remembered_exploration_is_said_to_decide():
    made = decision(left=12.0, remembered=0, tries=("go south",))
    made = dataclasses.replace(made, why=explain.why(
        0, made.candidates, made.update.valuation, (), made.update.advantage, made.update.without_memory))  # fmt: skip
    candidates, why, memory = panes(made, remembered=0)
    assert "exploration within this episode" in candidates
    assert "Exploration within this episode changed this choice" in why
    assert "exploration within this episode decided" in " ".join(why.split())
    assert hits.EXPLORES in memory
    for text in (candidates, why, memory):
        assert "Memory was empty" not in text
        assert "plans through memory" not in text


def test_a_count_tells_what_is_remembered_from_what_this_episode_did():
    made = decision(now=(2, 0, 1))
    assert [hits.try_count(*explain.try_counts(made.update, i)) for i in range(3)] == ["0+2", "0", "0+1"]
    made = decision(now=(0, 0, 0))
    assert [hits.try_count(*explain.try_counts(made.update, i)) for i in range(3)] == ["2", "0", "1"]


@pytest.mark.parametrize(
    ("source", "remembered", "said"),
    [("llm", 2, "both"), ("llm", 0, "llm"), ("valid", 1, "memory"), ("valid", 0, "valid"), ("random", 0, "random")],
)
def test_what_memory_knows_is_said_to_come_from_memory_too(source, remembered, said):
    assert _sourced(Candidate("wait", 0.5, source), remembered).source == said


# ------------------------------------------------------------------------------------------ candidates


def test_a_neutral_logit_is_told_from_an_opinion():
    made = decision(left=12.0)
    three = (Candidate("go south", 0.4), Candidate("go north", 0.0, "valid"), Candidate("wait", 0.0, "memory"))
    for width in (50, 100):
        text = panes(dataclasses.replace(made, candidates=three), width=width)[0]
        assert len(re.findall(r"z +\(0\.00\)", text)) == 2
        assert "+0.40" in text


def test_numbers_read_from_the_opinion_to_the_new_logit_from_left_to_right():
    for width in (36, 50, 100):
        text = " ".join(panes(decision(left=12.0), width=width)[0].partition("▸")[2].partition("○")[0].split())
        signs = ["N ", "Q̂ ", "V̂ ", "Â ", "z +0.0000", "→ +20·Ã +0.6364", "→ z′ +12.73", "→ 30%", "→ 100%"]
        places = [text.index(sign) for sign in signs]
        assert places == sorted(places)


@pytest.mark.parametrize(("before", "after"), [(1.5, 21.5), (2.0, -18.0), (0.0, 0.0)])
def test_the_track_shows_where_logits_are(before, after):
    track = move_track(before, after, -20.0, 22.0, 43)
    assert len(track) == 43
    assert track.index("◆") == round(after + 20)
    if before != after:
        assert track.index("◇") == round(before + 20)
        assert track.count("━") == abs(track.index("◆") - track.index("◇")) - 1


def test_candidates_that_all_have_no_chance_are_told_apart_by_their_tracks():
    made = decision(left=12.0)
    made = dataclasses.replace(with_update(made, z_prime=(20.0, -1.0, -15.0)), posterior=(1.0, 0.0, 0.0))
    tracks = [line.partition("┤z+β ")[2] for line in panes(made)[0].splitlines() if "┤z+β " in line]
    assert len(tracks) == 3
    assert len({line.index("◆") for line in tracks}) == 3
    # β = 20 is the most that memory can add, so that the second could have come to where the first is.
    assert tracks[1].index("┤") - tracks[1].index("◇") == tracks[0].index("◆") - tracks[0].index("◇")


@pytest.mark.parametrize("width", [40, 54, 76, 82, 120])
def test_no_number_of_the_candidates_is_cut(width):
    made = decision(left=12.0, now=(1, 0, 12))
    text = panes(made, width=width)[0]
    assert all(len(line.replace("̂", "").replace("̃", "")) <= width for line in text.splitlines())
    update = made.update
    for number in (*explain.shown_values(update).q, *update.z_prime):
        assert f"{number:+.2f}".replace("-", "−") in text


# ----------------------------------------------------------------------------------------------- ties


@pytest.mark.parametrize(
    ("prior", "changed", "tie"),
    [((0.33, 0.34, 0.33), False, True), ((0.2, 0.5, 0.3), True, False), ((0.45, 0.35, 0.2), True, False)],
)
def test_a_tie_that_is_broken_is_no_changed_choice(prior, changed, tie):
    made = dataclasses.replace(decision(left=12.0), prior=prior)  # it takes the first, the prior alone the second
    assert (made.changed, made.tie_broken) == (changed, tie)
    why = " ".join(panes(made)[1].split())
    assert ("JitRL changed this choice" in why) == changed
    assert ("JitRL broke a tie: the prior rates 'go north' alike" in why) == tie


def test_the_same_action_is_neither_changed_nor_a_tie():
    made = with_update(decision(left=12.0), without_memory="go south")
    assert (made.changed, made.tie_broken) == (False, False)
    silent = with_update(decision(left=12.0), without_memory="")
    assert (silent.changed, silent.tie_broken) == (False, False)
    assert DEFAULT["estimator"] == "graph"
