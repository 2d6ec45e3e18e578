"""The saves folder: of any name, given relative to anywhere, and taken away while a session runs."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from engine.errors import StorageError
from engine.paths import saves_folder
from engine.session import store as sessions
from engine.session.loop import Session
from engine.settings import SessionConfig, Settings
from tests import commands
from tests.journeys.terminal import COMMAND


@pytest.mark.parametrize("after", [1, 2, 3, 14, 15, 16, 29, 30, 31])
def test_a_file_in_the_place_of_the_saves_folder_ends_a_session_with_a_sentence(tmp_path, after):
    saves, told = tmp_path / "saves", 0
    saves.mkdir()

    def emit(event) -> None:
        nonlocal told
        told += 1
        if told == after:
            saves.rename(tmp_path / "away")
            saves.write_text("")

    config = SessionConfig(game="pantry", model="prior/verbs", episodes=3, settings=Settings(step_limit=4))
    session = Session(sessions.create(saves, config, "run"), saves, emit)
    session.run()
    assert isinstance(session.error, StorageError)
    assert str(saves) in str(session.error)
    assert session.error.exit_code == 1


def run(*args: str | bytes, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    return commands.run([*COMMAND, *args], cwd=cwd, env=env, capture_output=True, timeout=240)


def test_a_saves_folder_whose_name_is_no_utf8_is_as_good_as_any(tmp_path):
    saves = os.fsencode(tmp_path) + b"/sav\xff\x1bes"
    few = ("--model", "prior/verbs", "--episodes", "1", "--steps", "3")
    done = run("run", "pantry", *few, "--saves", saves, cwd=tmp_path)
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False)
    shown = run("memory", "verify", "--saves", saves, cwd=tmp_path)
    assert shown.returncode == 0
    assert shown.stdout.startswith(b"sound")
    assert rb"sav\udcff\u001bes" in shown.stdout


def test_the_saves_folder_is_absolute_wherever_it_was_named_from(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert saves_folder("here/saves") == tmp_path / "here" / "saves"
    assert saves_folder(tmp_path / "other") == tmp_path / "other"


@pytest.mark.skipif(shutil.which("fossil") is None, reason="needs fossil")
def test_sites_start_with_a_relative_saves_folder(tmp_path):
    try:
        done = run("web", "up", "fossil", "--saves", "saves", cwd=tmp_path)
        assert (done.returncode, done.stderr.count(b"failed")) == (0, 0), done.stderr
        assert b"fossil        up" in done.stdout
    finally:
        run("web", "down", "--saves", "saves", cwd=tmp_path)
