"""What a terminal does around the app: Ctrl+Z and `fg`, and lines that are pasted."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from engine.records import Stepped
from engine.session import recording
from tests.journeys.terminal import Terminal


def test_ctrl_z_gives_the_terminal_back_and_fg_draws_the_screen_again(tmp_path):
    words = ("play", "pantry", "--model", "prior/uniform", "--saves", str(tmp_path))
    with Terminal(*words, columns=100) as terminal:
        before = terminal.modes()
        terminal.wait_for("your command (")
        drawn = terminal.modes()
        terminal.send("\x1a")
        terminal.wait_for(lambda text: b"\x1b[?1049l" in terminal.raw)
        while state(terminal.pid) != "T":
            time.sleep(0.01)
        assert terminal.modes() == before != drawn
        terminal.raw = b""
        os.kill(terminal.pid, signal.SIGCONT)
        terminal.wait_for(lambda text: b"\x1b[?1049h" in terminal.raw and b"The Pantry" in terminal.raw)
        terminal.send("look\r")
        terminal.wait_for("> look   (you)")
        terminal.send("\x11")  # Ctrl+Q leaves
        assert terminal.wait_for_exit() == 0


def test_lines_pasted_into_plain_play_are_entered_one_after_the_other(tmp_path):
    with Terminal("play", "pantry", "--plain", "--model", "prior/uniform", "--saves", str(tmp_path)) as terminal:
        terminal.wait_for("\n>")
        terminal.send("\x1b[200~go north\rinventory\r\rgo south\r\x1b[201~\r")
        terminal.wait_for(lambda text: len(steps(tmp_path)) == 3)
    assert steps(tmp_path) == ["go north", "inventory", "go south"]


def state(pid):
    """Return the state of a process; T: it is stopped."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def steps(saves):
    recorded = list((saves / "sessions").glob("*/events.jsonl"))
    return [event.action for one in recorded for _, event in recording.read(one) if isinstance(event, Stepped)]
