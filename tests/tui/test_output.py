"""What reaches a terminal: no control, direction or invisible character, whoever wrote the text."""

from __future__ import annotations

import asyncio
import dataclasses
import io
import json
import sys

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from engine.records import Notice
from jitrl_tui.app import JitrlApp
from jitrl_tui.driver import SafeLines
from jitrl_tui.panes import registry
from jitrl_tui.plain.run import PlainRun
from jitrl_tui.runs.replay import ReplaySource
from jitrl_tui.runs.source import LiveSource
from jitrl_tui.screens.watch import WatchScreen
from jitrl_tui.system.output import SafeStream, clean, escape, guard, one_line
from jitrl_tui.widgets.pane import Pane, PaneKind
from tests.tui import hostile, stream
from tests.tui.driving import still, until, watch
from tests.tui.hostile import HOSTILE, Nasty, dangers

SMALL, LARGE = (80, 24), (150, 50)


def drive(coroutine) -> None:
    asyncio.run(asyncio.wait_for(coroutine, 240))


# ----------------------------------------------------------------------------------------------- text


def test_controls_and_directions_go_and_what_people_write_stays():
    assert clean("a\x1b[31mb\x07\x9b\u202ec\r\nd\te") == "a[31mbc\nd" + " " * 3 + "e"
    assert clean("\u061ca\u2028b\U000e0041c\ud800") == "a bc\ufffd"
    persian, family = "\u0645\u06cc\u200c\u0631\u0648\u0645", "\U0001f468\u200d\U0001f469"
    for kept in (persian, family, "a\u00a0b\u3000c", "\u2764\ufe0f", "e\u0301", "\ue0b0", "\U0001fae9"):
        assert clean(kept) == escape(kept) == kept
    assert one_line("a\nb\tc") == "a b" + " " * 3 + "c"


@given(st.text())
def test_no_text_whatever_keeps_anything_dangerous(text):
    assert dangers(clean(text), "\n") == []
    assert dangers(one_line(text)) == []
    assert dangers(escape(text), "\n\t") == []
    assert clean(clean(text)) == clean(text)


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8))
def test_json_that_is_printed_says_the_same_as_before(value):
    printed = escape(json.dumps(value, ensure_ascii=False))
    assert dangers(printed) == []
    assert json.loads(printed) == json.loads(json.dumps(value, ensure_ascii=False))


def test_stdout_and_stderr_are_guarded_once_tracebacks_included(monkeypatch):
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, io.StringIO())
    guard()
    once = sys.stdout
    guard()
    assert sys.stdout is once
    print(HOSTILE)
    sys.stdout.writelines([HOSTILE, "\n"])
    sys.excepthook(ValueError, ValueError(HOSTILE), None)
    for stream_ in (sys.stdout, sys.stderr):
        text = stream_.getvalue()
        assert "PWNED" in text
        assert dangers(text, "\n") == []


# --------------------------------------------------------------------------------------- the screen


def drawn(app: JitrlApp) -> str:
    """Return what the screen shows, after checking each segment that is written to the terminal."""
    lines = []
    for strip in app.screen._compositor.render_strips(app.size):
        lines.append("".join(segment.text for segment in strip))
        assert dangers(lines[-1]) == [], lines[-1]
        assert all(segment.style is None or segment.style.link is None for segment in strip)
        assert sum(cell_len(segment.text) for segment in strip) <= app.size[0]
    return "\n".join(lines)


def nasty_events() -> list[object]:
    """Return a run with hostile text in every field of every record that an event can hold."""
    nasty = Nasty()
    made = [nasty(event) for event in hostile.events()]
    assert nasty.met == hostile.classes()
    return made


