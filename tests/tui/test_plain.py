"""The plain mode: labelled lines, scripted answers, no escape codes."""

from __future__ import annotations

import io
from collections.abc import Iterable

from engine.errors import GameError
from jitrl_tui.cli import main
from jitrl_tui.plain.run import PlainRun
from jitrl_tui.runs.replay import ReplaySource
from jitrl_tui.runs.source import LiveSource
from tests.tui import stream


def play(lines: Iterable[str], events=None, crash=None) -> tuple[str, stream.ScriptedSession, int]:
    """Play a scripted session with these lines typed; return what was printed, the session, the exit code."""
    made: list[stream.ScriptedSession] = []

    def open_session(emit):
        made.append(stream.ScriptedSession(emit, stream.run(1, 4) if events is None else events, crash))
        return made[0]

    typed = iter(lines)
    out = io.StringIO()
    code = PlainRun(LiveSource(open_session), out, lambda: next(typed, None), play=True).run()
    return out.getvalue(), made[0], code


def test_typed_commands_are_done_and_empty_lines_let_the_agent_go_on():
    text, session, code = play(["open mailbox", "", "xyzzy", ""])
    assert code == 0
    assert [who for who, _ in session.carried_out] == ["human", "agent", "human", "agent"]
    assert session.carried_out[0][1] == "open mailbox"
    assert "You: > open mailbox" in text
    assert text.count("Your turn. /hint and /why ask the agent") == 1
    assert "Agent would" not in text
    assert "Session over: 1 episode," in text
    assert "\x1b" not in text


def test_the_commands_of_our_own_answer_without_taking_a_step():
    text, session, _ = play(
        ["/why", "/options", "/memory", "/actions", "/score", "/nonsense", "/help", "/quit"]
    )
    assert session.carried_out == []
    assert "Why: " in text
    assert "probability" in text
    assert "Memory was empty. It fills at the end of each episode." in text
    assert "open mailbox, go north" in text
    assert "There is no command /nonsense" in text
    assert "/auto N" in text
    assert session.ended.is_set()


def test_a_word_that_is_also_a_command_is_asked_about_once_before_it_goes_to_the_game():
    text, session, _ = play(["map", "/score", "Map", "map"])
    assert text.count("Did you mean /map? 'map' typed once more goes to the game.") == 1
    assert [action for who, action in session.carried_out if who == "human"] == ["Map", "map"]


def test_auto_plays_some_steps_and_forward_the_rest():
    _, session, _ = play(["/auto 2", "look", "/forward"], stream.run(1, 6))
    assert [who for who, _ in session.carried_out] == ["agent", "agent", "human", "agent", "agent", "agent"]


def test_the_end_of_input_leaves_and_a_failure_is_one_sentence():
    text, session, code = play([])
    assert session.ended.is_set()
    assert "goes on from here next time" in text
    assert code == 0
    text, _, code = play([""] * 9, stream.run(1, 2)[:-1], GameError("the story broke"))
    assert "Error: the story broke" in text
    assert code == 1


def test_a_recording_is_told_from_beginning_to_end():
    events = stream.run(2, 5)
    out = io.StringIO()
    code = PlainRun(ReplaySource(lambda: stream.recorded(events), delay=0.0), out, None, play=False).run()
    text = out.getvalue()
    assert code == 0
    assert text.count("\nAgent: > ") == 10
    assert "Game: Zork I, 350 points at most." in text
    assert "Episode 2 of 2." in text
    assert text.count("Why: ") == 10


def test_a_person_takes_back_saves_loads_and_branches(tmp_path, monkeypatch, capsys):
    lines = ["go east", "/undo", "/save here", "go south", "/load nowhere", "/saves", "/load here", "go east",
             "go south", "/branch 1", "/score", "/branch x", "/branch 9", "/quit"]  # fmt: skip
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines) + "\n"))
    play_options = ["play", "pantry", "--plain", "--model", "prior/uniform", "--saves", str(tmp_path)]
    assert main(play_options) == 0
    text = capsys.readouterr().out
    assert "Taken back: go east. Step 0." in text
    assert "Saved as here." in text
    assert "there is no save 'nowhere'; there are: here" in text
    assert "\nhere\n" in text
    assert "step 1, episode 1." in text.rpartition("You: > go south")[2]
    assert "Say after which step" in text
    assert "has steps 0 to 1, not 9" in text
    assert text.count("Game: The Pantry") == 3
    assert len(list((tmp_path / "sessions").iterdir())) == 3
