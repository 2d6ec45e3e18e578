"""`jitrl` in a real terminal on a shipped game: real Z-machine, real memory, the real loop."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable
from pathlib import Path

from engine.records import EpisodeEnded, SessionEnded, Stepped
from engine.session import recording
from tests import commands
from tests.journeys.terminal import Terminal

GAME = "pantry"
FAST = ("--model", "prior/uniform", "--steps", "6")


def stepped(saves: Path) -> list[Stepped]:
    (file,) = (saves / "sessions").glob("*/events.jsonl")
    return [event for _, event in recording.read(file) if isinstance(event, Stepped)]


def status(pattern: str) -> Callable[[str], object]:
    return lambda text: re.search(pattern, "\n".join(text.splitlines()[:3]))


def test_watch_pause_overrule_forward_leave_and_resume(tmp_path):
    saves = ("--saves", str(tmp_path))
    with Terminal("watch", GAME, *FAST, "--episodes", "4", *saves, columns=140, rows=45) as terminal:
        terminal.wait_for("Episode 1 of 4", 60)
        terminal.wait_for(status(r"step [1-6]/6"))
        terminal.send(" ")
        terminal.wait_for("PAUSED")
        terminal.send("o")
        terminal.wait_for("What shall it do instead")
        terminal.send("look under the floor\r")
        terminal.wait_for("> look under the floor   (you)")
        terminal.wait_for("PAUSED")
        terminal.send("f")
        terminal.wait_for("fast-forward")
        terminal.send("\r")
        terminal.wait_for("Episode 1 ended", 60)
        terminal.wait_for(status(r"episode 2/4"))
        terminal.wait_for("PAUSED")
        assert "6 remembered" in terminal.text
        terminal.send(".")
        terminal.wait_for(status(r"step 1/6"))
        terminal.send("q")
        terminal.wait_for("The session stops here")
        terminal.send("q")
        assert terminal.wait_for_exit() == 0
        assert b"Traceback" not in terminal.raw
    before = stepped(tmp_path)
    assert [step.action for step in before if step.provenance == "human"] == ["look under the floor"]
    with Terminal(*saves) as terminal:
        terminal.wait_for("Press Enter to go on where this session stood", 60)
        terminal.send("\r")
        terminal.wait_for("Resumed: ", 60)
        terminal.wait_for(status(r"episode 2/4"))
        terminal.send("f")
        terminal.wait_for("all 2 episodes that are left")
        terminal.send("2\r")
        terminal.wait_for("Session over: 4 episodes", 90)
        assert "finished" in terminal.text
        terminal.send("h")
        terminal.wait_for("Press Enter to watch it learn", 60)
        terminal.send("q")
        assert terminal.wait_for_exit() == 0
    after = stepped(tmp_path)
    assert after[: len(before)] == before
    (file,) = (tmp_path / "sessions").glob("*/events.jsonl")
    kinds = [event for _, event in recording.read(file)]
    assert sum(isinstance(event, EpisodeEnded) for event in kinds) == 4
    assert isinstance(kinds[-1], SessionEnded)


def test_a_killed_program_loses_nothing(tmp_path):
    saves = ("--saves", str(tmp_path))
    with Terminal("watch", GAME, *FAST, "--episodes", "90", *saves) as terminal:
        terminal.wait_for(status(r"episode 1/90"), 60)
        terminal.send("f")
        terminal.wait_for("fast-forward")
        terminal.send("3\r")
        terminal.wait_for(status(r"episode [2-9]/90"), 60)
        os.kill(terminal.pid, signal.SIGKILL)
    before = stepped(tmp_path)
    assert len(before) >= 6
    with Terminal(*saves) as terminal:
        terminal.wait_for("Press Enter to go on where this session stood", 60)
        terminal.send("\r")
        terminal.wait_for(status(r"episode ([2-9]|\d\d)/90"), 60)  # not 1: it is resumed
        terminal.wait_for(status(r"step [1-6]/6"), 60)
        terminal.send("\x03")
        assert terminal.wait_for_exit() == 0
        (folder,) = (tmp_path / "sessions").iterdir()
        assert f"Resume with: jitrl sessions {folder.name} --saves {tmp_path}" in "".join(terminal.text.split("\n"))
    assert stepped(tmp_path)[: len(before)] == before


def test_keys_that_come_in_one_burst_are_taken_in_their_order(tmp_path):
    with Terminal("play", GAME, *FAST, "--saves", str(tmp_path), columns=140, rows=45) as terminal:
        terminal.wait_for("your command (", 60)
        terminal.send("\x15look under the floor\r")
        terminal.wait_for("> look under the floor")
        terminal.wait_for("YOUR TURN")
        terminal.send("abc def\x15xyzqq\x7f\x7fzy\r")
        terminal.wait_for("> xyzzy")
        terminal.wait_for("YOUR TURN")
        terminal.send("\x15plugh\r\x15say hello\r")  # a line typed ahead is for the decision after
        terminal.wait_for("> say hello")
        terminal.send("\x1b")
        terminal.wait_for("YOUR TURN")
    steps = [(step.provenance, step.action) for step in stepped(tmp_path)]
    assert steps == [("human", text) for text in ("look under the floor", "xyzzy", "plugh", "say hello")]


def test_a_program_killed_at_a_question_asks_again_and_spaces_in_one_burst_approve_one_step(tmp_path):
    with Terminal("watch", GAME, *FAST, "--saves", str(tmp_path), "--ask", "--break", "score") as terminal:
        terminal.wait_for("Shall the agent do this", 60)
        terminal.send("\r")
        terminal.wait_for("(approved)")
        terminal.wait_for("ASKS YOU")
        terminal.send("o")
        terminal.wait_for("What shall it do instead")
        os.kill(terminal.pid, signal.SIGKILL)
    before = stepped(tmp_path)
    assert len(before) == 1
    with Terminal("--saves", str(tmp_path)) as terminal:
        terminal.wait_for("Press Enter to go on", 60)
        terminal.send("\r")
        terminal.wait_for("Shall the agent do this", 60)
        assert stepped(tmp_path) == before
        terminal.send("     ")
        terminal.wait_for(status("step 2/6"))
        terminal.wait_for("ASKS YOU")
        terminal.hang_up()
        assert terminal.reap(60) == 0
    assert len(stepped(tmp_path)) == 2


def test_a_command_that_is_typed_before_the_screen_is_there_is_carried_out(tmp_path):
    with Terminal("play", GAME, *FAST, "--saves", str(tmp_path), columns=140, rows=45) as terminal:
        terminal.send("inventory\r")
        terminal.wait_for(status(r"step 1/6"))
    assert [event.action for event in stepped(tmp_path)][:1] == ["inventory"]


def test_play_as_plain_lines_from_a_pipe(tmp_path):
    command = [commands.JITRL, "play", GAME, "--plain", *FAST, "--saves", str(tmp_path)]
    done = commands.run(command, input="look\n\n/why\n/options\n", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "You: > look" in done.stdout
    assert "Agent: > " in done.stdout
    assert "Why: " in done.stdout
    assert "Leaving. The session goes on from here next time." in done.stdout
    assert [step.provenance for step in stepped(tmp_path)] == ["human", "agent"]


def test_an_unknown_game_is_one_sentence_and_is_not_gone_on_with(tmp_path):
    with Terminal("watch", "nosuchgame", "--saves", str(tmp_path)) as terminal:
        assert terminal.wait_for_exit(60) == 2
        assert "there is no game 'nosuchgame'" in terminal.text
        assert b"Traceback" not in terminal.raw
    with Terminal("--saves", str(tmp_path)) as terminal:
        terminal.wait_for("Press Enter to watch it learn", 60)
        assert "nosuchgame" not in terminal.text
        terminal.send("q")
        assert terminal.wait_for_exit() == 0
