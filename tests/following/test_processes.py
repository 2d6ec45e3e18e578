"""Real processes: a benchmark is played by one, and followed, taken in hand and handed back by others."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engine.bench import report
from engine.bench.follower import FollowedRun, RunFolder, find
from engine.records import Decided, SessionEnded, Steered
from engine.session import recording
from engine.session.remote import commands, presence
from engine.session.remote.followed import FolderSession, RemoteControl
from jitrl_tui.cli import main
from jitrl_tui.run_apps import BenchApp
from jitrl_tui.runs.bench_source import FollowedBench, StoredBench, source_of
from jitrl_tui.runs.home_contents import find_benches
from jitrl_tui.screens.follow import FollowScreen
from tests.commands import JITRL, Popen
from tests.tui.driving import until
from tests.tui.screen_text import screen_text

SUITE = """
title = "Followed"
tasks = ["pantry"]
models = ["prior/verbs"]
seeds = 1
episodes = 1000
steps = 10

[[arms]]
name = "Static"
agent = "static"
"""
HOLDER = """
import sys, time
from pathlib import Path
from engine.session.remote.followed import FolderSession, RemoteControl
from engine.session.remote.presence import read
folder = Path(sys.argv[1])
RemoteControl(FolderSession(folder), "the one that vanishes", 1.0).hold()
while read(folder).holder != "the one that vanishes":
    time.sleep(0.02)
print("held", flush=True)
time.sleep(60)
"""


def jitrl(*words: str) -> Popen:
    return Popen([JITRL, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def soon(condition, seconds: float = 60.0):
    """Wait until a condition holds, and return it."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)
    return found


def steps_of(folder: Path) -> int:
    """Return the number of steps in a recording, without reading it."""
    return (folder / recording.FILE_NAME).read_bytes().count(b'{"event":"Stepped"')


def events(folder: Path, kind: type) -> list:
    return [event for _, event in recording.read(folder) if isinstance(event, kind)]


def holder(session: Path) -> str:
    """Return who holds a session, "-" before its first sign of life."""
    sign = presence.read(session)
    return sign.holder if sign is not None else "-"


class Resting:
    """Holds a session where a test does not need it to go on, to save processor time."""

    def __init__(self, session: Path) -> None:
        self.hand, self.session = RemoteControl(FolderSession(session), "the tests", 600), session
        self.rest()

    def rest(self) -> None:
        self.hand.hold()
        soon(lambda: holder(self.session) == "the tests")

    @contextlib.contextmanager
    def awake(self):
        """Let the session go on in the block."""
        self.hand.hand_back()
        soon(lambda: holder(self.session) != "the tests")
        yield
        self.rest()


@contextlib.contextmanager
def played(saves):
    """Let another process play a benchmark with one cell, that rests: the process, the run, the session."""
    (saves / "suite.toml").write_text(SUITE)
    process = jitrl("bench", str(saves / "suite.toml"), "--name", "run", "--jobs", "1", "--saves", str(saves))
    run = saves / "bench" / "run"
    soon(lambda: list(run.glob("cells/*/000/commands.jsonl")) or process.poll() is not None)
    session = next(run.glob("cells/*/000"))
    yield process, run, session, Resting(session)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)


@pytest.fixture
def bench(tmp_path):
    """A benchmark that a test may end."""
    with played(tmp_path) as found:
        yield found


@pytest.fixture(scope="module")
def lasting(tmp_path_factory):
    """A benchmark that goes on, and rests between the tests."""
    with played(tmp_path_factory.mktemp("lasting")) as found:
        yield found


def test_a_cell_is_followed_taken_in_hand_overruled_and_handed_back_from_the_grid(lasting):
    process, run, session, resting = lasting
    app = BenchApp(FollowedBench(FollowedRun(RunFolder(run))))

    async def drive():
        async with app.run_test(size=(140, 45), notifications=True) as pilot:
            await until(pilot, lambda: app.bench.progress.counts["running"] == 1)
            assert f"following, read-only: {socket.gethostname()}, process {process.pid}" in screen_text(app)
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, FollowScreen) and app.screen.source.lives)
            screen = app.screen
            await until(pilot, lambda: screen.view.episode > 0)
            assert "Following, read-only: the tests holds the session. Played on" in screen_text(app)
            await pilot.press("space")
            refused = {"The session is held by the tests."}
            await until(pilot, lambda: {notice.message for notice in app._notifications} == refused)
            resting.hand.hand_back()
            await until(pilot, lambda: screen.source.sign.holder == "" and screen.view.activity != "paused")
            await pilot.press("space")
            await until(pilot, lambda: screen.source.held and screen.view.activity == "paused" and screen.view.pending)
            assert "The session is in your hand" in screen_text(app)

            at = screen.view.episode, screen.view.choice.decision.step
            await pilot.press("o")
            await until(pilot, lambda: "overrule a cell?" in screen_text(app))
            await pilot.press("enter")
            await until(pilot, lambda: "overrule" in screen_text(app) and app.screen is not screen)
            await pilot.press(*"dance", "enter")
            await until(pilot, lambda: b'"action":"dance"' in (session / "events.jsonl").read_bytes())
            await until(pilot, lambda: screen.view.activity == "paused" and screen.view.pending)
            decided = [event for event in events(session, Decided) if event.decision.action == "dance"]
            assert [((e.episode, e.decision.step), e.decision.by) for e in decided] == [(at, "person")]
            assert "dance" in screen_text(app)

            before = steps_of(session)
            await pilot.press(".")
            await until(pilot, lambda: steps_of(session) == before + 1)
            await pilot.press("space")
            await until(pilot, lambda: not screen.source.held and steps_of(session) > before + 10)
            resting.rest()
            await pilot.press("q")
            await until(pilot, lambda: app.screen is app.bench)
            await pilot.press("q")

    asyncio.run(asyncio.wait_for(drive(), 120))
    assert process.poll() is None  # leaving the follower leaves the run alone
    me = commands.who()
    assert [(e.command, e.accepted) for e in events(session, Steered) if e.by == me] == [
        ("hold", False), ("hold", True), ("overrule", True), ("step", True), ("hand back", True)]  # fmt: skip


