"""Looking back: everything on the screen is as of the step shown, as a replay of the recording shows it."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest

from engine.records import Decided
from jitrl_tui.panes.curve import CurvePane
from jitrl_tui.panes.map import MapPane
from jitrl_tui.panes.memory import MemoryPane
from jitrl_tui.runs import tape
from jitrl_tui.runs.tape import Tape
from jitrl_tui.runs.view import RunView
from tests.tui import stream
from tests.tui.driving import live_app, replay_app, still, until, watch
from tests.tui.screen_text import screen_text

SIZE = (150, 45)
PLACES = ((1, 4), (2, 0), (3, 3))
"""Episode and step of the decisions that are looked at."""


def events_of(episodes: int = 4, steps: int = 6) -> list:
    """Return a session that is paused before its end, whose steps are in another order of places each time."""
    return stream.run(episodes, steps)[:-2]


@pytest.mark.parametrize("apart", [1, 7, 200])
def test_the_view_of_an_earlier_choice_is_that_of_the_events_until_then(apart, monkeypatch):
    monkeypatch.setattr(tape, "APART", apart)
    events = events_of()
    view = RunView(tape=Tape(400))
    view.fold_all(events)
    for choice in list(view.choices)[::5]:
        place = (choice.episode, choice.decision.step)
        last = max(n for n, e in enumerate(events)
                   if isinstance(e, Decided) and (e.episode, e.decision.step) == place)  # fmt: skip
        wanted = RunView()
        wanted.fold_all(events[: last + 1])
        then = view.at(choice)
        for spec in dataclasses.fields(RunView):
            assert getattr(then, spec.name) == getattr(wanted, spec.name), spec.name


def test_a_tape_keeps_no_more_than_it_needs(monkeypatch):
    monkeypatch.setattr(tape, "APART", 5)
    view = RunView(tape=Tape(10))
    view.fold_all(events_of(20, 6))
    choices = list(view.choices)
    assert view.at(choices[0]) is None
    assert all(view.at(choice) is not None for choice in choices[-10:])
    assert len(view.tape.events) < 60
    assert len(view.tape._views) < 12


def told(screen) -> dict[str, object]:
    """Return what the screen shows of the run besides its transcript."""
    lines = screen_text(screen.app).splitlines()
    pane = {kind: screen.query_one(kind) for kind in (CurvePane, MapPane, MemoryPane)}
    return {
        "first": lines[0].partition("◂")[0].partition("‖")[0].split(),
        "second": lines[1].split(),
        "scores": list(pane[CurvePane]._view.scores),
        "here": pane[MapPane]._places.here,
        "known": pane[MapPane]._places.map,
        "entries": pane[MemoryPane].entries,
        "choice": screen.choice,
    }


def test_everything_on_the_screen_is_as_a_replay_has_it_at_that_step():
    shown: dict[str, dict] = {"looking back": {}, "replay": {}}

    async def live():
        app, _ = live_app(events=events_of())
        async with app.run_test(size=SIZE) as pilot:
            screen = watch(pilot)
            await until(pilot, lambda: len(screen.view.choices) == 24 and not screen.view.pending)
            now = told(screen)
            for place in PLACES:
                screen.player.go_to_step(*place)
                await still(pilot)
                assert "◂ looking back" in screen_text(app)
                shown["looking back"][place] = told(screen)
            # What comes after the step shown is below what the transcript has in sight.
            transcript = screen.panes.transcript
            bottom = round(transcript.scroll_y) + transcript.scrollable_content_region.height
            index = next(n for n, p in enumerate(transcript._paragraphs) if (p.episode, p.step) == PLACES[-1])
            assert bottom == transcript._starts[index + 1]
            assert transcript._lines[bottom - 1].startswith("> ")
            await pilot.press("left")
            await still(pilot)
            assert (screen.choice.episode, screen.choice.decision.step) == (3, 2)
            await pilot.press("right", "right")
            await still(pilot)
            assert (screen.choice.episode, screen.choice.decision.step) == (3, 4)
            await pilot.press("escape")
            await still(pilot)
            assert told(screen) == now

    async def recorded():
        app, _ = replay_app(events_of(), paused=True)
        async with app.run_test(size=SIZE) as pilot:
            screen = watch(pilot)
            await until(pilot, lambda: screen.view.activity == "paused")
            for place in PLACES:
                screen.player.go_to_step(*place)
                await until(pilot, lambda place=place: screen.choice is not None and screen.view.activity == "paused"
                            and (screen.choice.episode, screen.choice.decision.step) == place)  # fmt: skip
                shown["replay"][place] = told(screen)

    asyncio.run(live())
    asyncio.run(recorded())
    for place in PLACES:
        for name, value in shown["replay"][place].items():
            assert shown["looking back"][place][name] == value, (place, name)
    entries = [one["entries"] for one in shown["looking back"].values()]
    assert entries == sorted(set(entries))  # more is remembered at each of them
