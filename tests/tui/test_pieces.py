"""Wrapping, bars, curves, layouts and the folded view, against something independent."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from engine.records import EpisodeEnded, Notice, Observation, Stepped, Thinking
from engine.session.recording import Recorder
from jitrl_tui.panes.candidates import CandidatesPane
from jitrl_tui.panes.registry import PANES
from jitrl_tui.runs import tape
from jitrl_tui.runs.history import has_begun, scores_of
from jitrl_tui.runs.plot import BrailleCanvas, running_average
from jitrl_tui.runs.replay import ReplaySource
from jitrl_tui.runs.source import Inbox
from jitrl_tui.runs.view import PARAGRAPHS, Choice, RunView
from jitrl_tui.system.output import clean
from jitrl_tui.widgets.layout import layout_for
from jitrl_tui.widgets.lines import fit, wrap
from jitrl_tui.widgets.plots import changed, thick, thin
from tests.tui import stream

texts = st.text(st.characters(exclude_categories=("Cc", "Cs")), max_size=200)


@given(texts, st.integers(2, 60))
def test_wrapped_lines_fit_and_lose_nothing_but_spaces(text, width):
    lines = wrap(text, width)
    assert all(cell_len(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(clean(text).split())


@given(st.lists(st.text("abcdefghij", min_size=1, max_size=9), max_size=40), st.integers(10, 40))
def test_words_that_fit_are_never_broken(words, width):
    assert " ".join(wrap(" ".join(words), width)).split() == words


@given(texts, st.integers(1, 60))
def test_fit_gives_exactly_the_width(text, width):
    assert cell_len(fit(text, width)) == width


@given(st.floats(0, 1), st.floats(0, 1), st.integers(1, 80))
def test_bars_fill_their_width(before, after, width):
    assert sum(map(len, thick(after, width))) == width
    assert sum(map(len, thin(before, width))) == width
    kept, moved, rest = changed(before, after, width)
    assert len(kept + moved + rest) == width
    assert ("▓" in moved) <= (after > before)
    assert ("░" in moved) <= (after < before)


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=50))
def test_the_running_average_is_the_mean_of_every_prefix(scores):
    expected = [np.mean(scores[: n + 1]) for n in range(len(scores))]
    np.testing.assert_allclose(running_average(scores), expected, atol=1e-9)


def test_a_rising_curve_is_drawn_from_bottom_left_to_top_right():
    canvas = BrailleCanvas(10, 4, 0, 10, 20)
    canvas.line([i / 2 for i in range(20)], "")
    rows = ["".join(text for text, _ in canvas.row(y)) for y in range(4)]
    firsts = [len(row) - len(row.lstrip(" \u2800")) for row in rows]
    assert firsts == sorted(firsts, reverse=True)


@pytest.mark.parametrize("width", range(20, 260, 17))
@pytest.mark.parametrize("height", range(5, 80, 7))
def test_every_window_has_a_layout_and_every_pane_is_within_reach(width, height):
    layout = layout_for(width, height, PANES.built_in)
    assert (layout.name == "tiny") == (width < 60 or height < 18)
    if layout.name != "tiny":
        beside = [kind.name for kind in PANES.built_in if kind.place != "stage"]
        assert sorted((*layout.shown, *layout.tabs)) == sorted(beside)


def test_a_vast_window_has_curve_and_map_open_and_a_package_with_more_panes_gets_tabs():
    assert layout_for(200, 60, PANES.built_in).tabs == ()
    assert layout_for(179, 60, PANES.built_in).tabs == layout_for(200, 54, PANES.built_in).tabs == ("curve", "map")
    own = dataclasses.replace(next(kind for kind in PANES.built_in if kind.name == "map"), name="mine")
    assert layout_for(200, 60, (*PANES.built_in, own)).tabs == ("curve", "map", "mine")


def test_the_view_follows_the_run():
    events = stream.run(3, 7)
    view = RunView()
    view.fold_all(events)
    ends = [e for e in events if isinstance(e, EpisodeEnded)]
    assert list(view.scores) == [e.score for e in ends]
    assert view.average == pytest.approx(np.mean(view.scores))
    assert view.tokens == sum(e.tokens for e in ends)
    assert view.memory_entries == ends[-1].memory_entries
    assert view.activity == "ended"
    gains = [p for p in view.paragraphs if p.kind in ("gain", "loss")]
    assert len(gains) == sum(e.reward != 0 for e in events if isinstance(e, Stepped))


def test_a_session_that_is_taken_up_counts_what_memory_has_now():
    events = stream.run(3, 7)
    view = RunView()
    view.fold(dataclasses.replace(events[0], resumed=True, memory_entries=99))
    view.fold_all(event for event in events[1:-1] if not isinstance(event, Thinking))
    assert view.memory_entries != 99
    view.fold(Thinking("taking up the session where it was left"))
    assert view.memory_entries == 99


@pytest.mark.parametrize(
    ("steps", "terminated", "outcome", "said"),
    [(8, True, "won", "won"), (3, True, "lost", "lost"), (3, True, "", "ended"), (8, False, "", "out of steps"),
     (3, False, "", "cut off")],
)  # fmt: skip
def test_the_transcript_says_how_an_episode_ended(steps, terminated, outcome, said):
    view = RunView()
    view.fold_all(stream.run(1, 8)[:2])  # eight steps at most
    zeros = (0.0,) * steps
    view.fold(EpisodeEnded(1, 2.0, 9.0, steps, terminated, not terminated, outcome, zeros, zeros, steps, 0))
    assert view.paragraphs[-1].text == f"Episode 1 ended: score 2 of 9 after {steps} steps ({said})."


def test_the_view_is_bounded():
    view = RunView()
    view.fold_all(stream.run(1, 1)[:2])
    for step in range(PARAGRAPHS * 2):
        view.fold(Stepped(1, step, "wait", Observation("Time passes."), 0.0))
    assert len(view.paragraphs) == PARAGRAPHS
    assert view.written > PARAGRAPHS * 2


@pytest.mark.parametrize("apart", [3, 200])
def test_any_position_of_a_replay_shows_what_folding_so_far_shows(apart, monkeypatch):
    monkeypatch.setattr(tape, "APART", apart)
    events = stream.run(3, 6)
    source = ReplaySource(lambda: stream.recorded(events), delay=0.0)
    source.load()
    for position in (len(events), 5, 30, 12, 1, 44, 0):
        seen = source.view_at(position)
        wanted = RunView()
        wanted.fold_all(events[:position])
        for spec in dataclasses.fields(RunView):
            assert getattr(seen, spec.name) == getattr(wanted, spec.name), spec.name


def test_scores_of_an_earlier_session_come_from_its_recording(tmp_path):
    path = tmp_path / "events.jsonl"
    assert scores_of(path) == ()
    assert not has_begun(path)
    events = stream.run(4, 3)
    recorder = Recorder(path)
    for at, event in stream.recorded(events):
        recorder.write(event, at)
    recorder.close()
    assert scores_of(path) == tuple(e.score for e in events if isinstance(e, EpisodeEnded))
    assert has_begun(path)


@pytest.mark.parametrize("width", [40, 90])
@pytest.mark.parametrize("seed", range(6))
def test_what_was_chosen_is_the_first_row_whatever_was_proposed_first(seed, width):
    decision = stream.decision(np.random.default_rng(seed), 3, 20)
    decision = dataclasses.replace(decision, chosen=len(decision.candidates) - 1)
    decision = dataclasses.replace(decision, action=decision.candidates[decision.chosen].action)
    pane = CandidatesPane("candidates")
    pane.choice = Choice(1, decision)
    lines = [line.plain for line in pane.build(width, 10)]
    rows = [
        next(n for n, line in enumerate(lines) if line[2:].startswith(c.action)) for c in decision.candidates
    ]
    chosen = rows.pop(decision.chosen)
    assert lines[chosen].startswith("▸ ")
    assert chosen < min(rows)
    taken = [c.action == decision.update.without_memory for c in decision.candidates[:-1]]
    others = [row for row, without in zip(rows, taken, strict=True) if not without]
    assert others == sorted(others)  # as they were proposed
    if any(taken):
        assert rows[taken.index(True)] < min(others)


def test_a_replay_that_cannot_be_read_says_so():
    from engine.errors import BadFile

    def read():
        raise BadFile("x is not a recording")
        yield

    inbox = Inbox(lambda: None)
    source = ReplaySource(read)
    source.start(inbox)
    assert source.wait(60)
    assert inbox.drain(10)[-1] == Notice("error", "x is not a recording", "BadFile")
