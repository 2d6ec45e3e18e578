"""The interface of the app for its screens and panes, and their keys in the command palette."""

from __future__ import annotations

import asyncio
from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual.actions import ActionParseResult
from textual.app import App
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.dom import DOMNode
from textual.message_pump import _MessagePumpMeta

from jitrl_tui.command_table import Commands, Key, do
from jitrl_tui.pictures.terminal import Graphics
from jitrl_tui.runs.source import InThread
from jitrl_tui.widgets.lines import ACCENT

if TYPE_CHECKING:
    from engine.session.store import SavedSession


_PICTURE = "save a picture of the screen, as SVG"


class KeyCommands(Provider):
    """Finds what keys do now on the present screen by the words of its help. What was chosen last comes first."""

    _chosen: ClassVar[list[str]] = []
    """What was chosen in this process, the last first."""

    def _rows(self) -> Iterator[tuple[str, str, str, Callable[[], object]]]:
        """Yield a sentence for each command, its key, its name, and what runs it."""
        keys: Sequence[Key] = getattr(self.screen, "commands_now", tuple)()
        parts: list[tuple[Key, DOMNode]] = [(key, self.screen) for key in keys]
        if (here := self.focused) is not None:
            own: Sequence[Key] = getattr(here, "key_table", ())
            parts += [(key, here) for key in own if here.check_action(key.action, ())]
        rows = [(key.meaning.replace("`", ""), key.written, key.name, self._run(key, part)) for key, part in parts]
        rows.append((_PICTURE, "", "screenshot", self._save_picture))
        place = {name: at for at, name in enumerate(self._chosen)}
        yield from sorted(rows, key=lambda row: place.get(row[2], len(place)))

    async def discover(self) -> Hits:
        """Yield all commands, before anything is typed."""
        for meaning, written, _, run in self._rows():
            yield DiscoveryHit(_line(Content(meaning), written), run, meaning)

    async def search(self, query: str) -> Hits:
        """Yield the commands whose sentence, key or name is like the query."""
        matcher = self.matcher(query)
        for meaning, written, name, run in self._rows():
            score = max(matcher.match(meaning), matcher.match(name), float(query == written))
            if score > 0:
                yield Hit(score, _line(matcher.highlight(meaning), written), run, meaning)

    def _run(self, key: Key, part: DOMNode) -> Callable[[], object]:
        app: App[object] = self.app

        def run() -> Coroutine[Any, Any, bool]:
            self._remember(key.name)
            return app.run_action(key.action, part)

        return run

    def _save_picture(self) -> None:
        self._remember("screenshot")
        self.app.set_timer(0.1, self.app.deliver_screenshot)

    def _remember(self, name: str) -> None:
        self._chosen[:] = [name, *(one for one in self._chosen if one != name)]


def _line(meaning: Content, written: str) -> Content:
    """Return the sentence with its key before it."""
    return Content.assemble((f"{written:>9}  ", ACCENT), meaning)


class _Abstract(ABCMeta, _MessagePumpMeta):
    """Lets a class of Textual have abstract methods."""


class Host(App[int], metaclass=_Abstract):
    """The base class of apps with our screens, which ask it for what the abstract methods do.

    Attributes:
        graphics: The terminal's support for pictures.
        last_source: The source of the last shown run, None before the first.
        takes_keys: Whether the first screen is there, so that it gets what is typed.
    """

    COMMANDS: ClassVar = {KeyCommands}
    graphics: Graphics
    last_source: InThread | None = None
    takes_keys: bool = False

    async def run_action(
        self,
        action: str | ActionParseResult,
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """Do what an action names, if it is one of the screen's commands; else it is an action of Textual.

        All that a command changes is drawn at once: without the batch, the screen would draw when the first widget asks
        for it, and the others up to two frames later.
        """
        commands: Commands = getattr(default_namespace, "commands", {})
        name = action.partition("(")[0] if isinstance(action, str) else ""
        if name in commands and default_namespace is not None and not default_namespace.check_action(name, ()):
            return False
        with self.batch_update():
            done = isinstance(action, str) and do(commands, action)
            if done:
                await asyncio.sleep(0)  # the other widgets ask, too
        if not done:
            return await super().run_action(action, default_namespace, namespaces)
        for screen in self.screen_stack[-1:]:
            screen.check_idle()
        return True

    @property
    @abstractmethod
    def has_home(self) -> bool:
        """Whether the home screen can be reached."""

    @abstractmethod
    def go_home(self) -> None:
        """Replace the present screen with the home screen."""

    @abstractmethod
    def go_on_with(self, saved: SavedSession, *, paused: bool = False) -> None:
        """Replace the present screen with that of a saved session; it waits at its first decision if it is `paused`."""

    @abstractmethod
    def hang_up(self) -> None:
        """End the app within seconds, because its terminal has closed."""

    @abstractmethod
    def leave_now(self) -> None:
        """Leave without waiting for anything."""

    @abstractmethod
    def action_theme(self) -> None:
        """Change to the next theme."""

    @abstractmethod
    def remember(self, key: str, value: object) -> None:
        """Keep a value for the next start, unless something sets it anyway.

        Args:
            key: Name of a setting with its section.
        """

    @abstractmethod
    def action_settings(self) -> None:
        """Show the settings."""

    @abstractmethod
    def replay(self, folder: Path, uid: str = "") -> None:
        """Show a recording over the present screen.

        Args:
            folder: The session's folder.
            uid: The episode to begin with, "" for the first one.
        """

    @abstractmethod
    def place_picture(self) -> None:
        """Put the real picture of a page over its pane."""
