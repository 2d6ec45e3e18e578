"""Work in the background of the screens ends with a result or a sentence, or is cancelled, whatever it raises."""

from __future__ import annotations

import asyncio
import io
import os
import re
import threading
import time
from pathlib import Path

import pytest

import jitrl_tui
from engine.errors import UsageError
from engine.session import whatif
from jitrl_tui.panes.memory import MemoryPane
from jitrl_tui.screens.dialogs import WaitDialog
from jitrl_tui.system import shutdown
from jitrl_tui.system.background import STORING, Background
from jitrl_tui.system.output import SafeStream
from tests.tui.driving import PATIENCE_S, replay_app, still, until, watch
from tests.tui.screen_text import screen_text
from tests.tui.test_memory_trials import folder, original, pressed, watching  # noqa: F401


def done(work: Background, do, **how) -> list[str]:
    """Do work, and return what came of it."""
    told, over = [], threading.Event()

    def end(what):
        told.append(str(what))
        over.set()

    work.begin(do, end, end, **how)
    assert over.wait(PATIENCE_S)
    return told


def raising(error):
    def work(told, *_, **__):
        raise error

    return work


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (KeyError("place:pantry"), "Deciding again failed (KeyError: 'place:pantry')."),
        (RecursionError("too deep"), "Deciding again failed (RecursionError: too deep)."),
        (UsageError("this run is not on the disk"), "this run is not on the disk"),
        (OSError("no space"), "no space"),
    ],
)
def test_whatever_is_raised_ends_the_work_with_a_sentence(error, sentence):
    work = Background(None)
    assert done(work, raising(error), what="Deciding again") == [sentence]
    assert (work.busy, work.progress_text) == (False, "")
    assert done(work, lambda told: "made") == ["made"]


def test_it_is_told_how_far_it_is_and_how_it_is_cancelled():
    work, go, going = Background(None), threading.Event(), threading.Event()

    def count(told):
        told(17, 40)
        going.set()
        go.wait(PATIENCE_S)
        told(18, 40)
        raise AssertionError("it was not cancelled")

    results: list[object] = []
    work.begin(count, results.append, results.append, what="Deciding again", unit="decisions")
    assert going.wait(PATIENCE_S)
    assert work.progress_text == "Deciding again… 17 of 40 decisions. Esc cancels"
    assert work.cancel()
    assert (work.busy, work.progress_text, work.cancel()) == (False, "", False)
    go.set()
    assert done(work, lambda told: "next") == ["next"]
    assert results == []


def test_what_is_being_stored_is_not_cancelled_and_other_work_waits():
    work, go = Background(None), threading.Event()
    stored: list[str] = []
    work.begin(lambda told: str(go.wait(PATIENCE_S)), stored.append, stored.append, what="Changing", must_end=True)
    assert work.progress_text == "Changing…"
    assert not work.cancel()
    refused: list[str] = []
    work.begin(lambda told: "other", refused.append, refused.append)
    assert refused == [STORING]
    go.set()
    with work._turn:
        pass
    assert done(work, lambda told: "then") == ["then"]
    assert stored == ["True"]


def test_screens_do_all_their_work_in_the_background_with_this():
    root = Path(jitrl_tui.__file__).parent
    own = re.compile(r"run_worker|run_in_executor|to_thread|Thread\(|@work\b|create_task")
    allowed = {
        "app.py": "begins the pictures, and leaves when the terminal closes", "system/background.py": "this",
        "system/shutdown.py": "ends the process", "pictures/overlay.py": "catches everything",
        "runs/source.py": "InThread",
        "plain/terminal.py": "no screen", "screens/run_base.py": "waits for the end of the session; q again leaves",
    }  # fmt: skip
    found = {str(path.relative_to(root)) for path in root.rglob("*.py") if own.search(path.read_text("utf-8"))}
    assert found == set(allowed)


