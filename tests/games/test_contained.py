"""The rights of a story's process: what the kernel says of a real one."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engine import forks
from engine.games.catalogue import open_game
from engine.games.zmachine.process import StoryWorkerLost, WorkerProcess
from jitrl_tui.cli import main
from tests import commands

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="confinement and /proc are of Linux"),
    pytest.mark.usefixtures("own_interpreters"),
]


@pytest.fixture(scope="module")
def saves(tmp_path_factory):
    return tmp_path_factory.mktemp("saves")


@pytest.fixture(scope="module")
def game(saves):
    """One for all tests: its process is started as it is for people."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(commands, "_place", "")
        forks.forget()
        patch.setenv("OPENAI_API_KEY", "sk-not-for-stories")
        patch.setenv("SOME_OTHER_VARIABLE", "x")
        game = open_game("pantry", saves=saves)
    yield game
    game.close()


def about(game, file: str) -> str:
    return Path(f"/proc/{game.worker.pid}/{file}").read_text()


def fields(game) -> dict[str, str]:
    return dict(line.split(":\t", 1) for line in about(game, "status").splitlines() if ":\t" in line)


def test_a_storys_process_has_no_keys_in_its_environment(game):
    environment = about(game, "environ")
    assert "PYTHONPATH=" in environment
    assert "sk-not-for-stories" not in environment
    assert "SOME_OTHER_VARIABLE" not in environment


def test_a_storys_process_can_gain_no_privileges_and_is_filtered(game):
    status = fields(game)
    assert status["NoNewPrivs"].strip() == "1"
    if "Seccomp" not in status:
        pytest.skip("this kernel has no seccomp")
    assert status["Seccomp"].strip() == "2"
    assert status["Threads"].strip() == "1"


def test_a_storys_process_may_open_few_files_and_start_none(game):
    pid = game.worker.pid
    assert resource.prlimit(pid, resource.RLIMIT_NOFILE) == (64, 64)
    assert resource.prlimit(pid, resource.RLIMIT_NPROC) == (0, 0)
    assert resource.prlimit(pid, resource.RLIMIT_CORE) == (0, 0)
    assert resource.prlimit(pid, resource.RLIMIT_AS) == (2**30, 2**30)


def test_without_a_cache_a_storys_process_writes_no_file():
    game = open_game("pantry")
    try:
        assert resource.prlimit(game.worker.pid, resource.RLIMIT_FSIZE) == (0, 0)
        assert game.reset(1).text
    finally:
        game.close()


def test_a_confined_process_that_is_killed_is_replaced_by_another_confined_one(game):
    game.reset(1)
    first = game.worker.pid
    game.worker._process.kill()
    game.worker._process.wait(60)
    assert game.step("look").text
    assert game.worker.pid != first
    assert fields(game)["NoNewPrivs"].strip() == "1"
    assert game.confined is not None


def test_what_is_kept_between_sessions_lies_in_a_folder_of_its_own(game, saves):
    game.reset(1)
    game.valid_actions()
    assert [path.name for path in (saves / "cache").iterdir()] == ["games"]
    assert list((saves / "cache" / "games").glob("actions-*.sqlite"))


def test_the_doctor_says_what_is_in_force(game, capsys, saves):
    main(["doctor", "--saves", str(saves)])
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "story process" in line]
    assert line.endswith(str(game.confined))
    assert line.startswith("ok" if game.confined.complete else "warn")


def in_place_of_the_worker(code: str):
    """Let code run as the process of a story; it finds its descriptors in sys.argv."""
    real = subprocess.Popen
    patch = pytest.MonkeyPatch()
    patch.setattr(forks, "available", lambda: False)
    patch.setattr(
        subprocess, "Popen", lambda command, **given: real([*command[:2], "-c", code, *command[4:]], **given)
    )
    return patch


@pytest.mark.parametrize(
    "frame",
    ["b'\\xff' * 8", "struct.pack('<II', 400_000, 0) + b'[' * 400_000", "struct.pack('<II', 3, 0) + b'{]}'"],
)
def test_a_process_that_answers_with_no_frame_of_sane_size_has_crashed(frame):
    patch = in_place_of_the_worker(f"""
import os, socket, struct, sys, time
socket.socket(fileno=int(sys.argv[1])).sendall({frame})
time.sleep(600)
""")
    try:
        worker = WorkerProcess()
    finally:
        patch.undo()
    began = time.monotonic()
    with pytest.raises(StoryWorkerLost, match="the game crashed"):
        worker.ask({"do": "save"}, 300.0)
    assert time.monotonic() - began < 60
    assert worker._process.poll() is not None


def test_a_story_plays_alike_where_the_kernel_confines_nothing(game, tmp_path):
    code = """
import os, sys
import engine.confine as confine, engine.games.zmachine.worker as worker
worker.confine = lambda *paths: confine.Confinement(False, 0, False)
worker.main(int(sys.argv[1]), int(sys.argv[2]))
"""
    texts = [game.reset(1).text, game.step("east").text, game.valid_actions()]
    patch = in_place_of_the_worker(code)
    try:
        other = open_game("pantry", saves=tmp_path / "other")
    finally:
        patch.undo()
    try:
        assert not other.confined.seccomp
        assert [other.reset(1).text, other.step("east").text, other.valid_actions()] == texts
    finally:
        other.close()
