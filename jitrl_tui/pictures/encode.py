"""Encodes pictures for terminals: kitty's graphics protocol, sixel, iTerm2's inline images.

The results must be written with the cursor at the picture's upper left cell.
"""

from __future__ import annotations

import base64
import io
import re
from typing import TYPE_CHECKING

from jitrl_tui.pictures.terminal import Graphics

if TYPE_CHECKING:
    from PIL.Image import Image

KITTY_ID = 4207
KITTY_GONE = f"\x1b_Ga=d,d=I,i={KITTY_ID},q=2\x1b\\"
"""Escape sequence that removes the picture from the screen and from the terminal's memory."""
_CHUNK = 4096
_RUN = re.compile(rb"(.)\1{3,}", re.DOTALL)


def encode_image(image: Image, columns: int, rows: int, graphics: Graphics, *, grey: bool = False) -> str:
    """Encode a picture of `columns` by `rows` cells in the terminal's protocol.

    Raises:
        ValueError: The protocol cannot show pictures.
    """
    if grey:
        image = image.convert("L").convert("RGB")
    if graphics.protocol == "kitty":
        return kitty(_sized(image, columns, rows, graphics, exact=False), columns, rows)
    if graphics.protocol == "sixel":
        return sixel(_sized(image, columns, rows, graphics, exact=True), graphics.colours)
    if graphics.protocol == "iterm":
        return iterm(_sized(image, columns, rows, graphics, exact=False), columns, rows)
    raise ValueError(graphics.protocol)


def _sized(image: Image, columns: int, rows: int, graphics: Graphics, *, exact: bool) -> Image:
    """Scale a picture to the pixels it is shown in. It is enlarged only if `exact` is set."""
    from PIL.Image import Resampling

    across, down = graphics.cell
    width, height = columns * across, rows * down
    if graphics.largest[0] and graphics.largest[1]:
        width, height = min(width, graphics.largest[0]), min(height, graphics.largest[1])
    if not width or not height or (not exact and width >= image.width):
        return image
    return image.resize((width, height), Resampling.LANCZOS)


def kitty(image: Image, columns: int, rows: int) -> str:
    """Encode a picture for kitty's graphics protocol. A picture with the same id is replaced."""
    data = _png(image)
    pieces = [data[at : at + _CHUNK] for at in range(0, len(data), _CHUNK)]
    # q=2: no replies, which would be read as keys. C=1: the cursor does not move.
    head = f"a=T,f=100,i={KITTY_ID},p=1,c={columns},r={rows},C=1,q=2,"
    return "".join(
        f"\x1b_G{head if at == 0 else 'q=2,'}m={int(at < len(pieces) - 1)};{piece}\x1b\\"
        for at, piece in enumerate(pieces)
    )


def iterm(image: Image, columns: int, rows: int) -> str:
    """Encode a picture as an inline image of iTerm2."""
    data = _png(image)
    shape = f"width={columns};height={rows};preserveAspectRatio=0;doNotMoveCursor=1"
    return f"\x1b]1337;File=inline=1;size={len(data) * 3 // 4};{shape}:{data}\x07"


def _png(image: Image) -> str:
    file = io.BytesIO()
    image.save(file, "PNG", compress_level=1)
    return base64.b64encode(file.getvalue()).decode("ascii")


def sixel(image: Image, colours: int = 256) -> str:
    """Encode a picture as sixels: bands of six pixel rows, with one pass per colour.

    Source: DEC VT330/VT340 Programmer Reference, chapter 14.
    """
    import numpy as np
    from PIL.Image import Dither, Quantize

    few = image.quantize(max(2, min(256, colours)), method=Quantize.MEDIANCUT, dither=Dither.NONE)
    palette = few.getpalette() or []
    index = np.asarray(few)
    height, width = index.shape
    out = [f'\x1bP0;1q"1;1;{width};{height}'.encode()]
    for number in range(len(palette) // 3):
        red, green, blue = (round(v * 100 / 255) for v in palette[number * 3 : number * 3 + 3])
        out.append(b"#%d;2;%d;%d;%d" % (number, red, green, blue))
    for top in range(0, height, 6):
        band = index[top : top + 6]
        weights = (1 << np.arange(len(band), dtype=np.uint8)).astype(np.uint8)[:, None]
        passes = []
        for colour in np.unique(band):
            bits = ((band == colour) * weights).sum(axis=0, dtype=np.uint8) + np.uint8(63)
            passes.append(b"#%d" % colour + _RUN.sub(_counted, bits.tobytes().rstrip(b"?")))
        out.append(b"$".join(passes))
        out.append(b"-")
    out[-1] = b"\x1b\\"  # No line feed after the last band: it could scroll the screen.
    return b"".join(out).decode("ascii")


def _counted(run: re.Match[bytes]) -> bytes:
    return b"!%d%b" % (run.end() - run.start(), run.group(1))
