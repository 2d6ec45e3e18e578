"""No key that costs a step, ends or discards something stands for something harmless on the same screen."""

from __future__ import annotations

import asyncio
import importlib
import io
import pkgutil
from pathlib import Path
from typing import Any

import pytest
from textual.widget import Widget

import jitrl_tui.screens
from engine.session.compare import Comparison
from engine.session.race import Racer, SavedRace
from engine.session.store import SavedSession
from engine.settings import SessionConfig, Settings
from jitrl_tui import command_table, keymap
from jitrl_tui.panes.memory import MemoryPane
from jitrl_tui.panes.registry import kinds
from jitrl_tui.plain.run import PlainRun
from jitrl_tui.runs.bench_source import BenchInfo
from jitrl_tui.runs.follower import FollowSource
from jitrl_tui.runs.replay import ReplaySource
from jitrl_tui.runs.view import RunView
from jitrl_tui.screens.bench import BenchScreen
from jitrl_tui.screens.command_screen import CommandScreen
from jitrl_tui.screens.compare import CompareScreen
from jitrl_tui.screens.curves import CurvesScreen
from jitrl_tui.screens.dialogs import ConfirmDialog, Dialog
from jitrl_tui.screens.explain import ExplainDialog
from jitrl_tui.screens.find import places_of
from jitrl_tui.screens.follow import FollowScreen
from jitrl_tui.screens.hit import HitDialog
from jitrl_tui.screens.home import HomeScreen
from jitrl_tui.screens.memory import MemoryScreen
from jitrl_tui.screens.race import RaceScreen
from jitrl_tui.screens.settings import SettingsScreen
from jitrl_tui.screens.watch import WatchScreen
from jitrl_tui.screens.whatif import Sliders, WhatIfScreen
from jitrl_tui.widgets.cells import CellList
from jitrl_tui.widgets.command import CommandLine
from jitrl_tui.widgets.options import Options, Picker
from jitrl_tui.widgets.rows import RowList
from tests.arena import bench_stream
from tests.tui.bench_driving import ScriptedBench
from tests.tui.driving import live_app, settled, until, watch

PARTS: dict[str, list[type[Widget]]] = {
    "watch": [CommandLine], "follow": [], "home": [Options, Picker], "bench": [CellList], "memory": [RowList],
    "compare": [], "race": [], "settings": [Options], "explain": [], "curves": [], "whatif": [Sliders, RowList],
    "hit": [],
}  # fmt: skip
"""By screen: what else may have the focus there, besides the panes of the watch screens."""
COSTS = (
    "toggle_pause", "step_once", "approve", "veto", "take_back", "redo", "keep", "put_back", "keep_trial",
)  # fmt: skip
"""Actions that take a step, end or discard something, or change what is stored, without a question. `toggle_pause` is
one of them, because it goes on as well."""
WIDGETS = ("memory_pane", "sliders")
"""Parts of the table that are of a widget."""
SENDS = ("submit",)
"""The action of the command line that takes a step."""


def bindings(part: type[Widget] | Widget) -> list[tuple[str, str]]:
    """Return the keys of a part of a screen with their actions, those of its classes above included."""
    if part is Sliders:
        part = Sliders(Settings())
    found = (part._bindings if isinstance(part, Widget) else part._merge_bindings()).key_to_bindings.items()
    return [(key, binding.action) for key, several in found for binding in several]


def modes(screen: str) -> dict[str, list[tuple[str, str]]]:
    """Return the keys and actions of a screen, by what has the focus."""
    table = keymap.follow(kinds()) if screen == "follow" else keymap.tables(kinds())[screen]
    found = {"the screen": [(key, one.action) for one in table for key in one.keys.split(",")]}
    parts = [kind.make() for kind in kinds()] if screen in ("watch", "follow") else []
    found |= {type(part).__name__: bindings(part) for part in parts}
    return found | {part.__name__: bindings(part) for part in PARTS[screen]}


def doubled(found: dict[str, list[tuple[str, str]]]) -> list[str]:
    """Return the keys that cost something in one mode and nothing in another."""
    uses: dict[str, set[tuple[bool, str]]] = {}
    for mode, pairs in found.items():
        for key, action in pairs:
            costs = action in COSTS or (mode == CommandLine.__name__ and action in SENDS)
            uses.setdefault(key, set()).add((costs, f"{action} in {mode}"))
    return [f"{key}: {sorted(of)}" for key, of in uses.items() if len({costs for costs, _ in of}) > 1]


@pytest.mark.parametrize("screen", PARTS)
def test_a_key_that_costs_something_does_nothing_else_on_its_screen(screen):
    assert doubled(modes(screen)) == []


def test_a_doubled_key_would_be_found():
    assert doubled({"the screen": [("u", "take_back")], "MemoryPane": [("u", "ask('undo')")]})


def test_all_screens_with_a_table_are_looked_at():
    assert {*keymap.tables(kinds())} <= {*PARTS, *WIDGETS}
    actions = {key.action for table in keymap.tables(kinds()).values() for key in table}
    assert {*COSTS} <= actions


@pytest.mark.parametrize("screen", PARTS)
def test_each_command_of_the_tables_is_one_that_its_screen_does(screen):
    table = keymap.follow(kinds()) if screen == "follow" else keymap.tables(kinds())[screen]
    typed = [one.action for one in command_table.TYPED if one.action] if screen == "watch" else []
    named = {action.partition("(")[0] for action in [*(key.action for key in table), *typed]}
    assert {one for one in named - {*made(screen).commands} if not one.startswith("app.")} == set()


