"""Themes: readable by WCAG's contrast, chosen by variable or key, kept for the next start."""

from __future__ import annotations

import asyncio

import pytest
from textual.app import App
from textual.color import Color
from textual.screen import Screen

from jitrl_tui import preferences
from jitrl_tui.app import JitrlApp
from jitrl_tui.runs.replay import ReplaySource
from jitrl_tui.screens.watch import WatchScreen
from jitrl_tui.themes import CONTRAST, CYCLE, LIGHT, OWN, quiet_colours
from tests.tui import stream
from tests.tui.driving import still

TEXTS = ("foreground", "quiet", "text-primary", "text-accent", "text-success", "text-warning", "text-error")


def luminance(colour: Color) -> float:
    """WCAG 2.1, relative luminance."""
    parts = [part / 255 for part in (colour.r, colour.g, colour.b)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: Color, other: Color) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", OWN, ids=lambda theme: theme.name)
def test_every_text_is_readable_on_every_ground(theme):
    colours = theme.to_color_system().generate()
    colours |= quiet_colours(colours)
    needed = 7.0 if theme is CONTRAST else 4.5
    for ground in ("background", "surface", "panel"):
        for text in TEXTS:
            found = contrast(Color.parse(colours[text]), Color.parse(colours[ground]))
            assert found >= needed, f"{text} on {ground}: {found:.2f}"


def test_there_are_eight_and_the_terminals_own():
    assert len(OWN) == 8
    assert (*(theme.name for theme in OWN), "ansi-dark", "ansi-light") == CYCLE


def test_the_theme_key_goes_on_and_the_next_start_has_it():
    async def go(*keys):
        preferences.use(preferences.load(environment={}))
        app = JitrlApp(lambda: WatchScreen(ReplaySource(lambda: stream.recorded(stream.run(2, 2)), delay=0.0)))
        async with app.run_test() as pilot:
            await still(pilot)
            began = app.theme
            await pilot.press(*keys)
            await still(pilot)
            return began, app.theme

    assert asyncio.run(go("d", "d")) == (CYCLE[0], CYCLE[2])
    assert asyncio.run(go()) == (CYCLE[2], CYCLE[2])


def test_a_theme_that_is_set_elsewhere_lasts_only_until_the_end():
    async def go(*keys):
        preferences.use(preferences.load(environment={"JITRL_THEME": "jitrl-paper"}))
        app = JitrlApp(lambda: WatchScreen(ReplaySource(lambda: stream.recorded(stream.run(2, 2)), delay=0.0)))
        async with app.run_test() as pilot:
            await still(pilot)
            await pilot.press("d")
            told = [one.message for one in app._notifications]
            assert told == ["Theme: jitrl-forest until you leave: it is set by the environment JITRL_THEME"]

    asyncio.run(go())
    assert preferences.load(environment={}).value("app.theme") == CYCLE[0]


def test_the_theme_of_the_variable_has_its_colours_from_the_start(monkeypatch):
    preferences.use(preferences.load(environment={"TEXTUAL_THEME": LIGHT.name}))
    monkeypatch.setattr(App.theme, "_default", LIGHT.name)  # Textual reads the variable when it is imported

    async def go():
        app = JitrlApp(Screen)
        async with app.run_test():
            assert app.theme_variables["background"] == app.screen.styles.background.hex == LIGHT.background.upper()

    asyncio.run(go())
