"""The watch screen, driven by keys at two sizes."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import time

from engine.errors import GameError
from engine.records import Decided, Notice, Observation, Paused, Stepped
from engine.session.control import Control
from jitrl_tui.screens.dialogs import OverruleDialog
from jitrl_tui.widgets.command import CommandLine
from tests.tui import stream
from tests.tui.driving import live_app, replay_app, settled, still, until, watch
from tests.tui.screen_text import screen_text

SMALL, LARGE = (80, 24), (140, 45)


def drive(coroutine) -> None:
    asyncio.run(asyncio.wait_for(coroutine, 240))


def test_a_recording_plays_to_its_end_and_every_size_shows_what_matters():
    async def go():
        app, _ = replay_app()
        async with app.run_test(size=SMALL) as pilot:
            await until(pilot, lambda: watch(pilot).view.ended)
            for size in (SMALL, (100, 26), (100, 30), (160, 45), LARGE):
                await pilot.resize_terminal(*size)
                matters(watch(pilot).view, await settled(pilot), size)
            numbers(watch(pilot).view.choice.decision, screen_text(app))

    def matters(view, text, size):
        assert "Zork I" in text
        assert "episode 2/2" in text
        assert "local/smollm2" in text
        assert f"score {view.seen.score:.0f}/350" in text
        assert "step 8/8" in text
        assert "16 remembered" in text
        assert "Session over: 2 episodes" in text
        assert "space" in text.splitlines()[-1]
        assert "leave" in text.splitlines()[-1]
        assert f"▸ {view.choice.decision.action[:10]}" in text
        for line in text.splitlines():
            assert len(line) <= size[0] + 8  # combining signs take no cell

    def numbers(decision, text):
        for title in ("transcript", "candidates", "why", "memory", "learning curve"):
            assert title in text
        for index, candidate in enumerate(decision.candidates):
            row = next(
                below for line, below in itertools.pairwise(text.splitlines())
                if f" {candidate.action} " in line and "│" in line and "→ z" in below
            )  # fmt: skip
            z = "(0.00)" if candidate.source == "memory" else f"{candidate.z:+.2f}".replace("-", "−")
            assert z in row
            assert f"{decision.update.z_prime[index]:+.2f}".replace("-", "−") in row
            assert f"{decision.prior[index]:.0%}" in text
            assert f"{decision.posterior[index]:.0%}" in text
        for neighbour in decision.update.neighbours[:3]:
            assert f"{neighbour.similarity:.2f}" in text
        assert decision.update.equation[:20] in text

    drive(go())


def test_panes_are_tabs_when_small_and_digits_letters_and_tab_reach_them():
    async def go():
        app, _ = replay_app()
        async with app.run_test(size=SMALL) as pilot:
            await until(pilot, lambda: watch(pilot).view.ended)
            assert "[candidates]" in screen_text(app)
            await pilot.press("4")
            await still(pilot)
            assert "[memory]" in screen_text(app)
            assert "ep/step" in screen_text(app)
            await pilot.press("l")
            await still(pilot)
            assert "[learning curve]" in screen_text(app)
            assert "best" in screen_text(app)
            await pilot.press("z")
            await still(pilot)
            assert "Session over" not in screen_text(app)
            await pilot.press("escape")
            await still(pilot)
            assert "Session over" in screen_text(app)
            before = app.focused
            await pilot.press("tab")
            assert app.focused is not before

    drive(go())


def test_space_pauses_and_goes_on_and_n_makes_one_step():
    async def go():
        app, session = live_app(delay=600.0)
        async with app.run_test(size=LARGE) as pilot:
            screen = watch(pilot)
            await until(pilot, lambda: screen.view.pending)
            await pilot.press("space")
            await until(pilot, lambda: screen.view.activity == "paused")
            assert "PAUSED" in screen_text(app)
            assert "go on" in screen_text(app)
            assert not session.carried_out
            for count in (1, 2):
                await pilot.press(".")
                await until(pilot, lambda: len(session.carried_out) == count)  # noqa: B023
                await until(pilot, lambda: screen.view.activity == "paused" and screen.view.pending)
            await pilot.press("space")
            await until(pilot, lambda: len(session.carried_out) == 3 and screen.view.activity != "paused")

    drive(go())


def test_o_overrules_with_a_picked_candidate_and_with_a_typed_command():
    async def go():
        app, session = live_app(delay=600.0)
        async with app.run_test(size=LARGE) as pilot:
            screen = watch(pilot)
            await until(pilot, lambda: screen.view.pending)
            await pilot.press("space")
            await until(pilot, lambda: screen.view.activity == "paused")
            await pilot.press("o")
            await until(pilot, lambda: "overrule" in screen_text(app) and "as yours" in screen_text(app))
            await pilot.press("down", "enter")
            await until(pilot, lambda: len(session.carried_out) == 1)
            second = screen.view.choices[0].decision.candidates[1].action
            assert session.carried_out == [("human", second)]
            await until(pilot, lambda: screen.view.activity == "paused" and screen.view.pending)
            assert "(you)" in screen_text(app)
            await pilot.press("o", *"xyzzy", "enter")
            await until(pilot, lambda: len(session.carried_out) == 2)
            assert session.carried_out[1] == ("human", "xyzzy")
            # A space in the dialog is text, not pause; a filter finds a valid action.
            await until(pilot, lambda: screen.view.activity == "paused" and screen.view.pending)
            await pilot.press("o", *"go e", "enter")
            await until(pilot, lambda: len(session.carried_out) == 3)
            assert session.carried_out[2] == ("human", "go east")

    drive(go())


def test_an_overruled_step_lets_the_run_go_on_and_the_next_decision_keeps_its_delay(monkeypatch):
    """A session that is still paused when its action is given comes to the next decision before the call returns."""
    answer = Control.answer

    def slowly(control, question, *given, **named):
        told = answer(control, question, *given, **named)
        while control.paused and (control.held is None or control.held.question == question):
            time.sleep(0.001)
        return told

    async def go():
        app, session = live_app(delay=600.0)
        monkeypatch.setattr(Control, "answer", slowly)
        async with app.run_test(size=LARGE) as pilot:
            screen = watch(pilot)
            await until(pilot, lambda: screen.view.pending)
            await pilot.press("o")
            await until(pilot, lambda: screen.view.question)
            await pilot.press("down", "enter")
            await until(pilot, lambda: screen.view.step == 1 and screen.view.pending)
            assert not session.control.paused
            assert len(session.carried_out) == 1

    drive(go())


def test_o_while_running_opens_at_once_for_the_decision_that_waits_and_esc_lets_it_go_on():
    async def go():
        app, session = live_app(delay=0.25, events=stream.run(1, 200))
        async with app.run_test(size=LARGE) as pilot:
            screen = watch(pilot)
            await until(pilot, lambda: len(session.carried_out) > 0)
            await pilot.press("o")
            assert isinstance(app.screen, OverruleDialog)
            await until(pilot, lambda: screen.view.activity == "paused" and screen.view.pending)
            count, wanted = len(session.carried_out), screen.view.choice.decision.action
            await until(pilot, lambda: f"The agent wants to: {wanted}." in " ".join(screen_text(app).split()))
            await pilot.press("escape")
            await until(pilot, lambda: len(session.carried_out) > count + 1)
            assert all(by != "human" for by, _ in session.carried_out)

    drive(go())


def test_f_hurries_to_the_end_of_the_episode_and_through_n():
    async def go():
        app, session = live_app(delay=600.0, events=stream.run(5, 6))
        async with app.run_test(size=SMALL) as pilot:
            screen = watch(pilot)
            await until(pilot, lambda: screen.view.pending)
            await pilot.press("f", "enter")
            await until(pilot, lambda: screen.view.episode == 2 and screen.view.pending)
            assert len(session.carried_out) == 6
            await pilot.press("f", "2", "enter")
            await until(pilot, lambda: screen.view.episode == 5 and screen.view.pending)
            assert len(session.carried_out) == 24
            assert "fast-forward" not in screen_text(app)

    drive(go())


def test_plus_and_minus_change_the_speed():
    async def go():
        app, _ = live_app(delay=1.0)
        async with app.run_test(size=LARGE) as pilot:
            screen = watch(pilot)
            await until(pilot, lambda: screen.view.pending)
            assert "1 s a step" in screen_text(app)
            await pilot.press("plus")
            await still(pilot)
            assert "0.5 s a step" in screen_text(app)
            await pilot.press("minus", "minus")
            await still(pilot)
            assert "2 s a step" in screen_text(app)

    drive(go())


def test_seeking_in_a_recording_shows_the_past_and_plays_on_from_there():
    async def go():
        app, source = replay_app(stream.run(3, 6))
        async with app.run_test(size=LARGE) as pilot:
            screen = watch(pilot)
            await until(pilot, lambda: screen.view.ended)
            await pilot.press("left")
            await until(pilot, lambda: screen.view.ended is None and screen.view.activity == "paused")
            assert (screen.view.episode, screen.view.step) == (3, 5)
            assert screen.view.pending
            assert "Session over" not in screen_text(app)
            source.seek_to(0.0)
            await until(pilot, lambda: screen.view.episode == 1 and screen.view.activity == "paused")
            assert "Episode 1 of 3" in screen_text(app)
            assert "1/19" in screen_text(app)
            await pilot.press("right_square_bracket")
            await until(pilot, lambda: screen.view.episode == 2 and screen.view.activity == "paused")
            await pilot.press("space")
            await until(pilot, lambda: screen.view.ended)
            assert list(screen.view.scores) == [e.score for e in stream.run(3, 6) if hasattr(e, "flips")]

    drive(go())


def test_markup_and_control_characters_are_shown_as_text():
    nasty = "[inventory] [/b] [@click=app.quit]x[/] \x1b[2J\x07 [bold red]not red[/]"

    async def go():
        events = [
            dataclasses.replace(
                e,
                action="say [b]hi[/b]",
                observation=dataclasses.replace(e.observation, text=nasty, place="[r]Room[/r]"),
            )
            if isinstance(e, Stepped)
            else e
            for e in stream.run(1, 3)
        ]
        events = [
            dataclasses.replace(e, decision=dataclasses.replace(e.decision, why=nasty, note=nasty))
            if isinstance(e, Decided)
            else e
            for e in events
        ]
        app, _ = replay_app([*events[:-1], Notice("warning", nasty), events[-1]])
        async with app.run_test(size=LARGE) as pilot:
            await until(pilot, lambda: watch(pilot).view.ended)
            text = screen_text(app)
            assert "[inventory] [/b] [@click=app.quit]x[/]" in text
            assert "[bold red]not" in text
            assert "> say [b]hi[/b]" in text
            assert "[r]Room[/r]" in text
            assert "\x1b" not in text
            assert "\x07" not in text

    drive(go())


def test_an_error_notice_and_a_crash_become_one_clear_sentence_in_a_window(tmp_path):
    async def go(crash, sentence):
        app, _ = live_app(crash=crash, events=stream.run(1, 2)[:-1], saves=tmp_path)
        async with app.run_test(size=SMALL) as pilot:
            await until(pilot, lambda: "this cannot go on" in screen_text(app))
            for part in sentence.split("; "):
                assert part in " ".join(screen_text(app).split())
            await pilot.press("escape")
            await until(pilot, lambda: "this cannot go on" not in screen_text(app))
            assert "stopped by an error" in screen_text(app)
            await pilot.press("q")
            await until(pilot, lambda: app._exit)
            assert app.return_value == 1
            assert any(sentence in str(left) for left in app._exit_renderables)  # it stays to be read

    drive(go(GameError("the story stopped answering; start it again"), "the story stopped answering"))
    assert not (tmp_path / "log").exists()
    drive(go(ZeroDivisionError("boom"), "ZeroDivisionError"))
    (report,) = (tmp_path / "log").glob("jitrl-crash-*.txt")  # what a report of the bug needs
    assert "in run" in report.read_text()


def test_what_only_a_person_can_mend_is_shown_in_a_banner():
    async def go():
        reason = "the key for gemini was refused; set GEMINI_API_KEY"
        app, _ = live_app(events=[*stream.run(1, 2)[:3], Notice("warning", reason), Paused(reason)])
        async with app.run_test(size=SMALL) as pilot:
            await until(pilot, lambda: watch(pilot).view.activity == "paused")
            assert reason in screen_text(app)
            assert "space tries again" in screen_text(app)

    drive(go())


def test_a_window_that_is_too_small_says_so_and_recovers():
    async def go():
        app, _ = replay_app()
        async with app.run_test(size=SMALL) as pilot:
            await until(pilot, lambda: watch(pilot).view.ended)
            for size in ((59, 24), (80, 17), (20, 5)):
                await pilot.resize_terminal(*size)
                text = await settled(pilot)
                assert str(size[0]) in text
                assert "transcript" not in text
                await pilot.resize_terminal(80, 24)
                await until(pilot, lambda: "transcript" in screen_text(app))

    drive(go())


def test_q_stops_the_session_and_leaves_at_any_moment():
    async def go(*keys):
        app, session = live_app(delay=600.0)
        async with app.run_test(size=SMALL) as pilot:
            await until(pilot, lambda: watch(pilot).view.pending)
            await pilot.press(*keys)
            await asyncio.to_thread(session.ended.wait, 10)
            assert session.ended.is_set()
            await until(pilot, lambda: app._exit)
            assert app.return_value == 0

    for keys in (("q", "q"), ("ctrl+c",)):
        drive(go(*keys))


def test_slash_finds_a_place_in_the_transcript_and_goes_there():
    async def go():
        app, _ = replay_app(stream.run(6, 12))
        async with app.run_test(size=SMALL) as pilot:
            await until(pilot, lambda: watch(pilot).view.ended)
            await pilot.press("slash", *"Episode 2 of")
            await until(pilot, lambda: "episode 2 " in screen_text(app))
            await pilot.press("enter")
            await until(pilot, lambda: "━━ Episode 2 of 6" in screen_text(app))
            assert "Session over" not in screen_text(app)

    drive(go())


def test_the_window_of_the_prompt_opens_and_closes():
    async def go():
        app, _ = replay_app()
        async with app.run_test(size=LARGE) as pilot:
            await until(pilot, lambda: watch(pilot).view.ended)
            await pilot.press("p")
            await until(pilot, lambda: "USER: What now?" in screen_text(app))
            assert "1. open mailbox 72" in screen_text(app)
            assert "812 tokens in" in screen_text(app)
            await pilot.press("escape")
            await until(pilot, lambda: "learning curve" in screen_text(app))

    drive(go())


def test_a_burst_of_events_leaves_the_screen_responsive(frames):
    """12,000 steps arrive at once; the loop that answers keys is never away for long."""
    step = next(e for e in stream.run(1, 1) if isinstance(e, Stepped))
    opening = stream.run(1, 1)[:2]
    many = [dataclasses.replace(step, step=i, observation=Observation("Time passes.")) for i in range(12_000)]

    async def beat(gaps: list[float]) -> None:
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.005)
            gaps.append(time.monotonic() - before)

    async def go():
        app, _ = live_app(events=[*opening, *many])
        gaps: list[float] = []
        async with app.run_test(size=LARGE) as pilot:
            screen = watch(pilot)
            pulse = asyncio.create_task(beat(gaps))
            await until(pilot, lambda: screen.view.step == 12_000)
            pulse.cancel()
            # Had the burst been folded in one go, the loop would hardly have come round at all.
            assert len(gaps) > 10
            assert len(screen.view.paragraphs) <= 2_000
            assert len(screen.panes.transcript._paragraphs) <= 2_500

    drive(go())


def playing(go):
    """Run `go(pilot, screen, session)` on a play screen that waits at its first decision."""

    async def run():
        app, session = live_app(play=True)
        async with app.run_test(size=LARGE) as pilot:
            screen = watch(pilot)
            await until(pilot, lambda: screen.view.activity == "paused" and screen.view.pending)
            await go(pilot, screen, session)

    drive(run())


def test_tab_completes_a_command_with_valid_actions_one_after_the_other_and_stays_in_the_line():
    async def go(pilot, screen, session):
        line = screen.query_one(CommandLine)
        valid = screen.view.choice.decision.valid_actions
        first = valid[0][:1]
        matching = [action for action in valid if action.startswith(first)]
        assert len(matching) > 1
        await pilot.press(first)
        for action in [*matching, matching[0]]:
            await pilot.press("tab")
            assert (line.value, screen.focused) == (action, line)
        await pilot.press("shift+tab")
        assert line.value == matching[-1]
        await pilot.press("ctrl+u", *"qqq", "tab")
        assert (line.value, screen.focused) == ("qqq", line)
        assert session.carried_out == []

    playing(go)


def test_the_agent_does_not_move_after_tab_escape_and_space():
    async def go(pilot, screen, session):
        line = screen.query_one(CommandLine)
        await pilot.press(*"take p", "tab", "escape")
        assert screen.focused is line
        await pilot.press("ctrl+u", *"dance wildly", "enter")
        await until(pilot, lambda: len(session.carried_out) == 1)
        await until(pilot, lambda: screen.view.activity == "paused" and screen.view.pending)
        await pilot.press("f2")
        assert screen.focused is not line
        await pilot.press("space")
        await still(pilot)
        assert screen.focused is line
        assert session.carried_out == [("human", "dance wildly")]

    playing(go)


def test_overruling_before_the_first_decision_says_that_there_is_none():
    async def go():
        app, _ = live_app([])
        async with app.run_test(size=LARGE) as pilot:
            await pilot.press("o")
            await until(pilot, lambda: "There is no decision yet" in screen_text(app))

    drive(go())


def test_a_decision_that_comes_while_the_window_is_laid_out_is_in_its_sentence_too(monkeypatch):
    usual = OverruleDialog.compose

    def compose(dialog):
        yield from usual(dialog)
        dialog.show(decision)

    async def go():
        app, _ = live_app([])
        async with app.run_test(size=LARGE) as pilot:
            app.push_screen(OverruleDialog(None))
            await until(pilot, lambda: isinstance(app.screen, OverruleDialog))
            text = await settled(pilot)
            assert f"The agent wants to: {decision.action}" in text
            assert "There is no decision yet" not in text

    decision = next(event.decision for event in stream.run(1, 2) if isinstance(event, Decided))
    monkeypatch.setattr(OverruleDialog, "compose", compose)
    drive(go())
