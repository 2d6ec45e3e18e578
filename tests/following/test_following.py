"""What can be followed: runs and sessions before, while and after they are played, damaged ones, and none."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from engine.bench.follower import FollowedRun, RunFolder, find
from engine.bench.progress import BenchProgress, RunLimits
from engine.bench.records import Began, CellStepped, Ended, Failed, Finished, Said
from engine.bench.run_events import EVENTS_FILE, NOW, RunBegan, RunOver, RunWriter
from engine.codec import event_to_line
from engine.errors import BadFile, UsageError
from engine.records import Paused, Steered, Thinking, Waiting
from engine.session import store as sessions
from engine.session.remote import presence
from engine.session.remote.followed import FolderSession
from engine.session.remote.presence import CommandReply, PlayedAt, Presence
from engine.settings import SessionConfig
from jitrl_tui.app import JitrlApp
from jitrl_tui.cli import main
from jitrl_tui.runs.follower import FollowSource, Reach
from jitrl_tui.runs.source import Inbox
from jitrl_tui.runs.view import RunView
from jitrl_tui.screens.dialogs import ConfirmDialog, ErrorDialog
from jitrl_tui.screens.follow import FollowScreen, follow_screen
from tests.arena.made_runs import made, row
from tests.arena.running import SMALL, planned
from tests.tui import stream
from tests.tui.driving import until
from tests.tui.hostile import HOSTILE, dangers
from tests.tui.screen_text import screen_text

SIZES = ((80, 24), (140, 45), (200, 60))


@pytest.fixture
def session(tmp_path) -> Path:
    """The folder of a session that was begun and not played."""
    return sessions.create(tmp_path, SessionConfig("pantry"), "run").folder


def written(folder: Path, events) -> None:
    with open(folder / "events.jsonl", "a", encoding="utf-8") as out:
        out.writelines(event_to_line(event, 1.0) + "\n" for event in events)


def sign(place: PlayedAt | None = None, **more) -> Presence:
    return Presence(place or PlayedAt.here(), time.time(), **{"steerable": True, **more})


# ------------------------------------------------------------------------------------------------- names


def test_what_is_neither_a_run_nor_a_session_is_one_sentence(tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    for name in ("nothing", str(tmp_path / "empty"), "../x", "a" * 300, "nul\0", "", "last", str(tmp_path / "no")):
        assert main(["watch", "--follow", name, "--plain", "--saves", str(tmp_path)]) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert "there is no run" in error or "too long" in error


def test_a_game_and_follow_exclude_each_other_and_one_is_needed(tmp_path, capsys):
    assert main(["watch", "pantry", "--follow", "x", "--saves", str(tmp_path)]) == 2
    assert "--follow stands in place of GAME" in capsys.readouterr().err
    for options in (["--seed", "3"], ["--set", "beta=2"], ["--fresh"], ["--ask"], ["--speed", "2"]):
        assert main(["watch", "--follow", "x", *options, "--saves", str(tmp_path)]) == 2
        assert f"leave out {options[0]}\n" in capsys.readouterr().err
    assert main(["watch", "--saves", str(tmp_path)]) == 2
    assert "watch needs a game, or --follow RUN" in capsys.readouterr().err


def test_a_cell_is_named_by_its_folder_and_its_newest_session_is_followed(tmp_path):
    for number in ("000", "001"):
        sessions.create_in(tmp_path / "cells" / "a" / number, SessionConfig("pantry"), "run")
    assert find(tmp_path, str(tmp_path / "cells" / "a")).folder.name == "001"


# --------------------------------------------------------------------------------------------- recordings


def test_events_come_once_and_a_recording_that_is_begun_anew_begins_anew(session):
    events = list(stream.run(1, 3))
    followed = FolderSession(session)
    assert followed.new() == []
    written(session, events[:5])
    assert followed.new() == events[:5]
    assert followed.new() == []
    written(session, events[5:])
    assert followed.new() == events[5:]
    (session / "events.jsonl").unlink()
    written(session, events[:2])
    assert followed.new() == events[:2]
    assert followed.restarted


@pytest.mark.parametrize(("lines", "sentence"), [
    (b"rubbish\n", "is not a recording of jitrl, or is damaged"),
    (b"\xff\xfe\x00\n", "is not a recording of jitrl, or is damaged"),
    (b'{"event":"Thinking","at":1,"what":"x"}\n', "does not begin with a session"),
    (b"[" * 100_000 + b"\n", "is not a recording of jitrl, or is damaged"),
])  # fmt: skip
def test_a_damaged_recording_is_refused_in_a_sentence(session, lines, sentence, capsys):
    (session / "events.jsonl").write_bytes(lines)
    with pytest.raises(BadFile, match=sentence):
        FolderSession(session).new()
    assert main(["watch", "--follow", str(session), "--plain"]) == BadFile.exit_code
    assert sentence in capsys.readouterr().out


def test_a_recording_of_a_newer_version_is_refused_in_a_sentence(session):
    started = stream.run(1, 1)[0]
    line = event_to_line(started, 1.0).replace('"format":1', '"format":99')
    assert '"format":99' in line
    (session / "events.jsonl").write_text(line + "\n")
    with pytest.raises(BadFile, match="newer jitrl"):
        FolderSession(session).new()


def test_a_session_whose_process_was_killed_is_said_to_be_gone(session, capsys):
    written(session, list(stream.run(1, 3))[:-1])
    here = PlayedAt.here()
    presence.write(session, Presence(PlayedAt(here.host, here.pid, here.born + 1), time.time()))
    assert main(["watch", "--follow", str(session), "--plain"]) == 1
    assert f"Its process is gone: {here.as_text()}" in capsys.readouterr().out


# -------------------------------------------------------------------------------------------------- source


def take(source, seconds: float = 60.0) -> list:
    """Run a source until it is stopped or ends, and return what it told."""
    inbox = Inbox(lambda: None)
    source.start(inbox)
    assert source.wait(seconds)
    return inbox.drain(1 << 20)


def test_what_is_not_recorded_comes_from_the_signs_of_life(session):
    written(session, list(stream.run(1, 3))[:4])
    told: list[str] = []
    source = FollowSource(lambda: FolderSession(session), 60.0)
    source.notify = lambda text, good: told.append(text)
    inbox = Inbox(lambda: None)
    source.start(inbox)
    seen: list = []

    def look(kind):
        end = time.monotonic() + 60
        while not any(isinstance(one, kind) for one in seen):
            assert time.monotonic() < end
            seen.extend(inbox.drain(100))
            time.sleep(0.01)
        found = next(one for one in seen if isinstance(one, kind))
        seen.clear()
        return found

    assert look(RunView).episode == 1
    presence.write(session, sign(activity="thinking", doing="asking the model"))
    assert look(Thinking) == Thinking("asking the model")
    presence.write(session, sign(activity="waiting", doing="rate limit", seconds=20, left_s=60))
    assert look(Waiting) == Waiting("rate limit", 20, 60)
    presence.write(session, sign(activity="paused", question=5))
    assert look(Paused) == Paused("", 5)
    source.stop()


def test_a_refusal_is_told_and_a_session_without_commands_says_why(session):
    written(session, list(stream.run(1, 3))[:4])
    presence.write(session, sign(steerable=False))
    told: list[tuple[str, bool]] = []
    source = FollowSource(lambda: FolderSession(session), 60.0)
    source.notify = lambda text, good: told.append((text, good))
    source.start(Inbox(lambda: None))
    source.pause()
    end = time.monotonic() + 60
    while not told:
        assert time.monotonic() < end
        time.sleep(0.01)
    source.stop()
    assert told == [("This session takes no commands.", False)]


# --------------------------------------------------------------------------------------------------- runs


def test_a_run_is_followed_from_before_it_is_played_until_its_end(tmp_path):
    folder, cells = planned(SMALL, tmp_path)
    run = FollowedRun(RunFolder(folder))
    assert run.new() == []
    assert not run.lives()
    telling = RunWriter(folder, RunLimits(tokens=7))
    telling.begin(2, {})
    first = cells[0].name
    messages = [Began(first), Said(first, "hello"), Ended(first, 0, 1, 3.0, 14.0, 12)]
    for message in messages:
        telling.note(message)
    telling.beat()
    found = run.new()
    assert isinstance(found[0], RunBegan)
    assert found[0].limits == RunLimits(tokens=7)
    assert found[1:] == messages
    assert run.new() == []
    assert run.lives()
    telling.note(CellStepped(first, 0, 2, 1, 0.0, "wait"))
    telling._shown_at = 0.0
    telling.beat()
    assert run.new() == [CellStepped(first, 0, 2, 1, 0.0, "wait")]
    telling.note(Failed(first, "broken"))
    telling.close("stopped by request")
    assert run.new() == [Failed(first, "broken"), RunOver("stopped by request")]
    assert not run.lives()
    again = RunWriter(folder, RunLimits())  # it is resumed
    again.begin(1, {})
    again.note(Began(first))
    found = run.new()
    assert isinstance(found[0], RunBegan)
    assert found[1:] == [Began(first)]
    assert run.lives()
    again.close("")


def test_a_run_of_before_is_read_from_its_rows(tmp_path):
    folder, cells = planned(SMALL, tmp_path)
    rows = [row("Static", "pantry", 1, 1, 5.0, cell=cells[0].name, agent="static"),
            row("Static", "pantry", 1, 2, 6.0, cell=cells[0].name, agent="static")]  # fmt: skip
    old = made(rows)
    (folder / "episodes.jsonl").write_text("")
    old.write(folder.parent / "old")
    (folder / "episodes.jsonl").write_bytes((folder.parent / "old" / "episodes.jsonl").read_bytes())
    found = FollowedRun(RunFolder(folder)).new()
    progress = BenchProgress(cells)
    for message in found[:-1]:
        progress.apply(message)
    assert progress.cells[cells[0].name].scores == (5.0, 6.0)
    assert isinstance(found[-1], RunOver)


@pytest.mark.parametrize("line", [
    b"rubbish\n", b"[1, 2]\n", b'["Began", {}]\n', b'["Began", {"cell": "of another run"}]\n',
    b'["Stepped", {"cell": "CELL", "leg": 7, "episode": 1, "step": 1, "score": 0.0, "action": ""}]\n',
    b'["Stepped", {"cell": "CELL", "leg": 0, "episode": 99, "step": 1, "score": 0.0, "action": ""}]\n',
    b'["Run", {"format": 99, "place": {"host": "", "pid": 1}, "began": 0.0}]\n',
])  # fmt: skip
def test_what_a_run_cannot_tell_is_refused_in_a_sentence(tmp_path, line):
    folder, cells = planned(SMALL, tmp_path)
    (folder / EVENTS_FILE).write_bytes(line.replace(b"CELL", cells[0].name.encode()))
    with pytest.raises(BadFile, match="a-run"):
        FollowedRun(RunFolder(folder)).new()


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b'{"place": 1}', b"\xff"])
def test_a_damaged_file_of_the_present_is_passed_over(tmp_path, content):
    folder, cells = planned(SMALL, tmp_path)
    telling = RunWriter(folder, RunLimits())
    telling.begin(1, {})
    telling.note(Began(cells[0].name))
    (folder / NOW).write_bytes(content)
    assert FollowedRun(RunFolder(folder)).new()[1:] == [Began(cells[0].name)]
    telling.close("")


def test_what_was_read_of_a_run_is_not_read_again(tmp_path, monkeypatch):
    folder, cells = planned(SMALL, tmp_path)
    telling = RunWriter(folder, RunLimits())
    telling.begin(1, {})
    first = cells[0].name
    for _ in range(2000):
        telling.note(Said(first, "x" * 100))
    run = FollowedRun(RunFolder(folder))
    assert len(run.new()) == 2001
    read: list[int] = []
    real = os.pread

    def pread(fd, most, at):
        data = real(fd, most, at)
        read.append(len(data))
        return data

    monkeypatch.setattr(os, "pread", pread)
    for _ in range(20):
        assert run.new() == []
    assert sum(read) == 0
    telling.note(Finished(first))
    assert run.new() == [Finished(first)]
    assert sum(read) < 200
    telling.close("")


def test_a_run_goes_on_where_its_folder_takes_no_files(tmp_path):
    folder, cells = planned(SMALL, tmp_path)
    telling = RunWriter(folder / "missing", RunLimits())
    telling.begin(1, {})
    telling.note(Began(cells[0].name))
    telling.beat()
    telling.close("")


# ------------------------------------------------------------------------------------------------- screen


def said(app) -> set[str]:
    return {notice.message for notice in app._notifications}


def drive(folder: Path, steps, size=(140, 45), **more) -> None:
    screen = follow_screen(Reach(lambda: FolderSession(folder), folder), **more)
    app = JitrlApp(lambda: screen)

    async def go():
        async with app.run_test(size=size, notifications=True) as pilot:
            await until(pilot, lambda: screen.source.loaded and "… reading" not in screen_text(app))
            await steps(pilot, app, screen)

    asyncio.run(asyncio.wait_for(go(), 120))


def test_the_screen_says_where_a_session_is_played_at_every_size(session):
    written(session, list(stream.run(1, 3))[:6])
    presence.write(session, sign())

    async def look(pilot, app, screen):
        await until(pilot, lambda: screen.source.lives)
        for width, height in SIZES:
            await pilot.resize_terminal(width, height)
            await until(pilot, lambda: f"process {os.getpid()}" in screen_text(app))
            text = screen_text(app)
            assert "Following, read-only." in text
            assert "take in hand" in text or width < 80
        await pilot.press("?", "?")
        await until(pilot, lambda: "Taking it in hand" in screen_text(app))

    drive(session, look)


def test_a_hostile_session_shows_nothing_that_a_terminal_obeys(session):
    written(session, list(stream.run(1, 3))[:6])
    bad = HOSTILE.encode("utf-8", "ignore").decode()
    written(session, [Steered("hold", bad, False, bad, 1, 1, bad)])
    presence.write(session, sign(PlayedAt(bad, 5), activity="paused", doing=bad, question=3, holder=bad[:200]))

    async def look(pilot, app, screen):
        await until(pilot, lambda: screen.source.lives and "holds the session" in screen_text(app))
        assert dangers(screen_text(app), "\n") == []

    drive(session, look)


def test_a_cell_is_overruled_only_after_a_question_and_another_session_at_once(session):
    written(session, list(stream.run(1, 3))[:6])
    presence.write(session, sign())
    asked: list[str] = []
    seen: list[bool] = []

    async def look(pilot, app, screen):
        await until(pilot, lambda: screen.source.lives)
        screen.source.pause = lambda: asked.append("pause")
        await pilot.press("o")
        await pilot.pause(0.1)
        first = isinstance(app.screen, ConfirmDialog)
        await pilot.press("escape" if first else "z")
        assert asked == ([] if first else ["pause"])
        seen.append(first)

    drive(session, look, cell=True)
    drive(session, look)
    assert seen == [True, False]


def test_keys_that_steer_say_why_they_cannot(session):
    written(session, list(stream.run(1, 3))[:6])

    async def gone(pilot, app, screen):
        assert "It was left in the middle" in screen_text(app)
        for key in ("space", "full_stop", "o", "E"):
            await pilot.press(key)
        assert said(app) == {"Nobody plays this session now, so there is nothing to steer."}
        assert app.screen is screen

    async def own(pilot, app, screen):
        await until(pilot, lambda: screen.source.lives)
        await pilot.press("space")
        assert said(app) == {"This session is steered at its own screen alone."}
        assert "it is steered at its own screen alone." in screen_text(app)

    async def read_only(pilot, app, screen):  # there is no file that takes commands
        await until(pilot, lambda: screen.source.lives)
        await pilot.press("space")
        await until(pilot, lambda: said(app) == {"This session takes no commands."})

    drive(session, gone)
    presence.write(session, sign(steerable=False))
    drive(session, own)
    presence.write(session, sign())
    drive(session, read_only)


def test_a_damaged_recording_opens_a_window_that_says_so(session):
    (session / "events.jsonl").write_bytes(b"rubbish\n")
    screen = follow_screen(Reach(lambda: FolderSession(session), session))
    app = JitrlApp(lambda: screen)

    async def go():
        async with app.run_test(size=(140, 45)) as pilot:
            await until(pilot, lambda: isinstance(app.screen, ErrorDialog))
            assert "damaged" in screen_text(app)

    asyncio.run(asyncio.wait_for(go(), 60))


def test_replies_that_are_not_to_this_follower_are_not_shown(session):
    written(session, list(stream.run(1, 3))[:6])
    presence.write(session, sign(replies=(CommandReply("x", False, "not yours"),)))

    async def look(pilot, app, screen):
        await until(pilot, lambda: screen.source.lives)
        assert isinstance(screen, FollowScreen)
        assert said(app) == set()

    drive(session, look)


def test_a_folder_is_no_run_for_follow_if_it_only_looks_like_one(tmp_path):
    folder = tmp_path / "bench" / "x"
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text('{"format": 99, "plan": {}, "cells": {}}')
    with pytest.raises(BadFile, match="newer jitrl"):
        FollowedRun(RunFolder(find(tmp_path, "x").folder))
    (folder / "manifest.json").write_text("[]")
    with pytest.raises((BadFile, UsageError)):
        FollowedRun(RunFolder(folder))
