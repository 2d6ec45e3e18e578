"""The race: in lines, as JSON, and on the screen, while it is run and again."""

from __future__ import annotations

import asyncio
import json

import pytest

from engine.errors import ModelError
from engine.session import race as races
from jitrl_tui.cli import main
from jitrl_tui.run_apps import RunApp
from jitrl_tui.runs import tape
from jitrl_tui.runs.race_source import LiveRace, RecordedRace
from jitrl_tui.runs.race_view import RaceView
from jitrl_tui.screens.compare import CompareScreen
from jitrl_tui.screens.race import RaceScreen
from tests.tui.driving import settled, until
from tests.tui.screen_text import screen_text

STEPS = 6
ARMS = ("--arm", "a=random", "--arm", "static", "--arm", "k=jitrl:estimator=knn,beta=1,model=prior/verbs")


def command(saves, capsys, *words):
    code = main(["race", "--saves", str(saves), *words])
    return code, *capsys.readouterr()


def new(saves, capsys, *words):
    return command(
        saves, capsys, "pantry", "--model", "prior/uniform", "--episodes", "1", "--steps", str(STEPS), *words
    )


@pytest.fixture(scope="module")
def raced(tmp_path_factory):
    """A saves folder with a race of three that was run as JSON; and what was printed."""
    import contextlib
    import io

    saves, out = tmp_path_factory.mktemp("race"), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        assert main(["race", "--saves", str(saves), "pantry", "--model", "prior/uniform", "--episodes", "1",
                     "--steps", str(STEPS), *ARMS, "--json"]) == 0  # fmt: skip
    return saves, races.load(saves, races.saved_races(saves)[0]), json.loads(out.getvalue())


def test_arms_have_settings_and_a_model_of_their_own(raced):
    _, race, found = raced
    assert [racer.name for racer in race.racers] == ["a", "static", "k"]
    knn = race.racers[2].session.config
    assert (knn.settings.estimator, knn.settings.beta, knn.model, knn.memory) == ("knn", 1.0, "prior/verbs", "own")
    assert [one["model"] for one in found["racers"]][1:] == ["prior/uniform", "prior/verbs"]
    assert all(len(one["scores"]) == 1 and one["state"] == "finished" for one in found["racers"])


def test_a_recorded_race_is_told_again_in_lines_in_the_order_of_the_racers(raced, capsys):
    saves, race, found = raced
    code, out, err = command(saves, capsys, "--replay", race.name)
    steps = [line for line in out.splitlines() if line[0].isdigit()]
    assert (code, err) == (0, "")
    assert [line.split(":")[0] for line in steps[:4]] == ["1.1 A a", "1.1 B static", "1.1 C k", "1.2 A a"]
    assert len(steps) == 3 * STEPS
    parted = f"They parted at episode 1, step {found['first']['step'] + 1}: "
    assert out.count(parted) == 2  # where it happened, and at the end
    assert f"score {found['racers'][0]['final']:g}" in out


def test_a_race_in_lines_says_how_it_is_shown_again(tmp_path, capsys):
    code, out, err = new(tmp_path, capsys, "--arm", "random", "--arm", "b=random")
    assert code == 0
    assert "All have done the same so far." in out
    (name,) = races.saved_races(tmp_path)
    assert err == f"show it again with: jitrl race --replay {name}\n"


def test_without_arms_the_default_agent_races_the_model_alone(tmp_path, capsys):
    code, out, _ = command(tmp_path, capsys, "pantry", "--model", "prior/uniform", "--steps", "2", "--episodes", "1")
    assert code == 0
    first = [line.split(":")[0] for line in out.splitlines() if line[0].isdigit()][:2]
    assert set(first) == {"1.1 A static", "1.1 B jitrl"}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("pantry", "--arm", "static"), "a race has 2 to 4 racers, not 1"),
        (("pantry", "--arm", "static", "--arm", "static"), "two racers are named 'static'"),
        (("pantry", "--arm", "statc", "--arm", "random"), "--arm statc: "),
        (("pantry", "--arm", "jitrl:beta=x", "--arm", "random"), "--arm jitrl:beta=x: beta must be a number"),
        (("pantry", "--arm", "jitrl:nothing=1", "--arm", "random"), "--arm jitrl:nothing=1: "),
        (("pantry", "--arm", "=jitrl", "--arm", "random"), "the name before = is empty"),
        (("nowhere-game", "--arm", "jitrl", "--arm", "random"), "nowhere-game"),
        (("--replay", "nothing"), "there is no race 'nothing'; none was run"),
        ((), "which game?"),
        (("pantry", "--replay", "x"), "leave out GAME"),
    ],
)
def test_a_race_that_cannot_be_is_refused_in_a_sentence_and_leaves_nothing(tmp_path, capsys, words, sentence):
    code, out, err = command(tmp_path, capsys, *words)
    assert code != 0
    assert out == ""
    assert sentence in err
    assert err.count("\n") == 1
    assert not (tmp_path / "sessions").exists()


