"""A page ends its episode at most: what it says is clipped and told, and the run goes on."""

from __future__ import annotations

import dataclasses
import os
import signal
import time
from pathlib import Path

import pytest

from engine.errors import GameError
from engine.records import EpisodeEnded, Notice
from engine.session import store as sessions
from engine.session.loop import Session
from engine.settings import SessionConfig, Settings
from engine.web.browser.limits import (
    LONGEST_ADDRESS,
    LONGEST_TITLE,
    MOST_EVENTS,
    MOST_UNREAD,
    BrowserLimits,
    _family,
    starter_of,
)
from tests.web.hostile_pages import ALERTS, PAGES, opened, serving

PATIENT = BrowserLimits(start=120.0, action=30.0, load=120.0, snapshot=60.0, episode=900.0)
"""For pages that are slow where the machine is busy: what ends them is no time."""


pytestmark = pytest.mark.usefixtures("shared_browser")


@pytest.fixture(scope="module")
def base():
    with serving() as url:
        yield url


def test_what_is_too_long_is_clipped_and_told(browser_path, base, monkeypatch):
    monkeypatch.setitem(PAGES, "title", PAGES["title"].replace("20e6", "2e6"))
    env = opened(browser_path, base, "plain", PATIENT)
    try:
        env.reset(1)
        for page in ("title", "address", "target"):
            seen = env.step(f"goto('{base}/{page}')")
            sight = env.sight()
            assert not seen.over, seen.text
            assert len(seen.text) + len(seen.description) < 10_000
            assert len(sight.title) <= LONGEST_TITLE + 3
            assert len(sight.url) <= LONGEST_ADDRESS + 3
            assert len(sight.snapshot) + len(repr(sight.entries)) < 60_000
            if page == "target":
                assert "the page is too long; a part of it was left out" in seen.text
        assert "Plain" in env.step(f"goto('{base}/plain')").text
    finally:
        env.close()


def test_a_page_that_goes_too_far_ends_its_episode_and_the_next_one_begins(browser_path, base, monkeypatch):
    for what, most in (("dialogs", 5), ("requests", 20), ("page loads", 4)):
        monkeypatch.setitem(MOST_EVENTS, what, most)
    env = opened(browser_path, base, "later", PATIENT)
    try:
        # With the first page, the episode cannot begin.
        monkeypatch.setitem(PAGES, "later", ALERTS)
        with pytest.raises(GameError, match="more than 5 dialogs"):
            env.reset(1)
        monkeypatch.setitem(PAGES, "later", PAGES["plain"])
        for page, why in (
            ("redirects", "more than 4 page loads"),
            ("requests", "more than 20 requests"),
        ):
            assert "Words of a page" in env.reset(1).description
            seen = env.step(f"goto('{base}/{page}')")
            assert seen.broken, (page, seen.text)
            assert why in seen.text
            assert env.step("noop()") == seen
        assert "Words of a page" in env.reset(1).description
    finally:
        env.close()


def test_a_page_gets_no_more_memory_than_the_limit(browser_path, base):
    env = opened(browser_path, base, "plain", BrowserLimits(memory=420))
    try:
        env.reset(1)
        seen = env.step(f"goto('{base}/arrays')")
        deadline = time.monotonic() + 120
        while not seen.over and time.monotonic() < deadline:
            seen = env.step("noop()")
        assert "a page crashed; 420 MiB are the limit of its memory" in seen.text
    finally:
        env.close()


def comes_back(env):
    """Begin an episode with time enough for a busy machine. What hangs is waited for as briefly as before."""
    env.driver.limits = dataclasses.replace(PATIENT, action=env.driver.limits.action)
    assert "Words of a page" in env.reset(1).description


def test_a_page_that_hangs_is_told_and_ends_its_episode(browser_path, base):
    told = []
    limits = BrowserLimits(load=1.0, settle=0.5, snapshot=1.0, action=1.0, report_every=0.2)
    env = opened(browser_path, base, "plain", limits)
    env.on_wait(told.append)
    try:
        env.reset(1)
        told.clear()
        env.step(f"goto('{base}/hung')")
        assert env.step("noop()").broken
        assert any("the browser has not answered for" in sentence for sentence in told)
        comes_back(env)
    finally:
        env.close()


@pytest.mark.parametrize("which", ["chromium", "playwright"])
def test_a_browser_that_hangs_ends_its_episode_and_is_replaced(browser_path, base, which):
    limits = BrowserLimits(load=1.0, settle=0.5, snapshot=1.0, action=1.0, margin=1.0)
    env = opened(browser_path, base, "plain", limits)
    try:
        env.reset(1)
        mark = env.driver._process._mark
        hung = {starter_of(mark)} if which == "playwright" else _family(mark)
        assert hung
        for pid in hung:
            os.kill(pid, signal.SIGSTOP)
        assert any(env.step("noop()").broken for _ in range(MOST_UNREAD))
        comes_back(env)
        lines = (Path(f"/proc/{pid}/cmdline") for pid in hung)
        assert not any(line.exists() and line.read_text() for line in lines)  # what has ended has none
    finally:
        env.close()


def test_an_episode_that_cannot_begin_is_tried_again_then_counted_and_the_run_goes_on(tmp_path, monkeypatch):
    """The first three times it cannot begin. In the second session it never can."""

    def run(failures, episodes):
        class Away(Session):
            def _environment(self):
                environment = super()._environment()
                reset, left = environment.reset, iter(range(failures))

                def failing(seed):
                    if next(left, None) is not None:
                        raise GameError("the page went too far: more than 20 dialogs during one action")
                    return reset(seed)

                environment.reset = failing
                return environment

        config = SessionConfig("pantry", "static", "prior/uniform", episodes, settings=Settings(step_limit=2))
        events = []
        session = Away(sessions.create(tmp_path, config, "run"), tmp_path, events.append)
        session.run()
        return session.error, events, [event for event in events if isinstance(event, EpisodeEnded)]

    error, events, ended = run(3, 3)
    assert error is None
    assert [(each.failed, each.ended_by, each.steps) for each in ended] == [(1, "failure", 0), (0, "", 2), (0, "", 2)]
    warnings = [event.message for event in events if isinstance(event, Notice)]
    assert sum("the episode could not begin: the page went too far: more than 20 dialogs" in w for w in warnings) == 3
    monkeypatch.setattr("engine.session.live.FAILED_BEGINNINGS", 1)
    error, _, ended = run(99, 9)
    assert isinstance(error, GameError)  # Here it is no single page that is at fault.
    assert [each.failed for each in ended] == [1]
