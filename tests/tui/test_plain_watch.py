"""Plain lines of a run that nobody plays: the same events, and typed commands that pause, step and overrule."""

from __future__ import annotations

import io
import os
import threading
import time

import pytest

from engine.session import orders
from engine.session import store as sessions
from engine.settings import SessionConfig
from jitrl_tui.cli import main
from jitrl_tui.plain.run import PlainRun
from jitrl_tui.runs.replay import ReplaySource
from jitrl_tui.runs.source import LiveSource
from tests.tui import stream


class Typist:
    """A run in plain lines whose terminal is a pipe."""

    def __init__(self, make_source, delay: float = 0.0) -> None:
        read, self._write = os.pipe()
        self.out = io.StringIO()
        self.run = PlainRun(make_source, self.out, None, play=False, terminal=os.fdopen(read), delay=delay)
        self._thread = threading.Thread(target=self.run.run, daemon=True)
        self._thread.start()

    def type(self, text: str) -> None:
        os.write(self._write, text.encode())

    def wait_for(self, what: str, after: int = 0) -> int:
        """Wait until `what` is printed behind a position, and return the position behind it."""
        end = time.monotonic() + 60
        while (at := self.out.getvalue().find(what, after)) < 0:
            assert time.monotonic() < end, f"waited in vain for {what!r}:\n{self.out.getvalue()}"
            time.sleep(0.01)
        return at + len(what)

    def close(self) -> None:
        os.close(self._write)
        self._thread.join(60)
        assert not self._thread.is_alive()


def watched(events, delay=600.0):
    made = []

    def open_session(emit):
        made.append(stream.ScriptedSession(emit, events))
        return made[0]

    return Typist(LiveSource(open_session), delay), made[0]


def test_typed_commands_pause_step_overrule_and_leave():
    typist, session = watched(stream.run(1, 5))
    at = typist.wait_for("Why: ")
    typist.type("\n")
    at = typist.wait_for("Paused. Agent would: ", at)
    assert session.carried_out == []
    typist.type("\n")
    at = typist.wait_for("Agent: > ", at)
    at = typist.wait_for("Why: ", at)
    typist.type("xyzzy\n")
    at = typist.wait_for("You: > xyzzy", at)
    typist.type("/why\n/score\n/nonsense\n")
    at = typist.wait_for("There is no command /nonsense", at)
    assert [who for who, _ in session.carried_out] == ["agent", "human"]
    typist.type("/go\n")
    at = typist.wait_for("Going on.", at)
    typist.type("/speed 0\n/speed x\n")
    at = typist.wait_for("Say how many seconds", at)
    typist.wait_for("Session over: 1 episode")
    typist.close()
    assert len(session.carried_out) == 5


@pytest.mark.parametrize("typed", ["/quit\n", ""])
def test_quit_and_the_end_of_input_leave(typed):
    typist, session = watched(stream.run(1, 5))
    typist.wait_for("Why: ")
    typist.type(typed)
    typist.close()
    assert "Leaving. The session goes on from here next time." in typist.out.getvalue()
    assert session.ended.is_set()


def test_a_replay_is_paused_and_stepped_and_cannot_be_overruled():
    source = ReplaySource(lambda: stream.recorded(stream.run(1, 5)), delay=0.0)
    typist = Typist(source, delay=600.0)
    at = typist.wait_for("Why: ")
    typist.type("/pause\n")
    at = typist.wait_for("Paused.", at)
    typist.type("open mailbox\n")
    at = typist.wait_for("cannot be overruled", at)
    typist.type("\n")
    at = typist.wait_for("Agent: > ", at)
    typist.type("/forward\n")
    typist.wait_for("Session over: 1 episode", at)
    typist.close()
    assert typist.out.getvalue().count("Agent: > ") == 5


def test_plain_watch_and_plain_replay_tell_the_same_steps(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    options = ["pantry", "--plain", "--model", "prior/uniform", "--episodes", "2", "--steps", "4"]
    assert main(["watch", *options, "--saves", str(tmp_path)]) == 0
    live = capsys.readouterr().out
    (name,) = [session.name for session in sessions.saved_sessions(tmp_path)]
    assert main(["replay", name, "--plain", "--saves", str(tmp_path)]) == 0
    again = capsys.readouterr().out
    assert live.count("\nAgent: > ") == 8
    told = [line for line in live.splitlines() if line.startswith(("Agent: >", "Why: ", "Score ", "Episode "))]
    assert told == [line for line in again.splitlines() if line.startswith(("Agent: >", "Why: ", "Score ", "Episode "))]
    assert "\x1b" not in live + again


@pytest.mark.parametrize("asked", [{"JITRL_PLAIN": "1"}, {"TERM": "dumb"}, {}])
def test_plain_lines_are_used_where_the_terminal_or_the_person_asks(asked, monkeypatch):
    from jitrl_tui.plain.terminal import wants_plain

    terminal = type("Terminal", (), {"isatty": lambda self: True})()
    monkeypatch.setattr("sys.stdin", terminal)
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.delenv("JITRL_PLAIN", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in asked.items():
        monkeypatch.setenv(name, value)
    assert wants_plain() == bool(asked)


@pytest.mark.parametrize("stop", [["--ask"], ["--ask", "score"], ["--break", "score"]])
@pytest.mark.parametrize("closed", [True, False])
def test_a_session_that_waits_for_a_person_is_refused_without_a_terminal(tmp_path, monkeypatch, capsys, stop, closed):
    with open(os.devnull) as nothing:
        monkeypatch.setattr("sys.stdin", None if closed else nothing)
        assert main(["--saves", str(tmp_path), "watch", "pantry", "--model", "prior/verbs", *stop]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "no terminal in which you could answer" in line
    assert not (tmp_path / "sessions").exists()


def test_so_is_one_that_goes_on(tmp_path, monkeypatch, capsys):
    saved = sessions.create(tmp_path, SessionConfig(game="pantry", model="prior/verbs"), "watch")
    orders.give(saved.folder, orders.Orders(orders.ALWAYS))
    with open(os.devnull) as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        assert main(["--saves", str(tmp_path), "sessions", saved.name]) == 2
    assert "no terminal in which you could answer" in capsys.readouterr().err
