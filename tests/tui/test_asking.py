"""A person steers a real session on the watch screen: questions, vetoes, breakpoints, hand-over, redo, the end."""

from __future__ import annotations

import asyncio
import random
import time

from engine.environments import profile
from engine.records import Candidate, Decided, EpisodeEnded, Stepped, Tally
from engine.session import orders, recording
from engine.session import store as sessions
from engine.session.orders import ALWAYS, BREAKPOINTS, NEVER, Orders
from engine.session.rules import parse
from engine.settings import SessionConfig
from jitrl_tui.app import JitrlApp, _watch, live_source
from jitrl_tui.runs.source import Inbox
from jitrl_tui.screens.run_dialogs import BreakpointsDialog
from tests.tui import stream
from tests.tui.driving import PATIENCE_S, live_app, replay_app, settled, still, until, watch
from tests.tui.screen_text import screen_text

SIZES = [(80, 24), (140, 45), (200, 60)]


def drive(coroutine) -> None:
    asyncio.run(asyncio.wait_for(coroutine, 120))


def real(saves, standing=None, *, kind="watch", steps=12, episodes=2):
    """Return an app on a real session of a shipped game, and the session."""
    settings = profile("default", step_limit=steps)
    config = SessionConfig(game="pantry", model="prior/verbs", episodes=episodes, settings=settings)
    saved = sessions.create(saves, config, kind)
    orders.give(saved.folder, standing or Orders())
    return JitrlApp(lambda: _watch(saved, saves), saves=saves), saved


def told(saved):
    """Return the decisions that were carried out, and the events of a session."""
    events = [event for _, event in recording.read(saved.recording)]
    last, made = None, []
    for event in events:
        if isinstance(event, Decided):
            last = event.decision
        elif isinstance(event, Stepped):
            made.append(last)
    return made, events


def asked(screen, step):
    return lambda: screen.view.asks and screen.view.choice.decision.step == step


def test_each_step_is_shown_and_waits_for_enter_space_another_or_a_veto(tmp_path):
    async def go():
        app, saved = real(tmp_path, Orders(ALWAYS))
        async with app.run_test(size=SIZES[0]) as pilot:
            screen = watch(pilot)
            await until(pilot, asked(screen, 0))
            action = screen.view.choice.decision.action
            for size in (SIZES[0], SIZES[2]):
                await pilot.resize_terminal(*size)
                text = await settled(pilot)
                assert f"Shall the agent do this: {action}" in text
                for key in ("Enter yes", "o another", "X veto it here", "f hand over", "a ask no more"):
                    assert key in text
                assert "ASKS YOU" in text.splitlines()[0]
            await pilot.press("X")
            await until(pilot, lambda: screen.view.asks and screen.view.choice.decision.vetoed)
            text = screen_text(app)
            assert f"Vetoed in this state: '{action}'" in " ".join(text.split())
            assert screen.view.choice.decision.action != action
            assert f"✗ {action[:8]}" in text
            await pilot.press("enter")
            await until(pilot, asked(screen, 1))
            await pilot.press("space")
            await until(pilot, asked(screen, 2))
            await pilot.press(".")
            await until(pilot, asked(screen, 3))
            await pilot.press("o", *"sing", "enter")
            await until(pilot, asked(screen, 4))
            text = screen_text(app)
            assert "> sing   (you)" in text
            assert [p.by for p in screen.view.paragraphs if p.kind == "command"] == [*["approved"] * 3, "you"]
        made, _ = told(saved)
        assert [one.reason for one in made] == ["approved", "approved", "approved", "typed"]
        assert made[0].vetoed == (action,)

    drive(go())


def test_one_burst_of_approvals_approves_one_step(tmp_path):
    async def go():
        app, saved = real(tmp_path, Orders(ALWAYS))
        async with app.run_test(size=SIZES[1]) as pilot:
            screen = watch(pilot)
            await until(pilot, asked(screen, 0))
            for _ in range(5):  # before the screen has heard of the next question
                screen.commands["approve"]()
                screen.commands["toggle_pause"]()
                screen.commands["step_once"]()
            await until(pilot, asked(screen, 1))
            await pilot.pause(0.2)
            assert len(told(saved)[0]) == 1

    drive(go())


