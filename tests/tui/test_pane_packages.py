"""A pane of somebody else's package is one entry point: it is shown, and cannot take the screen down."""

from __future__ import annotations

import asyncio
import itertools
import textwrap
from collections import Counter
from pathlib import Path

import pytest

from engine.errors import UsageError
from engine.records import Stepped
from jitrl_tui.panes.registry import kinds
from jitrl_tui.widgets.pane import PaneKind
from tests import packages
from tests.tui import stream
from tests.tui.driving import live_app, replay_app, settled, still, until, watch
from tests.tui.screen_text import screen_text
from tests.tui.test_web_watch import web_app

EXAMPLE = Path(__file__).parent / "repeats_pane"
SMALL, NORMAL, LARGE = (80, 24), (100, 30), (140, 45)
_NUMBER = itertools.count(1)

BROKEN = {
    "it does not load": ("raise RuntimeError('no screen')", "does not load: no screen"),
    "it is no kind of pane": ("KIND = 'pane'", "is no PaneKind of that name"),
    "its kind has another name": ("KIND = PaneKind('other', 'other', LinePane)", "is no PaneKind of that name"),
    "its place is not there": (
        "KIND = PaneKind('guest', 'guest', LinePane, place='attic')",
        "there is no place 'attic' for a pane; choose one of: stage, beside, wide, tab",
    ),
    "it has no title": ("KIND = PaneKind('guest', ' ', LinePane)", "the pane 'guest' has no title"),
    "it cannot be made": ("KIND = PaneKind('guest', 'guest', lambda: 1 / 0)", "(ZeroDivisionError: division by zero)"),
    "it is no pane": ("KIND = PaneKind('guest', 'guest', dict)", "(TypeError: dict is no Pane)"),
    "its style cannot be read": (
        "class Guest(LinePane):\n    DEFAULT_CSS = 'Guest { colour: ; }'\nKIND = PaneKind('guest', 'guest', Guest)",
        "cannot be opened",
    ),
    "it raises while it looks": (
        "class Guest(LinePane):\n    def look(self, view, choice, how):\n        raise KeyError('score')\n"
        "KIND = PaneKind('guest', 'guest', Guest)",
        "This pane failed (KeyError: 'score', ",
    ),
    "it raises while it draws": (
        "class Guest(LinePane):\n    def build(self, width, height):\n        return [1 / 0]\n"
        "KIND = PaneKind('guest', 'guest', Guest)",
        "This pane failed (ZeroDivisionError: division by zero, ",
    ),
    "it draws what is no line": (
        "class Guest(LinePane):\n    def build(self, width, height):\n        return [None]\n"
        "KIND = PaneKind('guest', 'guest', Guest)",
        "This pane failed (AttributeError: ",
    ),
    "it raises while it draws a line": (
        "class Guest(Pane):\n    def line(self, y):\n        raise OSError('gone')\n"
        "KIND = PaneKind('guest', 'guest', Guest)",
        "This pane failed (OSError: gone, ",
    ),
    "it raises when it is mounted": (
        "class Guest(LinePane):\n    def on_mount(self):\n        raise OSError('gone')\n    def look(self, *_):\n"
        "        self.on_mount()\nKIND = PaneKind('guest', 'guest', Guest)",
        "This pane failed (OSError: gone, ",
    ),
}
"""Code of a package, and what is shown in its place."""


def drive(coroutine) -> None:
    asyncio.run(asyncio.wait_for(coroutine, 240))


