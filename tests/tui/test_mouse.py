"""Clicks on candidates, remembered steps, episodes of the curve and places of the map."""

from __future__ import annotations

import asyncio

import pytest

from jitrl_tui.widgets.plots import episode_at, score_plot
from tests.tui import stream
from tests.tui.driving import live_app, replay_app, settled, still, until, watch
from tests.tui.screen_text import screen_text


def found(app, pane: str, text: str) -> tuple[int, int]:
    """Return where a text stands in the window, within a pane."""
    region = app.watching.query_one(f"#{pane}").region
    for y, line in enumerate(screen_text(app).splitlines()):
        x = line.find(text, region.x, region.right)
        if region.y <= y < region.bottom and x >= 0:
            return x, y
    raise AssertionError(f"{text!r} is not in {pane}:\n{screen_text(app)}")


def test_a_click_on_a_candidate_takes_it_in_place_of_the_choice():
    async def go():
        app, session = live_app(stream.run(1, 4), play=True)
        async with app.run_test(size=(140, 45)) as pilot:
            screen = watch(pilot)
            await until(pilot, lambda: screen.view.activity == "paused" and screen.view.pending)
            decision = screen.view.choice.decision
            other = next(one.action for one in decision.candidates if one.action != decision.action)
            await pilot.press("f3")  # candidates are closed until they are asked for
            await until(pilot, lambda: other in screen_text(app))
            await pilot.click(offset=found(app, "candidates", other))
            await until(pilot, lambda: app.screen is not screen)
            await pilot.press("enter")
            await until(pilot, lambda: session.carried_out)
            assert ("human", other) in session.carried_out

    asyncio.run(go())


def test_clicks_lead_to_the_explanation_the_row_the_episode_and_the_place():
    async def go():
        app, _ = replay_app(stream.run(3, 8))
        async with app.run_test(size=(200, 60)) as pilot:
            screen = watch(pilot)
            await until(pilot, lambda: len(screen.view.scores) == 3)
            decision = screen.choice.decision
            other = next(one.action for one in decision.candidates if one.action != decision.action)
            await pilot.click(offset=found(app, "candidates", other))
            await until(pilot, lambda: app.screen is not screen)
            assert f": {other}" in await settled(pilot)  # the one that was clicked, not the first
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is screen)

            hits = screen.choice.decision.update.neighbours
            row = found(app, "memory", f" {hits[1].g:+.2f}".replace("-", "−"))
            await pilot.click(offset=row)
            await still(pilot)
            assert screen.query_one("#memory").hit == hits[1]

            at = screen.choice.decision.step
            place = next(name for name, _ in screen.view.places.trail if name != screen.view.places.here)
            last = max(step for step, (name, _) in enumerate(screen.view.places.trail) if name == place)
            await pilot.click(offset=found(app, "map", place[:12]))
            await until(pilot, lambda: screen.choice.decision.step == last)
            assert last != at or screen.choice.episode == 3

            curve = screen.query_one("#curve").region
            await pilot.click(offset=(curve.right - 3, curve.y + 3))
            # Episode 3 has not ended at the step that is shown now, so the last one of the curve is the second.
            await until(pilot, lambda: (screen.choice.episode, screen.choice.decision.step) == (2, 0))

    asyncio.run(go())


@pytest.mark.parametrize(("count", "planned", "width"), [(1, 0, 40), (3, 10, 40), (30, 30, 60), (200, 200, 30)])
def test_the_episode_of_a_column_is_the_one_drawn_there(count: int, planned: int, width: int):
    for episode in range(1, count + 1, max(1, count // 7)):
        scores = [0.0] * count
        scores[episode - 1] = 9.0
        top = score_plot(scores, planned, width, 8)[0].plain
        near = episode_at(top.index("★"), scores, planned, width)
        assert abs(near - episode) <= max(planned, count) / (width - 4)