def test_random_keys_make_no_move_that_nobody_asked_for(tmp_path):
    keys = ["space", "full_stop", "n", "enter", "a", "x", "X", "u", "U", "o", "escape", "plus", "left", "right", "z",
            "down", "up", "tab", "w", "m", "t", "c", "1", "d", "question_mark", "slash", "y", "backspace", "s",
            "p"]  # fmt: skip

    async def go():
        app, saved = real(tmp_path, Orders(ALWAYS), steps=60)
        rng = random.Random(1)
        async with app.run_test(size=SIZES[0]) as pilot:
            screen = watch(pilot)
            await until(pilot, asked(screen, 0))
            for _ in range(30):
                key = rng.choice(keys)
                if key == "a" and app.screen is screen:
                    screen.source.control.order(Orders(ALWAYS))
                    continue
                await pilot.press(key)
                if app.screen is not screen and rng.random() < 0.5:
                    await pilot.press("escape")
            while app.screen is not screen:
                await pilot.press("escape")
            screen.source.control.order(Orders(ALWAYS))
            await until(pilot, lambda: screen.view.asks)
            await pilot.press("escape", "space")
            await until(pilot, lambda: told(saved)[0])
            assert app._exception is None
        assert {one.by for one in told(saved)[0]} == {"person"}

    drive(go())


def test_a_key_that_comes_before_the_session_has_begun_keeps_its_breakpoints(tmp_path):
    _, saved = real(tmp_path, Orders(NEVER, (parse("episode=2"),)))
    source = live_source(saved, tmp_path)  # nothing runs yet
    assert source.control.orders == Orders(NEVER, (parse("episode=2"),))
    source.control.order(Orders(NEVER))
    source.pause()
    source.start(Inbox(lambda: None))
    try:
        end = time.monotonic() + PATIENCE_S
        while orders.load(saved.folder) != Orders(NEVER):
            assert time.monotonic() < end
            time.sleep(0.01)
    finally:
        source.stop()
        assert source.wait(PATIENCE_S)


def test_a_changes_when_it_asks_and_the_session_remembers_it(tmp_path):
    async def go():
        app, saved = real(tmp_path, Orders(NEVER, (parse("episode=2"),)), steps=30)
        async with app.run_test(size=SIZES[1]) as pilot:
            screen = watch(pilot)
            await pilot.press("a")
            await until(pilot, lambda: screen.view.asks and orders.load(saved.folder).ask == ALWAYS)
            steps = len(told(saved)[0])
            await pilot.press("a")
            await until(pilot, lambda: screen.view.question and not screen.view.asks)
            await until(pilot, lambda: orders.load(saved.folder) == Orders(BREAKPOINTS, (parse("episode=2"),)))
            await pilot.press("a")
            await until(pilot, lambda: orders.load(saved.folder).ask == NEVER)
            await pilot.pause(0.1)
            assert len(told(saved)[0]) == steps  # what waited still waits
            await pilot.press("space")
            await until(pilot, lambda: screen.view.activity != "paused")

    drive(go())


def test_breakpoints_are_set_and_removed_in_their_window(tmp_path):
    async def go():
        app, saved = real(tmp_path, Orders(ALWAYS))
        async with app.run_test(size=SIZES[0]) as pilot:
            screen = watch(pilot)
            await until(pilot, asked(screen, 0))
            await pilot.press("x")
            await until(pilot, lambda: isinstance(app.screen, BreakpointsDialog))
            text = await settled(pilot)
            for written in ("score", "new-place", "entropy>X", "danger>X", "command:WORDS", "episode=N"):
                assert written in text
            assert "in this session" in text
            await pilot.press("enter")  # the first kind: score
            await pilot.press(*"entropy>lots", "enter")
            assert "needs a number of nats" in " ".join((await settled(pilot)).split())
            await pilot.press("ctrl+u", *"entropy>1.2", "enter")
            await still(pilot)
            assert orders.load(saved.folder).rules == (parse("score"), parse("entropy>1.2"))
            assert "● entropy>1.2" in screen_text(app)
            await pilot.press("enter")  # the first one that is set: score
            await still(pilot)
            assert orders.load(saved.folder).rules == (parse("entropy>1.2"),)
            for _ in range(4):
                await pilot.press("down")
            await pilot.press("enter")  # entropy>X: it is begun for the person
            assert app.screen.query_one("Input").value == "entropy>"
            await pilot.press("escape")
            await still(pilot)
            assert app.screen is screen
            assert screen.view.choice.decision.step == 0

    drive(go())


