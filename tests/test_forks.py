"""Stories' processes are forks of one that has imported everything: what they have, and how all of them end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engine import forks
from engine.games.catalogue import open_game

pytestmark = [
    pytest.mark.skipif(not forks.available(), reason="forks are of Linux"),
    pytest.mark.usefixtures("own_interpreters"),
]
ROOT = Path(__file__).resolve().parents[1]


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def files(pid: int) -> list[str]:
    """Return what a process has open, apart from the places where that stands."""
    names = (os.readlink(file).split(":")[0] for file in Path(f"/proc/{pid}/fd").iterdir())
    return sorted(name for name in names if name != "/dev/null")


@pytest.fixture
def two():
    games = [open_game("pantry") for _ in range(2)]
    for game in games:
        game.reset(1)
    yield games
    for game in games:
        game.close()


def test_a_fork_has_its_own_two_descriptors_and_no_folder(two):
    # The memory of the note is mapped, which takes a descriptor of its own.
    assert [files(game.worker.pid) for game in two] == [["/memfd", "/memfd", "socket"]] * 2
    assert all(os.readlink(f"/proc/{game.worker.pid}/cwd").endswith("(deleted)") for game in two)
    assert parent(two[0].worker.pid) == parent(two[1].worker.pid) != os.getpid()


def test_a_story_goes_on_after_the_process_that_forks_was_killed(two):
    server = parent(two[0].worker.pid)
    before = [game.step("look").text for game in two]
    old = [game.worker.pid for game in two]
    os.kill(server, signal.SIGKILL)
    while any(map(runs, (server, *old))):  # they end with it, a moment later
        time.sleep(0.01)
    assert [game.step("look").text for game in two] == before
    new = {parent(game.worker.pid) for game in two}
    assert server not in new
    assert len(new) == 1


def test_forks_with_other_variables_come_from_another_process(two, monkeypatch):
    monkeypatch.setenv("LC_TIME", "de_DE.UTF-8")
    other = open_game("pantry")
    try:
        assert "LC_TIME=de_DE.UTF-8" in Path(f"/proc/{other.worker.pid}/environ").read_text()
        assert two[0].step("look").text == two[1].step("look").text
    finally:
        other.close()


PROGRAM = """
import os, sys
from engine.games.catalogue import open_game
game = open_game("pantry")
game.reset(1)
"""


def program(code: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM + code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


@pytest.mark.parametrize("how", ["killed", "ended"])
def test_nothing_outlives_the_program_not_even_a_process_that_is_stopped(how):
    with program("print(game.worker.pid, flush=True)\nsys.stdin.read()\nos._exit(0)") as running:
        worker = int(running.stdout.readline())
        server = parent(worker)
        os.kill(worker, signal.SIGSTOP)
        if how == "killed":
            running.kill()
        else:
            running.stdin.close()
    end = time.monotonic() + 60
    while (runs(worker) or runs(server)) and time.monotonic() < end:
        time.sleep(0.01)
    assert (runs(worker), runs(server)) == (False, False)


def test_a_fork_of_the_program_leaves_its_game_alone_and_has_games_of_its_own():
    code = """
first = game.worker.pid
if (child := os.fork()) == 0:
    other = open_game("pantry")
    print("Kitchen" in other.reset(1).text, other.worker.pid, flush=True)
    sys.stdin.readline()
    sys.exit()
print(first, flush=True)
code = os.waitpid(child, 0)[1]
print(code, "Kitchen" in game.step("look").text, game.worker.pid == first)
"""
    with program(code) as running:
        (first,), (played, other) = sorted((running.stdout.readline().split() for _ in range(2)), key=len)
        assert played == "True"
        assert parent(int(first)) != parent(int(other))
        assert running.communicate("\n", timeout=120)[0].split() == ["0", "True", "True"]
