"""Reads Blorb files: a story together with its pictures, sounds and title.

The format is Blorb 2.0.4 (https://eblong.com/zarf/blorb/blorb.html): after `FORM`, a length and `IFRS` come chunks,
each with four letters, a length of four bytes, and its data, padded to an even length. Only the heads of chunks are
read, and of the data only the story and its description, so a large or hostile file costs nothing.
"""

from __future__ import annotations

import html
import re
import struct
from collections.abc import Iterator
from io import BufferedReader

from engine.errors import GameError

_HEAD = struct.Struct(">4sI")
_CHUNKS = 10_000
"""Most chunks that are looked at. A story with many pictures and sounds has hundreds."""
_METADATA = 2**16
"""Most bytes of a description that is read."""
_TITLE = re.compile(r"<title>\s*([^<]{1,400}?)\s*</title>")
_TITLE_LENGTH = 80
_OTHERS = {
    b"GLUL": "Glulx", b"TAD2": "TADS 2", b"TAD3": "TADS 3", b"HUGO": "Hugo", b"ALAN": "ALAN", b"ADRI": "ADRIFT",
    b"LEVE": "Level 9", b"AGT ": "AGT", b"MAGS": "Magnetic Scrolls", b"ADVS": "AdvSys", b"EXEC": "a program's",
}  # fmt: skip
"""Chunks with a story, or a program, that no Z-machine runs, and the name of its format."""
_PLAYERS = {"Glulx": "Gargoyle or Lectrote", "TADS": "Gargoyle or QTads", "a": ""}


def not_played(kind: str) -> str:
    """Return that jitrl cannot play a kind of story, and what can."""
    player = _PLAYERS.get(kind.split()[0], "Gargoyle")
    return "which jitrl cannot play" + (f"; {player} plays it" if player else "")


def is_blorb(head: bytes) -> bool:
    """Return whether a file that begins with these 12 bytes is a Blorb file."""
    return head[:4] == b"FORM" and head[8:12] == b"IFRS"


def read_blorb(file: BufferedReader, name: str, largest: int) -> tuple[bytes, str]:
    """Return the story in a Blorb file, and its title, "" if it has none.

    Args:
        file: The file, at any position.
        name: Its name, for messages.
        largest: Most bytes of a story.

    Raises:
        GameError: It holds no story for the Z-machine, or is damaged.
    """
    story, title, other = None, "", ""
    for kind, start, size in _chunks(file, name):
        if kind == b"ZCOD" and story is None:
            if size > largest:
                raise GameError(f"{name} is damaged: its story would have {size:,} bytes, more than any can have")
            story = _part(file, start, size)
        elif kind == b"IFmd" and not title:
            title = _title(_part(file, start, min(size, _METADATA)))
        else:
            other = other or _OTHERS.get(kind, "")
    if story is not None:
        return story, title
    if other == "Glulx":
        raise GameError(f"{name} is a Glulx story in a Blorb file, {not_played(other)}")
    what = f"a story in {other} format" if other else "no story, only what goes with one; name the story's own file"
    raise GameError(f"{name} is a Blorb file with {what}" + (f", {not_played(other)}" if other else ""))


def _chunks(file: BufferedReader, name: str) -> Iterator[tuple[bytes, int, int]]:
    """Yield letters, position and length of each chunk."""
    end = file.seek(0, 2)
    at = 12
    for _ in range(_CHUNKS):
        if at + _HEAD.size > end:
            return
        kind, size = _HEAD.unpack(_part(file, at, _HEAD.size))
        start = at + _HEAD.size
        if start + size > end:
            raise GameError(f"{name} is a Blorb file that is cut short or damaged: get it again")
        yield kind, start, size
        at = start + size + size % 2


def _part(file: BufferedReader, start: int, size: int) -> bytes:
    file.seek(start)
    return file.read(size)


def _title(metadata: bytes) -> str:
    """Return the title in a description of the Treaty of Babel, in one printable line.

    It is not read as XML: a hostile description could take any time and memory.
    """
    found = _TITLE.search(metadata.decode("utf-8", "replace"))
    text = " ".join(html.unescape(found.group(1)).split()) if found else ""
    return "".join(c for c in text if c.isprintable())[:_TITLE_LENGTH].strip()