def test_a_breakpoint_pauses_a_fast_forward_and_the_banner_says_why(tmp_path):
    async def go():
        app, saved = real(tmp_path, Orders(ALWAYS, (parse("episode=2"),)), steps=4)
        async with app.run_test(size=SIZES[0]) as pilot:
            screen = watch(pilot)
            await until(pilot, asked(screen, 0))
            await pilot.press("f")
            text = await settled(pilot)
            assert "until a breakpoint stops it" in text
            assert "10 steps, then wait for me" in text
            await pilot.press("down", "down", "enter")
            await until(pilot, lambda: screen.view.episode == 2 and asked(screen, 0)())
            assert "Breakpoint episode=2: episode 2 begins." in screen_text(app)
            # An earlier step is shown without what the session waits for now.
            await pilot.press("left")
            text = await settled(pilot)
            assert "Breakpoint episode=2" not in text
            assert "Shall the agent do this" not in text
            assert "The session asks about a later step: Esc goes there." in text
            await pilot.press("escape")
            assert "Shall the agent do this" in await settled(pilot)
            await pilot.press("f", "2", "down", "enter")
            await until(pilot, asked(screen, 2))
        made, _ = told(saved)
        assert [(one.by, one.reason) for one in made] == [
            ("person", "handed over until a breakpoint"),
            ("agent", "handed over until a breakpoint"),
            ("agent", "handed over until a breakpoint"),
            ("agent", "handed over until a breakpoint"),
            ("person", "handed over for 2 steps at breakpoint episode=2"),
            ("agent", "handed over for 2 steps"),
        ]

    drive(go())


def test_u_takes_back_and_shift_u_takes_again_and_shift_e_ends_the_episode(tmp_path):
    async def go():
        app, saved = real(tmp_path, Orders(ALWAYS))
        async with app.run_test(size=SIZES[1]) as pilot:
            screen = watch(pilot)
            await until(pilot, asked(screen, 0))
            await pilot.press("o", *"sing", "enter")
            await until(pilot, asked(screen, 1))
            await pilot.press("u")
            await until(pilot, asked(screen, 0))
            await pilot.press("U")
            await until(pilot, asked(screen, 1))
            made, _ = told(saved)
            assert [(one.action, one.provenance, one.reason) for one in made] == [
                ("sing", "human", "typed"), ("sing", "human", "taken again; typed")
            ]  # fmt: skip
            await pilot.press("E")
            assert "Episode 1 ends here, after 1 step." in await settled(pilot)
            await pilot.press("escape")
            await still(pilot)
            assert screen.view.episode == 1
            await pilot.press("E", "enter")
            await until(pilot, lambda: screen.view.episode == 2 and screen.view.asks)
            assert "(ended by you)" in " ".join(screen_text(app).split())
        _, events = told(saved)
        (ended,) = (event for event in events if isinstance(event, EpisodeEnded))
        assert (ended.steps, ended.truncated, ended.ended_by) == (1, True, "person")

    drive(go())


def test_where_a_person_plays_steps_can_be_handed_over_and_control_returns(tmp_path):
    async def go():
        app, saved = real(tmp_path, kind="play", episodes=1)
        async with app.run_test(size=SIZES[0]) as pilot:
            screen = watch(pilot)
            await until(pilot, lambda: screen.view.question)
            await pilot.press(*"/auto 3", "enter")
            await until(pilot, lambda: screen.view.question and screen.view.step == 3)
            await pilot.press("enter")
            await until(pilot, lambda: screen.view.question and screen.view.step == 4)
            await pilot.press(*"/undo", "enter")
            await until(pilot, lambda: screen.view.question and screen.view.step == 3)
            await pilot.press(*"/redo", "enter")
            await until(pilot, lambda: screen.view.question and screen.view.step == 4)
        made, _ = told(saved)
        assert [one.by for one in made] == ["person", "agent", "agent", "person", "person"]
        assert [one.reason for one in made[3:]] == ["approved", "taken again; approved"]

    drive(go())


