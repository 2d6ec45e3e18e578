"""A command that is forked for a test is what the same command is when an interpreter starts it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from engine import forks
from engine.games.catalogue import open_game
from tests import commands
from tests.test_forks import parent

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks are of Linux")

SHOWN = """
import os, sys
print(sys.argv, sys.path, os.getcwd(), __name__, os.environ.get("A_VARIABLE"), sys.stdin.isatty(), sys.stdout.encoding)
print(sorted(os.listdir("/proc/self/fd"))[:3], os.getpgrp() == os.getsid(0), os.umask(0))
print(input(), file=sys.stderr)
sys.exit(int(sys.argv[1]))
"""


@pytest.mark.parametrize(
    "words",
    [
        [sys.executable, "-c", SHOWN, "3", "ünd"],
        [sys.executable, "-P", "-c", SHOWN, "0"],
        [sys.executable, "-m", "jitrl_tui.cli", "run", "no-such-game"],
        [sys.executable, "-m", "tests.memory.crowd"],
        [commands.JITRL, "--version"],
    ],
    ids=["code", "safe code", "module", "other module", "program"],
)
def test_a_fork_says_and_ends_as_a_process_that_was_started(words, tmp_path):
    how = {"input": "a line\n", "capture_output": True, "text": True, "cwd": tmp_path, "start_new_session": True,
           "env": {**os.environ, "A_VARIABLE": "ä", "PYTHONPATH": "/nowhere"}}  # fmt: skip
    started = subprocess.run(words, check=False, **how)
    forked = commands.run(words, **how)
    assert (forked.returncode, forked.stdout) == (started.returncode, started.stdout)
    assert forked.stderr.splitlines()[-1:] == started.stderr.splitlines()[-1:]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_a_fork_as_it_ends_any_process(number):
    code = "import time; print(flush=True); time.sleep(600)"
    command = [sys.executable, "-c", code]
    with commands.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as running:
        assert running.stdout.readline() == "\n"
        assert running.poll() is None
        running.send_signal(number)
        assert running.wait(60) == -number
    assert running.poll() == -number


def test_what_an_interpreter_reads_at_its_start_gets_an_interpreter():
    parent = [sys.executable, "-c", "import os; print(os.getppid())"]
    assert int(commands.run(parent, capture_output=True).stdout) != os.getpid()
    fixed = {**os.environ, "PYTHONHASHSEED": "1"}
    assert int(commands.run(parent, capture_output=True, env=fixed).stdout) == os.getpid()


def test_the_process_that_forks_stories_is_a_fork_itself():
    """Tests start hundreds of them, and an interpreter for each would take a third of the time."""
    forks.forget()
    game = open_game("pantry")
    try:
        game.reset(1)
        server = parent(game.worker.pid)
        assert b"tests.warm" in Path(f"/proc/{server}/cmdline").read_bytes().split(b"\0")
    finally:
        game.close()


def test_a_fork_whose_connection_is_gone_counts_as_killed():
    process = commands.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        assert process._asked is not None
        process._asked.close()
        assert process.poll() == -signal.SIGKILL
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()


def test_a_fork_finds_the_folder_for_temporary_files_that_its_variables_name(tmp_path):
    commands.run([sys.executable, "-c", "pass"], env={**os.environ, "OPENAI_API_KEY": "none"})  # imports all there is
    code = "import tempfile; print(tempfile.gettempdir())"
    done = commands.run([sys.executable, "-c", code], capture_output=True, env={**os.environ, "TMPDIR": str(tmp_path)})
    assert done.stdout.decode().strip() == str(tmp_path)
