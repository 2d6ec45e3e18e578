"""Decisions of any method on the screen: the model's alone, and those that rest on texts of an unknown method."""

from __future__ import annotations

import asyncio
import dataclasses

import numpy as np
import pytest
from rich.cells import cell_len

from engine import explain
from engine.codec import event_from_line, event_to_line
from engine.records import (
    Basis,
    BasisItem,
    Candidate,
    Decided,
    Decision,
    EpisodeEnded,
    ModelCall,
    ModelCalled,
    SessionStarted,
    State,
    UnknownPart,
)
from jitrl_tui.panes.candidates import CandidatesPane
from jitrl_tui.panes.memory import MemoryPane
from jitrl_tui.panes.why import why_lines
from jitrl_tui.plain.event_lines import candidate_lines
from jitrl_tui.runs import hits
from jitrl_tui.runs.view import Choice, RunView
from tests.tui import stream
from tests.tui.driving import replay_app, still, until, watch
from tests.tui.screen_text import screen_text
from tests.tui.test_plain import play

LONG = "The troll in the cellar takes what is thrown at it. " * 12
LESSONS = Basis(
    "reflection", "Reflections",
    (BasisItem("Open the [b]mailbox[/b] first.", "episode 2", 0.5), BasisItem(LONG, "episode 1")),
    {"novelty": (0.25, -1.0, 0.0), "broken": (1.0,)},
)  # fmt: skip


def bare(*parts, posterior=None) -> Decision:
    """Return a decision of a model's three options, with these parts and no others."""
    z = (0.6, 0.3, 0.1)
    names = ("open mailbox", "go north", "read leaflet")
    prior = tuple(float(p) for p in np.exp(z) / np.exp(z).sum())
    candidates = tuple(Candidate(a, v, "llm", 100 * v) for a, v in zip(names, z, strict=True))
    return Decision(
        step=0, state=State("[West of House: mailbox]", ("mailbox",)), valid_actions=names, candidates=candidates,
        prior=prior, posterior=posterior or prior, chosen=0, action=names[0],
        why=explain.by_the_model(0, candidates), parts=parts,
    )  # fmt: skip


def started(agent: str) -> SessionStarted:
    event = next(e for e in stream.run() if isinstance(e, SessionStarted))
    return dataclasses.replace(event, agent=agent)


def pane_lines(pane, choice: Choice, width: int) -> list[str]:
    pane.choice = choice
    lines = [line.plain for line in pane.build(width, 30)]
    assert all(cell_len(line) <= width for line in lines)
    return [line.rstrip() for line in lines]


@pytest.mark.parametrize("width", [36, 50, 90])
def test_the_models_choice_alone_shows_z_and_the_policy_and_nothing_of_values(width):
    choice = Choice(1, bare(), started("static"))
    lines = pane_lines(CandidatesPane("candidates"), choice, width)
    assert lines[0].startswith("No memory: the model alone decid")
    text = "\n".join(lines)
    assert "+0.60" in text
    assert text.count("43%") == 1  # one policy, not one before and one after
    for mark in ("Q̂", "Â", "Ã", "z′", "β", "before", "after", "○"):
        assert mark not in text
    rows = [line for line in lines if line.startswith(("▸", "  open", "  go", "  read"))]
    assert [row[2:].split("  ")[0] for row in rows] == ["open mailbox", "go north", "read leaflet"]
    memory = pane_lines(MemoryPane("memory"), choice, width)
    assert memory[0].startswith("This agent has no memory")
    spoken = candidate_lines(choice)
    assert spoken[1] == (
        "open mailbox: from llm, confidence 60, logit +0.60, probability 43%, chosen"
    )
    assert "JitRL" not in "\n".join(line.plain for line in why_lines(choice, width, brief=False))


def test_texts_are_shown_with_their_origin_whatever_they_are_called():
    choice = Choice(3, bare(LESSONS), started("somebody's"))
    lines = pane_lines(MemoryPane("memory"), choice, 60)
    assert lines[:3] == ["Reflections:", "episode 2  weight +0.50", "  Open the [b]mailbox[/b] first."]
    assert lines[3] == "episode 1"
    assert len(lines) == 7
    assert lines[-1].endswith("…")
    whole = MemoryPane("memory")
    whole.whole = True
    shown = " ".join(" ".join(pane_lines(whole, choice, 60)).split())
    assert LONG.strip() in shown
    reasons = [line.plain for line in why_lines(choice, 60, brief=True)]
    assert reasons == ["The model's opinion decided: 'open mailbox'.", "Rests on: Reflections (episode 2; episode 1)."]
    assert hits.basis_lines(choice, 0) == [
        "Reflections:",
        "episode 2, weight +0.50: Open the [b]mailbox[/b] first.",
        f"episode 1: {' '.join(LONG.split())}",
    ]


def test_numbers_of_a_method_stand_beside_the_candidates_and_broken_ones_do_not():
    choice = Choice(3, bare(LESSONS), started("somebody's"))
    wide = pane_lines(CandidatesPane("candidates"), choice, 80)
    assert [line.split()[-2:] for line in wide if line[2:].startswith(("open", "go", "read"))] == [
        ["novelty", "+0.25"], ["novelty", "−1.00"], ["novelty", "+0.00"]]  # fmt: skip
    narrow = "\n".join(pane_lines(CandidatesPane("candidates"), choice, 40))
    assert "novelty −1.00" in narrow
    assert "novelty +0.25, probability 43%, chosen" in candidate_lines(choice)[1]
    assert "broken" not in "\n".join([*wide, narrow, *candidate_lines(choice)])