@pytest.fixture(scope="module")
def example(tmp_path_factory) -> Path:
    """The example built as a wheel, and installed into a folder of its own."""
    return packages.installed(EXAMPLE, tmp_path_factory.mktemp("example"))


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Install a package with one pane, as an installer does."""

    def install(code: str, name: str = "guest") -> None:
        module = f"pane_of_somebody_{next(_NUMBER)}"
        head = "from jitrl_tui.widgets.lines import LinePane\nfrom jitrl_tui.widgets.pane import Pane, PaneKind\n"
        (tmp_path / f"{module}.py").write_text(head + textwrap.dedent(code))
        info = tmp_path / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[jitrl.panes]\n{name} = {module}:KIND\n")
        monkeypatch.syspath_prepend(str(tmp_path))

    return install


def flat(app) -> str:
    """Return the screen's text without line ends and frames."""
    return " ".join(screen_text(app).replace("│", " ").replace("┃", " ").split())


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_a_pane_of_an_installed_wheel_is_a_tab_with_the_next_number(example, monkeypatch, size):
    monkeypatch.syspath_prepend(str(example))
    events = stream.run(2, 8)
    given = Counter(event.action for event in events if isinstance(event, Stepped) and event.episode == 2)

    async def go():
        app, _ = replay_app(events)
        async with app.run_test(size=size) as pilot:
            await until(pilot, lambda: watch(pilot).view.ended)
            assert "[repeats]" not in screen_text(app)
            await pilot.press("0")
            text = await settled(pilot)
            assert "0 [repeats]" in text
            for command, count in given.items():
                assert f"{count} {command}"[: size[0] // 4] in " ".join(text.split())
            await pilot.press("z")
            text = await settled(pilot)
            assert f"{given.most_common(1)[0][1]} {given.most_common(1)[0][0]}" in text
            assert "Session over" not in text
            await pilot.press("escape", "5")
            assert "0 [repeats]" not in await settled(pilot)
            await pilot.click("#tabs", offset=(len(await tabs(pilot)) - 3, 0))
            assert "0 [repeats]" in await settled(pilot)
            await pilot.press("y")
            assert app.clipboard.split() == " ".join(f"{n} {c}" for c, n in given.most_common()).split()

    async def tabs(pilot) -> str:
        return pilot.app.screen.query_one("#tabs").render().plain

    drive(go())


def test_the_panes_of_this_project_keep_their_places_beside_one_of_a_package(example, monkeypatch):
    async def go(size):
        app, _ = replay_app()
        async with app.run_test(size=size) as pilot:
            await until(pilot, lambda: watch(pilot).view.ended)
            await pilot.press("5")  # in front in both
            await still(pilot)
            boxes = {pane.id: pane.region for pane in watch(pilot).panes._panes.values() if pane.display}
            return {name: (box.x, box.y, box.width) for name, box in boxes.items()}, boxes

    before = {size: asyncio.run(go(size)) for size in (NORMAL, LARGE)}
    monkeypatch.syspath_prepend(str(example))
    for size in (NORMAL, LARGE):
        after = asyncio.run(go(size))
        assert after[0].keys() == before[size][0].keys()
        for name in ("transcript", "candidates", "why", "memory"):
            if name in after[0]:
                assert after[0][name] == before[size][0][name]
                assert after[1][name].height >= before[size][1][name].height


def test_the_help_names_the_key_of_a_pane_of_a_package(example, monkeypatch):
    monkeypatch.syspath_prepend(str(example))

    async def go():
        app, _ = replay_app()
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, lambda: watch(pilot).view.ended)
            await pilot.press("question_mark")
            await until(pilot, lambda: "0 repeats" in screen_text(app))
            row = next(line for line in app.screen._markdown.splitlines() if "go to the repeats" in line)
            assert "go to the learning curve" in app.screen._markdown
            assert row.split("go to")[0].split() == ["|", "`0`", "|"]

    drive(go())


def test_panes_that_fail_are_sentences_in_their_places_and_the_run_goes_on(package):
    names = [f"guest{number:02}" for number in range(len(BROKEN))]
    sentences = []
    for name, (code, sentence) in zip(names, BROKEN.values(), strict=True):
        package(code.replace("'guest'", repr(name)), name)
        sentences.append(sentence.replace("'guest'", repr(name)))

    async def go():
        app, session = live_app(delay=600.0)
        async with app.run_test(size=LARGE) as pilot:
            screen = watch(pilot)

            async def each(shown):
                for name, sentence in shown:
                    screen.panes.go_to(name, app.size)
                    await until(pilot, lambda: sentence in flat(app))  # noqa: B023
                    assert f"[{name}]" in flat(app)

            await until(pilot, lambda: screen.view.pending)
            await pilot.press("0")
            await until(pilot, lambda: sentences[0] in flat(app))
            assert "0 [guest00]" in flat(app)
            await each(zip(names, sentences, strict=True))
            await pilot.press("d")  # everything is drawn anew
            await pilot.resize_terminal(*NORMAL)
            await pilot.press(".")
            await until(pilot, lambda: len(session.carried_out) == 1)
            await until(pilot, lambda: screen.view.pending)
            assert sentences[-1] in flat(app)
            await each(one for one in zip(names, sentences, strict=True) if "This pane failed" in one[1])
            for title in ("transcript", "candidates", "why"):
                assert title in flat(app)
            await pilot.press("4")
            await still(pilot)
            assert "[memory]" in flat(app)
            assert sentences[-1] not in flat(app)
            assert app.is_running

    drive(go())


