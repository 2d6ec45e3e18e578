"""The gate plays arms once each, and counts what is frozen."""

from __future__ import annotations

import json
import sys

import pytest

from tests import commands
from tests.bench import gate


def episode(actions: str, rewards: list[float], at: str, *, most: float = 9.0) -> dict[str, object]:
    """Return an episode with an action and a situation a letter; it begins in the first situation."""
    counts = {"idle": 0, "lost": False, "max": most, "s": 0.0}
    return {"actions": list(actions), "rewards": rewards, "at": list(at), **counts}


def test_equal_episodes_count_where_the_maximum_is_not_reached() -> None:
    won, kept = episode("ab", [4, 5], "xyz"), episode("aab", [1, 0, 1], "xyxy")
    figures = gate.measured([kept, kept, kept, episode("b", [0], "xy"), kept, won, won, won])
    assert (figures["alike"], figures["best"]) == (3, 9)
    assert figures["repeated"] == pytest.approx(5 / 8)
    assert figures["frozen"] == pytest.approx(3 / 6)  # of the first six, three are a kept one again


def test_steps_in_turns_end_with_a_gain_or_a_fourth_situation() -> None:
    assert gate.in_turns("xyxyxyxy", [0.0] * 7) == 7
    assert gate.in_turns("xyxyxyxy", [0, 0, 0, 1, 0, 0, 0]) == 3
    assert gate.in_turns("abcdabcd", [0.0] * 7) == 2


AS_PROGRAM = "import runpy, sys; sys.argv.pop(0); runpy.run_path(sys.argv[0], run_name='__main__')"


def forked(command, **how):
    """Run a file of Python in a fork."""
    python, safe, *file = command
    return commands.run([python, safe, "-c", AS_PROGRAM, *file], **how)


def test_a_run_is_played_once(tmp_path, monkeypatch, capsys) -> None:
    """A second process finds the first one's rows; a number of the learner changes the arm's play alone."""
    command = ["gate", "--out", str(tmp_path), "--only", "pantry", "--seeds", "1", "--episodes", "3", "--steps", "12",
               "--stories", str(tmp_path), "--arm", "now", "--arm", "stay=curiosity=0,beam=1"]  # fmt: skip
    monkeypatch.setattr(sys, "argv", command)
    monkeypatch.setattr(gate.subprocess, "run", forked)
    gate.main()
    rows = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    assert [(row["arm"], len(row["scores"])) for row in rows] == [("now", 3), ("stay", 3)]
    assert rows[0]["scores"] != rows[1]["scores"]
    first = capsys.readouterr().out
    gate.main()
    assert len((tmp_path / "results.jsonl").read_text().splitlines()) == 2
    assert capsys.readouterr().out in first
