"""Lists that are filtered by typing: Enter takes the marked line, and what is typed is sent by a key of its own."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest

from engine.session.orders import Orders
from engine.session.rules import parse
from jitrl_tui.screens.branching import OWN, BranchDialog
from jitrl_tui.screens.breakpoints import BreakpointsDialog
from jitrl_tui.screens.dialogs import OverruleDialog
from jitrl_tui.screens.paths import PathDialog
from tests.tui import stream
from tests.tui.driving import replay_app, settled, until, watch
from tests.tui.screen_text import screen_text

ACTIONS = ("look", "look under the table", "take the sliced zucchini", "eat the raw zucchini", "go north")


def decision():
    """Return a decision whose valid actions are `ACTIONS`."""
    made = next(event.decision for event in stream.run() if hasattr(event, "decision"))
    return dataclasses.replace(made, valid_actions=ACTIONS)


def answer(dialog, *keys):
    """Return what a dialog answers to keys, and what it showed before the last one."""
    answers, shown = [], []

    async def go():
        app, _ = replay_app()
        async with app.run_test() as pilot:
            await until(pilot, lambda: watch(pilot).view.ended)
            await app.push_screen(dialog, answers.append)
            await pilot.press(*keys[:-1])
            shown.append(await settled(pilot))
            await pilot.press(keys[-1])
            await settled(pilot)

    asyncio.run(go())
    return answers[0] if answers else None, shown[0]


@pytest.mark.parametrize(
    ("keys", "chosen"),
    [
        ((*"zucc", "enter"), "take the sliced zucchini"),
        ((*"zucc", "down", "enter"), "eat the raw zucchini"),
        ((*"raw zucc", "enter"), "eat the raw zucchini"),
        ((*"look", "enter"), "look"),
        ((*"look u", "enter"), "look under the table"),
        ((*"zucc", "ctrl+o"), "zucc"),
        ((*"zucc", "up", "enter"), "zucc"),
        ((*"sing loudly", "enter"), "sing loudly"),
        ((*"sing loudly", "ctrl+o"), "sing loudly"),
    ],
)
def test_the_marked_action_wins_and_other_commands_are_sent_by_their_key(keys, chosen):
    made, shown = answer(OverruleDialog(decision()), *keys)
    assert made == chosen
    assert "Enter takes the marked line · Ctrl-O sends what is typed" in shown


def test_the_marked_breakpoint_wins():
    changes: list[Orders] = []
    dialog = BreakpointsDialog(Orders(rules=(parse("score"),)), changes.append)
    answer(dialog, *"sc", "enter")
    assert changes == [Orders()]
    changes.clear()
    answer(BreakpointsDialog(Orders(), changes.append), *"ent", "enter", *"1.2", "enter")
    assert changes == [Orders(rules=(parse("entropy>1.2"),))]


def test_the_marked_memory_of_a_branch_wins_and_nothing_else_is_sent():
    assert answer(BranchDialog(1, 2), *"own", "enter")[0] == OWN
    made, shown = answer(BranchDialog(1, 2), *"mine", "enter")
    assert made is None
    assert "Nothing matches." in shown


def test_the_marked_path_wins_unless_what_is_typed_is_there(tmp_path):
    (tmp_path / "kept.jsonl").write_text("")
    begun = [*str(tmp_path / "ke")]
    assert answer(PathDialog("merge", ""), *begun, "enter")[0] == str(tmp_path / "kept.jsonl")
    assert answer(PathDialog("merge", ""), *begun, "ctrl+o")[0] == str(tmp_path / "ke")
    assert answer(PathDialog("merge", ""), *begun, *"pt.jsonl", "enter")[0] == str(tmp_path / "kept.jsonl")
    assert answer(PathDialog("export", "", new=True), *begun, "enter")[0] == str(tmp_path / "ke")


def test_the_marked_command_of_the_palette_wins():
    async def go():
        app, _ = replay_app()
        async with app.run_test(size=(100, 30)) as pilot:
            await until(pilot, lambda: watch(pilot).view.ended)
            await pilot.press("ctrl+p")
            await until(pilot, lambda: type(app.screen).__name__ == "CommandPalette")
            await pilot.press(*"learning curves", "enter")
            await until(pilot, lambda: "learning curves:" in screen_text(app))

    asyncio.run(go())