def test_a_session_goes_on_by_itself_after_its_follower_was_killed(lasting):
    _, _, session, resting = lasting
    with resting.awake():
        killed = Popen([sys.executable, "-c", HOLDER, str(session)], stdout=subprocess.PIPE)
        assert killed.stdout.readline() == b"held\n"
        killed.kill()
        killed.wait()
        held = presence.read(session)
        assert held.holder == "the one that vanishes"
        soon(lambda: holder(session) == "")
        steps = steps_of(session)
        soon(lambda: steps_of(session) > steps)
    assert [e.command for e in events(session, Steered) if e.by == held.holder] == ["hold", "lapse"]


def test_home_follows_a_run_that_another_process_plays_and_reads_one_that_nobody_plays(bench):
    process, run, *_ = bench
    soon(lambda: [row.played for row in find_benches(run.parents[1])] == [True])
    assert isinstance(source_of(run), FollowedBench)
    process.kill()
    process.wait()
    assert [row.played for row in find_benches(run.parents[1])] == [False]
    assert isinstance(source_of(run), StoredBench)


def test_rubbish_among_the_commands_does_no_harm_to_the_session_that_is_played(lasting):
    process, _, session, resting = lasting
    with open(session / commands.FILE_NAME, "ab") as file:
        file.write(os.urandom(100_000) + b"\n" + b"{}\n" * 1000)
    steps = steps_of(session)
    with resting.awake():
        soon(lambda: steps_of(session) > steps)
    assert process.poll() is None


def test_plain_lines_of_a_run_end_with_the_run_and_the_report_leaves_an_overruled_cell_out(bench, capsys):
    process, run, session, resting = bench
    follower = jitrl("watch", "--follow", "run", "--plain", "--saves", str(run.parents[1]))
    first = follower.stdout.readline()
    assert "run: 1 cells" in first
    assert str(process.pid) in follower.stdout.readline()
    question = soon(lambda: presence.read(session).question)
    resting.hand.overrule(question, "dance")
    soon(lambda: any(event.decision.action == "dance" for event in events(session, Decided)))
    with resting.awake():  # until the episode has ended
        steps = steps_of(session)
        soon(lambda: steps_of(session) > steps + 10)
    resting.hand.stop()
    out, err = follower.communicate(timeout=60)
    assert (follower.returncode, err) == (0, "")
    assert "stopped" in out
    process.wait(60)
    assert events(session, SessionEnded)[-1].finished is False
    assert sorted(path.name for path in session.iterdir()) == ["events.jsonl", "memory", "session.json"]

    rows = [json.loads(line) for line in (run / "episodes.jsonl").read_text().splitlines()]
    assert sum(row["overruled"] for row in rows) == 1
    assert json.loads((session.parent / "cell.json").read_text())["overruled"] == 1
    assert "left out, because a person overruled the agent" in report.markdown(report.load(run))
    assert main(["watch", "--follow", str(run), "--plain"]) == 0  # also afterwards
    assert "0/1 cells, 1 stopped" in capsys.readouterr().out


def test_a_single_session_is_followed_by_its_name_and_ctrl_c_of_a_follower_leaves_it_alone(tmp_path):
    process = jitrl("run", "pantry", "--model", "prior/verbs", "--episodes", "400", "--steps", "10", "--fresh",
                    "--quiet", "--saves", str(tmp_path))  # fmt: skip
    session = soon(lambda: list(tmp_path.glob("sessions/*/live.json")))[0].parent
    resting = Resting(session)
    for named in (str(session), str(session / "events.jsonl")):
        assert find(tmp_path, session.name).folder.samefile(find(tmp_path, named).folder)
    follower = jitrl("watch", "--follow", session.name, "--plain", "--saves", str(tmp_path))
    other = jitrl("watch", "--follow", session.name, "--plain", "--saves", str(tmp_path))
    other.stdout.readline()
    other.send_signal(signal.SIGINT)
    other.communicate(timeout=60)
    assert other.returncode == 130
    steps = steps_of(session)
    with resting.awake():
        soon(lambda: steps_of(session) > steps)
    resting.hand.stop()
    out, err = follower.communicate(timeout=60)
    process.communicate(timeout=60)
    assert (follower.returncode, err) == (0, "")
    assert out.count("Agent: > ") == steps_of(session)
    assert "From elsewhere: stopped by the tests" in out