@pytest.mark.parametrize(
    ("key", "name", "what"),
    [("delete", "trial", "Deciding again"), ("i", "influence", "Deciding without each remembered step")],
)
def test_an_exception_in_a_trial_leaves_a_sentence_and_no_banner_that_waits(folder, monkeypatch, key, name, what):  # noqa: F811
    monkeypatch.setattr(whatif, name, raising(KeyError("place:pantry")))

    async def go():
        async with watching(folder) as (pilot, _):
            told = []
            pilot.app.notify = lambda sentence, **how: told.append(sentence)
            await pressed(pilot, key)
            assert any(f"{what} failed (KeyError: 'place:pantry')." in sentence for sentence in told)
            text = screen_text(pilot.app)
            assert "Deciding" not in text
            assert ("the choice could not be made again" in text) == (key == "delete")
            await pressed(pilot, "escape")
            assert "TRIAL" not in screen_text(pilot.app)

    asyncio.run(go())


def test_a_trial_counts_its_decisions_and_esc_cancels_it(folder, monkeypatch):  # noqa: F811
    go_on, totals, made = threading.Event(), [], whatif.trial

    def slow(run, at, **how):
        check = how["check"]
        check()
        go_on.wait(PATIENCE_S)
        return made(run, at, **how)

    monkeypatch.setattr(whatif, "trial", slow)

    async def go():
        async with watching(folder, size=(140, 32)) as (pilot, screen):
            before = screen.choice.decision
            await pilot.press("delete")
            await until(pilot, lambda: re.search(r"TRIAL, memory is unchanged. Deciding again… 0 of \d+ decisions. "
                                                 "Esc cancels", screen.memory_trial.banner))  # fmt: skip
            totals.append(screen.memory_trial.banner)
            await pilot.press("escape")
            go_on.set()
            await still(pilot)
            assert (screen.memory_trial.banner, screen.memory_trial.trying) == ("", False)
            assert screen.choice.decision == before
            assert screen.query_one(MemoryPane).notes.edits == ()

    asyncio.run(go())


def test_a_window_waits_for_work_and_esc_cancels_it():
    answers: list[object] = []
    go_on = threading.Event()

    async def go():
        app, _ = replay_app()
        async with app.run_test() as pilot:
            await until(pilot, lambda: watch(pilot).view.ended)
            await pilot.app.push_screen(WaitDialog("Reading", lambda told: "read"), answers.append)
            await until(pilot, lambda: answers == ["read"])
            await pilot.app.push_screen(WaitDialog("Reading", raising(KeyError("x"))), answers.append)
            await until(pilot, lambda: answers == ["read", None])
            await pilot.app.push_screen(WaitDialog("Reading", lambda told: go_on.wait(PATIENCE_S)), answers.append)
            await until(pilot, lambda: "Reading… Esc cancels" in screen_text(pilot.app))
            await pilot.press("escape")
            await until(pilot, lambda: answers == ["read", None, None])
            go_on.set()

    asyncio.run(go())


def test_a_terminal_that_closed_before_anybody_watched_it_counts_as_closed():
    owner, terminal = os.openpty()
    os.close(owner)
    closed = threading.Event()
    with os.fdopen(terminal, "w", closefd=True) as stream, shutdown.when_closed([stream], closed.set):
        assert closed.wait(60)


@pytest.mark.parametrize("watched", [False, True], ids=["before it is watched", "while it is watched"])
def test_a_terminal_that_refused_what_was_written_counts_as_closed(monkeypatch, watched):
    """What is written then goes nowhere, and the stream has no terminal any more."""
    monkeypatch.setattr(shutdown, "_LOOK_S", 0.01)
    owner, terminal = os.openpty()
    closed = threading.Event()
    with os.fdopen(terminal, "w") as beneath:
        stream = SafeStream(beneath)
        if watched:
            with shutdown.when_closed([stream], closed.set), open(os.devnull, "w") as nowhere:
                os.dup2(nowhere.fileno(), terminal)  # as `SafeStream` does when it has been refused
                time.sleep(0.1)  # it looks again in the meantime, at what is there then
                os.close(owner)
                assert closed.wait(60)
            return
        os.close(owner)
        stream.write("a line\n")
        stream.flush()
        assert stream.lost
        with shutdown.when_closed([stream], closed.set):
            assert closed.wait(60)


def test_a_file_is_not_watched_as_a_terminal(tmp_path):
    closed = threading.Event()
    with (tmp_path / "file").open("w") as stream, shutdown.when_closed([stream, io.StringIO(), None], closed.set):
        assert not [thread for thread in threading.enumerate() if thread.name == "terminal"]
    assert not closed.is_set()
