"""What a system may lack: locks, processes, threads, memory, dates. Each is said in one sentence."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys

import pytest

from engine import children, disk, forks
from engine.session import store as sessions
from engine.settings import SessionConfig
from jitrl_tui import cli
from jitrl_tui.screens.home_rows import date_text
from tests.arena.running import SMALL

pytestmark = pytest.mark.usefixtures("own_interpreters")

RUN = ("run", "pantry", "--model", "prior/verbs", "--steps", "1", "--episodes", "1")


@pytest.fixture
def jitrl(tmp_path, capsys):
    """Run a command; return its exit code and what it says."""

    def jitrl(*words):
        code = cli.main(["--saves", str(tmp_path / "saves"), *map(str, words)])
        return code, capsys.readouterr().err

    return jitrl


def sentence(err):
    """Return the one line that a failed command says."""
    lines = [line for line in err.splitlines() if line.startswith("jitrl: ")]
    assert len(lines) == 1, err
    assert "Traceback" not in err
    return lines[0]


def test_a_file_system_without_locks_is_named_as_such(jitrl, monkeypatch, tmp_path):
    def refuse(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    assert jitrl(*RUN)[0] == 0
    (session,) = sessions.saved_sessions(tmp_path / "saves")
    suite = tmp_path / "small.toml"
    suite.write_text(SMALL)
    monkeypatch.setattr(fcntl, "flock", refuse)
    for words in (RUN, ("run", "pantry", "--resume", session.name), ("bench", "run", suite, "--jobs", "1")):
        code, err = jitrl(*words)
        assert code == 1
        assert "has no locks" in sentence(err)
    assert jitrl("sessions", "rm", session.name, "--yes")[0] == 0


@pytest.mark.parametrize(
    "words",
    [RUN, ("bench", "run", "small.toml", "--jobs", "1"), ("games", "make", "--kind", "cooking", "--seed", "1"),
     ("web", "up", "fossil"), ("games", "make", "--inform", "cave.inf"), ("train", "ls")],
)  # fmt: skip
def test_a_process_that_cannot_be_started_is_a_sentence(words, jitrl, monkeypatch, tmp_path):
    def refuse(*_, **__):
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    forks.forget()  # it would start a story's process without another one
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "cave.inf").write_text("[ Main; ];\n")
    monkeypatch.setattr(children.subprocess, "Popen", refuse)
    monkeypatch.setattr(children.subprocess, "run", refuse)
    code, err = jitrl(*words)
    assert "Traceback" not in err
    if words[0] != "train" and "is not here" not in err and "not installed" not in err:
        assert code != 0
        assert "cannot be started: Resource temporarily unavailable" in err


@pytest.mark.parametrize(
    "words",
    [("games", "make", "--kind", "cooking", "--seed", "1"), ("web", "up", "fossil"),
     ("games", "make", "--inform", "cave.inf")],
)  # fmt: skip
def test_a_process_that_does_not_end_is_a_sentence(words, jitrl, monkeypatch, tmp_path):
    def late(command, *_, timeout, **__):
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.chdir(tmp_path)
    (tmp_path / "cave.inf").write_text("[ Main; ];\n")
    monkeypatch.setattr(children.subprocess, "run", late)
    code, err = jitrl(*words)
    assert "Traceback" not in err
    if "is not here" not in err and "not installed" not in err:
        assert code != 0
        assert "s and was stopped" in err


@pytest.mark.parametrize(
    ("error", "said"),
    [(MemoryError(), "not enough memory"), (RuntimeError("can't start new thread"), "no more threads"),
     (ImportError("x.so: failed to map segment from shared object"), "not enough memory")],
)  # fmt: skip
def test_too_little_memory_and_too_few_threads_are_sentences(error, said, jitrl, monkeypatch):
    def refuse(*_):
        raise error

    monkeypatch.setattr(sessions, "saved_sessions", refuse)
    code, err = jitrl("sessions")
    assert code == 1
    assert said in sentence(err)


def test_a_small_file_is_read_with_little_memory(tmp_path):
    (tmp_path / "small").write_bytes(b"x" * 3000)
    script = (
        "import resource, sys\nfrom engine.disk import read_bytes\n"
        "size = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize() + (24 << 20)\n"
        "resource.setrlimit(resource.RLIMIT_AS, (size, size))\nassert len(read_bytes(sys.argv[1])) == 3000\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "small")], check=True)
    with pytest.raises(disk.Unreadable, match="more than 2,999 bytes"):
        disk.read_bytes(tmp_path / "small", 2999)
    assert disk.read_bytes(tmp_path / "small", 3000) == b"x" * 3000


@pytest.mark.parametrize("at", [253_402_300_800.0, 1e13, 1e18, -1e18, float("inf"), float("nan")])
def test_times_that_no_calendar_has_are_shown_as_none(at):
    assert isinstance(date_text(at), str)


def test_a_session_of_the_year_ten_thousand_is_listed(jitrl, tmp_path):
    made = sessions.create(tmp_path / "saves", SessionConfig(game="pantry"), "run")
    made.recording.touch()
    os.utime(made.recording, (3e11, 3e11))
    assert jitrl("sessions")[0] == 0
