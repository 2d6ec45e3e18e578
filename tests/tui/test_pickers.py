"""Lists that are filtered by typing: Enter takes the marked line, and what is typed is sent by a key of its own."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path

from textual.widgets import OptionList

from engine.session.orders import Orders
from engine.session.rules import parse
from jitrl_tui.screens.dialogs import OverruleDialog
from jitrl_tui.screens.memory_changes import PathDialog
from jitrl_tui.screens.run_dialogs import OWN, BranchDialog, BreakpointsDialog
from jitrl_tui.screens.settings import SettingsScreen
from tests.tui import stream
from tests.tui.driving import replay_app, until, watch
from tests.tui.screen_text import screen_text

ACTIONS = ("look", "look under the table", "take the sliced zucchini", "eat the raw zucchini", "go north")


def decision():
    """Return a decision whose valid actions are `ACTIONS`."""
    made = next(event.decision for event in stream.run() if hasattr(event, "decision"))
    return dataclasses.replace(made, valid_actions=ACTIONS)


def answered(*cases):
    """Return what each of several (dialog, keys) answers, None for nothing, and what it shows before the last key."""
    found = []

    async def go():
        app, _ = replay_app()
        async with app.run_test() as pilot:
            await until(pilot, lambda: watch(pilot).view.ended)
            for dialog, *keys in cases:
                answers: list[object] = []
                await app.push_screen(dialog, answers.append)
                await pilot.press(*keys[:-1])
                shown = screen_text(app)
                await pilot.press(keys[-1])
                found.append((answers[0] if answers else None, shown))
                if not answers:
                    await pilot.press("escape")

    asyncio.run(go())
    return found


def test_the_marked_action_wins_and_other_commands_are_sent_by_their_key():
    cases = [
        ((*"zucc", "enter"), "take the sliced zucchini"),
        ((*"zucc", "down", "enter"), "eat the raw zucchini"),
        ((*"look", "enter"), "look"),
        ((*"look u", "enter"), "look under the table"),
        ((*"zucc", "ctrl+o"), "zucc"),
        ((*"zucc", "up", "enter"), "zucc"),
        ((*"sing", "ctrl+o"), "sing"),
        ((*"sing", "enter"), "sing"),
    ]
    found = answered(*((OverruleDialog(decision()), *keys) for keys, _ in cases))
    assert [made for made, _ in found] == [chosen for _, chosen in cases]
    for _, shown in found:
        assert "Enter takes the marked line · Ctrl-O sends what is typed" in shown
    assert "sends what is typed (Ctrl-O)" in found[0][1]
    assert "(Ctrl-O)" not in found[-1][1]  # nothing matches, so Enter sends it


def test_the_marked_line_wins_in_each_window_and_what_is_typed_only_where_it_can_be(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("kept.jsonl").write_text("")
    changes: list[Orders] = []
    scored = Orders(rules=(parse("score"),))
    _, _, _, (own, _), (none, shown), *paths = answered(
        (BreakpointsDialog(scored, changes.append), *"sc", "enter"),
        (BreakpointsDialog(Orders(), changes.append), *"ent", "enter", *"1.2", "enter"),
        (BreakpointsDialog(Orders(), changes.append), *"ent", "ctrl+o"),
        (BranchDialog(1, 2), *"own", "enter"),
        (BranchDialog(1, 2), *"mine", "enter"),
        (PathDialog("merge", ""), *"ke", "enter"),
        (PathDialog("merge", ""), *"ke", "ctrl+o"),
        (PathDialog("merge", ""), *"kept.jsonl", "enter"),
        (PathDialog("export", "", new=True), *"ke", "enter"),
    )
    assert changes == [Orders(), Orders(rules=(parse("entropy>1.2"),))]
    assert (own, none) == (OWN, None)
    assert "Nothing matches." in shown
    assert [made for made, _ in paths] == ["kept.jsonl", "ke", "kept.jsonl", "ke"]


def test_the_marked_command_of_the_palette_wins():
    async def go():
        app, _ = replay_app()
        async with app.run_test(size=(100, 30)) as pilot:
            await until(pilot, lambda: watch(pilot).view.ended)
            await pilot.press("ctrl+p")
            await until(pilot, lambda: type(app.screen).__name__ == "CommandPalette")
            await pilot.press(*"curves", "enter")
            await until(pilot, lambda: "learning curves:" in screen_text(app))

    asyncio.run(go())


def test_page_keys_do_nothing_in_a_list_that_has_no_room():
    async def go():
        app, _ = replay_app()
        async with app.run_test(size=(1, 1)) as pilot:
            await until(pilot, lambda: watch(pilot).view.ended)
            for screen in (SettingsScreen(), OverruleDialog(decision())):
                await app.push_screen(screen)
                listing = screen.query_one(OptionList)
                listing._index_to_line.clear()  # what it has while it has no width
                listing.highlighted = 1
                listing.action_page_down()
                listing.action_page_up()
                await pilot.press("escape")
            assert app._exception is None

    asyncio.run(go())
