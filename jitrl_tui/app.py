"""The Textual app, and functions that open it for the command line. Each of these returns an exit code."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from rich.console import RenderableType
from rich.text import Text
from textual.binding import Binding
from textual.driver import Driver
from textual.filter import LineFilter
from textual.screen import Screen

from engine import waits
from engine.errors import UsageError
from engine.paths import usual_saves
from jitrl_tui.driver import SafeLines, sturdy
from jitrl_tui.host import Host
from jitrl_tui.pictures.overlay import Overlay
from jitrl_tui.pictures.terminal import Graphics, detect
from jitrl_tui.plain.terminal import wants_plain
from jitrl_tui.preferences import current, usual_delay
from jitrl_tui.runs.source import LiveSource
from jitrl_tui.screens.home import HomeScreen
from jitrl_tui.screens.home_actions import StoredHome
from jitrl_tui.screens.run_base import RunningScreen
from jitrl_tui.system import crash, shutdown
from jitrl_tui.system.output import clean
from jitrl_tui.themes import CYCLE, DARK, OWN, quiet_colours

if TYPE_CHECKING:
    from engine.session.orders import Orders
    from engine.session.store import SavedSession
    from engine.settings import SessionConfig
    from jitrl_tui.screens.watch import WatchScreen


class JitrlApp(Host):
    """The app around the screens.

    Args:
        first: Makes the first screen.
        saves: The saves folder. Without one, the home screen cannot be reached from a run.
        games: Additional folder with stories.
        graphics: The terminal's support for pictures.
    """

    TITLE = "jitrl"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar = [
        Binding("ctrl+q", "leave", "leave", show=False, priority=True),
        Binding("ctrl+z", "suspend_process", "suspend", show=False, priority=True),
    ]
    CSS = "Toast { max-width: 60; }"

    def __init__(
        self,
        first: Callable[[], Screen[int]],
        *,
        saves: Path | None = None,
        games: str | None = None,
        graphics: Graphics | None = None,
    ) -> None:
        super().__init__()
        self._first, self._saves, self._games = first, saves, games
        self.graphics = graphics or Graphics()
        self._overlay: Overlay | None = None
        self._safe_lines = SafeLines()
        for theme in OWN:
            self.register_theme(theme)
        wanted = current().value("app.theme")
        self.theme = wanted if wanted in self.available_themes else DARK.name
        # Textual begins with the variable's theme before it is registered, and then sees no change.
        self._watch_theme(self.theme)
        self.animation_level = "none"

    async def on_mount(self) -> None:
        """Open the first screen, and install handlers that end the app properly when the terminal closes."""
        loop = asyncio.get_running_loop()
        handlers = {signal.SIGHUP: self.hang_up, signal.SIGTERM: self.hang_up, signal.SIGINT: self.action_leave}
        for number, handler in handlers.items():
            try:
                loop.add_signal_handler(number, handler)
            except (NotImplementedError, RuntimeError, ValueError):
                break  # not the main thread: a test, or a server with its own handlers
        self.theme_changed_signal.subscribe(self, lambda theme: self.remember("app.theme", theme.name))
        self.app_suspend_signal.subscribe(self, lambda _: self.on_unmount(), immediate=True)
        await self.push_screen(self._first())
        self.call_later(self._take_keys)  # after the screen has set the focus

    def _take_keys(self) -> None:
        self.takes_keys = True

    def get_css_variables(self) -> dict[str, str]:
        """Add the colours of secondary text and faint lines, which themes do not define."""
        variables = super().get_css_variables()
        return {**variables, **quiet_colours(variables)}

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Add the one that takes out what a terminal would obey."""
        return [*super().get_line_filters(), self._safe_lines]

    def notify(self, message: str, **how: Any) -> None:
        """Show a message; markup in it is text."""
        super().notify(message, **{**how, "markup": False})

    def copy_to_clipboard(self, text: str) -> None:
        """Copy what is shown, without what a terminal would obey where it is pasted."""
        super().copy_to_clipboard(clean(text))

    def get_driver_class(self) -> type[Driver]:
        """Return the driver that survives the closing of its terminal."""
        return sturdy(super().get_driver_class())

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        """Write a frame, then put the real picture of a page over its pane."""
        super()._display(screen, renderable)
        if renderable is not None:
            self.place_picture(renderable)

    def place_picture(self, written: object = ()) -> None:
        """Put the real picture over its pane. `written` is the update that was just drawn, () for none."""
        if self.graphics.protocol == "blocks" or self.is_headless or not self._running:
            return
        if self._overlay is None:
            self._overlay = Overlay(
                self.graphics, self._to_terminal, self.run_worker, self._no_pictures, grey=self.no_color
            )
        top = self.screen
        watching = self.watching
        pane = watching.panes.picture if watching is not None and watching is top and top.is_mounted else None
        self._overlay.after_frame(top, pane, written)

    def _no_pictures(self) -> None:
        self.graphics, self._overlay = Graphics(), None
        if self.watching is not None:
            self.watching.panes.picture.notify_style_update()

    def _to_terminal(self, text: str) -> None:
        if self._driver is not None and self._running:
            self._driver.write(text)
            self._driver.flush()

    def on_unmount(self) -> None:
        """Remove the picture from the terminal, at the end and while the app is suspended."""
        if self._overlay is not None:
            self._overlay.forget()

    @property
    def watching(self) -> WatchScreen | None:
        """The watch screen, if there is one."""
        found = (screen for screen in self.screen_stack if isinstance(screen, RunningScreen) and screen.watches)
        return cast("WatchScreen | None", next(found, None))

    def action_leave(self) -> None:
        """End the app properly from any screen, without a question."""
        screens = (screen for screen in self.screen_stack if isinstance(screen, RunningScreen))
        runs = (screen for screen in screens if screen.ending.stops_something)
        screen = next(runs, None)
        if screen is None:
            self.leave_now()
        else:
            screen.leave_properly()

    def action_help_quit(self) -> None:
        """Leave on Ctrl-C, unless text is marked."""
        self.action_leave()

    async def action_quit(self) -> None:
        """Leave when the command palette asks for it."""
        self.action_leave()

    def _fatal_error(self) -> None:
        """Leave with one sentence after an internal error, and write the traceback to a file.

        Textual would print the local variables of each frame, and an API key could be among them.
        """
        if self.watching is not None:
            self.watching.source.stop()
        self._exit_renderables.append(
            Text(
                f"jitrl: the screen failed ({crash.error_text(self._exception)}). What was stored is intact; `jitrl` "
                f"goes on from there. {crash.written_down(self._exception, self._saves)}"
            )
        )
        self._close_messages_no_wait()

    def hang_up(self) -> None:
        """End the app within seconds, whatever it shows: its terminal has closed, or the system asks for it."""
        shutdown.end_within()
        source = self.last_source

        def leave() -> None:
            if source is not None:
                source.stop()
                source.wait(shutdown.STORE_S)
            self.call_later(self.leave_now)

        threading.Thread(target=leave, name="leave", daemon=True).start()

    def leave_now(self) -> None:
        """Leave without waiting for anything."""
        screen = self.watching
        if screen is None:
            self.exit(0)
            return
        # The failure is printed after the app has ended, because no window shows it any more.
        failure = Text(f"jitrl: {screen.source.failure}") if screen.source.failure else None
        self.exit(screen.source.exit_code, message=failure)

    @property
    def has_home(self) -> bool:
        """Whether the home screen can be reached."""
        return self._saves is not None

    def go_home(self) -> None:
        """Replace the present screen with the home screen."""
        if self._saves is not None:
            self.switch_screen(home_screen(self._saves, self._games))

    def go_on_with(self, saved: SavedSession, *, paused: bool = False) -> None:
        """Replace the present screen with that of a saved session; it waits at its first decision if it is `paused`."""
        if self._saves is not None:
            self.switch_screen(_watch(saved, self._saves, paused=paused))

    def replay(self, folder: Path, uid: str = "") -> None:
        """Show a recording over the present screen."""
        from jitrl_tui.screens.recordings import RecordingScreen

        self.push_screen(RecordingScreen(folder, uid))

    def action_theme(self) -> None:
        """Change to the next theme."""
        at = CYCLE.index(self.theme) if self.theme in CYCLE else -1
        self.theme = CYCLE[(at + 1) % len(CYCLE)]
        fixed = current().fixed("app.theme")
        lasts = f" until you leave: it is set by the {fixed.source_text}" if fixed else ""
        self.notify(f"Theme: {self.theme}{lasts}", timeout=6 if fixed else 2)

    def remember(self, key: str, value: object) -> None:
        """Keep a value for the next start, unless something sets it anyway."""
        if current().fixed(key) is None and current().value(key) != value:
            current().remembered.keep({key: value})

    def action_settings(self) -> None:
        """Show the settings."""
        from jitrl_tui.screens.settings import SettingsScreen

        self.push_screen(SettingsScreen(getattr(self.watching, "levers", None)))


