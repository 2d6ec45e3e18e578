"""The settings screen, keys by name, the palette and the footer."""

from __future__ import annotations

import asyncio
import tomllib
from pathlib import Path

import pytest
from textual.screen import Screen
from textual.widgets import Input

from engine.session import store as sessions
from engine.settings import SessionConfig, Settings
from jitrl_tui import preferences
from jitrl_tui.app import JitrlApp, _watch
from jitrl_tui.preferences import current
from jitrl_tui.screens.settings import SettingsScreen, _line, rows
from jitrl_tui.widgets.clickable import KeyBar
from tests.tui.driving import replay_app, settled, still, until, watch
from tests.tui.screen_text import screen_text


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "config.toml"
    file.write_text("# mine\n")
    return file


def with_settings(file: Path, go, size=(80, 24), **environment: str) -> None:
    """Run `go(pilot, app)` on the settings screen of this config file."""

    async def run():
        preferences.use(preferences.load(str(file), environment=environment))
        app = JitrlApp(Screen)
        async with app.run_test(size=size) as pilot:
            app.action_settings()
            await until(pilot, lambda: isinstance(app.screen, SettingsScreen))
            await go(pilot, app)

    asyncio.run(run())


def read(file: Path) -> dict:
    return tomllib.loads(file.read_text())


async def search(pilot, words: str) -> None:
    await pilot.press("slash", *words.replace(" ", "_").replace("_", " "), "enter")
    await still(pilot)


def test_a_number_is_searched_changed_with_validation_and_taken_out_again(file):
    async def go(pilot, app):
        await pilot.press("slash", *"strength", "enter")
        text = await settled(pilot)
        assert "settings.beta: strength of the memory" in text
        assert "profile" in next(line for line in text.splitlines() if line.strip("│┃ ").startswith("* beta"))
        assert "a change reaches: sessions that begin from now on; a running one by [ and ]" in " ".join(text.split())
        await pilot.press("enter", *"5000")  # what is typed takes the place of the value
        await until(pilot, lambda: "beta must lie between 0 and 1000, not 5000" in screen_text(app))
        await pilot.press("backspace")
        await until(pilot, lambda: "beta must lie" not in screen_text(app))
        await pilot.press("0", "enter")
        await until(pilot, lambda: "not 5000" in screen_text(app))
        await pilot.press(*["backspace"] * 4, *"2.5", "enter")
        await until(pilot, lambda: read(file) == {"settings": {"beta": 2.5}})
        assert file.read_text().startswith("# mine\n")
        await until(pilot, lambda: f"from: file {file}"[:30] in " ".join(screen_text(app).split()))
        assert current().settings() == {"beta": 2.5}
        await pilot.press("delete", "enter")
        await until(pilot, lambda: read(file) == {"settings": {}})
        assert current().settings() == {}

    with_settings(file, go)


def test_a_run_on_the_screen_follows_a_speed_that_is_set(file):
    async def go():
        preferences.use(preferences.load(str(file), environment={}))
        app, _ = replay_app(delay=1.0, paused=True)
        async with app.run_test(size=(100, 30)) as pilot:
            await until(pilot, lambda: "1 s a step" in screen_text(app) or watch(pilot).view.activity == "paused")
            await pilot.press("comma")
            await until(pilot, lambda: isinstance(app.screen, SettingsScreen))
            await search(pilot, "app.speed")
            assert "a change reaches: what is on the screen, at once" in screen_text(app)
            await pilot.press("enter", *"4", "enter")
            await until(pilot, lambda: read(file) == {"app": {"speed": 4.0}})
            await pilot.press("escape", "escape")
            await until(pilot, lambda: app.screen is app.watching)
            assert watch(pilot).player.delay == 0.25

    asyncio.run(go())


def test_a_session_that_runs_follows_a_setting_from_its_next_decision_on(file, tmp_path):
    settings = Settings(estimator="knn", step_limit=30, beta=2.0)
    config = SessionConfig("pantry", model="prior/verbs", episodes=1, settings=settings)
    saved = sessions.create(tmp_path, config, "watch")

    async def go():
        preferences.use(preferences.load(str(file), environment={}))
        app = JitrlApp(lambda: _watch(saved, tmp_path, paused=True), saves=tmp_path)
        async with app.run_test(size=(100, 30)) as pilot:
            await until(pilot, lambda: watch(pilot).view.pending)
            await pilot.press("comma")
            await until(pilot, lambda: isinstance(app.screen, SettingsScreen))
            await search(pilot, "strength")
            assert "and the one on the screen from its next decision on" in " ".join(screen_text(app).split())
            await pilot.press("enter", *"7.5", "enter")
            await until(pilot, lambda: read(file) == {"settings": {"beta": 7.5}})
            await pilot.press("escape", "escape")
            await until(pilot, lambda: watch(pilot).view.choice.decision.update.beta == 7.5)
            assert "[ β 7.5 ]" in await settled(pilot)
            app.watching.source.stop()
            await until(pilot, lambda: watch(pilot).view.ended)

    asyncio.run(go())


def test_a_choice_is_picked_and_followed_at_once(file):
    async def go(pilot, app):
        await pilot.press("enter", *"light", "enter")
        await until(pilot, lambda: app.theme == "jitrl-light")
        assert read(file) == {"app": {"theme": "jitrl-light"}}
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, SettingsScreen))

    with_settings(file, go)


