"""Stores the pages of an episode in files next to its recording, and reads them again without a browser."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.disk import open_binary, private_folder, write_private
from engine.environment import VisiblePage
from engine.records import PageShown
from engine.redaction import REDACTED, hide
from engine.web.browser.snapshot import Page, parse
from engine.web.choices import is_secret

FOLDER = "pages"
LARGEST_SNAPSHOT = 1_000_000
LARGEST_PICTURE = 1_000_000
LARGEST_TRAFFIC = 1_000_000
MOST = 256 * 1024 * 1024
"""Total size in bytes of the pages of one session."""
_NAME = re.compile(r"\d{1,9}-\d{1,9}\.(?:txt|jpg|har)")


class PageStore:
    """The stored pages of one session.

    Args:
        session: The session's folder.
        most: Total size in bytes; pages beyond it are not stored.
    """

    def __init__(self, session: Path, most: int = MOST) -> None:
        self._folder = session / FOLDER
        self._most = most
        self._used = -1
        self._notified = False
        self._last: tuple[tuple[str, str, str, int, int], Page] | None = None
        """The page read last and the identity of its file. Several panes ask for the same page."""

    def keep(self, sight: VisiblePage, episode: int, step: int) -> tuple[PageShown, str]:
        """Store what was seen; return its record, and an error message the first time that something fails, else "".

        The record has no file name for parts that were not stored. Files are written atomically.
        """
        shown = PageShown(episode, step, sight.url, sight.title, sight.task, sight.width, sight.height)
        stem, trouble = f"{episode}-{step}", ""
        for field, ending, limit, data in (
            ("snapshot", "txt", LARGEST_SNAPSHOT, sight.snapshot.encode()),
            ("picture", "jpg", LARGEST_PICTURE, sight.picture),
            ("traffic", "har", LARGEST_TRAFFIC, _har(sight.entries) if sight.entries else b""),
        ):
            if not data or len(data) > limit:
                continue
            try:
                kept = self._write(f"{stem}.{ending}", data)
            except OSError as error:
                trouble = f"The page could not be kept ({error.strerror}); the session continues without it."
                break
            if not kept:
                trouble = f"The pages of this session take {self._most >> 20} MiB; no more are kept."
                break
            shown = replace(shown, **{field: f"{stem}.{ending}"})  # type: ignore[arg-type]
        notified, self._notified = self._notified, self._notified or bool(trouble)
        return shown, "" if notified else trouble

    def page(self, shown: PageShown) -> Page | None:
        """Read a stored page; None if it was not stored or cannot be read. Never raises."""
        try:
            state = (self._folder / shown.snapshot).stat() if _NAME.fullmatch(shown.snapshot) else None
        except OSError:
            state = None
        if state is None:
            return None
        key = (shown.snapshot, shown.url, shown.title, state.st_mtime_ns, state.st_size)
        last = self._last
        if last is not None and last[0] == key:
            return last[1]
        text = self._read(shown.snapshot, LARGEST_SNAPSHOT)
        page = parse(text.decode("utf-8", "replace"), shown.url, shown.title) if text else None
        if page is not None:
            self._last = key, page
        return page

    def picture(self, shown: PageShown) -> bytes:
        """Read a stored JPEG, b"" if there is none. Never raises."""
        return self._read(shown.picture, LARGEST_PICTURE)

    def _read(self, name: str, limit: int) -> bytes:
        if not _NAME.fullmatch(name):  # A recording from elsewhere must not name files outside this folder.
            return b""
        try:
            with open_binary(self._folder / name) as file:
                return file.read(limit)
        except OSError:
            return b""

    def _write(self, name: str, data: bytes) -> bool:
        """Write one file; return False if the total size would be exceeded.

        Raises:
            OSError: Writing failed; no partial file is left.
        """
        if self._used < 0:
            private_folder(self._folder)
            with os.scandir(self._folder) as files:
                self._used = sum(file.stat().st_size for file in files)
        if self._used + len(data) > self._most:
            return False
        write_private(self._folder / name, data)
        self._used += len(data)
        return True


def _har(entries: Sequence[Mapping[str, Any]]) -> bytes:
    from engine.web.browser.network import as_har

    return json.dumps(as_har([dict(entry) for entry in entries]), ensure_ascii=False).encode(
        "utf-8", "replace"
    )


# ------------------------------------------------------------------------------------------- secrets


def secret_handles(page: Page, secrets: Iterable[str]) -> tuple[str, ...] | None:
    """Return the handles of elements to hide: secret text boxes, and elements that contain a secret.

    Returns:
        None if such an element has no handle, and no element around it has one. Then the whole page must be hidden.
    """
    kept, found = tuple(secrets), list[str]()
    for node in page.nodes:
        text = f"{node.name}\n{node.value}"
        if is_secret(node) or hide(text, kept) != text:
            ref, above = node.ref, node.parent
            while not ref and above >= 0:
                ref, above = page.nodes[above].ref, page.nodes[above].parent
            found.append(ref)
    return tuple(dict.fromkeys(found)) if all(found) else None


# ------------------------------------------------------------------------------------------- snapshot


def snapshot_text(page: Page, secrets: Iterable[str] = (), limit: int = LARGEST_SNAPSHOT // 2) -> str:
    """Return a page without secrets as a snapshot for `snapshot.parse`, at most `limit` characters long."""
    lines, used = [], 0
    for line in _lines(page, tuple(secrets)):
        used += len(line) + 1
        if used > limit:
            break
        lines.append(line)
    return "\n".join(lines)


def _lines(page: Page, secrets: tuple[str, ...]) -> Iterator[str]:
    shifts: list[tuple[float, float]] = []  # Boxes inside a frame are relative to the frame.
    for node in page.nodes:
        dx, dy = shifts[node.parent] if node.parent >= 0 else (0.0, 0.0)
        shifts.append((node.box[0], node.box[1]) if node.role == "iframe" and node.box else (dx, dy))
        key = node.role
        if node.name:
            key += f" {_quoted(node.name, secrets)}"
        key += "".join(f" [{name}={value}]" for name, value in node.states)
        if node.ref:
            key += f" [ref={node.ref}]"
        if node.clickable:
            key += " [cursor=pointer]"
        if node.secret:
            key += " [secret]"
        if node.box:
            x, y, width, height = node.box
            key += f" [box={x - dx:g},{y - dy:g},{width:g},{height:g}]"
        value = REDACTED if node.value and is_secret(node) else node.value
        end = f": {_quoted(value, secrets)}" if value else ":"
        indent = "  " * node.depth
        yield f"{indent}- '{key.replace(chr(39), chr(39) * 2)}'{end}"
        if node.url:
            yield f"{indent}  - /url: {_quoted(node.url, secrets)}"


def _quoted(text: str, secrets: tuple[str, ...]) -> str:
    return json.dumps(hide(text, secrets))