def test_o_before_the_first_decision_shows_the_first_one(tmp_path):
    async def go():
        app, saved = real(tmp_path)
        async with app.run_test(size=SIZES[0]) as pilot:
            screen = watch(pilot)
            assert screen.view.choice is None
            await pilot.press("o")
            await until(pilot, lambda: "What shall it do instead" in screen_text(app))
            await pilot.press(*"sing", "enter")
            await until(pilot, lambda: "> sing   (you)" in screen_text(app))
        assert told(saved)[0][0].action == "sing"

    drive(go())


def test_an_action_drawn_at_random_is_told_in_transcript_status_and_reasons():
    events = stream.run(1, 3)
    at = next(i for i, event in enumerate(events) if isinstance(event, Decided))
    made = events[at].decision
    drawn = made.__class__(
        0, made.state, made.valid_actions, (Candidate("go north", 0.0, "random"),), (1.0,), (1.0,), 0, "go north",
        note="the model gave no usable option and memory is empty here: drew from the valid actions",
        tally=Tally(asked=1, missing=1, random=1),
    )  # fmt: skip
    events[at] = Decided(1, drawn)

    async def go():
        app, _ = live_app(events=events, delay=600.0)
        async with app.run_test(size=SIZES[1]) as pilot:
            screen = watch(pilot)
            await until(pilot, lambda: screen.view.pending)
            text = " ".join(screen_text(app).split())
            assert "drawn at random 1×, also now" in text
            assert "'go north' was drawn at random from the valid actions" in text
            transcript = " ".join(paragraph.text for paragraph in screen.view.paragraphs)
            assert "drawn at random from the valid actions: the model gave no usable option" in transcript
            assert text.count("was drawn at random from") == 2
            await pilot.press(".")
            await until(pilot, lambda: screen.view.choice.decision.step == 1)
            assert "drawn at random 1×" in screen_text(app)
            assert "also now" not in screen_text(app)

    drive(go())


def test_a_recording_shows_who_decided_and_refuses_to_be_steered(tmp_path):
    async def go():
        app, saved = real(tmp_path, Orders(ALWAYS), steps=2, episodes=1)
        async with app.run_test(size=SIZES[1]) as pilot:
            screen = watch(pilot)
            await until(pilot, asked(screen, 0))
            await pilot.press("enter")
            await until(pilot, asked(screen, 1))
            await pilot.press("o", *"sing", "enter")
            await until(pilot, lambda: screen.view.ended)
        _, events = told(saved)
        app, _ = replay_app(events)
        async with app.run_test(size=SIZES[1], notifications=True) as pilot:
            await until(pilot, lambda: watch(pilot).view.ended)
            text = " ".join(screen_text(app).split())
            assert "(approved)" in text
            assert "By you: typed." in text
            for key in ("a", "X", "x", "E", "U"):
                await pilot.press(key)
            await still(pilot)
            assert {notice.message for notice in app._notifications} == {
                "This is a recording: what happened cannot be changed."
            }
            assert len(app.screen_stack) == 2

    drive(go())


def test_what_comes_too_late_is_not_done_and_the_screen_says_so(tmp_path):
    async def go():
        app, saved = real(tmp_path)
        async with app.run_test(size=SIZES[1], notifications=True) as pilot:
            screen = watch(pilot)
            await until(pilot, lambda: screen.view.choice)
            await pilot.press("o")
            await until(pilot, lambda: screen.view.activity == "paused" and screen.view.pending)
            screen.view.question += 1  # as if the decision had been made again since the screen heard of one
            await pilot.press(*"dance", "enter")
            await until(pilot, lambda: "too late for 'dance': the decision does not wait" in said(app))
            assert screen.view.activity == "paused"  # although the session ran before
            await pilot.press("o", *"jump")
            screen.source.control.stop()
            await until(pilot, lambda: screen.view.activity == "ended")
            await pilot.press("enter")
            await until(pilot, lambda: "too late for 'jump': the session is over" in said(app))
            await pilot.press("]")
            await until(pilot, lambda: "over, so its settings cannot be changed" in said(app))
            assert not saved.recording.exists()  # a session without a step is not kept

    def said(app):
        return " ".join(screen_text(app).split())

    drive(go())
