"""Undo, save, load and branch on the screen, with a real session of a shipped game."""

from __future__ import annotations

import asyncio

from engine.records import SettingsChanged, Stepped
from engine.session import recording
from engine.session import store as sessions
from engine.settings import SessionConfig, Settings
from jitrl_tui.app import JitrlApp, _watch
from jitrl_tui.runs import session_files as transcripts
from jitrl_tui.screens.help import HelpDialog
from jitrl_tui.screens.whatif import WhatIfScreen
from tests.tui.driving import replay_app, until, watch
from tests.tui.screen_text import screen_text


def drive(coroutine) -> None:
    asyncio.run(asyncio.wait_for(coroutine, 90))


def app_on(saves, kind):
    config = SessionConfig(
        game="pantry",
        agent="random",
        model="prior/uniform",
        settings=Settings(step_limit=9),
        episodes=1,
    )
    saved = sessions.create(saves, config, kind)
    return JitrlApp(lambda: _watch(saved, saves), saves=saves)


def waiting(pilot, step):
    """Return whether the session waits with the decision for this step."""

    def check():
        view = watch(pilot).view
        return view.activity == "paused" and view.pending and view.step == step

    return check


async def enter(pilot, text):
    await pilot.press(*("space" if c == " " else "slash" if c == "/" else c for c in text), "enter")


def test_a_person_at_the_command_line_undoes_saves_loads_and_branches(tmp_path):
    async def go():
        app = app_on(tmp_path, "play")
        async with app.run_test(size=(120, 40), notifications=True) as pilot:
            await until(pilot, waiting(pilot, 0))
            await enter(pilot, "go east")
            await until(pilot, waiting(pilot, 1))
            await enter(pilot, "/save at the door")
            await until(pilot, lambda: (tmp_path / "named").is_dir() and any((tmp_path / "named").iterdir()))
            await enter(pilot, "go south")
            await until(pilot, waiting(pilot, 2))
            assert watch(pilot).view.seen.place == "Pantry"
            await enter(pilot, "/undo")
            await until(pilot, waiting(pilot, 1))
            assert watch(pilot).view.seen.place == "Bathroom"
            assert "Taken back: go south" in screen_text(app)
            await enter(pilot, "go west")
            await until(pilot, waiting(pilot, 2))
            first = watch(pilot)
            await enter(pilot, "/load at the door")
            await until(pilot, lambda: app.watching is not None and app.watching is not first)
            await until(pilot, waiting(pilot, 1))
            assert watch(pilot).view.seen.place == "Bathroom"
            second = watch(pilot)
            await enter(pilot, "/branch 0 other")
            await until(pilot, lambda: "/branch takes a step" in screen_text(app))
            await enter(pilot, "/branch 0 shared")
            await until(pilot, lambda: app.watching is not None and app.watching is not second)
            await until(pilot, waiting(pilot, 0))
            assert watch(pilot).run.keeper.session.config.memory == "shared"
            assert len(list((tmp_path / "sessions").iterdir())) == 3
            await enter(pilot, "/nonsense")
            await until(pilot, lambda: "no command /nonsense" in screen_text(app))

    drive(go())


def test_keys_undo_save_load_and_branch_from_the_step_on_show(tmp_path):
    async def go():
        app = app_on(tmp_path, "watch")
        async with app.run_test(size=(120, 40), notifications=True) as pilot:
            await until(pilot, lambda: watch(pilot).view.choice)
            await pilot.press("space")
            await until(pilot, lambda: waiting(pilot, watch(pilot).view.step)())
            start = watch(pilot).view.step
            for step in (start + 1, start + 2):
                await pilot.press(".")
                await until(pilot, waiting(pilot, step))
            await pilot.press("u")
            await until(pilot, waiting(pilot, start + 1))
            await pilot.press("s")
            await until(pilot, lambda: "Enter saves" in screen_text(app))
            await enter(pilot, "one")
            await until(pilot, lambda: "Saved as one" in screen_text(app))
            first = watch(pilot)
            await pilot.press("left", "b")
            await until(pilot, lambda: "Which memory does it use?" in screen_text(app))
            await pilot.press("enter")
            await until(pilot, lambda: app.watching is not None and app.watching is not first)
            await until(pilot, waiting(pilot, start))  # it begins paused
            assert watch(pilot).run.keeper.session.config.memory == "own"
            second = watch(pilot)
            await pilot.press("g")
            await until(pilot, lambda: "goes on from the save" in screen_text(app))
            await pilot.press("enter")
            await until(pilot, lambda: app.watching is not None and app.watching is not second)
            assert len(list((tmp_path / "sessions").iterdir())) == 3

    drive(go())


