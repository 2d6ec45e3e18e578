"""A recording made to take over a terminal, shown in a real one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from engine.codec import event_to_line
from tests.journeys.terminal import Terminal
from tests.tui import hostile
from tests.tui.hostile import CLIPBOARD, HOSTILE, TITLE, Nasty, dangers

DRIVEN = re.compile(
    r"\x1b(?:\[[0-9;?<>=:]*[ !$]?[a-zA-Z@`]|\]22;[a-z]*(?:\x07|\x1b\\)|[()][0B]|[=>78c])|[\r\n\x08\x0f]"
)
"""What Textual sends itself: CSI sequences, the shape of the pointer, character sets, keypad and cursor."""


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    nasty = Nasty(HOSTILE.replace("\udcff", ""))  # half a pair is refused
    lines = [json.dumps(json.loads(event_to_line(nasty(event), 1.0))) for event in hostile.events()]
    path = tmp_path / "events.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path


def check(raw: bytes) -> None:
    """Everything that was sent is text, or was sent by what draws the screen."""
    assert TITLE.encode() not in raw
    assert CLIPBOARD.encode() not in raw
    left = DRIVEN.sub("", raw.decode())
    assert [left[max(0, at - 9) : at + 9] for at, c in enumerate(left) if dangers(c)] == []


def test_the_screen_shows_it_and_the_terminal_obeys_none_of_it(recording):
    with Terminal("replay", str(recording), "--speed", "0", columns=150, rows=50) as terminal:
        terminal.wait_for(" 8/8")
        for key in ("2", "3", "4", "5", "m", "z", "z"):
            terminal.send(key)
        terminal.wait_for("Re]0;PWNED")
        terminal.send("t")  # in the memory pane, p pins a step
        terminal.send("p")
        terminal.wait_for("model calls")
        terminal.send("\x1b")
        terminal.wait_for(lambda text: "model calls" not in text)
        terminal.send("q")
        assert terminal.wait_for_exit() == 0
        assert "PWNED" not in terminal._screen.title
        check(terminal.raw)


def test_plain_lines_say_it_and_the_terminal_obeys_none_of_it(recording):
    with Terminal("replay", str(recording), "--speed", "0", env={"TERM": "dumb"}) as terminal:
        assert terminal.wait_for_exit() == 0
        check(terminal.raw)
        assert b"PWNED" in terminal.raw


def test_an_error_with_a_hostile_name_is_told_safely(tmp_path):
    with Terminal("replay", str(tmp_path / f"{TITLE}{CLIPBOARD}\u202e")) as terminal:
        assert terminal.wait_for_exit() == 2
        check(terminal.raw)
        assert b"PWNED" in terminal.raw


def test_the_line_editor_of_the_plain_mode_still_draws(tmp_path):
    saves = ("--saves", str(tmp_path))
    with Terminal("play", "pantry", "--model", "prior/verbs", "--plain", *saves, columns=100, rows=40) as terminal:
        terminal.wait_for(lambda text: text.rstrip().endswith(">"))
        terminal.send("look\r")
        terminal.wait_for("You: > look")
        terminal.wait_for(lambda text: text.rstrip().endswith(">"))
        assert "u001b" not in terminal.text
        terminal.send("/quit\r")
        assert terminal.wait_for_exit() == 0
