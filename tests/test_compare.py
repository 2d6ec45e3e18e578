"""Two sessions side by side: where they part, and why."""

from __future__ import annotations

import asyncio
import dataclasses
import json

import pytest

from engine.records import Decided, Stepped
from engine.session import branches, recording
from engine.session import store as sessions
from engine.session.compare import (
    ACTION,
    ALONE,
    ANSWER,
    SAME,
    ComparedOption,
    ComparedStep,
    SessionStep,
    compare,
    reason,
)
from engine.settings import SessionConfig, Settings
from jitrl_tui.cli import main
from jitrl_tui.screens.compare import CompareScreen, others
from tests.playing import only, run
from tests.tui.driving import replay_app, settled, until, watch
from tests.tui.screen_text import screen_text

STEPS = 8


def events(saved):
    return [event for _, event in recording.read(saved.folder)]


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """A saves folder, a session of two episodes, and a branch in which a person did something else in step 4 of
    episode 1.
    """
    saves = tmp_path_factory.mktemp("compare")
    config = SessionConfig(
        game="pantry", agent="random", model="prior/uniform", episodes=2, settings=Settings(step_limit=STEPS)
    )
    source = sessions.create(saves, config, "run")
    run(source, saves)
    branch = branches.branch(saves, source, (1, 3))

    def person(session, event):
        if isinstance(event, Decided) and event.episode == 1 and event.decision.step == 3:
            session.control.override("look")

    run(branch, saves, person)
    return saves, source, branch


def test_a_session_is_the_same_as_itself(played):
    _, source, _ = played
    found = compare(events(source), events(source))
    assert found.first is None
    assert [row.kind for row in found.rows] == [SAME] * 2 * STEPS
    assert found.others == {}
    assert found.next(0, 1) is None


def test_a_branch_differs_from_where_the_person_overruled(played):
    _, source, branch = played
    found = compare(events(source), events(branch))
    assert [row.kind for row in found.rows[:4]] == [SAME, SAME, SAME, ACTION]
    row = found.rows[found.first]
    assert (row.episode, row.step, row.right.action, row.right.provenance) == (1, 3, "look", "human")
    assert reason(row) == "A person decided in B."
    steps = {(event.episode, event.step): event for event in only(events(source), Stepped)}
    for each in found.rows:
        told = steps[each.episode, each.step]
        assert (each.left.action, each.left.score) == (told.action, told.observation.score)
    decisions = {(e.episode, e.decision.step): e.decision for e in only(events(source), Decided)}
    for option, candidate, p in zip(
        row.left.options, decisions[1, 3].candidates, decisions[1, 3].posterior, strict=True
    ):
        assert (option.action, option.after) == (candidate.action, p)


def test_steps_are_aligned_by_episode_where_one_of_them_is_shorter(played):
    _, source, _ = played
    whole = events(source)
    shorter = [e for e in whole if not (isinstance(e, (Decided, Stepped)) and e.episode == 1 and at(e) >= 5)]
    found = compare(whole, shorter)
    alone = [(row.episode, row.step) for row in found.rows if row.kind == ALONE]
    assert alone == [(1, 5), (1, 6), (1, 7)]
    assert all(row.kind == SAME for row in found.rows if row.episode == 2)
    assert (found.rows[found.first].episode, found.rows[found.first].step) == (1, 5)
    assert found.next(found.first, 1) == found.first + 1
    assert found.next(found.first, -1) is None
    assert reason(found.rows[found.first]).startswith("Only A has this step")


def at(event):
    return event.decision.step if isinstance(event, Decided) else event.step


def test_the_same_action_with_another_answer_is_told(played):
    _, source, _ = played
    changed = [
        dataclasses.replace(e, observation=dataclasses.replace(e.observation, text="Something else."))
        if isinstance(e, Stepped) and (e.episode, e.step) == (2, 2)
        else e
        for e in events(source)
    ]
    found = compare(events(source), changed)
    row = found.rows[found.first]
    assert (row.episode, row.step, row.kind) == (2, 2, ANSWER)
    assert "answered differently" in reason(row)


def side(action, before=(0.5, 0.5), after=(0.5, 0.5), actions=("go", "wait"), **changes):
    options = tuple(ComparedOption(name, *p) for name, p in zip(actions, zip(before, after, strict=True), strict=True))
    return SessionStep(**{"action": action, "provenance": "agent", "seen": "a room", "answer": "", "score": 0.0,
                          "reward": 0.0,
                   "options": options, **changes})  # fmt: skip


