"""What the watch screen can do, done without a screen: services with a run and a place for messages."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from engine.records import Decided
from jitrl_tui.command_table import do
from jitrl_tui.runs.replay import ReplaySource
from jitrl_tui.runs.source import Source
from jitrl_tui.screens.levers import RECORDING, Levers
from jitrl_tui.screens.play import PlayHelp
from jitrl_tui.screens.player import FAR_BACK, SPEEDS, RunPlayer, next_stop
from jitrl_tui.screens.saves import Saves
from jitrl_tui.screens.shown_run import ShownRun
from jitrl_tui.screens.steer import SteerCommands
from tests.tui import stream


class Said:
    """Stands where a screen would: it keeps messages, windows and the number of drawings."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.windows: list[object] = []
        self.drawn = 0
        self.app = SimpleNamespace(push_screen=lambda window, answered=None: self.windows.append(window),
                                   remember=lambda key, value: None)  # fmt: skip
        self.ending = SimpleNamespace(message="")

    def notify(self, message: str, **how: object) -> None:
        self.told.append(message)

    def redraw(self) -> None:
        self.drawn += 1


class Live(Source):
    """A source that only notes what it is told."""

    live = True

    def __init__(self) -> None:
        super().__init__("live")
        self.heard: list[str] = []

    def work(self) -> None:
        """Do nothing."""

    def stop(self) -> None:
        """Do nothing."""

    def pause(self) -> None:
        self.heard.append("pause")

    def resume(self) -> None:
        self.heard.append("resume")

    def step_once(self) -> None:
        self.heard.append("step")

    def set_delay(self, seconds: float) -> None:
        self.heard.append(f"delay {seconds:g}")


@pytest.fixture
def said() -> Said:
    return Said()


def run_of(source: Source, said: Said) -> ShownRun:
    """Return a run after three episodes of the stream."""
    run = ShownRun(source, said.redraw)
    run.view.fold_all(stream.run(3, 6))
    return run


def test_looking_back_and_on_ends_at_the_present(said):
    run = run_of(Live(), said)
    player = RunPlayer(run, said)
    made = [(event.episode, event.decision.step) for event in stream.run(3, 6) if isinstance(event, Decided)]
    seen = []
    for _ in range(4):
        player.look(-1)
        seen.append((run.choice.episode, run.choice.decision.step))
    assert seen == made[-2:-6:-1]
    assert run.back is not None
    for _ in range(5):
        player.look(1)
    assert (run.back, run.shown) == (None, run.view)
    player.go_to_step(*made[0])
    assert (run.choice.episode, run.choice.decision.step) == made[0]
    player.go_to_step(99, 1)
    assert said.told == [FAR_BACK]


def test_the_player_steers_a_live_run_and_keeps_to_its_speeds(said):
    source = Live()
    run = run_of(source, said)
    player = RunPlayer(run, said, delay=1.0)
    run.view.activity = "running"
    player.toggle_pause()
    run.view.activity = "paused"
    player.toggle_pause()
    player.step_once()
    player.faster()
    for _ in SPEEDS:
        player.slower()
    assert source.heard[:4] == ["pause", "resume", "step", "delay 0.5"]
    assert player.delay == max(SPEEDS)


@pytest.mark.parametrize(("now", "by", "wanted"), [(1.0, 1, 2.0), (1.1, -1, 0.5), (0.0, -1, 0.0), (90.0, 1, 8.0)])
def test_a_speed_goes_to_the_next_stop(now, by, wanted):
    assert next_stop(SPEEDS, now, by) == wanted


def test_a_recording_says_what_cannot_be_done_and_does_nothing(said):
    run = run_of(ReplaySource(lambda: []), said)
    steering, saves, levers, play_help = (kind(run, said) for kind in (SteerCommands, Saves, Levers, PlayHelp))
    for act in (steering.veto, steering.redo, steering.end_episode, steering.ask, steering.breakpoints):
        act()
    assert {*said.told} == {"This is a recording: what happened cannot be changed."}
    said.told.clear()
    for act in (saves.save, saves.load, saves.take_back, saves.branch):
        act()
    assert {*said.told} == {"This is a recording: there is nothing to save or to undo."}
    said.told.clear()
    levers.turn(1)
    play_help.hint()
    play_help.notes("a note")
    play_help.export("x.md")
    assert said.told == [
        RECORDING, "This is a recording: → shows what was done next.", "There is no place for notes here.",
        "There is nothing on disk to write a transcript from.",
    ]  # fmt: skip
    assert said.windows == []


def test_a_command_is_done_with_what_its_name_and_the_person_give():
    done = []
    commands = {"look": lambda by: done.append(by), "pane": lambda name: done.append(name),
                "save": lambda name="": done.append(name)}  # fmt: skip
    for action, *typed in (("look(-1)",), ("pane('why')",), ("save", "a b"), ("save",)):
        assert do(commands, action, *typed)
    assert done == [-1, "why", "a b", ""]
    assert not do(commands, "app.settings")
    assert not do(commands, "unknown(1)")