def run_app(
    first: Callable[[], Screen[int]],
    *,
    saves: Path | None = None,
    games: str | None = None,
    pictures: bool = False,
) -> int:
    """Run the app until it ends. With `pictures`, the terminal is first asked which pictures it can show."""
    pictures = pictures or (saves is not None and any(saves.glob("sessions/*/pages")))
    app = JitrlApp(first, saves=saves, games=games, graphics=detect(os.environ) if pictures else None)
    result = app.run()
    source = app.last_source
    if app.return_code and source is not None:
        source.wait(waits.SCREEN_FAILED.seconds)  # the screen failed: give the session time to store its data
    again = source.again() if isinstance(source, LiveSource) else ""
    if again:
        with contextlib.suppress(OSError):  # the terminal may be gone
            sys.stderr.write(f"Resume with: {again}\n")
    return result if isinstance(result, int) else app.return_code or 0


def live_source(saved: SavedSession, saves: Path) -> LiveSource:
    """Return a source that continues a saved session. If it ends without a step, the session is deleted."""
    from engine.session.edits import discard_unplayed
    from engine.session.loop import Session
    from jitrl_tui.runs.amounts import before_paying

    return LiveSource(
        lambda emit: Session(saved, saves, emit, interactive=True),
        saves=saves,
        before=lambda: before_paying(saved, saves),
        after=lambda: discard_unplayed(saved),
        again=lambda: command_to_resume(saved, saves),
    )