def test_no_field_of_any_record_reaches_the_screen_raw():
    async def go():
        source = ReplaySource(lambda: stream.recorded(nasty_events()), delay=0.0)
        app = JitrlApp(lambda: WatchScreen(source, delay=0.0))
        async with app.run_test(size=LARGE) as pilot:
            await until(pilot, lambda: watch(pilot).view.ended)
            shown = drawn(app)
            for key in (*"12345678", "left", "m", "z", "z", "t", "p", "escape", "slash", "escape"):
                await pilot.press(key)
                await still(pilot)
                shown += drawn(app)
            sources, columns, titles, replies = "ll]0;P", "co]0;", "Re]0;PWNED", "1.]0;PWNED"
            assert sources in shown
            assert titles in shown
            assert replies in shown
            assert columns in shown
            await pilot.press("t", "y")
            await still(pilot)
            assert "PWNED" in app.clipboard
            assert dangers(app.clipboard, "\n") == []
            await pilot.press("escape")
            await pilot.resize_terminal(*SMALL)
            for key in "2346":
                await pilot.press(key)
                await still(pilot)
                drawn(app)

    drive(go())


def test_what_a_live_session_asks_and_says_is_safe_on_the_screen():
    async def go():
        events = [event for event in nasty_events() if not isinstance(event, Notice)]
        source = LiveSource(lambda emit: stream.ScriptedSession(emit, events, ValueError(HOSTILE)))
        app = JitrlApp(lambda: WatchScreen(source, delay=600.0, play=True))
        async with app.run_test(size=LARGE, notifications=True) as pilot:
            await until(pilot, lambda: watch(pilot).view.pending)
            drawn(app)
            await pilot.press("f2", "o")
            await still(pilot)
            assert "What shall it do instead" in drawn(app)
            await pilot.press("escape")
            app.notify(f"[link='{HOSTILE}']x[/link] {HOSTILE}", title=HOSTILE)
            await still(pilot)
            assert "[link=" in drawn(app)
            source.fast_forward(9)
            await until(pilot, lambda: "ValueError" in drawn(app))

    drive(go())


class _Raw(Pane):
    """A pane of somebody who thinks of nothing."""

    def line(self, y: int) -> Strip:
        return Strip([Segment(HOSTILE, Style(link=f"http://x/{HOSTILE}")), Segment("\n\tafter")])


def test_a_pane_of_somebody_else_cannot_get_round_it(monkeypatch):
    kind = PaneKind("raw", f"raw {HOSTILE}", _Raw, place="beside")
    panes = dataclasses.replace(registry.PANES, built_in=(*registry.PANES.built_in, kind))
    monkeypatch.setattr(registry, "PANES", panes)

    async def go():
        source = ReplaySource(lambda: stream.recorded(stream.run(1, 2)), delay=0.0)
        app = JitrlApp(lambda: WatchScreen(source, delay=0.0))
        async with app.run_test(size=LARGE) as pilot:
            await until(pilot, lambda: watch(pilot).view.ended)
            await pilot.press("9")
            await still(pilot)
            shown = drawn(app)
            assert "PWNED" in shown
            assert "after" in shown

    drive(go())


@given(st.lists(st.text(max_size=20), max_size=5))
def test_lines_keep_their_width(texts):
    segments = SafeLines().apply([Segment(text) for text in texts], None)
    for segment, text in zip(segments, texts, strict=True):
        assert dangers(segment.text) == []
        if "\u200d" not in text:  # what is taken out may let two emoji join
            assert cell_len(segment.text) == cell_len(text)


# ---------------------------------------------------------------------------------------- plain lines


def test_no_field_of_any_record_is_said_raw_in_plain_lines():
    out = io.StringIO()
    made = []

    def open_session(emit):
        made.append(stream.ScriptedSession(emit, nasty_events(), None))
        return made[0]

    typed = iter(["/why", "/options", "/memory", "/actions", "/score", "/page", f"/{HOSTILE}", "", HOSTILE, "/forward"])
    PlainRun(LiveSource(open_session), out, lambda: next(typed, None), play=True).run()
    text = out.getvalue()
    assert text.count("PWNED") > 50
    assert dangers(text, "\n") == []
    assert all(dangers(action) == [] for who, action in made[0].carried_out if who == "human")


def test_a_stream_is_otherwise_what_it_was():
    inner = io.StringIO()
    outer = SafeStream(inner)
    assert outer.write("\x1b") == 1
    assert outer.getvalue() == "\\u001b"
    assert outer.isatty() is False
