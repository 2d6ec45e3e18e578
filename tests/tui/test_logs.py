"""The log file: what is in it, what is not, and what happens where it cannot be written. The window that names it."""

from __future__ import annotations

import asyncio
import logging
import stat

import pytest

from engine import errors
from engine.errors import ModelError, StorageError, cause_and_remedy
from engine.records import Notice, Waiting
from engine.session.emitter import EventWriter
from jitrl_tui import cli
from jitrl_tui.screens.dialogs import ErrorDialog
from jitrl_tui.system import crash, logs
from tests.tui import stream
from tests.tui.driving import live_app, until
from tests.tui.screen_text import screen_text


@pytest.fixture
def log(tmp_path):
    """A log in a saves folder; closed at the end."""
    logs.start(tmp_path, ["watch", "pantry"], "1.0")
    yield tmp_path / "log" / "jitrl.log"
    logs.stop()


def test_nothing_is_written_before_there_is_something_to_say(log):
    assert not log.parent.exists()
    assert logs.where() == ""
    logging.getLogger("jitrl").warning("odd")
    first, second = log.read_text().splitlines()
    assert "INFO" in first
    assert "started: jitrl watch pantry (version 1.0)" in first
    assert second.endswith("odd")
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert stat.S_IMODE(log.parent.stat().st_mode) == 0o700
    assert logs.where() == str(log)


def test_keys_credentials_and_control_characters_are_not_written(log, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-somebody")
    try:
        raise ModelError("a-key-of-somebody at https://me:pass@host/v1 \x1b[2J")
    except ModelError:
        logging.getLogger("litellm").warning("failed", exc_info=True)
    text = log.read_text()
    assert "Traceback" in text
    assert "engine.errors.ModelError: [redacted] at https://host/v1" in text
    for hidden in ("a-key-of", "pass@", "\x1b"):
        assert hidden not in text


def test_a_session_writes_its_beginning_end_warnings_and_errors_with_tracebacks(log, tmp_path):
    shown = []
    writer = EventWriter(shown.append, tmp_path / "the-session", lambda: 0.0)
    writer.secrets = lambda: frozenset({"typed-password"})
    for event in stream.run(1, 2):
        writer.record(event)
    writer.emit(Notice("info", "nothing of interest"))
    for left in (3.0, 2.0, 1.0):
        writer.emit(Waiting("rate limit", left, 100.0))
    try:
        raise ModelError("no answer to typed-password")
    except ModelError as error:
        writer.record(Notice("error", str(error)))
    text = log.read_text()
    assert "the-session: begun: zork1, agent jitrl, model local/smollm2" in text
    assert "the-session: finished after 1 episodes" in text
    assert text.count("rate limit: next try in") == 1
    assert "ERROR" in text
    assert "in test_a_session_writes" in text, "no traceback"
    assert "typed-password" not in text
    assert "nothing of interest" not in text


def test_the_file_rotates(log, monkeypatch):
    monkeypatch.setattr(logs, "LARGEST", 2_000)
    logs.start(log.parent.parent, [], "1.0")
    for at in range(100):
        logging.getLogger("jitrl").warning("%d %s", at, "x" * 100)
    files = sorted(log.parent.iterdir())
    assert [file.name for file in files] == ["jitrl.log", "jitrl.log.1", "jitrl.log.2", "jitrl.log.3"]
    assert all(file.stat().st_size <= 2_000 for file in files)
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


@pytest.mark.parametrize("trouble", ["full disk", "a file in the way", "no saves folder", "a named pipe"])
def test_where_the_log_cannot_be_written_the_program_goes_on_quietly(trouble, tmp_path, monkeypatch, capfd):
    saves = tmp_path / "saves"
    if trouble != "no saves folder":
        saves.mkdir()
    if trouble == "a file in the way":
        (saves / "log").touch()
    if trouble == "a named pipe":
        import os

        (saves / "log").mkdir()
        os.mkfifo(saves / "log" / "jitrl.log")
    if trouble == "full disk":
        monkeypatch.setattr(logs.LogFile, "_open", lambda self: open("/dev/full", "w"))  # noqa: SIM115
    logs.start(saves, [], "1.0")
    logging.getLogger("jitrl").error("odd")
    logging.getLogger("jitrl").error("odd again")
    logs.stop()
    assert capfd.readouterr() == ("", "")
    assert saves.exists() == (trouble != "no saves folder")


def test_a_failed_command_and_a_crash_are_in_the_log_but_a_wrong_word_is_not(tmp_path, capsys):
    saves = ["--saves", str(tmp_path)]
    file = logs.file_in(tmp_path)
    assert cli.main([*saves, "run", "nowhere"]) == 2
    assert not file.exists()
    (tmp_path / "bad").write_text("no recording")
    assert cli.main([*saves, "memory", "import", str(tmp_path / "bad")]) == 1
    assert "BadFile" in file.read_text()
    logs.start(tmp_path, [], "1.0")
    crash.written_down(ZeroDivisionError("odd"), tmp_path)
    logs.stop()
    assert "ZeroDivisionError: odd" in file.read_text()
    assert not [handler for handler in logging.getLogger().handlers if isinstance(handler, logs.LogFile)]
    cli.main([*saves, "doctor"])
    assert str(file) in capsys.readouterr().out


# ------------------------------------------------------------------------------------- the window


def test_every_error_has_a_cause_and_a_remedy():
    assert cause_and_remedy("the disk is full; free some space") == ("the disk is full", "free some space")
    assert cause_and_remedy("the disk is full") == ("the disk is full", "")
    assert cause_and_remedy("x", "NoSuchError") == ("x", "")
    for name, kind in vars(errors).items():
        if isinstance(kind, type) and issubclass(kind, errors.JitrlError):
            assert cause_and_remedy("x", name)[1].endswith(".")
    remedies = [kind.remedy for kind in errors.JitrlError.__subclasses__()]
    assert len(set(remedies)) == len(remedies)


def test_the_window_shows_cause_remedy_report_and_log_apart(log, tmp_path):
    logging.getLogger("jitrl").warning("odd")

    async def shown(error):
        app, _ = live_app(crash=error, events=stream.run(1, 2)[:-1], saves=tmp_path)
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: isinstance(app.screen, ErrorDialog))
            text = screen_text(app)
            parts = dict(app.screen._parts)
            await pilot.press("y", "q")
        return text, parts

    text, parts = asyncio.run(shown(StorageError("cannot write x: no space left")))
    assert parts["What happened"] == "cannot write x: no space left"
    assert parts["What to do"] == StorageError.remedy
    assert parts["Log"] == str(log)
    for word in ("What happened", "What to do", "Free some space", "Log"):
        assert word in text
    text, parts = asyncio.run(shown(ValueError("odd")))
    assert "jitrl-crash-" in parts["Report"]
    assert "What to do" in text
