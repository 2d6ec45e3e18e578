"""A terminal that closes ends `jitrl`, wherever it stands. SIGHUP reaches only its parent, as under `make play`."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

import pytest

from engine.records import Event, Stepped
from engine.session import recording
from engine.session import store as sessions
from engine.session.loop import Session
from jitrl_tui.cli import main
from tests.journeys.terminal import COMMAND, Terminal
from tests.playing import run

GAME = "pantry"
FAST = ("--model", "prior/uniform", "--episodes", "900", "--steps", "6")
SECONDS = 60.0
"""Longest wait for processes to end. They take some 4 s at most on a quiet machine."""


def family(pid: int) -> set[int]:
    """Return the descendants of a process."""
    found: set[int] = set()
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            found |= {child} | family(child)
    return found


def running(pids: set[int]) -> set[int]:
    """Return those of the processes that have not ended."""
    left = set()
    for pid in pids:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state != "Z":
            left.add(pid)
    return left


def left_over(pids: set[int], seconds: float = SECONDS) -> list[str]:
    """Wait for processes to end; kill those that have not, and return what they are and wait for."""
    end = time.monotonic() + seconds
    while running(pids) and time.monotonic() < end:
        time.sleep(0.05)
    left = running(pids)
    told = [f"{pid} {described(pid)}" for pid in sorted(left)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    return told


def described(pid: int) -> str:
    """Return the command line of a process, and where each of its threads waits in the kernel."""
    folder = Path(f"/proc/{pid}")
    try:
        waits = [task.read_text() for task in folder.glob("task/*/wchan")]
        return f"{(folder / 'cmdline').read_text().replace(chr(0), ' ')} {waits}"
    except OSError:
        return "has just ended"


def steps(saves: Path) -> list[Stepped]:
    """Return the recorded steps of the only session."""
    (file,) = (saves / "sessions").glob("*/events.jsonl")
    return [event for _, event in recording.read(file) if isinstance(event, Stepped)]


def verified(saves: Path) -> bool:
    """Return whether memory is whole."""
    return main(["memory", "verify", "--saves", str(saves)]) == 0


def closed(terminal: Terminal, workers: int) -> None:
    """Close the terminal, and check that nothing is left of what ran in it."""
    pids = {terminal.pid} | family(terminal.pid)
    assert len(pids) >= 2 + workers
    terminal.hang_up()
    assert not left_over(pids), "something still runs after the terminal has closed"


def nothing_lost(saves: Path) -> None:
    """Check that memory is intact, and that the session goes on from its last step."""
    before = steps(saves)
    assert verified(saves)
    (folder,) = (saves / "sessions").iterdir()
    taken = 0

    def on_event(session: Session, event: Event) -> None:
        nonlocal taken
        taken += isinstance(event, Stepped)
        if taken > len(before):
            session.control.stop()

    session, _ = run(sessions.load(folder), saves, on_event)
    assert session.error is None
    after = steps(saves)
    assert len(after) > len(before)
    assert after[: len(before)] == before


@pytest.mark.parametrize(
    ("keys", "resumed"),
    [
        (((" ", "PAUSED"), ("o", "What shall it do instead")), False),
        ((("f", "fast-forward"), ("60\r", "average")), True),
    ],
    ids=["asking", "forward"],
)
def test_the_watch_screen_ends_when_its_terminal_closes(tmp_path, keys, resumed):
    with Terminal("watch", GAME, *FAST, "--saves", str(tmp_path), columns=120, rows=40, led=True) as terminal:
        terminal.wait_for("step 2/", 60)
        for typed, shown in keys:
            terminal.send(typed)
            terminal.wait_for(shown, 60)
        closed(terminal, workers=1)
    assert verified(tmp_path)
    if resumed:
        nothing_lost(tmp_path)


def test_the_home_screen_ends_when_its_terminal_closes(tmp_path):
    with Terminal("--saves", str(tmp_path), led=True) as terminal:
        terminal.wait_for("Press Enter to watch it learn", 60)
        closed(terminal, workers=0)


def test_a_run_begun_on_the_home_screen_ends_when_its_terminal_closes(tmp_path):
    env = {"JITRL_MODEL": "prior/uniform"}
    with Terminal("--saves", str(tmp_path), env=env, led=True) as terminal:
        terminal.wait_for("Press Enter to watch it learn", 60)
        terminal.send("\r")
        terminal.wait_for("episode 1/50", 60)
        closed(terminal, workers=0)


@pytest.mark.parametrize("plain", [(), ("--plain",)], ids=["screen", "plain"])
def test_playing_ends_when_the_terminal_closes(tmp_path, plain):
    saves = ("--saves", str(tmp_path))
    with Terminal("play", GAME, *plain, "--model", "prior/uniform", *saves, led=True) as terminal:
        terminal.wait_for(lambda text: "Your turn" in text or "your command (" in text, 60)
        terminal.send("look\r")
        terminal.wait_for(lambda text: "You: > look" in text or "> look   (you)" in text, 60)
        closed(terminal, workers=1)
    assert [step.action for step in steps(tmp_path)] == ["look"]
    assert verified(tmp_path)


def test_lines_without_a_screen_end_when_the_terminal_closes(tmp_path):
    saves = ("--saves", str(tmp_path))
    plain = {"JITRL_PLAIN": "1"}
    with Terminal("watch", GAME, *FAST, *saves, env=plain, led=True) as terminal:
        terminal.wait_for("Agent: >", 60)
        closed(terminal, workers=1)
    assert verified(tmp_path)


def test_a_run_with_its_progress_on_a_terminal_stops_when_that_closes(tmp_path):
    saves = ("--saves", str(tmp_path))
    with Terminal("run", GAME, *FAST, *saves, led=True) as terminal:
        terminal.wait_for(lambda text: re.search(r"episode ([2-9]|\d\d+)/900", text), 60)
        closed(terminal, workers=1)
    nothing_lost(tmp_path)


def test_a_run_under_nohup_goes_on_when_its_terminal_closes(tmp_path):
    command = ("/usr/bin/nohup", *COMMAND)
    out = tmp_path / "out"
    shell = ("/bin/sh", "-c", f'"$@" >{out} 2>&1', "sh", *command)
    args = ("run", GAME, "--model", "prior/uniform", "--episodes", "8", "--steps", "6", "--saves", str(tmp_path))
    with Terminal(*args, command=shell) as terminal:
        while "episode 1/8" not in (out.read_text() if out.exists() else ""):
            time.sleep(0.05)
        pids = family(terminal.pid)
        terminal.hang_up()
        assert not left_over(pids, 60)
    assert "episode 8/8" in out.read_text()


@pytest.mark.parametrize(
    ("plain", "number"), [("", signal.SIGTERM), ("1", signal.SIGHUP)], ids=["screen", "plain"]
)
def test_a_signal_ends_play_and_its_dialogs_with_the_terminal_as_it_was(tmp_path, plain, number):
    saves = ("--saves", str(tmp_path))
    words = ("play", GAME, "--model", "prior/uniform", *saves)
    with Terminal(*words, env={"JITRL_PLAIN": plain}) as terminal:
        before = terminal.modes()
        terminal.wait_for(lambda text: "Your turn" in text or "your command (" in text, 60)
        if not plain:
            terminal.send("\x10")
            terminal.wait_for("Search for commands")
        pids = {terminal.pid} | family(terminal.pid)
        os.kill(terminal.pid, number)
        terminal.wait_for_exit(SECONDS)
        assert not left_over(pids)
        assert terminal.modes() == before
    assert verified(tmp_path)
