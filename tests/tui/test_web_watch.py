"""A web session on the watch screen: the page in place of the transcript, and overruling by its elements."""

from __future__ import annotations

import asyncio
import dataclasses
import io

from engine.environment import VisiblePage
from engine.records import Decided, EpisodeStarted, PageShown, SessionStarted, Stepped
from engine.web.browser.pages import PageStore
from engine.web.browser.snapshot import parse
from jitrl_tui.app import JitrlApp
from jitrl_tui.panes.page import PagePane
from jitrl_tui.plain.run import PlainRun
from jitrl_tui.runs.replay import ReplaySource
from jitrl_tui.runs.source import LiveSource
from jitrl_tui.runs.view import RunView
from jitrl_tui.screens.watch import WatchScreen
from jitrl_tui.widgets.status import Mode, StatusBar
from tests.tui import stream
from tests.tui.driving import replay_app, settled, still, until, watch
from tests.tui.screen_text import screen_text

SMALL, LARGE = (80, 24), (140, 45)
PAGE = """\
- link "Quayside {n}" [ref=e2] [box=20,20,80,20]
- searchbox "Search" [ref=e3] [box=700,20,300,30]
- navigation "Shelves" [ref=e10] [box=0,0,1280,60]:
  - button "Go" [ref=e4] [box=1020,20,60,30]
- heading "Kettles [b]now[/b]" [ref=e6] [box=20,80,200,40]
- link "Open mailbox" [ref=e8] [box=20,900,200,20]
"""


def drive(coroutine) -> None:
    asyncio.run(asyncio.wait_for(coroutine, 240))


def web_events(store: PageStore | None, picture: bytes = b""):
    """Return a run's events with a page after each beginning and each step."""
    events, episode = [], 0
    for event in stream.run(1, 4):
        if isinstance(event, SessionStarted):
            told = dataclasses.replace(
                event.environment, name="local-3", title="local-3: Find it", max_score=1.0
            )
            event = dataclasses.replace(event, environment=told)
        if isinstance(event, Decided):
            event = dataclasses.replace(
                event, decision=dataclasses.replace(event.decision, action="click(<link[Open mailbox]>)")
            )
        events.append(event)
        if isinstance(event, (EpisodeStarted, Stepped)):
            episode = event.episode
            step = event.step + 1 if isinstance(event, Stepped) else 0
            sight = VisiblePage(f"http://shop.test/page/{step}", f"Page {step}", "Find the cheapest kettle.",
                          PAGE.replace("{n}", str(step)), 1280, 720, picture)  # fmt: skip
            shown = PageShown(episode, step, sight.url, sight.title, sight.task)
            events.append(store.keep(sight, episode, step)[0] if store else shown)
    return events


def web_app(folder, *, kept: bool = True, paused: bool = False, picture: bytes = b""):
    store = PageStore(folder)
    events = web_events(store if kept else None, picture)
    source = ReplaySource(lambda: stream.recorded(events), delay=0.0, paused=paused)
    return JitrlApp(lambda: WatchScreen(source, delay=0.0, pages=store)), source


def live_web_app(folder, picture: bytes = b""):
    store, made = PageStore(folder), []

    def open_session(emit):
        made.append(stream.ScriptedSession(emit, web_events(store, picture), None))
        return made[0]

    source = LiveSource(open_session)
    return JitrlApp(lambda: WatchScreen(source, delay=600.0, pages=store)), made[0]


def test_the_page_stands_in_the_transcripts_place_with_url_task_step_and_reward(tmp_path):
    async def go():
        app, _ = web_app(tmp_path)
        async with app.run_test(size=SMALL) as pilot:
            await until(pilot, lambda: watch(pilot).view.ended)
            for size in (SMALL, LARGE):
                await pilot.resize_terminal(*size)
                await still(pilot)
                text = screen_text(app)
                for part in ("[wireframe]", "tree", "transcript", "1·Quayside 4", "2 Search", "┤3 Go├", "step 4/4",
                             "local-3", "Find the cheapest ke", "[b]now[/b]"):  # fmt: skip
                    assert part in text, part
                assert "shop.test/page" in text
                assert "reward " in text
                assert "Session over" not in text
                await pilot.press("7")
                await still(pilot)
                assert "[tree]" in screen_text(app)
                assert "  1 <link[Quayside 4]>" in screen_text(app)
                assert "    <navigation[Shelves]>" in screen_text(app)
                assert "  3   <button[Go]>" in screen_text(app)
                await pilot.press("t")
                await still(pilot)
                assert "[transcript]" in screen_text(app)
                assert "Session over" in screen_text(app)
                await pilot.press("v", "z")
                await still(pilot)
                assert "┤3 Go├" in screen_text(app)
                assert "candidates" not in screen_text(app)
                await pilot.press("escape", "6")

    drive(go())


