"""Shows a real picture over the half-blocks of a pane, and removes it when something else covers the pane.

Textual can draw text only. So the pane draws its picture with half-blocks, and after each frame the real picture is
written over them if nothing covers them. Text written into the cells of a sixel picture removes it by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from textual.geometry import Region
from textual.screen import Screen
from textual.widget import Widget

from jitrl_tui.pictures.encode import KITTY_GONE, encode_image
from jitrl_tui.pictures.terminal import Graphics

if TYPE_CHECKING:
    from PIL.Image import Image


Where = tuple[Any, Region]
"""Identity of a picture, and the cells it covers."""


class Pictured(Widget):
    """A widget that has a picture."""

    def placed(self) -> tuple[Any, Region, Image] | None:
        """Return the picture's identity, the screen cells it covers, and the picture cut to these cells."""
        raise NotImplementedError


class Overlay:
    """The picture on the screen; there is at most one.

    Args:
        graphics: What the terminal supports.
        write: Writes raw text to the terminal.
        begin: Starts a coroutine in the screen's event loop.
        fail: Called if a picture cannot be encoded, so that half-blocks are used from then on.
        grey: Whether to show it without colours.
    """

    def __init__(
        self,
        graphics: Graphics,
        write: Callable[[str], None],
        begin: Callable[[Any], Any],
        fail: Callable[[], None],
        *,
        grey: bool,
    ) -> None:
        self.graphics = graphics
        self._write, self._begin, self._fail, self._grey = write, begin, fail, grey
        self._shown: Where | None = None
        self._ready: tuple[Where, str] | None = None
        self._wanted: tuple[Where, Image] | None = None
        self._busy = False
        """Whether a picture is being encoded. Only one is encoded at a time, however fast they change."""

    def after_frame(self, screen: Screen[Any], pane: Pictured | None, update: object) -> None:
        """Show, move or remove the picture after a frame; `update` is what the frame wrote, () for nothing."""
        placed = pane.placed() if pane is not None and _free(screen, pane) else None
        if placed is None:
            self._wanted = None
            self._away()
            return
        key, region, image = placed
        where = (key, region)
        if where == self._shown:
            self._wanted = None
            if self.graphics.protocol != "kitty" and self._ready and _touches(update, region):
                self._put(region, self._ready[1])
            return
        if self._ready is not None and self._ready[0] == where:
            self._wanted = None
            self._show(where, self._ready[1])
            return
        if self._shown is not None and self._shown[1] != region:
            self._away()
        self._wanted = (where, image)
        if not self._busy:
            self._busy = True
            self._begin(self._encode())

    def forget(self) -> None:
        """Forget the picture, because the terminal was cleared or will be."""
        self._away()
        self._wanted = None

    async def _encode(self) -> None:
        """Encode wanted pictures until none is left, in another thread because it takes tenths of a second."""
        try:
            while self._wanted is not None:
                where, image = self._wanted
                data = await asyncio.to_thread(
                    encode_image, image, where[1].width, where[1].height, self.graphics, grey=self._grey
                )
                self._ready = (where, data)
                if self._wanted is not None and self._wanted[0] == where:
                    self._wanted = None
                    self._show(where, data)
        except Exception:  # A picture that cannot be encoded must not end the session.
            self._wanted = None
            self._fail()
        finally:
            self._busy = False

    def _show(self, where: Where, data: str) -> None:
        self._shown = where
        self._put(where[1], data)

    def _put(self, region: Region, data: str) -> None:
        self._write(f"\x1b7\x1b[{region.y + 1};{region.x + 1}H{data}\x1b8")

    def _away(self) -> None:
        if self._shown is not None and self.graphics.protocol == "kitty":
            self._write(KITTY_GONE)
        self._shown = None


def _free(screen: Screen[Any], pane: Widget) -> bool:
    """Whether a pane is visible and nothing covers it."""
    if pane.screen is not screen or not pane.display:
        return False
    visible = screen._compositor.visible_widgets
    if pane not in visible:
        return False
    mine = visible[pane][0].intersection(visible[pane][1])
    around = set(pane.ancestors_with_self)
    return not any(
        region.intersection(clip).overlaps(mine)
        for widget, (region, clip) in visible.items()
        if widget not in around and pane not in widget.ancestors
    )


def _touches(update: object, region: Region) -> bool:
    """Whether an update may have written into these cells; True for updates of an unknown kind."""
    spans = getattr(update, "spans", update if update == () else None)
    if spans is not None:
        return any(
            region.y <= y < region.bottom and x1 < region.right and region.x < x2 for y, x1, x2 in spans
        )
    part = getattr(update, "region", None)
    return part is None or part.overlaps(region)
