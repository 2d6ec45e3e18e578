"""How the panes of the watch screen share rows, and how often a key makes the screen draw."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools

from hypothesis import given
from hypothesis import strategies as st

from engine.records import Decided
from jitrl_tui.app import JitrlApp
from jitrl_tui.panes.curve import CurvePane
from jitrl_tui.screens.home import HomeScreen
from jitrl_tui.screens.home_actions import StoredHome
from jitrl_tui.widgets.layout import shared_rows
from jitrl_tui.widgets.pane import Pane
from tests.tui import driving, stream
from tests.tui.driving import replay_app, until, watch
from tests.tui.screen_text import screen_text

NORMAL, LARGE, VAST = (100, 30), (140, 45), (200, 60)


def drive(coroutine) -> None:
    asyncio.run(asyncio.wait_for(coroutine, 240))


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 40)), min_size=1, max_size=5))
def test_rows_go_from_panes_that_leave_them_empty_to_panes_that_need_them(panes):
    shares, needed = [share for share, _ in panes], [need for _, need in panes]
    rows = shared_rows(shares, needed)
    assert sum(rows) == sum(shares)
    for share, need, got in zip(shares, needed, rows, strict=True):
        assert min(share, need) <= got <= max(share, need)  # nobody gives what it needs, or gets more
    spare = [got - need for got, need in zip(rows, needed, strict=True)]
    assert not min(spare) < 0 < max(spare)


def wordy(events):
    """Return events in which the model gives reasons of several lines for each third choice."""
    for event in events:
        if isinstance(event, Decided) and event.decision.step % 3 == 1:
            candidates = [dataclasses.replace(one, reason="It might help with the door. " * 14)
                          for one in event.decision.candidates]  # fmt: skip
            event = dataclasses.replace(
                event, decision=dataclasses.replace(event.decision, candidates=tuple(candidates))
            )
        yield event


def test_no_pane_scrolls_beside_one_with_empty_rows():
    async def go():
        app, source = replay_app(list(wordy(stream.run(3, 8))), paused=True)
        async with app.run_test(size=NORMAL) as pilot:
            screen = watch(pilot)
            await until(pilot, lambda: screen.view.activity == "paused")
            for size, front, step in itertools.product((NORMAL, LARGE, VAST), "59", (1, 2, 3)):
                await pilot.resize_terminal(*size)
                await pilot.press(front)
                source.seek_step(2, step)
                await until(pilot, lambda step=step: screen.choice and screen.choice.decision.step == step)
                panes = [pane for pane in screen.query("#others Pane").results(Pane) if pane.display]
                empty = {pane.id: pane.scrollable_content_region.height - pane.virtual_size.height for pane in panes}
                assert not min(empty.values()) < 0 < max(empty.values()), (size, front, step, empty)
                candidates, why = screen.query_one("#candidates"), screen.query_one("#why")
                for pane, share in ((candidates, 10 if size == NORMAL else 14), (why, 5 if size == NORMAL else 6)):
                    assert pane.scrollable_content_region.height >= min(share, pane.virtual_size.height), (step, empty)
                assert sum(pane.outer_size.height for pane in panes) == screen.query_one("#others").size.height - (
                    1 if size != VAST else 0
                )

    drive(go())


def test_a_curve_without_scores_gives_its_rows_to_what_stands_above_it():
    async def go():
        app, source = replay_app(paused=True)
        async with app.run_test(size=LARGE) as pilot:
            await until(pilot, lambda: watch(pilot).view.activity == "paused")
            source.seek_step(1, 2)
            await until(pilot, lambda: watch(pilot).view.choice)
            curve = app.screen.query_one(CurvePane)
            await until(pilot, lambda: curve.bare and curve.outer_size.height <= 5)
            source.seek_step(2, 2)
            await until(pilot, lambda: not curve.bare and curve.size.height >= 7)
            assert "best" in curve.plain_text()

    drive(go())


def test_a_command_leads_to_a_single_drawing():
    """All that a key changes is drawn at once: panes, tabs and footer, although each asks for it by itself."""

    async def go():
        app, source = replay_app(paused=True)
        async with app.run_test(size=NORMAL) as pilot:
            screen = watch(pilot)
            await until(pilot, lambda: screen.view.activity == "paused")
            source.seek_step(2, 3)
            await until(pilot, lambda: screen.choice)
            keys = ["4", "5", "2", "1", "4", "5", "4"]
            for number, key in enumerate(keys):
                await driving.still(pilot)
                before = driving._unseen_frames
                await pilot.press(key)
                await driving.still(pilot)
                if number > 1:  # a pane that is shown for the first time has no lines before that
                    assert driving._unseen_frames - before == 1, (number, key)

    drive(go())


def test_what_a_command_asks_for_after_the_drawing_finds_the_new_layout(tmp_path):
    """The list of games is as narrow as the form beside it leaves it, also where the section before had none."""

    async def go():
        app = JitrlApp(lambda: HomeScreen(StoredHome(tmp_path, lambda saved: None)))
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: "The Pantry" in screen_text(app))
            before = screen_text(app).splitlines()
            await pilot.press("4", "2")
            await until(pilot, lambda: "The Pantry" in screen_text(app))
            row = next(line for line in screen_text(app).splitlines() if "The Pantry" in line)
            assert "shipped" in row  # it is not wrapped
            assert row in before

    drive(go())