def test_what_comes_first_is_told_where_the_file_is_not_followed(file):
    async def go(pilot, app):
        await pilot.press("enter", *"light", "enter")
        await until(pilot, lambda: read(file) == {"app": {"theme": "jitrl-light"}})
        assert [one.message for one in app._notifications] == [
            "Written, but the environment JITRL_THEME comes first."
        ]
        assert app.theme == "jitrl-paper"

    with_settings(file, go, JITRL_THEME="jitrl-paper")


def test_mistakes_of_the_file_are_on_the_screen(file):
    file.write_text('[settings]\ngama = 1\n[keys]\nwatch.help = "q"\n')

    async def go(pilot, app):
        text = " ".join((await settled(pilot)).split())
        assert "there is no setting 'gama' in [settings] (did you mean 'gamma'?)" in text
        assert "watch.help cannot be 'q': that is the key of watch.leave" in text

    with_settings(file, go)


def test_a_key_that_is_taken_is_refused_and_another_one_is_followed(file):
    async def go(pilot, app):
        await pilot.press("slash", *"watch.step_once", "enter", "enter", "backspace", "p", "enter")
        await until(pilot, lambda: "that is the key of watch.calls" in screen_text(app))
        await pilot.press("backspace", *"f7", "enter")
        await until(pilot, lambda: read(file) == {"keys": {"watch.step_once": "f7"}})

    with_settings(file, go)


def test_a_remapped_key_works_and_the_footer_shows_it():
    async def go():
        preferences.use(preferences.Preferences(preferences.Config(Path("x"), keys={"watch.toggle_pause": "f7"})))
        app, _ = replay_app(delay=8.0)
        async with app.run_test(size=(140, 45)) as pilot:
            await until(pilot, lambda: watch(pilot).view.choice)
            assert " f7 pause  " in screen_text(app)
            await pilot.press("space")
            await still(pilot)
            assert watch(pilot).view.activity != "paused"
            await pilot.press("f7")
            await until(pilot, lambda: watch(pilot).view.activity == "paused")

    asyncio.run(go())


def test_the_palette_does_what_keys_do():
    async def go():
        app, _ = replay_app(delay=8.0)
        async with app.run_test(size=(140, 45)) as pilot:
            await until(pilot, lambda: watch(pilot).view.choice)
            await pilot.press("ctrl+p", *"pause before")
            await until(pilot, lambda: "pause before the next action" in screen_text(app))
            await pilot.press("enter")
            await until(pilot, lambda: watch(pilot).view.activity == "paused")
            await pilot.press("ctrl+p")  # what was chosen last comes first, and nothing of another program's words
            await until(pilot, lambda: "less time between steps" in screen_text(app))
            listed = [line for line in screen_text(app).splitlines() if "pause before" in line or "overrule: " in line]
            assert "space  pause before" in listed[0]
            assert len(listed) == 1  # nothing can be overruled in a recording
            assert "Maximize" not in screen_text(app)

    asyncio.run(go())


def test_the_footer_begins_with_the_keys_of_the_pane_and_never_shows_one_that_does_something_else_there():
    async def go():
        app, _ = replay_app()
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: watch(pilot).view.ended)
            bar = watch(pilot).query_one(KeyBar)
            for pane, first in (("2", ["explain", "what if"]), ("5", ["branch", "compare"]), ("4", ["view", "forget"])):
                await pilot.press(pane)
                await still(pilot)
                assert [label for _, label, *_ in bar._keys][:2] == first
            assert [label for written, label, *_ in bar._keys if written == "p"] == ["pin"]
            assert "overrule" not in [label for _, label, *_ in bar._keys]  # this is a recording
            await pilot.press("comma")
            await until(pilot, lambda: isinstance(app.screen, SettingsScreen))
            await pilot.press("slash", "comma")  # typed in a field
            await still(pilot)
            assert app.screen.query_one("#search", Input).value == ","
            await pilot.press("escape", "comma")
            await until(pilot, lambda: not isinstance(app.screen, SettingsScreen))

    asyncio.run(go())


def test_the_footer_shows_what_can_be_done_in_the_pane_with_the_focus():
    async def go():
        app, _ = replay_app()
        async with app.run_test(size=(200, 60)) as pilot:
            await until(pilot, lambda: watch(pilot).view.ended)
            pane = watch(pilot).panes._panes["memory"]
            monkey = type(pane)
            monkey.BINDINGS = [("enter", "look", "open it")]
            try:
                await pilot.press("3", "4")
                pane.focus()
                await still(pilot)
                keys = [key[:2] for key in watch(pilot).query_one(KeyBar)._keys]
                assert ("enter", "open it") in keys
                assert ("z", "zoom") in keys
            finally:
                del monkey.BINDINGS

    asyncio.run(go())


def test_the_layout_that_is_set_is_taken_if_the_window_has_room():
    async def shown(size):
        preferences.use(preferences.Preferences(flags={"app.layout": "narrow"}))
        app, _ = replay_app()
        async with app.run_test(size=size) as pilot:
            await still(pilot)
            return watch(pilot).has_class("-narrow"), watch(pilot).has_class("-tiny")

    assert asyncio.run(shown((140, 45))) == (True, False)
    assert asyncio.run(shown((50, 10))) == (False, False)


def test_rows_of_settings_are_as_wide_as_the_list_and_no_wider():
    for width in (74, 120):
        assert all(len(_line(row, width).plain) <= width for row in rows())
    assert any(len(_line(row, 74).plain) == 74 for row in rows())