def test_looking_back_shows_the_page_of_then_and_the_element_that_was_chosen_comes_into_sight(tmp_path):
    async def go():
        app, source = web_app(tmp_path, paused=True)
        async with app.run_test(size=LARGE) as pilot:
            await until(pilot, lambda: watch(pilot).view.pending)
            assert "1·Quayside 0" in screen_text(app)
            assert "▼ the window ends here; below: 1 element" in screen_text(app)
            assert "4·Open mailbox" in screen_text(app)
            await pilot.press("right")
            await until(pilot, lambda: "1·Quayside 1" in screen_text(app))
            source.seek_to(0.0)
            await until(pilot, lambda: "1·Quayside 0" in screen_text(app))

    drive(go())


def test_a_clicked_element_and_a_typed_number_overrule(tmp_path):
    async def go():
        app, session = live_web_app(tmp_path)
        async with app.run_test(size=LARGE) as pilot:
            screen = watch(pilot)
            await until(pilot, lambda: screen.view.pending and "┤3 Go├" in screen_text(app))
            pane = screen.query_one(PagePane)
            lines = screen_text(app).splitlines()
            row = next(i for i, line in enumerate(lines) if "┤3 Go├" in line)
            column = lines[row].index("3 Go")
            await pilot.click(pane, offset=(column - pane.region.x, row - pane.region.y))
            await until(pilot, lambda: "click(<button[Go]>)" in screen_text(app))
            await pilot.press("enter")
            await until(pilot, lambda: len(session.carried_out) == 1)
            assert session.carried_out[0] == ("human", "click(<button[Go]>)")
            await until(pilot, lambda: screen.view.pending and screen.view.step == 1)
            await pilot.press("o", "3")
            await until(pilot, lambda: "click(<button[Go]>)  on the page" in screen_text(app))
            await pilot.press("backspace", "2")
            await until(pilot, lambda: "add its text: 2 some text" in screen_text(app))
            await pilot.press(*" red")
            await until(pilot, lambda: "fill(<searchbox[Search]>, 'red')" in screen_text(app))
            await pilot.press("enter")
            await until(pilot, lambda: len(session.carried_out) == 2)
            assert session.carried_out[1] == ("human", "fill(<searchbox[Search]>, 'red')")

    drive(go())


def test_while_an_episode_is_set_up_the_status_says_so():
    view = RunView()
    view.fold(next(event for event in web_events(None) if isinstance(event, SessionStarted)))
    bar = StatusBar("status")
    for waited, said in ((0, "running"), (4, "beginning the episode 4 s")):
        bar.show(view, Mode(waited=waited))
        assert said in bar._state().plain


def test_pages_that_were_not_kept_are_said_to_be_missing(tmp_path):
    async def go():
        app, _ = web_app(tmp_path, kept=False)
        async with app.run_test(size=SMALL) as pilot:
            await until(pilot, lambda: watch(pilot).view.ended)
            assert "was not kept" in screen_text(app)
            await pilot.press("7")
            await still(pilot)
            assert "[tree]" in screen_text(app)

    drive(go())


def test_games_have_no_page_and_its_keys_do_nothing():
    async def go():
        app, _ = replay_app()
        async with app.run_test(size=LARGE) as pilot:
            await until(pilot, lambda: watch(pilot).view.ended)
            before = screen_text(app)
            await pilot.press("6", "7", "v", "a")
            assert await settled(pilot) == before
            assert "wireframe" not in before

    drive(go())


def test_the_pages_used_here_are_pages():
    roles = ["link", "searchbox", "navigation", "button", "heading", "link"]
    assert [n.role for n in parse(PAGE).nodes] == roles


def test_plain_lines_draw_the_page_and_take_numbers(tmp_path):
    store, made = PageStore(tmp_path), []

    def open_session(emit):
        made.append(stream.ScriptedSession(emit, web_events(store), None))
        return made[0]

    typed, out = iter(["/page", "3", "2 red", "/quit"]), io.StringIO()
    source = LiveSource(open_session)
    assert PlainRun(source, out, lambda: next(typed, None), play=True, pages=store).run() == 0
    assert "1·Quayside 0" in out.getvalue()
    assert [action for _, action in made[0].carried_out] == [
        "click(<button[Go]>)",
        "fill(<searchbox[Search]>, 'red')",
    ]
