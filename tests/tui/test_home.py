"""The home screen: one key to watch, and clear words for what cannot be."""

from __future__ import annotations

import asyncio

from engine.environments import profile
from engine.errors import StorageError
from engine.session import store as sessions
from engine.settings import SessionConfig
from jitrl_tui.app import JitrlApp
from jitrl_tui.offer import GameRow, Offer
from jitrl_tui.replay import ReplaySource
from jitrl_tui.screens.home import HomeScreen
from jitrl_tui.screens.watch import WatchScreen
from tests.tui import stream
from tests.tui.driving import settled, until, watch
from tests.tui.screen_text import screen_text

GAMES = [GameRow("pantry", "The Pantry", 10.0, True), GameRow("zork1", "[b]Zork[/b] I", 350.0)]


class Opened:
    """Collects what the home screen asks for, and answers with a recording."""

    def __init__(self, error: Exception | None = None):
        self.configs: list[SessionConfig] = []
        self.sessions: list[sessions.SavedSession] = []
        self.error = error

    def begin(self, config: SessionConfig) -> WatchScreen:
        if self.error:
            raise self.error
        self.configs.append(config)
        return WatchScreen(ReplaySource(lambda: stream.recorded(stream.run()), delay=0.0), delay=0.0)

    def load(self) -> Offer:
        return self.offer() if callable(self.offer) else self.offer

    def go_on(self, saved: sessions.SavedSession) -> WatchScreen:
        self.sessions.append(saved)
        return WatchScreen(ReplaySource(lambda: stream.recorded(stream.run()), delay=0.0), delay=0.0)


def app_with(opened: Opened, load=lambda: Offer(GAMES)) -> JitrlApp:
    opened.offer = load
    return JitrlApp(lambda: HomeScreen(opened))


def test_one_key_is_enough_to_watch():
    async def go(size):
        opened = Opened()
        app = app_with(opened)
        async with app.run_test(size=size) as pilot:
            await until(pilot, lambda: "Press Enter to watch it learn The Pantry" in screen_text(app))
            assert "[b]Zork[/b] I" in screen_text(app)
            assert "local/smollm2" in screen_text(app)
            await pilot.press("enter")
            await until(pilot, lambda: app.watching)
            assert opened.configs == [SessionConfig(game="pantry", settings=profile("default"))]
            await until(pilot, lambda: watch(pilot).view.ended)

    for size in ((80, 24), (140, 45)):
        asyncio.run(go(size))


def test_the_form_changes_what_is_played():
    async def go():
        opened = Opened()
        app = app_with(opened)
        async with app.run_test(size=(100, 30)) as pilot:
            await until(pilot, lambda: "The Pantry" in screen_text(app))
            await pilot.press("down", "tab", "right", "tab", "right", "tab")
            await pilot.press(*["backspace"] * 20, *"gemini/x", "tab", *["backspace"] * 4, "7", "tab")
            await pilot.press(
                *["backspace"] * 4, *"30", "tab", "backspace", "5", "tab", "right", "escape", "enter"
            )
            await until(pilot, lambda: opened.configs)
            config = opened.configs[0]
            assert (config.game, config.agent, config.model) == ("zork1", "static", "gemini/x")
            assert (config.profile, config.settings) == ("paper", profile("paper", step_limit=30))
            assert (config.episodes, config.settings.step_limit, config.seed) == (7, 30, 5)
            assert config.memory == "own"

    asyncio.run(go())


def test_the_method_is_told_and_what_it_needs_that_the_model_has_not():
    async def go(size):
        app = app_with(Opened())
        async with app.run_test(size=size) as pilot:
            await until(pilot, lambda: "The Pantry" in screen_text(app))

            async def form() -> str:
                """Return the words of the form on the right."""
                text = await settled(pilot)
                rows = [line.split("│┃")[-1].split("││")[-1] for line in text.splitlines()]
                return " ".join(" ".join(rows).replace("┃", " ").replace("│", " ").split())

            text = await form()
            assert "plans through memory; learns best with small models" in text
            assert "capable" not in text
            await pilot.press("tab", "right")
            text = await form()
            assert "method · neighbours" in text or "values: nearest neighbours" in text
            assert "the paper's JitRL: neighbours, LLM evaluator and summaries" in text
            assert "Needs a capable model, such as gemini/gemini-2.5-flash." in text
            assert "replaced by rules and said at the start." in text
            assert "memory ‹ shared › goes on with what it knows" in text
            await pilot.press("tab", "right")
            text = await form()
            assert "method · no memory" in text
            assert "capable" not in text
            await pilot.press("left", "tab", *["backspace"] * 20, *"gemini/x")
            assert "capable" not in await form()

    for size in ((80, 24), (140, 45)):
        asyncio.run(go(size))


def test_what_cannot_be_is_said_and_nothing_breaks():
    async def go():
        app = app_with(Opened(StorageError("cannot write to /x: No space left; use --saves DIR")))
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: "The Pantry" in screen_text(app))
            await pilot.press("tab", "tab", "tab", "tab", *["backspace"] * 4, *"many", "enter")
            await until(pilot, lambda: "episodes must be a whole number, not 'many'" in screen_text(app))
            await pilot.press(*["backspace"] * 4, "3", "enter")
            await until(pilot, lambda: "No space left" in screen_text(app))

        def broken():
            raise RuntimeError("boom")

        app = app_with(Opened(), broken)
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: "could not be listed (RuntimeError: boom)" in screen_text(app))
            await pilot.press("q")
            await until(pilot, lambda: app._exit)

    asyncio.run(go())