def command_to_resume(saved: SavedSession, saves: Path) -> str:
    """Return the command that resumes a session, "" if it is finished or was deleted."""
    if not saved.folder.is_dir() or saved.finished():
        return ""
    usual = Path(os.environ.get("JITRL_SAVES") or usual_saves()).absolute()
    return shlex.join(["jitrl", "sessions", saved.name, *([] if saves == usual else ["--saves", str(saves)])])


def run_saved(saved: SavedSession, saves: Path, *, paused: bool = False, in_lines: bool = False) -> int:
    """Resume a saved session. On the screen, it waits at its first decision if it is `paused`.

    Args:
        in_lines: Whether the plain mode is asked for.
    """
    if in_lines or wants_plain():
        from jitrl_tui.plain.run import run_saved_plain

        return run_saved_plain(saved, saves, play=saved.kind == "play")
    from engine.environments import kind_of

    pictures = kind_of(saved.config.game).pictures
    return run_app(
        lambda: _watch(saved, saves, paused=paused), saves=saves, games=saved.config.games, pictures=pictures
    )


def run_watch(config: SessionConfig, saves: Path, standing: Orders, *, in_lines: bool = False) -> int:
    """Watch a new session with these standing orders."""
    if in_lines or wants_plain():
        from jitrl_tui.plain.run import refuse_to_wait

        refuse_to_wait(standing)
    return run_saved(_begun(config, saves, "watch", standing), saves, in_lines=in_lines)


def run_play(config: SessionConfig, saves: Path, standing: Orders, *, in_lines: bool = False) -> int:
    """Open a new session in which a person plays and the agent advises."""
    return run_saved(_begun(config, saves, "play", standing), saves, in_lines=in_lines)


def _begun(config: SessionConfig, saves: Path, kind: str, standing: Orders) -> SavedSession:
    from engine.session import orders
    from engine.session import store as sessions

    saved = sessions.create(saves, config, kind)
    orders.give(saved.folder, standing)
    return saved


def run_replay(path: Path, saves: Path | None = None, *, in_lines: bool = False, paced: bool = False) -> int:
    """Play back a recording. It can be compared with the sessions in a saves folder.

    Args:
        in_lines: Whether the plain mode is asked for.
        paced: Whether a speed is asked for. Without one, the plain mode does not wait between steps.
    """
    if in_lines or wants_plain():
        from jitrl_tui.plain.run import run_recording_plain

        return run_recording_plain(path, usual_delay() if paced else None)
    from engine.session import recording
    from engine.web.browser.pages import PageStore
    from jitrl_tui.runs.replay import ReplaySource
    from jitrl_tui.runs.session_files import SessionFiles
    from jitrl_tui.screens.watch import WatchScreen

    delay = usual_delay()
    folder = path if path.is_dir() else path.parent
    pages = PageStore(folder)
    source = ReplaySource(lambda: recording.read(path), delay=delay, path=path)
    files = SessionFiles.recorded(path)
    return run_app(
        lambda: WatchScreen(
            source, delay=delay, pages=pages, files=files, recorded=(saves, path) if saves is not None else None
        ),
        pictures=(folder / "pages").is_dir(),
    )


def run_home(saves: Path, games: str | None) -> int:
    """Show the home screen, on which sessions are resumed and begun."""
    if wants_plain():
        raise UsageError(
            "the home screen needs a terminal; try: jitrl games ls, then jitrl watch GAME or jitrl play GAME; "
            "`jitrl sessions NAME` goes on with a session"
        )
    return run_app(lambda: home_screen(saves, games), saves=saves, games=games)


def home_screen(saves: Path, games: str | None) -> HomeScreen:
    """Return the home screen."""
    return HomeScreen(StoredHome(saves, lambda saved: _watch(saved, saves), games), games)


def _watch(saved: SavedSession, saves: Path, *, paused: bool = False) -> WatchScreen:
    from engine.session.branches import Keeper
    from engine.web.browser.pages import PageStore
    from jitrl_tui.runs.session_files import SessionFiles
    from jitrl_tui.screens.watch import WatchScreen

    play = saved.kind == "play"
    return WatchScreen(
        live_source(saved, saves),
        delay=0.0 if play else usual_delay(),
        play=play,
        paused=paused,
        keeper=Keeper(saves, saved),
        pages=PageStore(saved.folder),
        files=SessionFiles.of(saved, saves),
    )