def test_each_command_of_a_widget_is_one_that_it_does():
    pane = next(pane for kind in kinds() if isinstance(pane := kind.make(), MemoryPane))
    for widget, name in ((pane, "memory_pane"), (Sliders(Settings()), "sliders")):
        assert {key.action for key in widget.key_table} == {*widget.commands}
        assert widget.key_table == keymap.of(name)


def test_plain_lines_do_each_command_of_the_table_and_no_other():
    run = PlainRun(ReplaySource(lambda: []), io.StringIO(), None, play=False)
    assert {*run.commands} == {one.name for one in command_table.TYPED}


def made(screen: str) -> CommandScreen[Any]:
    """Return a screen that shows nothing yet."""
    nothing: Any = None
    plan = [bench_stream.cell("one", "jitrl", ("zork1",))]
    session = SavedSession("one", Path(), SessionConfig("zork1"), "race")
    return {
        "watch": lambda: WatchScreen(ReplaySource(lambda: [])),
        "follow": lambda: FollowScreen(FollowSource(lambda: None, 1.0)),
        "home": lambda: HomeScreen(nothing),
        "bench": lambda: BenchScreen(ScriptedBench(BenchInfo("one", "One", plan, 1), [])),
        "compare": lambda: CompareScreen(Comparison(nothing, nothing, (), {}, None), ("a", "b")),
        "race": lambda: RaceScreen(nothing, SavedRace("one", (Racer("a", session),)), Path()),
        "memory": lambda: MemoryScreen(nothing, "", Path()),
        "settings": SettingsScreen,
        "explain": lambda: ExplainDialog(nothing),
        "curves": lambda: CurvesScreen(RunView, None),
        "whatif": lambda: WhatIfScreen(nothing, nothing, (1, 0)),
        "hit": lambda: HitDialog(nothing, replayable=True),
    }[screen]()


@pytest.mark.parametrize("screen", PARTS)
def test_no_screen_with_a_table_has_actions_beside_it(screen):
    own = [one for one in type(made(screen)).__mro__ if one.__module__.startswith("jitrl_tui.")]
    assert [name for one in own for name in vars(one) if name.startswith("action_")] == []


def test_a_key_that_closes_a_window_costs_nothing_on_the_watch_screen_below():
    for module in pkgutil.iter_modules(jitrl_tui.screens.__path__):
        importlib.import_module(f"jitrl_tui.screens.{module.name}")
    costing = {key for key, action in modes("watch")["the screen"] if action in COSTS}
    windows, found = [Dialog], []
    for window in windows:
        windows += window.__subclasses__()
        closing = {key for key, action in bindings(window) if action.startswith("dismiss")}
        if window is HitDialog:
            closing |= {name for key in keymap.of("hit") for name in key.keys.split(",")}
        found += [(window.__name__, key) for key in closing & costing if window is not ConfirmDialog]
    assert len(windows) > 15
    assert found == []


@pytest.mark.parametrize(("key", "yes"), [("q", "q"), ("q", "enter"), ("h", "h")])
def test_leaving_a_session_that_goes_on_asks_first(key, yes, monkeypatch):
    async def go():
        app, session = live_app(delay=600.0)
        homes = []
        monkeypatch.setattr(type(app), "has_home", True)
        app.go_home = lambda: homes.append(1)
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: watch(pilot).view.pending)
            await pilot.press(key)
            assert isinstance(app.screen, ConfirmDialog)
            assert "The session stops here." in await settled(pilot)
            await pilot.press("escape")
            assert app.screen is watch(pilot)
            assert not session.ended.is_set()
            await pilot.press(key, yes)
            await until(pilot, lambda: app._exit or homes)
            assert session.ended.is_set()

    asyncio.run(go())


def test_n_after_a_search_goes_to_the_place_before_and_takes_no_step():
    async def go():
        app, _ = live_app(delay=600.0)
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: watch(pilot).view.pending)
            screen = watch(pilot)
            shown, step = list(screen.panes.transcript.paragraphs), screen.view.step
            places = list(places_of("e", shown))
            assert len(places) > 1
            await pilot.press("slash", "e", "enter")
            assert screen.find.at == places[0]
            await pilot.press("n")
            assert screen.find.at == places[1]
            await pilot.press(*["n"] * len(places))
            assert (screen.find.at, screen.view.step) == (places[-1], step)

    asyncio.run(go())


def test_a_running_session_names_each_key_once():
    written = [name for key in keymap.turning(keymap.watch(kinds()), "β") for name in key.written.split()]
    assert [name for name in set(written) if written.count(name) > 1] == []


def test_the_page_of_the_docs_has_each_key_of_each_screen_with_the_name_that_the_config_file_knows():
    tables = keymap.tables(kinds())
    text = keymap.page(tables)
    named = {f"{screen}.{key.name}" for screen, keys in tables.items() for key in keys}
    assert {line.split("`")[-2] for line in text.splitlines() if line.startswith("| `")} == named
    assert keymap.mistakes(tables, dict.fromkeys(named, "f9")) != []  # all are known names: only the key is refused
    assert not any("there is no action" in line for line in keymap.mistakes(tables, dict.fromkeys(named, "f9")))
