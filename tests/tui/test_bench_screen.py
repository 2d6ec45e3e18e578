"""The bench screen: all cells of a run, with failures, lost workers, hostile names and every way to leave."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from pathlib import Path

import pytest
from textual.app import App

from engine.bench.progress import RunLimits
from engine.bench.records import Began, CellStepped, Ended, Failed, Finished, Said
from engine.codec import event_to_line
from engine.errors import MissingError, UsageError
from jitrl_tui import keymap, run_apps
from jitrl_tui.run_apps import BenchApp, run_bench_app
from jitrl_tui.runs.bench_source import BenchInfo
from jitrl_tui.runs.bench_view import ArmCurve
from jitrl_tui.screens.bench import FRAME_S, BenchScreen
from jitrl_tui.screens.dialogs import ConfirmDialog, ErrorDialog
from jitrl_tui.screens.help import HelpDialog
from jitrl_tui.screens.recordings import RecordingScreen
from jitrl_tui.widgets.curves import ArmCurves
from tests.arena import bench_stream as bench
from tests.tui import stream
from tests.tui.bench_driving import ScriptedBench
from tests.tui.driving import settled, still, until
from tests.tui.hostile import HOSTILE, dangers
from tests.tui.screen_text import screen_text

SIZES = ((60, 18), (80, 24), (100, 30), (140, 45), (200, 60))
SMALL = [bench.cell("zork1-jitrl-1", "jitrl", ("zork1",), episodes=4),
         bench.cell("zork1-jitrl-2", "jitrl", ("zork1",), episodes=4, seed=2),
         bench.cell("zork1-static-1", "static", ("zork1",), episodes=4),
         bench.cell("library-static-1", "static", ("library",), episodes=4)]  # fmt: skip


def info(plan=SMALL, **more) -> BenchInfo:
    return BenchInfo("table-2", "Table 2", plan, more.pop("jobs", 4), **more)


def scripted(messages=(), plan=SMALL, *, ends=False, error=None, **more) -> ScriptedBench:
    return ScriptedBench(info(plan, **more), list(messages), ends=ends, error=error)


def drive(source, steps, size=(140, 45), *, told=True):
    """Run `steps` on the app of a source, after all its messages are on the screen; return the app."""
    app = BenchApp(source)

    async def go():
        async with app.run_test(size=size) as pilot:
            if told:
                await until(pilot, lambda: source.told and not len(app.bench.feed.inbox))
                await pilot.pause(FRAME_S * 1.5)
            await steps(pilot, app)

    asyncio.run(asyncio.wait_for(go(), 240))
    return app


def rows(app) -> list[str]:
    """Return the visible rows of the list, with the sign of their state."""
    return [line for line in screen_text(app).splitlines() if any(sign in line[:5] for sign in "▸✗■✓·")]


def scores(name: str, values, **more) -> list:
    """Return the messages of a cell with these scores."""
    ended = [Ended(name, 0, n, value, 350.0, 10, 1000, 0.01, 30.0, **more) for n, value in enumerate(values, 1)]
    return [Began(name), *ended]


# --------------------------------------------------------------------------------------------- content


def test_cells_are_listed_by_state_with_their_numbers():
    messages = [
        *scores("zork1-static-1", [5, 10, 15, 10]), Finished("zork1-static-1"),
        *scores("zork1-jitrl-2", [7]), Failed("zork1-jitrl-2", "the model is gone"),
        *scores("zork1-jitrl-1", [10, 21]), CellStepped("zork1-jitrl-1", 0, 3, 5, 33.0, "wait", 500, 0.005),
    ]  # fmt: skip

    async def look(pilot, app):
        shown = [line.split("┃")[1].split()[1:] for line in rows(app)[:4]]
        assert shown == [
            ["running", "zork1", "jitrl", "1", "2/4", "33", "15.5", "2,500", "$0.03", "zork1-jitrl-1"],
            ["failed", "zork1", "jitrl", "2", "1/4", "7", "7.0", "1,000", "$0.01", "zork1-jitrl-2"],
            ["finished", "zork1", "static", "1", "4/4", "10", "10.0", "4,000", "$0.04", "zork1-static-1"],
            ["waiting", "library", "static", "1", "0/4", "library-static-1"],
        ]
        text = screen_text(app)
        assert "Table 2 · table-2" in text
        assert "✗ 1 failed" in text
        assert "running: episode 3, step 5, score 33" in text
        assert "1/4 cells, 1 failed · 7/16 episodes" in text
        assert "A jitrl 15.5 (2 seeds)" in text  # Only one of them has played two episodes.

    drive(scripted(messages), look, (170, 45))


def test_the_curve_of_an_arm_is_the_mean_over_the_seeds_that_have_come_so_far():
    messages = [*scores("zork1-jitrl-1", [10, 30]), *scores("zork1-jitrl-2", [20]), *scores("zork1-static-1", [1]),
                *scores("library-static-1", [99])]  # fmt: skip

    async def look(pilot, app):
        text = await settled(pilot)
        # Averages of the first cell: 10, 20; of the second: 20. Means: (10 + 20) / 2, then 20.
        assert "A jitrl 20 (2 seeds)" in text
        assert "B static 1 (1 seed)" in text
        assert "99" not in text.split("average of each arm: zork1")[1]
        await pilot.press("end")
        text = await settled(pilot)
        assert "B static 99 (1 seed)" in text.split("average of each arm: library")[1]

    drive(scripted(messages), look)


def test_the_cursor_keeps_to_its_cell_and_follows_the_first_row_before_it_was_moved():
    source = scripted([Began("zork1-static-1")])

    async def look(pilot, app):
        screen = app.bench
        assert screen.cells.cursor.cell.name == "zork1-static-1"
        for message in (Finished("zork1-static-1"), Began("library-static-1")):
            screen.feed.inbox.put(message)
        await until(pilot, lambda: screen.cells.cursor.cell.name == "library-static-1")
        await pilot.press("down")
        assert screen.cells.cursor.cell.name == "zork1-static-1"
        for message in (Began("zork1-jitrl-1"), Began("zork1-jitrl-2")):
            screen.feed.inbox.put(message)
        await until(pilot, lambda: screen.progress.counts["running"] == 3)
        assert screen.cells.cursor.cell.name == "zork1-static-1"
        assert screen.cells.at == 3
        assert "zork1-static-1" in screen_text(app)
        await pilot.press("escape")
        assert screen.cells.cursor.cell.name == "zork1-jitrl-1"

    drive(source, look)


def test_a_click_moves_the_cursor_words_filter_the_list_and_escape_shows_all_again():
    async def look(pilot, app):
        await pilot.click("#cells", offset=(10, 4))
        assert app.bench.cells.at == 2
        await pilot.press("slash", *"STAT", "space", *"zork")
        text = await settled(pilot)
        assert "cells: 1 of 4" in text
        assert "library" not in "".join(rows(app))
        await pilot.press("enter", "down")  # Keys go to the list again.
        assert app.bench.cells.has_focus
        await pilot.press("slash", *" nothing")
        assert "No cell has these words." in await settled(pilot)
        await pilot.press("escape")
        assert "cells: " not in await settled(pilot)
        assert len(app.bench.cells.shown) == 4
        await pilot.press("slash", *"seed", "space", "2", "enter")
        await still(pilot)
        assert [one.cell.name for one in app.bench.cells.shown] == ["zork1-jitrl-2"]

    drive(scripted(), look)


def test_the_cursor_reaches_every_row_of_a_long_list_and_stays_in_sight():
    plan = bench.cells(seeds=15, episodes=1)
    assert len(plan) == 90

    async def look(pilot, app):
        cells = app.bench.cells
        names = []
        while not names or cells.cursor.cell.name != names[-1]:
            names.append(cells.cursor.cell.name)
            assert app.bench.cells.cursor.cell.name in screen_text(app)  # The title of its curve.
            await pilot.press("pagedown")
            await still(pilot)
        assert names[0] == plan[0].name
        assert names[-1] == plan[-1].name
        await pilot.press("home")
        assert cells.at == 0
        await pilot.press("end", "up")
        assert cells.at == 88
        assert plan[-1].name in await settled(pilot)

    drive(scripted(plan=plan), look, (80, 24))


def test_the_screen_is_whole_in_every_size_and_theme():
    plan = bench.cells(seeds=5, episodes=6)
    messages = list(bench.run(plan, 4, [plan[2].name]))[: 30 * 24]

    async def look(pilot, app):
        for size in SIZES:
            await pilot.resize_terminal(*size)
            await whole(pilot, app)
        await pilot.resize_terminal(*SIZES[1])
        for theme in ("jitrl-light", "ansi-dark", "ansi-light"):
            app.theme = theme
            await whole(pilot, app)

    async def whole(pilot, app):
        text = await settled(pilot)
        assert len(text.splitlines()) <= app.size.height
        for wanted in ("task", "arm", "seed", "episode", "avg", "✗ 1 failed", "▸ 4 running", "q leave", "episode 6"):
            assert wanted in text, wanted
        row = rows(app)[0]
        assert "…" not in row.split("│")[0]
        assert "1/6" in text or "2/6" in text or "3/6" in text

    drive(scripted(messages, plan, limits=RunLimits(usd=1)), look, SIZES[0])


def test_without_colour_states_have_signs(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    messages = [Began("zork1-jitrl-1"), Failed("zork1-jitrl-2", "x"), Finished("zork1-static-1")]

    async def look(pilot, app):
        assert [line.strip()[0] for line in rows(app)[:4]] == ["▸", "✗", "✓", "·"]

    drive(scripted(messages), look, (80, 24))


# -------------------------------------------------------------------------------------------- failures


def test_the_reason_of_a_failure_is_shown_and_a_cell_that_is_resumed_counts_once():
    name = "zork1-jitrl-1"
    told = scores(name, [10, 20])
    messages = [*told, Failed(name, "The worker was killed, perhaps because memory ran out.", lost=True)]

    async def look(pilot, app):
        screen = app.bench
        assert "The worker was killed, perhaps because memory ran out." in await settled(pilot)
        assert "2/16 episodes" in screen_text(app)
        again = [dataclasses.replace(m, again=True) if isinstance(m, Ended) else m for m in told]
        for message in [*again, *scores(name, [10, 20, 30, 40])[3:], Finished(name)]:
            screen.feed.inbox.put(message)
        await until(pilot, lambda: screen.progress.counts["finished"] == 1)
        text = await settled(pilot)
        assert "1/4 cells · 4/16 episodes" in text
        assert "$0.04" in text
        assert "failed" not in text

    drive(scripted(messages), look)


def test_hostile_texts_do_not_reach_the_screen():
    plan = [bench.cell(f"n{HOSTILE}", f"a{HOSTILE}", (f"t{HOSTILE}", f"u{HOSTILE}"), model=f"m{HOSTILE}"),
            bench.cell("other", f"b{HOSTILE}", (f"t{HOSTILE}", f"u{HOSTILE}"), model=f"x{HOSTILE}")]  # fmt: skip
    messages = [
        *scores(plan[0].name, [1.0]), Said(plan[0].name, HOSTILE), CellStepped(plan[0].name, 0, 2, 1, 0.0, HOSTILE),
        *scores(plan[1].name, [1.0]), Failed(plan[1].name, f"why {HOSTILE}\n{HOSTILE} " * 9),
    ]  # fmt: skip
    source = ScriptedBench(BenchInfo(HOSTILE, HOSTILE, plan, 2), messages)

    async def look(pilot, app):
        for size in ((80, 24), (200, 60)):
            await pilot.resize_terminal(*size)
            for keys in ((), ("down",), ("slash", "x"), ("escape", "q")):
                await pilot.press(*keys)
                text = await settled(pilot)
                assert dangers(text, "\n") == []
                assert "PWNED" in text
            await pilot.press("escape")

    drive(source, look, (80, 24))


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [(MissingError("there is no model 'x'"), 3, "there is no model 'x'"), (ValueError("odd"), 1, "ValueError: odd")],
)
def test_an_error_of_the_run_is_told_and_gives_the_exit_code(error, code, sentence, tmp_path, monkeypatch):
    monkeypatch.setenv("JITRL_SAVES", str(tmp_path))

    async def look(pilot, app):
        await until(pilot, lambda: isinstance(app.screen, ErrorDialog))
        assert sentence in " ".join(screen_text(app).split())
        await pilot.press("escape")
        assert "ended by an error" in await settled(pilot)
        await pilot.press("q")

    app = drive(scripted(error=error), look)
    assert app.return_value == code


# --------------------------------------------------------------------------------------------- leaving


def test_leaving_asks_once_then_stops_the_run():
    for key in ("q", "ctrl+c"):
        source = scripted([Began("zork1-jitrl-1")])

        async def look(pilot, app, key=key, source=source):
            await pilot.press(key)
            assert isinstance(app.screen, ConfirmDialog)
            assert "1 cell is being played" in await settled(pilot)
            await pilot.press("ctrl+q")  # No second question.
            assert len(app.screen_stack) == 3
            await pilot.press("escape")
            assert isinstance(app.screen, BenchScreen)
            assert not source.wait(0)
            await pilot.press(key, "enter")
            await until(pilot, lambda: app.return_value is not None)

        app = drive(source, look)
        assert app.return_value == 130
        assert source.wait(0)


def test_a_run_that_does_not_stop_soon_is_left_at_the_second_q():
    source = scripted([Began("zork1-jitrl-1")])
    source.run_.may_end.clear()

    async def look(pilot, app):
        await pilot.press("q", "enter")
        await until(pilot, lambda: "q again leaves at once" in screen_text(app))
        await pilot.press("q")
        await until(pilot, lambda: app.return_value is not None)

    assert drive(source, look).return_value == 130
    source.run_.may_end.set()
    assert source.wait(60)


def test_a_signal_leaves_without_a_question_and_stops_the_run():
    source = scripted([Began("zork1-jitrl-1")])

    async def look(pilot, app):
        app.action_leave()
        await until(pilot, lambda: app.return_value is not None)

    assert drive(source, look).return_value == 130
    assert source.wait(0)


def test_a_run_that_is_over_is_left_at_once():
    messages = [m for name in (c.name for c in SMALL) for m in [*scores(name, [1, 2, 3, 4]), Finished(name)]]

    async def look(pilot, app):
        assert "■ finished" in await settled(pilot)
        assert "16/16 episodes" in screen_text(app)
        assert "left" not in screen_text(app).splitlines()[-2]
        await pilot.press("q")
        await until(pilot, lambda: app.return_value is not None)

    assert drive(scripted(messages, ends=True), look).return_value == 0


def test_s_begins_no_more_cells():
    source = scripted([Began("zork1-jitrl-1")])

    async def look(pilot, app):
        assert not source.run_.finishing
        await pilot.press("s", "s")
        assert source.run_.finishing
        assert "1 running, then it stops" in await settled(pilot)

    drive(source, look)


def test_a_window_that_is_too_small_says_so_and_recovers_and_help_names_every_key():
    async def look(pilot, app):
        assert "This window is too small" in await settled(pilot)
        await pilot.resize_terminal(140, 60)
        assert "zork1" in await settled(pilot)
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpDialog))
        text = await settled(pilot)
        assert all(key.label in text for key in keymap.of("bench"))
        await pilot.press("question_mark")
        await until(pilot, lambda: "Watching a benchmark" in screen_text(app))

    drive(scripted(), look, (50, 15))


# ------------------------------------------------------------------------------------------ recordings


def write_recording(folder: Path) -> None:
    folder.mkdir(parents=True)
    lines = [event_to_line(event, at) for at, event in stream.recorded(stream.run(1, 2))]
    (folder / "events.jsonl").write_text("".join(f"{line.rstrip()}\n" for line in lines))


def test_enter_opens_the_recording_and_leaving_it_comes_back(tmp_path):
    folder = tmp_path / "cells" / SMALL[0].name
    for name in ("leg-1", "leg-2"):
        write_recording(folder / name)
    single = tmp_path / "cells" / SMALL[1].name / "leg-1"
    write_recording(single)
    source = scripted(folder=tmp_path)

    async def look(pilot, app):
        await pilot.press("end", "enter")
        assert [notice.message for notice in app._notifications] == ["This cell has no recording."]
        await pilot.press("home", "enter")
        assert "leg-2" in await settled(pilot)
        await pilot.press("down", "enter")
        await until(pilot, lambda: isinstance(app.screen, RecordingScreen))
        await until(pilot, lambda: app.screen.view.started)
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, BenchScreen))
        assert not source.wait(0)
        await pilot.press("down", "enter")
        await until(pilot, lambda: isinstance(app.screen, RecordingScreen))
        app.action_leave()  # A signal: the benchmark is stopped, although a recording is shown.
        await until(pilot, lambda: app.return_value is not None)

    assert drive(source, look).return_value == 130
    assert source.wait(0)


# ----------------------------------------------------------------------------------------------- speed


def test_three_hundred_cells_are_drawn_seldom(monkeypatch):
    plan = bench.cells(seeds=50, episodes=5)
    messages = list(bench.run(plan, 8))
    source = scripted(messages[: len(messages) // 2], plan)

    async def look(pilot, app):
        screen = app.bench
        draws = []
        draw = screen._draw
        monkeypatch.setattr(screen, "_draw", lambda: (draws.append(time.monotonic()), draw()))
        began = time.monotonic()
        rest = iter(messages[len(messages) // 2 :])
        while len(draws) < 5:
            for _ in range(20):
                screen.feed.inbox.put(next(rest))
            await pilot.pause(0.02)
        assert len(draws) <= (time.monotonic() - began) / FRAME_S + 2

    drive(source, look)


def test_a_terminal_that_cannot_draw_is_refused(monkeypatch):
    monkeypatch.setattr(run_apps, "wants_plain", lambda: True)
    with pytest.raises(UsageError, match="needs a terminal"):
        run_bench_app(scripted())


def test_every_arm_is_in_the_legend_where_there_is_little_room_for_names():
    names = ("JitRL with plans", "Static, the model alone", "Reflexion with notes")
    arms = [ArmCurve(letter, name, (1.0, 2.0), 3) for letter, name in zip("ABC", names, strict=True)]

    class Shown(App[None]):
        def compose(self):
            yield ArmCurves("arms")

    async def legend(width: int, height: int) -> str:
        app = Shown()
        async with app.run_test(size=(width, height)):
            pane = app.query_one(ArmCurves)
            pane.show(arms, 2, "a game")
            return "\n".join(line.plain for line in pane.build(width, height))

    for width, height, names_are_whole in ((120, 20, True), (70, 20, True), (44, 5, False), (24, 9, False)):
        text = asyncio.run(legend(width, height)).split("episode 2")[1]
        assert all(f"{letter} {name[0]}" in text for letter, name in zip("ABC", names, strict=True))
        assert all(name in text for name in names) == names_are_whole