def test_a_policy_that_another_rule_adjusts_is_shown_before_and_after():
    choice = Choice(3, bare(posterior=(0.2, 0.7, 0.1)), started("somebody's"))
    for width in (90, 40):
        text = "\n".join(pane_lines(CandidatesPane("candidates"), choice, width))
        assert "43%" in text
        assert "20%" in text
        assert "→" in text
        assert "z′" not in text
    assert "probability 43% to 20%, down, chosen" in candidate_lines(choice)[1]
    assert pane_lines(MemoryPane("memory"), choice, 60)[0] == "Nothing kept bears on this choice."


def test_a_kind_of_texts_without_any_is_not_rested_on():
    choice = Choice(1, bare(dataclasses.replace(LESSONS, items=())), started("somebody's"))
    shown = [*hits.basis_lines(choice, 0), *pane_lines(MemoryPane("memory"), choice, 60),
             *(line.plain for line in why_lines(choice, 60, brief=False))]  # fmt: skip
    assert "Reflections" not in "\n".join(shown)
    head = pane_lines(CandidatesPane("candidates"), choice, 60)[0]
    assert head == "Nothing kept bears on this choice: the model alone decides."


def test_an_update_and_texts_are_shown_together():
    update = stream.decision(np.random.default_rng(3), 2, 5)
    decision = dataclasses.replace(update, parts=(*update.parts, LESSONS))
    choice = Choice(3, decision, started("jitrl"))
    lines = pane_lines(MemoryPane("memory"), choice, 80)
    assert lines[0].split()[:2] == ["sim", "G"]
    assert "Reflections:" in lines
    told = hits.basis_lines(choice, 5)
    assert len(told) == len(decision.update.neighbours) + 3


def test_plain_lines_name_what_a_choice_rests_on():
    decision = dataclasses.replace(bare(LESSONS), parts=(LESSONS, UnknownPart("Dream", {"of": "sheep"})))
    events = [started("somebody's"), stream.run(1, 1)[1], Decided(1, decision)]
    text, _, _ = play(["/why", "/memory", "/quit"], events)
    assert "Rests on: Reflections (episode 2; episode 1)." in text
    assert "episode 2, weight +0.50: Open the [b]mailbox[/b] first." in text
    assert "Dream" not in text


@pytest.mark.parametrize("parts", [(LESSONS,), (UnknownPart("Dream", {}),)])
def test_a_run_of_any_method_is_shown(parts):
    async def go():
        rest = [
            Decided(e.episode, dataclasses.replace(bare(*parts), step=e.decision.step)) if isinstance(e, Decided) else e
            for e in stream.run(2, 4)[1:]
        ]  # fmt: skip
        app, _ = replay_app([started("somebody's"), *rest])
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: watch(pilot).view.ended)
            for size in ((80, 24), (140, 45)):
                await pilot.resize_terminal(*size)
                await still(pilot)
                await pilot.press("2")
                await still(pilot)
                assert "43%" in screen_text(app)
                await pilot.press("4")
                await still(pilot)
                text = screen_text(app)
                assert ("Open the [b]mailbox[/b] first." in text) == bool(parts and parts[0] is LESSONS)
                assert ("Nothing kept bears on this choice." in text) != bool(parts and parts[0] is LESSONS)

    asyncio.run(go())


# ----------------------------------------------------------------------------------------------- calls


def called(step: int, purpose: str, episode: int = 1) -> ModelCalled:
    return ModelCalled(episode, step, ModelCall(purpose, "m", f"{purpose}?", "yes", 10, 5))


def test_calls_are_shown_with_the_choice_they_were_made_for_and_the_last_ones_with_the_last():
    begin, first, *rest = stream.run(1, 2)
    decided = [e for e in rest if isinstance(e, Decided)]
    ended = next(n for n, e in enumerate(rest) if isinstance(e, EpisodeEnded))
    second = rest.index(decided[1])
    events = [begin, first, called(0, "plan"), *rest[: second], called(1, "state"), *rest[second:ended],
              called(2, "reflection"), *rest[ended:]]  # fmt: skip
    view = RunView()
    view.fold_all(events)
    purposes = [[call.purpose for call in view.calls_of(choice)] for choice in view.choices]
    assert purposes == [["plan", "actions"], ["state", "actions", "reflection"]]


def test_the_window_of_calls_shows_them():
    async def go():
        events = stream.run(1, 2)
        app, _ = replay_app([*events[:-2], called(2, "reflection"), *events[-2:]])
        async with app.run_test(size=(100, 40)) as pilot:
            await until(pilot, lambda: watch(pilot).view.ended)
            await pilot.press("p")
            await still(pilot)
            text = screen_text(app)
            assert "call 1: actions, local/smollm2" in text
            assert "call 2: reflection, m, 10 tokens in, 5 out" in text

    asyncio.run(go())


def test_the_new_records_come_back_from_a_recording():
    events = [Decided(1, bare(LESSONS, UnknownPart("Dream", {"of": ["sheep"]}))), called(3, "reflection")]
    for event in events:
        assert event_from_line(event_to_line(event, 1.0)) == (1.0, event)
