"""Progress of a benchmark: nothing is counted twice, and the remaining time is what the arithmetic says."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.bench.progress import BenchProgress
from engine.bench.records import Began, CellStepped, Ended, Failed, Finished, Said, Stopped
from tests.arena import bench_stream as bench

PLAN = [
    bench.cell("a", "jitrl", ("pantry", "zork1"), episodes=2),
    bench.cell("b", "static", ("pantry",), train=("zork1",), episodes=2),
    bench.cell("c", "static", ("pantry",), episodes=3),
]
AT = {
    one.name: [(leg, e) for leg, part in enumerate(one.legs) for e in range(1, part.config.episodes + 1)]
    for one in PLAN
}
NAMES = st.sampled_from(sorted(AT))
MONEY = st.integers(0, 1000)


@st.composite
def told(draw):
    """Return any message of any of the cells, in no sensible order."""
    name = draw(NAMES)
    kind = draw(st.sampled_from([Began, CellStepped, Ended, Said, Finished, Failed, Stopped]))
    if kind in (Said, Failed):
        return kind(name, "a sentence")
    if kind in (Began, Finished, Stopped):
        return kind(name)
    leg, episode = draw(st.sampled_from(AT[name]))
    tokens = draw(MONEY)
    if kind is CellStepped:
        return CellStepped(name, leg, episode, draw(st.integers(1, 9)), 1.0, "wait", tokens, tokens / 8)
    steps, score = draw(st.integers(0, 9)), draw(st.integers(-5, 5))
    wall, again = draw(st.integers(0, 9)), draw(st.booleans())
    return Ended(name, leg, episode, score, None, steps, tokens, tokens / 8, wall, again)


def make(messages, jobs=1, plan=PLAN) -> BenchProgress:
    progress = BenchProgress(plan, jobs)
    for message in messages:
        progress.apply(message)
    return progress


@given(st.lists(told(), max_size=60), st.integers(1, 4))
def test_totals_are_those_of_the_distinct_episodes_whatever_is_told(messages, jobs):
    progress = make(messages, jobs)
    ended, paid, last = {}, {}, {}
    for m in messages:
        if isinstance(m, CellStepped | Ended):
            at = (m.cell, m.leg, m.episode)
            paid[at] = max(paid.get(at, 0), m.paid_tokens)
        if isinstance(m, Ended):
            ended[at] = m
        if isinstance(m, CellStepped):
            last[m.cell] = m
    playing = [m.step for m in last.values() if (m.cell, m.leg, m.episode) not in ended]
    assert progress.episodes_done == len(ended)
    assert progress.steps == sum(m.steps for m in ended.values()) + sum(playing)
    assert progress.tokens == sum(paid.values())
    assert progress.usd == pytest.approx(sum(paid.values()) / 8)
    assert sum(progress.counts.values()) == len(PLAN)
    for name, one in progress.cells.items():
        mine = {at[1:]: m for at, m in ended.items() if at[0] == name}
        assert one.done == len(mine)
        measured = [m.score for at, m in sorted(mine.items()) if one.cell.legs[at[0]].phase == "test"]
        assert list(one.scores) == measured
        assert one.tokens == sum(count for at, count in paid.items() if at[0] == name)
    assert (progress.eta is None) <= (not any(m.wall_s and not m.again for m in messages if isinstance(m, Ended)))
    assert progress.eta is None or progress.eta >= 0


@given(st.integers(0, 200), st.integers(0, 6))
def test_a_run_that_was_cut_and_resumed_ends_like_one_that_was_not(cut, lost):
    """The worker dies after any message, and the last episodes before that may not have been stored."""
    one = bench.cell("a", tasks=("pantry", "zork1"), episodes=4)
    whole = list(bench.life(one))
    before = whole[: cut % len(whole)]
    stored = [m for m in before if isinstance(m, Ended)]
    stored = stored[: max(0, len(stored) - lost)]
    again = [dataclasses.replace(m, again=True) for m in stored]
    rest = whole[whole.index(stored[-1]) + 1 :] if stored else whole[1:]
    resumed = [*before, Failed("a", "killed", lost=True), Began("a"), *again, *rest]
    expected, found = make(whole, plan=[one]), make(resumed, plan=[one])
    for name in ("episodes_done", "steps", "tokens", "counts", "eta"):
        assert getattr(found, name) == getattr(expected, name)
    assert found.usd == pytest.approx(expected.usd)
    assert found.speed == pytest.approx(expected.speed)
    assert found.cells["a"].scores == expected.cells["a"].scores
    assert found.over


def ended(name: str, episode: int, wall: float, steps: int = 10, **more) -> Ended:
    return Ended(name, 0, episode, 1.0, None, steps, wall_s=wall, **more)


def test_nothing_is_known_of_the_time_before_an_episode_of_this_run_has_ended():
    progress = make([Began("c"), CellStepped("c", 0, 1, 1, 0.0, "wait"), ended("c", 1, 5.0, again=True)])
    assert progress.eta is None
    assert progress.speed is None
    progress.apply(ended("c", 2, 5.0))
    assert progress.eta is not None
    assert progress.speed == 2.0


def test_the_remaining_time_is_reckoned_by_arm_and_task():
    plan = [bench.cell("slow", "jitrl", episodes=3), bench.cell("quick", "static", episodes=3),
            bench.cell("slow too", "jitrl", ("zork1",), episodes=3)]  # fmt: skip
    progress = make([Began("slow"), ended("slow", 1, 100.0), Began("quick"), ended("quick", 1, 10.0)], 1, plan)
    # Nothing is known of zork1: it is taken to be like the other task of this arm.
    assert progress.eta == pytest.approx(2 * 100 + 2 * 10 + 3 * 100)
    progress.apply(Began("slow too"))
    progress.apply(ended("slow too", 1, 40.0))
    assert progress.eta == pytest.approx(2 * 100 + 2 * 10 + 2 * 40)
    progress.apply(CellStepped("slow", 0, 2, 5, 0.0, "wait"))  # Half of an episode of ten steps.
    assert progress.eta == pytest.approx(1.5 * 100 + 2 * 10 + 2 * 40)
    progress.apply(Failed("quick", "the model is gone"))
    assert progress.eta == pytest.approx(1.5 * 100 + 2 * 40)
    progress.apply(Began("quick"))
    assert progress.eta == pytest.approx(1.5 * 100 + 2 * 10 + 2 * 40)


def test_jobs_divide_the_time_as_long_as_there_are_cells_for_them():
    plan = [bench.cell(name, episodes=2) for name in "abc"]
    one, four = make([ended("a", 1, 6.0)], 1, plan), make([ended("a", 1, 6.0)], 4, plan)
    assert one.eta == pytest.approx(5 * 6.0)
    assert four.eta == pytest.approx(5 * 6.0 / 3)
    assert four.speed == pytest.approx(3 * one.speed)
    for name in "bc":
        four.apply(Finished(name))
    assert four.eta == pytest.approx(6.0)


def test_states_and_sentences():
    progress = make([Began("a"), Said("a", "slow start"), Failed("a", "no such model", 3)])
    one = progress.cells["a"]
    assert (one.state, one.error, one.said) == ("failed", "no such model", "slow start")
    assert progress.said == Said("a", "slow start")
    progress.apply(Began("a"))
    assert (one.state, one.error) == ("running", "")
    progress.apply(Stopped("a"))
    progress.apply(Finished("b"))
    assert not progress.over
    progress.apply(Finished("c"))
    assert progress.over
    assert progress.eta == 0
    assert {state: n for state, n in progress.counts.items() if n} == {"stopped": 1, "finished": 2}


def test_a_finished_run_has_no_time_left():
    plan = bench.cells(episodes=3)
    progress = make(bench.run(plan), 4, plan)
    assert progress.over
    assert progress.eta == 0
    assert progress.episodes_done == progress.episodes_of == 18 * 3