def test_what_if_goes_on_with_its_settings_in_a_branch_that_says_what_was_changed(tmp_path):
    settings = Settings(step_limit=9, beta=2.0)
    config = SessionConfig("pantry", model="prior/verbs", settings=settings, episodes=1)
    saved = sessions.create(tmp_path, config, "watch")
    app = JitrlApp(lambda: _watch(saved, tmp_path), saves=tmp_path)

    async def go():
        async with app.run_test(size=(120, 40), notifications=True) as pilot:
            await until(pilot, lambda: watch(pilot).view.choice)
            await pilot.press("space")
            await until(pilot, lambda: waiting(pilot, watch(pilot).view.step)())
            step = watch(pilot).view.step + 1
            await pilot.press(".")
            await until(pilot, waiting(pilot, step))
            first = watch(pilot)
            assert first.choice.decision.update.beta == 2.0
            await pilot.press("K")
            await until(pilot, lambda: isinstance(app.screen, WhatIfScreen))
            await pilot.press("b")
            await until(pilot, lambda: "change one first" in screen_text(app))
            await pilot.press("right", "b")
            await until(pilot, lambda: "Which memory does it use?" in screen_text(app))
            await pilot.press("enter")
            await until(pilot, lambda: app.watching is not None and app.watching is not first)
            await until(pilot, waiting(pilot, step))
            branch = watch(pilot)
            assert branch.choice.decision.update.beta == branch.run.keeper.session.config.settings.beta == 3.0
            said = "You changed settings here: beta 2 → 3."
            assert said in " ".join(p.text for p in branch.view.paragraphs)
            assert sessions.load(saved.folder).config.settings.beta == 2.0
            told = [event for _, event in recording.read(branch.run.keeper.session.recording)]
            at = next(n for n, event in enumerate(told) if isinstance(event, SettingsChanged))
            assert sum(isinstance(event, Stepped) for event in told[:at]) == step
            export = branch.run.keeper.session.folder / "story.md"
            transcripts.export(branch.run.keeper.session.recording, export)
            assert said in export.read_text(encoding="utf-8")

    drive(go())


def test_a_recording_says_that_there_is_nothing_to_keep():
    async def go():
        app, _ = replay_app()
        async with app.run_test(size=(100, 30), notifications=True) as pilot:
            await until(pilot, lambda: watch(pilot).view.ended)
            for key in "usgb":
                await pilot.press(key)
                assert app._notifications
                assert all("This is a recording" in told.message for told in app._notifications), key
                app.clear_notifications()

    drive(go())


def test_the_help_shows_keys_and_typed_commands(tmp_path):
    async def go():
        app = app_on(tmp_path, "play")
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, waiting(pilot, 0))
            await enter(pilot, "/help")
            await until(pilot, lambda: isinstance(app.screen, HelpDialog))
            text = app.screen._markdown
            for words in ("/save NAME", "undo: take", "save under a name", "go on from a save", "branch: go on"):
                assert words in text

    drive(go())


def test_without_any_session_that_is_said_and_nothing_is_listed(tmp_path, capsys):
    from jitrl_tui.cli import main

    assert main(["sessions", "--saves", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("no session yet")


def test_brackets_change_beta_at_the_decision_that_waits_and_what_if_applies_others(tmp_path):
    settings = Settings(step_limit=9, beta=2.0, estimator="knn")
    config = SessionConfig("pantry", model="prior/verbs", settings=settings, episodes=1)
    app = JitrlApp(lambda: _watch(sessions.create(tmp_path, config, "watch"), tmp_path), saves=tmp_path)

    async def go():
        async with app.run_test(size=(140, 45), notifications=True) as pilot:
            def beta():
                return watch(pilot).choice.decision.update.beta

            await until(pilot, lambda: watch(pilot).view.choice)
            await pilot.press("space")
            await until(pilot, lambda: waiting(pilot, watch(pilot).view.step)())
            await pilot.press("right_square_bracket")
            await until(pilot, lambda: beta() == 3.0)
            await until(pilot, lambda: "[ β 3 ]" in screen_text(app))
            assert "You changed settings here: beta 2 → 3." in screen_text(app)
            await pilot.press("left_square_bracket", "left_square_bracket")
            await until(pilot, lambda: beta() == 1.5)
            await pilot.press("backslash")
            await until(pilot, lambda: "[ k " in screen_text(app))
            k = watch(pilot).view.started.settings["k"]
            await pilot.press("right_square_bracket")
            await until(pilot, lambda: watch(pilot).view.started.settings["k"] > k)
            await pilot.press("K")
            await until(pilot, lambda: isinstance(app.screen, WhatIfScreen))
            await pilot.press("a")
            await until(pilot, lambda: "change one first" in screen_text(app))
            await pilot.press("right", "a")
            await until(pilot, lambda: beta() == 2.0)

    drive(go())