@pytest.mark.parametrize(
    ("left", "right", "words"),
    [
        (side("go"), side("wait"), "the draw was different"),
        (side("go", after=(0.9, 0.1)), side("wait"), "memory changed them differently"),
        (side("go", before=(0.9, 0.1)), side("wait"), "model's own probabilities differ"),
        (side("go"), side("hop", actions=("go", "hop")), "weighed different actions"),
        (side("go", seen="a hall"), side("wait"), "different situations"),
        (side("go", provenance="human"), side("wait"), "A person decided in A."),
    ],
)
def test_the_reason_for_a_difference_is_the_first_that_holds(left, right, words):
    assert words in reason(ComparedStep(1, 0, left, right))


# ------------------------------------------------------------------------------------------- command


def command(played, capsys, *words):
    saves, source, branch = played
    code = main(["compare", "--saves", str(saves), source.name, branch.name, *words])
    return code, capsys.readouterr().out


def test_the_command_prints_lines_without_a_terminal(played, capsys):
    code, out = command(played, capsys)
    assert code == 0
    assert "They first differ in episode 1, step 4. A person decided in B." in out
    assert "\n1.3 = " in out
    assert "\n1.4 ≠ A " in out
    assert "| B look (a person)" in out
    assert out.count("\nEpisode ") == 2


def test_the_command_prints_json(played, capsys):
    code, out = command(played, capsys, "--json")
    found = json.loads(out)
    assert code == 0
    assert (found["first"]["episode"], found["first"]["step"]) == (1, 3)
    assert found["rows"][3]["b"]["action"] == "look"
    assert [one["action"] for one in found["rows"][3]["weighed"]] == [found["rows"][3]["a"]["action"], "look"]


@pytest.mark.parametrize("name", ["nowhere", "../x"])
def test_a_session_that_is_not_there_is_one_sentence(played, capsys, name):
    saves, source, _ = played
    assert main(["compare", "--saves", str(saves), source.name, name]) == 2
    assert "there is no recording at" in capsys.readouterr().err


# -------------------------------------------------------------------------------------------- screen


def test_branches_are_offered_first(played):
    saves, source, branch = played
    assert others(saves, source.folder)[0].name == branch.name
    assert others(saves, branch.folder)[0].name == source.name


def test_the_key_opens_the_screen_at_the_first_difference_and_its_keys_move(played):
    saves, source, _ = played

    async def go():
        app, replay = replay_app(events(source), paused=True)
        async with app.run_test(size=(120, 40), notifications=True) as pilot:
            await until(pilot, lambda: watch(pilot).view.choice)
            watch(pilot).run.recorded = saves, source.folder
            await pilot.press("V")
            await until(pilot, lambda: f"branch of {source.name} at 1:3" in screen_text(app))
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, CompareScreen))
            screen, text = app.screen, await settled(pilot)
            assert "Episode 1, step 4: another action, for the first time." in text
            assert "A person decided in B." in text
            assert "▸" in text
            rows = screen.rows
            assert rows.at == 3
            await pilot.press("n")
            assert rows.at == screen._comparison.next(3, 1)
            await pilot.press("right_square_bracket")
            assert rows.row.episode == 2
            await pilot.press("left_square_bracket")
            assert rows.at == 3
            await pilot.press("end", "N")
            assert rows.at < len(screen._comparison.rows) - 1
            await pilot.press("home", "f")
            assert rows.at == 3
            await pilot.press("question_mark", "question_mark")
            await until(pilot, lambda: "Two sessions side by side" in screen_text(app))
            await pilot.press("escape", "escape")
            await until(pilot, lambda: app.screen is watch(pilot))
            replay.stop()

    asyncio.run(asyncio.wait_for(go(), 90))


def test_a_recording_without_sessions_beside_it_says_so():
    async def go():
        app, replay = replay_app(paused=True)
        async with app.run_test(size=(100, 30), notifications=True) as pilot:
            await until(pilot, lambda: watch(pilot).view.choice)
            await pilot.press("V")
            await until(pilot, lambda: "no other sessions beside this" in screen_text(app))
            replay.stop()

    asyncio.run(asyncio.wait_for(go(), 60))
