"""The actions of the screens in the command palette."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from jitrl_tui.keymap import Key


class KeyCommands(Provider):
    """Finds what the keys of the present screen do by the words of its help."""

    def _rows(self) -> Iterator[tuple[str, Key]]:
        for key in getattr(self.screen, "key_table", ()):
            yield f"{key.meaning}  ({key.written})", key

    async def discover(self) -> Hits:
        """Yield all actions, before anything is typed."""
        for text, key in self._rows():
            yield DiscoveryHit(Content(text), self._run(key), text, help=key.name)

    async def search(self, query: str) -> Hits:
        """Yield the actions whose meaning or name is like the query."""
        matcher = self.matcher(query)
        for text, key in self._rows():
            score = max(matcher.match(text), matcher.match(key.name))
            if score > 0:
                yield Hit(score, matcher.highlight(text), self._run(key), help=key.name)

    def _run(self, key: Key) -> partial[object]:
        return partial(self.app.run_action, key.action, self.screen)
