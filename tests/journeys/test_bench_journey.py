"""`jitrl bench run --watch` in a real terminal, with real workers: leave it, resume it, close the terminal."""

from __future__ import annotations

import json
from pathlib import Path

from tests.arena.running import ALONE, ONCE
from tests.journeys.terminal import Terminal
from tests.journeys.test_closed_terminal import family, left_over


def state(saves: Path) -> list[str]:
    (file,) = (saves / "bench").glob("*/manifest.json")
    return [cell["state"] for cell in json.loads(file.read_text())["cells"].values()]


def begun(tmp_path: Path, text: str, *words: str, **more) -> Terminal:
    suite = tmp_path / "small.toml"
    suite.write_text(text.replace("episodes = 3", "episodes = 400"))
    command = ("bench", "run", str(suite), "--name", "small", "--watch", "--saves", str(tmp_path / "saves"))
    return Terminal(*command, *words, columns=140, rows=40, **more)


def test_a_run_is_watched_left_and_looked_at(tmp_path):
    with begun(tmp_path, ONCE, "--jobs", "1") as terminal:
        terminal.wait_for("running: episode 2", 120)
        terminal.send("q")
        terminal.wait_for("Leaving stops the run")
        terminal.send("\r")
        assert terminal.wait_for_exit() == 130
        assert b"Traceback" not in terminal.raw
    assert "running" not in state(tmp_path / "saves")
    saves = ("--saves", str(tmp_path / "saves"))
    with Terminal("bench", "show", "last", "--watch", *saves, columns=140, rows=40) as terminal:
        terminal.wait_for("■ not finished")
        terminal.send("\r")  # The recording of the first cell.
        terminal.wait_for("episode 1/400")
        terminal.send("q")
        terminal.wait_for("■ not finished")
        terminal.send("q")
        assert terminal.wait_for_exit() == 0


def test_a_terminal_that_closes_ends_the_run_and_its_workers(tmp_path):
    with begun(tmp_path, ALONE, alone=True) as terminal:
        terminal.wait_for("running: episode 2", 120)
        everybody = {terminal.pid} | family(terminal.pid)
        assert len(everybody) > 1
        terminal.hang_up()
        terminal.reap(60)
        assert not left_over(everybody, 20)
