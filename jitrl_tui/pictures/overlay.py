"""Puts a real picture over the half-blocks of a pane, and takes it away where something else comes in front.

Textual knows text alone. So the pane draws its picture in half-blocks; after each frame the real one is laid over them
if nothing covers them. What is written into a picture's cells later takes a sixel picture away by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from textual.geometry import Region
from textual.screen import Screen
from textual.widget import Widget

from jitrl_tui.pictures.encode import KITTY_GONE, encoded
from jitrl_tui.pictures.terminal import Graphics

if TYPE_CHECKING:
    from PIL.Image import Image


class Shows(Protocol):
    """A pane with a picture."""

    def placed(self) -> tuple[Any, Region, Image] | None:
        """Return what tells its picture from others, the cells it takes, and it itself as it is cut there."""
        ...


class Overlay:
    """The one picture on the screen.

    Args:
        write: Writes to the terminal as it is.
        begin: Starts a piece of work in the screen's loop.
        grey: Colours are not wanted.
    """

    def __init__(
        self, graphics: Graphics, write: Callable[[str], None], begin: Callable[[Any], Any], *, grey: bool
    ) -> None:
        self.graphics = graphics
        self._write, self._begin, self._grey = write, begin, grey
        self._shown: tuple[Any, Region] | None = None
        self._ready: tuple[tuple[Any, Region], str] | None = None
        self._wanted: tuple[Any, Region] | None = None

    def after_frame(self, screen: Screen[Any], pane: Widget | None, update: object) -> None:
        """Bring the picture to where the screen is now; `update` is what was just written, () for nothing."""
        placed = pane.placed() if pane is not None and _free(screen, pane) else None  # type: ignore[attr-defined]
        if placed is None:
            self._wanted = None
            self._away()
            return
        key, region, image = placed
        wanted = (key, region)
        if wanted == self._shown:
            if self.graphics.protocol != "kitty" and self._ready and _touches(update, region):
                self._put(region, self._ready[1])
            return
        if self._ready is not None and self._ready[0] == wanted:
            self._wanted = None
            self._show(wanted, self._ready[1])
        elif wanted != self._wanted:
            if self._shown is not None and self._shown[1] != region:
                self._away()
            self._wanted = wanted
            self._begin(self._encode(wanted, image))

    def forget(self) -> None:
        """The terminal was cleared, or is about to be: nothing is on it any more."""
        self._away()
        self._wanted = None

    async def _encode(self, wanted: tuple[Any, Region], image: Image) -> None:
        region = wanted[1]
        data = await asyncio.to_thread(
            encoded, image, region.width, region.height, self.graphics, grey=self._grey
        )
        if self._wanted == wanted:  # else the screen has gone on meanwhile
            self._wanted = None
            self._ready = (wanted, data)
            self._show(wanted, data)

    def _show(self, wanted: tuple[Any, Region], data: str) -> None:
        self._shown = wanted
        self._put(wanted[1], data)

    def _put(self, region: Region, data: str) -> None:
        self._write(f"\x1b7\x1b[{region.y + 1};{region.x + 1}H{data}\x1b8")

    def _away(self) -> None:
        if self._shown is not None and self.graphics.protocol == "kitty":
            self._write(KITTY_GONE)
        self._shown = None


def _free(screen: Screen[Any], pane: Widget) -> bool:
    """Whether a pane is to be seen with nothing in front of it."""
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
    """Whether an update wrote into these cells; what is of an unknown kind may have."""
    spans = getattr(update, "spans", update if update == () else None)
    if spans is not None:
        return any(
            region.y <= y < region.bottom and x1 < region.right and region.x < x2 for y, x1, x2 in spans
        )
    part = getattr(update, "region", None)
    return part is None or part.overlaps(region)