# -------------------------------------------------------------------------------------------- screen


def drive(coroutine) -> None:
    asyncio.run(asyncio.wait_for(coroutine, 90))


def test_a_recorded_race_goes_step_by_step_forth_and_back(raced):
    saves, race, _ = raced

    async def go():
        source = RecordedRace(race, delay=0.0, paused=True)
        app = RunApp(RaceScreen(source, race, saves, delay=0.0, paused=True))
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: source.progress[1] > 3)
            for step in (2, 3, 4):
                await pilot.press(".")
                await until(pilot, lambda step=step: source.progress[0] == step)
            await until(pilot, lambda: [racer.view.step for racer in app.screen.view.racers] == [2, 2, 2])
            await pilot.press("left")
            await until(pilot, lambda: [racer.view.step for racer in app.screen.view.racers] == [1, 1, 1])
            text = await settled(pilot)
            assert "‖ paused" in text
            for words in ("A a", "B static", "C k", "score ", "avg ", "episode 1/1"):
                assert words in text
            assert " tokens" not in text  # no language model was asked
            assert "go on" in text.splitlines()[-1]
            await pilot.press("space")
            await until(pilot, lambda: "■ over" in screen_text(app))
            assert not {"pause", "go on", "step", "faster"} & set(screen_text(app).splitlines()[-1].split())
            assert "≠ They parted at episode 1" in screen_text(app)
            assert "average of each arm" in screen_text(app)
            await pilot.press("z")
            assert [column.display for column in app.screen.query("RacerColumn")] == [True, False, False]
            await pilot.press("z", "V")
            await until(pilot, lambda: "A a and B static" in screen_text(app))
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, CompareScreen))
            await pilot.press("q")
            await until(pilot, lambda: isinstance(app.screen, RaceScreen))
            await pilot.press("question_mark", "question_mark")
            await until(pilot, lambda: "Two to four agents play one game" in screen_text(app))
            await pilot.press("escape", "plus", "minus", "d", "q")
            await until(pilot, lambda: not app.is_running or app.screen.ending.message, 10)

    drive(go())


@pytest.mark.parametrize("apart", [2, 200])
def test_any_position_of_a_recorded_race_shows_what_folding_so_far_shows(raced, apart, monkeypatch):
    monkeypatch.setattr(tape, "APART", apart)
    _, race, _ = raced
    source, told = RecordedRace(race, delay=0.0), [one for each in races.moments(race) for one in each]
    source.load()
    for position in (len(told), 5, 30, 12, 1, 0, len(told)):
        seen, wanted = source.view_at(position), RaceView(race)
        for one in told[:position]:
            wanted.fold(one)
        assert (seen.diverged, seen.apart) == (wanted.diverged, wanted.apart)
        for one, other in zip(seen.racers, wanted.racers, strict=True):
            assert (one.name, one.last, one.state) == (other.name, other.last, other.state)
            assert (one.view.paragraphs, one.view.seen) == (other.view.paragraphs, other.view.seen)


def test_a_race_is_run_on_the_screen_and_one_that_fails_is_marked(tmp_path, capsys, monkeypatch):
    from engine.agents.static import StaticAgent

    decide = StaticAgent.decide

    def broken(agent, turn, rng):
        if agent.name == "static" and turn.step == 2:
            raise ModelError("the model is gone")
        return decide(agent, turn, rng)

    monkeypatch.setattr(StaticAgent, "decide", broken)

    async def go():
        import argparse

        from jitrl_tui.commands.race import arm

        args = argparse.Namespace(
            game="pantry", model="prior/uniform", profile="default", changes=[], steps=STEPS, episodes=1, seed=1,
            games=None, shared=False,
        )  # fmt: skip
        race = races.create(tmp_path, [arm("random", args), arm("static", args)])
        source = LiveRace(race, tmp_path)
        app = RunApp(RaceScreen(source, race, tmp_path, delay=4.0))
        async with app.run_test(size=(100, 30), notifications=True) as pilot:
            racers = app.screen.view.racers
            await pilot.press("space")
            await until(pilot, lambda: all(racer.view.pending for racer in racers))
            await pilot.press(".")
            await until(pilot, lambda: [racer.view.step for racer in racers] == [1, 1])
            await pilot.press("left")
            await until(pilot, lambda: "cannot be undone" in screen_text(app))
            await pilot.press(*["minus"] * 3, *["plus"] * 9, "space")
            await until(pilot, lambda: "✗ 1 failed" in screen_text(app))
            await until(pilot, lambda: racers[0].state == "finished")
            text = await settled(pilot)
            assert "the model is gone" in text
            assert racers[0].view.scores
            assert racers[1].state == "failed"
            assert racers[1].view.step == 2
            await until(pilot, lambda: source.wait(0))
            assert source.exit_code == 1

    drive(go())
