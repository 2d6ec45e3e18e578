"""`jitrl replay` in a real terminal."""

from __future__ import annotations

import re
import stat
from pathlib import Path

import pytest

from engine.session.recording import Recorder
from tests import commands
from tests.journeys.terminal import COMMAND, Terminal
from tests.journeys.test_closed_terminal import closed
from tests.tui import stream


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "events.jsonl"
    recorder = Recorder(path)
    for at, event in stream.recorded(stream.run(3, 8)):
        recorder.write(event, at)
    recorder.close()
    return path


def test_it_plays_pauses_seeks_resizes_and_leaves_the_terminal_as_it_was(recording):
    with Terminal("replay", str(recording), "--speed", "0") as terminal:
        ended = ("Session over: 3 episodes", "Zork I", "PAUSED at the end")
        terminal.wait_for(lambda text: all(part in text for part in ended))
        terminal.send("\x1b[D")
        terminal.wait_for(lambda text: "PAUSED at the end" not in text and "24/25" in text)
        terminal.resize(140, 45)
        terminal.wait_for(lambda text: "[learning curve]" in text and "3 why" in text)
        terminal.resize(40, 10)
        terminal.wait_for("too small")
        terminal.resize(100, 30)
        terminal.wait_for("2 candidates")
        terminal.send("?")
        terminal.wait_for("what the screen shows")
        terminal.send("\x1b")
        terminal.wait_for(lambda text: "what the screen shows" not in text)
        terminal.send("q")
        assert terminal.wait_for_exit() == 0
        assert b"\x1b[?1049l" in terminal.raw
        assert b"Traceback" not in terminal.raw


@pytest.mark.parametrize("keys", ["\x03", "\x11"])
def test_every_way_out_works_at_once(recording, keys):
    with Terminal("replay", str(recording)) as terminal:
        terminal.wait_for("candidates")
        terminal.send(keys)
        assert terminal.wait_for_exit(10) == 0
        assert b"Traceback" not in terminal.raw


def test_a_closed_terminal_ends_the_program(recording):
    with Terminal("replay", str(recording), led=True) as terminal:
        terminal.wait_for("candidates")
        closed(terminal, workers=0)


def test_without_colour_nothing_is_coloured_and_all_is_there(recording):
    with Terminal("replay", str(recording), "--speed", "0", env={"NO_COLOR": "1"}) as terminal:
        terminal.wait_for("Session over: 3 episodes")
        terminal.send("q")
        terminal.wait_for_exit()
        colours = {m for m in re.findall(rb"\x1b\[[0-9;]*[34]8;2;(\d+;\d+;\d+)", terminal.raw)}
        assert all(len(set(c.split(b";"))) == 1 for c in colours), "only shades of grey"


def test_a_dumb_terminal_gets_plain_lines(recording):
    with Terminal("replay", str(recording), "--speed", "0", env={"TERM": "dumb"}) as terminal:
        assert terminal.wait_for_exit() == 0
        text = terminal.raw.decode()
        assert "\x1b" not in text
        assert "Agent: > " in text
        assert "Session over: 3 episodes" in text


def test_a_bug_of_the_screen_is_one_sentence_without_the_values_of_variables(recording, tmp_path):
    broken = (
        "import sys, jitrl_tui.cli as c, jitrl_tui.widgets.status as s\n"
        "def render(self):\n"
        "    password = 'sesame'\n"
        "    raise ZeroDivisionError('a bug')\n"
        "s.StatusBar.render = render\n"
        "sys.exit(c.main())\n"
    )
    env = {"JITRL_SAVES": str(tmp_path)}
    with Terminal("replay", str(recording), env=env, command=(COMMAND[0], "-c", broken)) as terminal:
        assert terminal.wait_for_exit() == 1
        text = " ".join(terminal.text.split())
        assert "the screen failed (ZeroDivisionError: a bug)" in text
        assert "Traceback" not in text
        assert b"sesame" not in terminal.raw
    (report,) = (tmp_path / "log").glob("jitrl-crash-*.txt")
    assert "ZeroDivisionError" in report.read_text()
    assert stat.S_IMODE(report.stat().st_mode) == 0o600


def test_a_pipe_gets_plain_lines_and_a_bad_file_one_sentence(recording, tmp_path):
    command = [commands.JITRL, "replay"]
    done = commands.run([*command, str(recording)], capture_output=True, text=True)
    assert done.returncode == 0
    assert "Episode 3 ended" in done.stdout
    assert done.stderr == ""
    bad = tmp_path / "bad"
    bad.write_text("nonsense\n")
    done = commands.run([*command, str(bad)], capture_output=True, text=True)
    assert done.returncode != 0
    assert "is not a recording" in done.stderr
    assert "Traceback" not in done.stderr