def test_a_pane_that_failed_is_drawn_again_when_it_can_be(package):
    package(
        """
        from textual.content import Content

        class Guest(LinePane):
            def look(self, view, choice, how):
                self.step = view.step
                self.renew()

            def build(self, width, height):
                if self.step == 1:
                    raise ValueError("one")
                return [Content(f"the step is {self.step}")]

        KIND = PaneKind("guest", "guest", Guest)
        """
    )

    async def go():
        app, _ = replay_app(stream.run(1, 4), paused=True)
        async with app.run_test(size=LARGE) as pilot:
            await until(pilot, lambda: watch(pilot).view.pending)
            await pilot.press("0")
            for said in ("the step is 0", "This pane failed (ValueError: one, ", "the step is 2"):
                await until(pilot, lambda: said in flat(app))  # noqa: B023
                await pilot.press("right")
            assert "This pane failed" not in flat(app)

    drive(go())


def test_a_handler_that_raises_is_a_sentence_too(package):
    package(
        "class Guest(LinePane):\n    def on_click(self):\n        raise ValueError('clicked')\n"
        "KIND = PaneKind('guest', 'guest', Guest)"
    )

    async def go():
        app, _ = replay_app()
        async with app.run_test(size=LARGE) as pilot:
            await until(pilot, lambda: watch(pilot).view.ended)
            await pilot.press("0")
            await still(pilot)
            await pilot.click(watch(pilot).panes._panes["guest"])
            await until(pilot, lambda: "This pane failed (ValueError: clicked, " in flat(app))

    drive(go())


def test_a_pane_about_pages_is_there_on_the_web_alone(package, tmp_path):
    package("KIND = PaneKind('guest', 'guest page', LinePane, web=True)")

    async def go(app, there):
        async with app.run_test(size=LARGE) as pilot:
            await until(pilot, lambda: watch(pilot).view.ended)
            await pilot.press("0")
            assert ("[guest page]" in await settled(pilot)) == there

    drive(go(replay_app()[0], False))
    drive(go(web_app(tmp_path / "pages")[0], True))


def test_a_pane_on_the_stage_shares_the_place_of_the_transcript(package):
    package("KIND = PaneKind('guest', 'guest', LinePane, place='stage')")

    async def go():
        app, _ = replay_app()
        async with app.run_test(size=LARGE) as pilot:
            await until(pilot, lambda: watch(pilot).view.ended)
            assert "Session over" in screen_text(app)
            await pilot.press("0")
            text = await settled(pilot)
            assert "0 [guest]" in text
            assert "Session over" not in text
            await pilot.press("1")
            assert "Session over" in await settled(pilot)

    drive(go())


def test_numbers_go_to_packages_by_name_and_letters_that_are_taken_do_nothing(package):
    for name in ("cc", "aa", "bb"):
        package(f"KIND = PaneKind({name!r}, {name!r}, LinePane, letter='q')", name)
    package("KIND = PaneKind('memory', 'another memory', LinePane)", "memory")
    found = {kind.name: kind for kind in kinds()}
    assert [kind.number for kind in found.values()] == [*"1234567890", "", ""]
    assert list(found)[-3:] == ["aa", "bb", "cc"]
    assert found["memory"].title == "memory"

    async def go():
        app, _ = replay_app()
        async with app.run_test(size=SMALL) as pilot:
            await until(pilot, lambda: watch(pilot).view.ended)
            await pilot.press("0")
            assert "0 [aa]" in await settled(pilot)
            await pilot.press("q")
            await until(pilot, lambda: app._exit)

    drive(go())


def test_a_place_that_is_not_there_is_refused():
    with pytest.raises(UsageError, match="there is no place 'attic'"):
        PaneKind("guest", "guest", dict, place="attic")
